/* Products on the CPU: shared out, and of several columns column by column. */
#include "spmv/columns.h"

#include "core/blocks.h"
#include "core/search.h"
#include "spmv/cpu_kernels.h"
#include "spmv/mirror.h"

#include <assert.h>

cmg_status cmgi_columns_cpu(const cmg_matrix *A, cmgi_rows rows, cmg_size count,
                            const cmgi_writeback *w, const void *x)
{
    const cmgi_rows_fn kernel = cmgi_cpu_kernels_best()->columns[A->options.precision][rows];
    const int threads = A->nnz * w->columns > CMGI_PARALLEL_ENTRIES ? A->ctx->threads : 1;
    const int parts = threads > 1 ? 8 * threads : 1; /* rows differ in length */
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1) if (threads > 1)
    for (int p = 0; p < parts; ++p) {
        kernel(A, w, x, count * p / parts, count * (p + 1) / parts);
    }
    return CMG_OK;
}

/* First row or slice of part p of `parts`. */
static cmg_size part_at(const cmg_size *ptr, cmg_size count, int p, int parts)
{
    return ptr == NULL || p == 0 || p == parts
               ? count * p / parts
               : cmgi_search_size(ptr, 0, count, ptr[count] / parts * p);
}

cmg_status cmgi_rows_cpu(const cmg_matrix *A, cmgi_rows rows, const cmg_size *ptr, cmg_size count,
                         const cmgi_writeback *w, const void *x)
{
    const cmgi_rows_fn kernel = cmgi_cpu_kernels_best()->rows[A->options.precision][rows];
    const int parts = A->stored > CMGI_PARALLEL_ENTRIES ? A->ctx->threads : 1;
    if (w->columns > 1) {
        return cmgi_columns_cpu(A, rows, count, w, x);
    }
    CMGI_PARTS(parts, p,
               kernel(A, w, x, part_at(ptr, count, p, parts), part_at(ptr, count, p + 1, parts)));
    return CMG_OK;
}

/* x and the vectors of the write-back, of one column. */
enum { APART_X = 0, APART_B, APART_C, APART_E, APART_Y, APART_ARRAYS };

/* Doubles of an array of n values in either precision, so that the next one is aligned. */
static cmg_size room_for(cmg_size n)
{
    return (n + 31) / 32 * 32;
}

cmg_status cmgi_columns_reserve(const cmg_matrix *A, int columns)
{
    CMGI_CUDA_ONLY(restore, cmgi_mirror_restore);
    if (columns > 1 && restore != NULL && cmgi_has_mirror(A)) {
        return restore((cmg_matrix *)(uintptr_t)A);
    }
    const cmg_size values = room_for(A->cols) + (APART_ARRAYS - 1) * room_for(A->rows);
    return columns < 2 || A->apart == NULL || *A->apart != NULL
               ? CMG_OK
               : cmgi_alloc_device(A->ctx, values, sizeof **A->apart, A->apart);
}

void cmgi_columns_release(cmg_matrix *A)
{
    CMGI_CUDA_ONLY(trim, cmgi_mirror_trim);
    if (trim != NULL && A != NULL && cmgi_has_mirror(A)) {
        trim(A);
    }
}

cmg_status cmgi_columns_apart(const cmg_matrix *A, const cmgi_writeback *w, const void *x)
{
    const cmgi_backend *on = A->ctx->backend;
    const cmg_precision p = A->options.precision;
    const size_t size = cmgi_precision_bytes(p);
    const void *const given[APART_ARRAYS] = {x, w->b, w->c, w->e, w->y};
    void *one[APART_ARRAYS] = {NULL};
    assert(A->apart != NULL);
    CMGI_TRY(cmgi_columns_reserve(A, w->columns));
    double *at = *A->apart + room_for(A->cols);
    one[APART_X] = *A->apart;
    for (int v = APART_X + 1; v < APART_ARRAYS; ++v, at += room_for(A->rows)) {
        one[v] = given[v] != NULL ? at : NULL;
    }
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
