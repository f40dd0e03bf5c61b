/* P = (I - omega / lambda D^-1 A_F) P_0 on the device; sums in the order of smooth.c. */
#include "transfer/smooth.cuh"

enum {
    THREADS = 256,
    LANES = CMGI_LANES,
    MOST_COLUMNS = 32 /* of a row of P that eight lanes form by themselves */
};

__global__ void smooth_kernel(const cmg_csr P0, const cmg_csr AP, const double *d, double factor,
                              double *values)
{
    const cmg_size i = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    if (i < P0.rows) {
        cmgi_smoothed_row(&P0, &AP, i, d[i], factor, values);
    }
}

/*
 * Columns of a row of F P_0 where P_0 has one entry a row at most, and their sums: the n-th has the
 * lane n mod 8, which adds to it in the order of F's row.
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
    /* An entry of F P_0 before those of a column are added up, the same in all lanes of a row;
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

/* P_0 with one entry a row at most: its column, -1 = none, and its value. */
struct single {
    cmg_index *column;
    double *value;
};

__global__ void single_kernel(const cmg_csr P0, const single of)
{
    const cmg_size i = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    if (i < P0.rows) {
        const cmg_size e = P0.indptr[i];
        const bool some = e < P0.indptr[i + 1];
        of.column[i] = some ? P0.indices[e] : -1;
        of.value[i] = some ? P0.values[e] : 0;
    }
}

/* The columns of a piece of F P_0, -1 = none, and in `piece` its values. */
static __device__ __forceinline__ void look_up(const single &P0, int lane, bool summing,
                                               cmgi_piece *piece)
{
#pragma unroll
    for (int c = 0; c < cmgi_piece::EACH; ++c) {
        const cmg_index r = piece->has(c, lane) ? piece->column[c] : -1;
        piece->column[c] = r >= 0 ? P0.column[r] : -1;
        if (summing) {
            piece->value[c] = r >= 0 ? piece->value[c] * P0.value[r] : 0;
        }
    }
    for (int c = 0; summing && c < cmgi_piece::EACH; ++c) {
        piece->value[c] = piece->column[c] >= 0 ? piece->value[c] : 0;
    }
}

/* The row of F P_0 of eight lanes; without its sums where !summing. */
static __device__ __forceinline__ void form_row(const cmgi_filtered &F, const single &P0,
                                                cmg_size i, bool summing, short_row *row)
{
    const bool real = i < F.A.rows;
    const int lane = cmgi_lane();
    const cmg_size begin = real ? F.A.indptr[i] : 0;
    const cmg_size end = real ? F.A.indptr[i + 1] : 0;
    for (cmg_size first = begin; __any_sync(CMGI_ALL, first < end); first += F.PIECE) {
        cmgi_piece piece(F, i, begin, first, end, lane);
        look_up(P0, lane, summing, &piece);
#pragma unroll
        for (int c = 0; c < cmgi_piece::EACH; ++c) {
            const cmg_index j = piece.column[c];
            unsigned some = __ballot_sync(CMGI_ALL, j >= 0); /* of the lanes of any row */
            some = (some | some >> 16) & 0xffffU;
            some = (some | some >> 8) & 0xffU;
            const int most = row->used(__popc(some));
            for (; some != 0; some &= some - 1) {
                const int q = __ffs((int)some) - 1;
                row->add(__shfl_sync(CMGI_ALL, j, q, LANES),
                         summing ? __shfl_sync(CMGI_ALL, piece.value[c], q, LANES) : 0, most);
            }
        }
    }
}

/* Counts the columns of rows of F P_0; *over where a row has more than its lanes take. */
__global__ void __launch_bounds__(THREADS)
    short_count_kernel(const cmgi_filtered F, const single P0, cmg_size *offset, int *over)
{
    const cmg_size i = cmgi_row_of_lanes(THREADS);
    short_row row;
    form_row(F, P0, i, false, &row);
    if (i < F.A.rows && cmgi_lane() == 0) {
        offset[i] = row.count;
        if (row.over) {
            *over = 1;
        }
    }
}

/* Rows of P, from their offsets on: products are added up in the order of F's row. */
__global__ void __launch_bounds__(THREADS)
    short_fill_kernel(const cmgi_filtered F, const single P0, const double *d, double factor,
                      const cmg_csr P, cmg_index *columns, double *values)
{
    const cmg_size i = cmgi_row_of_lanes(THREADS);
    const bool real = i < F.A.rows;
    short_row row;
    form_row(F, P0, i, true, &row);
    const int most = row.used(0);
    const cmg_size begin = real ? P.indptr[i] : 0;
    const cmg_index aggregate = real ? P0.column[i] : -1;
    const double own = real ? P0.value[i] : 0;
    const double scale = real && d[i] != 0 ? -factor / d[i] : 0; /* as cmgi_smoothed_row has it */
#pragma unroll
    for (int u = 0; u < short_row::EACH; ++u) {
        if (u >= most) {
            break;
        }
        const int rank = row.rank(row.column[u], most);
        const double smoothed = row.sum[u] * scale;
        if (row.column[u] >= 0) {
            columns[begin + rank] = row.column[u];
            values[begin + rank] = row.column[u] == aggregate ? smoothed + own : smoothed;
        }
    }
}

