#include "smoothers/pattern.h"

#include "core/each.h"

#include <math.h>

#include "smoothers/pattern.inc"

enum { SMALL = 4096 }; /* rows up to which starting threads costs more than it saves */

cmg_status cmgi_csr_scale(cmg_context *ctx, cmgi_place at, const double *rows, const double *cols,
                          cmgi_csr *B)
{
    return scale_row(ctx, at, B->rows, &(scaling){B->view, rows, cols, B->values});
}

CMGI_CSR_BY_BODY(select_entries, select_row, selection)

static void set_ones(cmg_context *ctx, cmgi_csr *S)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (S->rows > SMALL)
    for (cmg_size k = 0; k < S->indptr[S->rows]; ++k) {
        S->values[k] = 1;
    }
}

cmg_status cmgi_pattern(cmg_context *ctx, const cmg_csr *A, double tau, int power, cmgi_csr *S)
{
    if (power == 0) {
        CMGI_TRY(cmgi_csr_alloc_diagonal(ctx, A->rows, S));
        set_ones(ctx, S);
        return CMG_OK;
    }
    cmgi_scoped_csr B = {.rows = A->rows, .cols = A->cols};
    cmgi_scoped_csr made = {0};
    cmg_size nnz = 0;
    CMGI_SCOPED(ctx, A->rows, double, diagonal);
    cmgi_csr_diagonal(ctx, A, diagonal);
    selection strong = {.A = *A, .diagonal = diagonal, .tau = tau, .bare = true};
    CMGI_TRY(select_entries(ctx, CMGI_HOST, &strong, &B, &nnz));
    CMGI_TRY(cmgi_csr_sort(ctx, &B));
    set_ones(ctx, &B);
    for (int p = 1; p < power; ++p) {
        cmgi_csr product = {0};
        CMGI_TRY(cmgi_csr_multiply(ctx, p > 1 ? &made.view : &B.view, &B.view, &product));
        cmgi_csr_free(ctx, &made);
        made = product;
        set_ones(ctx, &made);
    }
    *S = cmgi_csr_pass_on(power > 1 ? &made : &B);
    return CMG_OK;
}

cmg_status cmgi_prepared_pattern(cmg_context *ctx, const cmgi_prepared *p, double tau, int power,
                                 cmgi_csr *S, cmg_size *nnz)
{
    selection strong = {.A = p->B.view,
                        .s = p->s,
                        .diagonal = p->diagonal,
                        .tau = power == 0 ? INFINITY : tau,
                        .bare = true};
    S->rows = S->cols = p->B.rows;
    return select_entries(ctx, p->at, &strong, S, nnz);
}

/* B = A with sorted rows, without the columns of identity rows; NULL: with all columns. */
static cmg_status decouple(cmg_context *ctx, const bool *identity, cmgi_prepared *p)
{
    const cmg_size rows = p->A.rows;
    selection s = {.A = p->A, .identity = identity, .diagonal = p->diagonal};
    cmg_size uncoupled = 0;
    cmg_size unsorted = 0;
    CMGI_TRY(count_uncoupled(ctx, p->at, rows, &s, &uncoupled));
    CMGI_TRY(count_unsorted(ctx, p->at, rows, &s, &unsorted));
    if (uncoupled == 0 && unsorted == 0) {
        p->B = cmgi_csr_borrow(&p->A);
        return CMG_OK;
    }
    p->B.rows = p->B.cols = s.A.rows;
    CMGI_TRY(select_entries(ctx, p->at, &s, &p->B, &p->nnz));
    return unsorted == 0          ? CMG_OK
           : p->at == CMGI_DEVICE ? sort_short_row(ctx, p->at, p->B.rows, &p->B)
                                  : cmgi_csr_sort(ctx, &p->B);
}

static void free_entries(cmg_context *ctx, cmgi_prepared *p)
{
    if (!p->B.borrowed) {
        cmgi_csr_free_at(ctx, p->at, &p->B);
    }
    p->B = (cmgi_csr){0};
}

/* B and its diagonal: what is known of A on the device may save the look at it. */
static cmg_status take(cmg_context *ctx, const cmgi_resident *known, cmgi_prepared *p)
{
    const cmg_size rows = p->A.rows;
    CMGI_TRY(cmgi_alloc_at(ctx, p->at, rows, sizeof *p->diagonal, &p->diagonal));
    CMGI_TRY(cmgi_alloc_at(ctx, p->at, rows, sizeof *p->identity, &p->identity));
    if (known != NULL && known->diagonal != NULL && known->facts.ascending &&
        known->facts.rows.identity == 0) {
        p->B = cmgi_csr_borrow(&p->A);
        return cmgi_to_device(ctx, p->diagonal, known->diagonal,
                              (size_t)rows * sizeof *p->diagonal);
    }
    const diagonals d = {.A = p->A, .diagonal = p->diagonal, .identity = p->identity};
    CMGI_TRY(find_diagonal(ctx, p->at, rows, &d));
    return decouple(ctx, p->identity, p);
}

