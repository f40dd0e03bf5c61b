/*
 * Substitution by stages on the GPU. A wide stage is a kernel; a run of narrow ones is one block,
 * which waits for itself between them: a barrier costs it less than the launch of a kernel.
 */
#include "spmv/spmv.cuh"

extern "C" {
#include "spmv/sweep.h"
}

enum { THREADS = 256, BLOCK = 1024 };

/* What the kernels read; y is written by others of the same kernel, and so loaded as it stands. */
template <typename T>
struct sweep_of {
    const cmg_index *row;
    const cmg_size *ptr;
    const cmg_index *columns;
    const T *values;
    const T *x;
    T *y;
};

template <typename T>
__device__ __forceinline__ void substitute(const sweep_of<T> &S, cmg_size p)
{
    const cmg_index i = __ldg(S.row + p);
    const cmg_size begin = __ldg(S.ptr + p);
    const cmg_size end = __ldg(S.ptr + p + 1) - 1;
    const volatile T *y = S.y;
    T s = S.x[i];
    for (cmg_size k = begin; k < end; ++k) {
        s -= __ldg(S.values + k) * y[__ldg(S.columns + k)];
    }
    S.y[i] = s / __ldg(S.values + end);
}

template <typename T>
__global__ void __launch_bounds__(THREADS)
    wide_kernel(const sweep_of<T> S, cmg_size p, cmg_size last)
{
    p += (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    if (p < last) {
        substitute(S, p);
    }
}

template <typename T>
__global__ void __launch_bounds__(BLOCK)
    narrow_kernel(const sweep_of<T> S, const cmg_index *stage, int s, int end)
{
    for (; s < end; ++s) {
        const cmg_size p = stage[s] + threadIdx.x;
        if (p < stage[s + 1]) {
            substitute(S, p);
        }
        __syncthreads();
    }
}

template <typename T, cmgi_wb_kind KIND>
__global__ void __launch_bounds__(THREADS)
    put_kernel(cmg_size n, const T *__restrict__ y, const typename cmgi_wb_of<T>::type f)
{
    const cmg_size i = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    if (i < n) {
        cmgi_put<KIND>(f, i, y[i]);
    }
}

template <typename T>
static cmg_status run_stages(const cmg_matrix *A, const T *x)
{
    const cmgi_sweep *m = (const cmgi_sweep *)A->data;
    const sweep_of<T> S = {m->row, m->ptr, m->columns, (const T *)A->values, x, (T *)m->y};
    for (int s = 0; s < m->stages;) {
        int end = s;
        while (end < m->stages && m->stage[end + 1] - m->stage[end] <= BLOCK) {
            ++end;
        }
        if (end > s) {
            CMGI_TRY(CMGI_RUN(A->ctx, 1, BLOCK, 0, narrow_kernel<T>, S, m->stage_there, s, end));
            s = end;
        } else {
            const cmg_size rows = m->stage[s + 1] - m->stage[s];
            CMGI_TRY(CMGI_RUN(A->ctx, cmgi_grid(rows, THREADS), THREADS, 0, wide_kernel<T>, S,
                              m->stage[s], m->stage[s + 1]));
            ++s;
        }
    }
    return CMG_OK;
}

extern "C" cmg_status cmgi_sweep_spmv_cuda(const cmg_matrix *A, const cmgi_writeback *w,
                                           const void *x)
{
    return cmgi_select(A, w, x, [&](auto zero, auto kind, const auto &f, const auto *of) {
        using T = decltype(zero);
        CMGI_TRY(run_stages(A, of));
        return CMGI_RUN(A->ctx, cmgi_grid(A->rows, THREADS), THREADS, 0, put_kernel<T, kind>,
                        A->rows, (const T *)((const cmgi_sweep *)A->data)->y, f);
    });
}
