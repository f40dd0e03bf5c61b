/* A_F, A without its weak entries, on the device; sums in the order of smooth.c. */
#include "transfer/smooth.cuh"

enum { THREADS = 256, LANES = CMGI_LANES };

/* A row of A beside that of S, eight entries after the other. */
struct strong_entries {
    const cmg_csr &S;
    cmg_size s; /* next entry of S's row */
    cmg_size last;

    /* Whether the lane's column j is strong; its eight are within the next eight of S. */
    __device__ __forceinline__ bool next(cmg_index j)
    {
        const cmg_index own = s + cmgi_lane() < last ? S.indices[s + cmgi_lane()] : -2;
        bool strong = false;
        for (int q = 0; q < LANES; ++q) {
            strong = __shfl_sync(CMGI_ALL, own, q, LANES) == j || strong;
        }
        int before = 0;
        s += cmgi_row_count(strong, &before);
        return strong;
    }
};

/* Row i of A as it is filtered: strong entries are noted, then those that are kept. */
struct filtered_row {
    cmg_size i;
    cmg_size begin;
    cmg_size end;
    uint32_t *to;
    double own; /* what this lane has of the diagonal, and of what is dropped */
    double dropped;
    bool has; /* a diagonal */
};

/* The strong ones of a piece, a bit each, and their sums. */
static __device__ __forceinline__ unsigned look_at(const cmgi_piece &piece, cmg_size left,
                                                   strong_entries *entries, filtered_row *row)
{
    unsigned strong = 0;
#pragma unroll
    for (int c = 0; c < cmgi_piece::EACH; ++c) {
        if (!__any_sync(CMGI_ALL, c * LANES < left)) {
            break;
        }
        const cmg_index j = piece.column[c];
        const bool mine = entries->next(j);
        row->has = row->has || j == row->i;
        row->own += j == row->i ? piece.value[c] : 0;
        row->dropped += j >= 0 && j != row->i && !mine ? piece.value[c] : 0;
        strong |= cmgi_row_votes(mine) << c * LANES;
    }
    return strong;
}

/* Those of a piece that are kept. */
static __device__ __forceinline__ unsigned choose(const cmgi_piece &piece, unsigned strong,
                                                  bool whole, const filtered_row &row)
{
    unsigned kept = 0;
#pragma unroll
    for (int c = 0; c < cmgi_piece::EACH; ++c) {
        const bool taken = whole || (strong >> (c * LANES + cmgi_lane()) & 1) != 0;
        const bool stays =
            piece.column[c] >= 0 && (piece.column[c] == row.i || (taken && piece.value[c] != 0));
        kept |= cmgi_row_votes(stays) << c * LANES;
    }
    return kept;
}

/* Which entries of a row are kept (smooth.c), and its diagonal. */
__global__ void __launch_bounds__(THREADS)
    filter_kernel(const cmgi_filtered F, const cmg_csr S, uint32_t *kept, double *diagonal)
{
    const cmg_csr &A = F.A;
    const cmg_size i = cmgi_row_of_lanes(THREADS);
    const bool real = i < A.rows;
    filtered_row row = {i, real ? A.indptr[i] : 0, real ? A.indptr[i + 1] : 0, kept, 0, 0, false};
    const cmg_size first = real ? S.indptr[i] : 0;
    strong_entries entries = {S, first, real ? S.indptr[i + 1] : 0};
    const int lane = cmgi_lane();
    const bool several = __any_sync(CMGI_ALL, row.end - row.begin > F.PIECE);
    cmgi_piece piece(F, i, row.begin, row.begin, row.end, lane);
    unsigned strong = look_at(piece, row.end - row.begin, &entries, &row);
    row.to += real ? F.place(i) : 0;
    for (cmg_size k = row.begin + F.PIECE; several && __any_sync(CMGI_ALL, k < row.end);
         k += F.PIECE) {
        const cmgi_piece other(F, i, row.begin, k, row.end, lane);
        const unsigned found = look_at(other, row.end - k, &entries, &row);
        if (lane == 0 && k < row.end) {
            row.to[(k - row.begin) / F.PIECE] = found;
        }
    }
    const double own = cmgi_lanes_sum(row.own);
    const double dropped = cmgi_lanes_sum(row.dropped);
    const bool has = cmgi_row_votes(row.has) != 0;
    const bool whole = entries.last == first || cmgi_stays_whole(own, dropped);
    strong = choose(piece, strong, whole, row);
    if (lane == 0 && row.begin < row.end) {
        row.to[0] = strong;
    }
    __syncwarp();
    for (cmg_size k = row.begin + F.PIECE; several && __any_sync(CMGI_ALL, k < row.end);
         k += F.PIECE) {
        const cmgi_piece other(F, i, row.begin, k, row.end, lane);
        strong = k < row.end ? row.to[(k - row.begin) / F.PIECE] : 0;
        strong = choose(other, strong, whole, row);
        if (lane == 0 && k < row.end) {
            row.to[(k - row.begin) / F.PIECE] = strong;
        }
    }
    if (real && lane == 0) {
        diagonal[i] = !has ? 0 : whole ? own : own + dropped;
    }
}

cmg_status cmgi_filter_there(cmg_context *ctx, const cmg_csr *A, const cmg_csr *S, uint32_t **kept,
                             double **diagonal)
{
    const cmgi_filtered F = {*A, NULL, NULL};
    cmg_size nnz = 0;
    CMGI_TRY(cmgi_to_host(ctx, &nnz, A->indptr + A->rows, sizeof nnz));
    CMGI_TRY(cmgi_alloc_device(ctx, nnz / cmgi_filtered::PIECE + A->rows + 1, sizeof **kept, kept));
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
    if (i >= A.rows) {
        return;
    }
    const cmg_size begin = A.indptr[i];
    const cmg_size end = A.indptr[i + 1];
    cmg_size at = columns != NULL ? offset[i] : 0;
    for (cmg_size first = begin; first < end; first += F.PIECE) {
        const cmgi_piece piece(F, i, begin, first, end, cmgi_lane());
        for (int c = 0; columns != NULL && c < piece.EACH; ++c) {
            if (piece.has(c, cmgi_lane())) {
                columns[at + piece.before(c, cmgi_lane())] = piece.column[c];
                values[at + piece.before(c, cmgi_lane())] = piece.value[c];
            }
        }
        at += __popc(piece.kept);
    }
    if (columns == NULL && cmgi_lane() == 0) {
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
