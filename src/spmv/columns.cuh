/* Write-back of several columns on the device. */
#pragma once
#include "core/pack.cuh"
#include "spmv/spmv.cuh"

template <int W, typename T>
__device__ __forceinline__ pack<T, W> load_if(const T *p, cmg_size at)
{
    return p != NULL ? load<W>(p + at) : pack<T, W>{};
}

/* The functor of writeback.h on W columns of row i. */
template <cmgi_wb_kind KIND, int W, typename T, typename F>
__device__ __forceinline__ void put_columns(const F &f, cmg_size i, cmg_size at,
                                            const pack<T, W> &sum)
{
    constexpr bool momentum = KIND == CMGI_WB_MOMENTUM;
    constexpr bool scaled = KIND == CMGI_WB_JACOBI || KIND == CMGI_WB_FROM_ZERO || momentum;
    const bool reads_c =
        KIND == CMGI_WB_JACOBI || momentum || (KIND == CMGI_WB_AXPBY && f.beta != 0);
    const pack<T, W> b = load_if<W>(KIND == CMGI_WB_RESIDUAL || scaled ? f.b : NULL, at);
    const pack<T, W> c = load_if<W>(reads_c ? f.c : NULL, at);
    const pack<T, W> e = load_if<W>(momentum ? f.e : NULL, at);
    const T d = scaled && f.d != NULL ? __ldg(f.d + i) : T(0);
    pack<T, W> y;
#pragma unroll
    for (int w = 0; w < W; ++w) {
        F loaded = f;
        loaded.b = &b.v[w];
        loaded.c = &c.v[w];
        loaded.e = &e.v[w]; /* 0 where there is none */
        loaded.d = momentum && f.d == NULL ? NULL : &d;
        loaded.y = &y.v[w];
        cmgi_put<KIND>(loaded, 0, sum.v[w]);
    }
    store<W>(f.y + at, y);
}
