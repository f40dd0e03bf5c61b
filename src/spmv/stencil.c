/* Search for the runs of columns that all templates share. */
#include "spmv/stencil.h"

#include <stdlib.h>

enum { TABLE_BYTES = 40 * 1024 }; /* of values: they have to fit in a block's shared memory */

static int ascending(const void *a, const void *b)
{
    const cmg_index x = *(const cmg_index *)a;
    const cmg_index y = *(const cmg_index *)b;
    return (x > y) - (x < y);
}

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
    for (int t = 0; t < C->templates; ++t) {
        const cmg_index length = C->t_begin[t + 1] - C->t_begin[t];
        longest = length > longest ? length : longest;
    }
    return longest;
}

/* Run that holds an offset. */
static int find_run(const cmg_index *run, int runs, cmg_index offset)
{
    int r = 0;
    while (r + 1 < runs && run[r + 1] <= offset) {
        ++r;
    }
    return r;
}

static void spread(const cmgi_compressed *C, cmg_precision precision)
{
    for (int t = 0; t < C->templates; ++t) {
        for (cmg_index e = C->t_begin[t]; e < C->t_begin[t + 1]; ++e) {
            const int r = find_run(C->s_run, C->runs, C->t_offset[e]);
            const cmg_size at =
                ((cmg_size)t * C->runs + r) * CMGI_RUN_STORED + (C->t_offset[e] - C->s_run[r]);
            if (precision == CMG_FP64) {
                ((double *)C->s_value)[at] = ((const double *)C->t_value)[e];
            } else {
                ((float *)C->s_value)[at] = ((const float *)C->t_value)[e];
            }
        }
    }
}

cmg_status cmgi_stencil_build(cmg_context *ctx, cmg_precision precision, cmgi_compressed *C)
{
    if (C->t_count == 0 || C->ref != NULL) {
        return CMG_OK;
    }
    const size_t value = cmgi_precision_bytes(precision);
    cmg_index *sorted = NULL;
    CMGI_TRY(cmgi_alloc(ctx, C->t_entries, sizeof *sorted, &sorted));
    for (cmg_index e = 0; e < C->t_entries; ++e) {
        sorted[e] = C->t_offset[e];
    }
    qsort(sorted, (size_t)C->t_entries, sizeof *sorted, ascending);
    const int runs = cover(sorted, C->t_entries, C->s_run);
    cmgi_free(ctx, sorted);
    const cmg_size stored = (cmg_size)C->templates * runs * CMGI_RUN_STORED;
    /* 2.5 products for one are still cheaper than loads one by one */
    if (runs == 0 || 2 * CMGI_RUN * runs > 5 * longest_template(C) ||
        (size_t)stored * value > TABLE_BYTES) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_alloc_zero(ctx, stored, value, &C->s_value));
    C->runs = runs;
    spread(C, precision);
    return CMG_OK;
}
