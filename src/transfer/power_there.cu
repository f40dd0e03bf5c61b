/* The largest eigenvalue of D^-1 A by the power method on the device; sums in the order of
 * tentative.c. */
#include "transfer/aggregation.cuh"

enum { THREADS = CMGI_POWER_BLOCK, LANES = CMGI_ROW_LANES };
static const unsigned ALL = 0xffffffffU;

static __device__ __forceinline__ double group_sum(double s)
{
#pragma unroll
    for (int d = LANES / 2; d > 0; d >>= 1) {
        s += __shfl_xor_sync(ALL, s, d);
    }
    return s;
}

/* d = diagonal of A; *bound = bits of the largest row sum of |D^-1 A|, which are ordered like it */
__global__ void diagonal_kernel(const cmg_csr A, double *d, unsigned long long *bound)
{
    const cmg_size i = ((cmg_size)blockIdx.x * THREADS + threadIdx.x) / LANES;
    double diagonal = 0;
    double sum = 0;
    for (cmg_size k = i < A.rows ? A.indptr[i] + threadIdx.x % LANES : 0;
         i < A.rows && k < A.indptr[i + 1]; k += LANES) {
        diagonal += A.indices[k] == i ? A.values[k] : 0;
        sum += fabs(A.values[k]);
    }
    diagonal = group_sum(diagonal);
    sum = group_sum(sum);
    double largest = i < A.rows && diagonal != 0 ? sum / fabs(diagonal) : 0;
    if (i < A.rows && threadIdx.x % LANES == 0) {
        d[i] = diagonal;
    }
    for (int s = 16; s >= LANES; s >>= 1) {
        largest = fmax(largest, __shfl_xor_sync(ALL, largest, s));
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

/* y = D^-1 A x */
__global__ void product_kernel(const cmg_csr A, const double *d, const double *x, double *y)
{
    const cmg_size i = ((cmg_size)blockIdx.x * THREADS + threadIdx.x) / LANES;
    double sum = 0;
    for (cmg_size k = i < A.rows ? A.indptr[i] + threadIdx.x % LANES : 0;
         i < A.rows && k < A.indptr[i + 1]; k += LANES) {
        sum += A.values[k] * x[A.indices[k]];
    }
    sum = group_sum(sum);
    if (i < A.rows && threadIdx.x % LANES == 0) {
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

static cmg_status power_step(cmg_context *ctx, const cmg_csr *A, const double *d, const power *w,
                             cmgi_power_sums *sums)
{
    const cudaStream_t stream = cmgi_stream(ctx);
    const unsigned grid = cmgi_grid(A->rows, THREADS);
    product_kernel<<<cmgi_grid(A->rows * LANES, THREADS), THREADS, 0, stream>>>(*A, d, w->x, w->y);
    CMGI_TRY(CMGI_LAUNCHED(ctx));
    terms_kernel<<<grid, THREADS, 0, stream>>>(A->rows, d, w->x, w->y, w->part[0]);
    CMGI_TRY(CMGI_LAUNCHED(ctx));
    CMGI_TRY(add_up(ctx, w, A->rows, sums));
    scale_kernel<<<grid, THREADS, 0, stream>>>(A->rows, sums, w->y, w->x);
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

cmg_status cmgi_largest_there(cmg_context *ctx, const cmg_csr *A, double *d, double *lambda)
{
    const cudaStream_t stream = cmgi_stream(ctx);
    cmgi_power_sums step[CMGI_POWER_STEPS];
    power w = {};
    double bound = 0;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, open_power(ctx, A->rows, &w));
    diagonal_kernel<<<cmgi_grid(A->rows * LANES, THREADS), THREADS, 0, stream>>>(*A, d, w.bound);
    CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
    rough_kernel<<<cmgi_grid(A->rows, THREADS), THREADS, 0, stream>>>(A->rows, w.x);
    CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
    for (int k = 0; k < CMGI_POWER_STEPS; ++k) {
        CMGI_TRY_GOTO(done, power_step(ctx, A, d, &w, w.step + k));
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
