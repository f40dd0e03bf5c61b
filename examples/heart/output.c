/* What a run leaves behind: pictures for ParaView, the activation map, a summary, a dump to check.
 */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include "heart.h"

#include <stdlib.h>

/* A text in memory, for a file that appears all at once. */
typedef struct text {
    FILE *stream;
    char *data;
    size_t size;
} text;

static void begin_text(text *t)
{
    *t = (text){.data = NULL};
    t->stream = open_memstream(&t->data, &t->size);
    if (t->stream == NULL) {
        no_memory();
    }
}

/* The text to DIR/name; it is freed. */
static cmg_status save(heart *h, text *t, const char *name)
{
    char path[MAX_PATH];
    (void)snprintf(path, sizeof path, "%s/%s", h->o->output, name);
    if (ferror(t->stream) != 0 || fclose(t->stream) != 0) {
        no_memory();
    }
    const cmg_status status = cmg_file_write(h->ctx, path, t->data, t->size);
    free(t->data);
    return status;
}

/* Values of a vector on the host, for free. */
static cmg_status fetch(const cmg_vector *v, double **values)
{
    *values = room((size_t)cmg_vector_length(v) * sizeof **values);
    return cmg_vector_get(v, *values);
}

/* The pictures of times 0, every, 2 every ... up to now; the list needs no memory of its own. */
static cmg_status write_series(heart *h)
{
    text t;
    begin_text(&t);
    (void)fprintf(t.stream,
                  "<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"0.1\">\n"
                  "<Collection>\n");
    for (long long k = 0; (double)k * h->o->every <= h->t * (1 + 1e-9); ++k) {
        (void)fprintf(t.stream, "<DataSet timestep=\"%.10g\" file=\"phi-%05lld.vtu\"/>\n",
                      (double)k * h->o->every, k);
    }
    (void)fprintf(t.stream, "</Collection>\n</VTKFile>\n");
    return save(h, &t, "heart.pvd");
}

cmg_status output_picture(heart *h)
{
    const double begin = now();
    char path[MAX_PATH];
    double *phi = NULL;
    double *r = NULL;
    cmg_status status = fetch(h->phi, &phi);
    status = status ? status : fetch(h->r, &r);
    const cmg_fem_field fields[2] = {{"phi", 1, false, phi}, {"r", 1, true, r}};
    (void)snprintf(path, sizeof path, "%s/phi-%05lld.vtu", h->o->output,
                   llround(h->t / h->o->every));
    status = status ? status : cmg_fem_mesh_write_vtu(h->ctx, path, &h->mesh, 2, fields);
    status = status ? status : write_series(h);
    free(phi);
    free(r);
    h->spent.output += now() - begin;
    return status;
}

/* The map, as a picture and as numbers in the order of its nodes. */
cmg_status output_activation(heart *h)
{
    char path[MAX_PATH];
    double *activation = NULL;
    cmg_status status = fetch(h->activation, &activation);
    const cmg_fem_field fields[2] = {{"activation", 1, false, activation},
                                     {"fibre", 3, true, h->fibre}};
    const int count = h->fibre != NULL ? 2 : 1;
    (void)snprintf(path, sizeof path, "%s/activation.vtu", h->o->output);
    status = status ? status : cmg_fem_mesh_write_vtu(h->ctx, path, &h->mesh, count, fields);
    (void)snprintf(path, sizeof path, "%s/activation.npy", h->o->output);
    status = status ? status : cmg_vector_write(h->ctx, path, h->mesh.nodes, activation);
    free(activation);
    return status;
}

static void print_text(FILE *t, const char *name, const char *value)
{
    (void)fprintf(t, "  \"%s\": \"", name);
    for (; *value != '\0'; ++value) {
        (void)fprintf(t, *value == '"' || *value == '\\' ? "\\%c" : "%c", *value);
    }
    (void)fprintf(t, "\",\n");
}

