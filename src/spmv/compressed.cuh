/* What the kernels of template slices (templates.cu) and of packed ones (packed_rows.cuh,
 * compressed_blocks.cu) share. */
#pragma once
#include "spmv/spmv.cuh"

extern "C" {
#include "spmv/compressed.h"
}

template <typename T>
struct compressed_args {
    cmgi_compressed C;
    const void *values;
    const T *x;
    typename cmgi_wb_of<T>::type f;
};

template <typename T>
static compressed_args<T> arguments(const cmg_matrix *A, const typename cmgi_wb_of<T>::type &f,
                                    const T *x)
{
    return compressed_args<T>{*(const cmgi_compressed *)A->data, A->values, x, f};
}

/* A value and its offset, as cmgi_compressed.t.pair has them. */
template <typename T>
struct alignas(2 * sizeof(T)) template_entry {
    T value;
    int offset;
};

/*
 * The rows of lanes l and l + 32 of packed slice p, each with `each` neighbouring entries of x:
 * block rows have several, and so have vectors of several columns. Lanes without a row work on the
 * last row's columns with values that are 0.
 */
template <typename T>
struct packed_lane {
    cmg_size slice;
    cmg_size i0;
    cmg_size i1;
    cmg_size r0; /* the last row where there is no i0 */
    cmg_size r1;
    const T *x0; /* what offset 0 means */
    const T *x1;
    cmg_size step; /* slice columns before those of this slice */
    int width;
    __device__ __forceinline__ packed_lane(const compressed_args<T> &a, cmg_size p, int lane,
                                           int each)
        : slice(a.C.p.slice != NULL ? a.C.p.slice[p] : p), i0(slice * CMGI_SLICE + lane),
          i1(i0 + 32), r0(i0 < a.C.rows ? i0 : a.C.rows - 1), r1(i1 < a.C.rows ? i1 : a.C.rows - 1),
          x0(a.x + (a.C.ref != NULL ? a.C.ref[r0] : r0) * each),
          x1(a.x + (a.C.ref != NULL ? a.C.ref[r1] : r1) * each), step(a.C.p.step[p]),
          width((int)(a.C.p.step[p + 1] - step))
    {
    }
};

/* x . y of a slice, from the sums of a warp's rows; the other lanes give 0. */
template <typename T, cmgi_wb_kind KIND>
__device__ __forceinline__ void put_dot(const compressed_args<T> &a, cmg_size slice, cmg_size i0,
                                        cmg_size i1, T s0, T s1)
{
    if (cmgi_leaves_dots<T, KIND>(a.f)) {
        double dot = i0 < a.C.rows ? (double)s0 * (double)__ldg(a.x + i0) : 0;
        dot += i1 < a.C.rows ? (double)s1 * (double)__ldg(a.x + i1) : 0;
        dot = cmgi_warp_sum(dot);
        if (threadIdx.x % 32 == 0) {
            a.f.dots[slice] = dot;
        }
    }
}
