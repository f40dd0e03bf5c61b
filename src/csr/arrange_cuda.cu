/* Offsets, rows for the host, and the transposition of a matrix on the device. */
#include "csr/resident.cuh"

#include "core/each.h"

enum { THREADS = 256, LANES = 8, EACH = 8, CHUNK = THREADS * EACH };
/* Entries that are fetched without a look at how many there are. */
enum { GUESSED = 1 << 17 };

/* part[c] = sum of the chunk c of the counts */
__global__ void chunk_kernel(cmg_size n, const cmg_size *count, cmg_size *part)
{
    const cmg_size first = (cmg_size)blockIdx.x * CHUNK + threadIdx.x;
    cmg_size sum = 0;
    for (int e = 0; e < EACH; ++e) {
        sum += first + e * THREADS < n ? count[first + e * THREADS] : 0;
    }
    sum = cmgi_block_sum<THREADS>(sum);
    if (threadIdx.x == 0) {
        part[blockIdx.x] = sum;
    }
}

/* Sum of the values of the threads before this one, of a block of THREADS, and of all. */
static __device__ __forceinline__ cmg_size sum_before(cmg_size own, cmg_size *all)
{
    __shared__ cmg_size of_warp[THREADS / CMGI_WARP];
    const int lane = (int)threadIdx.x % CMGI_WARP;
    const int warp = (int)threadIdx.x / CMGI_WARP;
    cmg_size upto = own;
    for (int d = 1; d < CMGI_WARP; d *= 2) {
        const cmg_size below = __shfl_up_sync(CMGI_ALL, upto, d);
        upto += lane >= d ? below : 0;
    }
    if (lane == CMGI_WARP - 1) {
        of_warp[warp] = upto;
    }
    __syncthreads();
    cmg_size before = upto - own;
    *all = 0;
    for (int w = 0; w < THREADS / CMGI_WARP; ++w) {
        before += w < warp ? of_warp[w] : 0;
        *all += of_warp[w];
    }
    __syncthreads();
    return before;
}

/* Each count becomes the sum of those before it, where part[c] has that for chunk c, and count[n]
 * the sum of all; without parts there is one chunk. */
__global__ void offset_kernel(cmg_size n, const cmg_size *part, cmg_size *count)
{
    const cmg_size first = (cmg_size)blockIdx.x * CHUNK + threadIdx.x * EACH;
    cmg_size own[EACH];
    cmg_size sum = 0;
    cmg_size all = 0;
    for (int e = 0; e < EACH; ++e) {
        own[e] = first + e < n ? count[first + e] : 0;
        sum += own[e];
    }
    const cmg_size before = part != NULL ? part[blockIdx.x] : 0;
    cmg_size at = before + sum_before(sum, &all);
    for (int e = 0; e < EACH && first + e < n; ++e) {
        count[first + e] = at;
        at += own[e];
    }
    if (threadIdx.x == 0 && blockIdx.x + 1 == gridDim.x) {
        count[n] = before + all;
    }
}

/* All on the device; the host waits where it wants the total. Sums of chunks are added up likewise.
 */
cmg_status cmgi_resident_offsets(cmg_context *ctx, cmg_size n, cmg_size *count, cmg_size *total)
{
    CMGI_ON_DEVICE(ctx);
    const unsigned chunks = n > CHUNK ? cmgi_grid(n, CHUNK) : 1;
    cmg_size *part = NULL;
    cmgi_scratch scratch(ctx);
    if (chunks > 1) {
        CMGI_TRY(scratch.take(chunks + 1, &part));
        CMGI_TRY(CMGI_RUN(ctx, chunks, THREADS, 0, chunk_kernel, n, count, part));
        CMGI_TRY(cmgi_resident_offsets(ctx, chunks, part, NULL));
    }
    CMGI_TRY(CMGI_RUN(ctx, chunks, THREADS, 0, offset_kernel, n, part, count));
    if (total != NULL) {
        CMGI_TRY(cmgi_to_host(ctx, total, count + n, sizeof *total));
    }
    return CMG_OK;
}

/* Rows by a list, one after the other. */
typedef struct picking {
    cmg_csr A;
    const cmg_index *row;
    cmgi_csr to;           /* indptr has counts at first */
    const cmg_index *cols; /* NULL = columns stay as they are ... */
    cmg_index *place;      /* ... else get this number each, and ascend */
    cmg_size *moved;       /* where each entry of A is then; NULL = not wanted */
} picking;

CMGI_EACH_INDEX(pick_place, picking)
{
    a.place[a.cols[i]] = (cmg_index)i;
}

CMGI_EACH_INDEX(pick_length, picking)
{
    a.to.indptr[i] = a.A.indptr[a.row[i] + 1] - a.A.indptr[a.row[i]];
}

