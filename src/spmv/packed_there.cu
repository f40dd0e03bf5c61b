/*
 * Packed slices from a CSR on the device; see packed_there.h. A warp takes a slice. It plans it row
 * by row, a lane an entry: the union of the rows' offsets, kept sorted in shared memory, and, where
 * that is too wide, the least offset of every slice column. What is decided is a function of these
 * sets, so that no order of the lanes changes it. Then every lane writes two rows, slice column by
 * slice column, which are neighbours in the storage.
 */
#include "core/cuda.cuh"

extern "C" {
#include "csr/resident.h"
#include "spmv/packed_there.h"
}

enum { WARP = 32, WARPS = 4, THREADS = WARP * WARPS, SLICE = CMGI_SLICE };
static const unsigned ALL = 0xffffffffU;

/* What the slices are made of. */
typedef struct source {
    cmg_csr A;
    const cmg_index *ref;   /* NULL = the row */
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
    cmg_size *map; /* NULL = not wanted */
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
    return S.ref != NULL ? S.ref[i] : (cmg_index)i;
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

__global__ void __launch_bounds__(THREADS) measure_kernel(const source S, const target to)
{
    extern __shared__ int shared_plans[];
    const cmg_size p = (cmg_size)blockIdx.x * WARPS + threadIdx.x / WARP;
    const int lane = (int)threadIdx.x % WARP;
    if (p >= S.count) {
        return;
    }
    plan P = open_plan(S, shared_plans);
    make_plan(S, p, lane, P);
    if (lane == 0) {
        to.step[p] = P.width;
        to.code[p] = (cmg_size)P.width * SLICE * P.bytes;
        to.bytes[p] = (uint8_t)P.bytes;
    }
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

/* One of the two rows of a lane: where it is in the CSR, and what comes next. */
struct cursor {
    cmg_size k;
    cmg_size end;
    cmg_index ref;
};

static __device__ __forceinline__ cursor open_row(const source &S, const plan &P, int r)
{
    cursor c = {};
    const bool real = r < P.rows;
    c.k = real ? S.A.indptr[P.first + r] : 0;
    c.end = real ? S.A.indptr[P.first + r + 1] : 0;
    c.ref = reference(S, real ? P.first + r : S.A.rows - 1);
    return c;
}

/* Value of a row in slice column e of a pattern, 0 where it has none; rows ascend. */
static __device__ __forceinline__ double next_of_pattern(const source &S, const plan &P, cursor &c,
                                                         int e, cmg_size at, cmg_size *map)
{
    if (c.k >= c.end || S.A.indices[c.k] - c.ref != P.pattern[e]) {
        return 0;
    }
    if (map != NULL) {
        map[c.k] = at;
    }
    return S.A.values[c.k++];
}

/* Value in slice column e of codes, in the given order; its code goes to the storage. */
static __device__ __forceinline__ double next_of_codes(const source &S, const plan &P, cursor &c,
                                                       int e, cmg_size at, cmg_size local,
                                                       uint8_t *codes, cmg_size *map)
{
    if (c.k >= c.end) {
        const cmg_size low = (cmg_size)c.ref + P.base[e];
        store_code(codes, P.bytes, local, low < 0 ? -low : 0);
        return 0;
    }
    store_code(codes, P.bytes, local, (cmg_size)S.A.indices[c.k] - c.ref - P.base[e]);
    if (map != NULL) {
        map[c.k] = at;
    }
    return S.A.values[c.k++];
}

/* Rows of a pattern whose columns do not ascend: entries look for their places. */
template <typename T>
static __device__ void scatter_row(const source &S, const plan &P, cursor c, cmg_size start,
                                   T *values, cmg_size *map)
{
    for (; c.k < c.end; ++c.k) {
        const int e = find(P.pattern, P.width, S.A.indices[c.k] - c.ref, 0);
        values[start + (cmg_size)e * SLICE] = (T)S.A.values[c.k];
        if (map != NULL) {
            map[c.k] = start + (cmg_size)e * SLICE;
        }
    }
}

template <typename T>
__global__ void __launch_bounds__(THREADS) fill_kernel(const source S, const target to, T *values)
{
    extern __shared__ int shared_plans[];
    const cmg_size p = (cmg_size)blockIdx.x * WARPS + threadIdx.x / WARP;
    const int lane = (int)threadIdx.x % WARP;
    if (p >= S.count) {
        return;
    }
    plan P = open_plan(S, shared_plans);
    make_plan(S, p, lane, P);
    const cmg_size step = to.step[p];
    const bool pattern = P.bytes == 0;
    for (int e = lane; e < P.width; e += WARP) {
        to.base[step + e] = pattern ? P.pattern[e] : P.base[e];
    }
    const cmg_size start = step * SLICE + 2 * lane; /* of row `lane`, that of lane + 32 is next */
    cursor a = open_row(S, P, lane);
    cursor b = open_row(S, P, lane + WARP);
    const bool scatter = pattern && !P.ascends;
    uint8_t *codes = to.codes + to.code[p];
    for (int e = 0; e < P.width; ++e) {
        const cmg_size at = start + (cmg_size)e * SLICE;
        const cmg_size local = (cmg_size)e * SLICE + 2 * lane;
        double first = 0;
        double second = 0;
        if (pattern && !scatter) {
            first = next_of_pattern(S, P, a, e, at, to.map);
            second = next_of_pattern(S, P, b, e, at + 1, to.map);
        } else if (!pattern) {
            first = next_of_codes(S, P, a, e, at, local, codes, to.map);
            second = next_of_codes(S, P, b, e, at + 1, local + 1, codes, to.map);
        }
        values[at] = (T)first;
        values[at + 1] = (T)second;
    }
    if (scatter) {
        scatter_row(S, P, a, start, values, to.map);
        scatter_row(S, P, b, start + 1, values, to.map);
    }
}

static source source_of(const cmgi_compressor *B, cmg_size longest)
{
    source S = {};
    S.A = *B->from->device;
    S.ref = B->C->ref;
    S.slice = B->C->p.slice;
    S.count = B->C->p.count;
    S.value_bytes = B->value_bytes;
    S.room = (int)longest;
    return S;
}

static target target_of(const cmgi_compressor *B)
{
    const cmgi_packed_slices *P = &B->C->p;
    return target{P->step, P->code, P->bytes, P->base, P->codes, B->A->value_map};
}

static size_t shared_bytes(const source &S)
{
    return (size_t)WARPS * (size_t)(CMGI_PATTERN + S.room) * sizeof(int);
}

static cmg_status measure(const cmgi_compressor *B, const source &S)
{
    cmg_context *ctx = B->A->ctx;
    cmgi_packed_slices *P = &B->C->p;
    const cmgi_resident_kernels *on = cmgi_resident_kernels_of(ctx);
    CMGI_TRY(cmgi_alloc_device(ctx, P->count + 1, sizeof *P->step, &P->step));
    CMGI_TRY(cmgi_alloc_device(ctx, P->count + 1, sizeof *P->code, &P->code));
    CMGI_TRY(cmgi_alloc_device(ctx, P->count, sizeof *P->bytes, &P->bytes));
    if (P->count > 0) {
        measure_kernel<<<cmgi_grid(P->count, WARPS), THREADS, shared_bytes(S), cmgi_stream(ctx)>>>(
            S, target_of(B));
        CMGI_TRY(CMGI_LAUNCHED(ctx));
    }
    CMGI_TRY(on->offsets(ctx, P->count, P->step, &P->steps));
    return on->offsets(ctx, P->count, P->code, &P->code_bytes);
}

static cmg_status refill(const cmgi_compressor *B, cmg_size longest)
{
    cmg_context *ctx = B->A->ctx;
    CMGI_ON_DEVICE(ctx);
    const source S = source_of(B, longest);
    const unsigned grid = cmgi_grid(S.count, WARPS);
    if (S.count == 0) {
        return CMG_OK;
    }
    if (B->A->options.precision == CMG_FP64) {
        fill_kernel<double><<<grid, THREADS, shared_bytes(S), cmgi_stream(ctx)>>>(
            S, target_of(B), (double *)B->A->values);
    } else {
        fill_kernel<float><<<grid, THREADS, shared_bytes(S), cmgi_stream(ctx)>>>(
            S, target_of(B), (float *)B->A->values);
    }
    return CMGI_LAUNCHED(ctx);
}

extern "C" cmg_status cmgi_packed_build_cuda(const cmgi_compressor *B, cmg_size longest)
{
    cmg_context *ctx = B->A->ctx;
    CMGI_ON_DEVICE(ctx);
    cmgi_packed_slices *P = &B->C->p;
    CMGI_TRY(measure(B, source_of(B, longest)));
    CMGI_TRY(cmgi_alloc_device(ctx, P->steps, sizeof *P->base, &P->base));
    CMGI_TRY(cmgi_alloc_device(ctx, P->code_bytes, 1, &P->codes));
    B->A->stored = P->steps * SLICE;
    CMGI_TRY(cmgi_matrix_alloc_values(B->A, B->from));
    return refill(B, longest);
}

__global__ void reference_kernel(const cmg_csr A, cmg_index *ref)
{
    const cmg_size i = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    if (i < A.rows) {
        const cmg_size first = A.indptr[i];
        ref[i] = first < A.indptr[i + 1] ? A.indices[first] : 0;
    }
}

extern "C" cmg_status cmgi_references_cuda(cmg_context *ctx, const cmg_csr *A, cmg_index *ref)
{
    CMGI_ON_DEVICE(ctx);
    if (A->rows == 0) {
        return CMG_OK;
    }
    reference_kernel<<<cmgi_grid(A->rows, THREADS), THREADS, 0, cmgi_stream(ctx)>>>(*A, ref);
    return CMGI_LAUNCHED(ctx);
}

/* place[s] = 1 where all rows of slice s are templates */
__global__ void flag_kernel(cmg_size rows, cmg_size slices, const uint16_t *id, cmg_size *place)
{
    const cmg_size s = ((cmg_size)blockIdx.x * THREADS + threadIdx.x) / WARP;
    const cmg_size i = s * SLICE + threadIdx.x % WARP;
    if (s >= slices) {
        return;
    }
    const bool all = (i >= rows || id[i] < CMGI_TEMPLATES) &&
                     (i + WARP >= rows || id[i + WARP] < CMGI_TEMPLATES);
    const bool every = __all_sync(ALL, all);
    if (threadIdx.x % WARP == 0) {
        place[s] = every;
    }
}

__global__ void list_kernel(cmg_size slices, const cmg_size *place, cmg_index *templates,
                            cmg_index *others)
{
    const cmg_size s = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    if (s >= slices) {
        return;
    }
    if (place[s + 1] > place[s]) {
        templates[place[s]] = (cmg_index)s;
    } else {
        others[s - place[s]] = (cmg_index)s;
    }
}

extern "C" cmg_status cmgi_split_slices_cuda(cmg_context *ctx, const uint16_t *id,
                                             cmgi_compressed *C)
{
    CMGI_ON_DEVICE(ctx);
    const cmg_size slices = (C->rows + SLICE - 1) / SLICE;
    const cudaStream_t stream = cmgi_stream(ctx);
    cmg_size *place = NULL;
    cmg_status status = CMG_OK;
    C->t.count = 0;
    C->p.count = slices;
    if (slices == 0 || id == NULL) {
        return CMG_OK;
    }
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, slices + 1, sizeof *place, &place));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, slices, sizeof *C->t.slice, &C->t.slice));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, slices, sizeof *C->p.slice, &C->p.slice));
    flag_kernel<<<cmgi_grid(slices, WARPS), THREADS, 0, stream>>>(C->rows, slices, id, place);
    CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
    CMGI_TRY_GOTO(done, cmgi_resident_kernels_of(ctx)->offsets(ctx, slices, place, &C->t.count));
    C->p.count = slices - C->t.count;
    list_kernel<<<cmgi_grid(slices, THREADS), THREADS, 0, stream>>>(slices, place, C->t.slice,
                                                                    C->p.slice);
    CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
done:
    cmgi_free_device(ctx, place);
    return status;
}
