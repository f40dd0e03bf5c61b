/*
 * Values, codes and bases of packed slices from a CSR on the device: a warp plans its slice as
 * packed_there.cu has measured it, and brings it to the storage by eight slice columns at a time.
 */
#include "spmv/packed_there.cuh"
#include "spmv/rest.cuh"

/* A value as it is stored: whole numbers are what the fp32 value lacks. */
template <typename T>
static __device__ __forceinline__ T kept(double value)
{
    return (T)value;
}
template <>
__device__ __forceinline__ int kept<int>(double value)
{
    return cmgi_rest(value);
}

static __device__ __forceinline__ void store_code(uint8_t *codes, int bytes, cmg_size at,
                                                  cmg_size code)
{
    switch (bytes) {
    case 1:
        codes[at] = (uint8_t)code;
        break;
    case 2:
        ((uint16_t *)codes)[at] = (uint16_t)code;
        break;
    default:
        ((int32_t *)codes)[at] = (int32_t)code;
        break;
    }
}

/* Eight slice columns of a slice on their way to the storage: 8 lanes have a row, 4 rows at once,
 * and read neighbouring entries; what is stored is one piece. */
template <typename T>
struct shelf {
    T value[EIGHT * SLICE];
    int code[EIGHT * SLICE];
    int done[SLICE]; /* entries of a row that are stored */
};

/* A row as the eight lanes see it; one past the last row is empty, and refers to the last. */
struct strip {
    cmg_size begin;
    int length;
    cmg_index ref;
    int at; /* place in a slice column: rows r and r + 32 are neighbours */
};

static __device__ __forceinline__ strip open_strip(const source &S, const plan &P, int r)
{
    const bool real = r < P.rows;
    strip row;
    row.begin = real ? S.A.indptr[P.first + r] : 0;
    row.length = real ? (int)(S.A.indptr[P.first + r + 1] - row.begin) : 0;
    row.ref = cmgi_plan_reference(&S, real ? P.first + r : S.A.rows - 1);
    row.at = 2 * (r % CMGI_WARP) + r / CMGI_WARP;
    return row;
}

/* The entries of row r in slice columns from e0 on, of a pattern whose rows ascend: they are among
 * the next eight. */
template <typename T>
static __device__ __forceinline__ void take_pattern(const source &S, const plan &P, int r, int e0,
                                                    shelf<T> &to, uint16_t *place)
{
    const int q = (int)threadIdx.x % EIGHT;
    const unsigned mask = 0xffU << (threadIdx.x % CMGI_WARP / EIGHT * EIGHT);
    const strip row = open_strip(S, P, r);
    const int done = to.done[r];
    const cmg_size k = row.begin + done + q;
    int e = INT32_MAX;
    if (done + q < row.length) {
        e = cmgi_pattern_find(P.pattern, P.width, S.A.indices[k] - row.ref, e0 + q);
    }
    const bool here = e < e0 + EIGHT;
    if (here) {
        to.value[(e - e0) * SLICE + row.at] = kept<T>(S.A.values[k]);
        if (place != NULL) {
            place[k] = (uint16_t)(e * SLICE + row.at);
        }
    }
    const int count = __popc(__ballot_sync(mask, here) & mask);
    if (q == 0) {
        to.done[r] = done + count;
    }
}

/* Those of codes, in the given order; places past the end of a row read inside. */
template <typename T>
static __device__ __forceinline__ void take_codes(const source &S, const plan &P, int r, int e0,
                                                  shelf<T> &to, uint16_t *map)
{
    const int e = e0 + (int)threadIdx.x % EIGHT;
    const strip row = open_strip(S, P, r);
    const int place = (e - e0) * SLICE + row.at;
    if (e >= P.width) {
        return;
    }
    const bool real = e < row.length;
    const cmg_size low = (cmg_size)row.ref + P.base[e];
    const cmg_size k = row.begin + e;
    to.value[place] = real ? kept<T>(S.A.values[k]) : (T)0;
    to.code[place] = real ? (int)(S.A.indices[k] - low) : low < 0 ? (int)-low : 0;
    if (real && map != NULL) {
        map[k] = (uint16_t)(e * SLICE + row.at);
    }
}