CMGI_EACH_ROW(pick_row, picking)
{
    const cmg_size from = real ? a.A.indptr[a.row[i]] : 0;
    const cmg_size begin = real ? a.to.indptr[i] : 0;
    const cmg_size length = real ? a.to.indptr[i + 1] - begin : 0;
    for (cmg_size e = lane; e < length; e += CMGI_STEP) {
        cmg_index column = a.A.indices[from + e];
        cmg_size at = begin + e;
        if (a.place != NULL) { /* every entry counts those of its row that come before it */
            column = a.place[column];
            at = begin;
            for (cmg_size k = from; k < from + length; ++k) {
                at += a.place[a.A.indices[k]] < column;
            }
        }
        a.to.indices[at] = column;
        a.to.values[at] = a.A.values[from + e];
        if (a.moved != NULL) {
            a.moved[from + e] = at;
        }
    }
}

static cmg_status pick(cmg_context *ctx, cmg_size count, picking p, cmg_csr *part, cmg_size *nnz)
{
    CMGI_ON_DEVICE(ctx);
    p.to.rows = count;
    p.to.cols = p.A.cols;
    cmgi_scratch scratch(ctx);
    const cmgi_at_end end{[&] { cmgi_resident_free_arrays(ctx, &p.to.view); }};
    if (p.cols != NULL) {
        CMGI_TRY(scratch.take(p.A.cols, &p.place));
        CMGI_TRY(cmgi_pick_place_device(ctx, p.A.cols, &p));
    }
    CMGI_TRY(cmgi_alloc_device(ctx, count + 1, sizeof *p.to.indptr, &p.to.indptr));
    CMGI_TRY(cmgi_pick_length_device(ctx, count, &p));
    CMGI_TRY(cmgi_resident_offsets(ctx, count, p.to.indptr, *nnz > 0 ? NULL : nnz));
    CMGI_TRY(cmgi_alloc_device(ctx, *nnz, sizeof *p.to.indices, &p.to.indices));
    CMGI_TRY(cmgi_alloc_device(ctx, *nnz, sizeof *p.to.values, &p.to.values));
    CMGI_TRY(cmgi_pick_row_device(ctx, count, &p));
    CMGI_PASS_ON(&p.to.view, part);
    return CMG_OK;
}

cmg_status cmgi_resident_pick(cmg_context *ctx, const cmg_csr *A, const cmg_index *row,
                              cmg_size count, cmg_csr *part, cmg_size *nnz)
{
    return pick(ctx, count, {*A, row, {}, NULL, NULL, NULL}, part, nnz);
}

cmg_status cmgi_permute_device(cmg_context *ctx, const cmg_csr *A, cmg_size nnz,
                               const cmg_index *rows, const cmg_index *cols, cmg_size *to,
                               cmg_csr *B)
{
    return pick(ctx, A->rows, {*A, rows, {}, cols, NULL, to}, B, &nnz);
}

/* The rows come with their offsets by one wait, but those that are too many at a guess. */
cmg_status cmgi_resident_gather(cmg_context *ctx, const cmgi_resident *R, const cmg_index *row,
                                cmg_size count, cmgi_csr *host)
{
    const cmg_size most = count * R->rows.longest;
    cmg_size room = most > GUESSED ? 0 : most;
    cmg_index *list = NULL;
    cmg_csr picked = {};
    cmgi_scratch scratch(ctx);
    const cmgi_at_end end{[&] { cmgi_resident_free_arrays(ctx, &picked); }};
    CMGI_TRY(scratch.take(count, &list));
    CMGI_TRY(cmgi_to_device(ctx, list, row, (size_t)count * sizeof *list));
    CMGI_TRY(cmgi_resident_pick(ctx, &R->csr, list, count, &picked, &room));
    return cmgi_resident_fetch(ctx, &picked, room, host);
}

typedef struct counting {
    const cmg_index *indices;
    cmg_size *count;
} counting;

CMGI_EACH_INDEX(count_column, counting)
{
    atomicAdd((unsigned long long *)&a.count[a.indices[i]], 1ULL);
}

/* Entries of a column come into its row in any order, which the next kernel sets right. */
__global__ void spread_kernel(const cmg_csr A, const cmg_size *offset, int *taken,
                              cmg_index *indices, double *values)
{
    const cmg_size i = ((cmg_size)blockIdx.x * THREADS + threadIdx.x) / 2;
    if (i >= A.rows) {
        return;
    }
    for (cmg_size k = A.indptr[i] + threadIdx.x % 2; k < A.indptr[i + 1]; k += 2) {
        const cmg_index j = A.indices[k];
        const cmg_size at = offset[j] + atomicAdd(&taken[j], 1);
        indices[at] = (cmg_index)i;
        values[at] = A.values[k];
    }
}

