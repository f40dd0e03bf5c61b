/* A square CSR on the device as a dense array there; see dense.h. */
#include "core/inverse.cuh"

extern "C" {
#include "csr/dense.h"
}

enum { THREADS = 256 };

/* Raises *most, the bits of a number that is not negative, to that of any thread. */
static __device__ __forceinline__ void raise(double size, unsigned long long *most)
{
    for (int d = CMGI_WARP / 2; d > 0; d /= 2) {
        size = fmax(size, __shfl_xor_sync(CMGI_ALL, size, d));
    }
    if (threadIdx.x % CMGI_WARP == 0 && size > 0) {
        atomicMax(most, (unsigned long long)__double_as_longlong(size));
    }
}

/* A warp a row; X is 0. */
__global__ void expand_kernel(const cmg_csr A, double *X, unsigned long long *largest)
{
    const cmg_size i = ((cmg_size)blockIdx.x * THREADS + threadIdx.x) / CMGI_WARP;
    const cmg_size end = i < A.rows ? A.indptr[i + 1] : 0;
    double size = 0;
    for (cmg_size k = i < A.rows ? A.indptr[i] + threadIdx.x % CMGI_WARP : 0; k < end;
         k += CMGI_WARP) {
        X[i * A.cols + A.indices[k]] = A.values[k];
        size = fmax(size, fabs(A.values[k]));
    }
    raise(size, largest);
}

/* The largest |x_ij - x_ji|. */
__global__ void difference_kernel(cmg_size n, const double *X, unsigned long long *largest)
{
    const cmg_size k = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    const cmg_size i = k / n;
    const cmg_size j = k % n;
    raise(i < n && j < i ? fabs(X[i * n + j] - X[j * n + i]) : 0, largest);
}

static cmg_status expand(cmg_context *ctx, const cmg_csr *A, double *X, cmgi_dense_look *look)
{
    CMGI_ON_DEVICE(ctx);
    const cudaStream_t stream = cmgi_stream(ctx);
    const cmg_size n = A->rows;
    double host[2] = {0, 0};
    unsigned long long *found = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, 2, sizeof *found, &found));
    CMGI_TRY_GOTO(done, cmgi_cuda_clear(ctx, found, 2 * sizeof *found));
    CMGI_TRY_GOTO(done, cmgi_cuda_clear(ctx, X, (size_t)(n * n) * sizeof *X));
    if (n > 0) {
        expand_kernel<<<cmgi_grid(n * CMGI_WARP, THREADS), THREADS, 0, stream>>>(*A, X, found);
        CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
        difference_kernel<<<cmgi_grid(n * n, THREADS), THREADS, 0, stream>>>(n, X, found + 1);
        CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
    }
    CMGI_TRY_GOTO(done, cmgi_to_host(ctx, host, found, sizeof host));
    *look = cmgi_dense_look{host[0], host[1]};
done:
    cmgi_free_device(ctx, found);
    return status;
}

extern "C" const cmgi_dense_kernels cmgi_dense_cuda = {expand, cmgi_cuda_invert_there};
