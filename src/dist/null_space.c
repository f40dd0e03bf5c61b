/* Whether constants are the null space of level 0, as transfer/null_space.c asks on one rank. */
#include "dist/parts.h"
#include "transfer/null_space.h"

#include <math.h>

/* 1 where a row's entries do not add up to 0. */
static double any_sum(const cmgi_own_rows *A)
{
    for (cmg_size i = 0; i < A->rows; ++i) {
        double sum = 0;
        double size = 0;
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            sum += A->values[k];
            size += fabs(A->values[k]);
        }
        if (!(fabs(sum) <= CMGI_NULL_ROUNDING * size)) {
            return 1;
        }
    }
    return 0;
}

cmg_status cmgi_parts_constants(const cmgi_parts *parts, bool *null)
{
    cmg_context *ctx = parts->ctx;
    const cmgi_part_level *fine = &parts->level[0];
    cmgi_own_rows T = {0};
    double any = any_sum(&fine->A);
    CMGI_TRY(cmgi_all_max(ctx, &any, 1));
    if (any == 0) { /* rare: the columns, too */
        CMGI_TRY(cmgi_rows_transpose(ctx, &fine->A, fine->space.part, &T));
        any = any_sum(&T);
        cmgi_rows_free(ctx, &T);
        CMGI_TRY(cmgi_all_max(ctx, &any, 1));
    }
    *null = any == 0 && fine->space.total > 0;
    return CMG_OK;
}
