/* Reads a mesh and writes it as .vtu with some fields; for tests in other languages. */
#include "fem/mesh.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    if (argc != 3) {
        (void)fprintf(stderr, "usage: %s mesh out.vtu\n", argv[0]);
        return 1;
    }
    cmg_context *ctx = NULL;
    cmgi_mesh *mesh = NULL;
    if (cmg_context_create(NULL, &ctx) != CMG_OK) {
        return 1;
    }
    if (cmgi_mesh_read(ctx, argv[1], &mesh) != CMG_OK) {
        (void)fprintf(stderr, "%s\n", cmg_context_message(ctx));
        return 2;
    }
    /* one line a label on standard output: name, tag, facets */
    for (cmg_index i = 0; i < mesh->labels; ++i) {
        (void)printf("label\t%s\t%d\t%lld\n", mesh->label[i].name, (int)mesh->label[i].tag,
                     (long long)mesh->label[i].count);
    }
    for (cmg_index i = 0; i < mesh->regions; ++i) {
        (void)printf("region\t%s\t%d\t%lld\n", mesh->region[i].name, (int)mesh->region[i].tag,
                     (long long)mesh->region[i].count);
    }
    double *linear = malloc((size_t)mesh->nodes * 3 * sizeof *linear);
    double *vector = linear + mesh->nodes;
    double *number = malloc((size_t)mesh->cells * sizeof *number);
    for (cmg_size v = 0; v < mesh->nodes; ++v) {
        const double *x = mesh->x + v * mesh->dim;
        linear[v] = 1 + 2 * x[0] - 3 * x[1];
        vector[2 * v] = x[0];
        vector[2 * v + 1] = -x[1];
    }
    for (cmg_size c = 0; c < mesh->cells; ++c) {
        number[c] = (double)c;
    }
    const cmg_fem_field fields[3] = {
        {"u <&\"> v", 1, false, linear}, {"vector", 2, false, vector}, {"number", 1, true, number}};
    const cmg_status status = cmgi_vtu_write(ctx, argv[2], mesh, 3, fields);
    if (status != CMG_OK) {
        (void)fprintf(stderr, "%s\n", cmg_context_message(ctx));
    }
    free(linear);
    free(number);
    cmgi_mesh_destroy(&mesh);
    cmg_context_destroy(&ctx);
    return status == CMG_OK ? 0 : 3;
}
