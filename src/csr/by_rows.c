#include "csr/by_rows.h"

#include "core/memory.h"
#include "core/order.h"

#include <string.h>

cmg_status cmgi_csr_by_rows(cmg_context *ctx, cmg_size rows, cmg_size cols, cmgi_csr_row_fn row,
                            const void *user, cmgi_csr *M)
{
    cmgi_scoped_csr made = {0};
    CMGI_TRY(cmgi_csr_alloc_rows(ctx, rows, cols, &made));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (rows > 1024)
    for (cmg_size i = 0; i < rows; ++i) {
        made.indptr[i + 1] = row(user, i, NULL, NULL);
    }
    CMGI_TRY(cmgi_csr_alloc_entries(ctx, &made));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (rows > 1024)
    for (cmg_size i = 0; i < rows; ++i) {
        (void)row(user, i, made.indices + made.indptr[i], made.values + made.indptr[i]);
    }
    *M = cmgi_csr_pass_on(&made);
    return CMG_OK;
}

/* Rows first .. last - 1 are counted, or, once M has room for them, written. */
static void ask_rows(cmgi_csr_noting_fn row, const void *user, cmg_size first, cmg_size last,
                     cmg_size *note, const cmgi_csr *M)
{
    memset(note, 0, (size_t)M->cols * sizeof *note);
    for (cmg_size i = first; i < last; ++i) {
        if (M->indices == NULL) {
            M->indptr[i + 1] = row(user, i, note, NULL, NULL);
        } else {
            const cmg_size at = M->indptr[i];
            (void)row(user, i, note, M->indices + at, M->values != NULL ? M->values + at : NULL);
        }
    }
}

cmg_status cmgi_csr_by_notes(cmg_context *ctx, cmg_size rows, cmg_size cols, cmgi_csr_noting_fn row,
                             const void *user, bool valued, cmgi_csr *M)
{
    enum { MOST_THREADS = 16 }; /* notes cost 8 bytes a column and thread */
    const int most = ctx->threads < MOST_THREADS ? ctx->threads : MOST_THREADS;
    const int threads = rows > 1024 ? most : 1;
    cmgi_scoped_csr made = {0};
    CMGI_SCOPED(ctx, cols * threads, cmg_size, note);
    CMGI_TRY(cmgi_csr_alloc_rows(ctx, rows, cols, &made));
    for (int pass = 0; pass < 2; ++pass) {
#pragma omp parallel for num_threads(threads) schedule(static, 1) if (threads > 1)
        for (int t = 0; t < threads; ++t) {
            ask_rows(row, user, rows * t / threads, rows * (t + 1) / threads, note + t * cols,
                     &made);
        }
        if (pass == 0) {
            cmgi_add_up(made.indptr, rows);
            CMGI_TRY(cmgi_alloc(ctx, made.indptr[rows], sizeof *made.indices, &made.indices));
            CMGI_TRY(valued ? cmgi_alloc(ctx, made.indptr[rows], sizeof *made.values, &made.values)
                            : CMG_OK);
        }
    }
    *M = cmgi_csr_pass_on(&made);
    return CMG_OK;
}

typedef struct block_rows {
    const cmg_csr *side[2]; /* A, and B or NULL */
    int size;
} block_rows;

/* cmgi_csr_noting_fn */
static cmg_size block_columns(const void *user, cmg_size i, cmg_size *note, cmg_index *columns,
                              double *values)
{
    const block_rows *of = user;
    const bool one = of->side[1] == NULL;
    cmg_size found = 0;
    (void)values;
    if (!one) {
        note[i] = i + 1;
    }
    for (int s = 0; s < 2 && of->side[s] != NULL; ++s) {
        const cmg_csr *M = of->side[s];
        for (cmg_size k = M->indptr[i * of->size]; k < M->indptr[(i + 1) * of->size]; ++k) {
            const cmg_index j = M->indices[k] / of->size;
            if (note[j] != i + 1) {
                note[j] = i + 1;
                if (columns != NULL) {
                    columns[found] = j;
                }
                ++found;
            }
        }
    }
    if (one && columns != NULL) {
        cmgi_sort_indices(columns, found);
    }
    return found;
}

cmg_status cmgi_csr_block_columns(cmg_context *ctx, const cmg_csr *A, const cmg_csr *B, int size,
                                  cmgi_csr *pattern)
{
    return cmgi_csr_by_notes(ctx, A->rows / size, A->cols / size, block_columns,
                             &(block_rows){{A, B}, size}, false, pattern);
}

cmg_status cmgi_slab_create(cmg_context *ctx, cmg_size rows, cmg_size room, cmgi_slab *slab)
{
    slab->room = room;
    CMGI_TRY(cmgi_alloc(ctx, rows * room, sizeof *slab->columns, &slab->columns));
    CMGI_TRY(cmgi_alloc(ctx, rows * room, sizeof *slab->values, &slab->values));
    return cmgi_alloc_zero(ctx, rows, sizeof *slab->length, &slab->length);
}

void cmgi_slab_free(cmg_context *ctx, cmgi_slab *slab)
{
    CMGI_FREE(ctx, slab->columns, slab->values, slab->length);
}

static cmg_size copy_row(const void *user, cmg_size i, cmg_index *columns, double *values)
{
    const cmgi_slab *slab = user;
    const size_t length = (size_t)slab->length[i];
    if (columns != NULL) {
        memcpy(columns, slab->columns + i * slab->room, length * sizeof *columns);
        memcpy(values, slab->values + i * slab->room, length * sizeof *values);
    }
    return slab->length[i];
}

cmg_status cmgi_slab_compact(cmg_context *ctx, cmg_size rows, cmg_size cols, const cmgi_slab *slab,
                             cmgi_csr *M)
{
    CMGI_TRY(cmgi_csr_by_rows(ctx, rows, cols, copy_row, slab, M));
    return cmgi_csr_sort(ctx, M);
}
