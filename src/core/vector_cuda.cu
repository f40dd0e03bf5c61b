/*
 * Vector kernels of the CUDA backend. Arrays that are aligned to 16 bytes are read and written in
 * packs of 16 bytes. Reductions: every block sums its share of the packs, a second kernel of one
 * block sums the blocks; the shares depend on the length alone, so that repeated runs give the same
 * bits.
 */
#include "core/cuda.cuh"

enum { THREADS = 256, SINGLE_BLOCK = 1024, SINGLE_UP_TO = 8192, COPIES = 4 };

template <typename T, int W>
struct alignas(sizeof(T) * W) pack {
    T v[W];
};

static bool aligned(const void *p)
{
    return (uintptr_t)p % 16 == 0;
}

/* Values in a pack: 16 bytes where every array is aligned, else 1. */
template <typename T>
constexpr int WIDE = 16 / (int)sizeof(T);

/* Calls f(i, W) for packs of W and f(i, 1) for what is left. */
template <int W, typename F>
__global__ void each_kernel(cmg_size n, F f)
{
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
    if (n == 0) {
        return CMG_OK;
    }
    const cmgi_device_guard guard(ctx);
    if (wide) {
        each_kernel<W><<<cmgi_grid((n + W - 1) / W, THREADS), THREADS, 0, cmgi_stream(ctx)>>>(n, f);
    } else {
        each_kernel<1><<<cmgi_grid(n, THREADS), THREADS, 0, cmgi_stream(ctx)>>>(n, f);
    }
    return CMGI_LAUNCHED(ctx);
}

template <int W, typename T>
__device__ __forceinline__ pack<T, W> load(const T *p)
{
    return *reinterpret_cast<const pack<T, W> *>(p);
}

template <int W, typename T>
__device__ __forceinline__ void store(T *p, const pack<T, W> &v)
{
    *reinterpret_cast<pack<T, W> *>(p) = v;
}

/* ------------------------------------------------------------------ element by element */

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
    const cmgi_device_guard guard(ctx);
    const cmg_size packs = (n + WIDE<T> - 1) / WIDE<T>;
    copy_kernel<<<cmgi_grid(packs, COPIES * THREADS), THREADS, 0, cmgi_stream(ctx)>>>(n, x, y);
    return CMGI_LAUNCHED(ctx);
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

template <typename TZ, typename T>
struct direction_op {
    const double *num;
    const double *den;
    const TZ *z;
    T *p;
    template <int W>
    __device__ void run(cmg_size i) const
    {
        const double d = *den;
        const T beta = (T)(d != 0 ? *num / d : 0);
        const pack<TZ, W> from = load<W>(z + i);
        pack<T, W> v = load<W>(p + i);
#pragma unroll
        for (int k = 0; k < W; ++k) {
            v.v[k] = (T)from.v[k] + beta * v.v[k];
        }
        store<W>(p + i, v);
    }
};

template <typename T>
struct permute_op {
    const cmg_index *perm;
    bool scatter;
    const T *x;
    T *y;
    template <int W>
    __device__ void run(cmg_size i) const
    {
        static_assert(W == 1, "a permutation moves single values");
        const cmg_index j = perm[i];
        if (scatter) {
            y[j] = x[i];
        } else {
            y[i] = x[j];
        }
    }
};

template <typename T>
struct scatter_op {
    const double *x;
    const cmg_size *map;
    T *y;
    template <int W>
    __device__ void run(cmg_size i) const
    {
        static_assert(W == 1, "values are scattered one by one");
        y[map[i]] = (T)x[i];
    }
};

cmg_status cmgi_cuda_fill(cmg_context *ctx, cmg_precision p, cmg_size n, double value, void *x)
{
    if (p == CMG_FP64) {
        return each<WIDE<double>>(ctx, n, aligned(x), fill_op<double>{value, (double *)x});
    }
    return each<WIDE<float>>(ctx, n, aligned(x), fill_op<float>{(float)value, (float *)x});
}

cmg_status cmgi_cuda_convert(cmg_context *ctx, cmg_size n, cmg_precision px, const void *x,
                             cmg_precision py, void *y)
{
    const bool wide = aligned(x) && aligned(y);
    if (px == CMG_FP64 && py == CMG_FP64) {
        return copy(ctx, n, (const double *)x, (double *)y);
    }
    if (px == CMG_FP64) {
        return each<2>(ctx, n, wide, convert_op<double, float>{(const double *)x, (float *)y});
    }
    if (py == CMG_FP64) {
        return each<2>(ctx, n, wide, convert_op<float, double>{(const float *)x, (double *)y});
    }
    return copy(ctx, n, (const float *)x, (float *)y);
}

