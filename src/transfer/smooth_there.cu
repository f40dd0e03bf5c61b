/* P = (I - omega / lambda D^-1 A_F) P_0 on the device; sums in the order of tentative.c. */
#include "transfer/aggregation.cuh"

enum {
    THREADS = 256,
    LANES = CMGI_ROW_LANES,
    WARP = 32,
    MOST_COLUMNS = 32, /* of a row of P that a thread forms by itself */
    WARPS = 4,         /* of a block that does so */
    STAGED = 28 * WARP /* entries that a warp looks up for its rows together */
};

/* A row of A beside that of S, eight entries after the other. */
struct filtering {
    const cmg_csr &A;
    const cmg_csr &S;
    cmgi_lanes lanes;
    cmg_size s; /* next entry of S's row */
    cmg_size last;

    __device__ __forceinline__ cmg_index column(cmg_size k, cmg_size end) const
    {
        return k < end ? A.indices[k] : -1;
    }
    /* Whether the lane's column j is strong; its eight are within the next eight of S. */
    __device__ __forceinline__ bool is_strong(cmg_index j)
    {
        const cmg_index next = s + lanes.lane < last ? S.indices[s + lanes.lane] : -2;
        bool strong = false;
        for (int q = 0; q < LANES; ++q) {
            strong = __shfl_sync(CMGI_ALL, next, q, LANES) == j || strong;
        }
        int before = 0;
        s += lanes.count(strong, &before);
        return strong;
    }
};

/* Counts the entries of a filtered row (tentative.c), into offset, or writes them from there on. */
__global__ void filter_kernel(const cmg_csr A, const cmg_csr S, cmg_size *offset,
                              cmg_index *columns, double *values)
{
    const cmg_size i = cmgi_row_of_lanes(THREADS);
    const bool real = i < A.rows;
    const cmg_size begin = real ? A.indptr[i] : 0;
    const cmg_size end = real ? A.indptr[i + 1] : 0;
    const cmg_size first = real ? S.indptr[i] : 0;
    filtering f = {A, S, cmgi_lanes(), first, real ? S.indptr[i + 1] : 0};
    const int lane = f.lanes.lane;
    double diagonal = 0;
    double dropped = 0;
    for (cmg_size k = begin + lane; __any_sync(CMGI_ALL, k - lane < end); k += LANES) {
        const cmg_index j = f.column(k, end);
        const bool strong = f.is_strong(j);
        diagonal += j == i ? A.values[k] : 0;
        dropped += k < end && j != i && !strong ? A.values[k] : 0;
    }
    diagonal = f.lanes.sum(diagonal);
    dropped = f.lanes.sum(dropped);
    const bool whole = f.last == first || cmgi_stays_whole(diagonal, dropped);
    cmg_size at = real && columns != NULL ? offset[i] : 0;
    f.s = first;
    for (cmg_size k = begin + lane; __any_sync(CMGI_ALL, k - lane < end); k += LANES) {
        const cmg_index j = f.column(k, end);
        const bool strong = f.is_strong(j);
        const double own = k < end ? A.values[k] : 0;
        const double lumped = j == i ? diagonal + dropped : (strong ? own : 0);
        const double value = whole ? own : lumped;
        const bool kept = k < end && (value != 0 || j == i);
        int before = 0;
        const int count = f.lanes.count(kept, &before);
        if (kept && columns != NULL) {
            columns[at + before] = j;
            values[at + before] = value;
        }
        at += count;
    }
    if (real && columns == NULL && lane == 0) {
        offset[i] = at;
    }
}

__global__ void smooth_kernel(const cmg_csr P0, const cmg_csr AP, const double *d, double factor,
                              double *values)
{
    const cmg_size i = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    if (i < P0.rows) {
        cmgi_smoothed_row(&P0, &AP, i, d[i], factor, values);
    }
}

/* The columns of a row of F P_0 in the order of F's, where P_0 has one entry a row at most. */
struct short_row {
    int count;
    int at; /* of the last one */
    cmg_index column[MOST_COLUMNS];

    /* The place of a column, count where it is new; entries of an aggregate follow each other. */
    __device__ __forceinline__ int find(cmg_index j)
    {
        for (int looked = 0; looked < count; ++looked) {
            if (column[at] == j) {
                return at;
            }
            at = at > 0 ? at - 1 : count - 1;
        }
        return count;
    }
};

/* Columns and values of entries of F P_0, before those of a column are added up: a warp looks up
 * all of its rows together, so that neighbours read neighbours; too many are looked up one by one.
 */
struct lookup {
    const cmg_csr &F;
    const cmg_csr &P0;
    cmg_index *column;
    double *value; /* NULL = not wanted */
    cmg_size begin;
    bool staged;

