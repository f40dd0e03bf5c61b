/* Kernels of matrices on the device; see resident.h. */
#include "csr/resident.cuh"

#include <float.h>

enum {
    THREADS = 256,
    ROWS = 512,
    WARP = 32,
    LANES = 8,
    AT_ONCE = 4,
    BINS = 1 << 16,
    HOT_BINS = 512
};

/* What the kernels add up; rows as unsigned numbers, ~0 = none. */
typedef struct facts {
    unsigned long long bad_length;
    unsigned long long bad_column;
    unsigned long long duplicate;
    unsigned long long not_finite;
    unsigned long long zero_diagonal;
    unsigned long long identity;
    unsigned long long beside;
    unsigned long long lines;
    unsigned long long unsorted;
    unsigned long long gershgorin; /* bits of a double >= 0, which are ordered like it */
    unsigned long long most;       /* of the |a_ii|, likewise */
    unsigned long long least;
    unsigned long long longest;
    unsigned long long sliced[CMGI_SLICE_SIZES];
} facts;

static const unsigned long long NONE = ~0ULL;

static __device__ __forceinline__ void note_row(unsigned long long *first, cmg_size row)
{
    atomicMin(first, (unsigned long long)row);
}

static_assert((4 << (CMGI_SLICE_SIZES - 1)) == 512, "a block sees the largest slice");

/* Adds the longest of each aligned run of 4, 8 .. 512 rows, times its size; 512 threads. */
static __device__ void add_sliced(int length, unsigned long long *sum)
{
    __shared__ int of_warp[ROWS / WARP];
    int most = length;
    const int lane = (int)threadIdx.x % WARP;
    for (int d = 1; d < WARP; d *= 2) {
        const int other = __shfl_xor_sync(0xffffffffU, most, d);
        most = other > most ? other : most;
        const int size = 2 * d;
        if (size >= 4 && lane % size == 0 && most > 0) {
            const int k = size == 4 ? 0 : size == 8 ? 1 : size == 16 ? 2 : 3;
            atomicAdd(&sum[k], (unsigned long long)most * size);
        }
    }
    if (lane == 0) {
        of_warp[threadIdx.x / WARP] = most;
    }
    __syncthreads();
    if (threadIdx.x < ROWS / WARP) {
        for (int k = 4, d = 2; d <= ROWS / WARP; ++k, d *= 2) {
            int run = 0;
            for (int w = 0; threadIdx.x % d == 0 && w < d; ++w) {
                run = of_warp[threadIdx.x + w] > run ? of_warp[threadIdx.x + w] : run;
            }
            atomicAdd(&sum[k], (unsigned long long)run * WARP * d);
        }
    }
    __syncthreads();
}

__global__ void __launch_bounds__(ROWS)
    rows_kernel(cmg_size rows, cmg_size cols, const cmg_size *indptr, facts *all,
                unsigned long long *bins)
{
    __shared__ unsigned bin[HOT_BINS];
    __shared__ unsigned long long sum[CMGI_SLICE_SIZES];
    for (int k = (int)threadIdx.x; k < HOT_BINS; k += ROWS) {
        bin[k] = 0;
    }
    if (threadIdx.x < CMGI_SLICE_SIZES) {
        sum[threadIdx.x] = 0;
    }
    __syncthreads();
    const cmg_size step = (cmg_size)gridDim.x * ROWS;
    for (cmg_size first = (cmg_size)blockIdx.x * ROWS; first < rows; first += step) {
        const cmg_size i = first + threadIdx.x;
        cmg_size length = 0;
        if (i < rows) {
            const cmg_size begin = indptr[i];
            length = indptr[i + 1] - begin;
            if (length < 0 || length > cols || (i == 0 && begin != 0)) {
                note_row(&all->bad_length, i);
                length = 0;
            }
            if (length < HOT_BINS) {
                atomicAdd(&bin[length], 1U);
            } else {
                atomicAdd(&bins[length < BINS ? length : BINS - 1], 1ULL);
                atomicMax(&all->longest, (unsigned long long)length);
            }
        }
        /* longer rows are counted on the host */
        add_sliced(length < BINS ? (int)length : 0, sum);
    }
    for (int k = (int)threadIdx.x; k < HOT_BINS; k += ROWS) {
        if (bin[k] > 0) {
            atomicAdd(&bins[k], (unsigned long long)bin[k]);
        }
    }
    if (threadIdx.x < CMGI_SLICE_SIZES) {
        atomicAdd(&all->sliced[threadIdx.x], sum[threadIdx.x]);
    }
}