/* Rows of a pattern whose columns do not ascend: entries look for their places. */
template <typename T>
static __device__ void scatter_rows(const source &S, const plan &P, cmg_size start, T *values,
                                    uint16_t *place)
{
    const int lane = (int)threadIdx.x % CMGI_WARP;
    for (int x = lane; x < P.width * SLICE; x += CMGI_WARP) {
        values[start + x] = (T)0;
    }
    __syncwarp();
    for (int r = lane; r < P.rows; r += CMGI_WARP) {
        const strip row = open_strip(S, P, r);
        for (cmg_size k = row.begin; k < row.begin + row.length; ++k) {
            const int e = cmgi_pattern_find(P.pattern, P.width, S.A.indices[k] - row.ref, 0);
            const int at = e * SLICE + row.at;
            values[start + at] = kept<T>(S.A.values[k]);
            if (place != NULL) {
                place[k] = (uint16_t)at;
            }
        }
    }
}

/* Slice columns e0 .. e0 + 7 from the CSR to the storage. */
template <typename T>
static __device__ void store_eight(const source &S, const plan &P, int e0, cmg_size start,
                                   const target &to, uint8_t *codes, shelf<T> &mine, T *values)
{
    const int lane = (int)threadIdx.x % CMGI_WARP;
    const int places = (P.width - e0 < EIGHT ? P.width - e0 : EIGHT) * SLICE;
    for (int x = lane; x < places && P.bytes == 0; x += CMGI_WARP) {
        mine.value[x] = (T)0;
    }
    __syncwarp();
    for (int first = 0; first < SLICE; first += CMGI_WARP / EIGHT) {
        const int r = first + lane / EIGHT;
        if (P.bytes == 0) {
            take_pattern(S, P, r, e0, mine, to.place);
        } else {
            take_codes(S, P, r, e0, mine, to.place);
        }
    }
    __syncwarp();
    for (int x = lane; x < places; x += CMGI_WARP) {
        values[start + (cmg_size)e0 * SLICE + x] = mine.value[x];
        if (P.bytes > 0) {
            store_code(codes, P.bytes, (cmg_size)e0 * SLICE + x, mine.code[x]);
        }
    }
    __syncwarp();
}

template <typename T>
__global__ void __launch_bounds__(THREADS) fill_kernel(const source S, const target to, T *values)
{
    extern __shared__ int shared_plans[];
    __shared__ shelf<T> shelves[WARPS];
    const cmg_size p = (cmg_size)blockIdx.x * WARPS + threadIdx.x / CMGI_WARP;
    const int lane = (int)threadIdx.x % CMGI_WARP;
    shelf<T> &mine = shelves[threadIdx.x / CMGI_WARP];
    if (p >= S.count) {
        return;
    }
    plan P = open_plan(S, shared_plans);
    make_plan(S, p, lane, P);
    const cmg_size step = to.step[p];
    if (to.entry != NULL && lane == 0) {
        to.entry[p] = S.A.indptr[P.first];
        to.entry[p + 1] = S.A.indptr[P.first + P.rows]; /* as the next slice says */
    }
    for (int e = lane; e < P.width; e += CMGI_WARP) {
        to.base[step + e] = P.bytes == 0 ? P.pattern[e] : P.base[e];
    }
    if (P.bytes == 0 && !P.ascends) {
        scatter_rows(S, P, step * SLICE, values, to.place);
        return;
    }
    for (int r = lane; r < SLICE; r += CMGI_WARP) {
        mine.done[r] = 0;
    }
    for (int e0 = 0; e0 < P.width; e0 += EIGHT) {
        store_eight(S, P, e0, step * SLICE, to, to.codes + to.code[p], mine, values);
    }
}

cmg_status cmgi_packed_fill(const cmgi_compressor *B, cmg_size longest)
{
    cmg_context *ctx = B->A->ctx;
    CMGI_ON_DEVICE(ctx);
    const source S = source_of(B, longest);
    const unsigned grid = cmgi_grid(S.count, WARPS);
    if (S.count == 0) {
        return CMG_OK;
    }
    if (B->C->p.rest != NULL) {
        fill_kernel<int>
            <<<grid, THREADS, shared_bytes(S), cmgi_stream(ctx)>>>(S, target_of(B), B->C->p.rest);
    } else if (B->A->options.precision == CMG_FP64) {
        fill_kernel<double><<<grid, THREADS, shared_bytes(S), cmgi_stream(ctx)>>>(
            S, target_of(B), (double *)B->A->values);
    } else {
        fill_kernel<float><<<grid, THREADS, shared_bytes(S), cmgi_stream(ctx)>>>(
            S, target_of(B), (float *)B->A->values);
    }
    return CMGI_LAUNCHED(ctx);
}
