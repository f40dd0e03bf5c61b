/*
 * C = A B where the rows of B ascend: a warp merges those that a row of A asks for, each lane with
 * the next column of one or several of them, and takes the least of all as long as there is one;
 * once to count, once more to write them, with their values where rows of A are short. Nothing is
 * looked for, the columns come in order, and the products of a column in that of A's row, as on the
 * host (product.c).
 *
 * Source: Gremse, Hoefter, Schwen, Kiessling, Naumann, GPU-accelerated sparse matrix-matrix
 * multiplication by iterative row merging, SIAM J. Sci. Comput. 37 (2015), doi:10.1137/130948811,
 * who merge two rows a lane.
 */
#include "csr/product.cuh"

enum {
    MOST_LISTS = 8, /* rows of B a lane */
    LEAST = 8       /* entries a row of A from which its warp pays */
};

static const cmg_index NO_COLUMN = INT32_MAX;

struct merge_args {
    cmg_csr A;
    cmg_csr B;
    bool filled;
    cmg_size *indptr;   /* the numbers of columns, where they are counted */
    cmg_index *columns; /* where they are written ... */
    double *values;     /* ... with values, where rows of A have an entry a lane */
};

/* An entry of A and its row of B on its way: `next` has been asked for before it is needed. */
template <bool VALUES>
struct row_of_b {
    cmg_size rest; /* the place after `next` */
    int left;      /* entries from there on */
    cmg_index head;
    cmg_index next;
    double factor;
    double value[2]; /* of head and next */

    __device__ __forceinline__ void open(const merge_args &a, cmg_size k, cmg_size end)
    {
        const cmg_index r = k < end ? a.A.indices[k] : 0;
        rest = k < end ? a.B.indptr[r] : 0;
        left = k < end ? (int)(a.B.indptr[r + 1] - rest) : 0;
        factor = VALUES && k < end ? a.A.values[k] : 0;
        take(a);
        head = next;
        value[0] = value[1];
        take(a);
    }
    __device__ __forceinline__ void take(const merge_args &a)
    {
        next = left > 0 ? a.B.indices[rest] : NO_COLUMN;
        value[1] = VALUES && left > 0 ? a.B.values[rest] : 0;
        ++rest;
        --left;
    }
    __device__ __forceinline__ void pass(const merge_args &a, cmg_index column)
    {
        if (head == column) {
            head = next;
            value[0] = value[1];
            take(a);
        }
    }
};

/* Adds the products of the lanes that have the column, in the order of A's row. */
template <bool VALUES>
static __device__ __forceinline__ void add_up(const row_of_b<VALUES> &row, cmg_index column,
                                              double *sum)
{
    const double product = row.factor * row.value[0];
    for (unsigned left = __ballot_sync(CMGI_ALL, row.head == column); left != 0; left &= left - 1) {
        *sum += __shfl_sync(CMGI_ALL, product, __ffs((int)left) - 1);
    }
}

template <bool VALUES>
static __device__ __forceinline__ void put(const merge_args &a, cmg_size at, cmg_index column,
                                           double value)
{
    a.columns[at] = column;
    if (VALUES) {
        a.values[at] = value;
    }
}

/*
 * The columns of a row by a warp, or their number; and what belongs to them where a row of A has an
 * entry a lane: of more, so many have one column that tables, whose lanes have columns of their
 * own, are faster (4.0 M rows of P1, H200: A P 7.3 ms instead of 9.3, but R (A P) 7.1 instead
 * of 4.4).
 */