static cmg_status is_symmetric(cmg_context *ctx, const cmgi_prepared *p, bool *symmetric)
{
    const selection s = {.A = p->B.view, .diagonal = p->diagonal};
    const bool look = p->at == CMGI_HOST && p->A.rows > SMALL; /* first rows tell mostly */
    const cmg_size few = look ? SMALL / 4 : p->A.rows;
    cmg_size bad = 0;
    CMGI_TRY(count_asymmetric(ctx, p->at, few, &s, &bad));
    CMGI_TRY(look && bad == 0 ? count_asymmetric(ctx, p->at, p->A.rows, &s, &bad) : CMG_OK);
    *symmetric = bad == 0;
    return CMG_OK;
}

cmg_status cmgi_prepare(cmg_context *ctx, const cmg_csr *A, const cmgi_resident *device,
                        int symmetric, int scale, cmgi_prepared *p)
{
    bool found = false;
    *p = (cmgi_prepared){.at = device != NULL ? CMGI_DEVICE : CMGI_HOST,
                         .A = device != NULL ? device->csr : *A,
                         .nnz = device != NULL ? device->rows.nnz : A->indptr[A->rows]};
    const cmg_size nnz = p->nnz;
    CMGI_TRY(take(ctx, device, p));
    CMGI_TRY(is_symmetric(ctx, p, &found));
    found = found && symmetric != CMGI_NO;
    p->symmetric = symmetric == CMGI_YES || found;
    if (!p->symmetric && !p->B.borrowed) { /* no column is decoupled */
        free_entries(ctx, p);
        p->nnz = nnz;
        CMGI_TRY(decouple(ctx, NULL, p));
    }
    if (scale == CMGI_YES || (scale == CMGI_AUTO && found)) {
        CMGI_TRY(cmgi_alloc_at(ctx, p->at, p->A.rows, sizeof *p->s, &p->s));
        const diagonals d = {.diagonal = p->diagonal, .s = p->s};
        return scale_diagonal(ctx, p->at, p->A.rows, &d);
    }
    return CMG_OK;
}

void cmgi_prepared_free(cmg_context *ctx, cmgi_prepared *p)
{
    free_entries(ctx, p);
    CMGI_FREE_AT(ctx, p->at, p->diagonal, p->s, p->identity);
    *p = (cmgi_prepared){.at = p->at};
}

cmg_status cmgi_decouple(cmg_context *ctx, const cmg_csr *A, bool own, cmgi_csr *B, bool *symmetric)
{
    cmgi_prepared p = {.at = CMGI_HOST, .A = *A};
    cmgi_csr copy = {0};
    CMGI_RELEASED(cmgi_prepared_free, ctx, &p);
    CMGI_TRY(take(ctx, NULL, &p));
    CMGI_TRY(is_symmetric(ctx, &p, symmetric));
    if (own && p.B.borrowed) {
        CMGI_TRY(cmgi_csr_copy(ctx, A, &copy));
        p.B = copy;
    }
    *B = cmgi_csr_pass_on(&p.B);
    return CMG_OK;
}

cmg_status cmgi_take_made(cmg_context *ctx, cmgi_place at, cmgi_csr *made, cmg_size nnz,
                          bool resident, cmgi_csr *M)
{
    if (at == CMGI_HOST) {
        *M = cmgi_csr_pass_on(made);
        return CMG_OK;
    }
    cmgi_resident R = {.csr = made->view};
    CMGI_RELEASED(cmgi_resident_free, ctx, &R);
    R.facts.beside = made->rows; /* all of it is looked at where that may be wrong */
    *made = (cmgi_csr){0};
    CMGI_TRY(cmgi_resident_kernels_of(ctx)->rows(ctx, &R.csr, &R));
    CMGI_TRY(R.rows.longest <= 1 ? cmgi_resident_look_again(ctx, &R) : CMG_OK);
    return resident ? cmgi_resident_attach(ctx, &R, M) : cmgi_resident_fetch(ctx, &R.csr, nnz, M);
}

CMGI_CSR_BY_BODY(join_halves, add_halves, halves)

cmg_status cmgi_symmetrize_at(cmg_context *ctx, cmgi_place at, cmgi_csr *M, cmg_size *nnz)
{
    cmgi_csr T = {0};
    cmgi_csr made = {.rows = M->rows, .cols = M->cols};
    cmg_size unmatched = 0;
    CMGI_FREED(ctx, CMGI_ARRAYS(made), CMGI_ARRAYS(T));
    CMGI_TRY(
        join_partners(ctx, at, M->rows, &(scaling){.M = M->view, .values = M->values}, &unmatched));
    if (unmatched == 0) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_csr_transpose_at(ctx, at, &M->view, *nnz, &T));
    halves both = {.M = M->view, .T = T.view};
    CMGI_TRY(join_halves(ctx, at, &both, &made, nnz));
    cmgi_csr_free_at(ctx, at, M);
    *M = cmgi_csr_pass_on(&made);
    return CMG_OK;
}

cmg_status cmgi_symmetrize(cmg_context *ctx, cmgi_csr *M)
{
    cmg_size nnz = M->indptr[M->rows];
    CMGI_TRY(cmgi_csr_sort(ctx, M));
    return cmgi_symmetrize_at(ctx, CMGI_HOST, M, &nnz);
}
