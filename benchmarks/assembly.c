/*
 * Seconds of an assembly as a product: cell matrices, values in CSR order, values in the storage of
 * a matrix; and, to compare, of the way through CSR order and cmg_matrix_update. Of the set-up: the
 * sums from the mesh, the matrix from their pattern in the backend's memory, binding it.
 *
 *   bench_assembly [cpu|cuda] [hex|tet] [heat|elasticity] N [REPEATS]
 *
 * on N^3 cubes, bent a little; a tetrahedral mesh has six a cube. One JSON line. Checked against A
 * times a vector of ones: rows of the stiffness sum to 0, of the mass to its total. Floors: what
 * cell matrices and their sum have to move, once each, over the measured copy bandwidth.
 */
#include "bench.h"

#include <cmg_fem.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void cut(const cmg_index *c, cmg_index *tets)
{
    static const int order[6][3] = {{1, 2, 4}, {2, 4, 1}, {4, 1, 2},
                                    {2, 1, 4}, {1, 4, 2}, {4, 2, 1}};
    for (int t = 0; t < 6; ++t) {
        const int first = order[t][0];
        const int second = first + order[t][1];
        tets[4 * t] = c[0];
        tets[4 * t + 1] = c[t < 3 ? first : second];
        tets[4 * t + 2] = c[t < 3 ? second : first];
        tets[4 * t + 3] = c[7];
    }
}

static cmg_fem_mesh make(int n, bool tets)
{
    const cmg_size row = n + 1;
    const cmg_size cubes = (cmg_size)n * n * n;
    double *x = malloc((size_t)(row * row * row * 3) * sizeof *x);
    cmg_index *cells = malloc((size_t)(cubes * 24) * sizeof *cells);
    if (x == NULL || cells == NULL) {
        exit(1);
    }
    for (cmg_size i = 0; i < row * row * row; ++i) {
        const double at[3] = {(double)(i % row) / n, (double)(i / row % row) / n,
                              (double)(i / (row * row)) / n};
        for (int d = 0; d < 3; ++d) {
            x[i * 3 + d] = at[d] + 0.02 * sin(3 * at[(d + 1) % 3]);
        }
    }
    for (cmg_size c = 0; c < cubes; ++c) {
        const cmg_size low = c % n + c / n % n * row + c / ((cmg_size)n * n) * row * row;
        cmg_index corner[8];
        for (int k = 0; k < 8; ++k) {
            corner[k] = (cmg_index)(low + (k & 1) + (k >> 1 & 1) * row + (k >> 2) * row * row);
        }
        if (tets) {
            cut(corner, cells + c * 24);
        }
        for (int k = 0; k < 8 && !tets; ++k) {
            cells[c * 8 + k] = corner[k ^ (k >> 1 & 1)];
        }
    }
    return (cmg_fem_mesh){tets ? CMG_ELEMENT_P1 : CMG_ELEMENT_Q1,
                          3,
                          row * row * row,
                          x,
                          tets ? cubes * 6 : cubes,
                          cells};
}

typedef struct bench {
    cmg_context *ctx;
    cmg_fem_sum *sum;
    cmg_fem_form form;
    cmg_vector *k;
    cmg_vector *e;
    cmg_vector *values;
    cmg_matrix *A;
    int repeats;
    double setup[3]; /* seconds of the sums, of A, of binding it */
    size_t peak[2]; /* bytes of the context in the memory of the device, after the first and last */
} bench;

/* One part of the work. */
static cmg_status part(const bench *b, int which)
{
    switch (which) {
    case 0:
        return cmg_fem_sum_cells(b->sum, &b->form, b->k, b->e);
    case 1:
        return cmg_fem_sum_matrix(b->sum, b->e, b->values);
    case 2:
        return cmg_matrix_update(b->A, cmg_vector_data(b->values));
    default:
        return cmg_fem_sum_store(b->sum, b->e);
    }
}

/* Mean seconds of a part, after one run to warm up. */
static cmg_status clock_part(const bench *b, int which, double *seconds)
{
    cmg_status status = part(b, which);
    status = status ? status : cmg_context_synchronize(b->ctx);
    const double begin = bench_seconds();
    for (int r = 0; r < b->repeats && status == CMG_OK; ++r) {
        status = part(b, which);
    }
    status = status ? status : cmg_context_synchronize(b->ctx);
    *seconds = (bench_seconds() - begin) / b->repeats;
    return status;
}

/* Seconds since the last note, and the peak of memory. */
static void note(bench *b, int part, double *since, size_t *most)
{
    size_t peak[2] = {0, 0};
    (void)cmg_context_synchronize(b->ctx);
    b->setup[part] = bench_seconds() - *since;
    *since = bench_seconds();
    cmg_context_memory(b->ctx, NULL, peak);
    *most = peak[1];
}

static cmg_status create(bench *b, const cmg_fem_mesh *mesh, int nc)
{
    cmg_matrix_options options;
    cmg_matrix_options_default(&options);
    options.keep_map = true;
    cmg_size nnz = 0;
    double since = bench_seconds();
    cmg_status status = cmg_fem_sum_create(b->ctx, mesh, nc, true, NULL, &b->sum);
    note(b, 0, &since, &b->peak[0]);
    cmg_csr A = cmg_fem_sum_pattern(b->sum, &nnz);
    status = status ? status : cmg_vector_create(b->ctx, nnz, CMG_FP64, &b->values);
    status = status ? status : cmg_vector_fill(b->values, 0);
    A.values = cmg_vector_data(b->values);
    status = status ? status : cmg_matrix_create_csr(b->ctx, &A, &options, &b->A);
    note(b, 1, &since, &b->peak[1]);
    status = status ? status : cmg_fem_sum_bind(b->sum, b->A);
    note(b, 2, &since, &b->peak[1]);
    status = status ? status : cmg_vector_create(b->ctx, mesh->cells, CMG_FP64, &b->k);
    status = status ? status : cmg_vector_fill(b->k, 1);
    return status ? status
                  : cmg_vector_create(b->ctx, mesh->cells * cmg_fem_sum_entries(b->sum), CMG_FP64,
                                      &b->e);
}

