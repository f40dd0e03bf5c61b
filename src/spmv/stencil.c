/* Search for the runs of columns that all templates share. */
#include "spmv/stencil.h"

#include "core/order.h"
#include "core/search.h"

#include <stdlib.h>

enum { TABLE_BYTES = 40 * 1024 }; /* of values: they have to fit in a block's shared memory */

/* Covers the offsets of all templates by runs, first fit from the smallest; 0 = more than most. */
static int cover(const cmg_index *sorted, cmg_size count, cmg_index *run)
{
    int runs = 0;
    for (cmg_size k = 0; k < count; ++k) {
        if (runs > 0 && sorted[k] < run[runs - 1] + CMGI_RUN) {
            continue;
        }
        if (runs == CMGI_RUNS) {
            return 0;
        }
        run[runs++] = sorted[k];
    }
    return runs;
}

/* Entries of the longest template: what a row on the inside has. */
static cmg_index longest_template(const cmgi_compressed *C)
{
    cmg_index longest = 0;
    for (int t = 0; t < C->t.kinds; ++t) {
        const cmg_index length = C->t.begin[t + 1] - C->t.begin[t];
        longest = length > longest ? length : longest;
    }
    return longest;
}

static void spread(const cmgi_compressed *C, cmg_precision precision, cmgi_stencil *S)
{
    for (int t = 0; t < C->t.kinds; ++t) {
        for (cmg_index e = C->t.begin[t]; e < C->t.begin[t + 1]; ++e) {
            /* the last run that does not begin behind it */
            const cmg_size r = cmgi_search_index(S->run, 0, S->runs, C->t.offset[e] + 1) - 1;
            const cmg_index m = C->t.offset[e] - S->run[r];
            const double v = cmgi_number_at(precision, C->t.value, e);
            cmgi_put_number(precision, S->value, (t * S->runs + r) * CMGI_RUN_STORED + m, v);
            if (t == 0) {
                S->first[r][m] = v;
            }
        }
    }
}

/* Runs over the offsets of all templates; S->runs = 0 where they would be too many. */
static cmg_status find_runs(cmg_context *ctx, const cmgi_compressed *C, size_t value_bytes,
                            cmgi_stencil *S)
{
    CMGI_SCOPED(ctx, C->t.entries, cmg_index, sorted);
    for (cmg_index e = 0; e < C->t.entries; ++e) {
        sorted[e] = C->t.offset[e];
    }
    qsort(sorted, (size_t)C->t.entries, sizeof *sorted, cmgi_ascending_index);
    S->runs = cover(sorted, C->t.entries, S->run);
    const size_t bytes = (size_t)C->t.kinds * (size_t)S->runs * CMGI_RUN_STORED * value_bytes;
    /* 2.5 products for one are still cheaper than loads one by one; windows that leave x are not */
    const cmg_size span = S->runs > 0 ? S->run[S->runs - 1] - S->run[0] : 0;
    if (2 * CMGI_RUN * S->runs > 5 * longest_template(C) || bytes > TABLE_BYTES ||
        2 * (C->cols - span) < C->rows) {
        S->runs = 0;
    }
    return CMG_OK;
}

cmg_status cmgi_stencil_build(cmg_context *ctx, cmg_precision precision, cmgi_compressed *C)
{
    const size_t bytes = cmgi_precision_bytes(precision);
    cmgi_stencil found = {0};
    if (C->t.count == 0 || C->ref != NULL) {
        return CMG_OK;
    }
    CMGI_TRY(find_runs(ctx, C, bytes, &found));
    if (found.runs == 0) {
        return CMG_OK;
    }
    const cmg_size values = (cmg_size)C->t.kinds * found.runs * CMGI_RUN_STORED;
    CMGI_TRY(cmgi_alloc(ctx, 1, sizeof *C->t.stencil, &C->t.stencil));
    *C->t.stencil = found;
    CMGI_TRY(cmgi_alloc_zero(ctx, values, bytes, &C->t.stencil->value));
    spread(C, precision, C->t.stencil);
    return CMGI_MOVE(ctx, &C->t.stencil->value);
}