    /* The entry of P_0 that belongs to entry k of F, -1 = none. */
    __device__ __forceinline__ cmg_size place(cmg_size k) const
    {
        const cmg_index r = F.indices[k];
        const cmg_size e = P0.indptr[r];
        return e < P0.indptr[r + 1] ? e : -1;
    }
    __device__ void fill(cmg_size row)
    {
        const cmg_size last = row + WARP < F.rows ? row + WARP : F.rows;
        const int lane = (int)threadIdx.x % WARP;
        begin = F.indptr[row];
        const cmg_size end = F.indptr[last];
        staged = end - begin <= STAGED;
        for (cmg_size k = begin + lane; staged && k < end; k += WARP) {
            const cmg_size e = place(k);
            column[k - begin] = e >= 0 ? P0.indices[e] : -1;
            if (value != NULL) {
                value[k - begin] = e >= 0 ? F.values[k] * P0.values[e] : 0;
            }
        }
        __syncwarp();
    }
    __device__ __forceinline__ cmg_index column_of(cmg_size k) const
    {
        const cmg_size e = staged ? 0 : place(k);
        return staged ? column[k - begin] : e >= 0 ? P0.indices[e] : -1;
    }
    __device__ __forceinline__ double value_of(cmg_size k) const
    {
        return staged ? value[k - begin] : F.values[k] * P0.values[place(k)];
    }
};

/* Counts the columns of rows of F P_0; *over where a row has more than a thread takes. */
__global__ void __launch_bounds__(WARPS *WARP)
    short_count_kernel(const cmg_csr F, const cmg_csr P0, cmg_size *offset, int *over)
{
    __shared__ cmg_index columns[WARPS][STAGED];
    const cmg_size i = (cmg_size)blockIdx.x * (WARPS * WARP) + threadIdx.x;
    lookup from = {F, P0, columns[threadIdx.x / WARP], NULL, 0, false};
    short_row row;
    row.count = 0;
    row.at = 0;
    if (i - i % WARP >= F.rows) {
        return;
    }
    from.fill(i - i % WARP);
    if (i >= F.rows) {
        return;
    }
    for (cmg_size k = F.indptr[i]; k < F.indptr[i + 1]; ++k) {
        const cmg_index j = from.column_of(k);
        const int at = j >= 0 ? row.find(j) : -1;
        if (at == MOST_COLUMNS) {
            *over = 1;
            break;
        }
        if (at == row.count) {
            row.column[row.count++] = j;
        }
        row.at = at >= 0 ? at : row.at;
    }
    offset[i] = row.count;
}

/* Rows of P, from their offsets on: products are added up in the order of F's row. */
__global__ void __launch_bounds__(WARPS *WARP)
    short_fill_kernel(const cmg_csr F, const cmg_csr P0, const double *d, double factor,
                      const cmg_csr P, cmg_index *columns, double *values)
{
    __shared__ double shared_values[WARPS][STAGED];
    __shared__ cmg_index shared_columns[WARPS][STAGED];
    const cmg_size i = (cmg_size)blockIdx.x * (WARPS * WARP) + threadIdx.x;
    const int warp = (int)threadIdx.x / WARP;
    lookup from = {F, P0, shared_columns[warp], shared_values[warp], 0, false};
    short_row row;
    double sum[MOST_COLUMNS];
    row.count = 0;
    row.at = 0;
    if (i - i % WARP >= F.rows) {
        return;
    }
    from.fill(i - i % WARP);
    if (i >= F.rows) {
        return;
    }
    for (cmg_size k = F.indptr[i]; k < F.indptr[i + 1]; ++k) {
        const cmg_index j = from.column_of(k);
        if (j < 0) {
            continue;
        }
        row.at = row.find(j);
        if (row.at == row.count) {
            row.column[row.count++] = j;
            sum[row.at] = 0;
        }
        sum[row.at] += from.value_of(k);
    }
    const cmg_size begin = P.indptr[i];
    const cmg_size own = P0.indptr[i];
    const cmg_index aggregate = own < P0.indptr[i + 1] ? P0.indices[own] : -1;
    const double scale = d[i] != 0 ? -factor / d[i] : 0; /* as cmgi_smoothed_row has it */
    for (int a = 0; a < row.count; ++a) {
        int rank = 0;
        for (int b = 0; b < row.count; ++b) {
            rank += row.column[b] < row.column[a];
        }
        const double smoothed = sum[a] * scale;
        columns[begin + rank] = row.column[a];
        values[begin + rank] = row.column[a] == aggregate ? smoothed + P0.values[own] : smoothed;
    }
}

