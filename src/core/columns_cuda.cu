/*
 * Sums and the vectors of CG of several columns on the CUDA backend: neighbouring threads take
 * neighbouring columns of a row, up to 16 bytes each, so that every load is a run of memory. A
 * thread keeps to its columns and has their scalars in registers. Sums of a column are made by the
 * threads that have it, in the order of the threads, then over the blocks by one more block.
 */
#include "core/pack.cuh"

extern "C" {
#include "core/memory.h"
}

enum { THREADS = 256 };

/*
 * f.run(at, scalars, sum) for columns c .. c + W - 1 of every row, at = row k + c; f.begin(c) has
 * their scalars. out[block k + c] = what was added to the sum; NULL = nothing is summed.
 */
template <int W, typename F>
__global__ void __launch_bounds__(THREADS) columns_kernel(cmg_size n, int k, F f, double *out)
{
    __shared__ alignas(32) double part[THREADS * W];
    const int groups = k / W;
    const int rows = THREADS / groups; /* that a block takes at once */
    const int c = ((int)threadIdx.x % groups) * W;
    const int lane = (int)threadIdx.x / groups;
    pack<double, W> sum = {};
    if (lane < rows) {
        const pack<double, W> scalars = f.template begin<W>(c);
#pragma unroll 4
        for (cmg_size i = (cmg_size)blockIdx.x * rows + lane; i < n;
             i += (cmg_size)gridDim.x * rows) {
            f.template run<W>(i * k + c, scalars, sum);
        }
    }
    if (out == NULL) {
        return;
    }
    store<W>(part + threadIdx.x * W, sum);
    __syncthreads();
    if ((int)threadIdx.x < k) { /* rows of part are k values */
        double all = 0;
        for (int l = 0; l < rows; ++l) {
            all += part[l * k + threadIdx.x];
        }
        out[(cmg_size)blockIdx.x * k + threadIdx.x] = all;
    }
}

template <int W, typename F>
static cmg_status each(cmg_context *ctx, cmg_size n, int k, const F &f, double *out, int *blocks)
{
    const cmg_size most = CMGI_CUDA_PARTIALS;
    const int rows = THREADS / (k / W);
    const cmg_size wanted = n > rows ? (n + rows - 1) / rows : 1;
    *blocks = (int)(wanted < most ? wanted : most);
    columns_kernel<W><<<*blocks, THREADS, 0, cmgi_stream(ctx)>>>(n, k, f, out);
    return CMGI_LAUNCHED(ctx);
}

/* Several columns a thread where that divides k and the arrays are aligned. */
template <int W, typename F>
static cmg_status widest(cmg_context *ctx, cmg_size n, int k, bool wide, const F &f, double *out,
                         int *blocks)
{
    CMGI_ON_DEVICE(ctx);
    return k % W == 0 && wide ? each<W>(ctx, n, k, f, out, blocks)
                              : each<1>(ctx, n, k, f, out, blocks);
}

/* end.finish(c, sum of column c) over the blocks' sums, which are rows of k values. */
template <typename END>
__global__ void __launch_bounds__(THREADS) add_blocks(int blocks, int k, const double *x, END end)
{
    __shared__ double part[THREADS];
    const int rows = THREADS / k;
    const int c = (int)threadIdx.x % k;
    double sum = 0;
    for (int b = (int)threadIdx.x / k; b < blocks && (int)threadIdx.x < rows * k; b += rows) {
        sum += x[(cmg_size)b * k + c];
    }
    part[threadIdx.x] = sum;
    __syncthreads();
    if ((int)threadIdx.x < k) {
        sum = 0;
        for (int l = 0; l < rows; ++l) {
            sum += part[l * k + threadIdx.x];
        }
        end.finish((int)threadIdx.x, sum);
    }
}

template <int W, typename F, typename END>
static cmg_status reduce(cmg_context *ctx, cmg_size n, int k, bool wide, const F &f, const END &end)
{
    int blocks = 0;
    CMGI_TRY(widest<W>(ctx, n, k, wide, f, ctx->partials, &blocks));
    CMGI_ON_DEVICE(ctx);
    add_blocks<<<1, THREADS, 0, cmgi_stream(ctx)>>>(blocks, k, ctx->partials, end);
    return CMGI_LAUNCHED(ctx);
}

