/* Dense operators for the coarse end of the cycle. */
#pragma once
#include "mg/cycle.h"

/* What was found while inverting. */
typedef enum cmgi_inverse_kind {
    CMGI_INVERSE_CHOLESKY = 0, /* symmetric positive definite */
    CMGI_INVERSE_LU,           /* general */
    CMGI_INVERSE_PSEUDO        /* symmetric, semidefinite and singular: A X A = A */
} cmgi_inverse_kind;

/* A as an n x n array by rows. */
void cmgi_dense_expand(const cmg_csr *A, double *dense);
/*
 * X = A^-1, n x n by rows, of a sparse A; where that is semidefinite A X A = A, and the
 * Moore-Penrose inverse where it takes constants alone to 0. Cost n^3 .. 2 n^3 flops, up to 3 n^2
 * doubles.
 *
 * @return CMG_OK, CMG_ERR_SINGULAR (neither semidefinite nor taking constants alone to 0),
 *         CMG_ERR_MEMORY
 */
cmg_status cmgi_dense_inverse(cmg_context *ctx, const cmg_csr *A, double *X,
                              cmgi_inverse_kind *kind);
/* The same of a level's A, where that is, as a matrix of the cycle: see cmgi_dense_matrix. */
cmg_status cmgi_coarse_inverse(const cmg_hierarchy *h, int level, const cmg_index *perm,
                               const cmg_matrix_options *options, cmg_matrix **M,
                               cmgi_inverse_kind *kind);
enum { CMGI_SMALL_INVERSE = 320 }; /* most rows: 6 ms on one core */
/*
 * X, n x n and symmetric, becomes its inverse on the calling thread: beside other jobs the threads
 * of a BLAS wait for each other, 0.7 to 1.2 s for 250 rows on two cores with a load of 20.
 * *definite = false, and X is as it was, where a pivot is not positive beyond rounding, or, where
 * it may be `singular`, negative.
 */
cmg_status cmgi_small_inverse(cmg_context *ctx, cmg_size n, bool singular, double *X,
                              bool *definite);
/*
 * A dense n x n array as a matrix of the cycle, with precision, values and keep_map of the options;
 * when *M exists it gets the new values. X is on the host, where perm renumbers it, or, with perm =
 * NULL, in the backend's memory.
 */
cmg_status cmgi_dense_matrix(cmg_context *ctx, cmg_size n, const double *X, const cmg_index *perm,
                             const cmg_matrix_options *options, cmg_matrix **M);
