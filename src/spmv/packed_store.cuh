/*
 * How values of packed slices are stored, and the slices with a pattern of offsets and short rows:
 * a block of threads reads all entries of such a slice at once, eight lanes a row, collects them in
 * shared memory by their places, and writes the slice as it lies there.
 */
#pragma once
#include "spmv/packed_there.cuh"
#include "core/rest.h"
#include "spmv/stored.cuh"

/* The unit of a slice's values in 16 and 8 bits, a power of two. */
struct unit {
    double scale;
    double inverse; /* exact */
};

/* A value in fp32, and what it lacks. */
struct both {
    float value;
    int rest;
};

/* How values are stored: in a precision, or as both. */
template <typename T>
struct storage {
    enum { reduced = 0 };
    static __device__ __forceinline__ T keep(double value, const unit &)
    {
        return (T)value;
    }
    static __device__ __forceinline__ double lost(double, T, const unit &)
    {
        return 0;
    }
};
template <>
__device__ __forceinline__ both storage<both>::keep(double value, const unit &)
{
    return both{(float)value, cmgi_rest(value)};
}

/* Where they go. */
template <typename T>
struct outlet {
    T *values;
    __device__ __forceinline__ void put(cmg_size at, T value) const
    {
        values[at] = value;
    }
};
template <>
struct outlet<both> {
    float *values;
    int *rest;
    __device__ __forceinline__ void put(cmg_size at, both b) const
    {
        values[at] = b.value;
        rest[at] = b.rest;
    }
};

/* In 16 and 8 bits: what is lost in rounding goes to the diagonal. */
template <typename T, cmg_values KIND>
struct reduced_storage {
    enum { reduced = 1 };
    static __device__ __forceinline__ T keep(double value, const unit &u)
    {
        const float scaled = (float)(value * u.inverse);
        return KIND == CMG_VALUES_FP8 ? (T)cmgi_float_to_fp8(scaled)
                                      : (T)__half_as_ushort(__float2half_rn(scaled));
    }
    static __device__ __forceinline__ double lost(double value, T kept, const unit &u)
    {
        return value - (double)cmgi_stored<float, KIND>::get(kept) * u.scale;
    }
};
template <>
struct storage<uint16_t> : reduced_storage<uint16_t, CMG_VALUES_FP16> {
};
template <>
struct storage<uint8_t> : reduced_storage<uint8_t, CMG_VALUES_FP8> {
};

template <typename T>
static __device__ __forceinline__ int place_of(int e, int r)
{
    return cmgi_packed_place(storage<T>::reduced, e, r);
}

/* Entries a lane, and rows at once; the widest pattern: a grid has 27 offsets, and 34 at its sides.
 */
enum { EACH = 4, ROUNDS = SLICE * EIGHT / THREADS, WIDEST = NARROW, APART_BY = 8 };
static_assert(SHORT_ROW == EACH * EIGHT, "a lane has so many entries of a row");

/* Slice columns lie apart in shared memory: else all would begin in the same bank. */
static __device__ __forceinline__ int in_tile(int place)
{
    return place + (int)((unsigned)place / SLICE) * APART_BY;
}

/* The entries of a lane. */
struct entries {
    int length[ROUNDS];
    cmg_size begin[ROUNDS];
    int offset[ROUNDS][EACH];
    double value[ROUNDS][EACH];
};

static __device__ __forceinline__ void read_entries(const source &S, cmg_size first, int rows,
                                                    entries &mine)
{
    const int q = (int)threadIdx.x % EIGHT;
#pragma unroll
    for (int g = 0; g < ROUNDS; ++g) {
        const int r = g * (THREADS / EIGHT) + (int)threadIdx.x / EIGHT;
        mine.begin[g] = r < rows ? S.A.indptr[first + r] : 0;
        mine.length[g] = r < rows ? (int)(S.A.indptr[first + r + 1] - mine.begin[g]) : 0;
    }
#pragma unroll
    for (int g = 0; g < ROUNDS; ++g) {
        const int r = g * (THREADS / EIGHT) + (int)threadIdx.x / EIGHT;
        const cmg_index ref = cmgi_plan_reference(&S, r < rows ? first + r : S.A.rows - 1);
#pragma unroll
        for (int u = 0; u < EACH; ++u) {
            const bool real = q + u * EIGHT < mine.length[g];
            const cmg_size k = mine.begin[g] + q + u * EIGHT;
            mine.offset[g][u] = real ? cmgi_load_once(S.A.indices + k) - ref : 0;
            mine.value[g][u] = real ? cmgi_load_once(S.A.values + k) : 0;
        }
    }
}

template <typename T>
static __device__ __forceinline__ unit unit_for(double largest)
{
    const double scale =
        cmgi_reduced_scale(sizeof(T) == 1 ? CMG_VALUES_FP8 : CMG_VALUES_FP16, largest);
    return unit{scale, 1 / scale};
}

/* The unit of a slice that a block has, from the largest value that each thread has seen. */
template <typename T>
static __device__ unit unit_of_block(double largest)
{
    __shared__ double of_warp[WARPS];
    largest = cmgi_warp_max(largest);
    if (threadIdx.x % CMGI_WARP == 0) {
        of_warp[threadIdx.x / CMGI_WARP] = largest;
    }
    __syncthreads();
    for (int w = 0; w < WARPS; ++w) {
        largest = fmax(largest, of_warp[w]);
    }
    return unit_for<T>(largest);
}

