/* R = P^T unless it is given; both cleaned of Dirichlet rows; R A and R (I - A omega D^-1). */
#include "transfer/dirichlet.h"

/* A copy without marked rows and columns, or a view where nothing is marked. */
cmg_status cmgi_prolongation(cmg_context *ctx, const cmg_csr *stored, const cmgi_dirichlet *fine,
                             const cmgi_dirichlet *coarse, cmgi_csr *P)
{
    if (fine->row == NULL && coarse->row == NULL) {
        *P = cmgi_csr_borrow(stored);
        return CMG_OK;
    }
    CMGI_TRY(cmgi_csr_copy(ctx, stored, P));
    return cmgi_dirichlet_clean(ctx, fine, coarse, P);
}

cmg_status cmgi_restriction(cmg_context *ctx, const cmg_csr *stored, const cmgi_csr *P,
                            const cmgi_dirichlet *fine, const cmgi_dirichlet *coarse, cmgi_csr *R)
{
    if (stored != NULL) {
        return cmgi_prolongation(ctx, stored, coarse, fine, R);
    }
    return cmgi_csr_transpose(ctx, &P->view, R);
}

/* RA becomes R - (R A) omega D^-1, on its own pattern; false where that lacks an entry of R. */
static bool subtract_smoothed(cmg_context *ctx, const cmgi_csr *R, const double *scale,
                              cmgi_csr *RA)
{
    bool fits = true;
#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(&& : fits)
    for (cmg_size i = 0; i < R->rows; ++i) {
        const cmg_size begin = RA->indptr[i];
        const cmg_size end = RA->indptr[i + 1];
        cmg_size at = begin;
        for (cmg_size k = begin; k < end; ++k) {
            RA->values[k] *= -scale[RA->indices[k]];
        }
        for (cmg_size e = R->indptr[i]; e < R->indptr[i + 1]; ++e) {
            cmg_size looked = begin;
            for (; looked < end && RA->indices[at] != R->indices[e]; ++looked) {
                at = at + 1 < end ? at + 1 : begin;
            }
            fits = fits && looked < end;
            if (looked < end) {
                RA->values[at] += R->values[e];
            }
        }
    }
    return fits;
}

cmg_status cmgi_restriction_fold(cmg_context *ctx, const cmgi_csr *R, const cmg_csr *A,
                                 const double *scale, cmgi_csr *product, bool *fits)
{
    CMGI_TRY(cmgi_csr_multiply(ctx, &R->view, A, product));
    *fits = scale == NULL || subtract_smoothed(ctx, R, scale, product);
    return CMG_OK;
}
