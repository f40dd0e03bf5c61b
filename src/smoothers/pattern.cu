/* Patterns on the device: the kernels of pattern.inc, and a hash. */
#include "core/each.h"

extern "C" {
#include "smoothers/pattern.h"
}
#include "smoothers/pattern.inc"

/* Sums of whole numbers do not depend on their order. */
__global__ void hash_kernel(const cmg_csr A, unsigned long long *hash)
{
    const cmg_size i = CMGI_EACH_THREAD / CMGI_LANES;
    const cmg_size end = i < A.rows ? A.indptr[i + 1] : 0;
    unsigned long long sum = 0;
    for (cmg_size k = (i < A.rows ? A.indptr[i] : 0) + cmgi_lane(); k < end; k += CMGI_LANES) {
        sum += cmgi_pattern_term(i, A.indices[k], k);
    }
    __shared__ unsigned long long all;
    if (threadIdx.x == 0) {
        all = 0;
    }
    __syncthreads();
    sum = cmgi_warp_sum(sum);
    if (threadIdx.x % CMGI_WARP == 0) {
        atomicAdd(&all, sum);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(hash, all);
    }
}

extern "C" cmg_status cmgi_pattern_hash_cuda(cmg_context *ctx, const cmg_csr *A, uint64_t *hash)
{
    CMGI_ON_DEVICE(ctx);
    unsigned long long *sum = NULL;
    cmgi_scratch scratch(ctx);
    CMGI_TRY(scratch.take_zero(1, &sum));
    hash_kernel<<<CMGI_EACH_GRID(A->rows * CMGI_LANES)>>>(*A, sum);
    CMGI_TRY(CMGI_LAUNCHED(ctx));
    return cmgi_to_host(ctx, hash, sum, sizeof *hash);
}
