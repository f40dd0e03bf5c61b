/* Sum matrices: made from rows of terms, renumbered, multiplied; the CPU's part of it. */
#include "fem/sum.h"

#include "core/backend.h"
#include "core/memory.h"

extern const cmgi_sum_kernels cmgi_sum_cuda;

/* First rows of the blocks of chunk c into `first` (NULL: counts alone). */
static cmg_size cut_chunk(const cmgi_sum *S, const cmg_size *indptr, cmg_size c, cmg_size *first)
{
    const cmg_size from = c * CMGI_SUM_CHUNK;
    const cmg_size to = S->rows - from < CMGI_SUM_CHUNK ? S->rows : from + CMGI_SUM_CHUNK;
    cmg_size blocks = 0;
    for (cmg_size r = from; r < to; r = cmgi_sum_block_end(indptr, r, to)) {
        if (first != NULL) {
            first[blocks] = r;
        }
        ++blocks;
    }
    return blocks;
}

static cmg_status count_cpu(const cmgi_sum *S, const cmg_size *indptr, cmg_size *at)
{
    const cmg_size chunks = cmgi_sum_chunks(S);
#pragma omp parallel for num_threads(S->ctx->threads) schedule(static) if (chunks > 8)
    for (cmg_size c = 0; c < chunks; ++c) {
        at[c] = cut_chunk(S, indptr, c, NULL);
    }
    return CMG_OK;
}

static cmg_status cut_cpu(const cmgi_sum *S, const cmg_size *indptr, const cmg_size *at)
{
    const cmg_size chunks = cmgi_sum_chunks(S);
#pragma omp parallel for num_threads(S->ctx->threads) schedule(static) if (chunks > 8)
    for (cmg_size c = 0; c < chunks; ++c) {
        (void)cut_chunk(S, indptr, c, S->first_row + at[c]);
    }
    S->first_row[S->blocks] = S->rows;
    return CMG_OK;
}

/* Sums of pieces first, then every piece from its sum. */
static cmg_status offsets_cpu(cmg_context *ctx, cmg_size n, cmg_size *count, cmg_size *total)
{
    enum { PIECES = 256 };
    cmg_size sum[PIECES + 1] = {0};
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (n > 65536)
    for (cmg_size p = 0; p < PIECES; ++p) {
        for (cmg_size k = n * p / PIECES; k < n * (p + 1) / PIECES; ++k) {
            sum[p + 1] += count[k];
        }
    }
    cmgi_add_up(sum, PIECES);
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (n > 65536)
    for (cmg_size p = 0; p < PIECES; ++p) {
        cmg_size at = sum[p];
        for (cmg_size k = n * p / PIECES; k < n * (p + 1) / PIECES; ++k) {
            const cmg_size here = count[k];
            count[k] = at;
            at += here;
        }
    }
    count[n] = sum[PIECES];
    if (total != NULL) {
        *total = sum[PIECES];
    }
    return CMG_OK;
}

static cmg_status fill_cpu(const cmgi_sum *S, const cmg_size *indptr)
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
    return CMG_OK;
}

static cmg_status lengths_cpu(const cmgi_sum *S, const cmg_size *map, cmg_size rows,
                              cmg_size *count)
{
#pragma omp parallel for num_threads(S->ctx->threads) schedule(static) if (rows > 65536)
    for (cmg_size r = 0; r < rows; ++r) {
        count[r] = 0;
    }
#pragma omp parallel for num_threads(S->ctx->threads) schedule(static) if (S->blocks > 64)
    for (cmg_size b = 0; b < S->blocks; ++b) {
        for (cmg_size r = S->first_row[b]; r < S->first_row[b + 1]; ++r) {
            count[map[r]] = cmgi_sum_end(S, b, r) - cmgi_sum_begin(S, b, r);
        }
    }
    return CMG_OK;
}