template <typename T>
struct dots_op {
    const T *x;
    const T *y;
    template <int W>
    __device__ pack<double, W> begin(int c) const
    {
        (void)c;
        return {};
    }
    template <int W>
    __device__ void run(cmg_size at, const pack<double, W> &scalars, pack<double, W> &sum) const
    {
        (void)scalars;
        const pack<T, W> a = load<W>(x + at);
        const pack<T, W> b = load<W>(y + at);
#pragma unroll
        for (int w = 0; w < W; ++w) {
            sum.v[w] += (double)a.v[w] * (double)b.v[w];
        }
    }
};

template <typename T>
struct directions_op {
    const double *num;
    const double *den;
    const T *z;
    double *p;
    template <int W>
    __device__ pack<double, W> begin(int c) const
    {
        pack<double, W> beta;
#pragma unroll
        for (int w = 0; w < W; ++w) {
            beta.v[w] = den[c + w] != 0 ? num[c + w] / den[c + w] : 0;
        }
        return beta;
    }
    template <int W>
    __device__ void run(cmg_size at, const pack<double, W> &beta, pack<double, W> &sum) const
    {
        (void)sum;
        const pack<T, W> from = load<W>(z + at);
        pack<double, W> to = load<W>(p + at);
#pragma unroll
        for (int w = 0; w < W; ++w) {
            to.v[w] = (double)from.v[w] + (beta.v[w] != 0 ? beta.v[w] * to.v[w] : 0);
        }
        store<W>(p + at, to);
    }
};

struct updates_op {
    cmgi_cg_update u;
    template <int W>
    __device__ pack<double, W> begin(int c) const
    {
        pack<double, W> a;
#pragma unroll
        for (int w = 0; w < W; ++w) {
            a.v[w] = cmgi_cg_factor(&u, c + w);
        }
        return a;
    }
    /* a column that rests keeps x and r, whatever its p and q have become */
    template <int W>
    __device__ void run(cmg_size at, const pack<double, W> &a, pack<double, W> &sum) const
    {
        pack<double, W> r = load<W>((double *)u.r + at);
        pack<float, W> single;
        if (u.semi == NULL) {
            const pack<double, W> p = load<W>((const double *)u.p + at);
            const pack<double, W> q = load<W>((const double *)u.q + at);
            pack<double, W> x = load<W>((double *)u.x + at);
#pragma unroll
            for (int w = 0; w < W; ++w) {
                x.v[w] = a.v[w] != 0 ? x.v[w] + a.v[w] * p.v[w] : x.v[w];
                r.v[w] = a.v[w] != 0 ? r.v[w] - a.v[w] * q.v[w] : r.v[w];
            }
            store<W>((double *)u.x + at, x);
            store<W>((double *)u.r + at, r);
        }
#pragma unroll
        for (int w = 0; w < W; ++w) {
            single.v[w] = (float)r.v[w];
            sum.v[w] += r.v[w] * r.v[w];
        }
        if (u.single != NULL) {
            store<W>(u.single + at, single);
        }
    }
};

cmg_status cmgi_cuda_directions(cmg_context *ctx, cmg_size n, int k, const double *num,
                                const double *den, cmg_precision pz, const void *z, double *p)
{
    const bool wide = aligned(z) && aligned(p);
    int blocks = 0;
    if (pz == CMG_FP64) {
        const directions_op<double> f = {num, den, (const double *)z, p};
        return widest<2>(ctx, n, k, wide, f, NULL, &blocks);
    }
    const directions_op<float> f = {num, den, (const float *)z, p};
    return widest<2>(ctx, n, k, wide, f, NULL, &blocks);
}

cmg_status cmgi_cuda_dots(cmg_context *ctx, cmg_precision p, cmg_size n, int k, const void *x,
                          const void *y, double *result)
{
    const bool wide = aligned(x) && aligned(y);
    if (p == CMG_FP64) {
        const dots_op<double> f = {(const double *)x, (const double *)y};
        return reduce<WIDE<double>>(ctx, n, k, wide, f, keep_sum{result});
    }
    const dots_op<float> f = {(const float *)x, (const float *)y};
    return reduce<WIDE<float>>(ctx, n, k, wide, f, keep_sum{result});
}

cmg_status cmgi_cuda_cg_updates(cmg_context *ctx, cmg_size n, int k, bool wide,
                                const cmgi_cg_update *u)
{
    return reduce<2>(ctx, n, k, wide, updates_op{*u}, note_update{*u});
}