/* Sorts the row of a warp by rank: columns differ, so that each entry's place is the number of
 * smaller ones. Longer rows than a warp go through a copy. */
__global__ void sort_kernel(cmg_size rows, const cmg_size *offset, const cmg_index *from_indices,
                            const double *from_values, cmg_index *indices, double *values)
{
    const cmg_size i = ((cmg_size)blockIdx.x * THREADS + threadIdx.x) / CMGI_WARP;
    const int lane = (int)threadIdx.x % CMGI_WARP;
    if (i >= rows) {
        return;
    }
    const cmg_size begin = offset[i];
    const cmg_size length = offset[i + 1] - begin;
    for (cmg_size first = 0; first < length; first += CMGI_WARP) {
        const bool real = first + lane < length;
        const cmg_index mine = real ? from_indices[begin + first + lane] : INT32_MAX;
        cmg_size rank = 0;
        for (cmg_size other = 0; other < length; other += CMGI_WARP) {
            const cmg_index theirs =
                other + lane < length ? from_indices[begin + other + lane] : INT32_MAX;
            for (int d = 0; d < CMGI_WARP; ++d) {
                rank += __shfl_sync(CMGI_ALL, theirs, d) < mine;
            }
        }
        if (real) {
            indices[begin + rank] = mine;
        }
        if (real && values != NULL) {
            values[begin + rank] = from_values[begin + first + lane];
        }
    }
}

cmg_status cmgi_resident_sort(cmg_context *ctx, const cmg_csr *from, const cmg_csr *to)
{
    CMGI_ON_DEVICE(ctx);
    return CMGI_RUN(ctx, cmgi_grid(to->rows * CMGI_WARP, THREADS), THREADS, 0, sort_kernel,
                    to->rows, to->indptr, from->indices, from->values, (cmg_index *)to->indices,
                    (double *)to->values);
}

/*
 * P of linear interpolation between grids of odd sides, x fastest, has its column (x, y, z) in rows
 * next to (2x + 1, 2y + 1, 2z + 1) alone, and in all of them: 3 along each of `dims` axes. So each
 * entry of P^T is looked for where it would be, and P^T is as guessed where all of them are found.
 */
typedef struct guess {
    cmg_csr A;
    cmg_csr T;
    int dims;
    cmg_index *side; /* of the fine grid: x, y; and not 0 if an entry is missing */
} guess;
enum { SIDES = 3, GUESSERS = 1024 };

/* Lines after the first three begin where column 0 comes first again, and so do planes. */
__global__ void __launch_bounds__(GUESSERS) guess_sides_kernel(const guess g)
{
    __shared__ int found[2];
    const int rows = (int)g.A.rows;
    if (threadIdx.x < 2) {
        found[threadIdx.x] = rows;
    }
    int step = 1;
    for (int k = 0; k < g.dims - 1; ++k) {
        __syncthreads();
        for (int top = SIDES; top < rows / step && found[k] == rows; top += GUESSERS) {
            const int row =
                top + (int)threadIdx.x < rows / step ? (top + (int)threadIdx.x) * step : 0;
            __syncthreads();
            if (row > 0 && g.A.indptr[row] < g.A.indptr[row + 1] &&
                g.A.indices[g.A.indptr[row]] == 0) {
                atomicMin(&found[k], row);
            }
            __syncthreads();
        }
        step = found[k];
    }
    if (threadIdx.x == 0) {
        g.side[0] = g.dims > 1 ? found[0] : rows;
        g.side[1] = g.dims > 2 ? found[1] / found[0] : rows / g.side[0];
        g.side[2] = 0;
    }
}

