/* CSR matrices on the device: allocation, copies, offsets of the rows. */
#include "smoothers/spai.cuh"

enum { THREADS = 256, WARP = 32, EACH = 8, CHUNK = THREADS * EACH };

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

/* ------------------------------------------------------------------ offsets */

/* part[c] = sum of the chunk c of the counts */
__global__ void sum_kernel(cmg_size n, const cmg_size *count, cmg_size *part)
{
    const cmg_size first = (cmg_size)blockIdx.x * CHUNK + threadIdx.x;
    cmg_size sum = 0;
    for (int e = 0; e < EACH; ++e) {
        sum += first + e * THREADS < n ? count[first + e * THREADS] : 0;
    }
    sum = cmgi_block_sum<THREADS>(sum);
    if (threadIdx.x == 0) {
        part[blockIdx.x] = sum;
    }
}

/* Each count becomes the sum of those before it, where part[c] has that for chunk c. */
__global__ void offset_kernel(cmg_size n, const cmg_size *part, cmg_size *count)
{
    __shared__ cmg_size of_warp[THREADS / WARP];
    const int lane = (int)threadIdx.x % WARP;
    const int warp = (int)threadIdx.x / WARP;
    const cmg_size first = (cmg_size)blockIdx.x * CHUNK + threadIdx.x * EACH;
    cmg_size own[EACH];
    cmg_size sum = 0;
    for (int e = 0; e < EACH; ++e) {
        own[e] = first + e < n ? count[first + e] : 0;
        sum += own[e];
    }
    cmg_size upto = sum;
    for (int d = 1; d < WARP; d *= 2) {
        const cmg_size below = __shfl_up_sync(~0U, upto, d);
        upto += lane >= d ? below : 0;
    }
    if (lane == WARP - 1) {
        of_warp[warp] = upto;
    }
    __syncthreads();
    cmg_size at = part[blockIdx.x] + upto - sum;
    for (int w = 0; w < warp; ++w) {
        at += of_warp[w];
    }
    for (int e = 0; e < EACH && first + e < n; ++e) {
        count[first + e] = at;
        at += own[e];
    }
}

static cmg_status add_up(cmg_context *ctx, cmg_size rows, cmg_size *count, cmg_size *part,
                         cmg_size *host, cmg_size *nnz)
{
    const unsigned chunks = cmgi_grid(rows, CHUNK);
    const cudaStream_t stream = cmgi_stream(ctx);
    cmg_size sum = 0;
    sum_kernel<<<chunks, THREADS, 0, stream>>>(rows, count, part);
    CMGI_TRY(CMGI_LAUNCHED(ctx));
    CMGI_TRY(cmgi_to_host(ctx, host, part, chunks * sizeof *host));
    for (unsigned c = 0; c < chunks; ++c) {
        const cmg_size here = host[c];
        host[c] = sum;
        sum += here;
    }
    CMGI_TRY(cmgi_to_device(ctx, part, host, chunks * sizeof *host));
    offset_kernel<<<chunks, THREADS, 0, stream>>>(rows, part, count);
    CMGI_TRY(CMGI_LAUNCHED(ctx));
    *nnz = sum;
    return cmgi_to_device(ctx, count + rows, nnz, sizeof *nnz);
}

cmg_status cmgi_device_csr_offsets(cmg_context *ctx, cmg_size rows, cmg_size *count, cmg_size *nnz)
{
    const cmg_size chunks = cmgi_grid(rows, CHUNK);
    cmg_size *part = NULL;
    cmg_size *host = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, chunks, sizeof *part, &part));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, chunks, sizeof *host, &host));
    CMGI_TRY_GOTO(done, add_up(ctx, rows, count, part, host, nnz));
done:
    cmgi_free_device(ctx, part);
    cmgi_free(ctx, host);
    return status;
}
