/*
 * Diagonal products, a few rows a thread, and dense ones, one warp or block a row: what coarse
 * inverses and collapsed levels are applied with.
 */
#include "spmv/spmv.cuh"
#include "spmv/stored.cuh"

extern "C" {
#include "spmv/columns.h"
}

enum { EACH = 4 }; /* rows of a thread, whose values are read together */

template <typename T, cmgi_wb_kind KIND>
__global__ void __launch_bounds__(1024)
    diagonal_kernel(cmg_size rows, const T *__restrict__ d, const T *__restrict__ x,
                    const typename cmgi_wb_of<T>::type f)
{
    cmgi_after_previous();
    const cmg_size first = (cmg_size)blockIdx.x * blockDim.x * EACH + threadIdx.x;
    T s[EACH];
#pragma unroll
    for (int u = 0; u < EACH; ++u) {
        const cmg_size i = first + u * blockDim.x;
        s[u] = i < rows ? cmgi_load_once(d + i) * __ldg(x + i) : 0;
    }
#pragma unroll
    for (int u = 0; u < EACH; ++u) {
        const cmg_size i = first + u * blockDim.x;
        if (i < rows) {
            cmgi_put<KIND>(f, i, s[u]);
        }
    }
}

/* Block of THREADS threads a row; eight products in flight a thread. */
template <typename T, cmgi_wb_kind KIND, cmg_values VALUES, int THREADS>
__global__ void __launch_bounds__(THREADS)
    dense_kernel(cmg_size cols, const typename cmgi_stored<T, VALUES>::type *__restrict__ values,
                 const float *__restrict__ scale, const T *__restrict__ x,
                 const typename cmgi_wb_of<T>::type f)
{
    cmgi_after_previous();
    typedef cmgi_stored<T, VALUES> value;
    const cmg_size i = blockIdx.x;
    const typename value::type *row = values + i * cols;
    T s = 0;
    for (cmg_size j = threadIdx.x; j < cols; j += 8 * THREADS) {
        T a[8];
        T b[8];
#pragma unroll
        for (int u = 0; u < 8; ++u) {
            const cmg_size k = j + u * THREADS;
            a[u] = k < cols ? value::get(__ldg(row + k)) : T(0);
            b[u] = k < cols ? __ldg(x + k) : T(0);
        }
#pragma unroll
        for (int u = 0; u < 8; ++u) {
            s += a[u] * b[u];
        }
    }
    s = cmgi_block_sum<THREADS>(s);
    if (threadIdx.x == 0) {
        cmgi_put<KIND>(f, i, VALUES == CMG_VALUES_FULL ? s : s * (T)scale[i]);
    }
}

extern "C" cmg_status cmgi_diagonal_spmv_cuda(const cmg_matrix *A, const cmgi_writeback *w,
                                              const void *x)
{
    const int block = A->options.block;
    if (w->columns > 1) {
        return cmgi_diagonal_columns_cuda(A, w, x);
    }
    return cmgi_select(A, w, x, [&](auto zero, auto kind, const auto &f, const auto *of) {
        using T = decltype(zero);
        return CMGI_RUN_EARLY(A->ctx, cmgi_grid(A->rows, EACH * block), (unsigned)block, 0,
                              diagonal_kernel<T, kind>, A->rows, (const T *)A->values, of, f);
    });
}

extern "C" cmg_status cmgi_dense_spmv_cuda(const cmg_matrix *A, const cmgi_writeback *w,
                                           const void *x)
{
    if (w->columns > 1) {
        return cmgi_dense_columns_cuda(A, w, x);
    }
    return cmgi_select_values(A, A->options.values, w, [&](auto zero, auto kind, auto kept) {
        using T = decltype(zero);
        const auto *values = (const typename cmgi_stored<T, kept>::type *)A->values;
        const auto kernel = A->cols <= 256    ? dense_kernel<T, kind, kept, 32>
                            : A->cols <= 2048 ? dense_kernel<T, kind, kept, 128>
                                              : dense_kernel<T, kind, kept, 256>;
        const unsigned threads = A->cols <= 256 ? 32 : A->cols <= 2048 ? 128 : 256;
        return CMGI_RUN_EARLY(A->ctx, (unsigned)A->rows, threads, 0, kernel, A->cols, values,
                              (const float *)A->data, (const T *)x, cmgi_wb_of<T>::cast(w));
    });
}
