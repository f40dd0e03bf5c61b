/* P and R of a level as the cycle applies them, and products of R with what stands before it. */
#pragma once
#include "transfer/dirichlet.h"

/*
 * P without what Dirichlet conditions forbid. Where there are none it borrows the arrays of
 * `stored`: free it before them.
 */
cmg_status cmgi_prolongation(cmg_context *ctx, const cmg_csr *stored, const cmgi_dirichlet *fine,
                             const cmgi_dirichlet *coarse, cmgi_csr *P);
/* R likewise: `stored`, or, where that is NULL, the transpose of P. */
cmg_status cmgi_restriction(cmg_context *ctx, const cmg_csr *stored, const cmgi_csr *P,
                            const cmgi_dirichlet *fine, const cmgi_dirichlet *coarse, cmgi_csr *R);
/*
 * Defect and restriction in one matrix: R A, and with scale = omega / a_ii, which is one step of
 * Jacobi from a zero guess before them, R (I - A omega D^-1) on the pattern of R A. *fits is false
 * where that pattern lacks an entry of R; the product is then of no use.
 */
cmg_status cmgi_restriction_fold(cmg_context *ctx, const cmgi_csr *R, const cmg_csr *A,
                                 const double *scale, cmgi_csr *product, bool *fits);
