/*
 * CSR products: V = 1, 2, 4, ... 32 neighbouring lanes share a row, as asked or chosen from the
 * mean row length, so that short rows leave few lanes idle and long ones are read in long runs.
 * Uneven rows go by tiles (csr_tiles.cu) unless a number of lanes is asked for.
 *
 * Source  Bell and Garland 2009 (scalar and vector kernels).
 */
#include "spmv/spmv.cuh"

extern "C" {
#include "spmv/columns.h"
#include "spmv/csr.h"
}

enum { UNROLL = 4 };

template <typename T, cmgi_wb_kind KIND, int V>
__global__ void __launch_bounds__(1024)
    csr_kernel(cmg_size rows, const cmg_size *__restrict__ indptr,
               const cmg_index *__restrict__ columns, const T *__restrict__ values,
               const T *__restrict__ x, const typename cmgi_wb_of<T>::type f)
{
    cmgi_after_previous();
    const cmg_size row = ((cmg_size)blockIdx.x * blockDim.x + threadIdx.x) / V;
    const int lane = threadIdx.x % V;
    const cmgi_target<T> to = cmgi_aim<KIND, T>(f, NULL, row, row < rows && lane == 0);
    T s = 0;
    if (row < rows) {
        const cmg_size begin = indptr[row] + lane;
        const int left = (int)(indptr[row + 1] - begin); /* at most 2^31 - 1 columns */
        const int steps = left > 0 ? (left + V - 1) / V : 0;
        s = cmgi_lane_sum<UNROLL>(values + begin, columns + begin, steps, (cmg_size)V, x);
    }
    cmgi_hit<KIND>(f, to, cmgi_group_sum(s, V, V));
}

template <typename T, cmgi_wb_kind KIND>
struct launch_csr {
    template <int V>
    static cmg_status with(const cmg_matrix *A, const typename cmgi_wb_of<T>::type &f, const T *x)
    {
        const cmgi_csr_storage *S = (const cmgi_csr_storage *)A->data;
        const int block = A->options.block;
        cmgi_launch(cmgi_device_of(A->ctx), cmgi_grid(A->rows * V, block), (unsigned)block, 0,
                    csr_kernel<T, KIND, V>, A->rows, S->indptr, S->columns, (const T *)A->values, x,
                    f);
        return CMGI_LAUNCHED(A->ctx);
    }

    static cmg_status run(const cmg_matrix *A, const typename cmgi_wb_of<T>::type &f, const T *x)
    {
        switch (A->options.t != 0 ? A->options.t : cmgi_csr_lanes(A->rows, A->nnz)) {
        case 1:
            return with<1>(A, f, x);
        case 2:
            return with<2>(A, f, x);
        case 4:
            return with<4>(A, f, x);
        case 8:
            return with<8>(A, f, x);
        case 16:
            return with<16>(A, f, x);
        default:
            return with<32>(A, f, x);
        }
    }
};

extern "C" cmg_status cmgi_csr_spmv_cuda(const cmg_matrix *A, const cmgi_writeback *w,
                                         const void *x)
{
    const cmgi_csr_storage *S = (const cmgi_csr_storage *)A->data;
    if (w->columns > 1) {
        return cmgi_csr_columns_cuda(A, w, x);
    }
    return S->tiles != NULL ? cmgi_csr_tiles_spmv_cuda(A, w, x) : cmgi_select<launch_csr>(A, w, x);
}
