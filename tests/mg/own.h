/*
 * Systems on a square grid of n x n unknowns whose arrays are the test's own: the library is given
 * copies and is never asked for A, and residuals are sums in long double over these arrays.
 */
#pragma once
#include "scoped.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OWN_LEVELS = 3 };

typedef struct own_matrix {
    cmg_size rows;
    cmg_size cols;
    cmg_size *indptr;
    cmg_index *indices;
    double *values;
} own_matrix;

typedef struct own_system {
    int n; /* unknowns along an edge, 2^k - 1 */
    int levels;
    own_matrix A;
    own_matrix P[OWN_LEVELS - 1]; /* of the levels that there are; coarse matrices are R A P */
} own_system;

typedef enum own_kind {
    OWN_LAPLACE,
    OWN_SCALED,     /* D (Laplacian) D with D from 1e-4 to 1e4 */
    OWN_INDEFINITE, /* Laplacian - 1.3 I */
    OWN_WIND,       /* Laplacian and a strong wind along x: not symmetric */
    OWN_TURNED,     /* conduction 1e3 times as large in one direction, 45 degrees from x */
    OWN_JUMPS       /* conduction of random size, 1 to 800, a cell */
} own_kind;

static inline double own_random(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) / 16777216.0;
}

/* A fixed random number of an unknown or a cell. */
static inline double own_fixed(int i, int j)
{
    unsigned seed = (unsigned)(i * 7919 + j * 104729 + 17);
    (void)own_random(&seed);
    return own_random(&seed);
}

static inline double own_conduction(int i, int j)
{
    return pow(10, 2.9 * own_fixed(i, j));
}

/* Entry of unknown (i, j) and its neighbour (i + di, j + dj). */
static inline double own_entry(own_kind kind, int i, int j, int di, int dj)
{
    const bool itself = di == 0 && dj == 0;
    const bool next = di == 0 || dj == 0;
    const double laplace = itself ? 4 : next ? -1 : 0;
    const double k[4] = {own_conduction(i, j), own_conduction(i + 1, j), own_conduction(i, j + 1),
                         own_conduction(i + 1, j + 1)};
    switch (kind) {
    case OWN_SCALED:
        return laplace * pow(10, 8 * own_fixed(i, j) - 4) *
               pow(10, 8 * own_fixed(i + di, j + dj) - 4);
    case OWN_INDEFINITE:
        return laplace - (itself ? 1.3 : 0);
    case OWN_WIND:
        return laplace + (dj == 0 ? 3.0 * di : 0);
    case OWN_TURNED: /* -a (u_xx + u_yy) - 2 c u_xy, by central differences */
        return 0.5005 * laplace + (next ? 0 : -0.5 * 0.4995 * di * dj);
    case OWN_JUMPS: /* Q1: bilinear elements, the cells around the unknown */
        return itself    ? (k[0] + k[1] + k[2] + k[3]) * 2 / 3
               : dj == 0 ? -(di < 0 ? k[0] + k[2] : k[1] + k[3]) / 6
               : di == 0 ? -(dj < 0 ? k[0] + k[1] : k[2] + k[3]) / 6
                         : -k[(di > 0) + 2 * (dj > 0)] / 3;
    default:
        return laplace;
    }
}

static inline own_matrix own_alloc(cmg_size rows, cmg_size cols, cmg_size nnz)
{
    own_matrix M = {.rows = rows,
                    .cols = cols,
                    .indptr = calloc((size_t)rows + 1, sizeof *M.indptr),
                    .indices = calloc((size_t)nnz + 1, sizeof *M.indices),
                    .values = calloc((size_t)nnz + 1, sizeof *M.values)};
    return M;
}

static inline void own_push(own_matrix *M, cmg_size row, int column, double value)
{
    M->indices[M->indptr[row + 1]] = (cmg_index)column;
    M->values[M->indptr[row + 1]++] = value;
}

static inline own_matrix own_grid(own_kind kind, int n)
{
    own_matrix A = own_alloc(n * n, n * n, 9 * (cmg_size)n * n);
    for (int row = 0; row < n * n; ++row) {
        const int i = row % n;
        const int j = row / n;
        A.indptr[row + 1] = A.indptr[row];
        for (int at = 0; at < 9; ++at) {
            const int di = at % 3 - 1;
            const int dj = at / 3 - 1;
            const double v = own_entry(kind, i, j, di, dj);
            if (i + di >= 0 && i + di < n && j + dj >= 0 && j + dj < n && v != 0) {
                own_push(&A, row, row + di + n * dj, v);
            }
        }
    }
    return A;
}