/* The row pointers on the host, for matrices with rows beyond all bins. */
static cmg_status count_on_host(cmg_context *ctx, const cmg_csr *A, cmgi_row_statistics *s)
{
    cmg_size *indptr = NULL;
    const size_t bytes = (size_t)(A->rows + 1) * sizeof *indptr;
    CMGI_TRY(cmgi_alloc(ctx, A->rows + 1, sizeof *indptr, &indptr));
    cmg_status status = cmgi_to_host(ctx, indptr, A->indptr, bytes);
    if (status == CMG_OK) {
        cmg_csr view = *A;
        view.indptr = indptr;
        status = cmgi_row_statistics_take(ctx, &view, s);
    }
    cmgi_free(ctx, indptr);
    return status;
}

static cmg_status take_statistics(cmg_context *ctx, const cmg_csr *A, const facts *f,
                                  const cmg_size *bins, cmgi_row_statistics *s)
{
    cmg_size longest = (cmg_size)f->longest;
    if (longest >= BINS) {
        return count_on_host(ctx, A, s);
    }
    for (cmg_size k = HOT_BINS - 1; k > longest; --k) {
        longest = bins[k] > 0 ? k : longest;
    }
    *s = cmgi_row_statistics{};
    s->rows = A->rows;
    s->cols = A->cols;
    s->longest = longest;
    CMGI_TRY(cmgi_alloc(ctx, longest + 1, sizeof *s->count, &s->count));
    for (cmg_size k = 0; k <= longest; ++k) {
        s->count[k] = bins[k];
        s->nnz += k * bins[k];
    }
    s->filled = A->rows - bins[0];
    for (int k = 0; k < CMGI_SLICE_SIZES; ++k) {
        s->sliced[k] = (cmg_size)f->sliced[k];
    }
    return CMG_OK;
}

static facts no_facts(void)
{
    facts f = {};
    f.bad_length = f.bad_column = f.duplicate = f.not_finite = f.zero_diagonal = f.least = NONE;
    return f;
}

static cmg_size row_of(unsigned long long first)
{
    return first == NONE ? -1 : (cmg_size)first;
}

cmg_status cmgi_resident_rows(cmg_context *ctx, const cmg_csr *A, cmgi_resident *R)
{
    CMGI_ON_DEVICE(ctx);
    unsigned long long *bins = NULL;
    facts *all = NULL;
    cmg_size *host = NULL;
    facts f = no_facts();
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, BINS, sizeof *bins, &bins));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, 1, sizeof *all, &all));
    CMGI_TRY_GOTO(done, cmgi_alloc_zero(ctx, BINS, sizeof *host, &host));
    CMGI_TRY_GOTO(done, cmgi_to_device(ctx, all, &f, sizeof f));
    CMGI_TRY_GOTO(done, cmgi_cuda_clear(ctx, bins, BINS * sizeof *bins));
    if (A->rows > 0) {
        /* few blocks: each adds to the same counters at its end */
        const unsigned most = (unsigned)(4 * cmgi_device_of(ctx)->processors);
        const unsigned wanted = cmgi_grid(A->rows, ROWS);
        const unsigned grid = wanted < most ? wanted : most;
        rows_kernel<<<grid, ROWS, 0, cmgi_stream(ctx)>>>(A->rows, A->cols, A->indptr, all, bins);
        CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
    }
    CMGI_TRY_GOTO(done, cmgi_to_host(ctx, &f, all, sizeof f));
    R->facts.bad_length = row_of(f.bad_length);
    if (f.bad_length == NONE) {
        const cmg_size looked = f.longest >= HOT_BINS ? BINS : HOT_BINS;
        CMGI_TRY_GOTO(done, cmgi_to_host(ctx, host, bins, (size_t)looked * sizeof *host));
        CMGI_TRY_GOTO(done, take_statistics(ctx, A, &f, host, &R->rows));
    }
done:
    cmgi_free_device(ctx, bins);
    cmgi_free_device(ctx, all);
    cmgi_free(ctx, host);
    return status;
}

template <typename T>
static __device__ __forceinline__ T group_add(T s)
{
#pragma unroll
    for (int d = LANES / 2; d > 0; d >>= 1) {
        s += __shfl_xor_sync(0xffffffffU, s, d);
    }
    return s;
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

/* What the lanes of a row have seen. */
struct view {
    double diagonal;
    double sum;
    double first;
    double second;
    bool range;
    bool descends;
    bool nonzero; /* an entry off the diagonal */
    bool other;   /* one, zero or not */
};

static __device__ __forceinline__ view look_at_row(const cmg_csr A, cmg_size i, cmg_size begin,
                                                   cmg_size length, int lane)
{
    view v = {};
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
            column[u] = real ? indices[e] : 0;
            before[u] = real && e > 0 ? indices[e - 1] : -1;
            value[u] = real ? values[e] : 0;
        }
#pragma unroll
        for (int u = 0; u < AT_ONCE; ++u) {
            if (first + u * LANES >= length) {
                break;
            }
            const cmg_index j = column[u];
            const double size = fabs(value[u]);
            v.range = v.range || j < 0 || j >= A.cols;
            v.descends = v.descends || (first + u > 0 && before[u] >= j);
            v.sum += size;
            if (j == i) {
                v.diagonal += value[u];
            } else {
                v.other = true;
                v.nonzero = v.nonzero || value[u] != 0;
                merge_largest(v.first, v.second, size, 0);
            }
        }
    }
    return v;
}

