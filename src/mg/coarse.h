/* Dense operators for the coarse end of the cycle. */
#pragma once
#include "mg/cycle.h"

/* What was found while inverting. */
typedef enum cmgi_inverse_kind {
    CMGI_INVERSE_CHOLESKY = 0, /* symmetric positive definite */
    CMGI_INVERSE_LU,           /* general */
    CMGI_INVERSE_PSEUDO        /* symmetric and singular: Moore-Penrose */
} cmgi_inverse_kind;

/*
 * X = A^-1, n x n by rows, of a sparse A; the Moore-Penrose inverse where a symmetric A is
 * singular. Cost n^3 .. 9 n^3 flops, up to 3 n^2 doubles.
 *
 * @return CMG_OK, CMG_ERR_SINGULAR (unsymmetric and singular, or singular in a build without
 *         LAPACK), CMG_ERR_MEMORY
 */
cmg_status cmgi_dense_inverse(cmg_context *ctx, const cmg_csr *A, double *X,
                              cmgi_inverse_kind *kind);
/* The same of a level's A, where that is, as a matrix of the cycle: see cmgi_dense_matrix. */
cmg_status cmgi_coarse_inverse(const cmg_hierarchy *h, int level, const cmg_index *perm,
                               const cmg_matrix_options *options, cmg_matrix **M,
                               cmgi_inverse_kind *kind);
/* Unit vectors at once: as few batches as the backend can, of about one size, each a multiple of 4
 * so that values are loaded by 16 bytes. */
int cmgi_unit_columns(const cmg_context *ctx, cmg_size n);
/* The dense matrix of a cycle from its images of the unit vectors, n x n by rows, X in the
 * backend's memory. */
cmg_status cmgi_dense_cycle(cmg_context *ctx, cmgi_cycle *cycle, cmg_size n, double *X);
/*
 * A dense n x n array as a matrix of the cycle, with precision, values and keep_map of the options;
 * when *M exists it gets the new values. X is on the host, where perm renumbers it, or, with perm =
 * NULL, in the backend's memory.
 */
cmg_status cmgi_dense_matrix(cmg_context *ctx, cmg_size n, const double *X, const cmg_index *perm,
                             const cmg_matrix_options *options, cmg_matrix **M);
