/*
 * Kinds of rows of C = A B on the device: on meshes with a pattern, all rows but a few have their
 * products in the same places as one of some hundred others. The columns of those are found once
 * (product_cuda.cu); every row takes them from there, and no value is looked for.
 *
 * A row of B has a shape: its columns, counted from the first. Rows of A of one kind have B's rows
 * of the same shapes, at the same distances from each other. Both are looked up in a table of
 * hashes, whose keys are compared entry by entry: equal hashes are not taken for equal rows.
 */
#include "core/random.h"
#include "csr/product.cuh"

enum {
    LANES = 8,
    SLOTS = 8192,      /* of the table of hashes */
    MOST_KINDS = 2048, /* more do not pay */
    KIND_PROBES = 64,  /* there are more, then */
    LEAST_ROWS = 2048, /* fewer do not pay */
    PLACES = 1 << 24   /* bytes of places of all kinds */
};

static const unsigned long long NONE = ~0ULL;

/* A row of B. */
struct shape_of_row {
    unsigned shape;
    cmg_index first; /* column; 0 without any */
};

/* What tells rows of B apart: the columns, from the first on. */
struct by_columns {
    cmg_csr M;
    shape_of_row *of;

    __device__ __forceinline__ cmg_index base(cmg_size begin, cmg_size end) const
    {
        return begin < end ? M.indices[begin] : 0;
    }
    __device__ __forceinline__ unsigned long long key(cmg_size k, cmg_index from) const
    {
        return (unsigned)(M.indices[k] - from);
    }
    __device__ __forceinline__ void note(cmg_size i, unsigned slot, cmg_index from) const
    {
        of[i] = shape_of_row{slot, from};
    }
};

/* What tells rows of A apart: the shapes of B's rows, and how far apart they begin. */
struct by_shapes {
    cmg_csr M;
    const shape_of_row *of;
    uint16_t *kind; /* the slot */

    __device__ __forceinline__ cmg_index base(cmg_size begin, cmg_size end) const
    {
        return begin < end ? of[M.indices[begin]].first : 0;
    }
    __device__ __forceinline__ unsigned long long key(cmg_size k, cmg_index from) const
    {
        const shape_of_row row = of[M.indices[k]];
        return (unsigned long long)row.shape << 32 | (unsigned)(row.first - from);
    }
    __device__ __forceinline__ void note(cmg_size i, unsigned slot, cmg_index) const
    {
        kind[i] = (uint16_t)slot;
    }
};

/* A row of the eight lanes that look at it; `end` = `begin` where there is none. */
struct looked_at {
    int lane;
    unsigned lanes; /* of the warp */
    cmg_size begin;
    cmg_size end;
    cmg_index from;
};

template <typename R>
static __device__ __forceinline__ unsigned long long hash_of(const R &rows, const looked_at &row)
{
    unsigned long long h = 0;
    for (cmg_size k = row.begin + row.lane; k < row.end; k += LANES) {
        h += cmgi_random_mix(rows.key(k, row.from) +
                             0x9e3779b97f4a7c15ULL * (unsigned long long)(k - row.begin + 1));
    }
#pragma unroll
    for (int d = LANES / 2; d > 0; d /= 2) {
        h += __shfl_xor_sync(CMGI_ALL, h, d);
    }
    return cmgi_random_mix(h + (unsigned long long)(row.end - row.begin));
}

/* Whether the row is like row j, in all its lanes, where `asked`. */
template <typename R>
static __device__ __forceinline__ bool same_rows(const R &rows, const looked_at &row, bool asked,
                                                 cmg_size j)
{
    bool same = asked;
    if (asked) {
        const cmg_size other = rows.M.indptr[j];
        same = rows.M.indptr[j + 1] - other == row.end - row.begin;
        if (same && other != row.begin) {
            const cmg_index there = rows.base(other, other + (row.end - row.begin));
            for (cmg_size k = row.begin + row.lane; same && k < row.end; k += LANES) {
                same = rows.key(k, row.from) == rows.key(other + (k - row.begin), there);
            }
        }
    }
    return (__ballot_sync(CMGI_ALL, same) & row.lanes) == row.lanes;
}

/*
 * Notes the slot of a row's kind. A slot has half of the hash and, below it, the row that came
 * first; *count = kinds, more than MOST_KINDS where they were not counted to the end.
 */