/* A 1 added up: the volume for the heat equation, 0 for elasticity. */
static cmg_status total_of(const bench *b, cmg_size n, double *total)
{
    cmg_vector *one = NULL;
    cmg_vector *y = NULL;
    cmg_status status = cmg_vector_create(b->ctx, n, CMG_FP64, &one);
    status = status ? status : cmg_vector_create(b->ctx, n, CMG_FP64, &y);
    status = status ? status : cmg_vector_fill(one, 1);
    status = status ? status : cmg_matrix_apply(b->A, one, y);
    status = status ? status : cmg_vector_dot(one, y, total);
    cmg_vector_destroy(&y);
    cmg_vector_destroy(&one);
    return status;
}

/* Bytes of the cell matrices and what they are made of, and of the sum in CSR order. */
static void print_floors(const bench *b, const cmg_fem_mesh *mesh, int nc, cmg_size nnz)
{
    const int local = mesh->element == CMG_ELEMENT_P1 ? 4 : 8;
    const double terms = (double)mesh->cells * local * nc * local * nc;
    const double numbers = (double)mesh->cells * cmg_fem_sum_entries(b->sum);
    double copy = 0;
    (void)cmg_context_bandwidth(b->ctx, &copy);
    printf("\"cells_floor_seconds\": %.4g, \"csr_floor_seconds\": %.4g, "
           "\"copy_gb_per_second\": %.1f, ",
           (8 * (numbers + (double)mesh->cells + 3.0 * (double)mesh->nodes) +
            4.0 * local * (double)mesh->cells) /
               (copy * 1e9),
           (4 * terms + 2.0 * (double)nnz + 8 * (numbers + (double)nnz)) / (copy * 1e9), copy);
}

int main(int argc, char **argv)
{
    cmg_context_options options;
    cmg_context_options_default(&options);
    int backend = 0;
    if (argc < 5 || argc > 6 || cmg_enum_parse("backend", argv[1], &backend) != CMG_OK) {
        (void)fprintf(stderr, "usage: %s cpu|cuda hex|tet heat|elasticity N [REPEATS]\n", argv[0]);
        return 1;
    }
    const bool tets = strcmp(argv[2], "tet") == 0;
    const int nc = strcmp(argv[3], "elasticity") == 0 ? 3 : 1;
    const cmg_fem_mesh mesh = make(atoi(argv[4]), tets);
    bench b = {.form = {nc == 3 ? CMG_PROBLEM_ELASTICITY : CMG_PROBLEM_HEAT, 0.1, 1, 0.3},
               .repeats = argc > 5 ? atoi(argv[5]) : 20};
    double seconds[4] = {0};
    double total = 0;
    options.backend = (cmg_backend)backend;
    cmg_status status = cmg_context_create(&options, &b.ctx);
    const double begin = bench_seconds();
    status = status ? status : create(&b, &mesh, nc);
    const double setup = bench_seconds() - begin;
    for (int k = 0; k < 4; ++k) {
        status = status ? status : clock_part(&b, k, &seconds[k]);
    }
    status = status ? status : total_of(&b, mesh.nodes * nc, &total);
    cmg_matrix_info info = {.size = sizeof info};
    status = status ? status : cmg_matrix_get_info(b.A, &info);
    if (status != CMG_OK) {
        (void)fprintf(stderr, "%s\n", b.ctx != NULL ? cmg_context_message(b.ctx) : "no context");
        return 2;
    }
    (void)printf(
        "{\"benchmark\": \"assembly\", \"backend\": \"%s\", \"cell\": \"%s\", \"problem\": "
        "\"%s\", \"n\": %s, \"cells\": %lld, \"rows\": %lld, \"entries\": %lld, "
        "\"format\": \"%s\", \"setup_seconds\": %.4g, \"sums_seconds\": "
        "%.4g, \"matrix_seconds\": %.4g, \"bind_seconds\": %.4g, \"sums_peak_gb\": %.4g, "
        "\"peak_gb\": %.4g, \"cells_seconds\": %.4g, "
        "\"csr_seconds\": %.4g, \"update_seconds\": %.4g, \"store_seconds\": %.4g, "
        "\"total\": %.15g, ",
        argv[1], argv[2], argv[3], argv[4], (long long)mesh.cells, (long long)info.rows,
        (long long)info.nnz, cmg_enum_name("format", (int)info.format), setup, b.setup[0],
        b.setup[1], b.setup[2], 1e-9 * (double)b.peak[0], 1e-9 * (double)b.peak[1], seconds[0],
        seconds[1], seconds[2], seconds[3], total);
    print_floors(&b, &mesh, nc, info.nnz);
    bench_machine(stdout, cmg_context_threads(b.ctx));
    (void)printf("}\n");
    cmg_matrix_destroy(&b.A);
    cmg_vector_destroy(&b.k);
    cmg_vector_destroy(&b.e);
    cmg_vector_destroy(&b.values);
    cmg_fem_sum_destroy(&b.sum);
    cmg_context_destroy(&b.ctx);
    free((void *)(uintptr_t)mesh.x);
    free((void *)(uintptr_t)mesh.cell_nodes);
    return 0;
}
