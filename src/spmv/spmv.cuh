/*
 * What the product kernels share: the write-back functor as a template, sums over neighbouring
 * lanes, and the choice of instantiation by precision and kind.
 */
#pragma once
#include "core/pack.cuh"

extern "C" {
#include "spmv/slices.h"
#include "spmv/writeback.h"
}

/* The functor of writeback.h by value type. */
template <typename T>
struct cmgi_wb_of;
#define CMGI_WB_OF(T, SUFFIX)                                                                      \
    template <>                                                                                    \
    struct cmgi_wb_of<T> {                                                                         \
        typedef cmgi_wb_##SUFFIX type;                                                             \
        static type cast(const cmgi_writeback *w)                                                  \
        {                                                                                          \
            return cmgi_wb_cast_##SUFFIX(w);                                                       \
        }                                                                                          \
    };                                                                                             \
    template <cmgi_wb_kind KIND>                                                                   \
    __device__ __forceinline__ T cmgi_join(const cmgi_wb_##SUFFIX &f, T b, T c, T d, T e, T s)     \
    {                                                                                              \
        return cmgi_wb_join_##SUFFIX(KIND, &f, b, c, d, e, s);                                     \
    }                                                                                              \
    template <cmgi_wb_kind KIND>                                                                   \
    __device__ __forceinline__ void cmgi_put(const cmgi_wb_##SUFFIX &f, cmg_size i, T s)           \
    {                                                                                              \
        f.y[i] = cmgi_wb_value_##SUFFIX(KIND, &f, i, s);                                           \
    }
CMGI_WB_OF(double, f64)
CMGI_WB_OF(float, f32)

/* Whether a kernel leaves x . y: products of fp64 alone do, and no other kernel has code for it. */
template <typename T, cmgi_wb_kind KIND>
__device__ __forceinline__ bool cmgi_leaves_dots(const typename cmgi_wb_of<T>::type &f)
{
    return sizeof(T) == sizeof(double) && KIND == CMGI_WB_SCALED && f.dots != NULL;
}

/*
 * Where a row sum goes, and what the write-back reads there: loaded before the row is summed, so
 * that it does not wait once more after the sum. Small levels cost such waits and little else. What
 * few products read - d of a SUM, e - is loaded after the sum: in registers all the while, it would
 * leave fewer for entries in flight.
 */
template <typename T>
struct cmgi_target {
    cmg_size i;
    bool mine;
    T b;
    T c;
    T d;
};

/* Storage row `row`, if this lane is the one that writes it. */
template <cmgi_wb_kind KIND, typename T, typename F>
__device__ __forceinline__ cmgi_target<T> cmgi_aim(const F &f, const cmg_index *rowmap,
                                                   cmg_size row, bool mine)
{
    cmgi_target<T> to = {row, mine, 0, 0, 0};
    if (!mine) {
        return to;
    }
    to.i = rowmap != NULL ? __ldg(rowmap + row) : row;
    if (KIND != CMGI_WB_SCALED) {
        to.c = f.c[to.i];
    }
    if (KIND == CMGI_WB_MOMENTUM && f.d != NULL) {
        to.b = f.b[to.i];
        to.d = f.d[to.i];
    }
    return to;
}

/* The functor of writeback.h on what was loaded. */
template <cmgi_wb_kind KIND, typename T, typename F>
__device__ __forceinline__ void cmgi_hit(const F &f, const cmgi_target<T> &to, T s)
{
    if (to.mine) {
        const T d = KIND == CMGI_WB_SUM && f.d != NULL ? f.d[to.i] : to.d;
        const T e = KIND == CMGI_WB_MOMENTUM && f.e != NULL ? f.e[to.i] : T(0);
        f.y[to.i] = cmgi_join<KIND>(f, to.b, to.c, d, e, s);
    }
}

/*
 * s + sum of v[k step] x[c[k step]] for k = 0 .. steps-1, in this order, with U entries in flight.
 * What is past the end is skipped by predicates, so that short rows have their loads in flight,
 * too.
 */
template <int U, typename T>
__device__ __forceinline__ T cmgi_lane_sum(const T *__restrict__ v, const cmg_index *__restrict__ c,
                                           int steps, cmg_size step, const T *__restrict__ x)
{
    T s = 0;
    for (int k = 0; k < steps; k += U, v += U * step, c += U * step) {
        cmg_index j[U];
        T a[U];
        T b[U];
#pragma unroll
        for (int u = 0; u < U; ++u) {
            j[u] = k + u < steps ? cmgi_load_once(c + u * step) : -1;
        }
#pragma unroll
        for (int u = 0; u < U; ++u) {
            a[u] = k + u < steps ? cmgi_load_once(v + u * step) : T(0);
        }
#pragma unroll
        for (int u = 0; u < U; ++u) {
            b[u] = j[u] >= 0 ? __ldg(x + j[u]) : T(0);
        }
#pragma unroll
        for (int u = 0; u < U; ++u) {
            s += a[u] * b[u];
        }
    }
    return s;
}

/*
 * Slices of templates that a block of `warps` warps takes. It loads a table of `bytes` once and
 * takes neighbouring slices: few enough that the blocks keep the device evenly busy (32 slices:
 * 0.27 ms for 16.6 M rows in fp64, one wave of blocks: 0.33), more where the table is large beside
 * them, one a warp where the matrix is small.
 */
static inline cmg_size cmgi_template_chunk(const cmg_context *ctx, cmg_size slices, size_t bytes,
                                           int warps)
{
    const cmg_size most = 4 * warps * (1 + (cmg_size)bytes / 8192);
    const cmg_size even = slices / (2 * cmgi_device_of(ctx)->processors);
    return even < warps ? warps : even < most ? even : most;
}

/* f of the kind of w, a constant. */
template <typename F>
static cmg_status cmgi_with_kind(cmg_context *ctx, const cmgi_writeback *w, const F &f)
{
    switch (w->kind) {
#define CMGI_CASE(KIND)                                                                            \
    case CMGI_WB_##KIND:                                                                           \
        return f(std::integral_constant<cmgi_wb_kind, CMGI_WB_##KIND>());
        CMGI_WB_LIST(CMGI_CASE)
#undef CMGI_CASE
    default:
        return cmgi_fail(ctx, CMG_ERR_INTERNAL, "unknown write-back %d", (int)w->kind);
    }
}

template <cmg_values VALUES>
using cmgi_values_of = std::integral_constant<cmg_values, VALUES>;

/* f of a zero in a precision, and of values, a constant: those in 16 and 8 bits exist in fp32
 * alone. */
template <typename F>
static cmg_status cmgi_with_values(cmg_precision precision, cmg_values values, const F &f)
{
    if (precision == CMG_FP64) {
        return f(double(), cmgi_values_of<CMG_VALUES_FULL>());
    }
    return values == CMG_VALUES_FULL   ? f(float(), cmgi_values_of<CMG_VALUES_FULL>())
           : values == CMG_VALUES_FP16 ? f(float(), cmgi_values_of<CMG_VALUES_FP16>())
                                       : f(float(), cmgi_values_of<CMG_VALUES_FP8>());
}

/* launch(zero, kind, f, x) for the precision of A and the kind of w, both constants; f is the
 * functor. */
template <typename F>
static cmg_status cmgi_select(const cmg_matrix *A, const cmgi_writeback *w, const void *x,
                              const F &launch)
{
    CMGI_ON_DEVICE(A->ctx);
    return cmgi_with_kind(A->ctx, w, [&](auto kind) {
        return in_precision(A->options.precision, [&](auto zero) {
            using T = decltype(zero);
            return launch(zero, kind, cmgi_wb_of<T>::cast(w), (const T *)x);
        });
    });
}

/* The same by launch<T, KIND>::run(A, f, x), for launches with templates of their own. */
template <template <typename, cmgi_wb_kind> class LAUNCH>
static cmg_status cmgi_select(const cmg_matrix *A, const cmgi_writeback *w, const void *x)
{
    return cmgi_select(A, w, x, [&](auto zero, auto kind, const auto &f, const auto *of) {
        return LAUNCH<decltype(zero), kind>::run(A, f, of);
    });
}

/* launch(zero, kind, kept) for those and the values of A, which are these. */
template <typename F>
static cmg_status cmgi_select_values(const cmg_matrix *A, cmg_values values,
                                     const cmgi_writeback *w, const F &launch)
{
    CMGI_ON_DEVICE(A->ctx);
    return cmgi_with_kind(A->ctx, w, [&](auto kind) {
        return cmgi_with_values(A->options.precision, values,
                                [&](auto zero, auto kept) { return launch(zero, kind, kept); });
    });
}
