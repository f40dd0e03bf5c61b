/*
 * Compressed sparse rows: the reference of all formats. Threads share the entries, not the rows; a
 * GPU does so where the rows are uneven (csr_tiles.h).
 *
 * Source  Saad 2003, section 3.4.
 */
#include "core/search.h"
#include "spmv/cpu_kernels.h"
#include "spmv/csr_tiles.h"
#include "spmv/formats.h"

#include <string.h>

/* From a CSR on the device, whose row pointers the host has too. */
static cmg_status build_from_device(cmg_matrix *A, const cmg_csr *csr)
{
    cmg_context *ctx = A->ctx;
    cmgi_csr_storage *S = A->data;
    const size_t rows = (size_t)csr->rows + 1;
    CMGI_TRY(cmgi_alloc_device(ctx, csr->rows + 1, sizeof *S->indptr, &S->indptr));
    CMGI_TRY(cmgi_alloc_device(ctx, A->nnz, sizeof *S->columns, &S->columns));
    CMGI_TRY(cmgi_matrix_alloc_values(A));
    CMGI_TRY(cmgi_to_device(ctx, S->indptr, A->source->indptr, rows * sizeof *S->indptr));
    CMGI_TRY(
        cmgi_to_device(ctx, S->columns, A->source->indices, (size_t)A->nnz * sizeof *S->columns));
    return A->format->fill_cuda(A);
}

cmg_status cmgi_csr_build(cmg_matrix *A, const cmg_csr *csr)
{
    cmg_context *ctx = A->ctx;
    const cmg_size nnz = csr->indptr[csr->rows];
    cmgi_csr_storage *S = NULL;
    CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *S, &S));
    A->data = S;
    A->stored = nnz;
    A->bytes = (size_t)(csr->rows + 1) * sizeof *S->indptr +
               (size_t)nnz * (sizeof *S->columns + cmgi_precision_bytes(A->options.precision));
    if (cmgi_on_cuda(ctx) && A->format->id == CMG_FORMAT_CSR && cmgi_csr_uneven(ctx, csr)) {
        CMGI_TRY(cmgi_csr_tiles_make(ctx, csr, A->options.precision, &S->tiles));
        A->bytes += cmgi_csr_tiles_bytes(S->tiles);
    }
    if (A->source != NULL) {
        return build_from_device(A, csr);
    }
    CMGI_TRY(cmgi_alloc(ctx, csr->rows + 1, sizeof *S->indptr, &S->indptr));
    CMGI_TRY(cmgi_alloc(ctx, nnz, sizeof *S->columns, &S->columns));
    CMGI_TRY(cmgi_matrix_alloc_values(A));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (nnz > 10000)
    for (cmg_size i = 0; i < csr->rows; ++i) {
        S->indptr[i] = csr->indptr[i];
        for (cmg_size k = csr->indptr[i]; k < csr->indptr[i + 1]; ++k) {
            S->columns[k] = csr->indices[k];
            cmgi_matrix_put(A, k, k, csr->values[k]);
        }
    }
    S->indptr[csr->rows] = nnz;
    CMGI_TRY(cmgi_move_to_device(ctx, &S->indptr, csr->rows + 1, sizeof *S->indptr));
    return cmgi_move_to_device(ctx, &S->columns, nnz, sizeof *S->columns);
}

void cmgi_csr_destroy(cmg_matrix *A)
{
    cmgi_csr_storage *S = A->data;
    if (S != NULL) {
        cmgi_free_device(A->ctx, S->indptr);
        cmgi_free_device(A->ctx, S->columns);
        cmgi_csr_tiles_destroy(A->ctx, S->tiles);
        cmgi_free(A->ctx, S);
    }
}

cmg_status cmgi_csr_spmv_cpu(const cmg_matrix *A, const cmgi_writeback *w, const void *x)
{
    const cmgi_cpu_kernels *kernels = cmgi_cpu_kernels_best();
    const cmgi_csr_storage *S = A->data;
    const int parts = A->nnz > CMGI_PARALLEL_ENTRIES ? A->ctx->threads : 1;
#pragma omp parallel for num_threads(parts) schedule(static, 1) if (parts > 1)
    for (int p = 0; p < parts; ++p) {
        const cmg_size first =
            p == 0 ? 0 : cmgi_search_size(S->indptr, 0, A->rows, A->nnz * p / parts);
        const cmg_size last =
            p == parts - 1 ? A->rows
                           : cmgi_search_size(S->indptr, 0, A->rows, A->nnz * (p + 1) / parts);
        if (A->options.precision == CMG_FP64) {
            kernels->csr_f64(S, A->values, w, x, first, last);
        } else {
            kernels->csr_f32(S, A->values, w, x, first, last);
        }
    }
    return CMG_OK;
}
