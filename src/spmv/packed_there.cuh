/*
 * How slices of a CSR on the device are packed; see packed_there.h. A warp takes a slice. It plans
 * it row by row, a lane an entry: the union of the rows' offsets, kept sorted in shared memory,
 * and, where that is too wide, the least offset of every slice column. What is decided is a
 * function of these sets, so that no order of the lanes changes it.
 */
#pragma once
#include "core/cuda.cuh"

extern "C" {
#include "csr/resident.h"
#include "spmv/packed_there.h"
}

enum { WARP = 32, WARPS = 4, THREADS = WARP * WARPS, SLICE = CMGI_SLICE, EIGHT = 8 };
static const unsigned ALL = 0xffffffffU;

/* What the slices are made of. */
typedef struct source {
    cmg_csr A;
    const cmg_index *ref; /* NULL = the row + lead */
    cmg_index lead;
    const cmg_index *slice; /* list, NULL = 0, 1, ... */
    cmg_size count;
    int value_bytes;
    int room; /* for bases, a warp */
} source;

/* Where they are stored. */
typedef struct target {
    cmg_size *step;
    cmg_size *code;
    uint8_t *bytes;
    cmg_index *base;
    uint8_t *codes;
    uint16_t *place; /* NULL = not wanted */
    cmg_size *entry;
} target;

/* A slice as a warp sees it; the same in all lanes, the arrays in shared memory. */
struct plan {
    cmg_size first; /* row */
    int rows;
    int longest;
    int width;
    int bytes; /* of a code; 0 = pattern */
    bool ascends;
    int *pattern;
    int *base;
};

static __device__ __forceinline__ cmg_index reference(const source &S, cmg_size i)
{
    return S.ref != NULL ? S.ref[i] : (cmg_index)i + S.lead;
}

static __device__ __forceinline__ cmg_size warp_max(cmg_size v)
{
    for (int d = WARP / 2; d > 0; d >>= 1) {
        const cmg_size other = __shfl_xor_sync(ALL, v, d);
        v = other > v ? other : v;
    }
    return v;
}

/* Widest patterns that are taken; see packed_plan.c. */
static __device__ __forceinline__ int always_worth(int longest)
{
    return longest + longest / 4 + 1;
}

static __device__ __forceinline__ int worth_beside(int value_bytes, int longest, int bytes)
{
    const int widest = longest * (value_bytes + bytes) / value_bytes;
    const int most = widest < 2 * longest ? widest : 2 * longest;
    return most > always_worth(longest) ? most : always_worth(longest);
}

