/*
 * Vector kernels of the CUDA backend, element by element. Arrays that are aligned to 16 bytes are
 * read and written in packs of 16 bytes.
 */
#include "core/each.h"
#include "core/pack.cuh"

extern "C" {
#include "core/random.h"
}
#include "core/vector_each.inc"

enum { THREADS = 256, COPIES = 4 };

/* Calls f(i, W) for packs of W and f(i, 1) for what is left. */
template <int W, typename F>
__global__ void each_kernel(cmg_size n, F f)
{
    cmgi_after_previous();
    open<THREADS>(f, 0);
    const cmg_size i = ((cmg_size)blockIdx.x * THREADS + threadIdx.x) * W;
    if (i + W <= n) {
        f.template run<W>(i);
    } else {
        for (cmg_size k = i; k < n; ++k) {
            f.template run<1>(k);
        }
    }
}

template <int W, typename F>
static cmg_status each(cmg_context *ctx, cmg_size n, bool wide, const F &f)
{
    CMGI_ON_DEVICE(ctx);
    return CMGI_RUN_EARLY(ctx, cmgi_grid(n, THREADS * (wide ? W : 1)), THREADS, 0,
                          wide ? each_kernel<W, F> : each_kernel<1, F>, n, f);
}

template <typename T>
struct fill_op {
    T value;
    T *x;
    template <int W>
    __device__ void run(cmg_size i) const
    {
        pack<T, W> v;
#pragma unroll
        for (int k = 0; k < W; ++k) {
            v.v[k] = value;
        }
        store<W>(x + i, v);
    }
};

template <typename TX, typename TY>
struct convert_op {
    const TX *x;
    TY *y;
    template <int W>
    __device__ void run(cmg_size i) const
    {
        const pack<TX, W> from = load<W>(x + i);
        pack<TY, W> to;
#pragma unroll
        for (int k = 0; k < W; ++k) {
            to.v[k] = (TY)from.v[k];
        }
        store<W>(y + i, to);
    }
};

/* y = x in one precision: four packs are loaded before the first is stored, which is what it takes
 * to fill the memory pipes. */
template <typename T>
__global__ void copy_kernel(cmg_size n, const T *x, T *y)
{
    cmgi_after_previous();
    constexpr int W = WIDE<T>;
    const cmg_size first = ((cmg_size)blockIdx.x * COPIES * THREADS + threadIdx.x) * W;
    pack<T, W> v[COPIES];
#pragma unroll
    for (int k = 0; k < COPIES; ++k) {
        const cmg_size i = first + (cmg_size)k * THREADS * W;
        if (i + W <= n) {
            v[k] = load<W>(x + i);
        }
    }
#pragma unroll
    for (int k = 0; k < COPIES; ++k) {
        const cmg_size i = first + (cmg_size)k * THREADS * W;
        if (i + W <= n) {
            store<W>(y + i, v[k]);
        } else {
            for (cmg_size l = i; l < n; ++l) {
                y[l] = x[l];
            }
        }
    }
}

template <typename T>
static cmg_status copy(cmg_context *ctx, cmg_size n, const T *x, T *y)
{
    if (n < (cmg_size)COPIES * THREADS * WIDE<T> || !aligned(x) || !aligned(y)) {
        return each<WIDE<T>>(ctx, n, aligned(x) && aligned(y), convert_op<T, T>{x, y});
    }
    CMGI_ON_DEVICE(ctx);
    const cmg_size packs = (n + WIDE<T> - 1) / WIDE<T>;
    return CMGI_RUN_EARLY(ctx, cmgi_grid(packs, COPIES * THREADS), THREADS, 0, copy_kernel<T>, n, x,
                          y);
}

template <typename T>
struct axpby_op {
    T a;
    const T *x;
    T b;
    T *y;
    template <int W>
    __device__ void run(cmg_size i) const
    {
        const pack<T, W> p = load<W>(x + i);
        pack<T, W> q = {};
        if (b != 0) {
            q = load<W>(y + i);
        }
#pragma unroll
        for (int k = 0; k < W; ++k) {
            q.v[k] = b != 0 ? a * p.v[k] + b * q.v[k] : a * p.v[k];
        }
        store<W>(y + i, q);
    }
};

template <typename T>
struct add_ratio_op {
    double a;
    const double *num;
    const double *den;
    const T *x;
    T *y;
    template <int W>
    __device__ void run(cmg_size i) const
    {
        const double d = *den;
        const T scale = (T)(d != 0 ? a * (*num / d) : 0);
        const pack<T, W> from = load<W>(x + i);
        pack<T, W> v = load<W>(y + i);
#pragma unroll
        for (int k = 0; k < W; ++k) {
            v.v[k] += scale * from.v[k];
        }
        store<W>(y + i, v);
    }
};

