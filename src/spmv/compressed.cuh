/* What the kernels of template slices (templates.cu) and of packed ones (compressed.cu) share. */
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
