/* P = P_0 - factor D^-1 A P_0 on the device; sums in the order of smooth.c. */
#include "core/each.h"

extern "C" {
#include "csr/resident.h"
}
#include "transfer/smooth.inc"

enum {
    LANES = CMGI_LANES,
    MOST_COLUMNS = 32, /* of a row of P that eight lanes form by themselves */
    PIECE = 4          /* entries of a row of A that a lane waits for together */
};

/*
 * Columns of a row of A P_0 where P_0 has one entry a row at most, and their sums: the n-th has the
 * lane n mod 8, which adds to it in the order of A's row.
 */
struct short_row {
    static const int EACH = MOST_COLUMNS / LANES;
    int count;
    bool over;
    cmg_index column[EACH];
    double sum[EACH];

    __device__ __forceinline__ short_row() : count(0), over(false)
    {
#pragma unroll
        for (int u = 0; u < EACH; ++u) {
            column[u] = -1;
            sum[u] = 0;
        }
    }
    /* Places a lane that some row of the warp uses; one more may be taken. */
    __device__ __forceinline__ int used(int more) const
    {
        return (int)__reduce_max_sync(CMGI_ALL, (unsigned)(count + more + LANES - 1) / LANES);
    }
    /* An entry of A P_0 before those of a column are added up, the same in all lanes of a row;
     * j < 0: none, of value 0. */
    __device__ __forceinline__ void add(cmg_index j, double value, int most)
    {
        bool found = false;
#pragma unroll
        for (int u = 0; u < EACH; ++u) {
            if (u < most && column[u] == j) {
                sum[u] += value;
                found = true;
            }
        }
        const bool isnew = !cmgi_row_any(found) && j >= 0;
#pragma unroll
        for (int u = 0; u < EACH; ++u) {
            if (u < most && isnew && count == cmgi_lane() + u * LANES) {
                column[u] = j;
                sum[u] += value;
            }
        }
        over = over || (isnew && count == MOST_COLUMNS);
        count += isnew;
    }
    /* How many columns are smaller than j. */
    __device__ __forceinline__ int rank(cmg_index j, int most) const
    {
        int smaller = 0;
#pragma unroll
        for (int u = 0; u < EACH; ++u) {
            for (int q = 0; u < most && q < LANES; ++q) {
                const cmg_index other = __shfl_sync(CMGI_ALL, column[u], q, LANES);
                smaller += other >= 0 && other < j;
            }
        }
        return smaller;
    }
};

struct shortening {
    cmg_csr A;
    cmg_csr P0;
    cmg_index *column; /* of P_0's one entry a row, -1 = none */
    double *value;
    const double *d;
    double factor;
    cmg_size *offset; /* of P */
    int *over;        /* a row has more columns than its lanes take */
    cmg_index *columns;
    double *values;
};

CMGI_EACH_INDEX(list_single, shortening)
{
    const cmg_size e = a.P0.indptr[i];
    const bool some = e < a.P0.indptr[i + 1];
    a.column[i] = some ? a.P0.indices[e] : -1;
    a.value[i] = some ? a.P0.values[e] : 0;
}

/* The row of A P_0 of eight lanes; without its sums where !summing. */
static __device__ __forceinline__ void form_row(const shortening &a, cmg_size i, int lane,
                                                bool real, bool summing, short_row *row)
{
    const cmg_size end = real ? a.A.indptr[i + 1] : 0;
    for (cmg_size first = real ? a.A.indptr[i] : 0; __any_sync(CMGI_ALL, first < end);
         first += PIECE * LANES) {
        cmg_index column[PIECE];
        double value[PIECE];
#pragma unroll
        for (int c = 0; c < PIECE; ++c) {
            const cmg_size k = first + c * LANES + lane;
            column[c] = k < end ? a.A.indices[k] : -1;
            value[c] = k < end && summing ? a.A.values[k] : 0;
        }
#pragma unroll
        for (int c = 0; c < PIECE; ++c) {
            const cmg_index r = column[c];
            column[c] = r >= 0 ? a.column[r] : -1;
            value[c] = column[c] >= 0 && summing ? value[c] * a.value[r] : 0;
        }
#pragma unroll
        for (int c = 0; c < PIECE; ++c) {
            unsigned some = __ballot_sync(CMGI_ALL, column[c] >= 0); /* of the lanes of any row */
            some = (some | some >> 16) & 0xffffU;
            some = (some | some >> 8) & 0xffU;
            const int most = row->used(__popc(some));
            for (; some != 0; some &= some - 1) {
                const int q = __ffs((int)some) - 1;
                row->add(__shfl_sync(CMGI_ALL, column[c], q, LANES),
                         summing ? __shfl_sync(CMGI_ALL, value[c], q, LANES) : 0, most);
            }
        }
    }
}

