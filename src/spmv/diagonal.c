/* Diagonal matrices, one value a row, and dense ones, all values by rows: no indices are stored. */
#include "spmv/formats.h"

#include <string.h>

#define T double
#define SUFFIX f64
#include "spmv/simple_cpu.inc"
#define T float
#define SUFFIX f32
#include "spmv/simple_cpu.inc"

static size_t value_bytes(const cmg_matrix *A)
{
    return (size_t)A->stored * cmgi_precision_bytes(A->options.precision);
}

cmg_status cmgi_diagonal_build(cmg_matrix *A, const cmg_csr *csr)
{
    CMGI_CHECK(A->ctx, csr->rows == csr->cols, CMG_ERR_SHAPE,
               "diagonal format: the matrix is %lld x %lld", (long long)csr->rows,
               (long long)csr->cols);
    A->stored = csr->rows;
    CMGI_TRY(cmgi_matrix_alloc_values(A));
    for (cmg_size i = 0; i < csr->rows; ++i) {
        for (cmg_size k = csr->indptr[i]; k < csr->indptr[i + 1]; ++k) {
            CMGI_CHECK(A->ctx, csr->indices[k] == i, CMG_ERR_SHAPE,
                       "diagonal format: row %lld has an entry in column %lld", (long long)i,
                       (long long)csr->indices[k]);
            cmgi_matrix_put(A, k, i, csr->values[k]);
        }
    }
    A->bytes = value_bytes(A);
    return CMG_OK;
}

cmg_status cmgi_diagonal_spmv_cpu(const cmg_matrix *A, const cmgi_writeback *w, const void *x)
{
    if (A->options.precision == CMG_FP64) {
        diagonal_f64(A, w, x);
    } else {
        diagonal_f32(A, w, x);
    }
    return CMG_OK;
}

cmg_status cmgi_dense_build(cmg_matrix *A, const cmg_csr *csr)
{
    CMGI_CHECK(A->ctx, csr->cols == 0 || csr->rows <= INT64_MAX / 16 / csr->cols, CMG_ERR_MEMORY,
               "dense format: %lld x %lld values overflow", (long long)csr->rows,
               (long long)csr->cols);
    A->stored = csr->rows * csr->cols;
    CMGI_TRY(cmgi_matrix_alloc_values(A));
#pragma omp parallel for num_threads(A->ctx->threads)                                              \
    schedule(static) if (A->stored > CMGI_PARALLEL_ENTRIES)
    for (cmg_size i = 0; i < csr->rows; ++i) {
        for (cmg_size k = csr->indptr[i]; k < csr->indptr[i + 1]; ++k) {
            cmgi_matrix_put(A, k, i * csr->cols + csr->indices[k], csr->values[k]);
        }
    }
    A->bytes = value_bytes(A);
    return CMG_OK;
}

cmg_status cmgi_dense_spmv_cpu(const cmg_matrix *A, const cmgi_writeback *w, const void *x)
{
    if (A->options.precision == CMG_FP64) {
        dense_f64(A, w, x);
    } else {
        dense_f32(A, w, x);
    }
    return CMG_OK;
}