template <typename R>
static __device__ __forceinline__ void find_kind(const R &rows, cmg_size i,
                                                 unsigned long long *slot, unsigned *count)
{
    bool open = i < rows.M.rows;
    looked_at row;
    row.lane = (int)threadIdx.x % LANES;
    row.lanes = 0xffU << (threadIdx.x % CMGI_WARP / LANES * LANES);
    row.begin = open ? rows.M.indptr[i] : 0;
    row.end = open ? rows.M.indptr[i + 1] : 0;
    row.from = rows.base(row.begin, row.end);
    const unsigned long long hash = hash_of(rows, row) & ~0xffffffffULL;
    const unsigned first = (unsigned)(hash >> 40);
    for (unsigned probe = 0; __any_sync(CMGI_ALL, open) && probe < KIND_PROBES; ++probe) {
        const unsigned s = (first + probe) % SLOTS;
        unsigned long long found = 0;
        if (open && row.lane == 0) {
            found = __ldcg(&slot[s]);
            if (found == NONE) {
                found = atomicCAS(&slot[s], NONE, hash | (unsigned long long)i);
                if (found == NONE) {
                    found = hash | (unsigned long long)i;
                    atomicAdd(count, 1U);
                }
            }
        }
        found = __shfl_sync(CMGI_ALL, found, 0, LANES);
        const bool asked = open && (found & ~0xffffffffULL) == hash;
        const bool same = same_rows(rows, row, asked, (cmg_size)(found & 0xffffffffULL));
        if (same && row.lane == 0) {
            rows.note(i, s, row.from);
        }
        open = open && !same;
    }
    if (open && row.lane == 0) {
        atomicMax(count, (unsigned)MOST_KINDS + 1);
    }
}

/* Few blocks, which are soon through where there are many kinds. */
template <typename R>
__global__ void __launch_bounds__(THREADS)
    find_kinds_kernel(const R rows, unsigned long long *slot, unsigned *count)
{
    const cmg_size mine = ((cmg_size)blockIdx.x * THREADS + threadIdx.x) / LANES;
    const cmg_size step = (cmg_size)gridDim.x * (THREADS / LANES);
    for (cmg_size i = mine; __any_sync(CMGI_ALL, i < rows.M.rows); i += step) {
        const unsigned seen = threadIdx.x % CMGI_WARP == 0 ? __ldcg(count) : 0;
        if (__shfl_sync(CMGI_ALL, seen, 0) > MOST_KINDS) {
            return;
        }
        find_kind(rows, i, slot, count);
    }
}

/* What is made on the way. */
struct work {
    unsigned long long *slot;
    unsigned *count;
    shape_of_row *of; /* rows of B */
    uint16_t *number; /* of a slot */
    cmg_index *row;   /* of a kind: the one that came first */
    cmg_csr few;      /* these rows of A */
    cmgi_resident C;  /* and of C */
    int kinds;
    cmgi_product_kinds made;
};

/* *few: there are at most MOST_KINDS kinds. */
template <typename R>
static cmg_status find_kinds(cmg_context *ctx, const R &rows, const work *w, bool *few)
{
    const cudaStream_t stream = cmgi_stream(ctx);
    const unsigned wanted = cmgi_grid(rows.M.rows * LANES, THREADS);
    const unsigned most = (unsigned)(16 * cmgi_device_of(ctx)->processors);
    const unsigned grid = wanted < most ? wanted : most;
    unsigned count = 0;
    CMGI_CUDA(ctx, cudaMemsetAsync(w->slot, 0xff, SLOTS * sizeof *w->slot, stream));
    CMGI_TRY(cmgi_cuda_clear(ctx, w->count, sizeof *w->count));
    find_kinds_kernel<<<grid, THREADS, 0, stream>>>(rows, w->slot, w->count);
    CMGI_TRY(CMGI_LAUNCHED(ctx));
    CMGI_TRY(cmgi_to_host(ctx, &count, w->count, sizeof count));
    *few = count <= MOST_KINDS;
    return CMG_OK;
}

/* Numbers for the slots that are taken, and their rows. */
static cmg_status number_kinds(cmg_context *ctx, work *w)
{
    unsigned long long *slot = NULL;
    uint16_t *number = NULL;
    cmg_index row[MOST_KINDS];
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, SLOTS, sizeof *slot, &slot));
    CMGI_TRY_GOTO(done, cmgi_alloc_zero(ctx, SLOTS, sizeof *number, &number));
    CMGI_TRY_GOTO(done, cmgi_to_host(ctx, slot, w->slot, SLOTS * sizeof *slot));
    for (int s = 0; s < SLOTS; ++s) {
        if (slot[s] != NONE) {
            number[s] = (uint16_t)w->kinds;
            row[w->kinds++] = (cmg_index)(slot[s] & 0xffffffffULL);
        }
    }
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, SLOTS, sizeof *w->number, &w->number));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, w->kinds, sizeof *w->row, &w->row));
    CMGI_TRY_GOTO(done, cmgi_to_device(ctx, w->number, number, SLOTS * sizeof *number));
    CMGI_TRY_GOTO(done, cmgi_to_device(ctx, w->row, row, (size_t)w->kinds * sizeof *row));
