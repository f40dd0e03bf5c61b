/* Sum matrices: made from rows of terms, renumbered, multiplied; the CPU's product. */
#include "fem/sum.h"

#include "core/backend.h"
#include "core/each.h"
#include "csr/place.h"

#include "fem/sum.inc"

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
            double sum = 0;
            for (; from < to; ++from) {
                const cmg_index at = S->indices[start + from];
                sum += at < 0 ? 1.0 : e[at];
            }
            if (y64 != NULL) {
                y64[r] = sum;
            } else {
                y32[r] = (float)sum;
            }
        }
    }
    return CMG_OK;
}

cmg_status cmgi_sum_create(cmg_context *ctx, cmg_size rows, cmg_size *indptr, cmg_index *indices,
                           cmgi_sum *S)
{
    cmgi_scoped_by(cmgi_sum_free) cmgi_sum made = {.ctx = ctx, .rows = rows, .indices = indices};
    const cmgi_place at = (cmgi_place)cmgi_column(ctx);
    const cmg_size chunks = (rows + CMGI_SUM_CHUNK - 1) / CMGI_SUM_CHUNK;
    cutting c = {.S = made, .indptr = indptr};
    CMGI_FREED(ctx, &indptr, &c.at);
    CMGI_TRY(cmgi_to_host(ctx, &made.terms, indptr + rows, sizeof made.terms));
    CMGI_TRY(cmgi_alloc_device(ctx, chunks + 1, sizeof *c.at, &c.at));
    CMGI_TRY(count_blocks(ctx, at, chunks, &c));
    CMGI_TRY(cmgi_offsets_at(ctx, at, chunks, c.at, &made.blocks));
    CMGI_TRY(cmgi_alloc_device(ctx, made.blocks + 1, sizeof *made.first_row, &made.first_row));
    CMGI_TRY(cmgi_alloc_device(ctx, made.blocks + 1, sizeof *made.start, &made.start));
    CMGI_TRY(cmgi_alloc_device(ctx, rows, sizeof *made.end, &made.end));
    c.S = made;
    CMGI_TRY(cut_blocks(ctx, at, chunks + 1, &c));
    CMGI_TRY(fill_blocks(ctx, at, (made.blocks + 1) * CMGI_SUM_ROWS, &c));
    *S = made;
    made = (cmgi_sum){.ctx = ctx};
    return CMG_OK;
}

void cmgi_sum_free(cmgi_sum *S)
{
    CMGI_FREE_DEVICE(S->ctx, S->first_row, S->start, S->end, S->indices);
    *S = (cmgi_sum){.ctx = S->ctx};
}

cmg_status cmgi_sum_permute(const cmgi_sum *S, cmg_size rows, const cmg_size *map, cmgi_sum *T)
{
    cmg_context *ctx = S->ctx;
    const cmgi_place at = (cmgi_place)cmgi_column(ctx);
    moving m = {.S = *S, .map = map};
    cmg_size terms = 0;
    CMGI_FREED(ctx, &m.indptr, &m.indices);
    CMGI_TRY(cmgi_alloc_zero_at(ctx, at, rows + 1, sizeof *m.indptr, &m.indptr));
    CMGI_TRY(move_lengths(ctx, at, S->blocks * CMGI_SUM_ROWS, &m));
    CMGI_TRY(cmgi_offsets_at(ctx, at, rows, m.indptr, &terms));
    CMGI_TRY(cmgi_alloc_device(ctx, terms, sizeof *m.indices, &m.indices));
    CMGI_TRY(move_terms(ctx, at, S->blocks * CMGI_SUM_ROWS, &m));
    return cmgi_sum_create(ctx, rows, cmgi_pass_on(&m.indptr), cmgi_pass_on(&m.indices), T);
}

cmg_status cmgi_sum_apply(const cmgi_sum *S, const double *e, cmg_precision precision, void *y)
{
    CMGI_EITHER(apply, apply_cpu, cmgi_sum_apply_cuda);
    return apply[cmgi_column(S->ctx)](S, e, precision, y);
}

cmg_status cmgi_sum_check(cmg_context *ctx, cmg_size nnz)
{
    CMGI_CHECK(ctx, nnz <= INT32_MAX, CMG_ERR_ARG,
               "sum matrix: A has %lld entries, more than 2^31 - 1", (long long)nnz);
    return CMG_OK;
}
