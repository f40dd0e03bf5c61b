/*
 * Energies of smooth vectors with matrices on the device; see energy.h. The vectors live on the
 * whole level, where the host takes balls of it: a pass over a matrix costs little here. Sums run
 * over blocks in a fixed order.
 */
#include "core/cuda.cuh"

extern "C" {
#include "core/random.h"
#include "csr/resident.h"
#include "transfer/energy_there.h"
}

enum { THREADS = 256, LANES = 8, AHEAD = 4, VECTORS = 3, SWEEPS = 8, SUMMERS = 1024 };
/* Rows whose basis functions are compared: as many warps as an H200 has at once. */
enum { SAMPLE = 1 << 13 };

struct triple {
    double v[VECTORS];
};

/* Sum over the lanes of a row of M x; a lane has AHEAD entries on their way at once. */
static __device__ __forceinline__ triple multiply_row(const cmg_csr &M, cmg_size i, const triple *x)
{
    const cmg_size lane = threadIdx.x % LANES;
    const cmg_size end = i < M.rows ? M.indptr[i + 1] : 0;
    triple sum = {};
    for (cmg_size first = i < M.rows ? M.indptr[i] + lane : 0; first < end;
         first += LANES * AHEAD) {
        cmg_index column[AHEAD];
        double a[AHEAD];
        triple from[AHEAD];
#pragma unroll
        for (int u = 0; u < AHEAD; ++u) { /* past the end the first again, its product dropped */
            const cmg_size k = first + LANES * u < end ? first + LANES * u : first;
            column[u] = M.indices[k];
            a[u] = M.values[k];
        }
#pragma unroll
        for (int u = 0; u < AHEAD; ++u) {
            from[u] = x[column[u]];
        }
#pragma unroll
        for (int u = 0; u < AHEAD; ++u) {
            for (int c = 0; c < VECTORS && first + LANES * u < end; ++c) {
                sum.v[c] += a[u] * from[u].v[c];
            }
        }
    }
#pragma unroll
    for (int d = LANES / 2; d > 0; d >>= 1) {
        for (int c = 0; c < VECTORS; ++c) {
            sum.v[c] += __shfl_xor_sync(CMGI_ALL, sum.v[c], d);
        }
    }
    return sum;
}

static __device__ __forceinline__ cmg_size row_of_thread(void)
{
    return ((cmg_size)blockIdx.x * THREADS + threadIdx.x) / LANES;
}

/* Whether a row is a Dirichlet condition; NULL = none is. */
static __device__ __forceinline__ bool is_fixed(const bool *fixed, cmg_size i)
{
    return fixed != NULL && fixed[i];
}

/* Zero in Dirichlet rows, where the steps of smooth_kernel leave it. */
__global__ void draw_kernel(cmg_size n, const bool *fixed, triple *x)
{
    const cmg_size i = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    for (int c = 0; i < n && c < VECTORS; ++c) {
        x[i].v[c] = is_fixed(fixed, i) ? 0 : cmgi_random_at(11, (uint64_t)(i * VECTORS + c));
    }
}

/* y = x - D^-1 C x / 2 */
__global__ void smooth_kernel(const cmg_csr C, const double *diagonal, const triple *x, triple *y)
{
    const cmg_size i = row_of_thread();
    const triple sum = multiply_row(C, i, x);
    if (i < C.rows && threadIdx.x % LANES == 0) {
        for (int c = 0; c < VECTORS; ++c) {
            y[i].v[c] = x[i].v[c] - sum.v[c] / diagonal[i] / 2;
        }
    }
}

/* y = M x, 0 in Dirichlet rows */
__global__ void multiply_kernel(const cmg_csr M, const bool *fixed, const triple *x, triple *y)
{
    const cmg_size i = row_of_thread();
    const triple sum = multiply_row(M, i, x);
    if (i < M.rows && threadIdx.x % LANES == 0) {
        y[i] = is_fixed(fixed, i) ? triple{} : sum;
    }
}

/* part[block] = sum over its rows of w_i (M x)_i */
__global__ void energy_kernel(const cmg_csr M, const triple *w, const triple *x, triple *part)
{
    const cmg_size i = row_of_thread();
    const triple sum = multiply_row(M, i, x);
    const bool mine = i < M.rows && threadIdx.x % LANES == 0;
    for (int c = 0; c < VECTORS; ++c) {
        const double s = cmgi_block_sum<THREADS>(mine ? w[i].v[c] * sum.v[c] : 0.0);
        if (threadIdx.x == 0) {
            part[blockIdx.x].v[c] = s;
        }
        __syncthreads();
    }
}

