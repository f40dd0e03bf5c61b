/*
 * C = A B where the rows of B ascend: W lanes merge those that a row of A asks for, each lane with
 * the next column of one or several of them, and takes the least of all as long as there is one;
 * once to count, once more to write them. Nothing is looked for, and the columns come in order.
 *
 * Source: Gremse, Hoefter, Schwen, Kiessling, Naumann, GPU-accelerated sparse matrix-matrix
 * multiplication by iterative row merging, SIAM J. Sci. Comput. 37 (2015), doi:10.1137/130948811,
 * who merge two rows a lane.
 */
#include "csr/product.cuh"

enum {
    MOST_LISTS = 8, /* rows of B a lane */
    LEAST = 4       /* entries a row of A from which lanes of its own pay */
};

static const cmg_index NO_COLUMN = INT32_MAX;

struct merge_args {
    cmg_csr A;
    cmg_csr B;
    bool filled;
    cmg_size *indptr;   /* the numbers of columns, where they are counted */
    cmg_index *columns; /* where they are written */
};

/* A row of B on its way: `next` has been asked for before it is needed. */
struct row_of_b {
    cmg_size rest; /* the place after `next` */
    int left;      /* entries from there on */
    cmg_index head;
    cmg_index next;

    __device__ __forceinline__ void open(const merge_args &a, cmg_size k, cmg_size end)
    {
        const cmg_index r = k < end ? a.A.indices[k] : 0;
        rest = k < end ? a.B.indptr[r] : 0;
        left = k < end ? (int)(a.B.indptr[r + 1] - rest) : 0;
        take(a);
        head = next;
        take(a);
    }
    __device__ __forceinline__ void take(const merge_args &a)
    {
        next = left > 0 ? a.B.indices[rest] : NO_COLUMN;
        ++rest;
        --left;
    }
    __device__ __forceinline__ void pass(const merge_args &a, cmg_index column)
    {
        if (head == column) {
            head = next;
            take(a);
        }
    }
};

/* The least of W lanes. */
template <int W>
static __device__ __forceinline__ cmg_index least_of(cmg_index column)
{
    if constexpr (W == CMGI_WARP) {
        return (cmg_index)__reduce_min_sync(CMGI_ALL, (unsigned)column);
    } else {
#pragma unroll
        for (int d = W / 2; d > 0; d /= 2) {
            const cmg_index other = __shfl_xor_sync(CMGI_ALL, column, d);
            column = other < column ? other : column;
        }
        return column;
    }
}

/* The columns of a row by W lanes, or their number. Values are by tables, whose lanes have columns
 * of their own. */
template <int W, int L, bool WRITE>
__global__ void __launch_bounds__(THREADS) merge_kernel(const merge_args a)
{
    const cmg_size i = ((cmg_size)blockIdx.x * THREADS + threadIdx.x) / W;
    const int lane = (int)threadIdx.x % W;
    const bool real = i < a.A.rows;
    const cmg_size end = real ? a.A.indptr[i + 1] : 0;
    const cmg_size first = (real ? a.A.indptr[i] : 0) + lane;
    const cmg_size to = WRITE && real ? a.indptr[i] : 0;
    row_of_b rows[L];
#pragma unroll
    for (int l = 0; l < L; ++l) {
        rows[l].open(a, first + l * W, end);
    }
    int count = 0;
    cmg_index mine = NO_COLUMN;
    for (;;) {
        cmg_index least = rows[0].head;
#pragma unroll
        for (int l = 1; l < L; ++l) {
            least = rows[l].head < least ? rows[l].head : least;
        }
        least = least_of<W>(least);
        const bool more = least != NO_COLUMN;
        if (W == CMGI_WARP ? !more : !__any_sync(CMGI_ALL, more)) {
            break;
        }
#pragma unroll
        for (int l = 0; l < L; ++l) {
            rows[l].pass(a, least);
        }
        mine = more && lane == count % W ? least : mine;
        count += more;
        if (WRITE && more && count % W == 0) {
            a.columns[to + count - W + lane] = mine;
        }
    }
    if (count == 0 && a.filled) {
        mine = (cmg_index)i;
        count = 1;
    }
    if (WRITE && real && lane < count % W) {
        a.columns[to + count - count % W + lane] = mine;
    }
    if (!WRITE && real && lane == 0) {
        a.indptr[i] = count;
    }
}

template <bool WRITE>
static cmg_status merge(cmg_context *ctx, cmg_size longest, const merge_args &a)
{
    void (*const by[])(const merge_args) = {
        merge_kernel<8, 1, WRITE>,         merge_kernel<16, 1, WRITE>,
        merge_kernel<CMGI_WARP, 1, WRITE>, merge_kernel<CMGI_WARP, 2, WRITE>,
        merge_kernel<CMGI_WARP, 4, WRITE>, merge_kernel<CMGI_WARP, MOST_LISTS, WRITE>};
    int way = 0;
    for (cmg_size most = 8; most < longest; most *= 2) {
        ++way;
    }
    const auto kernel = by[way];
    const int width = way < 2 ? 8 << way : CMGI_WARP;
    return CMGI_RUN(ctx, cmgi_grid(a.A.rows * width, THREADS), THREADS, 0, kernel, a);
}

cmg_status cmgi_product_merge(cmg_context *ctx, const cmg_csr *A, const cmgi_resident *B,
                              bool filled, cmgi_resident *C)
{
    CMGI_ON_DEVICE(ctx);
    merge_args a = {*A, B->csr, filled, NULL, NULL};
    lengths of = {};
    if (!B->facts.ascending || A->rows == 0) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_product_lengths(ctx, A, NULL, &of));
    if (of.longest > MOST_LISTS * CMGI_WARP || of.entries < LEAST * A->rows) {
        return CMG_OK;
    }
    C->csr.rows = A->rows;
    C->csr.cols = B->csr.cols;
    CMGI_TRY(cmgi_alloc_device(ctx, A->rows + 1, sizeof *a.indptr, &a.indptr));
    C->csr.indptr = a.indptr;
    CMGI_TRY(merge<false>(ctx, of.longest, a));
    CMGI_TRY(cmgi_product_open(ctx, C, &a.columns));
    return merge<true>(ctx, of.longest, a);
}
