/* Plain loops, with which what the library computes is compared. */
#pragma once
#include "core/context.h"
#include "core/random.h"
#include "csr/csr.h"
#include "scoped.h"

#include <math.h>
#include <string.h>

/* x[i] = a value for each i of 0 .. n-1; i is of n's type, as in those below. */
#define FILL(x, i, n, ...)                                                                         \
    for (__typeof__((n) + 0) i = 0; i < (n); ++i)                                                  \
    (x)[i] = (__VA_ARGS__)

/* Loops in loops: each i of 0 .. m-1 and each j of 0 .. n-1, which may depend on i. */
#define EACH_PAIR(i, m, j, n)                                                                      \
    for (__typeof__((m) + 0) i = 0; i < (m); ++i)                                                  \
        for (__typeof__((n) + 0) j = 0; j < (n); ++j)
#define EACH_TRIPLE(i, m, j, n, k, o)                                                              \
    EACH_PAIR (i, m, j, n)                                                                         \
        for (__typeof__((o) + 0) k = 0; k < (o); ++k)

/* The larger; none where one is none, so that what is checked of it fails: fmax passes over NaN. */
static inline double worst_of(double a, double b)
{
    return isnan(a) || a >= b ? a : b;
}

/* n of the stream that begins at seed, in [-1, 1). */
static inline double *random_values(cmg_size n, uint64_t seed)
{
    double *v = malloc(((size_t)n + 1) * sizeof *v);
    FILL(v, i, n, 2 * cmgi_random(&seed) - 1);
    return v;
}

static inline void fill_values(double *x, cmg_size n, double value)
{
    FILL(x, i, n, value);
}

/* 0 .. n-1 in an order of the stream that begins at seed. */
static inline void random_order(cmg_index *order, cmg_size n, uint64_t seed)
{
    FILL(order, i, n, (cmg_index)i);
    for (cmg_size i = n - 1; i > 0; --i) {
        const cmg_size j = (cmg_size)(cmgi_random(&seed) * (double)(i + 1));
        const cmg_index kept = order[i];
        order[i] = order[j];
        order[j] = kept;
    }
}

static inline double dot(const double *x, const double *y, cmg_size n)
{
    double sum = 0;
    for (cmg_size i = 0; i < n; ++i) {
        sum += x[i] * y[i];
    }
    return sum;
}

static inline double norm(const double *x, cmg_size n)
{
    return sqrt(dot(x, x, n));
}

/* a x in an array of its own */
static inline double *scaled_copy(const double *x, cmg_size n, double a)
{
    double *y = malloc(((size_t)n + 1) * sizeof *y);
    FILL(y, i, n, a * x[i]);
    return y;
}

/* y = y + a x */
static inline void add_scaled(double *y, double a, const double *x, cmg_size n)
{
    for (cmg_size i = 0; i < n; ++i) {
        y[i] += a * x[i];
    }
}

static inline double largest(const double *x, cmg_size n)
{
    double most = 0;
    for (cmg_size i = 0; i < n; ++i) {
        most = worst_of(most, fabs(x[i]));
    }
    return most;
}

static inline double largest_difference(const double *x, const double *y, cmg_size n)
{
    double most = 0;
    for (cmg_size i = 0; i < n; ++i) {
        most = isfinite(x[i] - y[i]) ? fmax(most, fabs(x[i] - y[i])) : INFINITY;
    }
    return most;
}

/* The largest difference from y over the largest of y. */
static inline double relative_difference(const double *x, const double *y, cmg_size n)
{
    return largest_difference(x, y, n) / largest(y, n);
}

/* ||x - y|| / ||y|| */
static inline double relative_distance(const double *x, const double *y, cmg_size n)
{
    double apart = 0;
    for (cmg_size i = 0; i < n; ++i) {
        apart += (x[i] - y[i]) * (x[i] - y[i]);
    }
    return sqrt(apart) / norm(y, n);
}

/* All entries k of a pointer to a matrix, row i by row. */
#define EACH_ENTRY(A, i, k)                                                                        \
    for (cmg_size i = 0; i < (A)->rows; ++i)                                                       \
        for (cmg_size k = (A)->indptr[i]; k < (A)->indptr[i + 1]; ++k)

/* (A x)_i */
static inline double row_times(const cmg_csr *A, cmg_size i, const double *x)
{
    double sum = 0;
    for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
        sum += A->values[k] * x[A->indices[k]];
    }
    return sum;
}

