/* CSR matrices on the device: allocation, copies, offsets of the rows, a hash of the pattern. */
#include "smoothers/pattern.cuh"

extern "C" {
#include "core/hash.h"
#include "smoothers/pattern.h"
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

cmgi_device_csr cmgi_device_csr_view(const cmg_csr *A, cmg_size nnz)
{
    cmgi_device_csr view = {};
    view.rows = A->rows;
    view.nnz = nnz;
    view.indptr = (cmg_size *)A->indptr;
    view.indices = (cmg_index *)A->indices;
    view.values = (double *)A->values;
    return view;
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

cmg_status cmgi_device_csr_offsets(cmg_context *ctx, cmg_size rows, cmg_size *count, cmg_size *nnz)
{
    return cmgi_resident_kernels_of(ctx)->offsets(ctx, rows, count, nnz);
}

cmg_status cmgi_device_csr_hand_over(cmg_context *ctx, cmgi_device_csr *S, cmgi_resident *M)
{
    cmgi_resident R = {};
    R.csr = {S->rows, S->rows, S->indptr, S->indices, S->values};
    R.facts.beside = S->rows; /* all of it is looked at where that may be wrong */
    *S = {};
    cmg_status status = cmgi_resident_kernels_of(ctx)->rows(ctx, &R.csr, &R);
    if (status == CMG_OK && R.rows.longest <= 1) {
        status = cmgi_resident_look_again(ctx, &R);
    }
    if (status != CMG_OK) {
        cmgi_resident_free(ctx, &R);
        return status;
    }
    *M = R;
    return CMG_OK;
}

/* Sums of whole numbers do not depend on their order. */
__global__ void hash_kernel(const cmgi_device_csr A, unsigned long long *hash)
{
    cmg_size k = 0;
    const cmg_size i = shared_row(A, &k);
    unsigned long long sum = 0;
    for (; i < A.rows && k < A.indptr[i + 1]; k += LANES) {
        sum += cmgi_hash_mix(cmgi_hash_mix((uint64_t)i, (uint64_t)A.indices[k]), (uint64_t)k);
    }
    __shared__ unsigned long long all;
    if (threadIdx.x == 0) {
        all = 0;
    }
    __syncthreads();
    sum = cmgi_warp_sum(sum);
    if (threadIdx.x % 32 == 0) {
        atomicAdd(&all, sum);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(hash, all);
    }
}

extern "C" cmg_status cmgi_pattern_hash_cuda(cmg_context *ctx, const cmg_csr *A, cmg_size nnz,
                                             uint64_t *hash)
{
    CMGI_ON_DEVICE(ctx);
    const cmgi_device_csr view = cmgi_device_csr_view(A, nnz);
    unsigned long long *sum = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY(cmgi_alloc_device(ctx, 1, sizeof *sum, &sum));
    CMGI_TRY_GOTO(done, cmgi_cuda_clear(ctx, sum, sizeof *sum));
    hash_kernel<<<ROWS(A->rows * LANES)>>>(view, sum);
    CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
    CMGI_TRY_GOTO(done, cmgi_to_host(ctx, hash, sum, sizeof *hash));
done:
    cmgi_free_device(ctx, sum);
    return status;
}
