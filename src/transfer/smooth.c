/*
 * P from P_0: one step of damped Jacobi on every column, by A without its weak entries.
 */
#include "transfer/aggregate.h"

#include "core/each.h"
#include "csr/place.h"

#include <math.h>

#include "transfer/smooth.inc"

CMGI_CSR_BY_BODY(filter, filter_row, filtering)

cmg_status cmgi_smooth_tentative(cmg_context *ctx, cmgi_place at, const cmg_csr *A,
                                 const cmg_csr *S, double omega, cmgi_csr *P0, cmgi_csr *P)
{
    cmgi_csr F = {.rows = A->rows, .cols = A->cols};
    cmgi_csr made = {0};
    double *d = NULL;
    double lambda = 1;
    cmg_size nnz = 0;
    CMGI_FREED(ctx, CMGI_ARRAYS(made), CMGI_ARRAYS(F), &d);
    if (omega == 0) {
        return cmgi_csr_settle_at(ctx, at, P0, P);
    }
    if (S != NULL) {
        CMGI_TRY(filter(ctx, at, &(filtering){.A = *A, .S = *S}, &F, &nnz));
        A = &F.view;
    }
    CMGI_TRY(cmgi_alloc_at(ctx, at, A->rows, sizeof *d, &d));
    CMGI_TRY(cmgi_power_largest(ctx, at, A, d, &lambda));
    CMGI_TRY(cmgi_csr_multiply_at(ctx, at, A, &P0->view, &made));
    const smoothing s = {P0->view, made.view, d, omega / lambda, made.values};
    CMGI_TRY(smooth_row(ctx, at, made.rows, &s));
    return cmgi_csr_settle_at(ctx, at, &made, P);
}
