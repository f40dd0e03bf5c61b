/*
 * New values of packed slices on the device. The entries of a slice follow each other in the CSR,
 * and its storage is one piece: a block of threads collects the slice in shared memory, by the
 * places of its entries, and writes it as it lies there. The entries of a row are a slice column
 * apart, which the tile lengthens by one: else all would be in the same bank.
 */
#include "core/cuda.cuh"

extern "C" {
#include "spmv/compressed.h"
}

enum {
    THREADS = 256,
    SLICE = CMGI_SLICE,
    SPARE = 8,           /* slice columns over the mean: a grid has 27, and 34 at its sides */
    MOST_TILE = 48 << 10 /* bytes of shared memory that every device has */
};

static __device__ __forceinline__ int in_tile(int place)
{
    return place + (int)((unsigned)place / SLICE);
}

/* Where the values of a matrix go. */
template <typename T>
struct target {
    const cmg_size *step;
    const uint16_t *place; /* of each entry */
    T *values;
};

/* A slice of it, collected in shared memory where that has the room for it. */
template <typename T>
struct collector {
    T *tile;
    T *values;
    int places;
    int room;

    __device__ collector(const target<T> &to, T *shared, int columns)
        : tile(shared), values(to.values + to.step[blockIdx.x] * SLICE),
          places((int)((to.step[blockIdx.x + 1] - to.step[blockIdx.x]) * SLICE)),
          room(columns * SLICE)
    {
    }
    __device__ bool fits() const
    {
        return places <= room;
    }
    __device__ void clear() const
    {
        for (int e = (int)threadIdx.x; fits() && e < places; e += THREADS) {
            tile[in_tile(e)] = 0;
        }
    }
    __device__ void put(int at, double value) const
    {
        if (fits()) {
            tile[in_tile(at)] = (T)value;
        } else {
            values[at] = (T)value;
        }
    }
    __device__ void write() const
    {
        for (int e = (int)threadIdx.x; fits() && e < places; e += THREADS) {
            values[e] = tile[in_tile(e)];
        }
    }
};

template <typename T>
__global__ void __launch_bounds__(THREADS)
    refresh_kernel(const cmg_size *entry, const double *x, const target<T> to, int columns)
{
    extern __shared__ double shared_tile[];
    const collector<T> slice(to, (T *)shared_tile, columns);
    const cmg_size first = entry[blockIdx.x];
    const int count = (int)(entry[blockIdx.x + 1] - first);
    slice.clear();
    __syncthreads();
#pragma unroll 4
    for (int k = (int)threadIdx.x; k < count; k += THREADS) {
        const int at = cmgi_load_once(to.place + first + k);
        slice.put(at, cmgi_load_once(x + first + k));
    }
    __syncthreads();
    slice.write();
}

static const cmgi_packed_slices *slices_of(const cmg_matrix *A)
{
    return &((const cmgi_compressed *)A->data)->p;
}

template <typename T>
static cmg_status refresh(const cmg_matrix *A, const double *x)
{
    const cmgi_packed_slices *P = slices_of(A);
    const cmg_size column = (SLICE + 1) * (cmg_size)sizeof(T);
    const cmg_size wanted = 5 * P->steps / (4 * P->count) + SPARE;
    const cmg_size columns = wanted * column < MOST_TILE ? wanted : MOST_TILE / column;
    const target<T> to = {P->step, P->place, (T *)A->values};
    return CMGI_RUN(A->ctx, (unsigned)P->count, THREADS, (size_t)(columns * column),
                    refresh_kernel<T>, P->entry, x, to, (int)columns);
}

extern "C" cmg_status cmgi_packed_refresh_cuda(cmg_matrix *A, const double *values, bool *done)
{
    const cmgi_packed_slices *P = slices_of(A);
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
    const cmgi_packed_slices *P = slices_of(A);
    CMGI_ON_DEVICE(A->ctx);
    return CMGI_RUN(A->ctx, (unsigned)P->count, THREADS, 0, map_kernel, P->step, P->entry, P->place,
                    map);
}