/* The entry of row j of R in column i, 0 where it has none; its columns ascend. */
static __device__ __forceinline__ double entry_of(const cmg_csr &R, cmg_size begin, cmg_size end,
                                                  cmg_index i)
{
    cmg_size low = begin;
    cmg_size high = end;
    while (low < high) {
        const cmg_size middle = low + (high - low) / 2;
        if (R.indices[middle] < i) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < end && R.indices[low] == i ? R.values[low] : 0;
}

/*
 * The largest factor between c_jj and (R A R^T)_jj of the rows j = 0, step, ...; a warp each. R is
 * taken as zero in Dirichlet columns, and its Dirichlet rows are left out.
 */
__global__ void diagonal_kernel(const cmg_csr A, const cmg_csr R, const bool *fine,
                                const bool *coarse, cmg_size step, const double *diagonal,
                                unsigned long long *factor)
{
    const cmg_size j = ((cmg_size)blockIdx.x * THREADS + threadIdx.x) / CMGI_WARP * step;
    double sum = 0;
    if (j >= R.rows || is_fixed(coarse, j)) {
        return;
    }
    const cmg_size begin = R.indptr[j];
    const cmg_size end = R.indptr[j + 1];
    for (cmg_size e = begin + threadIdx.x % CMGI_WARP; e < end; e += CMGI_WARP) {
        const cmg_size i = R.indices[e];
        double entry = 0; /* (A R^T)_ij */
#pragma unroll 4
        for (cmg_size k = A.indptr[i]; k < A.indptr[i + 1]; ++k) {
            const cmg_index c = A.indices[k];
            entry += is_fixed(fine, c) ? 0 : A.values[k] * entry_of(R, begin, end, c);
        }
        sum += is_fixed(fine, i) ? 0 : R.values[e] * entry;
    }
    sum = cmgi_warp_sum(sum);
    const double c = diagonal[j];
    if (threadIdx.x % CMGI_WARP == 0 && c > 0 && sum > 0) {
        const double worst = fmax(c / sum, sum / c);
        atomicMax(factor, (unsigned long long)__double_as_longlong(worst));
    }
}

typedef struct work {
    triple *x; /* coarse rows */
    triple *y;
    triple *fine;
    triple *left;
    triple *part;
} work;

static unsigned blocks(cmg_size rows)
{
    return cmgi_grid(rows * LANES, THREADS);
}

/* The sum of all parts, thread by thread in a fixed order. */
__global__ void sum_kernel(unsigned count, const triple *part, double *sum)
{
    for (int c = 0; c < VECTORS; ++c) {
        double mine = 0;
        for (unsigned b = threadIdx.x; b < count; b += SUMMERS) {
            mine += part[b].v[c];
        }
        mine = cmgi_block_sum<SUMMERS>(mine);
        if (threadIdx.x == 0) {
            sum[c] = mine;
        }
        __syncthreads();
    }
}

static cmg_status energies(cmg_context *ctx, const cmg_csr *M, const triple *w, const triple *x,
                           const work *W, double *sum)
{
    const unsigned parts = blocks(M->rows);
    energy_kernel<<<parts, THREADS, 0, cmgi_stream(ctx)>>>(*M, w, x, W->part);
    CMGI_TRY(CMGI_LAUNCHED(ctx));
    sum_kernel<<<1, SUMMERS, 0, cmgi_stream(ctx)>>>(parts, W->part, sum);
    return CMGI_LAUNCHED(ctx);
}

static cmg_status make_smooth(cmg_context *ctx, const cmgi_resident *C, const bool *fixed, work *W)
{
    draw_kernel<<<cmgi_grid(C->csr.rows, THREADS), THREADS, 0, cmgi_stream(ctx)>>>(C->csr.rows,
                                                                                   fixed, W->x);
    CMGI_TRY(CMGI_LAUNCHED(ctx));
    for (int sweep = 0; sweep < SWEEPS; ++sweep) {
        smooth_kernel<<<blocks(C->csr.rows), THREADS, 0, cmgi_stream(ctx)>>>(C->csr, C->diagonal,
                                                                             W->x, W->y);
        CMGI_TRY(CMGI_LAUNCHED(ctx));
        triple *swapped = W->x;
        W->x = W->y;
        W->y = swapped;
    }
    return CMG_OK;
}

static cmg_status prolong(cmg_context *ctx, const cmg_csr *P, const bool *fixed, const triple *x,
                          triple *y)
{
    multiply_kernel<<<blocks(P->rows), THREADS, 0, cmgi_stream(ctx)>>>(*P, fixed, x, y);
    return CMGI_LAUNCHED(ctx);
}

static cmg_status compare_diagonals(cmg_context *ctx, const cmgi_levels_there *l, const cmg_csr *R,
                                    double *factor)
{
    const cmg_size step = (R->rows + SAMPLE - 1) / SAMPLE;
    const cmg_size count = (R->rows + step - 1) / step;
    diagonal_kernel<<<cmgi_grid(count * CMGI_WARP, THREADS), THREADS, 0, cmgi_stream(ctx)>>>(
        l->A->csr, *R, l->fine, l->coarse, step, l->C->diagonal, (unsigned long long *)factor);
    return CMGI_LAUNCHED(ctx);
}

static void release(cmg_context *ctx, work *W)
{
    void *const arrays[] = {W->x, W->y, W->fine, W->left, W->part};
    for (size_t k = 0; k < sizeof arrays / sizeof arrays[0]; ++k) {
        cmgi_free_device(ctx, arrays[k]);
    }
}

/* With a given R the left vectors are R^T x, which takes its transpose; without, R = P^T. */
static cmg_status compare(cmg_context *ctx, const cmgi_levels_there *l, const cmg_csr *transposed,
                          work *W, cmgi_energies *e)
{
    const cmg_size n = l->A->csr.rows;
    const cmg_size coarse = l->C->csr.rows;
    const bool given = l->R != NULL;
    CMGI_TRY(cmgi_alloc_device(ctx, coarse, sizeof *W->x, &W->x));
    CMGI_TRY(cmgi_alloc_device(ctx, coarse, sizeof *W->y, &W->y));
    CMGI_TRY(cmgi_alloc_device(ctx, n, sizeof *W->fine, &W->fine));
    CMGI_TRY(cmgi_alloc_device(ctx, blocks(n > coarse ? n : coarse), sizeof *W->part, &W->part));
    CMGI_TRY(make_smooth(ctx, l->C, l->coarse, W));
    CMGI_TRY(energies(ctx, &l->C->csr, W->x, W->x, W, e->coarse));
    CMGI_TRY(prolong(ctx, &l->P->csr, l->fine, W->x, W->fine));
    if (given) {
        CMGI_TRY(cmgi_alloc_device(ctx, n, sizeof *W->left, &W->left));
        CMGI_TRY(prolong(ctx, transposed, l->fine, W->x, W->left));
    }
    CMGI_TRY(energies(ctx, &l->A->csr, given ? W->left : W->fine, W->fine, W, e->fine));
    return given ? CMG_OK : compare_diagonals(ctx, l, transposed, &e->single);
}

static cmg_status compare_levels(cmg_context *ctx, const cmgi_levels_there *l, cmgi_energies *e)
{
    cmg_csr transposed = {};
    work W = {};
    cmg_status status = CMG_OK;
    const cmgi_resident *of = l->R != NULL ? l->R : l->P;
    CMGI_TRY_GOTO(
        done, cmgi_resident_kernels_of(ctx)->transpose(ctx, &of->csr, of->rows.nnz, &transposed));
    CMGI_TRY_GOTO(done, compare(ctx, l, &transposed, &W, e));
done:
    release(ctx, &W);
    cmgi_resident_free_arrays(ctx, &transposed);
    return status;
}

extern "C" cmg_status cmgi_energies_cuda(cmg_context *ctx, const cmgi_levels_there *l, int count,
                                         cmgi_energies *e)
{
    CMGI_ON_DEVICE(ctx);
    cmgi_energies *there = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, count, sizeof *there, &there));
    CMGI_TRY_GOTO(done, cmgi_cuda_clear(ctx, there, (size_t)count * sizeof *there));
    for (int k = 0; k < count; ++k) {
        CMGI_TRY_GOTO(done, compare_levels(ctx, &l[k], &there[k]));
    }
    CMGI_TRY_GOTO(done, cmgi_to_host(ctx, e, there, (size_t)count * sizeof *there));
done:
    cmgi_free_device(ctx, there);
    return status;
}
