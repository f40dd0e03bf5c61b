/*
 * Diagonal products, one thread a row, and dense ones, one warp or block a row: what coarse
 * inverses and collapsed levels are applied with.
 */
#include "spmv/spmv.cuh"

template <typename T, cmgi_wb_kind KIND>
__global__ void __launch_bounds__(1024)
    diagonal_kernel(cmg_size rows, const T *__restrict__ d, const T *__restrict__ x,
                    const typename cmgi_wb_of<T>::type f)
{
    const cmg_size i = (cmg_size)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows) {
        cmgi_put<KIND>(f, i, cmgi_load_once(d + i) * __ldg(x + i));
    }
}

/* Block of THREADS threads a row; eight products in flight a thread. */
template <typename T, cmgi_wb_kind KIND, int THREADS>
__global__ void __launch_bounds__(THREADS)
    dense_kernel(cmg_size cols, const T *__restrict__ values, const T *__restrict__ x,
                 const typename cmgi_wb_of<T>::type f)
{
    const cmg_size i = blockIdx.x;
    const T *row = values + i * cols;
    T s = 0;
    for (cmg_size j = threadIdx.x; j < cols; j += 8 * THREADS) {
        T a[8];
        T b[8];
#pragma unroll
        for (int u = 0; u < 8; ++u) {
            const cmg_size k = j + u * THREADS;
            a[u] = k < cols ? __ldg(row + k) : T(0);
            b[u] = k < cols ? __ldg(x + k) : T(0);
        }
#pragma unroll
        for (int u = 0; u < 8; ++u) {
            s += a[u] * b[u];
        }
    }
    s = cmgi_block_sum<THREADS>(s);
    if (threadIdx.x == 0) {
        cmgi_put<KIND>(f, i, s);
    }
}

template <typename T, cmgi_wb_kind KIND>
struct launch_diagonal {
    static cmg_status run(const cmg_matrix *A, const typename cmgi_wb_of<T>::type &f, const T *x)
    {
        const int block = A->options.block;
        diagonal_kernel<T, KIND><<<cmgi_grid(A->rows, block), block, 0, cmgi_stream(A->ctx)>>>(
            A->rows, (const T *)A->values, x, f);
        return CMGI_LAUNCHED(A->ctx);
    }
};

template <typename T, cmgi_wb_kind KIND>
struct launch_dense {
    static cmg_status run(const cmg_matrix *A, const typename cmgi_wb_of<T>::type &f, const T *x)
    {
        const T *values = (const T *)A->values;
        const cudaStream_t stream = cmgi_stream(A->ctx);
        const unsigned rows = (unsigned)A->rows;
        if (A->cols <= 256) {
            dense_kernel<T, KIND, 32><<<rows, 32, 0, stream>>>(A->cols, values, x, f);
        } else if (A->cols <= 2048) {
            dense_kernel<T, KIND, 128><<<rows, 128, 0, stream>>>(A->cols, values, x, f);
        } else {
            dense_kernel<T, KIND, 256><<<rows, 256, 0, stream>>>(A->cols, values, x, f);
        }
        return CMGI_LAUNCHED(A->ctx);
    }
};

extern "C" cmg_status cmgi_diagonal_spmv_cuda(const cmg_matrix *A, const cmgi_writeback *w,
                                              const void *x)
{
    return cmgi_select<launch_diagonal>(A, w, x);
}

extern "C" cmg_status cmgi_dense_spmv_cuda(const cmg_matrix *A, const cmgi_writeback *w,
                                           const void *x)
{
    return cmgi_select<launch_dense>(A, w, x);
}