cmg_status cmgi_cuda_axpby(cmg_context *ctx, cmg_precision p, cmg_size n, double a, const void *x,
                           double b, void *y)
{
    const bool wide = aligned(x) && aligned(y);
    if (p == CMG_FP64) {
        return each<WIDE<double>>(ctx, n, wide,
                                  axpby_op<double>{a, (const double *)x, b, (double *)y});
    }
    return each<WIDE<float>>(ctx, n, wide,
                             axpby_op<float>{(float)a, (const float *)x, (float)b, (float *)y});
}

template <typename TZ, typename T>
static cmg_status direction(cmg_context *ctx, cmg_size n, const double *num, const double *den,
                            const void *z, void *p)
{
    return each<WIDE<T>>(ctx, n, aligned(z) && aligned(p),
                         direction_op<TZ, T>{num, den, (const TZ *)z, (T *)p});
}

cmg_status cmgi_cuda_direction(cmg_context *ctx, cmg_size n, const double *num, const double *den,
                               cmg_precision pz, const void *z, cmg_precision pp, void *p)
{
    if (pp == CMG_FP32) {
        return direction<float, float>(ctx, n, num, den, z, p);
    }
    return pz == CMG_FP64 ? direction<double, double>(ctx, n, num, den, z, p)
                          : direction<float, double>(ctx, n, num, den, z, p);
}

cmg_status cmgi_cuda_permute(cmg_context *ctx, cmg_precision p, cmg_size n, const cmg_index *perm,
                             bool scatter, const void *x, void *y)
{
    if (p == CMG_FP64) {
        return each<1>(ctx, n, false,
                       permute_op<double>{perm, scatter, (const double *)x, (double *)y});
    }
    return each<1>(ctx, n, false, permute_op<float>{perm, scatter, (const float *)x, (float *)y});
}

cmg_status cmgi_cuda_scatter(cmg_context *ctx, cmg_precision p, cmg_size n, const double *x,
                             const cmg_size *map, void *y)
{
    if (p == CMG_FP64) {
        return each<1>(ctx, n, false, scatter_op<double>{x, map, (double *)y});
    }
    return each<1>(ctx, n, false, scatter_op<float>{x, map, (float *)y});
}

/* ------------------------------------------------------------------ reductions */

/* What is done with a sum when it is complete. */
struct keep_sum {
    double *result;
    __device__ void finish(double sum) const
    {
        *result = sum;
    }
};

struct note_update {
    cmgi_cg_update u;
    __device__ void finish(double sum) const
    {
        *u.rr = sum;
        cmgi_cg_note(&u);
    }
};

/* Sum of f(i) over a block's share, packs blockIdx, blockIdx + blocks, ...; finish(sum) or, as one
 * block of many, out[block] = sum. */
template <int BLOCK, int W, typename F, typename END>
__global__ void __launch_bounds__(BLOCK) reduce_kernel(cmg_size n, F f, END end, double *out)
{
    const cmg_size step = (cmg_size)gridDim.x * BLOCK * W;
    double sum = 0;
#pragma unroll 2
    for (cmg_size i = ((cmg_size)blockIdx.x * BLOCK + threadIdx.x) * W; i < n; i += step) {
        if (i + W <= n) {
            sum += f.template run<W>(i);
        } else {
            for (cmg_size k = i; k < n; ++k) {
                sum += f.template run<1>(k);
            }
        }
    }
    sum = cmgi_block_sum<BLOCK>(sum);
    if (threadIdx.x == 0 && out != NULL) {
        out[blockIdx.x] = sum;
    } else if (threadIdx.x == 0) {
        end.finish(sum);
    }
}

template <typename END>
__global__ void __launch_bounds__(CMGI_CUDA_PARTIALS)
    sum_kernel(const double *partials, int count, END end)
{
    const double sum =
        cmgi_block_sum<CMGI_CUDA_PARTIALS>((int)threadIdx.x < count ? partials[threadIdx.x] : 0.0);
    if (threadIdx.x == 0) {
        end.finish(sum);
    }
}