template <typename TZ, typename T>
struct direction_op {
    cmgi_direction d;
    T beta;
    template <int BLOCK>
    __device__ void open()
    {
        beta = (T)beta_of<BLOCK>(d);
        note_before<BLOCK>(d);
    }
    template <int W>
    __device__ void run(cmg_size i) const
    {
        T *const p = (T *)d.p;
        const pack<TZ, W> from = load<W>((const TZ *)d.z + i);
        pack<T, W> v = {};
        if (beta != 0) {
            v = load<W>(p + i);
        }
#pragma unroll
        for (int k = 0; k < W; ++k) {
            v.v[k] = (T)from.v[k] + beta * v.v[k];
        }
        store<W>(p + i, v);
    }
};

/* A step of semi-iteration; column i % k at value i, k = 1 in packs. */
template <typename T>
struct semi_op {
    cmgi_semi_update u;
    int k;
    template <int W>
    __device__ void run(cmg_size i) const
    {
        const int c = W > 1 ? 0 : (int)(i % k);
        if (!u.stop[c].running) {
            return;
        }
        const semi_step<T> factors(u.semi + c);
        const pack<T, W> z = load<W>((const T *)u.z + i);
        pack<double, W> x = {};
        pack<T, W> d = {};
        if (!u.fresh) {
            x = load<W>(u.x + i);
        }
        if (factors.momentum != 0) {
            d = load<W>((const T *)u.d + i);
        }
#pragma unroll
        for (int w = 0; w < W; ++w) {
            d.v[w] = factors.direction(z.v[w], d.v[w]);
            x.v[w] += (double)d.v[w];
        }
        store<W>((T *)u.d + i, d);
        store<W>(u.x + i, x);
    }
};

cmg_status cmgi_cuda_fill(cmg_context *ctx, cmg_precision p, cmg_size n, double value, void *x)
{
    return in_precision(p, [&](auto zero) {
        using T = decltype(zero);
        return each<WIDE<T>>(ctx, n, aligned(x), fill_op<T>{(T)value, (T *)x});
    });
}

cmg_status cmgi_cuda_convert(cmg_context *ctx, cmg_size n, cmg_precision px, const void *x,
                             cmg_precision py, void *y)
{
    const bool wide = aligned(x) && aligned(y);
    if (px == py) {
        return in_precision(px, [&](auto zero) {
            using T = decltype(zero);
            return copy(ctx, n, (const T *)x, (T *)y);
        });
    }
    if (px == CMG_FP64) {
        return each<2>(ctx, n, wide, convert_op<double, float>{(const double *)x, (float *)y});
    }
    return each<2>(ctx, n, wide, convert_op<float, double>{(const float *)x, (double *)y});
}

cmg_status cmgi_cuda_axpby(cmg_context *ctx, cmg_precision p, cmg_size n, double a, const void *x,
                           double b, void *y)
{
    return in_precision(p, [&](auto zero) {
        using T = decltype(zero);
        return each<WIDE<T>>(ctx, n, aligned(x) && aligned(y),
                             axpby_op<T>{(T)a, (const T *)x, (T)b, (T *)y});
    });
}

cmg_status cmgi_cuda_direction(cmg_context *ctx, cmg_size n, int k, const cmgi_direction *d)
{
    const bool wide = aligned(d->z) && aligned(d->p);
    if (k > 1) {
        return cmgi_cuda_directions(ctx, n, k, d);
    }
    if (d->pz == CMG_FP32 && d->pp == CMG_FP64) {
        return each<2>(ctx, n, wide, direction_op<float, double>{*d, 0});
    }
    return in_precision(d->pp, [&](auto zero) {
        using T = decltype(zero);
        return each<WIDE<T>>(ctx, n, wide, direction_op<T, T>{*d, 0});
    });
}

cmg_status cmgi_cuda_add_ratio(cmg_context *ctx, cmg_precision p, cmg_size n, double a,
                               const double *num, const double *den, const void *x, void *y)
{
    return in_precision(p, [&](auto zero) {
        using T = decltype(zero);
        return each<WIDE<T>>(ctx, n, aligned(x) && aligned(y),
                             add_ratio_op<T>{a, num, den, (const T *)x, (T *)y});
    });
}

cmg_status cmgi_cuda_semi_update(cmg_context *ctx, cmg_size n, int k, const cmgi_semi_update *u)
{
    const bool wide = k == 1 && aligned(u->z) && aligned(u->d) && aligned(u->x);
    return u->precision == CMG_FP64 ? each<2>(ctx, n * k, wide, semi_op<double>{*u, k})
                                    : each<2>(ctx, n * k, wide, semi_op<float>{*u, k});
}
