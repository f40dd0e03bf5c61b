/*
 * l1-Jacobi, M = D^-1 with d_i = a_ii + sign(a_ii) sum_(j != i) |a_ij|: convergent without damping
 * for every symmetric positive definite A, since A <= D.
 *
 * Source  Baker, Falgout, Kolev and Yang, Multigrid smoothers for ultraparallel computing, SIAM J.
 *         Sci. Comput. 33 (2011), equation (6.1), with every row a process of its own.
 */
#include "smoothers/smoother.h"

#include <math.h>

static cmg_status make(const cmgi_smoother_source *source, cmgi_smoother_factors *out)
{
    const cmg_csr *A = &source->A;
    cmgi_csr *D = &out->factor[0];
    CMGI_TRY(cmgi_csr_alloc_diagonal(source->ctx, A->rows, D));
    out->factors = 1;
    for (cmg_size i = 0; i < A->rows; ++i) {
        double diagonal = 0;
        double rest = 0;
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            if (A->indices[k] == i) {
                diagonal += A->values[k];
            } else {
                rest += fabs(A->values[k]);
            }
        }
        D->values[i] = 1 / (diagonal + copysign(rest, diagonal));
    }
    return CMG_OK;
}

const cmgi_smoother_method cmgi_smoother_l1_jacobi = {
    .name = "l1-jacobi",
    .text = "row sums of |A|, safe undamped",
    .omega = 1.0,
    .symmetric = true,
    .make = make,
};
