/* What a run leaves behind: pictures for ParaView, the activation map, a summary, a dump to check.
 */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include "heart.h"

#include <stdlib.h>
#include <string.h>

/* A text in memory, for a file that appears all at once. */
typedef struct text {
    FILE *stream;
    char *data;
    size_t size;
} text;

static FILE *begin_text(text *t)
{
    *t = (text){.data = NULL};
    t->stream = open_memstream(&t->data, &t->size);
    return t->stream;
}

/* The text to DIR/name; it is freed. */
static cmg_status save(heart *h, text *t, const char *name)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", h->o->output, name);
    const bool failed = ferror(t->stream) != 0;
    const cmg_status status = fclose(t->stream) != 0 || failed
                                  ? CMG_ERR_MEMORY
                                  : cmg_file_write(h->ctx, path, t->data, t->size);
    free(t->data);
    return status;
}

/* ------------------------------------------------------------------ pictures */

/* Values of a vector on the host, NULL = no memory; for free. */
static double *fetch(const cmg_vector *v)
{
    double *values = malloc((size_t)cmg_vector_length(v) * sizeof *values);
    if (values != NULL && cmg_vector_get(v, values) != CMG_OK) {
        free(values);
        values = NULL;
    }
    return values;
}

/* The pictures of times 0, every, 2 every ... up to now; the list needs no memory of its own. */
static cmg_status write_series(heart *h)
{
    text t;
    if (begin_text(&t) == NULL) {
        return CMG_ERR_MEMORY;
    }
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
    char path[4096];
    double *phi = fetch(h->phi);
    double *r = fetch(h->r);
    const cmg_fem_field fields[2] = {{"phi", 1, false, phi}, {"r", 1, true, r}};
    (void)snprintf(path, sizeof path, "%s/phi-%05lld.vtu", h->o->output,
                   llround(h->t / h->o->every));
    cmg_status status = phi != NULL && r != NULL
                            ? cmg_fem_mesh_write_vtu(h->ctx, path, &h->mesh, 2, fields)
                            : CMG_ERR_MEMORY;
    free(phi);
    free(r);
    status = status ? status : write_series(h);
    h->spent.output += now() - begin;
    return status;
}

/* The map, as a picture and as numbers in the order of its nodes. */
cmg_status output_activation(heart *h)
{
    char path[2][4096];
    double *activation = fetch(h->activation);
    const cmg_fem_field fields[2] = {{"activation", 1, false, activation},
                                     {"fibre", 3, true, h->fibre}};
    (void)snprintf(path[0], sizeof path[0], "%s/activation.vtu", h->o->output);
    (void)snprintf(path[1], sizeof path[1], "%s/activation.npy", h->o->output);
    cmg_status status = activation != NULL ? CMG_OK : CMG_ERR_MEMORY;
    status = status ? status
                    : cmg_fem_mesh_write_vtu(h->ctx, path[0], &h->mesh, h->fibre != NULL ? 2 : 1,
                                             fields);
    status = status ? status : cmg_vector_write(h->ctx, path[1], h->mesh.nodes, activation);
    free(activation);
    return status;
}

