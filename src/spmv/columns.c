/* Products with several columns: shared out on the CPU, and column by column. */
#include "spmv/columns.h"

#include "spmv/cpu_kernels.h"

cmg_status cmgi_columns_cpu(const cmg_matrix *A, cmgi_rows rows, cmg_size count,
                            const cmgi_writeback *w, const void *x)
{
    const cmgi_columns_fn kernel =
        cmgi_cpu_kernels_best()->columns[A->options.precision == CMG_FP32][rows];
    const int threads = A->nnz * w->columns > CMGI_PARALLEL_ENTRIES ? A->ctx->threads : 1;
    const int parts = threads > 1 ? 8 * threads : 1; /* rows differ in length */
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1) if (threads > 1)
    for (int p = 0; p < parts; ++p) {
        kernel(A, w, x, count * p / parts, count * (p + 1) / parts);
    }
    return CMG_OK;
}

/* x and the vectors of the write-back, of one column. */
enum { APART_X = 0, APART_B, APART_C, APART_E, APART_Y, APART_ARRAYS };

static cmg_status apart(const cmg_matrix *A, const cmgi_writeback *w, const void *x,
                        void *one[APART_ARRAYS])
{
    const cmgi_backend *on = A->ctx->backend;
    const cmg_precision p = A->options.precision;
    const size_t size = cmgi_precision_bytes(p);
    const void *const given[APART_ARRAYS] = {x, w->b, w->c, w->e, NULL};
    const cmgi_writeback single = {.kind = w->kind,
                                   .alpha = w->alpha,
                                   .beta = w->beta,
                                   .b = one[APART_B],
                                   .c = one[APART_C],
                                   .d = w->d,
                                   .e = one[APART_E],
                                   .y = one[APART_Y]};
    for (int c = 0; c < w->columns; ++c) {
        for (int v = 0; v < APART_Y; ++v) {
            const cmgi_block_copy out = {.rows = v == APART_X ? A->cols : A->rows,
                                         .columns = 1,
                                         .from = p,
                                         .x = (const char *)given[v] + (size_t)c * size,
                                         .x_row = w->columns,
                                         .to = p,
                                         .y = one[v],
                                         .y_row = 1};
            CMGI_TRY(given[v] != NULL ? on->copy_block(A->ctx, &out) : CMG_OK);
        }
        const cmgi_block_copy in = {.rows = A->rows,
                                    .columns = 1,
                                    .from = p,
                                    .x = one[APART_Y],
                                    .x_row = 1,
                                    .to = p,
                                    .y = (char *)w->y + (size_t)c * size,
                                    .y_row = w->columns};
        CMGI_TRY(cmgi_spmv_of(A->ctx, A->format)(A, &single, one[APART_X]));
        CMGI_TRY(on->copy_block(A->ctx, &in));
    }
    return CMG_OK;
}

cmg_status cmgi_columns_apart(const cmg_matrix *A, const cmgi_writeback *w, const void *x)
{
    cmg_context *ctx = A->ctx;
    const size_t size = cmgi_precision_bytes(A->options.precision);
    const void *const given[APART_ARRAYS] = {x, w->b, w->c, w->e, w->y};
    void *one[APART_ARRAYS] = {NULL};
    cmg_status status = CMG_OK;
    for (int v = 0; v < APART_ARRAYS; ++v) {
        if (given[v] != NULL) {
            CMGI_TRY_GOTO(done,
                          cmgi_alloc_device(ctx, v == APART_X ? A->cols : A->rows, size, &one[v]));
        }
    }
    status = apart(A, w, x, one);
done:
    for (int v = 0; v < APART_ARRAYS; ++v) {
        cmgi_free_device(ctx, one[v]);
    }
    return status;
}
