/*
 * Vector operations on blocks of columns on the CUDA backend: neighbouring threads take
 * neighbouring columns of a row, up to 16 bytes each, so that every load is a run of memory. A
 * thread keeps to its columns and has their scalars in registers. Sums of a column are made by the
 * threads that have it, in the order of the threads, then over the blocks by one more block.
 */
#include "core/pack.cuh"

extern "C" {
#include "core/columns.h"
#include "core/memory.h"
}

enum { THREADS = 256, BLOCKS = 1024 };

/* One thread a value. */
template <typename F>
__global__ void __launch_bounds__(THREADS) value_kernel(cmg_size count, F f)
{
    const cmg_size at = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    if (at < count) {
        f.run(at);
    }
}

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

static int blocks_of(cmgi_block of, int rows)
{
    const cmg_size wanted = (of.n + rows - 1) / rows;
    return (int)(wanted < 1 ? 1 : wanted < BLOCKS ? wanted : (cmg_size)BLOCKS);
}

template <int W, typename F>
static cmg_status each(cmg_context *ctx, cmgi_block of, const F &f, double *out, int *blocks)
{
    *blocks = blocks_of(of, THREADS / (of.k / W));
    columns_kernel<W><<<*blocks, THREADS, 0, cmgi_stream(ctx)>>>(of.n, of.k, f, out);
    return CMGI_LAUNCHED(ctx);
}

/* Several columns a thread where that divides k and the arrays are aligned. */
template <int W, typename F>
static cmg_status widest(cmg_context *ctx, cmgi_block of, const F &f, double *out, int *blocks)
{
    CMGI_ON_DEVICE(ctx);
    return of.k % W == 0 && f.wide() ? each<W>(ctx, of, f, out, blocks)
                                     : each<1>(ctx, of, f, out, blocks);
}

/* The sums of blocks once more: rows of k values. */
struct add_sums {
    const double *x;
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
        sum.v[0] += x[at];
    }
};

template <int W, typename F>
static cmg_status reduce(cmg_context *ctx, cmgi_block of, const F &f, double *result)
{
    int blocks = 0;
    CMGI_TRY(cmgi_reserve(ctx, &ctx->column_partials, &ctx->column_partials_length,
                          (cmg_size)BLOCKS * CMG_COLUMNS));
    CMGI_TRY(widest<W>(ctx, of, f, ctx->column_partials, &blocks));
    CMGI_ON_DEVICE(ctx);
    columns_kernel<1><<<1, THREADS, 0, cmgi_stream(ctx)>>>((cmg_size)blocks, of.k,
                                                           add_sums{ctx->column_partials}, result);
    return CMGI_LAUNCHED(ctx);
}

template <typename T>
struct move_op {
    cmgi_block of;
    bool put;
    const T *x;
    T *y;
    __device__ void run(cmg_size i) const
    {
        const cmg_size at = i * of.k + of.column;
        y[put ? at : i] = x[put ? i : at];
    }
};