/* ------------------------------------------------------------------ summary */

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
    double *phi = fetch(h->phi);
    double low = INFINITY;
    double high = -INFINITY;
    size_t peak[2];
    text t;
    for (cmg_size i = 0; i < h->mesh.nodes && phi != NULL; ++i) {
        low = fmin(low, phi[i]);
        high = fmax(high, phi[i]);
    }
    const bool fetched = phi != NULL;
    free(phi);
    if (!fetched || begin_text(&t) == NULL) {
        return CMG_ERR_MEMORY;
    }
    cmg_context_memory(h->ctx, NULL, peak);
    const cmg_csr A = cmg_fem_sum_csr(h->sum);
    (void)fprintf(t.stream, "{\n");
    print_text(t.stream, "mesh", h->o->mesh != NULL ? h->o->mesh : "block");
    print_text(t.stream, "backend", cmg_enum_name("backend", (int)cmg_context_backend(h->ctx)));
    print_text(t.stream, "solver", h->o->solver);
    print_text(t.stream, "format", h->o->format);
    (void)fprintf(t.stream, "  \"threads\": %d,\n", cmg_context_threads(h->ctx));
    (void)fprintf(t.stream, "  \"nodes\": %lld,\n  \"cells\": %lld,\n  \"entries\": %lld,\n",
                  (long long)h->mesh.nodes, (long long)h->mesh.cells, (long long)A.indptr[A.rows]);
    (void)fprintf(t.stream, "  \"time\": %.17g,\n  \"interrupted\": %s,\n", h->t,
                  interrupted ? "true" : "false");
    (void)fprintf(t.stream, "  \"steps\": %lld,\n  \"rejected\": %lld,\n  \"newton\": %lld,\n",
                  c->steps, c->rejected, c->newton);
    (void)fprintf(t.stream, "  \"cg_iterations\": %lld,\n", c->iterations);
    (void)fprintf(t.stream, "  \"phi\": [%.17g, %.17g],\n", low, high);
    (void)fprintf(t.stream, "  \"bytes\": {\"host\": %zu, \"device\": %zu},\n", peak[0], peak[1]);
    (void)fprintf(t.stream, "  \"parts_timed\": %s,\n",
                  h->o->profile || cmg_context_backend(h->ctx) == CMG_BACKEND_CPU ? "true"
                                                                                  : "false");
    (void)fprintf(
        t.stream,
        "  \"seconds\": {\"cells\": %.6g, \"sums\": %.6g, \"prepare\": %.6g, \"solve\": %.6g, "
        "\"output\": %.6g, \"total\": %.6g}\n}\n",
        s->cells, s->sums, s->prepare, s->solve, s->output, s->total);
    return save(h, &t, "summary.json");
}

/* ------------------------------------------------------------------ dump */

static cmg_status dump_vector(heart *h, const char *name, cmg_size n, const double *values)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s.npy", h->o->dump, name);
    return values != NULL ? cmg_vector_write(h->ctx, path, n, values) : CMG_ERR_MEMORY;
}

/* K as CSR arrays, -R, and the state they come from; h->dphi is used as it is about to be solved
 * for. */
cmg_status output_dump(heart *h)
{
    if (h->o->dump == NULL) {
        return CMG_OK;
    }
    const cmg_csr A = cmg_fem_sum_csr(h->sum);
    const cmg_size nnz = A.indptr[A.rows];
    const struct {
        const char *name;
        cmg_vector *v;
    } all[] = {{"volume", h->volume},      {"stiffness", h->stiffness}, {"phi", h->phi},
               {"phi_old", h->phi_old[0]}, {"r_old", h->r_old},         {"b", h->b}};
    cmg_vector *K = NULL;
    double *room = malloc((size_t)(nnz + A.rows + 1 + h->mesh.cells * 4) * sizeof *room);
    cmg_status status = room != NULL ? CMG_OK : CMG_ERR_MEMORY;
    for (cmg_size k = 0; k < nnz && status == CMG_OK; ++k) {
        room[k] = A.indices[k];
    }
    status = status ? status : dump_vector(h, "indices", nnz, room);
    for (cmg_size i = 0; i <= A.rows && status == CMG_OK; ++i) {
        room[i] = (double)A.indptr[i];
    }
    status = status ? status : dump_vector(h, "indptr", A.rows + 1, room);
    for (cmg_size k = 0; k < h->mesh.cells * h->corners && status == CMG_OK; ++k) {
        room[k] = h->mesh.cell_nodes[k];
    }
    status = status ? status : dump_vector(h, "cells", h->mesh.cells * h->corners, room);
    free(room);
    status = status ? status : dump_vector(h, "x", h->mesh.nodes * h->mesh.dim, h->mesh.x);
    status = status ? status : cmg_vector_create(h->ctx, nnz, CMG_FP64, &K);
    status = status ? status : cmg_fem_sum_matrix(h->sum, h->matrix, K);
    double *values = status == CMG_OK ? fetch(K) : NULL;
    status = status ? status : dump_vector(h, "values", nnz, values);
    free(values);
    cmg_vector_destroy(&K);
    for (size_t k = 0; k < sizeof all / sizeof all[0] && status == CMG_OK; ++k) {
        values = fetch(all[k].v);
        status = dump_vector(h, all[k].name, cmg_vector_length(all[k].v), values);
        free(values);
    }
    if (status == CMG_OK && h->fibre != NULL) {
        status = dump_vector(h, "fibre", h->mesh.cells * 3, h->fibre);
    }
    return status;
}
