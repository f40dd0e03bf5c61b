/* Kernels of matrices on the device; see resident.h. */
#include "core/lanes.h"
#include "core/rest.h"
#include "csr/resident.cuh"

#include <float.h>

enum { THREADS = 256, LANES = CMGI_LANES, AT_ONCE = 4 };

enum { CMGI_DIAGONAL_UNKNOWN = 255 };

typedef unsigned long long bits;

/* What a thread sees of its rows, and the kernel of all: minima, rows as unsigned numbers and ~0 =
 * none; then sums; then maxima. */
typedef struct facts {
    bits bad_column;
    bits duplicate;
    bits not_finite;
    bits zero_diagonal;
    bits least; /* of the |a_ii|, as bits of a double >= 0, which are ordered like it */
    bits identity;
    bits beside;
    bits lines;
    bits unsorted;
    bits beyond;
    bits gershgorin; /* likewise */
    bits coupling;
    bits most;
} facts;
enum { SUMS = 5, MAXIMA = 10, FACTS = 13 }; /* where they begin, and how many there are */

static const bits NONE = ~0ULL;

static __device__ __forceinline__ void lower(bits &least, bits value)
{
    least = value < least ? value : least;
}

static __device__ __forceinline__ void raise(bits &most, bits value)
{
    most = value > most ? value : most;
}

/* Adds those of a warp to all. */
static __device__ void add_facts(facts &mine, facts *all)
{
#pragma unroll
    for (int k = 0; k < FACTS; ++k) {
        bits &own = ((bits *)&mine)[k];
        bits *to = (bits *)all + k;
#pragma unroll
        for (int d = CMGI_WARP / 2; d > 0; d /= 2) {
            const bits other = __shfl_xor_sync(CMGI_ALL, own, d);
            if (k < SUMS) {
                lower(own, other);
            } else if (k < MAXIMA) {
                own += other;
            } else {
                raise(own, other);
            }
        }
        if (threadIdx.x % CMGI_WARP != 0) {
            continue;
        }
        if (k < SUMS && own != NONE) {
            atomicMin(to, own);
        } else if (k >= SUMS && k < MAXIMA && own > 0) {
            atomicAdd(to, own);
        } else if (k >= MAXIMA && own > *(volatile bits *)to) {
            atomicMax(to, own);
        }
    }
}

/* The two largest of two pairs that are in order. */
static __device__ __forceinline__ void merge_largest(double &first, double &second, double a,
                                                     double b)
{
    const double less = first < a ? first : a;
    first = first < a ? a : first;
    second = second < b ? b : second;
    second = second < less ? less : second;
}

/* What is seen of a row, by one of its lanes or in all. */
struct view {
    double diagonal;
    double sum;
    double first;
    double second;
    int entry; /* of the diagonal */
    bool range;
    bool descends;
    bool nonzero; /* an entry off the diagonal */
    bool other;   /* one, zero or not */
    bool beyond;  /* a value that fp32 does not have with all its bits */
};

static __device__ void look_at_diagonal(const view &v, cmg_size i, facts *mine)
{
    if (v.diagonal == 0) {
        lower(mine->zero_diagonal, (bits)i);
        return;
    }
    mine->identity += !v.nonzero;
    mine->lines += v.first + v.second > CMGI_LINE * fabs(v.diagonal);
    raise(mine->gershgorin, (bits)__double_as_longlong(v.sum * fabs(1 / v.diagonal)));
    raise(mine->coupling, (bits)__double_as_longlong(v.first * fabs(1 / v.diagonal)));
    raise(mine->most, (bits)__double_as_longlong(fabs(v.diagonal)));
    lower(mine->least, (bits)__double_as_longlong(fabs(v.diagonal)));
}

template <bool PATTERN>
static __device__ void take_row(const view &v, cmg_size i, double *diagonal, uint8_t *entry,
                                facts *mine)
{
    if (PATTERN && v.range) {
        lower(mine->bad_column, (bits)i);
    }
    if (!(v.sum <= DBL_MAX)) {
        lower(mine->not_finite, (bits)i);
    }
    mine->beside += v.other;
    mine->unsorted += PATTERN && v.descends;
    mine->beyond += v.beyond;
    if (PATTERN && entry != NULL) {
        entry[i] = (uint8_t)v.entry;
    }
    if (diagonal != NULL) {
        diagonal[i] = v.diagonal;
        look_at_diagonal(v, i, mine);
    }
}

static cmg_size row_of(bits first)
{
    return first == NONE ? -1 : (cmg_size)first;
}

/* A duplicate column of a row whose columns do not ascend. */
static __device__ bool has_duplicate(const cmg_index *columns, cmg_size length, int lane)
{
    for (cmg_size e = lane; e < length; e += LANES) {
        for (cmg_size f = 0; f < e; ++f) {
            if (columns[f] == columns[e]) {
                return true;
            }
        }
    }
    return false;
}

