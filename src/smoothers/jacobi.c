/*
 * Damped Jacobi, M = D^-1 with D = diag(A). The teaching example of a smoother: one diagonal
 * factor, nothing else.
 *
 * Source  Saad, Iterative Methods for Sparse Linear Systems, 2003, section 4.1.
 */
#include "csr/place.h"
#include "hierarchy/hierarchy.h"
#include "smoothers/smoother.h"

/* From the diagonal that is known on the device. */
static cmg_status make_there(const cmgi_smoother_source *source, cmgi_smoother_factors *out)
{
    cmg_context *ctx = source->ctx;
    const cmg_size n = source->A.rows;
    double *inverse = NULL;
    cmgi_resident D = {0};
    CMGI_FREED(ctx, &inverse);
    CMGI_TRY(cmgi_alloc_device(ctx, n, sizeof *inverse, &inverse));
    CMGI_TRY(cmgi_invert_at(ctx, CMGI_DEVICE, n, source->there->diagonal, inverse));
    CMGI_TRY(cmgi_resident_diagonal(ctx, n, inverse, &D));
    inverse = NULL;
    out->factors = 1;
    return cmgi_resident_attach(ctx, &D, &out->factor[0]);
}

static cmg_status make(const cmgi_smoother_source *source, cmgi_smoother_factors *out)
{
    cmg_context *ctx = source->ctx;
    const cmg_csr *A = &source->A;
    const cmgi_row_looks *looks =
        source->known != NULL ? cmgi_hierarchy_looks(source->h, source->level) : NULL;
    cmgi_csr *D = &out->factor[0];
    if (source->there != NULL) {
        return make_there(source, out);
    }
    CMGI_TRY(cmgi_csr_alloc_diagonal(ctx, A->rows, D));
    out->factors = 1;
    if (source->kinds != NULL) {
        CMGI_TRY(cmgi_kinds_diagonal(ctx, CMGI_HOST, source->kinds, D->values));
    } else if (looks != NULL) {
        cmgi_copy(ctx, D->values, looks->diagonal, (size_t)A->rows * sizeof *D->values);
    } else {
        cmgi_csr_diagonal(ctx, A, D->values);
    }
    return cmgi_invert_at(ctx, CMGI_HOST, A->rows, D->values, D->values);
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
