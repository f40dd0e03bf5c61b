/*
 * Sums over vectors on the CUDA backend, and what CG does with them. Every block sums its share of
 * the packs, and the block that is done last sums the blocks' sums, in their order: a counter says
 * which block that is and has no part in the sum. The shares depend on the length alone, so that
 * repeated runs give the same bits. A kernel of its own for the second sum would take longer than
 * the sum, which in a solve of 30 thousand unknowns is a third of the time.
 */
#include "core/pack.cuh"

enum { THREADS = 256, SINGLE_BLOCK = 1024, SINGLE_UP_TO = 8192 };

/* Whether this block is the last of all to come here; the counter is zero again then. */
__device__ bool last_block(unsigned *arrived)
{
    __shared__ bool last;
    if (threadIdx.x == 0) {
        __threadfence(); /* its sum is seen before it is counted */
        last = atomicInc(arrived, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    return last;
}

/* Adds f of the pack at i, or of the entries of the last one that is not whole. */
template <int W, typename F>
static __device__ __forceinline__ void add_pack(const F &f, cmg_size i, cmg_size n, double &sum)
{
    if (i + W <= n) {
        sum += f.template run<W>(i);
        return;
    }
    for (cmg_size k = i; k < n; ++k) {
        sum += f.template run<1>(k);
    }
}

/* end.finish(0, sum of f(i)): a block's share are the packs blockIdx, blockIdx + blocks, ... */
template <int BLOCK, int W, typename F, typename END>
__global__ void __launch_bounds__(BLOCK)
    reduce_kernel(cmg_size n, F f, END end, double *partials, unsigned *arrived)
{
    cmgi_after_previous();
    const cmg_size step = (cmg_size)gridDim.x * BLOCK * W;
    double sum = 0;
#pragma unroll 2
    for (cmg_size i = ((cmg_size)blockIdx.x * BLOCK + threadIdx.x) * W; i < n; i += step) {
        add_pack<W>(f, i, n, sum);
    }
    sum = cmgi_block_sum<BLOCK>(sum);
    if (gridDim.x > 1) {
        if (threadIdx.x == 0) {
            partials[blockIdx.x] = sum;
        }
        if (!last_block(arrived)) {
            return;
        }
        sum = 0;
        for (unsigned k = threadIdx.x; k < gridDim.x; k += BLOCK) {
            sum += __ldcg(partials + k);
        }
        sum = cmgi_block_sum<BLOCK>(sum);
    }
    if (threadIdx.x == 0) {
        end.finish(0, sum);
    }
}

template <int W, typename F, typename END>
static cmg_status reduce_packs(cmg_context *ctx, cmg_size n, const F &f, const END &end)
{
    const cmgi_device *d = cmgi_device_of(ctx);
    unsigned *arrived = (unsigned *)(ctx->partials + CMGI_CUDA_ARRIVED);
    if (n <= SINGLE_UP_TO) {
        cmgi_launch(d, 1, SINGLE_BLOCK, 0, reduce_kernel<SINGLE_BLOCK, W, F, END>, n, f, end,
                    ctx->partials, arrived);
        return CMGI_LAUNCHED(ctx);
    }
    const cmg_size most = CMGI_CUDA_PARTIALS;
    const cmg_size wanted = (n + (cmg_size)THREADS * W - 1) / ((cmg_size)THREADS * W);
    const int blocks = (int)(wanted < most ? wanted : most);
    cmgi_launch(d, (unsigned)blocks, THREADS, 0, reduce_kernel<THREADS, W, F, END>, n, f, end,
                ctx->partials, arrived);
    return CMGI_LAUNCHED(ctx);
}

template <int W, typename F, typename END>
static cmg_status reduce(cmg_context *ctx, cmg_size n, bool wide, const F &f, const END &end)
{
    CMGI_ON_DEVICE(ctx);
    return wide ? reduce_packs<W>(ctx, n, f, end) : reduce_packs<1>(ctx, n, f, end);
}

template <typename T>
struct dot_op {
    const T *x;
    const T *y;
    template <int W>
    __device__ double run(cmg_size i) const
    {
        const pack<T, W> p = load<W>(x + i);
        const pack<T, W> q = load<W>(y + i);
        double sum = 0;
#pragma unroll
        for (int k = 0; k < W; ++k) {
            sum += (double)p.v[k] * (double)q.v[k];
        }
        return sum;
    }
};

struct sum_op {
    const double *x;
    template <int W>
    __device__ double run(cmg_size i) const
    {
        const pack<double, W> p = load<W>(x + i);
        double sum = 0;
#pragma unroll
        for (int k = 0; k < W; ++k) {
            sum += p.v[k];
        }
        return sum;
    }
};

/* The update and the new r . r in one pass. */
template <typename T>
struct cg_update_op {
    cmgi_cg_update u;
    template <int W>
    __device__ double run(cmg_size i) const
    {
        T *r = (T *)u.r;
        pack<T, W> vr = load<W>(r + i);
        const double a = cmgi_cg_factor(&u, 0);
        double sum = 0;
        if (a == 0) {
#pragma unroll
            for (int k = 0; k < W; ++k) {
                sum += (double)vr.v[k] * (double)vr.v[k];
            }
            if (u.semi != NULL) {
                store_single(i, vr);
            }
            return sum;
        }
        const T alpha = (T)a;
        const pack<T, W> vp = load<W>((const T *)u.p + i);
        const pack<T, W> vq = load<W>((const T *)u.q + i);
        pack<T, W> vx = load<W>((T *)u.x + i);
#pragma unroll
        for (int k = 0; k < W; ++k) {
            vx.v[k] += alpha * vp.v[k];
            vr.v[k] -= alpha * vq.v[k];
            sum += (double)vr.v[k] * (double)vr.v[k];
        }
        store<W>((T *)u.x + i, vx);
        store<W>(r + i, vr);
        store_single(i, vr);
        return sum;
    }

  private:
    template <int W>
    __device__ void store_single(cmg_size i, const pack<T, W> &r) const
    {
        if (u.single != NULL) {
            pack<float, W> rounded;
#pragma unroll
            for (int k = 0; k < W; ++k) {
                rounded.v[k] = (float)r.v[k];
            }
            store<W>(u.single + i, rounded);
        }
    }
};

template <typename T>
static cmg_status dot(cmg_context *ctx, cmg_size n, const T *x, const T *y, double *result)
{
    return reduce<WIDE<T>>(ctx, n, aligned(x) && aligned(y), dot_op<T>{x, y}, keep_sum{result});
}

cmg_status cmgi_cuda_dot(cmg_context *ctx, cmg_precision p, cmg_size n, int k, const void *x,
                         const void *y, double *result)
{
    if (k > 1) {
        return cmgi_cuda_dots(ctx, p, n, k, x, y, result);
    }
    return p == CMG_FP64 ? dot(ctx, n, (const double *)x, (const double *)y, result)
                         : dot(ctx, n, (const float *)x, (const float *)y, result);
}

cmg_status cmgi_cuda_sum(cmg_context *ctx, cmg_size n, const double *x, double *result)
{
    return reduce<WIDE<double>>(ctx, n, aligned(x), sum_op{x}, keep_sum{result});
}

cmg_status cmgi_cuda_cg_update(cmg_context *ctx, cmg_size n, int k, const cmgi_cg_update *u)
{
    const bool wide =
        aligned(u->p) && aligned(u->q) && aligned(u->x) && aligned(u->r) && aligned(u->single);
    if (k > 1) {
        return cmgi_cuda_cg_updates(ctx, n, k, wide, u);
    }
    if (u->squares != NULL) {
        return reduce<WIDE<double>>(ctx, u->parts, aligned(u->squares), sum_op{u->squares},
                                    note_update{*u});
    }
    if (u->precision == CMG_FP64) {
        return reduce<WIDE<double>>(ctx, n, wide, cg_update_op<double>{*u}, note_update{*u});
    }
    return reduce<WIDE<float>>(ctx, n, wide, cg_update_op<float>{*u}, note_update{*u});
}

/* r and z of a step, and the new r . z. */
template <typename T>
struct jacobi_op {
    cmgi_jacobi_step s;
    template <int W>
    __device__ double run(cmg_size i) const
    {
        const double d = *s.curvature;
        const T scale = (T)(d != 0 ? -(*s.rho / d) : 0);
        const pack<T, W> q = load<W>((const T *)s.q + i);
        const pack<T, W> inverse = load<W>((const T *)s.inverse + i);
        pack<T, W> r = load<W>((T *)s.r + i);
        pack<T, W> z;
        double sum = 0;
#pragma unroll
        for (int k = 0; k < W; ++k) {
            r.v[k] += scale * q.v[k];
            z.v[k] = inverse.v[k] * r.v[k];
            sum += (double)r.v[k] * (double)z.v[k];
        }
        store<W>((T *)s.r + i, r);
        store<W>((T *)s.z + i, z);
        return sum;
    }
};

/* p of a step; nothing is summed. */
template <typename T>
struct turn_op {
    cmgi_jacobi_step s;
    template <int W>
    __device__ double run(cmg_size i) const
    {
        const T beta = (T)(*s.rho != 0 ? s.rho[1] / *s.rho : 0);
        const pack<T, W> z = load<W>((const T *)s.z + i);
        pack<T, W> p = load<W>((T *)s.p + i);
#pragma unroll
        for (int k = 0; k < W; ++k) {
            p.v[k] = z.v[k] + beta * p.v[k];
        }
        store<W>((T *)s.p + i, p);
        return 0;
    }
};

/* A step on few rows: one block makes all of it. */
template <int W, typename T>
__global__ void __launch_bounds__(SINGLE_BLOCK) jacobi_kernel(cmg_size n, const cmgi_jacobi_step s)
{
    cmgi_after_previous();
    const cmg_size first = (cmg_size)threadIdx.x * W;
    const dot_op<T> dot = {(const T *)s.p, (const T *)s.q};
    const jacobi_op<T> update = {s};
    const turn_op<T> turn = {s};
    double sum = 0;
    for (cmg_size i = first; i < n; i += SINGLE_BLOCK * W) {
        add_pack<W>(dot, i, n, sum);
    }
    sum = cmgi_block_sum<SINGLE_BLOCK>(sum);
    if (threadIdx.x == 0) {
        *s.curvature = sum;
    }
    __syncthreads();
    sum = 0;
    for (cmg_size i = first; i < n; i += SINGLE_BLOCK * W) {
        add_pack<W>(update, i, n, sum);
    }
    sum = cmgi_block_sum<SINGLE_BLOCK>(sum);
    if (threadIdx.x == 0) {
        s.rho[1] = sum;
    }
    __syncthreads();
    for (cmg_size i = first; i < n; i += SINGLE_BLOCK * W) {
        add_pack<W>(turn, i, n, sum);
    }
}

template <typename T>
static cmg_status jacobi_step(cmg_context *ctx, cmg_size n, const cmgi_jacobi_step *s)
{
    const bool wide =
        aligned(s->inverse) && aligned(s->p) && aligned(s->q) && aligned(s->r) && aligned(s->z);
    if (n > SINGLE_UP_TO) {
        CMGI_TRY(cmgi_cuda_dot(ctx, s->precision, n, 1, s->p, s->q, s->curvature));
        CMGI_TRY(reduce<WIDE<T>>(ctx, n, wide, jacobi_op<T>{*s}, keep_sum{s->rho + 1}));
        return cmgi_cuda_direction(ctx, n, 1, s->rho + 1, s->rho, s->precision, s->z, s->precision,
                                   s->p);
    }
    CMGI_ON_DEVICE(ctx);
    if (wide) {
        cmgi_launch(cmgi_device_of(ctx), 1, SINGLE_BLOCK, 0, jacobi_kernel<WIDE<T>, T>, n, *s);
    } else {
        cmgi_launch(cmgi_device_of(ctx), 1, SINGLE_BLOCK, 0, jacobi_kernel<1, T>, n, *s);
    }
    return CMGI_LAUNCHED(ctx);
}

cmg_status cmgi_cuda_jacobi_step(cmg_context *ctx, cmg_size n, const cmgi_jacobi_step *s)
{
    return s->precision == CMG_FP64 ? jacobi_step<double>(ctx, n, s)
                                    : jacobi_step<float>(ctx, n, s);
}

__global__ void test_kernel(const cmgi_test t)
{
    cmgi_after_previous();
    cmgi_test_column(&t, (int)threadIdx.x);
}

cmg_status cmgi_cuda_test(cmg_context *ctx, int k, const cmgi_test *t)
{
    CMGI_ON_DEVICE(ctx);
    cmgi_launch(cmgi_device_of(ctx), 1, (unsigned)k, 0, test_kernel, *t);
    return CMGI_LAUNCHED(ctx);
}

cudaError_t cmgi_cuda_probe(bool *early)
{
    cudaFuncAttributes attributes = {};
    const cudaError_t error = cudaFuncGetAttributes(&attributes, (const void *)test_kernel);
    *early = error == cudaSuccess && attributes.ptxVersion >= 90;
    return error;
}