cmg_status output_summary(heart *h, bool interrupted)
{
    const seconds *s = &h->spent;
    const counts *c = &h->count;
    const cmg_csr A = cmg_fem_sum_csr(h->sum);
    double *phi = NULL;
    double low = INFINITY;
    double high = -INFINITY;
    size_t peak[2];
    text t;
    const cmg_status status = fetch(h->phi, &phi);
    for (cmg_size i = 0; i < h->mesh.nodes; ++i) {
        low = fmin(low, phi[i]);
        high = fmax(high, phi[i]);
    }
    free(phi);
    cmg_context_memory(h->ctx, NULL, peak);
    begin_text(&t);
    (void)fprintf(t.stream, "{\n");
    print_text(t.stream, "mesh", h->o->mesh[0] != '\0' ? h->o->mesh : "block");
    print_text(t.stream, "backend", cmg_enum_name("backend", (int)cmg_context_backend(h->ctx)));
    print_text(t.stream, "solver", h->o->solver);
    print_text(t.stream, "format", h->o->format);
    (void)fprintf(
        t.stream,
        "  \"threads\": %d,\n  \"nodes\": %lld,\n  \"cells\": %lld,\n  \"entries\": %lld,\n"
        "  \"time\": %.17g,\n  \"interrupted\": %s,\n"
        "  \"steps\": %lld,\n  \"rejected\": %lld,\n  \"newton\": %lld,\n"
        "  \"cg_iterations\": %lld,\n  \"phi\": [%.17g, %.17g],\n"
        "  \"bytes\": {\"host\": %zu, \"device\": %zu},\n  \"parts_timed\": %s,\n"
        "  \"seconds\": {\"cells\": %.6g, \"sums\": %.6g, \"prepare\": %.6g, \"solve\": %.6g, "
        "\"output\": %.6g, \"total\": %.6g}\n}\n",
        cmg_context_threads(h->ctx), (long long)h->mesh.nodes, (long long)h->mesh.cells,
        (long long)A.indptr[A.rows], h->t, interrupted ? "true" : "false", c->steps, c->rejected,
        c->newton, c->iterations, low, high, peak[0], peak[1], parts_timed(h) ? "true" : "false",
        s->cells, s->sums, s->prepare, s->solve, s->output, s->total);
    return status ? status : save(h, &t, "summary.json");
}

/* ------------------------------------------------------------------ dump */

static cmg_status dump(heart *h, const char *name, cmg_size n, const double *values)
{
    char path[MAX_PATH];
    (void)snprintf(path, sizeof path, "%s/%s.npy", h->o->dump, name);
    return cmg_vector_write(h->ctx, path, n, values);
}

static cmg_status dump_whole(heart *h, const char *name, cmg_size n, const cmg_index *numbers)
{
    double *values = room((size_t)n * sizeof *values);
    for (cmg_size k = 0; k < n; ++k) {
        values[k] = numbers[k];
    }
    const cmg_status status = dump(h, name, n, values);
    free(values);
    return status;
}

/* K as CSR arrays, -R, and the state they come from. */
cmg_status output_dump(heart *h)
{
    const cmg_csr A = cmg_fem_sum_csr(h->sum);
    cmg_vector *K = NULL;
    cmg_status status = cmg_vector_create(h->ctx, A.indptr[A.rows], CMG_FP64, &K);
    status = status ? status : cmg_fem_sum_matrix(h->sum, h->matrix, K);
    const struct {
        const char *name;
        cmg_vector *v;
    } all[] = {{"volume", h->volume}, {"stiffness", h->stiffness},
               {"phi", h->phi},       {"phi_old", h->phi_old[0]},
               {"r_old", h->r_old},   {"b", h->b},
               {"values", K}};
    for (size_t k = 0; k < sizeof all / sizeof all[0] && status == CMG_OK; ++k) {
        double *values = NULL;
        status = fetch(all[k].v, &values);
        status = status ? status : dump(h, all[k].name, cmg_vector_length(all[k].v), values);
        free(values);
    }
    cmg_vector_destroy(&K);
    double *indptr = room((size_t)(A.rows + 1) * sizeof *indptr);
    for (cmg_size i = 0; i <= A.rows; ++i) {
        indptr[i] = (double)A.indptr[i];
    }
    status = status ? status : dump(h, "indptr", A.rows + 1, indptr);
    free(indptr);
    status = status ? status : dump_whole(h, "indices", A.indptr[A.rows], A.indices);
    status =
        status ? status : dump_whole(h, "cells", h->mesh.cells * h->corners, h->mesh.cell_nodes);
    status = status ? status : dump(h, "x", h->mesh.nodes * h->mesh.dim, h->mesh.x);
    return status || h->fibre == NULL ? status : dump(h, "fibre", h->mesh.cells * 3, h->fibre);
}