template <typename T>
struct dots_op {
    const T *x;
    const T *y;
    bool wide() const
    {
        return aligned(x) && aligned(y);
    }
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
    cmgi_column_ratio ratio;
    const T *z;
    double *p;
    bool wide() const
    {
        return aligned(z) && aligned(p);
    }
    template <int W>
    __device__ pack<double, W> begin(int c) const
    {
        pack<double, W> beta;
#pragma unroll
        for (int w = 0; w < W; ++w) {
            const double den = ratio.den[c + w];
            beta.v[w] = den != 0 ? ratio.num[c + w] / den : 0;
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
    cmgi_column_update u;
    bool wide() const
    {
        return aligned(u.p) && aligned(u.q) && aligned(u.x) && aligned(u.r) && aligned(u.single);
    }
    template <int W>
    __device__ pack<double, W> begin(int c) const
    {
        pack<double, W> a;
#pragma unroll
        for (int w = 0; w < W; ++w) {
            a.v[w] = cmgi_column_step(&u, c + w);
        }
        return a;
    }
    /* a column that rests keeps x and r, whatever its p and q have become */
    template <int W>
    __device__ void run(cmg_size at, const pack<double, W> &a, pack<double, W> &sum) const
    {
        const pack<double, W> p = load<W>(u.p + at);
        const pack<double, W> q = load<W>(u.q + at);
        pack<double, W> x = load<W>(u.x + at);
        pack<double, W> r = load<W>(u.r + at);
        pack<float, W> single;
#pragma unroll
        for (int w = 0; w < W; ++w) {
            x.v[w] = a.v[w] != 0 ? x.v[w] + a.v[w] * p.v[w] : x.v[w];
            r.v[w] = a.v[w] != 0 ? r.v[w] - a.v[w] * q.v[w] : r.v[w];
            single.v[w] = (float)r.v[w];
            sum.v[w] += r.v[w] * r.v[w];
        }
        store<W>(u.x + at, x);
        store<W>(u.r + at, r);
        if (u.single != NULL) {
            store<W>(u.single + at, single);
        }
    }
};

template <typename F>
static cmg_status each_value(cmg_context *ctx, cmg_size count, const F &f)
{
    if (count == 0) {
        return CMG_OK;
    }
    CMGI_ON_DEVICE(ctx);
    value_kernel<<<cmgi_grid(count, THREADS), THREADS, 0, cmgi_stream(ctx)>>>(count, f);
    return CMGI_LAUNCHED(ctx);
}

cmg_status cmgi_column_move_cuda(cmg_context *ctx, cmg_precision p, cmgi_block of, bool put,
                                 const void *x, void *y)
{
    if (p == CMG_FP64) {
        return each_value(ctx, of.n, move_op<double>{of, put, (const double *)x, (double *)y});
    }
    return each_value(ctx, of.n, move_op<float>{of, put, (const float *)x, (float *)y});
}

cmg_status cmgi_column_dots_cuda(cmg_context *ctx, cmg_precision p, cmgi_block of, const void *x,
                                 const void *y, double *result)
{
    if (p == CMG_FP64) {
        return reduce<2>(ctx, of, dots_op<double>{(const double *)x, (const double *)y}, result);
    }
    return reduce<4>(ctx, of, dots_op<float>{(const float *)x, (const float *)y}, result);
}

cmg_status cmgi_column_directions_cuda(cmg_context *ctx, cmgi_block of,
                                       const cmgi_column_ratio *ratio, cmg_precision pz,
                                       const void *z, double *p)
{
    int blocks = 0;
    if (pz == CMG_FP64) {
        return widest<2>(ctx, of, directions_op<double>{*ratio, (const double *)z, p}, NULL,
                         &blocks);
    }
    return widest<2>(ctx, of, directions_op<float>{*ratio, (const float *)z, p}, NULL, &blocks);
}

cmg_status cmgi_column_updates_cuda(cmg_context *ctx, cmgi_block of, const cmgi_column_update *u)
{
    return reduce<2>(ctx, of, updates_op{*u}, u->rr);
}

template <typename T>
struct units_op {
    cmgi_block of;
    T *x;
    __device__ void run(cmg_size at) const
    {
        x[at] = at / of.k == of.column + at % of.k ? T(1) : T(0);
    }
};

template <typename T>
struct images_op {
    cmgi_block of;
    const T *x;
    double *X;
    __device__ void run(cmg_size at) const
    {
        const cmg_size i = at / of.n;
        const cmg_size j = at % of.n;
        X[at] = x[(j / of.k * of.n + i) * of.k + j % of.k];
    }
};

cmg_status cmgi_column_units_cuda(cmg_context *ctx, cmg_precision p, cmgi_block of, void *x)
{
    return p == CMG_FP64 ? each_value(ctx, of.n * of.k, units_op<double>{of, (double *)x})
                         : each_value(ctx, of.n * of.k, units_op<float>{of, (float *)x});
}

cmg_status cmgi_column_images_cuda(cmg_context *ctx, cmg_precision p, cmgi_block of, const void *x,
                                   double *X)
{
    return p == CMG_FP64 ? each_value(ctx, of.n * of.n, images_op<double>{of, (const double *)x, X})
                         : each_value(ctx, of.n * of.n, images_op<float>{of, (const float *)x, X});
}
