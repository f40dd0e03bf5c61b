/*
 * Incomplete A-biconjugation: unit upper triangular W and Z and a diagonal P with W^T A Z ~ P, so
 * that A^-1 ~ Z P^-1 W^T.
 */
#pragma once
#include "csr/csr.h"

typedef struct cmgi_biconjugate_options {
    double drop;      /* entries not over drop are dropped ... */
    bool relative;    /* ... or not over drop times the norm of their column */
    cmg_size cap;     /* entries a column keeps, the largest; 0 = all */
    const char *name; /* of the method, for messages */
    int level;        /* for messages */
} cmgi_biconjugate_options;

/*
 * Column i of Z (and W) becomes row i of Zt (and Wt), columns sorted. For a symmetric positive
 * definite A pass T = NULL: then W = Z and Wt is not touched; else T = A^T.
 * The symmetric process multiplies with A^T alone.
 *
 * @return CMG_OK, CMG_ERR_SINGULAR when a pivot is zero, or not positive for T = NULL
 */
cmg_status cmgi_biconjugate(cmg_context *ctx, const cmg_csr *A, const cmg_csr *T,
                            const cmgi_biconjugate_options *options, cmgi_csr *Zt, cmgi_csr *Wt,
                            double *pivot);
