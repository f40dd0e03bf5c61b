/*
 * What the entries of short rows tell, a thread a row. The entries of the rows of a block are read
 * as they lie into shared memory: lanes that share a row would spend their time on exchanging what
 * they have seen.
 */
#include "csr/entries.cuh"

enum { ROWS = 64, PARTS = 8, BANKS = 16, MOST = ROWS * CMGI_SHORT_ROWS };

/* Rows of a power of two of entries begin in different banks. */
static __device__ __forceinline__ int place_of(int k)
{
    return k + k / BANKS;
}

enum { PLACES = MOST + MOST / BANKS };

/* The entries of a row in shared memory; `columns` NULL: `known` is the diagonal. */
struct row {
    const double *values;
    const cmg_index *columns;
    int first;
    int length;
    int known;
};

static __device__ __forceinline__ bool repeats(const row &r)
{
    for (int e = 1; e < r.length; ++e) {
        for (int f = 0; f < e; ++f) {
            if (r.columns[place_of(r.first + f)] == r.columns[place_of(r.first + e)]) {
                return true;
            }
        }
    }
    return false;
}

/* The parts of a sum are those of eight lanes. */
template <bool COLUMNS>
static __device__ __forceinline__ view look_at_row(const row &r, cmg_size i, cmg_size cols)
{
    view v = {};
    double part[PARTS] = {};
    cmg_index before = -1;
    v.entry = CMGI_DIAGONAL_UNKNOWN;
    for (int first = 0; first < r.length; first += PARTS) {
#pragma unroll
        for (int p = 0; p < PARTS; ++p) {
            const int e = first + p;
            if (e >= r.length) {
                break;
            }
            const int at = place_of(r.first + e);
            const double value = r.values[at];
            const double size = fabs(value);
            const cmg_index j = COLUMNS ? r.columns[at] : 0;
            const bool on_diagonal = COLUMNS ? j == i : e == r.known;
            part[p] += size;
            v.beyond = v.beyond || cmgi_is_beyond(size);
            if (COLUMNS) {
                v.range = v.range || j < 0 || j >= cols;
                v.descends = v.descends || (e > 0 && before >= j);
                before = j;
            }
            if (on_diagonal) {
                v.diagonal += value;
                v.entry = e;
            } else {
                v.other = true;
                v.nonzero = v.nonzero || value != 0;
                merge_largest(v.first, v.second, size, 0);
            }
        }
    }
#pragma unroll
    for (int d = PARTS / 2; d > 0; d /= 2) {
#pragma unroll
        for (int p = 0; p < d; ++p) {
            part[p] += part[p + d];
        }
    }
    v.sum = part[0];
    return v;
}

template <bool PATTERN, bool COLUMNS>
__global__ void __launch_bounds__(ROWS)
    short_rows_kernel(const cmg_csr A, double *diagonal, uint8_t *entry, facts *all)
{
    __shared__ counts mine;
    __shared__ double values[PLACES];
    __shared__ cmg_index columns[COLUMNS ? PLACES : 1];
    const int thread = (int)threadIdx.x;
    const cmg_size step = (cmg_size)gridDim.x * ROWS;
    if (thread == 0) {
        mine = no_counts();
    }
    for (cmg_size top = (cmg_size)blockIdx.x * ROWS; top < A.rows; top += step) {
        const cmg_size i = top + thread;
        const bool real = i < A.rows;
        const cmg_size begin = A.indptr[top];
        const cmg_size end = A.indptr[top + ROWS < A.rows ? top + ROWS : A.rows];
        const cmg_size own = real ? A.indptr[i] : end;
        const cmg_size next = real ? A.indptr[i + 1] : end;
        __syncthreads(); /* the last rows are done with */
#pragma unroll 8
        for (int k = thread; k < (int)(end - begin); k += ROWS) {
            values[place_of(k)] = cmgi_load_once(A.values + begin + k);
            if (COLUMNS) {
                columns[place_of(k)] = cmgi_load_once(A.indices + begin + k);
            }
        }
        __syncthreads();
        const row r = {values, columns, (int)(own - begin), (int)(next - own),
                       !COLUMNS && real ? entry[i] : CMGI_DIAGONAL_UNKNOWN};
        const view v = look_at_row<COLUMNS>(r, i, A.cols);
        const unsigned others = __ballot_sync(CMGI_ALL, v.other);
        if (thread % CMGI_WARP == 0) {
            atomicAdd(&mine.beside, (unsigned)__popc(others));
        }
        if (!real) {
            continue;
        }
        if (PATTERN && v.descends && repeats(r)) {
            note_row(&all->duplicate, i);
        }
        count_row<PATTERN>(v, i, diagonal, entry, all, &mine);
    }
    __syncthreads();
    if (thread == 0) {
        add_counts(mine, all);
    }
}

cmg_status cmgi_entries_short(cmg_context *ctx, const cmg_csr *A, bool pattern, double *diagonal,
                              uint8_t *entry, facts *all)
{
    const unsigned most = (unsigned)(16 * cmgi_device_of(ctx)->processors);
    const unsigned wanted = cmgi_grid(A->rows, ROWS);
    const unsigned grid = wanted < most ? wanted : most;
    if (pattern) {
        short_rows_kernel<true, true>
            <<<grid, ROWS, 0, cmgi_stream(ctx)>>>(*A, diagonal, entry, all);
    } else if (entry == NULL) {
        short_rows_kernel<false, true>
            <<<grid, ROWS, 0, cmgi_stream(ctx)>>>(*A, diagonal, entry, all);
    } else {
        short_rows_kernel<false, false>
            <<<grid, ROWS, 0, cmgi_stream(ctx)>>>(*A, diagonal, entry, all);
    }
    return CMGI_LAUNCHED(ctx);
}
