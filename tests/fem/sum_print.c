/* Assembles with a sum matrix and prints nodes and entries; for a test in another language. */
#include <cmg_fem.h>

#include <stdio.h>
#include <stdlib.h>

static cmg_status assemble(cmg_context *ctx, const cmg_fem_mesh *mesh, const cmg_fem_form *form,
                           double *k)
{
    cmg_fem_sum *sum = NULL;
    cmg_vector *v[3] = {NULL, NULL, NULL}; /* coefficient, numbers of the cells, values */
    const int components = form->problem == CMG_PROBLEM_ELASTICITY ? mesh->dim : 1;
    cmg_status status = cmg_fem_sum_create(ctx, mesh, components, true, NULL, &sum);
    const cmg_csr A = cmg_fem_sum_csr(sum);
    const cmg_size entries = status == CMG_OK ? A.indptr[A.rows] : 0;
    const cmg_size numbers = mesh->cells * cmg_fem_sum_entries(sum);
    status = status ? status : cmg_vector_wrap(ctx, mesh->cells, CMG_FP64, k, &v[0]);
    status = status ? status : cmg_vector_create(ctx, numbers, CMG_FP64, &v[1]);
    status = status ? status : cmg_vector_create(ctx, entries, CMG_FP64, &v[2]);
    status = status ? status : cmg_fem_sum_cells(sum, form, v[0], v[1]);
    status = status ? status : cmg_fem_sum_matrix(sum, v[1], v[2]);
    const double *values = status == CMG_OK ? cmg_vector_data(v[2]) : NULL;
    for (cmg_size i = 0; i < A.rows && status == CMG_OK; ++i) {
        for (cmg_size e = A.indptr[i]; e < A.indptr[i + 1]; ++e) {
            (void)printf("A %lld %d %.17g\n", (long long)i, (int)A.indices[e], values[e]);
        }
    }
    for (int i = 0; i < 3; ++i) {
        cmg_vector_destroy(&v[i]);
    }
    cmg_fem_sum_destroy(&sum);
    return status;
}

/* sum_print mesh problem coefficients: time step 0.25, E 2.5, nu 0.2 */
int main(int argc, char **argv)
{
    cmg_context *ctx = NULL;
    cmg_fem_mesh mesh = {.nodes = 0};
    cmg_fem_form form = {.time_step = 0.25, .young = 2.5, .poisson_ratio = 0.2};
    cmg_size n = 0;
    double *k = NULL;
    int problem = 0;
    if (argc != 4 || cmg_fem_enum_parse("problem", argv[2], &problem) != CMG_OK ||
        cmg_context_create(NULL, &ctx) != CMG_OK) {
        (void)fprintf(stderr, "usage: %s mesh problem coefficients\n", argv[0]);
        return 1;
    }
    form.problem = (cmg_problem)problem;
    cmg_status status = cmg_fem_mesh_read(ctx, argv[1], 1, &mesh);
    status = status ? status : cmg_vector_read(ctx, argv[3], &n, &k);
    for (cmg_size i = 0; i < mesh.nodes; ++i) {
        const double *x = mesh.x + i * mesh.dim;
        (void)printf("x %.17g %.17g %.17g\n", x[0], x[1], mesh.dim == 3 ? x[2] : 0.0);
    }
    status = status ? status : n == mesh.cells ? assemble(ctx, &mesh, &form, k) : CMG_ERR_SHAPE;
    if (status != CMG_OK) {
        (void)fprintf(stderr, "%s\n", cmg_context_message(ctx));
    }
    cmg_free(k);
    cmg_fem_mesh_free(ctx, &mesh);
    cmg_context_destroy(&ctx);
    return status == CMG_OK ? 0 : 2;
}
