/* The largest eigenvalue of D^-1 F by the power method on the device; sums in the order of
 * smooth.c. */
#include "core/each.h"
#include "transfer/smooth.cuh"

#include "transfer/power.inc"

enum { THREADS = 256, LANES = CMGI_LANES };

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

static cmg_status multiply(cmg_context *ctx, const cmgi_power_matrix *A, const double *x, double *y)
{
    product_kernel<<<cmgi_grid(A->rows * LANES, THREADS), THREADS, 0, cmgi_stream(ctx)>>>(
        *(const cmgi_filtered *)A->of, A->d, x, y);
    return CMGI_LAUNCHED(ctx);
}

cmg_status cmgi_largest_there(cmg_context *ctx, const cmgi_filtered *F, double *d, double *lambda)
{
    const cmgi_power_matrix power = {F->A.rows, d, F, multiply};
    cmgi_pair step[CMGI_POWER_STEPS];
    unsigned long long *largest = NULL;
    double bound = 0;
    cmg_status status = CMG_OK;
    CMGI_TRY(cmgi_alloc_device(ctx, 1, sizeof *largest, &largest));
    CMGI_TRY_GOTO(done, cmgi_cuda_clear(ctx, largest, sizeof *largest));
    diagonal_kernel<<<cmgi_grid(F->A.rows * LANES, THREADS), THREADS, 0, cmgi_stream(ctx)>>>(
        *F, d, largest);
    CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
    CMGI_TRY_GOTO(done, cmgi_power_sums(ctx, CMGI_DEVICE, &power, step));
    CMGI_TRY_GOTO(done, cmgi_to_host(ctx, &bound, largest, sizeof bound));
    *lambda = cmgi_power_result(step, bound);
done:
    cmgi_free_device(ctx, largest);
    return status;
}
