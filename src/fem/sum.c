/* Sum matrices on the host: blocks of rows, and the product. */
#include "fem/sum.h"

#include "core/backend.h"
#include "core/memory.h"
#include "core/search.h"

typedef cmg_status (*apply_fn)(const cmgi_sum *S, const double *e, cmg_precision precision,
                               void *y);

/* Blocks of rows [from, to), which begin at the rows listed in `first` (NULL: counts alone). */
static cmg_size cut(cmg_size from, cmg_size to, const cmg_size *indptr, cmg_size *first)
{
    cmg_size blocks = 0;
    for (cmg_size r = from; r < to; ++blocks) {
        if (first != NULL) {
            first[blocks] = r;
        }
        cmg_size end = r + 1;
        while (end < to && end - r < CMGI_SUM_ROWS &&
               indptr[end + 1] - indptr[r] <= CMGI_SUM_TERMS) {
            ++end;
        }
        r = end;
    }
    return blocks;
}

/* The first rows of all blocks, and `rows`; no block reaches over a multiple of CHUNK rows. */
static cmg_status make_blocks(cmgi_sum *S, const cmg_size *indptr)
{
    enum { CHUNK = 8192 };
    cmg_context *ctx = S->ctx;
    const cmg_size chunks = (S->rows + CHUNK - 1) / CHUNK;
    cmg_size *at = NULL;
    CMGI_TRY(cmgi_alloc_zero(ctx, chunks + 1, sizeof *at, &at));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (chunks > 8)
    for (cmg_size c = 0; c < chunks; ++c) {
        const cmg_size to = (c + 1) * CHUNK;
        at[c + 1] = cut(c * CHUNK, to < S->rows ? to : S->rows, indptr, NULL);
    }
    cmgi_add_up(at, chunks);
    S->blocks = at[chunks];
    const cmg_status status = cmgi_alloc(ctx, S->blocks + 1, sizeof *S->first_row, &S->first_row);
    if (status == CMG_OK) {
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (chunks > 8)
        for (cmg_size c = 0; c < chunks; ++c) {
            const cmg_size to = (c + 1) * CHUNK;
            (void)cut(c * CHUNK, to < S->rows ? to : S->rows, indptr, S->first_row + at[c]);
        }
        S->first_row[S->blocks] = S->rows;
    }
    cmgi_free(ctx, at);
    return status;
}

static void fill_blocks(const cmgi_sum *S, const cmg_size *indptr)
{
#pragma omp parallel for num_threads(S->ctx->threads) schedule(static) if (S->blocks > 64)
    for (cmg_size b = 0; b < S->blocks; ++b) {
        S->start[b] = indptr[S->first_row[b]];
        for (cmg_size r = S->first_row[b]; r < S->first_row[b + 1]; ++r) {
            const cmg_size end = indptr[r + 1] - S->start[b];
            S->end[r] = end <= CMGI_SUM_TERMS ? (uint16_t)end : 0;
        }
    }
    S->start[S->blocks] = indptr[S->rows];
}

/* Hands *from, a host array, over to *to, in the backend's memory. */
static cmg_status move(cmg_context *ctx, void *from, cmg_size count, size_t size, void *to)
{
    CMGI_TRY(cmgi_move_to_device(ctx, from, count, size));
    *(void **)to = *(void **)from;
    *(void **)from = NULL;
    return CMG_OK;
}

cmg_status cmgi_sum_create(cmg_context *ctx, cmg_size rows, cmg_size *indptr, cmg_index *indices,
                           cmgi_sum *S)
{
    cmgi_sum host = {.ctx = ctx, .rows = rows, .terms = indptr[rows], .indices = indices};
    cmgi_sum made = host;
    cmg_status status = CMG_OK;
    made.indices = NULL;
    CMGI_TRY_GOTO(done, make_blocks(&host, indptr));
    made.blocks = host.blocks;
    const cmg_size n = host.blocks + 1;
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, n, sizeof *host.start, &host.start));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, rows, sizeof *host.end, &host.end));
    fill_blocks(&host, indptr);
    CMGI_TRY_GOTO(done, move(ctx, &host.first_row, n, sizeof *host.first_row, &made.first_row));
    CMGI_TRY_GOTO(done, move(ctx, &host.start, n, sizeof *host.start, &made.start));
    CMGI_TRY_GOTO(done, move(ctx, &host.end, rows, sizeof *host.end, &made.end));
    CMGI_TRY_GOTO(done, move(ctx, &host.indices, made.terms, sizeof *host.indices, &made.indices));
    *S = made;
    made = (cmgi_sum){.ctx = ctx};
done:
    CMGI_FREE(ctx, indptr, host.first_row, host.start, host.end, host.indices);
    cmgi_sum_free(&made);
    return status;
}

void cmgi_sum_free(cmgi_sum *S)
{
    CMGI_FREE_DEVICE(S->ctx, S->first_row, S->start, S->end, S->indices);
    *S = (cmgi_sum){.ctx = S->ctx};
}

static inline double add_up(const cmg_index *index, cmg_size n, const double *e)
{
    double sum = 0;
    for (cmg_size k = 0; k < n; ++k) {
        sum += index[k] < 0 ? 1.0 : e[index[k]];
    }
    return sum;
}

static cmg_status apply_cpu(const cmgi_sum *S, const double *e, cmg_precision precision, void *y)
{
    double *y64 = precision == CMG_FP64 ? y : NULL;
    float *y32 = y;
#pragma omp parallel for num_threads(S->ctx->threads) schedule(static) if (S->blocks > 16)
    for (cmg_size b = 0; b < S->blocks; ++b) {
        const cmg_size start = S->start[b];
        const cmg_size terms = S->start[b + 1] - start;
        cmg_size from = 0;
        for (cmg_size r = S->first_row[b]; r < S->first_row[b + 1]; ++r) {
            const cmg_size to = terms > CMGI_SUM_TERMS ? terms : S->end[r];
            const double sum = add_up(S->indices + start + from, to - from, e);
            from = to;
            if (y64 != NULL) {
                y64[r] = sum;
            } else {
                y32[r] = (float)sum;
            }
        }
    }
    return CMG_OK;
}

cmg_status cmgi_sum_apply(const cmgi_sum *S, const double *e, cmg_precision precision, void *y)
{
    static const apply_fn apply[2] = {apply_cpu, CMGI_CUDA_FN(cmgi_sum_apply_cuda)};
    return apply[cmgi_column(S->ctx)](S, e, precision, y);
}
