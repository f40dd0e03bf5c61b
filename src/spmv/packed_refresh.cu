/*
 * New values of packed slices on the device. The entries of a slice follow each other in the CSR,
 * and its storage is one piece: a block of threads collects the slice in shared memory, by the
 * places of its entries, and writes it as it lies there.
 */
#include "core/cuda.cuh"

extern "C" {
#include "spmv/compressed.h"
}

enum {
    THREADS = 128,
    SLICE = CMGI_SLICE,
    WIDEST = 40 /* slice columns in shared memory: a grid has 27, and 34 at its sides */
};

template <typename T>
__global__ void __launch_bounds__(THREADS)
    refresh_kernel(const cmg_size *step, const cmg_size *entry, const uint16_t *place,
                   const double *x, T *values)
{
    __shared__ T tile[WIDEST * SLICE];
    const int thread = (int)threadIdx.x;
    const cmg_size begin = step[blockIdx.x] * SLICE;
    const int places = (int)(step[blockIdx.x + 1] * SLICE - begin);
    const cmg_size first = entry[blockIdx.x];
    const int count = (int)(entry[blockIdx.x + 1] - first);
    const bool fits = places <= WIDEST * SLICE;
    for (int e = thread; fits && e < places; e += THREADS) {
        tile[e] = 0;
    }
    __syncthreads();
#pragma unroll 4
    for (int k = thread; k < count; k += THREADS) {
        const int at = cmgi_load_once(place + first + k);
        const T value = (T)cmgi_load_once(x + first + k);
        if (fits) {
            tile[at] = value;
        } else {
            values[begin + at] = value;
        }
    }
    __syncthreads();
    for (int e = thread; fits && e < places; e += THREADS) {
        values[begin + e] = tile[e];
    }
}

template <typename T>
static cmg_status refresh(const cmg_matrix *A, const double *x)
{
    const cmgi_packed_slices *P = &((const cmgi_compressed *)A->data)->p;
    refresh_kernel<<<(unsigned)P->count, THREADS, 0, cmgi_stream(A->ctx)>>>(
        P->step, P->entry, P->place, x, (T *)A->values);
    return CMGI_LAUNCHED(A->ctx);
}

extern "C" cmg_status cmgi_packed_refresh_cuda(cmg_matrix *A, const double *values, bool *done)
{
    const cmgi_packed_slices *P = &((const cmgi_compressed *)A->data)->p;
    CMGI_ON_DEVICE(A->ctx);
    *done = P->place != NULL;
    if (!*done || P->count == 0) {
        return CMG_OK;
    }
    return A->options.precision == CMG_FP64 ? refresh<double>(A, values)
                                            : refresh<float>(A, values);
}

__global__ void map_kernel(const cmg_size *step, const cmg_size *entry, const uint16_t *place,
                           cmg_size *map)
{
    for (cmg_size k = entry[blockIdx.x] + threadIdx.x; k < entry[blockIdx.x + 1]; k += THREADS) {
        map[k] = step[blockIdx.x] * SLICE + place[k];
    }
}

extern "C" cmg_status cmgi_packed_map_cuda(const cmg_matrix *A, cmg_size *map)
{
    const cmgi_packed_slices *P = &((const cmgi_compressed *)A->data)->p;
    CMGI_ON_DEVICE(A->ctx);
    if (P->count == 0) {
        return CMG_OK;
    }
    map_kernel<<<(unsigned)P->count, THREADS, 0, cmgi_stream(A->ctx)>>>(P->step, P->entry, P->place,
                                                                        map);
    return CMGI_LAUNCHED(A->ctx);
}
