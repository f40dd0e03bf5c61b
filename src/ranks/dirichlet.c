#include "csr/small_dense.h"
#include "ranks/rows.h"

#include <math.h>

/* True when the only nonzero of the row is on the diagonal. */
static bool identity_row(const cmgi_own_rows *A, cmg_size i)
{
    bool diagonal = false;
    for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
        if (A->values[k] == 0) {
            continue;
        }
        if (A->indices[k] != A->first + i) {
            return false;
        }
        diagonal = true;
    }
    return diagonal;
}

/* Counts over all ranks; frees the flags where none is set. */
static cmg_status settle(cmg_context *ctx, bool *made, cmg_size rows, bool not_all, bool **row,
                         cmg_size *count)
{
    double counts[2] = {0, (double)rows};
    for (cmg_size i = 0; i < rows; ++i) {
        counts[0] += made[i];
    }
    const cmg_status status = cmgi_all_sum(ctx, counts, 2);
    const bool none = counts[0] == 0 || (not_all && counts[0] == counts[1]);
    if (status != CMG_OK || none) {
        cmgi_free(ctx, cmgi_pass_on(&made));
    }
    *row = made;
    *count = none ? 0 : (cmg_size)counts[0];
    return status;
}

cmg_status cmgi_rows_dirichlet(cmg_context *ctx, const cmgi_own_rows *A, bool **row,
                               cmg_size *count)
{
    CMGI_SCOPED(ctx, A->rows, bool, made);
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (A->rows > 4096)
    for (cmg_size i = 0; i < A->rows; ++i) {
        made[i] = identity_row(A, i);
    }
    return settle(ctx, cmgi_pass_on(&made), A->rows, true, row, count);
}

/* The columns of the largest entries of fine Dirichlet rows; not *complete where one has none. */
static cmg_status largest_columns(cmg_context *ctx, const cmgi_own_rows *P, const bool *fine,
                                  cmgi_own_rows *marks, bool *complete)
{
    CMGI_TRY(cmgi_rows_alloc(ctx, P->first, P->rows, P->indptr[P->rows], marks));
    cmg_size at = 0;
    *complete = true;
    for (cmg_size i = 0; i < P->rows; ++i) {
        marks->indptr[i] = at;
        if (fine == NULL || !fine[i]) {
            continue;
        }
        const double largest =
            cmgi_largest(P->indptr[i + 1] - P->indptr[i], P->values + P->indptr[i]);
        for (cmg_size k = P->indptr[i]; largest > 0 && k < P->indptr[i + 1]; ++k) {
            if (fabs(P->values[k]) == largest) {
                marks->indices[at] = P->indices[k];
                marks->values[at++] = 1;
            }
        }
        *complete = *complete && largest > 0;
    }
    marks->indptr[P->rows] = at;
    return CMG_OK;
}

cmg_status cmgi_rows_dirichlet_below(cmg_context *ctx, const cmgi_own_rows *A,
                                     const cmgi_own_rows *P, const bool *fine,
                                     const cmg_size *coarse_part, bool **row, cmg_size *count)
{
    cmgi_own_rows marks = {0};
    cmgi_own_rows below = {0};
    cmgi_scoped bool *all = NULL;
    cmg_size unused = 0;
    bool complete = true;
    CMGI_RELEASED(cmgi_rows_free, ctx, &marks, &below);
    CMGI_TRY(largest_columns(ctx, P, fine, &marks, &complete));
    CMGI_TRY(cmgi_rows_transpose(ctx, &marks, coarse_part, &below));
    CMGI_SCOPED_ZERO(ctx, below.rows, bool, made);
    double silent = complete ? 0 : 1;
    CMGI_TRY(cmgi_all_max(ctx, &silent, 1));
    if (silent > 0 && A != NULL) {
        CMGI_TRY(cmgi_rows_dirichlet(ctx, A, &all, &unused));
    }
    for (cmg_size j = 0; j < below.rows; ++j) {
        const bool marked = below.indptr[j + 1] > below.indptr[j];
        made[j] = (marked && (A == NULL || identity_row(A, j))) || (all != NULL && all[j]);
    }
    return settle(ctx, cmgi_pass_on(&made), below.rows, false, row, count);
}

cmg_status cmgi_rows_clean(cmg_context *ctx, const bool *rows, const bool *cols,
                           const cmg_size *col_part, cmgi_own_rows *P)
{
    cmgi_numbers columns = {0};
    cmgi_scoped bool *marked = NULL;
    CMGI_FREED(ctx, &columns.number);
    if (cols != NULL) {
        CMGI_TRY(cmgi_rows_columns(ctx, P, 0, 0, NULL, &columns));
        CMGI_TRY(cmgi_entries_fetch(ctx, cols, sizeof *cols, col_part, &columns, &marked));
    }
    for (cmg_size i = 0; i < P->rows; ++i) {
        for (cmg_size k = P->indptr[i]; k < P->indptr[i + 1]; ++k) {
            if ((rows != NULL && rows[i]) ||
                (marked != NULL && marked[cmgi_numbers_find(&columns, P->indices[k])])) {
                P->values[k] = 0;
            }
        }
    }
    return CMG_OK;
}