/*
 * With PATTERN the order of the columns, and whether they are inside, too. `known`: which entry is
 * the diagonal, so that no column is read.
 */
template <bool PATTERN>
static __device__ __forceinline__ view look_at_row(const cmg_csr A, cmg_size i, cmg_size begin,
                                                   cmg_size length, int lane, int known)
{
    view v = {};
    v.entry = CMGI_DIAGONAL_UNKNOWN;
    const cmg_index *indices = A.indices + begin;
    const double *values = A.values + begin;
    for (cmg_size first = lane; first < length; first += AT_ONCE * LANES) {
        cmg_index column[AT_ONCE];
        cmg_index before[AT_ONCE];
        double value[AT_ONCE];
#pragma unroll
        for (int u = 0; u < AT_ONCE; ++u) { /* read together, so that one wait is that of all */
            const cmg_size e = first + u * LANES;
            const bool real = e < length;
            if (PATTERN || known == CMGI_DIAGONAL_UNKNOWN) {
                column[u] = real ? indices[e] : 0;
            } else {
                column[u] = e == known ? (cmg_index)i : -1;
            }
            before[u] = PATTERN && real && e > 0 ? indices[e - 1] : -1;
            value[u] = real ? values[e] : 0;
        }
#pragma unroll
        for (int u = 0; u < AT_ONCE; ++u) {
            if (first + u * LANES >= length) {
                break;
            }
            const cmg_index j = column[u];
            const double size = fabs(value[u]);
            v.range = v.range || (PATTERN && (j < 0 || j >= A.cols));
            v.descends = v.descends || (PATTERN && first + u > 0 && before[u] >= j);
            v.sum += size;
            v.beyond = v.beyond || cmgi_is_beyond(size);
            if (j == i) {
                v.diagonal += value[u];
                v.entry = first + u * LANES < CMGI_DIAGONAL_UNKNOWN ? (int)first + u * LANES
                                                                    : CMGI_DIAGONAL_UNKNOWN;
            } else {
                v.other = true;
                v.nonzero = v.nonzero || value[u] != 0;
                merge_largest(v.first, v.second, size, 0);
            }
        }
    }
    return v;
}

template <bool PATTERN>
__global__ void __launch_bounds__(THREADS)
    entries_kernel(const cmg_csr A, double *diagonal, uint8_t *entry, facts *all)
{
    facts mine = {NONE, NONE, NONE, NONE, NONE};
    const int lane = cmgi_lane();
    const cmg_size step = (cmg_size)gridDim.x * (THREADS / LANES);
    const cmg_size last = (A.rows + step - 1) / step * step;
    for (cmg_size i = (cmg_size)blockIdx.x * (THREADS / LANES) + threadIdx.x / LANES; i < last;
         i += step) {
        const bool real = i < A.rows;
        const cmg_size begin = real ? A.indptr[i] : 0;
        const cmg_size length = real ? A.indptr[i + 1] - begin : 0;
        const int known = !PATTERN && real && entry != NULL ? entry[i] : CMGI_DIAGONAL_UNKNOWN;
        view v = look_at_row<PATTERN>(A, i, begin, length, lane, known);
        v.range = PATTERN && cmgi_row_any(v.range);
        v.descends = PATTERN && cmgi_row_any(v.descends);
        v.nonzero = cmgi_row_any(v.nonzero);
        v.other = cmgi_row_any(v.other);
        v.beyond = cmgi_row_any(v.beyond);
        v.sum = cmgi_lanes_sum(v.sum);
        v.diagonal = cmgi_lanes_sum(v.diagonal);
#pragma unroll
        for (int d = LANES / 2; d > 0; d >>= 1) {
            const double a = __shfl_xor_sync(CMGI_ALL, v.first, d);
            const double b = __shfl_xor_sync(CMGI_ALL, v.second, d);
            merge_largest(v.first, v.second, a, b);
            if (PATTERN) {
                const int other = __shfl_xor_sync(CMGI_ALL, v.entry, d);
                v.entry = other < v.entry ? other : v.entry;
            }
        }
        if (!real) {
            continue;
        }
        if (v.descends && has_duplicate(A.indices + begin, length, lane)) {
            lower(mine.duplicate, (bits)i);
        }
        if (lane == 0) {
            take_row<PATTERN>(v, i, diagonal, entry, &mine);
        }
    }
    add_facts(mine, all);
}

/*
 * Rows of up to SHORT entries, a thread each: lanes that share a row would spend their time on
 * exchanging what they have seen. The entries of the rows of a block are read as they lie into
 * shared memory, in which rows of a power of two of entries begin in different banks.
 */
