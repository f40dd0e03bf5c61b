/*
 * How slices of a CSR on the device are packed; see packed_plan.h. A warp takes a slice. It plans
 * it as packed_plan.inc says, pattern and bases in shared memory.
 */
#pragma once
#include "core/cuda.cuh"

extern "C" {
#include "csr/resident.h"
#include "spmv/packed_plan.h"
}

enum { WARPS = 4, THREADS = CMGI_WARP * WARPS, SLICE = CMGI_SLICE, EIGHT = 8 };

typedef cmgi_plan_source source;
typedef cmgi_slice_plan plan;

/* Where they are stored. */
typedef struct target {
    cmg_size *step;
    cmg_size *code;
    uint8_t *bytes;
    cmg_index *base;
    uint8_t *codes;
    uint16_t *place; /* NULL = not wanted */
    cmg_size *entry;
    float *scale;    /* of values in 16 and 8 bits, else NULL */
    float *diagonal; /* kept apart; or NULL */
    bool pairs;      /* slice columns are stored two by two */
    cmg_index *kept; /* plans of up to KEPT - 1 bases: 2 width + ascends, -1 = longer, then the
                        bases; NARROWED = comes from fp64 (packed_narrow.cu) */
    bool patterns;   /* slices with a narrow pattern are filled apart (packed_store.cuh) */
} target;

enum { KEPT = 48, NARROW = 40, SHORT_ROW = 32, NARROWED = 2 * KEPT };

/* packed_plan.inc of a warp. */
#define PLAN static __device__ __forceinline__
enum { LANES = CMGI_WARP };

static __device__ __forceinline__ bool plan_any(bool b)
{
    return __any_sync(CMGI_ALL, b);
}
static __device__ __forceinline__ unsigned plan_ballot(bool b)
{
    return __ballot_sync(CMGI_ALL, b);
}
static __device__ __forceinline__ int plan_first(unsigned lanes)
{
    return __ffs((int)lanes) - 1;
}
static __device__ __forceinline__ int plan_count(unsigned lanes, int lane)
{
    return __popc(lane < LANES ? lanes & ((1U << lane) - 1) : lanes);
}
static __device__ __forceinline__ int plan_from(int v, int lane)
{
    return __shfl_sync(CMGI_ALL, v, lane);
}
static __device__ __forceinline__ void plan_sync()
{
    __syncwarp();
}
static __device__ __forceinline__ cmg_size plan_max(cmg_size v)
{
    return cmgi_warp_max(v);
}

/* A warp sees a row at once: a look at the one before would take as long. */
static __device__ __forceinline__ bool plan_repeats(const source *, const plan *, int)
{
    return false;
}

/* A new offset into the sorted pattern, by all lanes. */
static __device__ void plan_insert(plan *P, int offset, int lane)
{
    enum { EACH = (CMGI_PATTERN + CMGI_WARP - 1) / CMGI_WARP };
    int kept[EACH];
    int below = 0;
    for (int k = 0; k < EACH; ++k) {
        const int at = k * CMGI_WARP + lane;
        kept[k] = at < P->width ? P->pattern[at] : INT32_MAX;
        below += at < P->width && kept[k] < offset;
    }
    below = cmgi_warp_sum(below);
    __syncwarp();
    for (int k = 0; k < EACH; ++k) {
        const int at = k * CMGI_WARP + lane;
        if (at >= below && at < P->width) {
            P->pattern[at + 1] = kept[k];
        }
    }
    if (lane == 0) {
        P->pattern[below] = offset;
    }
    ++P->width;
    __syncwarp();
}

#include "spmv/packed_plan.inc"

/* The plan of slice p of the list, the same in all lanes. */
static __device__ void make_plan(const source &S, cmg_size p, int lane, plan &P)
{
    plan_slice(&S, S.slice != NULL ? S.slice[p] : p, lane, &P);
}

