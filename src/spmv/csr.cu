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

extern "C" cmg_status cmgi_csr_spmv_cuda(const cmg_matrix *A, const cmgi_writeback *w,
                                         const void *x)
{
    const cmgi_csr_storage *S = (const cmgi_csr_storage *)A->data;
    const int lanes = A->options.t != 0 ? A->options.t : cmgi_csr_lanes(A->rows, A->nnz);
    const int block = A->options.block;
    if (w->columns > 1) {
        return cmgi_csr_columns_cuda(A, w, x);
    }
    if (S->tiles != NULL) {
        return cmgi_csr_tiles_spmv_cuda(A, w, x);
    }
    return cmgi_select(A, w, x, [&](auto zero, auto kind, const auto &f, const auto *of) {
        using T = decltype(zero);
        const auto kernel = lanes == 1    ? csr_kernel<T, kind, 1>
                            : lanes == 2  ? csr_kernel<T, kind, 2>
                            : lanes == 4  ? csr_kernel<T, kind, 4>
                            : lanes == 8  ? csr_kernel<T, kind, 8>
                            : lanes == 16 ? csr_kernel<T, kind, 16>
                                          : csr_kernel<T, kind, 32>;
        return CMGI_RUN_EARLY(A->ctx, cmgi_grid(A->rows * lanes, block), (unsigned)block, 0, kernel,
                              A->rows, S->indptr, S->columns, (const T *)A->values, of, f);
    });
}
