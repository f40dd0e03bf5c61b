/*
 * New values of packed slices on the device. The entries of a slice follow each other in the CSR,
 * and its storage is one piece: a block of threads collects the slice in shared memory, by the
 * value map, and writes it as it lies there. By the map alone, every value would be a write of its
 * own.
 */
#include "core/cuda.cuh"

extern "C" {
#include "spmv/compressed.h"
}

enum {
    THREADS = 128,
    WARP = 32,
    SLICE = CMGI_SLICE,
    WIDEST = 64 /* slice columns in shared memory */
};

/* The first entry that is not stored before `place`, by a warp: 32 places are looked at at once. */
static __device__ cmg_size first_from(const cmg_size *map, cmg_size nnz, cmg_size place, int lane)
{
    cmg_size low = 0;
    cmg_size high = nnz;
    while (low < high) {
        const cmg_size step = (high - low + WARP - 1) / WARP;
        const cmg_size k = low + lane * step;
        const int before = __popc(__ballot_sync(0xffffffffU, k < high && map[k] < place));
        const cmg_size next = low + before * step;
        if (before == 0) {
            break;
        }
        low = next - step + 1;
        high = next < high ? next : high;
    }
    return low;
}

template <typename T>
__global__ void __launch_bounds__(THREADS)
    refresh_kernel(cmg_size nnz, const cmg_size *step, const cmg_size *map, const double *x,
                   T *values)
{
    __shared__ T tile[WIDEST * SLICE];
    __shared__ cmg_size range[2];
    const int thread = (int)threadIdx.x;
    const cmg_size begin = step[blockIdx.x] * SLICE;
    const cmg_size places = step[blockIdx.x + 1] * SLICE - begin;
    const bool fits = places <= WIDEST * SLICE;
    if (thread < 2 * WARP) {
        const cmg_size place = thread < WARP ? begin : begin + places;
        range[thread / WARP] = first_from(map, nnz, place, thread % WARP);
    }
    for (cmg_size e = thread; fits && e < places; e += THREADS) {
        tile[e] = 0;
    }
    __syncthreads();
    for (cmg_size k = range[0] + thread; k < range[1]; k += THREADS) {
        const cmg_size at = map[k] - begin;
        const T value = (T)x[k];
        if (fits) {
            tile[at] = value;
        } else {
            values[begin + at] = value;
        }
    }
    __syncthreads();
    for (cmg_size e = thread; fits && e < places; e += THREADS) {
        values[begin + e] = tile[e];
    }
}

extern "C" cmg_status cmgi_packed_refresh_cuda(cmg_matrix *A, const double *values, bool *done)
{
    const cmgi_compressed *C = (const cmgi_compressed *)A->data;
    cmg_context *ctx = A->ctx;
    CMGI_ON_DEVICE(ctx);
    *done = C->block < 2 && C->t.count == 0 && C->p.slice == NULL && C->p.scale == NULL;
    if (!*done || C->p.count == 0) {
        return CMG_OK;
    }
    const unsigned grid = (unsigned)C->p.count;
    if (A->options.precision == CMG_FP64) {
        refresh_kernel<<<grid, THREADS, 0, cmgi_stream(ctx)>>>(A->nnz, C->p.step, A->value_map,
                                                               values, (double *)A->values);
    } else {
        refresh_kernel<<<grid, THREADS, 0, cmgi_stream(ctx)>>>(A->nnz, C->p.step, A->value_map,
                                                               values, (float *)A->values);
    }
    return CMGI_LAUNCHED(ctx);
}
