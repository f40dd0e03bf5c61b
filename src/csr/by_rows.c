#include "csr/by_rows.h"

#include "core/memory.h"

cmg_status cmgi_csr_by_rows(cmg_context *ctx, cmg_size rows, cmg_size cols, cmgi_csr_row_fn row,
                            const void *user, cmgi_csr *M)
{
    cmgi_csr made = {0};
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_csr_alloc_rows(ctx, rows, cols, &made));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (rows > 1024)
    for (cmg_size i = 0; i < rows; ++i) {
        made.indptr[i + 1] = row(user, i, NULL, NULL);
    }
    CMGI_TRY_GOTO(done, cmgi_csr_alloc_entries(ctx, &made));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (rows > 1024)
    for (cmg_size i = 0; i < rows; ++i) {
        (void)row(user, i, made.indices + made.indptr[i], made.values + made.indptr[i]);
    }
    *M = made;
    made = (cmgi_csr){0};
done:
    cmgi_csr_free(ctx, &made);
    return status;
}