template <int L, bool WRITE>
__global__ void __launch_bounds__(THREADS) merge_kernel(const merge_args a)
{
    constexpr bool VALUES = WRITE && L == 1;
    const cmg_size i = ((cmg_size)blockIdx.x * THREADS + threadIdx.x) / CMGI_WARP;
    const int lane = (int)threadIdx.x % CMGI_WARP;
    if (i >= a.A.rows) {
        return;
    }
    const cmg_size end = a.A.indptr[i + 1];
    const cmg_size first = a.A.indptr[i] + lane;
    const cmg_size to = WRITE ? a.indptr[i] : 0;
    row_of_b<VALUES> rows[L];
#pragma unroll
    for (int l = 0; l < L; ++l) {
        rows[l].open(a, first + l * CMGI_WARP, end);
    }
    int count = 0;
    cmg_index mine = NO_COLUMN;
    double sum = 0;
    for (;;) {
        cmg_index least = rows[0].head;
#pragma unroll
        for (int l = 1; l < L; ++l) {
            least = rows[l].head < least ? rows[l].head : least;
        }
        least = (cmg_index)__reduce_min_sync(CMGI_ALL, (unsigned)least);
        if (least == NO_COLUMN) {
            break;
        }
        double all = 0;
#pragma unroll
        for (int l = 0; l < L; ++l) {
            if (VALUES) {
                add_up(rows[l], least, &all);
            }
            rows[l].pass(a, least);
        }
        mine = lane == count % CMGI_WARP ? least : mine;
        sum = lane == count % CMGI_WARP ? all : sum;
        ++count;
        if (WRITE && count % CMGI_WARP == 0) {
            put<VALUES>(a, to + count - CMGI_WARP + lane, mine, sum);
        }
    }
    if (count == 0 && a.filled) {
        mine = (cmg_index)i;
        count = 1;
    }
    if (WRITE && lane < count % CMGI_WARP) {
        put<VALUES>(a, to + count - count % CMGI_WARP + lane, mine, sum);
    }
    if (!WRITE && lane == 0) {
        a.indptr[i] = count;
    }
}

template <bool WRITE>
static cmg_status merge(cmg_context *ctx, const lengths *of, const merge_args &a)
{
    const cudaStream_t stream = cmgi_stream(ctx);
    const unsigned grid = cmgi_grid(a.A.rows * CMGI_WARP, THREADS);
    if (of->longest <= CMGI_WARP) {
        merge_kernel<1, WRITE><<<grid, THREADS, 0, stream>>>(a);
    } else if (of->longest <= 2 * CMGI_WARP) {
        merge_kernel<2, WRITE><<<grid, THREADS, 0, stream>>>(a);
    } else if (of->longest <= 4 * CMGI_WARP) {
        merge_kernel<4, WRITE><<<grid, THREADS, 0, stream>>>(a);
    } else {
        merge_kernel<MOST_LISTS, WRITE><<<grid, THREADS, 0, stream>>>(a);
    }
    return CMGI_LAUNCHED(ctx);
}

cmg_status cmgi_product_merge(cmg_context *ctx, const cmg_csr *A, const cmgi_resident *B,
                              bool filled, cmgi_resident *C)
{
    CMGI_ON_DEVICE(ctx);
    cmgi_resident made = {};
    merge_args a = {*A, B->csr, filled, NULL, NULL, NULL};
    lengths of = {};
    const cmgi_at_end end{[&] { cmgi_resident_free(ctx, &made); }};
    if (!B->facts.ascending || A->rows == 0) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_product_lengths(ctx, A, NULL, &of));
    if (of.longest > MOST_LISTS * CMGI_WARP || of.entries < LEAST * A->rows) {
        return CMG_OK;
    }
    made.csr.rows = A->rows;
    made.csr.cols = B->csr.cols;
    CMGI_TRY(cmgi_alloc_device(ctx, A->rows + 1, sizeof *a.indptr, &a.indptr));
    made.csr.indptr = a.indptr;
    CMGI_TRY(merge<false>(ctx, &of, a));
    CMGI_TRY(cmgi_product_open(ctx, &made, &a.columns));
    if (of.longest <= CMGI_WARP) {
        CMGI_TRY(cmgi_alloc_device(ctx, made.rows.nnz, sizeof *a.values, &a.values));
        made.csr.values = a.values;
    }
    CMGI_TRY(merge<true>(ctx, &of, a));
    *C = made;
    made = cmgi_resident{};
    return CMG_OK;
}
