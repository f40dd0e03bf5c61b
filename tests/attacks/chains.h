/*
 * Random systems for chains of calls, and an oracle that knows them by its own arrays alone: the
 * library is asked neither for A nor for what it has removed from b.
 */
#pragma once
#include "scoped.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LEVELS = 4, MOST_ROWS = 64, MOST_BLOCKS = 512 };

/* ------------------------------------------------------------------ numbers and memory */

static uint64_t number_state;

static inline uint64_t number(void) /* splitmix64 */
{
    uint64_t z = number_state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline int below(int n)
{
    return (int)(number() % (uint64_t)n);
}
static inline double real(void)
{
    return (double)(number() >> 11) / 9007199254740992.0;
}

/* Blocks of one chain, each apart so that a sanitizer sees its ends. */
static void *blocks[MOST_BLOCKS];
static int block_count;

static inline void *block(size_t bytes)
{
    void *p = block_count < MOST_BLOCKS ? calloc(1, bytes + 1) : NULL;
    if (p == NULL) {
        abort();
    }
    return blocks[block_count++] = p;
}

static inline void blocks_free(void)
{
    while (block_count > 0) {
        free(blocks[--block_count]);
    }
}

/* ------------------------------------------------------------------ matrices */

typedef struct matrix {
    cmg_size rows, cols;
    cmg_size *indptr;
    cmg_index *indices;
    double *values;
} matrix;

/* The entries of a dense array that are not 0, and those of the diagonal. */
static inline matrix sparse(const double *dense, cmg_size rows, cmg_size cols, bool diagonal)
{
    matrix M = {rows, cols, block((size_t)(rows + 1) * sizeof(cmg_size)), NULL, NULL};
    M.indices = block((size_t)(rows * cols) * sizeof(cmg_index));
    M.values = block((size_t)(rows * cols) * sizeof(double));
    cmg_size k = 0;
    for (cmg_size i = 0; i < rows; ++i) {
        for (cmg_size j = 0; j < cols; ++j) {
            if (dense[i * cols + j] != 0 || (diagonal && i == j)) {
                M.indices[k] = (cmg_index)j;
                M.values[k++] = dense[i * cols + j];
            }
        }
        M.indptr[i + 1] = k;
    }
    return M;
}

static inline cmg_csr csr_of(const matrix *M)
{
    return (cmg_csr){M->rows, M->cols, M->indptr, M->indices, M->values};
}

enum { LINE, GRID, JUMPS, HELMHOLTZ, SKEW, NEUMANN, NEARLY, DENSE, ARROW, ROWS, FIXED, ANY, KINDS };

static inline void line(double *a, int n, bool free_ends)
{
    for (int i = 0; i < n; ++i) {
        for (int j = i - 1; j <= i + 1; j += 2) {
            if (j >= 0 && j < n) {
                a[i * n + j] = -1;
            }
            a[i * n + i] += (j >= 0 && j < n) || !free_ends;
        }
    }
}

static inline void grid(double *a, int q)
{
    const int n = q * q;
    for (int i = 0; i < n; ++i) {
        const int at[4] = {i >= q ? i - q : -1, i % q > 0 ? i - 1 : -1, i % q < q - 1 ? i + 1 : -1,
                           i + q < n ? i + q : -1};
        for (int k = 0; k < 4; ++k) {
            if (at[k] >= 0) {
                a[i * n + at[k]] = -1;
            }
        }
        a[i * n + i] = 4;
    }
}

/* Random entries; positive definite for DENSE, as they come with a heavy diagonal for the rest. */
static inline void scatter(double *a, int n, int kind)
{
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) {
            const bool there = kind == DENSE || real() < 0.2;
            const double v = there ? real() - 0.6 : 0;
            if (kind == DENSE ? j <= i : i != j) {
                a[i * n + j] = v;
                a[j * n + i] = kind == DENSE ? v : a[j * n + i];
            }
        }
    }
    for (int i = 0; i < n; ++i) {
        double sum = 0;
        for (int j = 0; j < n; ++j) {
            sum += i == j ? 0 : fabs(a[i * n + j]);
        }
        a[i * n + i] = (kind == ANY ? 0.4 : 1.01) * sum + 0.02;
    }
}