/* y = A x */
static inline void csr_multiply(const cmg_csr *A, const double *x, double *y)
{
    FILL(y, i, A->rows, row_times(A, i, x));
}

/* A x in an array of its own */
static inline double *csr_times(const cmg_csr *A, const double *x)
{
    double *y = malloc(((size_t)A->rows + 1) * sizeof *y);
    csr_multiply(A, x, y);
    return y;
}

/* ||b - A x|| / ||b|| of column c of k, whose value i is at i k + c. */
static inline double column_residual(const cmg_csr *A, const double *b, const double *x, int k,
                                     int c)
{
    double rr = 0;
    double bb = 0;
    for (cmg_size i = 0; i < A->rows; ++i) {
        double r = b[i * k + c];
        bb += r * r;
        for (cmg_size e = A->indptr[i]; e < A->indptr[i + 1]; ++e) {
            r -= A->values[e] * x[(cmg_size)A->indices[e] * k + c];
        }
        rr += r * r;
    }
    return sqrt(rr / bb);
}

static inline double relative_residual(const cmg_csr *A, const double *b, const double *x)
{
    return column_residual(A, b, x, 1, 0);
}

/* The dense form, row by row. */
static inline double *dense_of(const cmg_csr *A)
{
    double *D = calloc((size_t)(A->rows * A->cols) + 1, sizeof *D);
    EACH_ENTRY (A, i, k) {
        D[i * A->cols + A->indices[k]] += A->values[k];
    }
    return D;
}

/* The inverse of a dense matrix, row by row, by Gauss and Jordan with row exchanges. */
static inline double *inverse_of(cmg_size n, const double *dense)
{
    scoped double *A = malloc((size_t)(n * n) * sizeof *A);
    double *X = calloc((size_t)(n * n), sizeof *X);
    memcpy(A, dense, (size_t)(n * n) * sizeof *A);
    for (cmg_size i = 0; i < n; ++i) {
        X[i * n + i] = 1;
    }
    for (cmg_size c = 0; c < n; ++c) {
        cmg_size pivot = c;
        for (cmg_size i = c + 1; i < n; ++i) {
            pivot = fabs(A[i * n + c]) > fabs(A[pivot * n + c]) ? i : pivot;
        }
        for (cmg_size j = 0; j < n; ++j) {
            const double a = A[c * n + j];
            const double x = X[c * n + j];
            A[c * n + j] = A[pivot * n + j];
            X[c * n + j] = X[pivot * n + j];
            A[pivot * n + j] = a;
            X[pivot * n + j] = x;
        }
        const double scale = 1 / A[c * n + c];
        for (cmg_size j = 0; j < n; ++j) {
            A[c * n + j] *= scale;
            X[c * n + j] *= scale;
        }
        for (cmg_size i = 0; i < n; ++i) {
            const double factor = i == c ? 0 : A[i * n + c];
            for (cmg_size j = 0; factor != 0 && j < n; ++j) {
                A[i * n + j] -= factor * A[c * n + j];
                X[i * n + j] -= factor * X[c * n + j];
            }
        }
    }
    return X;
}

static inline double *dense_inverse(const cmg_csr *A)
{
    scoped double *D = dense_of(A);
    return inverse_of(A->rows, D);
}

/* Sum of the entries of row i */
static inline double row_sum(const cmg_csr *A, cmg_size i)
{
    double sum = 0;
    for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
        sum += A->values[k];
    }
    return sum;
}

/* max |a_ij - b_ij| over the union of the patterns. */
static inline double matrix_difference(const cmg_csr *A, const cmg_csr *B)
{
    if (A->rows != B->rows || A->cols != B->cols) {
        return INFINITY;
    }
    scoped double *row = calloc((size_t)A->cols + 1, sizeof *row);
    double most = 0;
    for (cmg_size i = 0; i < A->rows; ++i) {
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            row[A->indices[k]] += A->values[k];
        }
        for (cmg_size k = B->indptr[i]; k < B->indptr[i + 1]; ++k) {
            row[B->indices[k]] -= B->values[k];
        }
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            most = worst_of(most, fabs(row[A->indices[k]]));
            row[A->indices[k]] = 0;
        }
        for (cmg_size k = B->indptr[i]; k < B->indptr[i + 1]; ++k) {
            most = worst_of(most, fabs(row[B->indices[k]]));
            row[B->indices[k]] = 0;
        }
    }
    return most;
}
