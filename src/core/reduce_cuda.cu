/*
 * Sums over vectors on the CUDA backend, and what CG does with them. Every block sums its share of
 * the packs, and the block that is done last sums the blocks' sums, in their order: a counter says
 * which block that is and has no part in the sum. The shares depend on the length alone, so that
 * repeated runs give the same bits. A kernel of its own for the second sum would take longer than
 * the sum, which in a solve of 30 thousand unknowns is a third of the time.
 *
 * Of several columns neighbouring threads take neighbouring columns of a row, up to 16 bytes each,
 * so that every load is a run of memory. A thread keeps to its columns and has their scalars in
 * registers. Sums of a column are made by the threads that have it, in the order of the threads,
 * then over the blocks by one more block.
 *
 * An operation on columns has their scalars, begin<W>(c, step) of columns c, c + step ..., and
 * run<W>(at, scalars) gives what the values from `at` on add to the sums.
 */
#include "core/pack.cuh"

#include <utility>

enum { THREADS = REDUCERS, SINGLE_BLOCK = 1024, SINGLE_UP_TO = 8192 };

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
    open<BLOCK>(f, 0);
    const cmg_size step = (cmg_size)gridDim.x * BLOCK * W;
    double sum = 0;
#pragma unroll 2
    for (cmg_size i = ((cmg_size)blockIdx.x * BLOCK + threadIdx.x) * W; i < n; i += step) {
        add_pack<W>(f, i, n, sum);
    }
    sum = cmgi_block_sum<BLOCK>(sum);
    if (END::LEAVES || gridDim.x > 1) {
        if (threadIdx.x == 0) {
            partials[blockIdx.x] = sum;
        }
        if (END::LEAVES || !last_block(arrived)) {
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

static int blocks_for(cmg_size n, int width)
{
    const cmg_size most = CMGI_CUDA_PARTIALS;
    const cmg_size wanted = (n + (cmg_size)THREADS * width - 1) / ((cmg_size)THREADS * width);
    return (int)(wanted < most ? wanted : most);
}

template <int W, typename F, typename END>
static cmg_status reduce_packs(cmg_context *ctx, cmg_size n, const F &f, const END &end)
{
    double *sums = ctx->partials + (END::LEAVES ? CMGI_CUDA_LEFT : 0);
    unsigned *arrived = (unsigned *)(ctx->partials + CMGI_CUDA_ARRIVED);
    return n <= SINGLE_UP_TO
               ? CMGI_RUN_EARLY(ctx, 1, SINGLE_BLOCK, 0, reduce_kernel<SINGLE_BLOCK, W, F, END>, n,
                                f, end, sums, arrived)
               : CMGI_RUN_EARLY(ctx, (unsigned)blocks_for(n, W), THREADS, 0,
                                reduce_kernel<THREADS, W, F, END>, n, f, end, sums, arrived);
}

template <int W, typename F, typename END>
static cmg_status reduce_one(cmg_context *ctx, cmg_size n, bool wide, const F &f, const END &end)
{
    CMGI_ON_DEVICE(ctx);
    return wide ? reduce_packs<W>(ctx, n, f, end) : reduce_packs<1>(ctx, n, f, end);
}

/* Such an operation on a single column. */
template <typename F>
struct of_one {
    F f;
    template <int BLOCK, typename G = F>
    __device__ auto open() -> decltype(std::declval<G &>().template open<BLOCK>())
    {
        f.template open<BLOCK>();
    }
    template <int W>
    __device__ double run(cmg_size i) const
    {
        const pack<double, W> terms = f.template run<W>(i, f.template begin<W>(0, 0));
        double sum = 0;
#pragma unroll
        for (int w = 0; w < W; ++w) {
            sum += terms.v[w];
        }
        return sum;
    }
};

/* f.begin and f.run for columns c .. c + W - 1 of every row; out[block k + c] = what was added up,
 * NULL = nothing is. */
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
        const pack<double, W> scalars = f.template begin<W>(c, 1);
#pragma unroll 4
        for (cmg_size i = (cmg_size)blockIdx.x * rows + lane; i < n;
             i += (cmg_size)gridDim.x * rows) {
            const pack<double, W> terms = f.template run<W>(i * k + c, scalars);
#pragma unroll
            for (int w = 0; w < W; ++w) {
                sum.v[w] += terms.v[w];
            }
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
static cmg_status columns_by(cmg_context *ctx, cmg_size n, int k, const F &f, double *out,
                             int *blocks)
{
    const cmg_size most = CMGI_CUDA_PARTIALS;
    const int rows = THREADS / (k / W);
    const cmg_size wanted = n > rows ? (n + rows - 1) / rows : 1;
    *blocks = (int)(wanted < most ? wanted : most);
    return CMGI_RUN(ctx, *blocks, THREADS, 0, columns_kernel<W, F>, n, k, f, out);
}

/* Several columns a thread where that divides k and the arrays are aligned. */
template <int W, typename F>
static cmg_status columns(cmg_context *ctx, cmg_size n, int k, bool wide, const F &f, double *out,
                          int *blocks)
{
    CMGI_ON_DEVICE(ctx);
    return k % W == 0 && wide ? columns_by<W>(ctx, n, k, f, out, blocks)
                              : columns_by<1>(ctx, n, k, f, out, blocks);
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
    if (k == 1) {
        return reduce_one<W>(ctx, n, wide, of_one<F>{f}, end);
    }
    CMGI_TRY(columns<W>(ctx, n, k, wide, f, ctx->partials, &blocks));
    CMGI_ON_DEVICE(ctx);
    return CMGI_RUN(ctx, 1, THREADS, 0, add_blocks<END>, blocks, k, ctx->partials, end);
}

template <typename T>
struct dot_op {
    const T *x;
    const T *y;
    template <int W>
    __device__ pack<double, W> begin(int, int) const
    {
        return {};
    }
    template <int W>
    __device__ pack<double, W> run(cmg_size at, const pack<double, W> &) const
    {
        const pack<T, W> a = load<W>(x + at);
        const pack<T, W> b = load<W>(y + at);
        pack<double, W> terms;
#pragma unroll
        for (int w = 0; w < W; ++w) {
            terms.v[w] = (double)a.v[w] * (double)b.v[w];
        }
        return terms;
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

/* The update of CG and the new r . r in one pass; a column that rests keeps x and r, whatever its p
 * and q have become. */
template <typename T>
struct update_op {
    cmgi_cg_update u;
    double factor; /* of one column */
    bool one;
    template <int BLOCK>
    __device__ void open()
    {
        one = true;
        if (u.kind == CMGI_CG_STEP) { /* what is read is on its way before the sum is made */
            const bool runs = cmgi_cg_runs(&u, 0);
            const double rz = *u.rz;
            const double pq = whole_of<BLOCK>(u.parts, u.pq);
            factor = runs ? cmgi_cg_factor(rz, pq) : 0;
        }
    }
    template <int W>
    __device__ pack<double, W> begin(int c, int step) const
    {
        pack<double, W> a;
#pragma unroll
        for (int w = 0; w < W; ++w) {
            a.v[w] = one ? factor : cmgi_cg_length(&u, c + w * step);
        }
        return a;
    }
    template <int W>
    __device__ pack<double, W> run(cmg_size at, const pack<double, W> &a) const
    {
        pack<T, W> r = load<W>((T *)u.r + at);
        pack<float, W> single;
        pack<double, W> terms;
        bool some = false;
#pragma unroll
        for (int w = 0; w < W; ++w) {
            some = some || a.v[w] != 0;
        }
        if (some) {
            const pack<T, W> p = load<W>((const T *)u.p + at);
            const pack<T, W> q = load<W>((const T *)u.q + at);
            pack<T, W> x = load<W>((T *)u.x + at);
#pragma unroll
            for (int w = 0; w < W; ++w) {
                x.v[w] = a.v[w] != 0 ? x.v[w] + (T)a.v[w] * p.v[w] : x.v[w];
                r.v[w] = a.v[w] != 0 ? r.v[w] - (T)a.v[w] * q.v[w] : r.v[w];
            }
            store<W>((T *)u.x + at, x);
            store<W>((T *)u.r + at, r);
        }
#pragma unroll
        for (int w = 0; w < W; ++w) {
            single.v[w] = (float)r.v[w];
            terms.v[w] = (double)r.v[w] * (double)r.v[w];
        }
        if (u.single != NULL) {
            store<W>(u.single + at, single);
        }
        if (u.copy != NULL) {
            store<W>((T *)(void *)u.copy + at, r);
        }
        if (u.zero != NULL) {
            store<W>((T *)(void *)u.zero + at, pack<T, W>{});
        }
        return terms;
    }
};

template <typename T>
struct directions_op {
    const double *num;
    const double *den;
    const T *z;
    double *p;
    template <int W>
    __device__ pack<double, W> begin(int c, int) const
    {
        pack<double, W> beta;
#pragma unroll
        for (int w = 0; w < W; ++w) {
            beta.v[w] = den[c + w] != 0 ? num[c + w] / den[c + w] : 0;
        }
        return beta;
    }
    template <int W>
    __device__ pack<double, W> run(cmg_size at, const pack<double, W> &beta) const
    {
        const pack<T, W> from = load<W>(z + at);
        pack<double, W> to = load<W>(p + at);
#pragma unroll
        for (int w = 0; w < W; ++w) {
            to.v[w] = (double)from.v[w] + (beta.v[w] != 0 ? beta.v[w] * to.v[w] : 0);
        }
        store<W>(p + at, to);
        return {};
    }
};

cmg_status cmgi_cuda_directions(cmg_context *ctx, cmg_size n, int k, const cmgi_direction *d)
{
    int blocks = 0;
    return in_precision(d->pz, [&](auto zero) {
        using T = decltype(zero);
        const directions_op<T> f = {d->num, d->den, (const T *)d->z, (double *)d->p};
        return columns<2>(ctx, n, k, aligned(d->z) && aligned(d->p), f, NULL, &blocks);
    });
}

cmg_status cmgi_cuda_dot(cmg_context *ctx, cmg_precision p, cmg_size n, int k, const void *x,
                         const void *y, double *result)
{
    return in_precision(p, [&](auto zero) {
        using T = decltype(zero);
        const dot_op<T> f = {(const T *)x, (const T *)y};
        return reduce<WIDE<T>>(ctx, n, k, aligned(x) && aligned(y), f, keep_sum{result});
    });
}

cmg_status cmgi_cuda_sum(cmg_context *ctx, cmg_size n, const double *x, double *result)
{
    return reduce_one<WIDE<double>>(ctx, n, aligned(x), sum_op{x}, keep_sum{result});
}

/* Notes a step of which the parts of (r, r) are there: one block. */
static __global__ void note_kernel(cmgi_cg_update u)
{
    cmgi_after_previous();
    with_whole<REDUCERS>(u.parts, [&](double rr) { note_update{u}.finish(0, rr); });
}

cmg_status cmgi_cuda_cg_update(cmg_context *ctx, cmg_size n, int k, const cmgi_cg_update *u)
{
    const bool wide = aligned(u->p) && aligned(u->q) && aligned(u->x) && aligned(u->r) &&
                      aligned(u->single) && aligned(u->copy) && aligned(u->zero);
    if (u->kind == CMGI_CG_SEMI && u->parts.count > 0) {
        CMGI_ON_DEVICE(ctx);
        return CMGI_RUN_EARLY(ctx, 1, REDUCERS, 0, note_kernel, *u);
    }
    if (k == 1 && u->precision == CMG_FP32) {
        return reduce_one<WIDE<float>>(ctx, n, wide, of_one<update_op<float>>{{*u, 0, false}},
                                       note_update{*u});
    }
    if (k == 1 && u->squares != NULL && n > SINGLE_UP_TO) {
        *u->squares =
            cmgi_addends{ctx->partials + CMGI_CUDA_LEFT, blocks_for(n, wide ? WIDE<double> : 1)};
        return reduce_one<WIDE<double>>(ctx, n, wide, of_one<update_op<double>>{{*u, 0, false}},
                                        leave_sums{});
    }
    return reduce<WIDE<double>>(ctx, n, k, wide, update_op<double>{*u, 0, false}, note_update{*u});
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

cmg_status cmgi_cuda_jacobi_step(cmg_context *ctx, cmg_size n, const cmgi_jacobi_step *s)
{
    const bool wide =
        aligned(s->inverse) && aligned(s->p) && aligned(s->q) && aligned(s->r) && aligned(s->z);
    CMGI_TRY(cmgi_cuda_dot(ctx, s->precision, n, 1, s->p, s->q, s->curvature));
    CMGI_TRY(in_precision(s->precision, [&](auto zero) {
        using T = decltype(zero);
        return reduce_one<WIDE<T>>(ctx, n, wide, jacobi_op<T>{*s}, keep_sum{s->rho + 1});
    }));
    const cmgi_direction p = cmgi_jacobi_direction(s);
    return ctx->backend->direction(ctx, n, 1, &p);
}

__global__ void test_kernel(const cmgi_test t)
{
    cmgi_after_previous();
    cmgi_test_column(&t, (int)threadIdx.x);
}

cmg_status cmgi_cuda_test(cmg_context *ctx, int k, const cmgi_test *t)
{
    CMGI_ON_DEVICE(ctx);
    return CMGI_RUN_EARLY(ctx, 1, (unsigned)k, 0, test_kernel, *t);
}

cudaError_t cmgi_cuda_probe(bool *early)
{
    cudaFuncAttributes attributes = {};
    const cudaError_t error = cudaFuncGetAttributes(&attributes, (const void *)test_kernel);
    *early = error == cudaSuccess && attributes.ptxVersion >= 90;
    return error;
}