/* 2 width + ascends of a plan that was kept, -1 = it was not; *from: its bases. */
static __device__ __forceinline__ int plan_head(const target &to, cmg_size p,
                                                const cmg_index **from)
{
    *from = to.kept + p * KEPT + 1;
    return to.kept[p * KEPT];
}

static __device__ __forceinline__ bool is_narrowed(const target &to, cmg_size p)
{
    return to.kept[p * KEPT] == NARROWED;
}

/* Whether slice p is one that is filled apart. */
static __device__ __forceinline__ bool is_short_pattern(const target &to, cmg_size p)
{
    const cmg_index *from = NULL;
    const int head = to.patterns ? plan_head(to, p, &from) : -1;
    return head >= 0 && head / 2 < NARROW && to.bytes[p] == 0;
}

/* The same, as it was kept. */
static __device__ void read_plan(const source &S, const target &to, cmg_size p, int lane, plan &P)
{
    const cmg_index *from = NULL;
    const int head = plan_head(to, p, &from);
    if (head < 0) {
        make_plan(S, p, lane, P);
        return;
    }
    P.first = (S.slice != NULL ? S.slice[p] : p) * SLICE;
    P.rows = S.A.rows - P.first < SLICE ? (int)(S.A.rows - P.first) : (int)SLICE;
    P.width = head / 2;
    P.ascends = head % 2 != 0;
    P.bytes = to.bytes[p];
    cmg_index *at = P.bytes == 0 ? P.pattern : P.base;
    for (int e = lane; e < P.width; e += CMGI_WARP) {
        at[e] = from[e];
    }
    __syncwarp();
}

static __device__ void keep_plan(const target &to, cmg_size p, int lane, const plan &P)
{
    cmg_index *at = to.kept + p * KEPT;
    const bool fits = P.width < KEPT;
    if (lane == 0) {
        at[0] = fits ? 2 * P.width + P.ascends : -1;
    }
    for (int e = lane; fits && e < P.width; e += CMGI_WARP) {
        at[1 + e] = P.bytes == 0 ? P.pattern[e] : P.base[e];
    }
}

/* The warp's part of the block's shared memory. */
static __device__ plan open_plan(const source &S, int *memory)
{
    plan P = {};
    P.pattern = memory + (threadIdx.x / CMGI_WARP) * (CMGI_PATTERN + S.room);
    P.base = P.pattern + CMGI_PATTERN;
    return P;
}

static inline source source_of(const cmgi_compressor *B, cmg_size longest)
{
    source S = B->plan;
    S.slice = B->C->p.slice;
    S.count = B->C->p.count;
    S.room = (int)longest;
    return S;
}

static inline target target_of(const cmgi_compressor *B, cmg_index *kept)
{
    const cmgi_packed_slices *P = &B->C->p;
    return target{P->step,  P->code,  P->bytes,       P->base,          P->codes, P->place,
                  P->entry, P->scale, B->C->diagonal, B->pairs_columns, kept,     false};
}

/* Slice columns that are stored: in pairs the last may come twice. */
static __device__ __forceinline__ int stored_width(const target &to, const plan &P)
{
    return to.pairs ? P.width + P.width % 2 : P.width;
}

static inline size_t shared_bytes(const source &S)
{
    return (size_t)WARPS * (size_t)(CMGI_PATTERN + S.room) * sizeof(int);
}

/* packed_fill.cu: the slices as they are planned, into the storage, and what values in fp32 lack
 * into `rest`, or NULL. */
cmg_status cmgi_packed_fill(const cmgi_compressor *B, cmg_size longest, cmg_index *kept, int *rest);

/* Packed slices of the same matrix in fp64; step NULL = there are none. */
typedef struct cmgi_wide_slices {
    const cmg_size *step;
    const uint8_t *bytes;
    const cmg_index *base;
    const double *values;
} cmgi_wide_slices;

/* packed_narrow.cu: those that `kept` says are narrowed. */
cmg_status cmgi_packed_narrow(const cmgi_compressor *B, const cmgi_wide_slices &from,
                              cmg_index *kept);