CMGI_EACH_ROW(count_short, shortening)
{
    short_row row;
    form_row(a, i, lane, real, false, &row);
    if (real && lane == 0) {
        a.offset[i] = row.count;
        if (row.over) {
            *a.over = 1;
        }
    }
}

/* Rows of P, from their offsets on: products are added up in the order of A's row. */
CMGI_EACH_ROW(fill_short, shortening)
{
    short_row row;
    form_row(a, i, lane, real, true, &row);
    const int most = row.used(0);
    const cmg_size begin = real ? a.offset[i] : 0;
    const cmg_index aggregate = real ? a.column[i] : -1;
    const double own = real ? a.value[i] : 0;
    const double scale = real && a.d[i] != 0 ? -a.factor / a.d[i] : 0; /* as smooth_row has it */
#pragma unroll
    for (int u = 0; u < short_row::EACH; ++u) {
        if (u >= most) {
            break;
        }
        const int rank = row.rank(row.column[u], most);
        const double smoothed = row.sum[u] * scale;
        if (row.column[u] >= 0) {
            a.columns[begin + rank] = row.column[u];
            a.values[begin + rank] = row.column[u] == aggregate ? smoothed + own : smoothed;
        }
    }
}

extern "C" cmg_status cmgi_smooth_short_device(cmg_context *ctx, const cmg_csr *A,
                                               const cmgi_resident *P0, const double *d,
                                               double factor, cmgi_resident *P, bool *formed)
{
    CMGI_ON_DEVICE(ctx);
    const cmgi_resident_kernels *on = cmgi_resident_kernels_of(ctx);
    const cmg_size n = A->rows;
    cmg_csr made = {n, P0->csr.cols, NULL, NULL, NULL};
    shortening a = {*A, P0->csr, NULL, NULL, d, factor, NULL, NULL, NULL, NULL};
    int found = 0;
    cmg_size nnz = 0;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, n, sizeof *a.column, &a.column));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, n, sizeof *a.value, &a.value));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, 1, sizeof *a.over, &a.over));
    CMGI_TRY_GOTO(done, cmgi_cuda_clear(ctx, a.over, sizeof *a.over));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, n + 1, sizeof *a.offset, &a.offset));
    made.indptr = a.offset;
    CMGI_TRY_GOTO(done, cmgi_list_single_device(ctx, n, &a));
    CMGI_TRY_GOTO(done, cmgi_count_short_device(ctx, n, &a));
    CMGI_TRY_GOTO(done, cmgi_to_host(ctx, &found, a.over, sizeof found));
    if (found != 0) {
        goto done;
    }
    CMGI_TRY_GOTO(done, on->offsets(ctx, n, a.offset, &nnz));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, nnz, sizeof *a.columns, &a.columns));
    made.indices = a.columns;
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, nnz, sizeof *a.values, &a.values));
    made.values = a.values;
    CMGI_TRY_GOTO(done, cmgi_fill_short_device(ctx, n, &a));
    P->csr = made;
    made = cmg_csr{};
    CMGI_TRY_GOTO(done, on->rows(ctx, &P->csr, P));
    *formed = true;
done:
    cmgi_resident_free_arrays(ctx, &made);
    cmgi_free_device(ctx, a.column);
    cmgi_free_device(ctx, a.value);
    cmgi_free_device(ctx, a.over);
    return status;
}
