/*
 * Vector operations on blocks of columns on the CUDA backend: neighbouring threads take
 * neighbouring columns of a row, so that every load is a run of memory. Sums of a column are made
 * by the threads that have it, in the order of the threads, then over the blocks by one more block.
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

/* out[block k + c] = sum over the rows of a block of f(row, c); a thread keeps to its column. */
template <typename F>
__global__ void __launch_bounds__(THREADS) columns_kernel(cmg_size n, int k, F f, double *out)
{
    __shared__ double part[THREADS];
    const int rows = THREADS / k; /* that a block takes at once */
    const int c = (int)threadIdx.x % k;
    const int lane = (int)threadIdx.x / k;
    double sum = 0;
    if (lane < rows) {
#pragma unroll 4
        for (cmg_size i = (cmg_size)blockIdx.x * rows + lane; i < n;
             i += (cmg_size)gridDim.x * rows) {
            sum += f.run(i * k + c, c);
        }
    }
    part[threadIdx.x] = sum;
    __syncthreads();
    if ((int)threadIdx.x < k) {
        for (int l = 1; l < rows; ++l) {
            sum += part[l * k + c];
        }
        out[(cmg_size)blockIdx.x * k + c] = sum;
    }
}

/* The sums of blocks once more: rows of k values. */
struct add_sums {
    const double *x;
    __device__ double run(cmg_size at, int c) const
    {
        (void)c;
        return x[at];
    }
};

template <typename F>
static cmg_status reduce(cmg_context *ctx, cmgi_block of, const F &f, double *result)
{
    CMGI_ON_DEVICE(ctx);
    const cudaStream_t stream = cmgi_stream(ctx);
    const cmg_size wanted = (of.n + THREADS / of.k - 1) / (THREADS / of.k);
    const int blocks = (int)(wanted < 1 ? 1 : wanted < BLOCKS ? wanted : (cmg_size)BLOCKS);
    CMGI_TRY(cmgi_reserve(ctx, &ctx->column_partials, &ctx->column_partials_length,
                          (cmg_size)BLOCKS * CMG_COLUMNS));
    columns_kernel<<<blocks, THREADS, 0, stream>>>(of.n, of.k, f, ctx->column_partials);
    CMGI_TRY(CMGI_LAUNCHED(ctx));
    columns_kernel<<<1, THREADS, 0, stream>>>((cmg_size)blocks, of.k,
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
    __device__ double run(cmg_size at, int c) const
    {
        (void)c;
        return (double)x[at] * (double)y[at];
    }
};

template <typename T>
struct directions_op {
    int k;
    cmgi_column_ratio ratio;
    const T *z;
    double *p;
    __device__ void run(cmg_size at) const
    {
        const unsigned low = (unsigned)at; /* 64-bit division is slow */
        const int c = at <= UINT32_MAX ? (int)(low % (unsigned)k) : (int)(at % k);
        const double den = ratio.den[c];
        p[at] = (double)z[at] + (den != 0 ? ratio.num[c] / den : 0) * p[at];
    }
};

struct updates_op {
    cmgi_column_update u;
    __device__ double run(cmg_size at, int c) const
    {
        const double a = cmgi_column_step(&u, c);
        double r = u.r[at];
        if (a != 0) { /* a column that rests keeps r, in fp32 too */
            r -= a * u.q[at];
            u.x[at] += a * u.p[at];
            u.r[at] = r;
            if (u.single != NULL) {
                u.single[at] = (float)r;
            }
        }
        return r * r;
    }
};

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
        return reduce(ctx, of, dots_op<double>{(const double *)x, (const double *)y}, result);
    }
    return reduce(ctx, of, dots_op<float>{(const float *)x, (const float *)y}, result);
}

cmg_status cmgi_column_directions_cuda(cmg_context *ctx, cmgi_block of,
                                       const cmgi_column_ratio *ratio, cmg_precision pz,
                                       const void *z, double *p)
{
    if (pz == CMG_FP64) {
        return each_value(ctx, of.n * of.k,
                          directions_op<double>{of.k, *ratio, (const double *)z, p});
    }
    return each_value(ctx, of.n * of.k, directions_op<float>{of.k, *ratio, (const float *)z, p});
}

cmg_status cmgi_column_updates_cuda(cmg_context *ctx, cmgi_block of, const cmgi_column_update *u)
{
    return reduce(ctx, of, updates_op{*u}, u->rr);
}
