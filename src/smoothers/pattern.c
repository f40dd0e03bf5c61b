#include "smoothers/pattern.h"

#include "core/each.h"
#include "csr/place.h"

#include <math.h>

#include "smoothers/pattern.inc"
#include "smoothers/symmetric.inc"

enum { SMALL = 4096 }; /* rows up to which starting threads costs more than it saves */

cmg_status cmgi_diagonal_scaling(cmg_context *ctx, const cmg_csr *A, double **s)
{
    CMGI_TRY(cmgi_alloc(ctx, A->rows, sizeof **s, s));
    cmgi_csr_diagonal(ctx, A, *s);
    for (cmg_size i = 0; i < A->rows; ++i) {
        (*s)[i] = 1 / sqrt(fabs((*s)[i]));
    }
    return CMG_OK;
}

void cmgi_csr_scale(cmg_context *ctx, const double *rows, const double *cols, cmgi_csr *B)
{
    (void)scale_row(ctx, CMGI_HOST, B->rows, &(scaling){B->view, rows, cols, B->values});
}

/* B: the entries of A that stay, rows sorted. */
static cmg_status select_entries(cmg_context *ctx, selection s, cmgi_csr *B)
{
    cmgi_csr made = {.rows = s.A.rows, .cols = s.A.cols};
    cmg_size nnz = 0;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, made.rows + 1, sizeof *made.indptr, &made.indptr));
    s.offset = made.indptr;
    CMGI_TRY_GOTO(done, select_row(ctx, CMGI_HOST, made.rows, &s));
    CMGI_TRY_GOTO(done, cmgi_csr_open_at(ctx, CMGI_HOST, &made, &nnz));
    s.columns = made.indices;
    s.values = made.values;
    CMGI_TRY_GOTO(done, select_row(ctx, CMGI_HOST, made.rows, &s));
    CMGI_TRY_GOTO(done, cmgi_csr_sort(ctx, &made));
    *B = made;
    made = (cmgi_csr){0};
done:
    cmgi_csr_free(ctx, &made);
    return status;
}

static void set_ones(cmg_context *ctx, cmgi_csr *S)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (S->rows > SMALL)
    for (cmg_size k = 0; k < S->indptr[S->rows]; ++k) {
        S->values[k] = 1;
    }
}

/* S = S B, as patterns. */
static cmg_status raise_pattern(cmg_context *ctx, const cmgi_csr *B, cmgi_csr *S)
{
    cmgi_csr product = {0};
    CMGI_TRY(cmgi_csr_multiply(ctx, &S->view, &B->view, &product));
    cmgi_csr_free(ctx, S);
    *S = product;
    set_ones(ctx, S);
    return CMG_OK;
}

cmg_status cmgi_pattern(cmg_context *ctx, const cmg_csr *A, double tau, int power, cmgi_csr *S)
{
    if (power == 0) {
        CMGI_TRY(cmgi_csr_alloc_diagonal(ctx, A->rows, S));
        set_ones(ctx, S);
        return CMG_OK;
    }
    double *diagonal = NULL;
    cmgi_csr B = {0};
    cmgi_csr made = {0};
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, A->rows, sizeof *diagonal, &diagonal));
    cmgi_csr_diagonal(ctx, A, diagonal);
    const selection strong = {.A = *A, .diagonal = diagonal, .tau = tau};
    CMGI_TRY_GOTO(done, select_entries(ctx, strong, &B));
    set_ones(ctx, &B);
    CMGI_TRY_GOTO(done, cmgi_csr_copy(ctx, &B.view, &made));
    for (int p = 1; p < power; ++p) {
        CMGI_TRY_GOTO(done, raise_pattern(ctx, &B, &made));
    }
    *S = made;
    made = (cmgi_csr){0};
done:
    cmgi_csr_free(ctx, &made);
    cmgi_csr_free(ctx, &B);
    cmgi_free(ctx, diagonal);
    return status;
}

cmg_status cmgi_decouple(cmg_context *ctx, const cmg_csr *A, bool own, cmgi_csr *B, bool *symmetric)
{
    bool *identity = NULL;
    double *diagonal = NULL;
    cmgi_csr made = {0};
    cmg_size bad = 0;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, A->rows, sizeof *identity, &identity));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, A->rows, sizeof *diagonal, &diagonal));
    CMGI_TRY_GOTO(done, cmgi_csr_identity_at(ctx, CMGI_HOST, A, identity, &bad));
    cmgi_csr_diagonal(ctx, A, diagonal);
    selection s = {.A = *A, .identity = identity, .diagonal = diagonal};
    if (!own) {
        CMGI_TRY_GOTO(done, count_uncoupled(ctx, CMGI_HOST, A->rows, &s, &bad));
    }
    if (!own && bad == 0) {
        CMGI_TRY_GOTO(done, count_unsorted(ctx, CMGI_HOST, A->rows, &s, &bad));
    }
    if (!own && bad == 0) {
        made = cmgi_csr_borrow(A);
    } else {
        CMGI_TRY_GOTO(done, select_entries(ctx, s, &made));
    }
    s.A = made.view;
    CMGI_TRY_GOTO(done, count_asymmetric(ctx, CMGI_HOST, A->rows, &s, &bad));
    *symmetric = bad == 0;
    *B = made;
    made = (cmgi_csr){0};
done:
    cmgi_csr_free(ctx, &made);
    CMGI_FREE(ctx, identity, diagonal);
    return status;
}

cmg_status cmgi_symmetrize(cmg_context *ctx, cmgi_csr *M)
{
    cmgi_csr T = {0};
    cmgi_csr made = {0};
    cmg_size nnz = 0;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_csr_sort(ctx, M));
    CMGI_TRY_GOTO(done, cmgi_csr_transpose(ctx, &M->view, &T));
    halves both = {.M = M->view, .T = T.view};
    CMGI_TRY_GOTO(done, cmgi_csr_alloc_rows(ctx, M->rows, M->cols, &made));
    both.offset = made.indptr;
    CMGI_TRY_GOTO(done, add_halves(ctx, CMGI_HOST, M->rows, &both));
    CMGI_TRY_GOTO(done, cmgi_csr_open_at(ctx, CMGI_HOST, &made, &nnz));
    both.columns = made.indices;
    both.values = made.values;
    CMGI_TRY_GOTO(done, add_halves(ctx, CMGI_HOST, M->rows, &both));
    cmgi_csr_free(ctx, M);
    *M = made;
    made = (cmgi_csr){0};
done:
    cmgi_csr_free(ctx, &made);
    cmgi_csr_free(ctx, &T);
    return status;
}
