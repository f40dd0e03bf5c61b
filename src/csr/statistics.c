/* Row statistics; see statistics.h. */
#include "csr/statistics.h"

#include "core/memory.h"
#include "core/search.h"

/* Fewer rows are counted on one thread; neighbours of one length in turns, as counts wait for each
 * other. */
enum { MOST = 512, MANY_ROWS = 65536, TURNS = 4 };

/* Of rows first .. first + 511: the longest of each aligned run of 4, 8 .. 512, times its size. */
static void count_block(const cmg_csr *A, cmg_size first, cmg_size *sliced, cmg_size *longest)
{
    cmg_size most[MOST] = {0}; /* of a row, then of runs that are twice as long each time */
    const cmg_size end = first + MOST < A->rows ? first + MOST : A->rows;
    cmg_size runs = end - first;
    for (cmg_size i = first; i < end; ++i) {
        most[i - first] = A->indptr[i + 1] - A->indptr[i];
    }
    for (int k = -2; k < CMGI_SLICE_SIZES; ++k) {
        cmg_size sum = 0;
        for (cmg_size r = 0; r < runs; ++r) {
            sum += most[r];
        }
        if (k >= 0) {
            sliced[k] += sum * ((cmg_size)4 << k);
        }
        runs = (runs + 1) / 2;
        for (cmg_size r = 0; r < runs; ++r) {
            most[r] = most[2 * r] > most[2 * r + 1] ? most[2 * r] : most[2 * r + 1];
        }
        most[runs] = 0; /* beside the last of an odd number */
    }
    *longest = most[0];
}

/* count[k] += rows of k entries; many rows on all threads, each with counts of its own. */
static cmg_status count_lengths(cmg_context *ctx, const cmg_csr *A, cmg_size longest,
                                cmg_size *count)
{
    const int parts = A->rows > MANY_ROWS ? ctx->threads : 1;
    cmg_size *part = NULL;
    if (parts == 1 || longest >= MOST) {
        for (cmg_size i = 0; i < A->rows; ++i) {
            ++count[A->indptr[i + 1] - A->indptr[i]];
        }
        return CMG_OK;
    }
    CMGI_TRY(cmgi_alloc_zero(ctx, (cmg_size)parts * TURNS * MOST, sizeof *part, &part));
#pragma omp parallel for num_threads(parts) schedule(static, 1)
    for (int p = 0; p < parts; ++p) {
        cmg_size *mine = part + (cmg_size)p * TURNS * MOST;
        for (cmg_size i = A->rows * p / parts; i < A->rows * (p + 1) / parts; ++i) {
            ++mine[i % TURNS * MOST + A->indptr[i + 1] - A->indptr[i]];
        }
    }
    for (cmg_size k = 0; k < (cmg_size)parts * TURNS * MOST; ++k) {
        if (part[k] > 0) {
            count[k % MOST] += part[k];
        }
    }
    cmgi_free(ctx, part);
    return CMG_OK;
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
    for (int k = 0; k < CMGI_SLICE_SIZES; ++k) {
        s->sliced[k] = sum[k];
    }
    CMGI_TRY(cmgi_alloc_zero(ctx, longest + 1, sizeof *s->count, &s->count));
    CMGI_TRY(count_lengths(ctx, A, longest, s->count));
    s->filled = A->rows - s->count[0];
    return CMG_OK;
}

cmg_status cmgi_column_statistics_take(cmg_context *ctx, const cmg_csr *A, cmgi_row_statistics *s)
{
    cmg_size *indptr = NULL;
    CMGI_TRY(cmgi_alloc_zero(ctx, A->cols + 1, sizeof *indptr, &indptr));
    for (cmg_size k = 0; k < A->indptr[A->rows]; ++k) {
        ++indptr[A->indices[k] + 1];
    }
    cmgi_add_up(indptr, A->cols);
    const cmg_csr T = {.rows = A->cols, .cols = A->rows, .indptr = indptr};
    const cmg_status status = cmgi_row_statistics_take(ctx, &T, s);
    cmgi_free(ctx, indptr);
    return status;
}

void cmgi_row_statistics_free(cmg_context *ctx, cmgi_row_statistics *s)
{
    cmgi_free(ctx, s->count);
    *s = (cmgi_row_statistics){0};
}
