/* Memory of the values, and rows of the source; see build.h. */
#include "spmv/build.h"

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
