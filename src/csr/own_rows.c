/* Ranges of rows of a matrix: made, copied, cut out of a whole one, checked. */
#include "csr/own_rows.h"

#include "core/memory.h"

#include <math.h>

cmg_status cmgi_rows_alloc(cmg_context *ctx, cmg_size first, cmg_size rows, cmg_size nnz,
                           cmgi_own_rows *A)
{
    cmgi_own_rows made = {.first = first, .rows = rows};
    CMGI_RELEASED(cmgi_rows_free, ctx, &made);
    CMGI_TRY(cmgi_alloc(ctx, rows + 1, sizeof *made.indptr, &made.indptr));
    CMGI_TRY(cmgi_alloc(ctx, nnz, sizeof *made.indices, &made.indices));
    CMGI_TRY(cmgi_alloc(ctx, nnz, sizeof *made.values, &made.values));
    made.indptr[0] = 0;
    made.indptr[rows] = nnz;
    CMGI_PASS_ON(&made, A);
    return CMG_OK;
}

void cmgi_rows_free(cmg_context *ctx, cmgi_own_rows *A)
{
    if (!A->borrowed) {
        CMGI_FREE(ctx, A->indptr, A->indices, A->values);
    }
    *A = (cmgi_own_rows){0};
}

cmg_status cmgi_rows_copy(cmg_context *ctx, const cmgi_own_rows *from, cmgi_own_rows *to)
{
    const size_t nnz = (size_t)from->indptr[from->rows];
    CMGI_TRY(cmgi_rows_alloc(ctx, from->first, from->rows, from->indptr[from->rows], to));
    cmgi_copy(ctx, to->indptr, from->indptr, (size_t)(from->rows + 1) * sizeof *to->indptr);
    cmgi_copy(ctx, to->indices, from->indices, nnz * sizeof *to->indices);
    cmgi_copy(ctx, to->values, from->values, nnz * sizeof *to->values);
    return CMG_OK;
}

cmg_status cmgi_rows_of(cmg_context *ctx, const cmg_csr *whole, cmg_size first, cmg_size rows,
                        cmgi_own_rows *A)
{
    const cmg_size begin = whole->indptr[first];
    const cmg_size nnz = whole->indptr[first + rows] - begin;
    CMGI_TRY(cmgi_rows_alloc(ctx, first, rows, nnz, A));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (rows > 4096)
    for (cmg_size i = 0; i <= rows; ++i) {
        A->indptr[i] = whole->indptr[first + i] - begin;
    }
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (nnz > 4096)
    for (cmg_size k = 0; k < nnz; ++k) {
        A->indices[k] = whole->indices[begin + k];
        A->values[k] = whole->values[begin + k];
    }
    return CMG_OK;
}

cmg_status cmgi_rows_take(cmg_context *ctx, cmgi_csr *from, cmg_size first, cmgi_own_rows *to)
{
    *to = (cmgi_own_rows){first, from->rows, from->indptr, NULL, from->values, false};
    from->indptr = NULL;
    from->values = NULL;
    return cmgi_alloc(ctx, to->indptr[to->rows], sizeof *to->indices, &to->indices);
}

cmg_status cmgi_rows_check(cmg_context *ctx, const cmgi_own_rows *A, int level, cmg_size cols)
{
    const cmg_size nnz = A->indptr[A->rows];
    for (cmg_size i = 0; i < A->rows; ++i) {
        CMGI_CHECK(ctx, A->indptr[i] <= A->indptr[i + 1] && A->indptr[i + 1] <= nnz, CMG_ERR_ARG,
                   "level %d: row %lld: offsets fall", level, (long long)(A->first + i));
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            CMGI_CHECK(ctx, A->indices[k] >= 0 && A->indices[k] < cols, CMG_ERR_ARG,
                       "level %d: row %lld: column %lld", level, (long long)(A->first + i),
                       (long long)A->indices[k]);
            CMGI_CHECK(ctx, isfinite(A->values[k]), CMG_ERR_ARG,
                       "level %d: row %lld, column %lld: value %g is not finite", level,
                       (long long)(A->first + i), (long long)A->indices[k], A->values[k]);
        }
    }
    return CMG_OK;
}
