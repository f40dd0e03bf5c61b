/* The largest eigenvalue of D^-1 F by the power method on the device; sums in the order of
 * smooth.c. */
#include "transfer/smooth.cuh"

enum { THREADS = CMGI_POWER_BLOCK, LANES = CMGI_LANES };

/* Doubles from row to row where terms wait to be added up: an odd number of eights, so that two
 * rows are in other banks. */
enum { PITCH = cmgi_filtered::PIECE + LANES };

/* The terms of a row's kept entries, added up in their order in A_F by its lanes; `stage`: the
 * row's. */
template <typename T>
static __device__ __forceinline__ double sum_of_row(const cmgi_filtered &F, cmg_size i,
                                                    double *stage, T &term)
{
    const bool real = i < F.A.rows;
    const cmg_size begin = real ? F.A.indptr[i] : 0;
    const cmg_size end = real ? F.A.indptr[i + 1] : 0;
    double sum = 0;
    int before = 0; /* kept entries of earlier pieces */
    for (cmg_size first = begin; __any_sync(CMGI_ALL, first < end); first += F.PIECE) {
        const cmgi_piece piece(F, i, begin, first, end, cmgi_lane());
        const int here = __popc(piece.kept);
        double of[cmgi_piece::EACH];
#pragma unroll
        for (int c = 0; c < cmgi_piece::EACH; ++c) {
            of[c] = piece.has(c, cmgi_lane()) ? term(piece.column[c], piece.value[c]) : 0;
        }
#pragma unroll
        for (int c = 0; c < cmgi_piece::EACH; ++c) {
            if (piece.has(c, cmgi_lane())) {
                stage[piece.before(c, cmgi_lane())] = of[c];
            }
        }
        __syncwarp();
        for (int p = (cmgi_lane() - before) & (LANES - 1); p < here; p += LANES) {
            sum += stage[p];
        }
        __syncwarp();
        before += here;
    }
    return cmgi_lanes_sum(sum);
}

/* |f_ij|, and the diagonal on the way. */
struct sizes {
    cmg_size i;
    double diagonal;

    __device__ __forceinline__ double operator()(cmg_index j, double value)
    {
        diagonal += j == i ? value : 0;
        return fabs(value);
    }
};

/* f_ij x_j */
struct products {
    const double *x;

    __device__ __forceinline__ double operator()(cmg_index j, double value) const
    {
        return value * x[j];
    }
};

/* d = diagonal of A, where F is A; *bound = bits of the largest row sum of |D^-1 F|, which are
 * ordered like it */
__global__ void __launch_bounds__(THREADS)
    diagonal_kernel(const cmgi_filtered F, double *d, unsigned long long *bound)
{
    __shared__ double stages[THREADS / LANES][PITCH];
    const cmg_size i = cmgi_row_of_lanes(THREADS);
    sizes of = {i, 0};
    const double sum = sum_of_row(F, i, stages[threadIdx.x / LANES], of);
    const double diagonal = cmgi_lanes_sum(of.diagonal);
    double largest = i < F.A.rows && diagonal != 0 ? sum / fabs(diagonal) : 0;
    if (i < F.A.rows && cmgi_lane() == 0 && F.kept == NULL) {
        d[i] = diagonal;
    }
    for (int s = 16; s >= LANES; s >>= 1) {
        largest = fmax(largest, __shfl_xor_sync(CMGI_ALL, largest, s));
    }
    const unsigned long long bits = (unsigned long long)__double_as_longlong(largest);
    if (threadIdx.x % 32 == 0 && largest > 0 && bits > *(volatile unsigned long long *)bound) {
        atomicMax(bound, bits);
    }
}

__global__ void rough_kernel(cmg_size n, double *x)
{
    const cmg_size i = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    if (i < n) {
        x[i] = cmgi_rough_at(i);
    }
}

/* y = D^-1 F x */
__global__ void __launch_bounds__(THREADS)
    product_kernel(const cmgi_filtered F, const double *d, const double *x, double *y)
{
    __shared__ double stages[THREADS / LANES][PITCH];
    const cmg_size i = cmgi_row_of_lanes(THREADS);
    const products of = {x};
    const double sum = sum_of_row(F, i, stages[threadIdx.x / LANES], of);
    if (i < F.A.rows && threadIdx.x % LANES == 0) {
        y[i] = d[i] != 0 ? sum / d[i] : 0;
    }
}

static __device__ __forceinline__ void add_block(double xx, double xy, cmgi_power_sums *to)
{
    xx = cmgi_block_sum<THREADS>(xx);
    __syncthreads();
    xy = cmgi_block_sum<THREADS>(xy);
    if (threadIdx.x == 0) {
        to[blockIdx.x].v[0] = xx;
        to[blockIdx.x].v[1] = xy;
    }
}