/* Counts of a block. */
struct counts {
    unsigned identity;
    unsigned beside;
    unsigned lines;
    unsigned unsorted;
    unsigned long long gershgorin;
    unsigned long long most;
    unsigned long long least;
};

static __device__ __forceinline__ unsigned long long bits_of(double v)
{
    return (unsigned long long)__double_as_longlong(v);
}

static __device__ void count_square(const view &v, cmg_size i, double *diagonal, facts *all,
                                    counts *mine)
{
    diagonal[i] = v.diagonal;
    if (v.diagonal == 0) {
        note_row(&all->zero_diagonal, i);
        return;
    }
    if (!v.nonzero) {
        atomicAdd(&mine->identity, 1U);
    }
    if (v.first + v.second > CMGI_LINE * fabs(v.diagonal)) {
        atomicAdd(&mine->lines, 1U);
    }
    const unsigned long long bound = bits_of(v.sum * fabs(1 / v.diagonal));
    const unsigned long long size = bits_of(fabs(v.diagonal));
    if (bound > mine->gershgorin) {
        atomicMax(&mine->gershgorin, bound);
    }
    if (size > mine->most) {
        atomicMax(&mine->most, size);
    }
    if (size < mine->least) {
        atomicMin(&mine->least, size);
    }
}

__global__ void __launch_bounds__(THREADS)
    entries_kernel(const cmg_csr A, double *diagonal, facts *all)
{
    __shared__ counts mine;
    const int lane = (int)threadIdx.x % LANES;
    const unsigned mask = 0xffU << ((threadIdx.x % WARP) / LANES * LANES);
    if (threadIdx.x == 0) {
        mine = counts{};
        mine.least = NONE;
    }
    __syncthreads();
    const cmg_size step = (cmg_size)gridDim.x * (THREADS / LANES);
    const cmg_size last = (A.rows + step - 1) / step * step;
    for (cmg_size i = (cmg_size)blockIdx.x * (THREADS / LANES) + threadIdx.x / LANES; i < last;
         i += step) {
        const bool real = i < A.rows;
        const cmg_size begin = real ? A.indptr[i] : 0;
        const cmg_size length = real ? A.indptr[i + 1] - begin : 0;
        view v = look_at_row(A, i, begin, length, lane);
        const unsigned range = __ballot_sync(0xffffffffU, v.range) & mask;
        const unsigned descends = __ballot_sync(0xffffffffU, v.descends) & mask;
        v.nonzero = (__ballot_sync(0xffffffffU, v.nonzero) & mask) != 0;
        v.other = (__ballot_sync(0xffffffffU, v.other) & mask) != 0;
        v.sum = group_add(v.sum);
        v.diagonal = group_add(v.diagonal);
#pragma unroll
        for (int d = LANES / 2; d > 0; d >>= 1) {
            const double a = __shfl_xor_sync(0xffffffffU, v.first, d);
            const double b = __shfl_xor_sync(0xffffffffU, v.second, d);
            merge_largest(v.first, v.second, a, b);
        }
        if (!real) {
            continue;
        }
        if (descends != 0 && has_duplicate(A.indices + begin, length, lane)) {
            note_row(&all->duplicate, i);
        }
        if (lane != 0) {
            continue;
        }
        if (range != 0) {
            note_row(&all->bad_column, i);
        }
        if (descends != 0) {
            atomicAdd(&mine.unsorted, 1U);
        }
        if (!(v.sum <= DBL_MAX)) {
            note_row(&all->not_finite, i);
        }
        if (v.other) {
            atomicAdd(&mine.beside, 1U);
        }
        if (diagonal != NULL) {
            count_square(v, i, diagonal, all, &mine);
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(&all->identity, (unsigned long long)mine.identity);
        atomicAdd(&all->beside, (unsigned long long)mine.beside);
        atomicAdd(&all->lines, (unsigned long long)mine.lines);
        atomicAdd(&all->unsorted, (unsigned long long)mine.unsorted);
        atomicMax(&all->gershgorin, mine.gershgorin);
        atomicMax(&all->most, mine.most);
        atomicMin(&all->least, mine.least);
    }
}

static cmgi_resident_facts facts_of(const facts *f)
{
    cmgi_resident_facts made = {};
    made.bad_length = -1;
    made.bad_column = row_of(f->bad_column);
    made.duplicate = row_of(f->duplicate);
    made.not_finite = row_of(f->not_finite);
    made.zero_diagonal = row_of(f->zero_diagonal);
    made.identity = (cmg_size)f->identity;
    made.beside = (cmg_size)f->beside;
    made.lines = (cmg_size)f->lines;
    made.ascending = f->unsorted == 0;
    memcpy(&made.gershgorin, &f->gershgorin, sizeof made.gershgorin);
    if (f->least != NONE) {
        memcpy(&made.most, &f->most, sizeof made.most);
        memcpy(&made.least, &f->least, sizeof made.least);
    }
    return made;
}

static cmg_status look_at_entries(cmg_context *ctx, const cmg_csr *A, cmgi_resident *R)
{
    CMGI_ON_DEVICE(ctx);
    const unsigned most = (unsigned)(8 * cmgi_device_of(ctx)->processors);
    const unsigned wanted = cmgi_grid(A->rows, THREADS / LANES);
    const unsigned grid = wanted < most ? wanted : most;
    facts *all = NULL;
    facts f = no_facts();
    cmg_status status = CMG_OK;
    if (A->rows == A->cols && R->diagonal == NULL) {
        CMGI_TRY(cmgi_alloc_device(ctx, A->rows, sizeof *R->diagonal, &R->diagonal));
    }
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, 1, sizeof *all, &all));
    CMGI_TRY_GOTO(done, cmgi_to_device(ctx, all, &f, sizeof f));
    if (A->rows > 0) {
        entries_kernel<<<grid, THREADS, 0, cmgi_stream(ctx)>>>(*A, R->diagonal, all);
        CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
    }
    CMGI_TRY_GOTO(done, cmgi_to_host(ctx, &f, all, sizeof f));
    R->facts = facts_of(&f);