/* What makes a plain matrix peculiar. */
static inline void bend(double *a, int n, int kind)
{
    double d[MOST_ROWS];
    for (int i = 0; i < n; ++i) {
        d[i] = kind == JUMPS ? pow(10, 8 * real() - 4) : 1;
    }
    for (int i = 0; i < n; ++i) {
        const double row = kind == ROWS ? pow(10, 8 * real() - 4) : d[i];
        for (int j = 0; j < n; ++j) {
            double *v = &a[i * n + j];
            *v *= row * d[j];
            *v = kind == SKEW && j != i ? (j > i ? 1 : -1) * *v : *v;
            *v = kind == FIXED && i % 5 == 0 ? i == j : *v;
        }
        a[i * n + i] -= kind == HELMHOLTZ ? 1.3 : kind == SKEW ? a[i * n + i] - 0.02 : 0;
        a[i * n + i] += kind == NEARLY ? pow(10, -8 - 5 * real()) : 0;
    }
    for (int i = 1; i < n && kind == ARROW; ++i) {
        a[i] = a[i * n] = -1;
        a[0] = n;
    }
}

static inline void fill_matrix(double *a, int n, int kind)
{
    int q = 1;
    while ((q + 1) * (q + 1) <= n) {
        ++q;
    }
    if (kind == DENSE || kind == ANY) {
        scatter(a, n, kind);
    } else if (q * q == n && kind != NEUMANN && kind != NEARLY) {
        grid(a, q);
    } else {
        line(a, n, kind == NEUMANN || kind == NEARLY);
    }
    bend(a, n, kind);
}

/* n x m: linear interpolation, constants on neighbours, or anything. */
static inline void fill_prolongation(double *p, int n, int m)
{
    const int kind = below(8);
    for (int i = 0; i < n; ++i) {
        const double at = m > 1 ? (double)i * (m - 1) / (n > 1 ? n - 1 : 1) : 0;
        const int j = (int)at;
        p[i * m + j] = kind < 4 ? 1 - (at - j) : 1;
        if (kind < 4 && j + 1 < m) {
            p[i * m + j + 1] = at - j;
        }
        for (int k = 0; k < m && kind == 7; ++k) {
            p[i * m + k] = real() - 0.5;
        }
    }
}

/* c = P^T a P */
static inline void triple(const double *a, const double *p, int n, int m, double *c)
{
    for (int i = 0; i < n; ++i) {
        for (int l = 0; l < m; ++l) {
            double ap = 0;
            for (int j = 0; j < n; ++j) {
                ap += a[i * n + j] * p[j * m + l];
            }
            for (int k = 0; k < m; ++k) {
                c[k * m + l] += p[i * m + k] * ap;
            }
        }
    }
}

typedef struct problem {
    int kind, levels;
    matrix A[MOST_LEVELS], P[MOST_LEVELS]; /* rows 0: left to the solver */
} problem;

static inline problem problem_make(void)
{
    problem p = {.kind = below(KINDS), .levels = 1 + below(MOST_LEVELS)};
    const int squares[] = {1, 4, 9, 16, 25, 36, 49};
    int n = below(2) ? squares[below(7)] : 1 + below(40);
    double *a = block(MOST_ROWS * MOST_ROWS * sizeof *a);
    const int given = below(4); /* coarse matrices: none, R A P twice, others */
    fill_matrix(a, n, p.kind);
    p.A[0] = sparse(a, n, n, true);
    for (int l = 0; l + 1 < p.levels; ++l) {
        const int m = below(12) == 0 ? n : 1 + n / (2 + below(2));
        double *t = block(MOST_ROWS * MOST_ROWS * sizeof *t);
        double *c = block(MOST_ROWS * MOST_ROWS * sizeof *c);
        fill_prolongation(t, n, m);
        p.P[l] = sparse(t, n, m, false);
        if (given == 3) {
            fill_matrix(c, m, below(KINDS));
        } else {
            triple(a, t, n, m, c);
        }
        if (given > 0) {
            p.A[l + 1] = sparse(c, m, m, true);
        }
        a = c;
        n = m;
    }
    return p;
}