__global__ void terms_kernel(cmg_size n, const double *d, const double *x, const double *y,
                             cmgi_power_sums *part)
{
    const cmg_size i = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    const bool real = i < n;
    add_block(real ? fabs(d[i]) * x[i] * x[i] : 0, real ? fabs(d[i]) * x[i] * y[i] : 0, part);
}

__global__ void add_kernel(cmg_size count, const cmgi_power_sums *part, cmgi_power_sums *to)
{
    const cmg_size k = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    add_block(k < count ? part[k].v[0] : 0, k < count ? part[k].v[1] : 0, to);
}

__global__ void scale_kernel(cmg_size n, const cmgi_power_sums *s, const double *y, double *x)
{
    const cmg_size i = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    if (i < n) {
        x[i] = y[i] * cmgi_power_scale(s);
    }
}

struct power {
    double *x;
    double *y;
    cmgi_power_sums *part[2];
    cmgi_power_sums *step; /* sums of each */
    unsigned long long *bound;
};

/* to = the sum of all parts of x^T D x and x^T A x, block by block until one is left */
static cmg_status add_up(cmg_context *ctx, const power *w, cmg_size n, cmgi_power_sums *to)
{
    cmg_size count = cmgi_grid(n, THREADS);
    for (int from = 0;; from = 1 - from) {
        const unsigned next = cmgi_grid(count, THREADS);
        add_kernel<<<next, THREADS, 0, cmgi_stream(ctx)>>>(count, w->part[from],
                                                           next == 1 ? to : w->part[1 - from]);
        CMGI_TRY(CMGI_LAUNCHED(ctx));
        if (next == 1) {
            return CMG_OK;
        }
        count = next;
    }
}

static cmg_status power_step(cmg_context *ctx, const cmgi_filtered *F, const double *d,
                             const power *w, cmgi_power_sums *sums)
{
    const cudaStream_t stream = cmgi_stream(ctx);
    const unsigned grid = cmgi_grid(F->A.rows, THREADS);
    product_kernel<<<cmgi_grid(F->A.rows * LANES, THREADS), THREADS, 0, stream>>>(*F, d, w->x,
                                                                                  w->y);
    CMGI_TRY(CMGI_LAUNCHED(ctx));
    terms_kernel<<<grid, THREADS, 0, stream>>>(F->A.rows, d, w->x, w->y, w->part[0]);
    CMGI_TRY(CMGI_LAUNCHED(ctx));
    CMGI_TRY(add_up(ctx, w, F->A.rows, sums));
    scale_kernel<<<grid, THREADS, 0, stream>>>(F->A.rows, sums, w->y, w->x);
    return CMGI_LAUNCHED(ctx);
}

static cmg_status open_power(cmg_context *ctx, cmg_size n, power *w)
{
    CMGI_TRY(cmgi_alloc_device(ctx, n, sizeof *w->x, &w->x));
    CMGI_TRY(cmgi_alloc_device(ctx, n, sizeof *w->y, &w->y));
    CMGI_TRY(cmgi_alloc_device(ctx, cmgi_grid(n, THREADS), sizeof *w->part[0], &w->part[0]));
    CMGI_TRY(cmgi_alloc_device(ctx, cmgi_grid(n, THREADS), sizeof *w->part[1], &w->part[1]));
    CMGI_TRY(cmgi_alloc_device(ctx, CMGI_POWER_STEPS, sizeof *w->step, &w->step));
    CMGI_TRY(cmgi_alloc_device(ctx, 1, sizeof *w->bound, &w->bound));
    return cmgi_cuda_clear(ctx, w->bound, sizeof *w->bound);
}

cmg_status cmgi_largest_there(cmg_context *ctx, const cmgi_filtered *F, double *d, double *lambda)
{
    const cudaStream_t stream = cmgi_stream(ctx);
    cmgi_power_sums step[CMGI_POWER_STEPS];
    power w = {};
    double bound = 0;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, open_power(ctx, F->A.rows, &w));
    diagonal_kernel<<<cmgi_grid(F->A.rows * LANES, THREADS), THREADS, 0, stream>>>(*F, d, w.bound);
    CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
    rough_kernel<<<cmgi_grid(F->A.rows, THREADS), THREADS, 0, stream>>>(F->A.rows, w.x);
    CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
    for (int k = 0; k < CMGI_POWER_STEPS; ++k) {
        CMGI_TRY_GOTO(done, power_step(ctx, F, d, &w, w.step + k));
    }
    CMGI_TRY_GOTO(done, cmgi_to_host(ctx, step, w.step, sizeof step));
    CMGI_TRY_GOTO(done, cmgi_to_host(ctx, &bound, w.bound, sizeof bound));
    *lambda = cmgi_power_result(step, bound);
done:
    void *const arrays[] = {w.x, w.y, w.part[0], w.part[1], w.step, w.bound};
    for (size_t k = 0; k < sizeof arrays / sizeof arrays[0]; ++k) {
        cmgi_free_device(ctx, arrays[k]);
    }
    return status;
}
