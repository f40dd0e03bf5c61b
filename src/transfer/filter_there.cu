/* A_F, A without its weak entries, on the device; sums in the order of tentative.c. */
#include "transfer/aggregation.cuh"

enum { THREADS = 256, LANES = CMGI_ROW_LANES };

/* A row of A beside that of S, eight entries after the other. */
struct strong_entries {
    const cmg_csr &S;
    cmgi_lanes lanes;
    cmg_size s; /* next entry of S's row */
    cmg_size last;

    /* Whether the lane's column j is strong; its eight are within the next eight of S. */
    __device__ __forceinline__ bool next(cmg_index j)
    {
        const cmg_index own = s + lanes.lane < last ? S.indices[s + lanes.lane] : -2;
        bool strong = false;
        for (int q = 0; q < LANES; ++q) {
            strong = __shfl_sync(CMGI_ALL, own, q, LANES) == j || strong;
        }
        int before = 0;
        s += lanes.count(strong, &before);
        return strong;
    }
};

/* Which entries of a row are kept (tentative.c), and its diagonal: strong ones are noted in the
 * bytes first. */
__global__ void filter_kernel(const cmgi_filtered F, const cmg_csr S, uint8_t *kept,
                              double *diagonal)
{
    const cmg_csr &A = F.A;
    const cmg_size i = cmgi_row_of_lanes(THREADS);
    const bool real = i < A.rows;
    const cmg_size begin = real ? A.indptr[i] : 0;
    const cmg_size end = real ? A.indptr[i + 1] : 0;
    const cmg_size first = real ? S.indptr[i] : 0;
    strong_entries entries = {S, cmgi_lanes(), first, real ? S.indptr[i + 1] : 0};
    const cmgi_lanes &lanes = entries.lanes;
    uint8_t *to = kept + (real ? F.place(i) : 0);
    double own = 0;
    double dropped = 0;
    bool has = false;
    for (cmg_size k = begin + lanes.lane; __any_sync(CMGI_ALL, k - lanes.lane < end); k += LANES) {
        const cmg_index j = k < end ? A.indices[k] : -1;
        const bool strong = entries.next(j);
        has = has || (k < end && j == i);
        own += j == i ? A.values[k] : 0;
        dropped += k < end && j != i && !strong ? A.values[k] : 0;
        lanes.note(strong, k - lanes.lane < end, &to[(k - begin) / LANES]);
    }
    own = lanes.sum(own);
    dropped = lanes.sum(dropped);
    int before = 0;
    has = lanes.count(has, &before) > 0;
    const bool whole = entries.last == first || cmgi_stays_whole(own, dropped);
    __syncwarp();
    for (cmg_size k = begin + lanes.lane; __any_sync(CMGI_ALL, k - lanes.lane < end); k += LANES) {
        const bool in = k < end;
        const bool strong = in && (whole || (to[(k - begin) / LANES] >> lanes.lane & 1) != 0);
        const bool stays = in && (A.indices[k] == i || (strong && A.values[k] != 0));
        lanes.note(stays, k - lanes.lane < end, &to[(k - begin) / LANES]);
    }
    if (real && lanes.lane == 0) {
        diagonal[i] = !has ? 0 : whole ? own : own + dropped;
    }
}

cmg_status cmgi_filter_there(cmg_context *ctx, const cmg_csr *A, const cmg_csr *S, uint8_t **kept,
                             double **diagonal)
{
    const cmgi_filtered F = {*A, NULL, NULL};
    cmg_size nnz = 0;
    CMGI_TRY(cmgi_to_host(ctx, &nnz, A->indptr + A->rows, sizeof nnz));
    CMGI_TRY(cmgi_alloc_device(ctx, nnz / LANES + A->rows + 1, sizeof **kept, kept));
    CMGI_TRY(cmgi_alloc_device(ctx, A->rows, sizeof **diagonal, diagonal));
    if (A->rows == 0) {
        return CMG_OK;
    }
    filter_kernel<<<cmgi_grid(A->rows * LANES, THREADS), THREADS, 0, cmgi_stream(ctx)>>>(
        F, *S, *kept, *diagonal);
    return CMGI_LAUNCHED(ctx);
}

/* Counts the entries of a row, into offset, or writes them from there on. */
__global__ void copy_kernel(const cmgi_filtered F, cmg_size *offset, cmg_index *columns,
                            double *values)
{
    const cmg_csr &A = F.A;
    const cmg_size i = cmgi_row_of_lanes(THREADS);
    const cmgi_lanes lanes;
    if (i >= A.rows) {
        return;
    }
    const cmg_size begin = A.indptr[i];
    const cmg_size end = A.indptr[i + 1];
    const cmg_size bytes = F.place(i);
    cmg_size at = columns != NULL ? offset[i] : 0;
    for (cmg_size first = begin; first < end; first += LANES) {
        const unsigned kept = F.kept_of(bytes, begin, first, end);
        const cmg_size k = first + lanes.lane;
        if (columns != NULL && (kept >> lanes.lane & 1) != 0) {
            const cmg_size to = at + __popc(kept & ((1U << lanes.lane) - 1));
            columns[to] = A.indices[k];
            values[to] = F.value(i, k, A.indices[k]);
        }
        at += __popc(kept);
    }
    if (columns == NULL && lanes.lane == 0) {
        offset[i] = at;
    }
}

cmg_status cmgi_filtered_copy(cmg_context *ctx, const cmgi_filtered *F, cmg_csr *copy)
{
    const cudaStream_t stream = cmgi_stream(ctx);
    const unsigned grid = cmgi_grid(F->A.rows * LANES, THREADS);
    cmg_size *indptr = NULL;
    cmg_size nnz = 0;
    CMGI_TRY(cmgi_alloc_device(ctx, F->A.rows + 1, sizeof *indptr, &indptr));
    *copy = cmg_csr{F->A.rows, F->A.cols, indptr, NULL, NULL};
    copy_kernel<<<grid, THREADS, 0, stream>>>(*F, indptr, NULL, NULL);
    CMGI_TRY(CMGI_LAUNCHED(ctx));
    CMGI_TRY(cmgi_open_rows(ctx, copy, &nnz));
    copy_kernel<<<grid, THREADS, 0, stream>>>(*F, indptr, (cmg_index *)copy->indices,
                                              (double *)copy->values);
    return CMGI_LAUNCHED(ctx);
}