/* A warp a row, an entry a lane. */
template <int DIMS>
__global__ void __launch_bounds__(THREADS) guess_kernel(const guess g)
{
    constexpr unsigned MOST = DIMS == 3 ? 27 : DIMS == 2 ? 9 : 3;
    const unsigned j = (unsigned)(((cmg_size)blockIdx.x * THREADS + threadIdx.x) / CMGI_WARP);
    const unsigned lane = threadIdx.x % CMGI_WARP;
    if (j >= (unsigned)g.T.rows || lane >= MOST) {
        return;
    }
    const unsigned nx = max((unsigned)g.side[0], 2U);
    const unsigned ny = DIMS > 1 ? max((unsigned)g.side[1], 2U) : 2;
    const unsigned line = DIMS > 1 ? j / (nx / 2) : 0;
    const unsigned plane = DIMS > 2 ? line / (ny / 2) : 0;
    const unsigned many[3] = {nx / 2, ny / 2, (unsigned)g.T.rows / (nx / 2) / (ny / 2)};
    const unsigned at[3] = {j - line * (nx / 2), line - plane * (ny / 2), plane};
    const unsigned side[3] = {lane % 3, lane / 3 % 3, lane / 9}; /* before, at or after it */
    unsigned entry = 0; /* of row i, if it is linear interpolation between those inside */
    unsigned position[3] = {0, 0, 0};
#pragma unroll
    for (int k = DIMS - 1; k >= 0; --k) {
        const bool before = side[k] == 0 && at[k] > 0;
        const bool after = side[k] == 2 && at[k] + 1 < many[k];
        entry = entry * (1 + (before || after)) + before;
        position[k] = 2 * at[k] + side[k];
    }
    const cmg_size i = ((cmg_size)position[2] * ny + position[1]) * nx + position[0];
    const cmg_size end = i < g.A.rows ? g.A.indptr[i + 1] : 0;
    const cmg_size from = i < g.A.rows ? g.A.indptr[i] + entry : 0;
    const bool found = from < end && g.A.indices[from] == (cmg_index)j;
    const cmg_size to = (cmg_size)j * MOST + lane;
    ((cmg_index *)g.T.indices)[to] = (cmg_index)i;
    ((double *)g.T.values)[to] = from < end ? g.A.values[from] : 0;
    if (lane == 0) {
        ((cmg_size *)g.T.indptr)[j] = to;
        ((cmg_size *)g.T.indptr)[j + 1] = to + MOST;
    }
    if (!found) {
        g.side[2] = 1;
    }
}

/* T has its arrays. */
static cmg_status transpose_by_guess(cmg_context *ctx, const cmg_csr *A, cmg_size nnz,
                                     const cmg_csr *T, bool *found)
{
    enum { WORTH = 4096 };
    guess g = {*A, *T, nnz == 27 * A->cols ? 3 : nnz == 9 * A->cols ? 2 : 1, NULL};
    const auto kernel = g.dims == 3   ? guess_kernel<3>
                        : g.dims == 2 ? guess_kernel<2>
                                      : guess_kernel<1>;
    cmg_index side[SIDES] = {0, 0, 1};
    cmgi_scratch scratch(ctx);
    *found = false;
    if (A->cols < WORTH || (g.dims == 1 && nnz != 3 * A->cols)) {
        return CMG_OK;
    }
    CMGI_TRY(scratch.take(SIDES, &g.side));
    CMGI_TRY(CMGI_RUN(ctx, 1, GUESSERS, 0, guess_sides_kernel, g));
    CMGI_TRY(CMGI_RUN(ctx, cmgi_grid(A->cols * CMGI_WARP, THREADS), THREADS, 0, kernel, g));
    CMGI_TRY(cmgi_to_host(ctx, side, g.side, sizeof side));
    *found = side[2] == 0;
    return CMG_OK;
}

/* T has its arrays. */
static cmg_status transpose_any(cmg_context *ctx, const cmg_csr *A, cmg_size nnz, const cmg_csr *T)
{
    const counting c = {A->indices, (cmg_size *)T->indptr};
    const size_t rows = (size_t)(T->rows + 1) * sizeof *T->indptr;
    cmg_csr raw = {};
    int *taken = NULL;
    cmgi_scratch scratch(ctx);
    const cmgi_at_end end{[&] { cmgi_resident_free_arrays(ctx, &raw); }};
    CMGI_TRY(scratch.take_zero(A->cols, &taken));
    CMGI_TRY(cmgi_resident_alloc(ctx, 0, 0, nnz, &raw));
    CMGI_TRY(cmgi_cuda_clear(ctx, c.count, rows));
    CMGI_TRY(cmgi_count_column_device(ctx, nnz, &c));
    CMGI_TRY(cmgi_resident_offsets(ctx, A->cols, c.count, NULL));
    CMGI_TRY(CMGI_RUN(ctx, cmgi_grid(A->rows * 2, THREADS), THREADS, 0, spread_kernel, *A,
                      T->indptr, taken, (cmg_index *)raw.indices, (double *)raw.values));
    return cmgi_resident_sort(ctx, &raw, T);
}

cmg_status cmgi_resident_transpose(cmg_context *ctx, const cmg_csr *A, cmg_size nnz, cmg_csr *T)
{
    CMGI_ON_DEVICE(ctx);
    cmg_csr made = {};
    bool found = false;
    const cmgi_at_end end{[&] { cmgi_resident_free_arrays(ctx, &made); }};
    CMGI_TRY(cmgi_resident_alloc(ctx, A->cols, A->rows, nnz, &made));
    CMGI_TRY(transpose_by_guess(ctx, A, nnz, &made, &found));
    CMGI_TRY(found ? CMG_OK : transpose_any(ctx, A, nnz, &made));
    CMGI_PASS_ON(&made, T);
    return CMG_OK;
}
