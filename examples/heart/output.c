/* What a run leaves behind: pictures for ParaView, the activation map, a summary, a dump to check.
 */
#include "heart.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* A growing text; it stays as it is once memory has run out. */
typedef struct text {
    char *data;
    size_t size;
    size_t room;
    bool failed;
} text;

static void put(text *t, const void *data, size_t bytes)
{
    if (t->size + bytes > t->room && !t->failed) {
        const size_t room = 2 * (t->size + bytes) + 4096;
        char *grown = realloc(t->data, room);
        t->failed = grown == NULL;
        t->data = grown != NULL ? grown : t->data;
        t->room = grown != NULL ? room : t->room;
    }
    if (!t->failed) {
        memcpy(t->data + t->size, data, bytes);
        t->size += bytes;
    }
}

__attribute__((format(printf, 2, 3))) static void print(text *t, const char *format, ...)
{
    char line[1024];
    va_list list;
    va_start(list, format);
    const int n = vsnprintf(line, sizeof line, format, list);
    va_end(list);
    put(t, line, n > 0 ? strlen(line) : 0);
}

/* The text to DIR/name; it is freed. */
static cmg_status save(heart *h, text *t, const char *name)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", h->o->output, name);
    const cmg_status status =
        t->failed ? CMG_ERR_MEMORY : cmg_file_write(h->ctx, path, t->data, t->size);
    free(t->data);
    *t = (text){0};
    return status;
}

/* ------------------------------------------------------------------ VTK */

/* One array in base64 behind the 8 bytes of its size. */
static void put_base64(text *t, const void *data, size_t bytes)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const uint64_t size = bytes;
    const unsigned char *head = (const unsigned char *)&size;
    const unsigned char *body = data;
    const size_t total = bytes + sizeof size;
    for (size_t k = 0; k < total; k += 3) {
        unsigned group = 0;
        char out[4];
        for (size_t m = k; m < k + 3; ++m) {
            const unsigned byte = m < sizeof size ? head[m] : m < total ? body[m - sizeof size] : 0;
            group = group << 8 | byte;
        }
        for (int m = 0; m < 4; ++m) {
            out[m] = k + (size_t)m <= total ? digit[group >> (18 - 6 * m) & 63] : '=';
        }
        put(t, out, 4);
    }
}

static void put_array(text *t, const char *attributes, const void *data, size_t bytes)
{
    print(t, "<DataArray %s format=\"binary\">", attributes);
    put_base64(t, data, bytes);
    print(t, "</DataArray>\n");
}

/* A field as floats; width 3 from `components` numbers each, the rest 0. */
static void put_field(text *t, const char *name, const double *x, cmg_size n, int components)
{
    char attributes[128];
    const int width = components > 1 ? 3 : 1;
    float *values = calloc((size_t)(n * width), sizeof *values);
    t->failed = t->failed || values == NULL;
    for (cmg_size i = 0; i < n && !t->failed; ++i) {
        for (int d = 0; d < components; ++d) {
            values[i * width + d] = (float)x[i * components + d];
        }
    }
    (void)snprintf(attributes, sizeof attributes, "type=\"Float32\" Name=\"%s\"%s", name,
                   width == 3 ? " NumberOfComponents=\"3\"" : "");
    if (!t->failed) {
        put_array(t, attributes, values, (size_t)(n * width) * sizeof *values);
    }
    free(values);
}

static void put_mesh(text *t, const cmg_fem_mesh *mesh)
{
    const int nv = mesh->dim + 1;
    int32_t *ends = malloc((size_t)mesh->cells * sizeof *ends);
    unsigned char *types = malloc((size_t)mesh->cells);
    t->failed = t->failed || ends == NULL || types == NULL;
    for (cmg_size c = 0; c < mesh->cells && !t->failed; ++c) {
        ends[c] = (int32_t)((c + 1) * nv);
        types[c] = mesh->dim == 3 ? 10 : 5;
    }
    print(t, "<Points>\n");
    put_field(t, "x", mesh->x, mesh->nodes, mesh->dim);
    print(t, "</Points>\n<Cells>\n");
    if (!t->failed) {
        put_array(t, "type=\"Int32\" Name=\"connectivity\"", mesh->cell_nodes,
                  (size_t)(mesh->cells * nv) * sizeof *mesh->cell_nodes);
        put_array(t, "type=\"Int32\" Name=\"offsets\"", ends, (size_t)mesh->cells * sizeof *ends);
        put_array(t, "type=\"UInt8\" Name=\"types\"", types, (size_t)mesh->cells);
    }
    print(t, "</Cells>\n");
    free(ends);
    free(types);
}

