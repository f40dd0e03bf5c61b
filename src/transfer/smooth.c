/*
 * P from P_0: one step of damped Jacobi on every column, by A without its weak entries.
 */
#include "transfer/aggregate.h"

#include "core/each.h"
#include "csr/resident.h"

#include <math.h>

#include "transfer/smooth.inc"

static cmg_status filter(cmg_context *ctx, cmgi_place at, const cmg_csr *A, const cmg_csr *S,
                         cmgi_csr *F)
{
    filtering f = {.A = *A, .S = *S};
    cmg_size nnz = 0;
    F->rows = A->rows;
    F->cols = A->cols;
    CMGI_TRY(cmgi_alloc_at(ctx, at, A->rows + 1, sizeof *F->indptr, &F->indptr));
    f.offset = F->indptr;
    CMGI_TRY(filter_row(ctx, at, A->rows, &f));
    CMGI_TRY(cmgi_csr_open_at(ctx, at, F, &nnz));
    f.columns = F->indices;
    f.values = F->values;
    return filter_row(ctx, at, A->rows, &f);
}

static cmg_status form_on_host(cmg_context *ctx, const cmg_csr *A, const cmg_csr *P0,
                               const double *d, double factor, cmgi_csr *P)
{
    CMGI_TRY(cmgi_csr_multiply(ctx, A, P0, P));
    return smooth_row(ctx, CMGI_HOST, P->rows, &(smoothing){*P0, P->view, d, factor, P->values});
}

static cmg_status form_on_device(cmg_context *ctx, const cmg_csr *A, const cmgi_resident *P0,
                                 const double *d, double factor, cmgi_resident *P)
{
    CMGI_TRY(cmgi_resident_kernels_of(ctx)->multiply(ctx, A, P0, false, P));
    const smoothing s = {P0->csr, P->csr, d, factor, (double *)(uintptr_t)P->csr.values};
    return smooth_row(ctx, CMGI_DEVICE, P->csr.rows, &s);
}

static cmg_status take_device(cmg_context *ctx, const cmg_csr *A, const double *d, double factor,
                              cmgi_csr *P0, cmgi_csr *P)
{
    const cmgi_resident_kernels *on = cmgi_resident_kernels_of(ctx);
    cmgi_resident from = {.csr = P0->view};
    cmgi_resident made = {0};
    cmg_status status = CMG_OK;
    *P0 = (cmgi_csr){0};
    CMGI_TRY_GOTO(done, on->rows(ctx, &from.csr, &from));
    CMGI_TRY_GOTO(done, form_on_device(ctx, A, &from, d, factor, &made));
    CMGI_TRY_GOTO(done, on->entries(ctx, &made.csr, &made));
    CMGI_TRY_GOTO(done, cmgi_resident_attach(ctx, &made, P));
done:
    cmgi_resident_free(ctx, &from);
    cmgi_resident_free(ctx, &made);
    return status;
}

cmg_status cmgi_smooth_tentative(cmg_context *ctx, cmgi_place at, const cmg_csr *A,
                                 const cmg_csr *S, double omega, cmgi_csr *P0, cmgi_csr *P)
{
    cmgi_csr F = {0};
    double *d = NULL;
    double lambda = 1;
    cmg_status status = CMG_OK;
    if (omega != 0 && S != NULL) {
        CMGI_TRY_GOTO(done, filter(ctx, at, A, S, &F));
        A = &F.view;
    }
    if (omega != 0) {
        CMGI_TRY_GOTO(done, cmgi_alloc_at(ctx, at, A->rows, sizeof *d, &d));
        CMGI_TRY_GOTO(done, cmgi_power_largest(ctx, at, A, d, &lambda));
    }
    if (omega == 0) {
        CMGI_TRY_GOTO(done, cmgi_csr_settle_at(ctx, at, P0, P));
    } else if (at == CMGI_DEVICE) {
        CMGI_TRY_GOTO(done, take_device(ctx, A, d, omega / lambda, P0, P));
    } else {
        CMGI_TRY_GOTO(done, form_on_host(ctx, A, &P0->view, d, omega / lambda, P));
    }
done:
    cmgi_csr_free_at(ctx, at, &F);
    CMGI_FREE_AT(ctx, at, d);
    return status;
}