done:
    cmgi_free(ctx, slot);
    cmgi_free(ctx, number);
    return status;
}

struct place_args {
    cmg_csr A; /* a row of each kind */
    cmg_csr B;
    cmg_csr C;
    int width;
    uint8_t *place;
};

/* Where the products of the entries of A go, by their eight lanes a row; see product.cuh. */
__global__ void place_kernel(const place_args a)
{
    const cmg_size q = ((cmg_size)blockIdx.x * THREADS + threadIdx.x) / LANES;
    if (q >= a.A.rows) {
        return;
    }
    const cmg_index *columns = a.C.indices + a.C.indptr[q];
    const cmg_size length = a.C.indptr[q + 1] - a.C.indptr[q];
    for (cmg_size k = a.A.indptr[q] + threadIdx.x % LANES; k < a.A.indptr[q + 1]; k += LANES) {
        const cmg_size begin = a.B.indptr[a.A.indices[k]];
        const cmg_size end = a.B.indptr[a.A.indices[k] + 1];
        for (cmg_size e = begin; e < end; ++e) {
            int at = 0;
            while (at < length && columns[at] != a.B.indices[e]) {
                ++at;
            }
            a.place[((cmg_size)k * a.width + at % a.width) * EACH + at / a.width] =
                (uint8_t)(e - begin + 1);
        }
    }
}

/* A row of each kind of A and of C, and the places. */
static cmg_status form_places(cmg_context *ctx, const cmg_csr *A, const cmgi_resident *B, work *w,
                              bool *few)
{
    cmg_size nnz = 0;
    CMGI_TRY(cmgi_resident_pick(ctx, A, w->row, w->kinds, &w->few, &nnz));
    CMGI_TRY(cmgi_product_pattern(ctx, &w->few, B, false, &w->C));
    const cmg_size longest = w->C.rows.longest;
    w->made.width = width_for((longest + EACH - 1) / EACH);
    *few = longest <= CMGI_WARP * EACH && nnz <= PLACES / (w->made.width * EACH);
    if (!*few) {
        return CMG_OK;
    }
    const cmg_size places = nnz * w->made.width * EACH;
    CMGI_TRY(cmgi_alloc_device(ctx, places, sizeof *w->made.place, &w->made.place));
    CMGI_TRY(cmgi_cuda_clear(ctx, w->made.place, (size_t)places));
    place_kernel<<<cmgi_grid((cmg_size)w->kinds * LANES, THREADS), THREADS, 0, cmgi_stream(ctx)>>>(
        place_args{w->few, B->csr, w->C.csr, w->made.width, w->made.place});
    CMGI_TRY(CMGI_LAUNCHED(ctx));
    w->made.first = (cmg_size *)w->few.indptr;
    return CMG_OK;
}

struct rows_args {
    by_shapes A;
    const uint16_t *number;
    const cmg_index *row;
    cmg_csr few; /* rows of C */
    bool filled;
    cmg_size *indptr;
    cmg_index *columns;
};

/* kind[i] becomes a number; indptr[i] = length of row i of C, as columns_kernel has it */
__global__ void lengths_kernel(const rows_args a)
{
    const cmg_size i = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    if (i >= a.A.M.rows) {
        return;
    }
    const uint16_t q = a.number[a.A.kind[i]];
    const cmg_size length = a.few.indptr[q + 1] - a.few.indptr[q];
    a.A.kind[i] = q;
    a.indptr[i] = length > 0 || !a.filled ? length : 1;
}