static cmg_status filter(cmg_context *ctx, const cmg_csr *A, const cmg_csr *S, cmg_csr *F)
{
    const cudaStream_t stream = cmgi_stream(ctx);
    const unsigned grid = cmgi_grid(A->rows * LANES, THREADS);
    cmg_size *indptr = NULL;
    cmg_size nnz = 0;
    CMGI_TRY(cmgi_alloc_device(ctx, A->rows + 1, sizeof *indptr, &indptr));
    *F = cmg_csr{A->rows, A->cols, indptr, NULL, NULL};
    filter_kernel<<<grid, THREADS, 0, stream>>>(*A, *S, indptr, NULL, NULL);
    CMGI_TRY(CMGI_LAUNCHED(ctx));
    CMGI_TRY(cmgi_open_rows(ctx, F, &nnz));
    filter_kernel<<<grid, THREADS, 0, stream>>>(*A, *S, indptr, (cmg_index *)F->indices,
                                                (double *)F->values);
    return CMGI_LAUNCHED(ctx);
}

/* P where each thread can form a row of it; *done says whether it could. */
static cmg_status form_short(cmg_context *ctx, const cmg_csr *F, const cmgi_resident *P0,
                             const double *d, double factor, cmgi_resident *P, bool *formed)
{
    const cudaStream_t stream = cmgi_stream(ctx);
    const unsigned grid = cmgi_grid(F->rows, WARPS * WARP);
    cmg_csr made = {F->rows, P0->csr.cols, NULL, NULL, NULL};
    int *over = NULL;
    int found = 0;
    cmg_size nnz = 0;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, 1, sizeof *over, &over));
    CMGI_TRY_GOTO(done, cmgi_cuda_clear(ctx, over, sizeof *over));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, F->rows + 1, sizeof *made.indptr, &made.indptr));
    short_count_kernel<<<grid, WARPS * WARP, 0, stream>>>(*F, P0->csr, (cmg_size *)made.indptr,
                                                          over);
    CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
    CMGI_TRY_GOTO(done, cmgi_to_host(ctx, &found, over, sizeof found));
    if (found != 0) {
        goto done;
    }
    CMGI_TRY_GOTO(done, cmgi_open_rows(ctx, &made, &nnz));
    short_fill_kernel<<<grid, WARPS * WARP, 0, stream>>>(
        *F, P0->csr, d, factor, made, (cmg_index *)made.indices, (double *)made.values);
    CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
    CMGI_TRY_GOTO(done, cmgi_resident_kernels_of(ctx)->rows(ctx, &made, P));
    P->csr = made;
    made = cmg_csr{};
    *formed = true;
done:
    cmgi_resident_free_arrays(ctx, &made);
    cmgi_free_device(ctx, over);
    return status;
}

/* P = P_0 - factor D^-1 F P_0 */
static cmg_status form(cmg_context *ctx, const cmg_csr *F, const cmgi_resident *P0, const double *d,
                       double factor, cmgi_resident *P)
{
    bool done = false;
    if (P0->rows.longest <= 1) {
        CMGI_TRY(form_short(ctx, F, P0, d, factor, P, &done));
    }
    if (done) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_resident_kernels_of(ctx)->multiply(ctx, F, P0, false, P));
    smooth_kernel<<<cmgi_grid(F->rows, THREADS), THREADS, 0, cmgi_stream(ctx)>>>(
        P0->csr, P->csr, d, factor, (double *)P->csr.values);
    return CMGI_LAUNCHED(ctx);
}

cmg_status cmgi_smooth_there(cmg_context *ctx, const cmg_csr *A, const cmg_csr *S, double omega,
                             cmg_csr *P0, cmgi_resident *P)
{
    CMGI_ON_DEVICE(ctx);
    const cmgi_resident_kernels *on = cmgi_resident_kernels_of(ctx);
    cmg_csr filtered = {};
    cmg_csr F = *A;
    cmgi_resident from = {};
    cmgi_resident made = {};
    double *d = NULL;
    double lambda = 1;
    cmg_status status = CMG_OK;
    if (S != NULL && omega != 0) {
        CMGI_TRY_GOTO(done, filter(ctx, A, S, &filtered));
        F = filtered;
    }
    from.csr = *P0;
    *P0 = cmg_csr{};
    CMGI_TRY_GOTO(done, on->rows(ctx, &from.csr, &from));
    if (omega != 0) {
        CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, F.rows, sizeof *d, &d));
        CMGI_TRY_GOTO(done, cmgi_largest_there(ctx, &F, d, &lambda));
        CMGI_TRY_GOTO(done, form(ctx, &F, &from, d, omega / lambda, &made));
    } else {
        made = from;
        from = cmgi_resident{};
    }
    CMGI_TRY_GOTO(done, on->entries(ctx, &made.csr, &made));
    *P = made;
    made = cmgi_resident{};
done:
    cmgi_resident_free_arrays(ctx, &filtered);
    cmgi_resident_free(ctx, &from);
    cmgi_resident_free(ctx, &made);
    cmgi_free_device(ctx, d);
    return status;
}
