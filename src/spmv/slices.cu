/*
 * Products with the slice layouts of slices.h: one thread a lane, so that a warp reads 32
 * neighbouring values and columns in every step; the t lanes of a row are summed by shuffles in a
 * fixed order.
 *
 *   warp     SELL, K1 with 32 lanes a slice, a warp each
 *   packed   SELL, K1, K2 with 4 .. 32 lanes a slice; a warp holds 32 / lanes slices
 *   wide     64 lanes a slice: every thread takes lanes l and l + 32
 *   table    ELLPACK, ELLPACK-R, ELLPACK-T: one padded table
 *   block    blocks of 2 x 2 or 3 x 3: a thread makes the rows of a block row
 *
 * Sources: Bell and Garland 2009; Vazquez, Fernandez and Garzon 2011; Wong, Kuhl and Darve 2015.
 */
#include "spmv/spmv.cuh"

extern "C" {
#include "spmv/columns.h"
}

/* Entries in flight a lane: with 1024 lanes a multiprocessor about 100 kB, over what its latency
 * needs. */
enum { UNROLL = 8, TABLE_UNROLL = 6 };

template <typename T>
struct slice_args {
    cmgi_slices S;
    const T *values;
    const T *x;
    typename cmgi_wb_of<T>::type f;
    int log_lanes;
};

/* The first of the t lanes of a row writes it, when the row is before `end`. */
template <cmgi_wb_kind KIND, typename T>
__device__ __forceinline__ cmgi_target<T> aim(const slice_args<T> &a, int shift, cmg_size row,
                                              cmg_size end)
{
    const bool mine = row < end && (threadIdx.x & ((1 << shift) - 1)) == 0;
    return cmgi_aim<KIND, T>(a.f, a.S.rowmap, row, mine);
}

/* Writes the sum of a row, and where they are wanted what all rows of the block add to x . y. */
template <cmgi_wb_kind KIND, typename T>
__device__ __forceinline__ void leave(const slice_args<T> &a, const cmgi_target<T> &to, T sum)
{
    cmgi_hit<KIND>(a.f, to, sum);
    if (cmgi_leaves_dots<T, KIND>(a.f)) {
        __shared__ double part[32];
        double dot = to.mine ? (double)sum * (double)__ldg(a.x + to.i) : 0;
        dot = cmgi_warp_sum(dot);
        if (threadIdx.x % 32 == 0) {
            part[threadIdx.x / 32] = dot;
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            for (unsigned w = 1; w < blockDim.x / 32; ++w) {
                dot += part[w];
            }
            a.f.dots[blockIdx.x] = dot;
        }
    }
}

/* 32 lanes a slice, one lane a row. */
template <typename T, cmgi_wb_kind KIND>
__global__ void __launch_bounds__(1024) warp_kernel(const slice_args<T> a)
{
    cmgi_after_previous();
    const cmg_size row = (cmg_size)blockIdx.x * blockDim.x + threadIdx.x;
    const cmg_size s = row >> 5;
    const bool inside = s < a.S.nslices; /* the same for the whole warp */
    const cmg_size start = (inside ? a.S.start[s] : 0) + threadIdx.x % 32;
    const int width = inside ? a.S.width[s] : 0;
    const cmgi_target<T> to = aim<KIND>(a, 0, row, a.S.rows);
    leave<KIND>(
        a, to,
        cmgi_lane_sum<UNROLL>(a.values + start, a.S.columns + start, width, (cmg_size)32, a.x));
}

/* Any number of lanes up to 32, lanes a row by slice. */
template <typename T, cmgi_wb_kind KIND>
__global__ void __launch_bounds__(1024) packed_kernel(const slice_args<T> a)
{
    cmgi_after_previous();
    const cmg_size g = (cmg_size)blockIdx.x * blockDim.x + threadIdx.x;
    const int lanes = 1 << a.log_lanes;
    const cmg_size s = g >> a.log_lanes;
    const int lane = (int)(g & (lanes - 1));
    const bool inside = s < a.S.nslices;
    const cmg_size start = (inside ? a.S.start[s] : 0) + lane;
    const int width = inside ? a.S.width[s] : 0;
    const int shift = inside && a.S.shift != NULL ? a.S.shift[s] : a.S.uniform_shift;
    const int most = a.S.shift != NULL ? lanes : 1 << a.S.uniform_shift;
    const cmg_size row = inside ? a.S.first_row[s] + (lane >> shift) : 0;
    const cmgi_target<T> to = aim<KIND>(a, shift, row, inside ? a.S.first_row[s + 1] : 0);
    const T sum =
        cmgi_lane_sum<UNROLL>(a.values + start, a.S.columns + start, width, (cmg_size)lanes, a.x);
    leave<KIND>(a, to, cmgi_group_sum(sum, 1 << shift, most));
}

