/*
 * CSR products by tiles; csr.h says what a tile is. Entries are multiplied as they lie in
 * memory, into shared memory; then every thread walks the same number of steps along the tile, a
 * step being an entry to add or a row to end. What a thread leaves of its last row, the threads
 * behind it add to their first: a segmented scan in a fixed order, so that runs repeat to the bit.
 */
#include "spmv/spmv.cuh"

extern "C" {
#include "spmv/csr.h"
}

enum { THREADS = CMGI_TILE_THREADS, ITEMS = CMGI_TILE_ITEMS, WARPS = THREADS / 32 };

/* Sum of v[k] x[c[k]] for k < n by the whole block, valid in thread 0. */
template <typename T>
__device__ T long_sum(int n, const cmg_index *__restrict__ c, const T *__restrict__ v,
                      const T *__restrict__ x)
{
    const int tid = (int)threadIdx.x;
    const int steps = tid < n ? (n - tid + THREADS - 1) / THREADS : 0;
    return cmgi_block_sum<THREADS>(cmgi_lane_sum<8>(v + tid, c + tid, steps, (cmg_size)THREADS, x));
}

/* sums[k] = v[k] x[c[k]] for k < n, every thread with all its loads in flight. */
template <typename T>
__device__ void multiply(int n, const cmg_index *__restrict__ c, const T *__restrict__ v,
                         const T *__restrict__ x, T *sums)
{
    const int tid = (int)threadIdx.x;
    cmg_index j[ITEMS];
    T a[ITEMS];
#pragma unroll
    for (int u = 0; u < ITEMS; ++u) {
        const int k = tid + u * THREADS;
        j[u] = k < n ? cmgi_load_once(c + k) : -1;
        a[u] = k < n ? cmgi_load_once(v + k) : T(0);
    }
#pragma unroll
    for (int u = 0; u < ITEMS; ++u) {
        if (j[u] >= 0) {
            sums[tid + u * THREADS] = a[u] * __ldg(x + j[u]);
        }
    }
}

/*
 * What the threads before this one have left open for its first row: the sum of `tail` back to the
 * last thread that ended a row, that one included.
 */
template <typename T>
__device__ T carried(T tail, bool ended)
{
    __shared__ T warp_tail[WARPS];
    __shared__ bool warp_ended[WARPS];
    const int lane = (int)threadIdx.x % 32;
    const int warp = (int)threadIdx.x / 32;
    int closed = ended ? 1 : 0;
#pragma unroll
    for (int d = 1; d < 32; d <<= 1) {
        const T other = __shfl_up_sync(CMGI_ALL, tail, d);
        const int other_closed = __shfl_up_sync(CMGI_ALL, closed, d);
        if (lane >= d) {
            tail = closed ? tail : other + tail;
            closed |= other_closed;
        }
    }
    if (lane == 31) {
        warp_tail[warp] = tail;
        warp_ended[warp] = closed != 0;
    }
    const T before = __shfl_up_sync(CMGI_ALL, tail, 1);
    const int before_closed = __shfl_up_sync(CMGI_ALL, closed, 1);
    __syncthreads();
    T sum = 0;
    for (int k = 0; k < warp; ++k) {
        sum = warp_ended[k] ? warp_tail[k] : sum + warp_tail[k];
    }
    if (lane > 0) {
        sum = before_closed ? before : sum + before;
    }
    return sum;
}

/* Rows of the tile that end within the first d steps; ends[i] = entries up to the end of row i. */
__device__ __forceinline__ int rows_ended(const int *ends, int rows, int entries, int d)
{
    int low = d > entries ? d - entries : 0;
    int high = d < rows ? d : rows;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (ends[middle] < d - middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The products in sums[0 .. entries-1] become row sums after them. */
template <typename T>
__device__ void add_up(int rows, int entries, const int *ends, T *sums)
{
    const int begin = min((int)threadIdx.x * ITEMS, rows + entries);
    const int steps = min(ITEMS, rows + entries - begin);
    int i = rows_ended(ends, rows, entries, begin);
    int j = begin - i;
    int first = -1; /* row that this thread ends first */
    T head = 0;
    T s = 0;
    for (int k = 0; k < steps; ++k) {
        if (j < ends[i]) {
            s += sums[j++];
            continue;
        }
        if (first < 0) {
            first = i;
            head = s;
        } else {
            sums[entries + i] = s;
        }
        s = 0;
        ++i;
    }
    const T carry = carried(s, first >= 0);
    if (first >= 0) {
        sums[entries + first] = carry + head;
    }
}

template <typename T, cmgi_wb_kind KIND>
__global__ void __launch_bounds__(THREADS)
    tiles_kernel(const cmgi_tile *__restrict__ tiles, const cmg_size *__restrict__ indptr,
                 const cmg_index *__restrict__ columns, const T *__restrict__ values,
                 const T *__restrict__ x, T *parts, const typename cmgi_wb_of<T>::type f)
{
    __shared__ T sums[CMGI_TILE];
    __shared__ int ends[CMGI_TILE];
    const cmgi_tile tile = tiles[blockIdx.x];
    if (tile.rows <= 1) {
        const T s = long_sum(tile.entries, columns + tile.entry, values + tile.entry, x);
        if (threadIdx.x == 0 && tile.rows == 1) {
            cmgi_put<KIND>(f, tile.row, s);
        } else if (threadIdx.x == 0) {
            parts[tile.row] = s;
        }
        return;
    }
    for (int i = (int)threadIdx.x; i < tile.rows; i += THREADS) {
        ends[i] = (int)(indptr[tile.row + i + 1] - tile.entry);
    }
    multiply(tile.entries, columns + tile.entry, values + tile.entry, x, sums);
    __syncthreads();
    add_up(tile.rows, tile.entries, ends, sums);
    __syncthreads();
    for (int i = (int)threadIdx.x; i < tile.rows; i += THREADS) {
        cmgi_put<KIND>(f, tile.row + i, sums[tile.entries + i]);
    }
}

template <typename T, cmgi_wb_kind KIND>
__global__ void __launch_bounds__(THREADS)
    split_kernel(const cmgi_split_row *__restrict__ split, const T *__restrict__ parts,
                 const typename cmgi_wb_of<T>::type f)
{
    const cmgi_split_row mine = split[blockIdx.x];
    T s = 0;
    for (int k = (int)threadIdx.x; k < mine.parts; k += THREADS) {
        s += parts[mine.first + k];
    }
    s = cmgi_block_sum<THREADS>(s);
    if (threadIdx.x == 0) {
        cmgi_put<KIND>(f, mine.row, s);
    }
}

extern "C" cmg_status cmgi_csr_tiles_spmv_cuda(const cmg_matrix *A, const cmgi_writeback *w,
                                               const void *x)
{
    const cmgi_csr_storage *S = (const cmgi_csr_storage *)A->data;
    const cmgi_csr_tiles *tiles = S->tiles;
    return cmgi_select(A, w, x, [&](auto zero, auto kind, const auto &f, const auto *of) {
        using T = decltype(zero);
        CMGI_TRY(CMGI_RUN(A->ctx, (unsigned)tiles->ntiles, THREADS, 0, tiles_kernel<T, kind>,
                          tiles->tile, S->indptr, S->columns, (const T *)A->values, of,
                          (T *)tiles->parts, f));
        return CMGI_RUN(A->ctx, (unsigned)tiles->nsplit, THREADS, 0, split_kernel<T, kind>,
                        tiles->split, (const T *)tiles->parts, f);
    });
}