template <int W, typename F, typename END>
static cmg_status reduce_packs(cmg_context *ctx, cmg_size n, const F &f, const END &end)
{
    const cudaStream_t stream = cmgi_stream(ctx);
    if (n <= SINGLE_UP_TO) {
        reduce_kernel<SINGLE_BLOCK, W><<<1, SINGLE_BLOCK, 0, stream>>>(n, f, end, NULL);
        return CMGI_LAUNCHED(ctx);
    }
    const cmg_size most = CMGI_CUDA_PARTIALS;
    const cmg_size wanted = (n + (cmg_size)THREADS * W - 1) / ((cmg_size)THREADS * W);
    const int blocks = (int)(wanted < most ? wanted : most);
    reduce_kernel<THREADS, W><<<blocks, THREADS, 0, stream>>>(n, f, end, ctx->partials);
    CMGI_TRY(CMGI_LAUNCHED(ctx));
    sum_kernel<<<1, CMGI_CUDA_PARTIALS, 0, stream>>>(ctx->partials, blocks, end);
    return CMGI_LAUNCHED(ctx);
}

template <int W, typename F, typename END>
static cmg_status reduce(cmg_context *ctx, cmg_size n, bool wide, const F &f, const END &end)
{
    const cmgi_device_guard guard(ctx);
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
        const double d = *u.pq;
        T *r = (T *)u.r;
        pack<T, W> vr = load<W>(r + i);
        double sum = 0;
        if (!(d > 0) || (u.stop != NULL && u.stop->running == 0)) {
#pragma unroll
            for (int k = 0; k < W; ++k) {
                sum += (double)vr.v[k] * (double)vr.v[k];
            }
            return sum;
        }
        const T alpha = (T)(*u.rz / d);
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
        if (u.single != NULL) {
            pack<float, W> rounded;
#pragma unroll
            for (int k = 0; k < W; ++k) {
                rounded.v[k] = (float)vr.v[k];
            }
            store<W>(u.single + i, rounded);
        }
        return sum;
    }
};

cmg_status cmgi_cuda_dot(cmg_context *ctx, cmg_precision p, cmg_size n, const void *x,
                         const void *y, double *result)
{
    const bool wide = aligned(x) && aligned(y);
    if (p == CMG_FP64) {
        return reduce<WIDE<double>>(
            ctx, n, wide, dot_op<double>{(const double *)x, (const double *)y}, keep_sum{result});
    }
    return reduce<WIDE<float>>(ctx, n, wide, dot_op<float>{(const float *)x, (const float *)y},
                               keep_sum{result});
}

cmg_status cmgi_cuda_sum(cmg_context *ctx, cmg_size n, const double *x, double *result)
{
    return reduce<WIDE<double>>(ctx, n, aligned(x), sum_op{x}, keep_sum{result});
}

cmg_status cmgi_cuda_cg_update(cmg_context *ctx, cmg_size n, const cmgi_cg_update *u)
{
    const bool wide =
        aligned(u->p) && aligned(u->q) && aligned(u->x) && aligned(u->r) && aligned(u->single);
    if (u->precision == CMG_FP64) {
        return reduce<WIDE<double>>(ctx, n, wide, cg_update_op<double>{*u}, note_update{*u});
    }
    return reduce<WIDE<float>>(ctx, n, wide, cg_update_op<float>{*u}, note_update{*u});
}

__global__ void stop_kernel(cmgi_stop *stop, const double *rr)
{
    cmgi_stop_note(stop, 1, 1, *rr);
}

cmg_status cmgi_cuda_stop_note(cmg_context *ctx, cmgi_stop *stop, const double *rr)
{
    const cmgi_device_guard guard(ctx);
    stop_kernel<<<1, 1, 0, cmgi_stream(ctx)>>>(stop, rr);
    return CMGI_LAUNCHED(ctx);
}

__global__ void begin_kernel(cmgi_stop *stop, const cmgi_limits limits, const double *bb,
                             const double *rr)
{
    cmgi_stop_begin(stop, &limits, *bb, *rr);
}

cmg_status cmgi_cuda_stop_begin(cmg_context *ctx, cmgi_stop *stop, const cmgi_limits *limits,
                                const double *bb, const double *rr)
{
    const cmgi_device_guard guard(ctx);
    begin_kernel<<<1, 1, 0, cmgi_stream(ctx)>>>(stop, *limits, bb, rr);
    return CMGI_LAUNCHED(ctx);
}

__global__ void exact_kernel(cmgi_stop *stop, const double *rr)
{
    stop->exact = sqrt(*rr);
}

cmg_status cmgi_cuda_stop_exact(cmg_context *ctx, cmgi_stop *stop, const double *rr)
{
    const cmgi_device_guard guard(ctx);
    exact_kernel<<<1, 1, 0, cmgi_stream(ctx)>>>(stop, rr);
    return CMGI_LAUNCHED(ctx);
}

cudaError_t cmgi_cuda_probe(void)
{
    cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, (const void *)sum_kernel<keep_sum>);
}