/* One warp a slice of 64 lanes. */
template <typename T, cmgi_wb_kind KIND>
__global__ void __launch_bounds__(1024) wide_kernel(const slice_args<T> a)
{
    cmgi_after_previous();
    const cmg_size s = ((cmg_size)blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const int lane = threadIdx.x % 32;
    if (s >= a.S.nslices) { /* the same for the whole warp */
        return;
    }
    const cmg_size start = a.S.start[s] + lane;
    const int width = a.S.width[s];
    const int shift = a.S.shift != NULL ? a.S.shift[s] : a.S.uniform_shift;
    const cmg_size first = a.S.first_row[s];
    const cmg_size end = a.S.first_row[s + 1];
    const bool whole = shift == 6; /* one row on all 64 lanes */
    const int t = whole ? 32 : 1 << shift;
    const cmgi_target<T> to = aim<KIND>(a, whole ? 5 : shift, first + (lane >> shift), end);
    const cmgi_target<T> to_high =
        aim<KIND>(a, whole ? 5 : shift, first + ((lane + 32) >> shift), whole ? 0 : end);
    const T low =
        cmgi_lane_sum<UNROLL>(a.values + start, a.S.columns + start, width, (cmg_size)64, a.x);
    const T high = cmgi_lane_sum<UNROLL>(a.values + start + 32, a.S.columns + start + 32, width,
                                         (cmg_size)64, a.x);
    cmgi_hit<KIND>(a.f, to, cmgi_group_sum(whole ? low + high : low, t, t));
    cmgi_hit<KIND>(a.f, to_high, cmgi_group_sum(high, t, t));
}

/* Every step is `stride` entries from the next, and all lanes count through from 0. */
template <typename T, cmgi_wb_kind KIND>
__global__ void __launch_bounds__(1024) table_kernel(const slice_args<T> a)
{
    cmgi_after_previous();
    const cmg_size g = (cmg_size)blockIdx.x * blockDim.x + threadIdx.x;
    const int shift = a.S.uniform_shift;
    const cmg_size row = g >> shift;
    int width = 0;
    if (row < a.S.rows) {
        width = a.S.row_length != NULL ? a.S.row_length[row] : a.S.width[0];
    }
    const cmgi_target<T> to = aim<KIND>(a, shift, row, a.S.rows);
    const T sum =
        cmgi_lane_sum<TABLE_UNROLL>(a.values + g, a.S.columns + g, width, a.S.stride, a.x);
    leave<KIND>(a, to, cmgi_group_sum(sum, 1 << shift, 1 << shift));
}

/* Block rows of B rows; NUMBERS: a block is one number times the identity. */
template <typename T, cmgi_wb_kind KIND, int B, bool NUMBERS>
__global__ void __launch_bounds__(1024) block_kernel(const slice_args<T> a)
{
    cmgi_after_previous();
    const cmg_size g = (cmg_size)blockIdx.x * blockDim.x + threadIdx.x;
    const int lanes = a.S.lanes;
    const cmg_size s = g >> a.log_lanes;
    const int lane = (int)(g & (lanes - 1));
    if (s >= a.S.nslices || a.S.first_row[s] + lane >= a.S.first_row[s + 1]) {
        return;
    }
    const cmg_size r = a.S.first_row[s] + lane;
    const int width = a.S.width[s];
    cmg_size at = a.S.start[s];
    T sum[B] = {};
#pragma unroll 2
    for (int k = 0; k < width; ++k, at += a.S.stride) {
        const cmg_size column = (cmg_size)cmgi_load_once(a.S.columns + at + lane) * B;
        const T *v = a.values + (NUMBERS ? at : at * B * B) + lane;
        const T number = NUMBERS ? cmgi_load_once(v) : T(0);
#pragma unroll
        for (int j = 0; j < B; ++j) {
            const T xj = __ldg(a.x + column + j);
#pragma unroll
            for (int i = NUMBERS ? j : 0; i < (NUMBERS ? j + 1 : B); ++i) {
                sum[i] += (NUMBERS ? number : cmgi_load_once(v + (i * B + j) * lanes)) * xj;
            }
        }
    }
    const cmg_size row = (a.S.rowmap != NULL ? __ldg(a.S.rowmap + r) : r) * B;
#pragma unroll
    for (int i = 0; i < B; ++i) {
        cmgi_put<KIND>(a.f, row + i, sum[i]);
    }
}

extern "C" cmg_status cmgi_slices_spmv_cuda(const cmg_matrix *A, const cmgi_writeback *w,
                                            const void *x)
{
    const cmgi_slices *S = (const cmgi_slices *)A->data;
    const int block = A->options.block;
    const bool wide = !S->table && S->lanes == 64 && S->block == 1; /* two lanes a thread */
    if (w->columns > 1) {
        return cmgi_slices_columns_cuda(A, w, x);
    }
    return cmgi_select(A, w, x, [&](auto zero, auto kind, const auto &f, const auto *of) {
        using T = decltype(zero);
        slice_args<T> a = {*S, (const T *)A->values, of, f, 0};
        while (1 << a.log_lanes < S->lanes) {
            ++a.log_lanes;
        }
        const auto blocks3 =
            S->identity ? block_kernel<T, kind, 3, true> : block_kernel<T, kind, 3, false>;
        const auto blocks2 =
            S->identity ? block_kernel<T, kind, 2, true> : block_kernel<T, kind, 2, false>;
        const auto kernel = S->block == 3                        ? blocks3
                            : S->block == 2                      ? blocks2
                            : S->table                           ? table_kernel<T, kind>
                            : wide                               ? wide_kernel<T, kind>
                            : S->lanes == 32 && S->shift == NULL ? warp_kernel<T, kind>
                                                                 : packed_kernel<T, kind>;
        const cmg_size threads = S->nslices * (wide ? 32 : S->lanes);
        return CMGI_RUN_EARLY(A->ctx, cmgi_grid(threads, block), (unsigned)block, 0, kernel, a);
    });
}
