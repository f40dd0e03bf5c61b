/* Row statistics; see statistics.h. */
#include "csr/statistics.h"

#include "core/memory.h"
#include "core/search.h"

#include <string.h>

enum { MOST = 512, MANY_ROWS = 65536 }; /* fewer rows are counted on one thread */

/* Of rows first .. first + 511: the longest of each aligned run of 4, 8 .. 512, times its size. */
static void count_block(const cmg_csr *A, cmg_size first, cmg_size *sliced, cmg_size *longest)
{
    cmg_size most[CMGI_SLICE_SIZES] = {0};
    const cmg_size end = first + MOST < A->rows ? first + MOST : A->rows;
    for (cmg_size i = first; i < end; ++i) {
        const cmg_size length = A->indptr[i + 1] - A->indptr[i];
        most[0] = length > most[0] ? length : most[0];
        for (int k = 0; k < CMGI_SLICE_SIZES; ++k) {
            const cmg_size size = (cmg_size)4 << k;
            if ((i + 1) % size != 0 && i + 1 < end) {
                break;
            }
            sliced[k] += most[k] * size;
            if (k + 1 < CMGI_SLICE_SIZES) {
                most[k + 1] = most[k] > most[k + 1] ? most[k] : most[k + 1];
                most[k] = 0;
            }
        }
    }
    *longest = most[CMGI_SLICE_SIZES - 1];
}

cmg_status cmgi_row_statistics_take(cmg_context *ctx, const cmg_csr *A, cmgi_row_statistics *s)
{
    cmg_size longest = 0;
    cmg_size sum[CMGI_SLICE_SIZES] = {0};
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (A->rows > MANY_ROWS)       \
    reduction(+ : sum[:CMGI_SLICE_SIZES]) reduction(max : longest)
    for (cmg_size r = 0; r < A->rows; r += MOST) {
        cmg_size here = 0;
        count_block(A, r, sum, &here);
        longest = here > longest ? here : longest;
    }
    *s = (cmgi_row_statistics){
        .rows = A->rows, .cols = A->cols, .nnz = A->indptr[A->rows], .longest = longest};
    memcpy(s->sliced, sum, sizeof sum);
    CMGI_TRY(cmgi_alloc_zero(ctx, longest + 1, sizeof *s->count, &s->count));
    for (cmg_size i = 0; i < A->rows; ++i) {
        ++s->count[A->indptr[i + 1] - A->indptr[i]];
    }
    s->filled = A->rows - s->count[0];
    return CMG_OK;
}

cmg_status cmgi_column_statistics_take(cmg_context *ctx, const cmg_csr *A, cmgi_row_statistics *s)
{
    CMGI_SCOPED_ZERO(ctx, A->cols + 1, cmg_size, indptr);
    for (cmg_size k = 0; k < A->indptr[A->rows]; ++k) {
        ++indptr[A->indices[k] + 1];
    }
    cmgi_add_up(indptr, A->cols);
    const cmg_csr T = {.rows = A->cols, .cols = A->rows, .indptr = indptr};
    return cmgi_row_statistics_take(ctx, &T, s);
}

void cmgi_row_statistics_free(cmg_context *ctx, cmgi_row_statistics *s)
{
    cmgi_free(ctx, s->count);
    *s = (cmgi_row_statistics){0};
}
