#include "smoothers/rows.h"

cmg_status cmgi_each_row(cmg_context *ctx, const char *what, cmg_size n, cmgi_try_row_fn row,
                         const void *user, cmg_size *bad)
{
    enum { CHUNK = 16384 };
    cmg_size first_bad = n;
    for (cmg_size first = 0; first < n; first += CHUNK) {
        const cmg_size last = first + CHUNK < n ? first + CHUNK : n;
        CMGI_TRY(cmgi_progress(ctx, what, first, n));
#pragma omp parallel for num_threads(ctx->threads) schedule(dynamic, 64) reduction(min : first_bad)
        for (cmg_size i = first; i < last; ++i) {
            if (!row(user, i, cmgi_thread())) {
                first_bad = i < first_bad ? i : first_bad;
            }
        }
    }
    *bad = first_bad;
    return CMG_OK;
}

cmg_status cmgi_row_work_create(cmg_context *ctx, cmg_size size, cmg_size entries,
                                cmgi_row_work **work)
{
    CMGI_TRY(cmgi_alloc_zero(ctx, ctx->threads, sizeof **work, work));
    for (int t = 0; t < ctx->threads; ++t) {
        CMGI_TRY(cmgi_index_map_create(ctx, size, &(*work)[t].map));
        CMGI_TRY(cmgi_alloc(ctx, entries, sizeof(double), &(*work)[t].H));
    }
    return CMG_OK;
}

void cmgi_row_work_destroy(cmg_context *ctx, cmgi_row_work **work)
{
    for (int t = 0; *work != NULL && t < ctx->threads; ++t) {
        cmgi_index_map_destroy(ctx, &(*work)[t].map);
        cmgi_free(ctx, (*work)[t].H);
    }
    cmgi_free(ctx, cmgi_pass_on(work));
}
