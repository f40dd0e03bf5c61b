/* What tests of generated hierarchies share: products by plain loops, exact values at the nodes. */
#pragma once
#include "fem/problem.h"
#include "generated.h"

static inline const double *vector_of(const cmg_hierarchy *h, int level, const char *kind,
                                      const char *name, cmg_size *n)
{
    const double *values = NULL;
    CHECK_OK(cmg_hierarchy_get_vector(h, level, kind, name, n, &values));
    return values;
}

/* y = A x */
static inline double *multiply(const cmg_csr *A, const double *x)
{
    double *y = calloc((size_t)A->rows + 1, sizeof *y);
    for (cmg_size i = 0; i < A->rows; ++i) {
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            y[i] += A->values[k] * x[A->indices[k]];
        }
    }
    return y;
}

static inline double largest(const double *x, cmg_size n)
{
    double most = 0;
    for (cmg_size i = 0; i < n; ++i) {
        most = fmax(most, fabs(x[i]));
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
            most = fmax(most, fabs(row[A->indices[k]]));
            row[A->indices[k]] = 0;
        }
        for (cmg_size k = B->indptr[i]; k < B->indptr[i + 1]; ++k) {
            most = fmax(most, fabs(row[B->indices[k]]));
            row[B->indices[k]] = 0;
        }
    }
    return most;
}