static cmg_status move_cpu(const cmgi_sum *S, const cmg_size *map, const cmg_size *indptr,
                           cmg_index *indices)
{
#pragma omp parallel for num_threads(S->ctx->threads) schedule(static) if (S->blocks > 64)
    for (cmg_size b = 0; b < S->blocks; ++b) {
        for (cmg_size r = S->first_row[b]; r < S->first_row[b + 1]; ++r) {
            const cmg_size begin = cmgi_sum_begin(S, b, r);
            const cmg_size terms = cmgi_sum_end(S, b, r) - begin;
            cmg_index *to = indices + indptr[map[r]];
            for (cmg_size k = 0; k < terms; ++k) {
                to[k] = S->indices[begin + k];
            }
        }
    }
    return CMG_OK;
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

static const cmgi_sum_kernels on_cpu = {count_cpu,   cut_cpu,  offsets_cpu, fill_cpu,
                                        lengths_cpu, move_cpu, apply_cpu};

static const cmgi_sum_kernels *kernels_of(const cmg_context *ctx)
{
    static const cmgi_sum_kernels *const kernels[2] = {&on_cpu, CMGI_CUDA_FN(&cmgi_sum_cuda)};
    return kernels[cmgi_column(ctx)];
}

/* The first rows of all blocks, and `rows`. */
static cmg_status make_blocks(cmgi_sum *S, const cmg_size *indptr)
{
    cmg_context *ctx = S->ctx;
    const cmgi_sum_kernels *on = kernels_of(ctx);
    const cmg_size chunks = cmgi_sum_chunks(S);
    cmg_size *at = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY(cmgi_alloc_device(ctx, chunks + 1, sizeof *at, &at));
    CMGI_TRY_GOTO(done, on->count(S, indptr, at));
    CMGI_TRY_GOTO(done, on->offsets(ctx, chunks, at, &S->blocks));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, S->blocks + 1, sizeof *S->first_row, &S->first_row));
    CMGI_TRY_GOTO(done, on->cut(S, indptr, at));
done:
    cmgi_free_device(ctx, at);
    return status;
}

cmg_status cmgi_sum_create(cmg_context *ctx, cmg_size rows, cmg_size *indptr, cmg_index *indices,
                           cmgi_sum *S)
{
    cmgi_sum made = {.ctx = ctx, .rows = rows, .indices = indices};
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_to_host(ctx, &made.terms, indptr + rows, sizeof made.terms));
    CMGI_TRY_GOTO(done, make_blocks(&made, indptr));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, made.blocks + 1, sizeof *made.start, &made.start));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, rows, sizeof *made.end, &made.end));
    CMGI_TRY_GOTO(done, kernels_of(ctx)->fill(&made, indptr));
    *S = made;
    made = (cmgi_sum){.ctx = ctx};
done:
    cmgi_free_device(ctx, indptr);
    cmgi_sum_free(&made);
    return status;
}

void cmgi_sum_free(cmgi_sum *S)
{
    CMGI_FREE_DEVICE(S->ctx, S->first_row, S->start, S->end, S->indices);
    *S = (cmgi_sum){.ctx = S->ctx};
}

cmg_status cmgi_sum_permute(const cmgi_sum *S, cmg_size rows, const cmg_size *map, cmgi_sum *T)
{
    cmg_context *ctx = S->ctx;
    const cmgi_sum_kernels *on = kernels_of(ctx);
    cmg_size *indptr = NULL;
    cmg_index *indices = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY(cmgi_alloc_device(ctx, rows + 1, sizeof *indptr, &indptr));
    CMGI_TRY_GOTO(failed, on->lengths(S, map, rows, indptr));
    CMGI_TRY_GOTO(failed, on->offsets(ctx, rows, indptr, NULL));
    CMGI_TRY_GOTO(failed, cmgi_alloc_device(ctx, S->terms, sizeof *indices, &indices));
    CMGI_TRY_GOTO(failed, on->move(S, map, indptr, indices));
    return cmgi_sum_create(ctx, rows, indptr, indices, T);
failed:
    CMGI_FREE_DEVICE(ctx, indptr, indices);
    return status;
}

cmg_status cmgi_sum_apply(const cmgi_sum *S, const double *e, cmg_precision precision, void *y)
{
    return kernels_of(S->ctx)->apply(S, e, precision, y);
}
