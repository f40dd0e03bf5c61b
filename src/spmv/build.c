/* Memory of the values, and rows of the source; see build.h. */
#include "spmv/build.h"

#include <string.h>

static cmg_status alloc_values(cmg_matrix *A, const cmgi_matrix_source *from, bool cleared)
{
    cmg_context *ctx = A->ctx;
    const size_t bytes = cmgi_precision_bytes(A->options.precision);
    if (from->device != NULL || from->dense_there) {
        CMGI_TRY(cmgi_alloc_device(ctx, A->stored, bytes, &A->values));
        return A->options.keep_map
                   ? cmgi_alloc_device(ctx, A->nnz, sizeof *A->value_map, &A->value_map)
                   : CMG_OK;
    }
    CMGI_TRY((cleared ? cmgi_alloc_zero : cmgi_alloc)(ctx, A->stored, bytes, &A->values));
    return A->options.keep_map ? cmgi_alloc(ctx, A->nnz, sizeof *A->value_map, &A->value_map)
                               : CMG_OK;
}

cmg_status cmgi_matrix_alloc_values(cmg_matrix *A, const cmgi_matrix_source *from)
{
    return alloc_values(A, from, true);
}

cmg_status cmgi_matrix_alloc_all_values(cmg_matrix *A, const cmgi_matrix_source *from)
{
    return alloc_values(A, from, false);
}

cmg_status cmgi_matrix_check_values(const cmg_matrix *A)
{
    if (A->options.values == CMG_VALUES_FULL) {
        return CMG_OK;
    }
    CMGI_CHECK(A->ctx, A->options.precision == CMG_FP32, CMG_ERR_UNSUPPORTED,
               "values in 16 or 8 bits are for matrices in fp32");
    CMGI_CHECK(A->ctx, !A->options.keep_map, CMG_ERR_UNSUPPORTED,
               "values in 16 or 8 bits cannot be updated one by one: keep_map needs full values");
    return CMG_OK;
}

cmg_status cmgi_rows_on_host(cmg_context *ctx, const cmg_csr *A, const cmgi_resident *R,
                             const cmg_index *row, cmg_size count, cmgi_csr *rows)
{
    if (R != NULL) {
        return cmgi_resident_kernels_of(ctx)->gather(ctx, R, row, count, rows);
    }
    CMGI_TRY(cmgi_csr_alloc_rows(ctx, count, A->cols, rows));
    for (cmg_size k = 0; k < count; ++k) {
        rows->indptr[k + 1] = A->indptr[row[k] + 1] - A->indptr[row[k]];
    }
    CMGI_TRY(cmgi_csr_alloc_entries(ctx, rows));
    for (cmg_size k = 0; k < count; ++k) {
        const cmg_size first = A->indptr[row[k]];
        const cmg_size at = rows->indptr[k];
        const size_t length = (size_t)(rows->indptr[k + 1] - at);
        memcpy(rows->indices + at, A->indices + first, length * sizeof *A->indices);
        memcpy(rows->values + at, A->values + first, length * sizeof *A->values);
    }
    return CMG_OK;
}