/* Five-point Laplacian on n x n nodes with nothing held, and `spring` on the diagonal of one node,
 * or of all where `at` is -1. */
static inline own_matrix own_free_grid(int n, double spring, int at)
{
    own_matrix A = own_alloc(n * n, n * n, 5 * (cmg_size)n * n);
    for (int row = 0; row < n * n; ++row) {
        const int i = row % n;
        const int j = row / n;
        const int next[4] = {j > 0 ? row - n : -1, i > 0 ? row - 1 : -1, i + 1 < n ? row + 1 : -1,
                             j + 1 < n ? row + n : -1};
        double sum = 0;
        A.indptr[row + 1] = A.indptr[row];
        for (int k = 0; k < 4; ++k) {
            if (next[k] >= 0) {
                own_push(&A, row, next[k], -1);
                sum += 1;
            }
        }
        own_push(&A, row, row, sum + (at < 0 || at == row ? spring : 0));
    }
    return A;
}

/* Bilinear interpolation from every other unknown. */
static inline own_matrix own_bilinear(int n)
{
    const int m = n / 2;
    own_matrix P = own_alloc(n * n, m * m, 4 * (cmg_size)n * n);
    for (int row = 0; row < n * n; ++row) {
        P.indptr[row + 1] = P.indptr[row];
        for (int c = 0; c < m * m; ++c) {
            const int di = abs(row % n - 2 * (c % m) - 1);
            const int dj = abs(row / n - 2 * (c / m) - 1);
            if (di < 2 && dj < 2) {
                own_push(&P, row, c, (di == 0 ? 1 : 0.5) * (dj == 0 ? 1 : 0.5));
            }
        }
    }
    return P;
}

static inline own_system own_make(own_kind kind, int n, int levels)
{
    own_system s = {.n = n, .levels = levels, .A = own_grid(kind, n)};
    for (int l = 0; l + 1 < levels; ++l, n /= 2) {
        s.P[l] = own_bilinear(n);
    }
    return s;
}

static inline void own_clear(own_matrix *M)
{
    free(M->indptr);
    free(M->indices);
    free(M->values);
    *M = (own_matrix){0};
}

#define scoped_own scoped_by(own_clear) own_matrix

static inline void own_free(own_system *s)
{
    own_clear(&s->A);
    for (int l = 0; l + 1 < OWN_LEVELS; ++l) {
        own_clear(&s->P[l]);
    }
}

static inline cmg_csr own_view(const own_matrix *M)
{
    return (cmg_csr){M->rows, M->cols, M->indptr, M->indices, M->values};
}

static inline cmg_status own_hierarchy(cmg_context *on, const own_system *s, cmg_hierarchy **h)
{
    cmg_status status = cmg_hierarchy_create(on, s->levels, h);
    const cmg_csr A = own_view(&s->A);
    status = status ? status : cmg_hierarchy_set_csr(*h, 0, CMG_ROLE_A, NULL, 0, &A);
    for (int l = 0; l + 1 < s->levels && status == CMG_OK; ++l) {
        const cmg_csr P = own_view(&s->P[l]);
        status = cmg_hierarchy_set_csr(*h, l, CMG_ROLE_P, NULL, 0, &P);
    }
    return status;
}

/*
 * ||b - A x|| / ||b|| of column c of k, which are interleaved, NaN where x is; and in *rounding
 * what an A x in fp64 may differ from it.
 */
static inline double own_residual(const own_matrix *A, const double *b, const double *x, int k,
                                  int c, double *rounding)
{
    long double rr = 0;
    long double bb = 0;
    long double mm = 0;
    for (cmg_size i = 0; i < A->rows; ++i) {
        long double r = b[i * k + c];
        long double m = fabsl(r);
        bb += r * r;
        for (cmg_size e = A->indptr[i]; e < A->indptr[i + 1]; ++e) {
            const long double term = (long double)A->values[e] * x[(cmg_size)A->indices[e] * k + c];
            r -= term;
            m += fabsl(term);
        }
        rr += r * r;
        mm += m * m;
    }
    *rounding = 8 * DBL_EPSILON * (double)sqrtl(mm / bb);
    return (double)sqrtl(rr / bb);
}