done:
    cmgi_free_device(ctx, all);
    return status;
}

__global__ void identity_kernel(const cmg_csr A, bool *flag)
{
    const cmg_size i = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    if (i >= A.rows) {
        return;
    }
    bool diagonal = false;
    bool other = false;
    for (cmg_size k = A.indptr[i]; k < A.indptr[i + 1] && !other; ++k) {
        const bool nonzero = A.values[k] != 0;
        diagonal = diagonal || (A.indices[k] == i && nonzero);
        other = A.indices[k] != i && nonzero;
    }
    flag[i] = diagonal && !other;
}

static cmg_status find_identity(cmg_context *ctx, const cmg_csr *A, bool *flag)
{
    CMGI_ON_DEVICE(ctx);
    if (A->rows == 0) {
        return CMG_OK;
    }
    identity_kernel<<<cmgi_grid(A->rows, THREADS), THREADS, 0, cmgi_stream(ctx)>>>(*A, flag);
    return CMGI_LAUNCHED(ctx);
}

__global__ void invert_kernel(cmg_size n, const double *d, double *inverse)
{
    const cmg_size i = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    if (i < n) {
        inverse[i] = 1 / d[i];
    }
}

static cmg_status invert(cmg_context *ctx, cmg_size n, const double *d, double *inverse)
{
    CMGI_ON_DEVICE(ctx);
    if (n == 0) {
        return CMG_OK;
    }
    invert_kernel<<<cmgi_grid(n, THREADS), THREADS, 0, cmgi_stream(ctx)>>>(n, d, inverse);
    return CMGI_LAUNCHED(ctx);
}

__global__ void mask_kernel(cmg_size n, const bool *flag, double *d)
{
    const cmg_size i = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    if (i < n) {
        d[i] = flag[i] ? 0 : 1;
    }
}

static cmg_status mask(cmg_context *ctx, cmg_size n, const bool *flag, double *d)
{
    CMGI_ON_DEVICE(ctx);
    if (n == 0) {
        return CMG_OK;
    }
    mask_kernel<<<cmgi_grid(n, THREADS), THREADS, 0, cmgi_stream(ctx)>>>(n, flag, d);
    return CMGI_LAUNCHED(ctx);
}

extern "C" const cmgi_resident_kernels cmgi_resident_cuda = {cmgi_resident_rows,
                                                             look_at_entries,
                                                             cmgi_resident_gather,
                                                             cmgi_resident_transpose,
                                                             find_identity,
                                                             invert,
                                                             mask,
                                                             cmgi_resident_count_up,
                                                             cmgi_resident_offsets,
                                                             cmgi_resident_widen,
                                                             cmgi_resident_multiply,
                                                             cmgi_resident_multiply_values,
                                                             cmgi_resident_unit_rows};