/* The columns of the row of its kind, moved. */
__global__ void moved_columns_kernel(const rows_args a)
{
    const cmg_size i = ((cmg_size)blockIdx.x * THREADS + threadIdx.x) / LANES;
    const cmg_csr &M = a.A.M;
    if (i >= M.rows) {
        return;
    }
    const int lane = (int)threadIdx.x % LANES;
    const uint16_t q = a.A.kind[i];
    const cmg_size from = a.few.indptr[q];
    const cmg_size length = a.few.indptr[q + 1] - from;
    const cmg_size to = a.indptr[i];
    const cmg_size row = a.row[q];
    const cmg_index by =
        a.A.base(M.indptr[i], M.indptr[i + 1]) - a.A.base(M.indptr[row], M.indptr[row + 1]);
    for (cmg_size e = lane; e < length; e += LANES) {
        a.columns[to + e] = a.few.indices[from + e] + by;
    }
    if (length == 0 && a.filled && lane == 0) {
        a.columns[to] = (cmg_index)i;
    }
}

static cmg_status form_rows(cmg_context *ctx, const cmg_csr *A, const cmgi_resident *B,
                            const work *w, bool filled, cmgi_resident *C)
{
    const cudaStream_t stream = cmgi_stream(ctx);
    rows_args a = {{*A, w->of, w->made.kind}, w->number, w->row, w->C.csr, filled, NULL, NULL};
    cmg_size nnz = 0;
    C->csr.rows = A->rows;
    C->csr.cols = B->csr.cols;
    CMGI_TRY(cmgi_alloc_device(ctx, A->rows + 1, sizeof *a.indptr, &a.indptr));
    C->csr.indptr = a.indptr;
    lengths_kernel<<<cmgi_grid(A->rows, THREADS), THREADS, 0, stream>>>(a);
    CMGI_TRY(CMGI_LAUNCHED(ctx));
    CMGI_TRY(cmgi_resident_offsets(ctx, A->rows, a.indptr, &nnz));
    CMGI_TRY(cmgi_resident_rows(ctx, &C->csr, C));
    CMGI_TRY(cmgi_alloc_device(ctx, nnz, sizeof *a.columns, &a.columns));
    C->csr.indices = a.columns;
    moved_columns_kernel<<<cmgi_grid(A->rows * LANES, THREADS), THREADS, 0, stream>>>(a);
    CMGI_TRY(CMGI_LAUNCHED(ctx));
    return cmgi_alloc_device(ctx, nnz, sizeof *C->csr.values, &C->csr.values);
}

static cmg_status form_by_kinds(cmg_context *ctx, const cmg_csr *A, const cmgi_resident *B, work *w,
                                bool filled, cmgi_resident *C)
{
    bool few = false;
    CMGI_TRY(cmgi_alloc_device(ctx, SLOTS, sizeof *w->slot, &w->slot));
    CMGI_TRY(cmgi_alloc_device(ctx, 1, sizeof *w->count, &w->count));
    CMGI_TRY(cmgi_alloc_device(ctx, B->csr.rows, sizeof *w->of, &w->of));
    CMGI_TRY(find_kinds(ctx, by_columns{B->csr, w->of}, w, &few));
    if (!few) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_alloc_device(ctx, A->rows, sizeof *w->made.kind, &w->made.kind));
    CMGI_TRY(find_kinds(ctx, by_shapes{*A, w->of, w->made.kind}, w, &few));
    if (!few) {
        return CMG_OK;
    }
    CMGI_TRY(number_kinds(ctx, w));
    CMGI_TRY(form_places(ctx, A, B, w, &few));
    if (!few) {
        return CMG_OK;
    }
    CMGI_TRY(form_rows(ctx, A, B, w, filled, C));
    C->kinds = w->made;
    w->made = cmgi_product_kinds{};
    w->few.indptr = NULL;
    return CMG_OK;
}

cmg_status cmgi_product_kinds_find(cmg_context *ctx, const cmg_csr *A, const cmgi_resident *B,
                                   bool filled, cmgi_resident *C)
{
    CMGI_ON_DEVICE(ctx);
    work w = {};
    cmgi_resident made = {};
    if (A->rows < LEAST_ROWS || B->csr.rows == 0 || B->rows.nnz > INT32_MAX) {
        return CMG_OK;
    }
    const cmg_status status = form_by_kinds(ctx, A, B, &w, filled, &made);
    if (status == CMG_OK) {
        *C = made;
        made = cmgi_resident{};
    }
    cmgi_free_device(ctx, w.slot);
    cmgi_free_device(ctx, w.count);
    cmgi_free_device(ctx, w.of);
    cmgi_free_device(ctx, w.number);
    cmgi_free_device(ctx, w.row);
    cmgi_free_device(ctx, w.made.kind);
    cmgi_free_device(ctx, w.made.place);
    cmgi_resident_free_arrays(ctx, &w.few);
    cmgi_resident_free(ctx, &w.C);
    cmgi_resident_free(ctx, &made);
    return status;
}