/* The same from the entries, but for those that are kept apart. */
template <typename T>
static __device__ unit unit_of(const entries &mine, bool split)
{
    double largest = 0;
#pragma unroll
    for (int g = 0; g < ROUNDS; ++g) {
#pragma unroll
        for (int u = 0; u < EACH; ++u) {
            const bool packs = !split || mine.offset[g][u] != 0;
            largest = packs ? fmax(largest, fabs(mine.value[g][u])) : largest;
        }
    }
    return unit_of_block<T>(largest);
}

/* A slice with a pattern. */
template <typename T>
struct pattern_slice {
    cmg_size first; /* row */
    int rows;
    int width;
    cmg_index pattern[WIDEST];
    T tile[WIDEST * (SLICE + APART_BY)];
};

/* The losses of a slice's entries, rows apart by one for the banks. */
template <typename T>
struct losses {
    double of[storage<T>::reduced ? SLICE * (SHORT_ROW + 1) : 1];
    __device__ __forceinline__ double &at(int r, int e)
    {
        return of[storage<T>::reduced ? r * (SHORT_ROW + 1) + e : 0];
    }
};

/* Those of a row go to its diagonal, added up in the order of its entries, as on the host. */
template <typename T>
static __device__ __forceinline__ void put_apart(losses<T> &lost, const pattern_slice<T> &slice,
                                                 float *diagonal)
{
    const int r = (int)threadIdx.x;
    double sum = 0;
    for (int e = 0; r < slice.rows && e < SHORT_ROW; ++e) {
        sum += lost.at(r, e);
    }
    if (r < slice.rows) {
        diagonal[slice.first + r] = (float)sum;
    }
}

/* The lane's entries of round g into the tile. */
template <typename T>
static __device__ __forceinline__ void put_entries(const source &S, const target &to,
                                                   const entries &mine, int g, const unit &unit,
                                                   pattern_slice<T> &slice, losses<T> &losses)
{
    const int q = (int)threadIdx.x % EIGHT;
    const int r = g * (THREADS / EIGHT) + (int)threadIdx.x / EIGHT;
    const bool split = storage<T>::reduced && S.split_diagonal;
#pragma unroll
    for (int u = 0; u < EACH; ++u) {
        const int e = q + u * EIGHT;
        const int offset = mine.offset[g][u];
        const double value = mine.value[g][u];
        double lost = value; /* 0 where there is none */
        if (e < mine.length[g] && !(split && offset == 0)) {
            const int guess = split && offset > 0 && e > 0 ? e - 1 : e;
            const int column = cmgi_pattern_find(slice.pattern, slice.width, offset, guess);
            const int at = place_of<T>(column, r);
            const T kept = storage<T>::keep(value, unit);
            slice.tile[in_tile(at)] = kept;
            lost = storage<T>::lost(value, kept, unit);
            if (to.place != NULL) {
                to.place[mine.begin[g] + e] = (uint16_t)at;
            }
        }
        if (storage<T>::reduced) {
            losses.at(r, e) = lost;
        }
    }
}

/* Opens slice p; bases, rows and stored width of it are told. */
template <typename T>
static __device__ int open_pattern(const source &S, const target &to, cmg_size p,
                                   pattern_slice<T> &slice)
{
    const int thread = (int)threadIdx.x;
    const cmg_index *from = NULL;
    const int width = plan_head(to, p, &from) / 2;
    const int stored = to.pairs ? width + width % 2 : width;
    const cmg_size first = (S.slice != NULL ? S.slice[p] : p) * SLICE;
    const int rows = S.A.rows - first < SLICE ? (int)(S.A.rows - first) : (int)SLICE;
    if (thread < stored) {
        const cmg_index base = from[thread < width ? thread : width - 1];
        if (thread < width) {
            slice.pattern[thread] = base;
        }
        to.base[to.step[p] + thread] = base;
    }
    if (thread == 0) {
        slice.first = first;
        slice.rows = rows;
        slice.width = width;
    }
    if (thread == 0 && to.entry != NULL) {
        to.entry[p] = S.A.indptr[first];
        to.entry[p + 1] = S.A.indptr[first + rows]; /* as the next slice says */
    }
    for (int x = thread; x < stored * SLICE; x += THREADS) {
        slice.tile[in_tile(x)] = T{};
    }
    return stored;
}

/* The slices that is_short_pattern names, a block each. */
template <typename T>
__global__ void __launch_bounds__(THREADS)
    patterns_kernel(const source S, const target to, const outlet<T> out)
{
    __shared__ pattern_slice<T> slice;
    __shared__ losses<T> lost;
    const cmg_size p = blockIdx.x;
    if (!is_short_pattern(to, p)) {
        return;
    }
    const int stored = open_pattern(S, to, p, slice);
    __syncthreads();
    entries mine;
    unit u = {};
    read_entries(S, slice.first, slice.rows, mine);
    if (storage<T>::reduced) {
        u = unit_of<T>(mine, S.split_diagonal);
        if (threadIdx.x == 0) {
            to.scale[p] = (float)u.scale;
        }
    }
#pragma unroll
    for (int g = 0; g < ROUNDS; ++g) {
        put_entries(S, to, mine, g, u, slice, lost);
    }
    __syncthreads();
    if (storage<T>::reduced && to.diagonal != NULL) {
        put_apart(lost, slice, to.diagonal);
    }
    for (int x = (int)threadIdx.x; x < stored * SLICE; x += THREADS) {
        out.put(to.step[p] * SLICE + x, slice.tile[in_tile(x)]);
    }
}