/* ------------------------------------------------------------------ the oracle */

typedef struct truth {
    long double residual, rhs, slack, left; /* left: || A^T (b - A x) || / || A ||_F */
    bool finite;
} truth;

/* a_ij = a_ji, bit for bit */
static inline bool is_symmetric(const matrix *A, const double *values)
{
    scoped double *dense = calloc((size_t)(A->rows * A->rows), sizeof *dense);
    bool same = dense != NULL;
    for (cmg_size i = 0; i < A->rows && same; ++i) {
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            dense[i * A->rows + A->indices[k]] = values[k];
        }
    }
    for (cmg_size i = 0; i < A->rows * A->rows && same; ++i) {
        same = dense[i] == dense[i % A->rows * A->rows + i / A->rows];
    }
    return same;
}

/* Column c of `columns` side by side, A with these values. */
static inline truth truth_of(const matrix *A, const double *values, const double *b,
                             const double *x, int columns, int c)
{
    truth t = {.finite = true};
    long double sized = 0;
    long double square = 0;
    cmg_size widest = 0;
    long double left[MOST_ROWS] = {0};
    for (cmg_size i = 0; i < A->rows; ++i) {
        long double r = b[i * columns + c];
        long double m = fabsl(r);
        t.rhs += r * r;
        t.finite = t.finite && isfinite(x[i * columns + c]);
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            const long double term = (long double)values[k] * x[A->indices[k] * columns + c];
            r -= term;
            m += fabsl(term);
        }
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            left[A->indices[k]] += values[k] * r;
            square += (long double)values[k] * values[k];
        }
        widest =
            A->indptr[i + 1] - A->indptr[i] > widest ? A->indptr[i + 1] - A->indptr[i] : widest;
        t.residual += r * r;
        sized += m * m;
    }
    for (cmg_size j = 0; j < A->cols; ++j) {
        t.left += left[j] * left[j];
    }
    t.left = sqrtl(t.left) / sqrtl(square);
    t.residual = sqrtl(t.residual);
    t.rhs = sqrtl(t.rhs);
    t.slack = (long double)(widest + 8) * 0x1p-52L * sqrtl(sized);
    return t;
}

/* What is wrong with a report on that, NULL = nothing. */
static inline const char *lie_of(const truth *t, const cmg_report *r, double rtol, double atol,
                                 bool symmetric)
{
    const bool converged = cmg_outcome_converged(r->outcome);
    const char *name = cmg_enum_name("outcome", (int)r->outcome);
    const bool least = name != NULL && strcmp(name, "least_squares") == 0;
    const long double bound = fmaxl((long double)rtol * t->rhs, atol) * (1 + 1e-6L) + t->slack;
    if (name == NULL) {
        return "no such outcome";
    }
    if (!t->finite) {
        return converged || least || isfinite(r->residual) ? "x is not finite" : NULL;
    }
    if (!(fabsl(t->residual - r->residual) <= 1e-6L * t->residual + t->slack)) {
        return "told another residual than that of x";
    }
    if (t->rhs > 0 && !(fabsl(t->residual / t->rhs - r->relative_residual) <=
                        1e-6L * t->residual / t->rhs + t->slack / t->rhs)) {
        return "told another relative residual than that of x";
    }
    if (converged && r->outcome != CMG_ROUNDING && !(t->residual <= bound)) {
        return "converged, and not within the tolerance";
    }
    if (r->outcome == CMG_ROUNDING &&
        !(t->residual <= t->slack && t->residual <= 0.0101L * t->rhs)) {
        return "said to be rounding, and is more";
    }
    if (least && symmetric && !(t->left <= 10 * bound)) {
        return "least squares, and A^T (b - A x) is not 0";
    }
    return NULL;
}