enum { SHORT = 32, ROWS = 64, BANKS = 16 };

static __host__ __device__ __forceinline__ unsigned place_of(unsigned k)
{
    return k + k / BANKS;
}

/* A row from entry `first` of shared memory on. */
struct short_row {
    const double *values;
    const cmg_index *columns;
    unsigned first;
    int length;
    int known; /* the entry of the diagonal, where columns are not read */
};

/* Entry e of a row whose columns so far end with `before`. */
template <bool COLUMNS>
static __device__ __forceinline__ void look_at_entry(const short_row &r, int e, cmg_index i,
                                                     cmg_index cols, view &v, double &sum,
                                                     cmg_index &before)
{
    const unsigned at = place_of(r.first + (unsigned)e);
    const double value = /* |a_ij| */
        __longlong_as_double(__double_as_longlong(r.values[at]) & INT64_MAX);
    bool on_diagonal = e == r.known;
    if (COLUMNS) {
        const cmg_index j = r.columns[at];
        v.range |= (unsigned)j >= (unsigned)cols;
        v.descends |= before >= j;
        before = j;
        on_diagonal = j == i;
    }
    sum += value;
    v.beyond |= cmgi_is_beyond(value);
    v.entry = on_diagonal ? e : v.entry;
    const double size = on_diagonal ? 0 : value;
    if (size > v.second) { /* so rarely that a branch is cheaper */
        v.second = size > v.first ? v.first : size;
        v.first = size > v.first ? size : v.first;
    }
}

template <bool COLUMNS>
static __device__ __forceinline__ view look_at_short(const short_row &r, cmg_index i,
                                                     cmg_index cols)
{
    view v = {};
    double part[LANES] = {}; /* those of eight lanes */
    cmg_index before = INT32_MIN;
    int first = 0;
    v.entry = CMGI_DIAGONAL_UNKNOWN;
    for (; first + LANES <= r.length; first += LANES) {
#pragma unroll
        for (int p = 0; p < LANES; ++p) {
            look_at_entry<COLUMNS>(r, first + p, i, cols, v, part[p], before);
        }
    }
#pragma unroll
    for (int p = 0; p < LANES - 1; ++p) {
        if (first + p < r.length) {
            look_at_entry<COLUMNS>(r, first + p, i, cols, v, part[p], before);
        }
    }
#pragma unroll
    for (int d = LANES / 2; d > 0; d /= 2) {
#pragma unroll
        for (int p = 0; p < d; ++p) {
            part[p] += part[p + d];
        }
    }
    const bool found = v.entry != CMGI_DIAGONAL_UNKNOWN;
    v.sum = part[0];
    v.diagonal = found ? r.values[place_of(r.first + (unsigned)v.entry)] : 0;
    v.other = r.length > (int)found; /* what has a column twice is rejected */
    v.nonzero = v.first > 0 || !(v.sum <= DBL_MAX);
    return v;
}

static __device__ bool repeats(const short_row &r)
{
    for (int e = 1; e < r.length; ++e) {
        for (int f = 0; f < e; ++f) {
            if (r.columns[place_of(r.first + (unsigned)f)] ==
                r.columns[place_of(r.first + (unsigned)e)]) {
                return true;
            }
        }
    }
    return false;
}

/* Shared memory: `most` values, and columns where they are read. */
template <bool PATTERN, bool COLUMNS>
__global__ void __launch_bounds__(ROWS)
    short_rows_kernel(const cmg_csr A, int most, double *diagonal, uint8_t *entry, facts *all)
{
    extern __shared__ double values[];
    cmg_index *columns = (cmg_index *)(values + most);
    facts mine = {NONE, NONE, NONE, NONE, NONE};
    const cmg_size step = (cmg_size)gridDim.x * ROWS;
    for (cmg_size top = (cmg_size)blockIdx.x * ROWS; top < A.rows; top += step) {
        const cmg_size i = top + threadIdx.x;
        const bool real = i < A.rows;
        const cmg_size begin = A.indptr[top];
        const int length = (int)(A.indptr[top + ROWS < A.rows ? top + ROWS : A.rows] - begin);
        const int own = real ? (int)(A.indptr[i] - begin) : length;
        const int next = real ? (int)(A.indptr[i + 1] - begin) : length;
        __syncthreads(); /* the last rows are done with */
#pragma unroll 4
        for (unsigned k = threadIdx.x; k < (unsigned)length; k += ROWS) {
            cmgi_copy_begin(values + place_of(k), A.values + begin + k);
            if (COLUMNS) {
                cmgi_copy_begin(columns + place_of(k), A.indices + begin + k);
            }
        }
        cmgi_copied();
        __syncthreads();
        const short_row r = {values, columns, (unsigned)own, next - own,
                             !COLUMNS && real ? entry[i] : (int)CMGI_DIAGONAL_UNKNOWN};
        const view v = look_at_short<COLUMNS>(r, (cmg_index)i, (cmg_index)A.cols);
        if (real && PATTERN && v.descends && repeats(r)) {
            lower(mine.duplicate, (bits)i);
        }
        if (real) {
            take_row<PATTERN>(v, i, diagonal, entry, &mine);
        }
    }
    add_facts(mine, all);
}

