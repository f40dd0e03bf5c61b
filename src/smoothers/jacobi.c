/*
 * Damped Jacobi, M = D^-1 with D = diag(A). The teaching example of a smoother: one diagonal
 * factor, nothing else.
 *
 * Source  Saad, Iterative Methods for Sparse Linear Systems, 2003, section 4.1.
 */
#include "csr/place.h"
#include "hierarchy/hierarchy.h"
#include "smoothers/smoother.h"

static cmg_status make(const cmgi_smoother_source *source, cmgi_smoother_factors *out)
{
    cmg_context *ctx = source->ctx;
    const cmg_csr *A = &source->A;
    const cmgi_place at = source->there != NULL ? CMGI_DEVICE : CMGI_HOST;
    const cmgi_row_looks *looks =
        source->known != NULL ? cmgi_hierarchy_looks(source->h, source->level) : NULL;
    double *d = NULL;
    CMGI_TRY(cmgi_csr_open_diagonal_at(ctx, at, A->rows, &out->factor[0], &d));
    out->factors = 1;
    if (at == CMGI_DEVICE) {
        return cmgi_invert_at(ctx, at, A->rows, source->there->diagonal, d);
    }
    if (source->kinds != NULL) {
        CMGI_TRY(cmgi_kinds_diagonal(ctx, at, source->kinds, d));
    } else if (looks != NULL) {
        cmgi_copy(ctx, d, looks->diagonal, (size_t)A->rows * sizeof *d);
    } else {
        cmgi_csr_diagonal(ctx, A, d);
    }
    return cmgi_invert_at(ctx, at, A->rows, d, d);
}

static const char *const examples[] = {"omega=auto", NULL};
const cmgi_smoother_method cmgi_smoother_jacobi = {
    .name = "jacobi",
    .text = "diagonal of A",
    .omega = 0.7,
    .resident = true,
    .kinds = true,
    .symmetric = true,
    .examples = examples,
    .make = make,
};
