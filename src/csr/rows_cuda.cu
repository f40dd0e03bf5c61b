/* Statistics of the rows of a matrix on the device; see statistics.h. */
#include "csr/resident.cuh"

enum { ROWS = 512, BINS = 1 << 16, HOT_BINS = 512 };

/* What the blocks add up. */
typedef struct row_facts {
    unsigned long long bad_length; /* the first such row; NONE = there is none */
    unsigned long long longest;    /* of the rows of HOT_BINS entries and more */
    unsigned long long sliced[CMGI_SLICE_SIZES];
    unsigned long long bin[BINS]; /* rows of so many entries */
} row_facts;

static const unsigned long long NONE = ~0ULL;

static_assert((4 << (CMGI_SLICE_SIZES - 1)) == 512, "a block sees the largest slice");

/* Adds the longest of each aligned run of 4, 8 .. 512 rows, times its size, to the totals of the
 * block's 512 threads. */
static __device__ __forceinline__ void add_sliced(int length,
                                                  unsigned long long (&total)[CMGI_SLICE_SIZES])
{
    __shared__ int of_warp[ROWS / CMGI_WARP];
    int most = length;
#pragma unroll
    for (int k = -1, d = 1; d < CMGI_WARP; ++k, d *= 2) {
        const int other = __shfl_xor_sync(CMGI_ALL, most, d);
        most = other > most ? other : most;
        if (k >= 0) {
            total[k] += (unsigned long long)most; /* by every row of the run */
        }
    }
    if (threadIdx.x % CMGI_WARP == 0) {
        of_warp[threadIdx.x / CMGI_WARP] = most;
    }
    __syncthreads();
    if (threadIdx.x < ROWS / CMGI_WARP) {
#pragma unroll
        for (int k = 4, d = 2; d <= ROWS / CMGI_WARP; ++k, d *= 2) {
            int run = 0;
            for (int w = 0; threadIdx.x % d == 0 && w < d; ++w) {
                run = of_warp[threadIdx.x + w] > run ? of_warp[threadIdx.x + w] : run;
            }
            total[k] += (unsigned long long)run * CMGI_WARP * d;
        }
    }
    __syncthreads();
}

__global__ void __launch_bounds__(ROWS)
    rows_kernel(cmg_size rows, cmg_size cols, const cmg_size *indptr, row_facts *all)
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
    unsigned long long total[CMGI_SLICE_SIZES] = {0};
    const cmg_size step = (cmg_size)gridDim.x * ROWS;
    for (cmg_size first = (cmg_size)blockIdx.x * ROWS; first < rows; first += step) {
        const cmg_size i = first + threadIdx.x;
        cmg_size length = 0;
        if (i < rows) {
            const cmg_size begin = indptr[i];
            length = indptr[i + 1] - begin;
            if (length < 0 || length > cols || (i == 0 && begin != 0)) {
                atomicMin(&all->bad_length, (unsigned long long)i);
                length = 0;
            }
            if (length < HOT_BINS) {
                atomicAdd(&bin[length], 1U);
            } else {
                atomicAdd(&all->bin[length < BINS ? length : BINS - 1], 1ULL);
                atomicMax(&all->longest, (unsigned long long)length);
            }
        }
        /* longer rows are counted on the host */
        add_sliced(length < BINS ? (int)length : 0, total);
    }
#pragma unroll
    for (int k = 0; k < CMGI_SLICE_SIZES; ++k) {
        total[k] = cmgi_warp_sum(total[k]);
        if (threadIdx.x % CMGI_WARP == 0) {
            atomicAdd(&sum[k], total[k]);
        }
    }
    __syncthreads();
    for (int k = (int)threadIdx.x; k < HOT_BINS; k += ROWS) {
        if (bin[k] > 0) {
            atomicAdd(&all->bin[k], (unsigned long long)bin[k]);
        }
    }
    if (threadIdx.x < CMGI_SLICE_SIZES) {
        atomicAdd(&all->sliced[threadIdx.x], sum[threadIdx.x]);
    }
}

/* The row pointers on the host, for matrices with rows beyond all bins. */
static cmg_status count_on_host(cmg_context *ctx, const cmg_csr *A, cmgi_row_statistics *s)
{
    CMGI_SCOPED(ctx, A->rows + 1, cmg_size, indptr);
    CMGI_TRY(cmgi_to_host(ctx, indptr, A->indptr, (size_t)(A->rows + 1) * sizeof *indptr));
    const cmg_csr view = {A->rows, A->cols, indptr, A->indices, A->values};
    return cmgi_row_statistics_take(ctx, &view, s);
}

static cmg_status take_statistics(cmg_context *ctx, const cmg_csr *A, const row_facts *f,
                                  cmgi_row_statistics *s)
{
    const unsigned long long *bins = f->bin;
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
        s->count[k] = (cmg_size)bins[k];
        s->nnz += k * s->count[k];
    }
    s->filled = A->rows - s->count[0];
    for (int k = 0; k < CMGI_SLICE_SIZES; ++k) {
        s->sliced[k] = (cmg_size)f->sliced[k];
    }
    return CMG_OK;
}

/* Launches the pass over the row pointers of a matrix. */
static cmg_status look_at_rows(cmg_context *ctx, const cmg_csr *A, row_facts *all)
{
    CMGI_TRY(cmgi_cuda_clear(ctx, all, sizeof *all));
    CMGI_CUDA(ctx,
              cudaMemsetAsync(&all->bad_length, 0xff, sizeof all->bad_length, cmgi_stream(ctx)));
    /* few blocks: each adds to the same counters at its end */
    const unsigned most = (unsigned)(4 * cmgi_device_of(ctx)->processors);
    const unsigned wanted = cmgi_grid(A->rows, ROWS);
    const unsigned grid = wanted < most ? wanted : most;
    return CMGI_RUN(ctx, grid, ROWS, 0, rows_kernel, A->rows, A->cols, A->indptr, all);
}

cmg_status cmgi_resident_rows(cmg_context *ctx, const cmg_csr *A, cmgi_resident *R)
{
    R->csr = *A;
    return cmgi_resident_rows_each(ctx, 1, &R);
}

cmg_status cmgi_resident_rows_each(cmg_context *ctx, int count, cmgi_resident *const *R)
{
    CMGI_ON_DEVICE(ctx);
    const size_t hot = offsetof(row_facts, bin) + HOT_BINS * sizeof(unsigned long long);
    cmgi_read reads[CMGI_LOOKS];
    row_facts *all = NULL;
    cmgi_scratch scratch(ctx);
    CMGI_CHECK(ctx, count <= CMGI_LOOKS, CMG_ERR_INTERNAL, "%d matrices are looked at", count);
    CMGI_TRY(scratch.take(count, &all));
    CMGI_SCOPED(ctx, count, row_facts, f);
    for (int k = 0; k < count; ++k) {
        CMGI_TRY(look_at_rows(ctx, &R[k]->csr, &all[k]));
        reads[k] = cmgi_read{&f[k], &all[k], hot};
    }
    CMGI_TRY(cmgi_read_each(ctx, reads, count));
    for (int k = 0; k < count; ++k) {
        if (f[k].bad_length == NONE && f[k].longest >= HOT_BINS) {
            CMGI_TRY(cmgi_to_host(ctx, &f[k], &all[k], sizeof *f));
        }
        R[k]->facts.bad_length = f[k].bad_length == NONE ? -1 : (cmg_size)f[k].bad_length;
        if (f[k].bad_length == NONE) {
            CMGI_TRY(take_statistics(ctx, &R[k]->csr, &f[k], &R[k]->rows));
        }
    }
    return CMG_OK;
}