/* P where eight lanes can form a row of it; *formed says whether they could. */
static cmg_status form_short(cmg_context *ctx, const cmgi_filtered *F, const cmgi_resident *P0,
                             const double *d, double factor, cmgi_resident *P, bool *formed)
{
    const cudaStream_t stream = cmgi_stream(ctx);
    const unsigned grid = cmgi_grid(F->A.rows * LANES, THREADS);
    cmg_csr made = {F->A.rows, P0->csr.cols, NULL, NULL, NULL};
    single of = {};
    int *over = NULL;
    int found = 0;
    cmg_size nnz = 0;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, F->A.rows, sizeof *of.column, &of.column));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, F->A.rows, sizeof *of.value, &of.value));
    single_kernel<<<cmgi_grid(F->A.rows, THREADS), THREADS, 0, stream>>>(P0->csr, of);
    CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, 1, sizeof *over, &over));
    CMGI_TRY_GOTO(done, cmgi_cuda_clear(ctx, over, sizeof *over));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, F->A.rows + 1, sizeof *made.indptr, &made.indptr));
    short_count_kernel<<<grid, THREADS, 0, stream>>>(*F, of, (cmg_size *)made.indptr, over);
    CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
    CMGI_TRY_GOTO(done, cmgi_to_host(ctx, &found, over, sizeof found));
    if (found != 0) {
        goto done;
    }
    CMGI_TRY_GOTO(done, cmgi_open_rows(ctx, &made, &nnz));
    short_fill_kernel<<<grid, THREADS, 0, stream>>>(
        *F, of, d, factor, made, (cmg_index *)made.indices, (double *)made.values);
    CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
    CMGI_TRY_GOTO(done, cmgi_resident_kernels_of(ctx)->rows(ctx, &made, P));
    P->csr = made;
    made = cmg_csr{};
    *formed = true;
done:
    cmgi_resident_free_arrays(ctx, &made);
    cmgi_free_device(ctx, of.column);
    cmgi_free_device(ctx, of.value);
    cmgi_free_device(ctx, over);
    return status;
}

/* P = P_0 - factor D^-1 F P_0 */
static cmg_status form(cmg_context *ctx, const cmgi_filtered *F, const cmgi_resident *P0,
                       const double *d, double factor, cmgi_resident *P)
{
    cmg_csr copy = {};
    bool formed = false;
    cmg_status status = CMG_OK;
    if (P0->rows.longest <= 1) {
        CMGI_TRY(form_short(ctx, F, P0, d, factor, P, &formed));
    }
    if (formed) {
        return CMG_OK;
    }
    if (F->kept != NULL) {
        CMGI_TRY_GOTO(done, cmgi_filtered_copy(ctx, F, &copy));
    }
    CMGI_TRY_GOTO(done, cmgi_resident_kernels_of(ctx)->multiply(
                            ctx, F->kept != NULL ? &copy : &F->A, P0, false, P));
    smooth_kernel<<<cmgi_grid(F->A.rows, THREADS), THREADS, 0, cmgi_stream(ctx)>>>(
        P0->csr, P->csr, d, factor, (double *)P->csr.values);
    CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
done:
    cmgi_resident_free_arrays(ctx, &copy);
    return status;
}

extern "C" cmg_status cmgi_smooth_device(cmg_context *ctx, const cmg_csr *A, const cmg_csr *S,
                                         double omega, cmg_csr *P0, cmgi_resident *P)
{
    CMGI_ON_DEVICE(ctx);
    const cmgi_resident_kernels *on = cmgi_resident_kernels_of(ctx);
    cmgi_resident from = {};
    cmgi_resident made = {};
    uint32_t *kept = NULL;
    double *d = NULL;
    double lambda = 1;
    cmg_status status = CMG_OK;
    from.csr = *P0;
    *P0 = cmg_csr{};
    CMGI_TRY_GOTO(done, on->rows(ctx, &from.csr, &from));
    if (omega != 0) {
        CMGI_TRY_GOTO(done, S != NULL ? cmgi_filter_there(ctx, A, S, &kept, &d)
                                      : cmgi_alloc_device(ctx, A->rows, sizeof *d, &d));
        const cmgi_filtered F = {*A, kept, d};
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
    cmgi_resident_free(ctx, &from);
    cmgi_resident_free(ctx, &made);
    cmgi_free_device(ctx, kept);
    cmgi_free_device(ctx, d);
    return status;
}
