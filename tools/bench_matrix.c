/* Matrices to measure with: from a file, or built in by tensor products of 1D matrices. */
#include "bench_matrix.h"

#include "status.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_ENTRIES = 2000000000 };

/* 1D mass and stiffness of linear elements on a mesh of width 1: neighbours at distance 0 and 1. */
static const double mass[2] = {2.0 / 3.0, 1.0 / 6.0};
static const double stiffness[2] = {2.0, -1.0};

/* Sum over the directions of stiffness in that one and mass in the others. */
static double entry(int dim, const int distance[3])
{
    double sum = 0;
    for (int d = 0; d < dim; ++d) {
        double product = 1;
        for (int e = 0; e < dim; ++e) {
            product *= e == d ? stiffness[distance[e]] : mass[distance[e]];
        }
        sum += product;
    }
    return sum;
}

/* A number in [0.9, 1.1] that is the same for entries (i, j) and (j, i). */
static double noise(cmg_size i, cmg_size j)
{
    uint64_t z =
        (uint64_t)(i < j ? i : j) * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)(i < j ? j : i);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return 0.9 + 0.2 * (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* Entries of the row at `at`, unknowns counted 0 .. n-1 a direction; k is where they begin. */
static cmg_size fill_row(bench_matrix *m, int dim, int n, const int at[3], bool noisy, cmg_size k)
{
    const cmg_size strides[3] = {1, n, (cmg_size)n * n};
    cmg_size row = 0;
    for (int d = 0; d < dim; ++d) {
        row += at[d] * strides[d];
    }
    const int depth = dim == 3 ? 1 : 0;
    for (int c = -depth; c <= depth; ++c) {
        for (int b = -1; b <= 1; ++b) {
            for (int a = -1; a <= 1; ++a) {
                const int to[3] = {at[0] + a, at[1] + b, at[2] + c};
                if (to[0] < 0 || to[0] >= n || to[1] < 0 || to[1] >= n || to[2] < 0 || to[2] >= n) {
                    continue;
                }
                const int distance[3] = {abs(a), abs(b), abs(c)};
                const cmg_size column = row + a + b * strides[1] + c * strides[2];
                const double value = entry(dim, distance);
                m->indices[k] = (cmg_index)column;
                m->values[k++] = noisy ? value * noise(row, column) : value;
            }
        }
    }
    return k;
}

static void fill(bench_matrix *m, int dim, int n, bool noisy)
{
    const int layers = dim == 3 ? n : 1;
    cmg_size row = 0;
    cmg_size k = 0;
    for (int z = 0; z < layers; ++z) {
        for (int y = 0; y < n; ++y) {
            for (int x = 0; x < n; ++x) {
                const int at[3] = {x, y, z};
                m->indptr[row++] = k;
                k = fill_row(m, dim, n, at, noisy, k);
            }
        }
    }
    m->indptr[row] = k;
}

static cmg_size longest_row(const cmg_csr *csr)
{
    cmg_size longest = 0;
    for (cmg_size i = 0; i < csr->rows; ++i) {
        const cmg_size length = csr->indptr[i + 1] - csr->indptr[i];
        longest = length > longest ? length : longest;
    }
    return longest;
}

int bench_matrix_generate(const char *name, bench_matrix *m)
{
    cmg_size cells = 0;
    const bool noisy = strncmp(name, "noisy-", 6) == 0;
    const char *kind = noisy ? name + 6 : strncmp(name, "q1-", 3) == 0 ? name + 3 : "";
    const int dim = strncmp(kind, "2d:", 3) == 0 ? 2 : strncmp(kind, "3d:", 3) == 0 ? 3 : 0;
    if (dim == 0 || !args_read_integer(kind + 3, &cells)) {
        return usage_error(
            "bench: --generate '%s' is none of q1-2d:N, q1-3d:N, noisy-2d:N, noisy-3d:N", name);
    }
    /* 3 n - 2 pairs of neighbours a direction */
    const double pairs = 3.0 * (double)cells - 5;
    const double entries = dim == 3 ? pairs * pairs * pairs : pairs * pairs;
    if (cells < 2 || entries > MOST_ENTRIES) {
        return usage_error(
            "bench: --generate %s has to have 2 cells or more and %d entries or fewer", name,
            (int)MOST_ENTRIES);
    }
    const int n = (int)cells - 1;
    const cmg_size rows = dim == 3 ? (cmg_size)n * n * n : (cmg_size)n * n;
    *m = (bench_matrix){.indptr = tool_alloc((size_t)rows + 1, sizeof *m->indptr),
                        .indices = tool_alloc((size_t)entries, sizeof *m->indices),
                        .values = tool_alloc((size_t)entries, sizeof *m->values)};
    (void)snprintf(m->name, sizeof m->name, "%s", name);
    fill(m, dim, n, noisy);
    m->csr = (cmg_csr){rows, rows, m->indptr, m->indices, m->values};
    m->longest = longest_row(&m->csr);
    return EXIT_DONE;
}

int bench_matrix_read(device_args *d, cmg_context *ctx, const char *path, bench_matrix *m)
{
    input_args in = {0};
    *m = (bench_matrix){0};
    const int status = input_read(&in, d, ctx, path, &m->h);
    if (status != EXIT_DONE) {
        return status;
    }
    const char *slash = strrchr(path, '/');
    (void)snprintf(m->name, sizeof m->name, "%s",
                   slash != NULL && slash[1] != '\0' ? slash + 1 : path);
    const cmg_status found = cmg_hierarchy_get_csr(m->h, 0, CMG_ROLE_A, NULL, 0, &m->csr);
    if (found != CMG_OK) {
        bench_matrix_free(m);
        return library_error(ctx, found, path);
    }
    m->longest = longest_row(&m->csr);
    return EXIT_DONE;
}

void bench_matrix_free(bench_matrix *m)
{
    cmg_hierarchy_destroy(&m->h);
    free(m->indptr);
    free(m->indices);
    free(m->values);
    *m = (bench_matrix){0};
}