static __device__ __forceinline__ int find(const int *pattern, int width, int offset, int guess)
{
    if (guess < width && pattern[guess] == offset) {
        return guess;
    }
    int low = 0;
    int high = width;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (pattern[middle] < offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < width && pattern[low] == offset ? low : -1;
}

/* A new offset into the sorted pattern, by all lanes. */
static __device__ void insert(plan &P, int offset, int lane)
{
    enum { EACH = (CMGI_PATTERN + WARP - 1) / WARP };
    int kept[EACH];
    int below = 0;
    for (int k = 0; k < EACH; ++k) {
        const int at = k * WARP + lane;
        kept[k] = at < P.width ? P.pattern[at] : INT32_MAX;
        below += at < P.width && kept[k] < offset;
    }
    for (int d = WARP / 2; d > 0; d >>= 1) {
        below += __shfl_xor_sync(ALL, below, d);
    }
    __syncwarp();
    for (int k = 0; k < EACH; ++k) {
        const int at = k * WARP + lane;
        if (at >= below && at < P.width) {
            P.pattern[at + 1] = kept[k];
        }
    }
    if (lane == 0) {
        P.pattern[below] = offset;
    }
    ++P.width;
    __syncwarp();
}

/* Adds the offsets of a row; false when the pattern becomes too wide. */
static __device__ bool add_row(const source &S, plan &P, cmg_size i, int most, int lane)
{
    const cmg_size begin = S.A.indptr[i];
    const int length = (int)(S.A.indptr[i + 1] - begin);
    const cmg_index ref = reference(S, i);
    for (int first = 0; first < length; first += WARP) {
        const int e = first + lane;
        const bool real = e < length;
        const int offset = real ? S.A.indices[begin + e] - ref : 0;
        const bool descends = real && e > 0 && S.A.indices[begin + e - 1] - ref >= offset;
        P.ascends = !__any_sync(ALL, descends) && P.ascends;
        unsigned missing = __ballot_sync(ALL, real && find(P.pattern, P.width, offset, e) < 0);
        while (missing != 0) {
            const int one = __ffs((int)missing) - 1;
            if (P.width == CMGI_PATTERN || P.width >= most) {
                return false;
            }
            insert(P, __shfl_sync(ALL, offset, one), lane);
            missing &= missing - 1;
        }
    }
    return true;
}

static __device__ bool plan_pattern(const source &S, plan &P, int lane)
{
    const int most = worth_beside(S.value_bytes, P.longest, 4);
    P.width = 0;
    P.bytes = 0;
    P.ascends = true;
    for (int r = 0; r < P.rows; ++r) {
        if (!add_row(S, P, P.first + r, most, lane)) {
            return false;
        }
    }
    bool outside = false;
    for (int r = lane; r < P.rows && P.width > 0; r += WARP) {
        const cmg_size ref = reference(S, P.first + r);
        outside = outside || ref + P.pattern[0] < 0 || ref + P.pattern[P.width - 1] >= S.A.cols;
    }
    return !__any_sync(ALL, outside);
}

static __device__ void plan_codes(const source &S, plan &P, int lane)
{
    for (int e = lane; e < P.longest; e += WARP) {
        P.base[e] = INT32_MAX;
    }
    __syncwarp();
    for (int r = 0; r < P.rows; ++r) { /* a lane has the same slice columns in every row */
        const cmg_size begin = S.A.indptr[P.first + r];
        const int length = (int)(S.A.indptr[P.first + r + 1] - begin);
        const cmg_index ref = reference(S, P.first + r);
        for (int e = lane; e < length; e += WARP) {
            const int offset = S.A.indices[begin + e] - ref;
            P.base[e] = offset < P.base[e] ? offset : P.base[e];
        }
    }
    __syncwarp();
    cmg_size spread = 0;
    for (int r = 0; r < P.rows; ++r) {
        const cmg_size begin = S.A.indptr[P.first + r];
        const int length = (int)(S.A.indptr[P.first + r + 1] - begin);
        const cmg_index ref = reference(S, P.first + r);
        for (int e = lane; e < length; e += WARP) {
            const cmg_size code = (cmg_size)S.A.indices[begin + e] - ref - P.base[e];
            spread = code > spread ? code : spread;
        }
    }
    spread = warp_max(spread);
    P.width = P.longest;
    P.bytes = spread < 256 ? 1 : spread < 65536 ? 2 : 4;
}

/* Rows that lack an entry read inside; see packed_plan.c. */
static __device__ bool padding_fits(const source &S, const plan &P, int lane)
{
    const cmg_size largest = P.bytes == 1 ? 255 : P.bytes == 2 ? 65535 : INT32_MAX;
    bool bad = false;
    cmg_size low = INT32_MAX;
    cmg_size high = INT32_MIN;
    for (int e = lane; e < P.width; e += WARP) {
        low = P.base[e] < low ? P.base[e] : low;
        high = P.base[e] > high ? P.base[e] : high;
    }
    low = -warp_max(-low);
    high = warp_max(high);
    for (int r = lane; r < P.rows && P.width > 0; r += WARP) {
        const cmg_size ref = reference(S, P.first + r);
        bad = bad || ref + high >= S.A.cols || -(ref + low) > largest;
    }
    return !__any_sync(ALL, bad);
}

/* The plan of slice p of the list. */
static __device__ void make_plan(const source &S, cmg_size p, int lane, plan &P)
{
    const cmg_size slice = S.slice != NULL ? S.slice[p] : p;
    P.first = slice * SLICE;
    P.rows = S.A.rows - P.first < SLICE ? (int)(S.A.rows - P.first) : SLICE;
    cmg_size longest = 0;
    for (int r = lane; r < P.rows; r += WARP) {
        const cmg_size length = S.A.indptr[P.first + r + 1] - S.A.indptr[P.first + r];
        longest = length > longest ? length : longest;
    }
    P.longest = (int)warp_max(longest);
    const bool pattern = P.longest < CMGI_PATTERN && plan_pattern(S, P, lane);
    const int width = P.width;
    if (pattern && width <= always_worth(P.longest)) {
        return;
    }
    plan_codes(S, P, lane);
    if (pattern && width <= worth_beside(S.value_bytes, P.longest, P.bytes)) {
        P.width = width;
        P.bytes = 0;
        return;
    }
    if (!padding_fits(S, P, lane)) {
        P.bytes = 4;
        for (int e = lane; e < P.width; e += WARP) {
            P.base[e] = 0;
        }
        __syncwarp();
    }
}

/* The warp's part of the block's shared memory. */
static __device__ plan open_plan(const source &S, int *memory)
{
    plan P = {};
    P.pattern = memory + (threadIdx.x / WARP) * (CMGI_PATTERN + S.room);
    P.base = P.pattern + CMGI_PATTERN;
    return P;
}

static inline source source_of(const cmgi_compressor *B, cmg_size longest)
{
    source S = {};
    S.A = *B->from->device;
    S.ref = B->C->ref;
    S.lead = B->C->lead;
    S.slice = B->C->p.slice;
    S.count = B->C->p.count;
    S.value_bytes = B->value_bytes;
    S.room = (int)longest;
    return S;
}

static inline target target_of(const cmgi_compressor *B)
{
    const cmgi_packed_slices *P = &B->C->p;
    return target{P->step, P->code, P->bytes, P->base, P->codes, P->place, P->entry};
}

static inline size_t shared_bytes(const source &S)
{
    return (size_t)WARPS * (size_t)(CMGI_PATTERN + S.room) * sizeof(int);
}

/* packed_fill.cu: the slices as they are planned, into the storage. */
cmg_status cmgi_packed_fill(const cmgi_compressor *B, cmg_size longest);