/* `longest`: the longest row, 0 = not known. */
static cmg_status look_at_rows(cmg_context *ctx, const cmg_csr *A, cmg_size longest, bool known,
                               double *diagonal, uint8_t *entry, facts *all)
{
    const bool is_short = longest > 0 && longest <= SHORT;
    const int most = is_short ? (int)place_of((unsigned)longest * ROWS) + 1 : 0;
    const bool columns = !known || entry == NULL;
    const size_t shared = (size_t)most * (sizeof(double) + (columns ? sizeof(cmg_index) : 0));
    const unsigned blocks = (is_short ? 16U : 8U) * (unsigned)cmgi_device_of(ctx)->processors;
    const unsigned wanted = cmgi_grid(A->rows, is_short ? (int)ROWS : THREADS / LANES);
    const unsigned grid = wanted < blocks ? wanted : blocks;
    const auto by_lanes = known ? entries_kernel<false> : entries_kernel<true>;
    const auto by_rows = !known    ? short_rows_kernel<true, true>
                         : columns ? short_rows_kernel<false, true>
                                   : short_rows_kernel<false, false>;
    return is_short ? CMGI_RUN(ctx, grid, ROWS, shared, by_rows, *A, most, diagonal, entry, all)
                    : CMGI_RUN(ctx, grid, THREADS, 0, by_lanes, *A, diagonal, entry, all);
}

static cmgi_resident_facts facts_of(const facts *f)
{
    cmgi_resident_facts made = {};
    made.bad_length = -1;
    made.bad_column = row_of(f->bad_column);
    made.duplicate = row_of(f->duplicate);
    made.not_finite = row_of(f->not_finite);
    made.zero_diagonal = row_of(f->zero_diagonal);
    made.rows.identity = (cmg_size)f->identity;
    made.beside = (cmg_size)f->beside;
    made.rows.lines = (cmg_size)f->lines;
    made.ascending = f->unsorted == 0;
    made.single = f->beyond == 0;
    memcpy(&made.rows.gershgorin, &f->gershgorin, sizeof made.rows.gershgorin);
    memcpy(&made.rows.coupling, &f->coupling, sizeof made.rows.coupling);
    if (f->least != NONE) {
        memcpy(&made.rows.most, &f->most, sizeof made.rows.most);
        memcpy(&made.rows.least, &f->least, sizeof made.rows.least);
    }
    return made;
}

static cmg_status look_at_entries(cmg_context *ctx, const cmg_csr *A, cmgi_resident *R)
{
    CMGI_ON_DEVICE(ctx);
    facts *all = NULL;
    facts f = {};
    cmgi_scratch scratch(ctx);
    const bool square = A->rows == A->cols || R->halo;
    if (square && R->diagonal == NULL) {
        CMGI_TRY(cmgi_alloc_device(ctx, A->rows, sizeof *R->diagonal, &R->diagonal));
    }
    if (square && !R->known && R->diagonal_entry == NULL) {
        CMGI_TRY(cmgi_alloc_device(ctx, A->rows, sizeof *R->diagonal_entry, &R->diagonal_entry));
    }
    CMGI_TRY(scratch.take_zero(1, &all));
    CMGI_CUDA(ctx, cudaMemsetAsync(all, 0xff, offsetof(facts, identity), cmgi_stream(ctx)));
    if (A->rows > 0) {
        CMGI_TRY(look_at_rows(ctx, A, R->rows.count != NULL ? R->rows.longest : 0, R->known,
                              R->diagonal, R->diagonal_entry, all));
    }
    CMGI_TRY(cmgi_to_host(ctx, &f, all, sizeof f));
    const cmgi_resident_facts before = R->facts;
    R->facts = facts_of(&f);
    if (R->known) {
        R->facts.bad_column = before.bad_column;
        R->facts.duplicate = before.duplicate;
        R->facts.ascending = before.ascending;
    }
    R->known = true;
    return CMG_OK;
}

extern "C" const cmgi_resident_kernels cmgi_resident_cuda = {
    cmgi_resident_rows,     cmgi_resident_rows_each,       look_at_entries,
    cmgi_resident_gather,   cmgi_resident_transpose,       cmgi_resident_offsets,
    cmgi_resident_multiply, cmgi_resident_multiply_values, cmgi_resident_expand,
    cmgi_cuda_invert_there};
