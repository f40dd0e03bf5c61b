/* CSR matrices on the device: allocation, copies, offsets of the rows. */
#include "smoothers/spai.cuh"

extern "C" {
#include "csr/resident.h"
}

cmg_status cmgi_device_csr_alloc(cmg_context *ctx, cmg_size rows, cmg_size nnz, cmgi_device_csr *A)
{
    cmgi_device_csr made = {};
    cmg_status status = CMG_OK;
    made.rows = rows;
    made.nnz = nnz;
    CMGI_TRY_GOTO(failed, cmgi_alloc_device(ctx, rows + 1, sizeof *made.indptr, &made.indptr));
    CMGI_TRY_GOTO(failed, cmgi_alloc_device(ctx, nnz, sizeof *made.indices, &made.indices));
    CMGI_TRY_GOTO(failed, cmgi_alloc_device(ctx, nnz, sizeof *made.values, &made.values));
    *A = made;
    return CMG_OK;
failed:
    cmgi_device_csr_free(ctx, &made);
    return status;
}

void cmgi_device_csr_free(cmg_context *ctx, cmgi_device_csr *A)
{
    cmgi_free_device(ctx, A->indptr);
    cmgi_free_device(ctx, A->indices);
    cmgi_free_device(ctx, A->values);
    *A = {};
}

cmg_status cmgi_device_csr_send(cmg_context *ctx, const cmg_csr *A, bool values, cmgi_device_csr *B)
{
    const cmg_size nnz = A->indptr[A->rows];
    cmgi_device_csr made = {};
    cmg_status status = CMG_OK;
    CMGI_TRY(cmgi_device_csr_alloc(ctx, A->rows, nnz, &made));
    CMGI_TRY_GOTO(failed, cmgi_to_device(ctx, made.indptr, A->indptr,
                                         (size_t)(A->rows + 1) * sizeof *made.indptr));
    CMGI_TRY_GOTO(
        failed, cmgi_to_device(ctx, made.indices, A->indices, (size_t)nnz * sizeof *made.indices));
    if (values) {
        CMGI_TRY_GOTO(
            failed, cmgi_to_device(ctx, made.values, A->values, (size_t)nnz * sizeof *made.values));
    }
    *B = made;
    return CMG_OK;
failed:
    cmgi_device_csr_free(ctx, &made);
    return status;
}

cmg_status cmgi_device_csr_fetch(cmg_context *ctx, const cmgi_device_csr *A, cmgi_csr *B)
{
    cmgi_csr made = {};
    cmg_status status = CMG_OK;
    CMGI_TRY(cmgi_csr_alloc(ctx, A->rows, A->rows, A->nnz, &made));
    CMGI_TRY_GOTO(failed, cmgi_to_host(ctx, made.indptr, A->indptr,
                                       (size_t)(A->rows + 1) * sizeof *made.indptr));
    CMGI_TRY_GOTO(
        failed, cmgi_to_host(ctx, made.indices, A->indices, (size_t)A->nnz * sizeof *made.indices));
    CMGI_TRY_GOTO(failed,
                  cmgi_to_host(ctx, made.values, A->values, (size_t)A->nnz * sizeof *made.values));
    *B = made;
    return CMG_OK;
failed:
    cmgi_csr_free(ctx, &made);
    return status;
}

cmg_status cmgi_device_csr_offsets(cmg_context *ctx, cmg_size rows, cmg_size *count, cmg_size *nnz)
{
    return cmgi_resident_kernels_of(ctx)->offsets(ctx, rows, count, nnz);
}