/* Fields on the mesh: two on nodes, r (NULL = the fibres) on cells. */
static cmg_status write_vtu(heart *h, const char *file, const char *name, const double *at_nodes,
                            const double *r)
{
    const cmg_fem_mesh *mesh = &h->mesh;
    text t = {0};
    print(&t, "<?xml version=\"1.0\"?>\n<VTKFile type=\"UnstructuredGrid\" version=\"1.0\" "
              "byte_order=\"LittleEndian\" header_type=\"UInt64\">\n<UnstructuredGrid>\n");
    print(&t, "<Piece NumberOfPoints=\"%lld\" NumberOfCells=\"%lld\">\n", (long long)mesh->nodes,
          (long long)mesh->cells);
    put_mesh(&t, mesh);
    print(&t, "<PointData Scalars=\"%s\">\n", name);
    put_field(&t, name, at_nodes, mesh->nodes, 1);
    print(&t, "</PointData>\n<CellData>\n");
    if (r != NULL) {
        put_field(&t, "r", r, mesh->cells, 1);
    } else if (h->fibre != NULL) {
        put_field(&t, "fibre", h->fibre, mesh->cells, 3);
    }
    print(&t, "</CellData>\n</Piece>\n</UnstructuredGrid>\n</VTKFile>\n");
    return save(h, &t, file);
}

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
    text t = {0};
    print(&t, "<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"0.1\">\n"
              "<Collection>\n");
    for (long long k = 0; (double)k * h->o->every <= h->t * (1 + 1e-9); ++k) {
        print(&t, "<DataSet timestep=\"%.10g\" file=\"phi-%05lld.vtu\"/>\n",
              (double)k * h->o->every, k);
    }
    print(&t, "</Collection>\n</VTKFile>\n");
    return save(h, &t, "heart.pvd");
}

cmg_status output_picture(heart *h)
{
    const double begin = now();
    char file[64];
    double *phi = fetch(h->phi);
    double *r = fetch(h->r);
    (void)snprintf(file, sizeof file, "phi-%05lld.vtu", llround(h->t / h->o->every));
    cmg_status status =
        phi != NULL && r != NULL ? write_vtu(h, file, "phi", phi, r) : CMG_ERR_MEMORY;
    free(phi);
    free(r);
    status = status ? status : write_series(h);
    h->spent.output += now() - begin;
    return status;
}

/* The map, as a picture and as numbers in the order of its nodes. */
cmg_status output_activation(heart *h)
{
    char path[4096];
    double *activation = fetch(h->activation);
    (void)snprintf(path, sizeof path, "%s/activation.npy", h->o->output);
    cmg_status status = activation != NULL
                            ? write_vtu(h, "activation.vtu", "activation", activation, NULL)
                            : CMG_ERR_MEMORY;
    status = status ? status : cmg_vector_write(h->ctx, path, h->mesh.nodes, activation);
    free(activation);
    return status;
}

/* ------------------------------------------------------------------ summary */

static void print_text(text *t, const char *name, const char *value)
{
    print(t, "  \"%s\": \"", name);
    for (; *value != '\0'; ++value) {
        print(t, *value == '"' || *value == '\\' ? "\\%c" : "%c", *value);
    }
    print(t, "\",\n");
}

cmg_status output_summary(heart *h, bool interrupted)
{
    const seconds *s = &h->spent;
    const counts *c = &h->count;
    double *phi = fetch(h->phi);
    double low = INFINITY;
    double high = -INFINITY;
    size_t peak[2];
    text t = {0};
    for (cmg_size i = 0; i < h->mesh.nodes && phi != NULL; ++i) {
        low = fmin(low, phi[i]);
        high = fmax(high, phi[i]);
    }
    const bool fetched = phi != NULL;
    free(phi);
    if (!fetched) {
        return CMG_ERR_MEMORY;
    }
    cmg_context_memory(h->ctx, NULL, peak);
    const cmg_csr A = cmg_fem_sum_csr(h->sum);
    print(&t, "{\n");
    print_text(&t, "mesh", h->o->mesh != NULL ? h->o->mesh : "block");
    print_text(&t, "backend", cmg_enum_name("backend", (int)cmg_context_backend(h->ctx)));
    print_text(&t, "solver", h->o->solver);
    print_text(&t, "format", h->o->format);
    print(&t, "  \"threads\": %d,\n", cmg_context_threads(h->ctx));
    print(&t, "  \"nodes\": %lld,\n  \"cells\": %lld,\n  \"entries\": %lld,\n",
          (long long)h->mesh.nodes, (long long)h->mesh.cells, (long long)A.indptr[A.rows]);
    print(&t, "  \"time\": %.17g,\n  \"interrupted\": %s,\n", h->t, interrupted ? "true" : "false");
    print(&t, "  \"steps\": %lld,\n  \"rejected\": %lld,\n  \"newton\": %lld,\n", c->steps,
          c->rejected, c->newton);
    print(&t, "  \"cg_iterations\": %lld,\n", c->iterations);
    print(&t, "  \"phi\": [%.17g, %.17g],\n", low, high);
    print(&t, "  \"bytes\": {\"host\": %zu, \"device\": %zu},\n", peak[0], peak[1]);
    print(&t, "  \"parts_timed\": %s,\n",
          h->o->profile || cmg_context_backend(h->ctx) == CMG_BACKEND_CPU ? "true" : "false");
    print(&t,
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
