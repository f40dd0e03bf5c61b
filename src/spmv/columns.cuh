/* Write-back of several columns on the device. */
#pragma once
#include "spmv/spmv.cuh"

/* The functor of writeback.h on W columns of row i. */
template <cmgi_wb_kind KIND, int W, typename T, typename F>
__device__ __forceinline__ void put_columns(const F &f, cmg_size i, cmg_size at,
                                            const pack<T, W> &sum)
{
    constexpr bool momentum = KIND == CMGI_WB_MOMENTUM;
    constexpr bool reads = KIND != CMGI_WB_SCALED;
    const pack<T, W> b = load_if<W>(momentum ? f.b : NULL, at);
    const pack<T, W> c = load_if<W>(reads ? f.c : NULL, at);
    const pack<T, W> e = load_if<W>(momentum ? f.e : NULL, at);
    const T d = reads && f.d != NULL ? __ldg(f.d + i) : T(0);
    pack<T, W> y;
#pragma unroll
    for (int w = 0; w < W; ++w) {
        y.v[w] = cmgi_join<KIND>(f, b.v[w], c.v[w], d, e.v[w],
                                 sum.v[w]); /* e is 0 where there is none */
    }
    store<W>(f.y + at, y);
}

/* Whether columns are taken in packs of 16 bytes: k and the arrays allow it. */
template <typename T>
static inline bool wide_columns(const cmgi_writeback *w, const void *x)
{
    return w->columns % WIDE<T> == 0 && aligned(x) && aligned(w->b) && aligned(w->c) &&
           aligned(w->e) && aligned(w->y);
}
