/*
 * Which columns a row of C = A B has where the rows of B ascend: a warp merges those that a row of
 * A asks for, each lane with the next column of one or several of them, and takes the least of all
 * as long as there is one. Nothing is looked for, and the columns come in order.
 *
 * Source: Gremse, Hoefter, Schwen, Kiessling, Naumann, GPU-accelerated sparse matrix-matrix
 * multiplication by iterative row merging, SIAM J. Sci. Comput. 37 (2015), doi:10.1137/130948811,
 * who merge two rows a lane.
 */
#include "csr/product.cuh"

enum {
    MOST_LISTS = 8,  /* rows of B a lane */
    LEAST = 8,       /* entries a row of A from which its warp pays */
    PITCH = 32,      /* places for a row of C that is expected to be short */
    LEAST_OF_A = 16, /* entries a row of A from which these places take less than A ... */
    MOST_OF_A = 64   /* ... and up to which rows of C are expected to be short */
};

static const cmg_index NO_COLUMN = INT32_MAX;

struct merge_args {
    cmg_csr A;
    cmg_csr B;
    bool filled;
    cmg_size *indptr;   /* the numbers of columns, where they are counted */
    cmg_index *columns; /* NULL = they are counted alone */
    int pitch;          /* of rows of columns, which are counted as well; 0 = as indptr says */
    int *over;          /* a row has more than `pitch` */
};

/* A row of B on its way: `next` has been asked for before it is needed. */
struct row_of_b {
    const cmg_index *rest;
    int left; /* after `next` */
    cmg_index head;
    cmg_index next;

    __device__ __forceinline__ void open(const cmg_csr &B, const cmg_index *row)
    {
        const cmg_size begin = row != NULL ? B.indptr[*row] : 0;
        const int length = row != NULL ? (int)(B.indptr[*row + 1] - begin) : 0;
        rest = B.indices + begin;
        head = length > 0 ? rest[0] : NO_COLUMN;
        next = length > 1 ? rest[1] : NO_COLUMN;
        rest += 2;
        left = length - 2;
    }
    __device__ __forceinline__ void pass(cmg_index column)
    {
        if (head == column) {
            head = next;
            next = left > 0 ? *rest : NO_COLUMN;
            ++rest;
            --left;
        }
    }
};

template <int L>
__global__ void __launch_bounds__(THREADS) merge_kernel(const merge_args a)
{
    const cmg_size i = ((cmg_size)blockIdx.x * THREADS + threadIdx.x) / CMGI_WARP;
    const int lane = (int)threadIdx.x % CMGI_WARP;
    if (i >= a.A.rows) {
        return;
    }
    const cmg_size end = a.A.indptr[i + 1];
    const cmg_size first = a.A.indptr[i] + lane;
    cmg_index *to =
        a.columns == NULL ? NULL : a.columns + (a.pitch > 0 ? i * a.pitch : a.indptr[i]);
    row_of_b rows[L];
#pragma unroll
    for (int l = 0; l < L; ++l) {
        const cmg_size k = first + l * CMGI_WARP;
        rows[l].open(a.B, k < end ? a.A.indices + k : NULL);
    }
    int count = 0;
    cmg_index mine = NO_COLUMN;
    for (;;) {
        cmg_index least = rows[0].head;
#pragma unroll
        for (int l = 1; l < L; ++l) {
            least = rows[l].head < least ? rows[l].head : least;
        }
        least = (cmg_index)__reduce_min_sync(CMGI_ALL, (unsigned)least);
        if (least == NO_COLUMN || (a.pitch > 0 && count > a.pitch)) {
            break;
        }
        mine = lane == count % CMGI_WARP ? least : mine;
        ++count;
        if (to != NULL && count % CMGI_WARP == 0) {
            to[count - CMGI_WARP + lane] = mine;
        }
#pragma unroll
        for (int l = 0; l < L; ++l) {
            rows[l].pass(least);
        }
    }
    if (count == 0 && a.filled) {
        mine = (cmg_index)i;
        count = 1;
    }
    if (a.pitch > 0 && count > a.pitch) {
        *a.over = 1;
    } else if (to != NULL && lane < count % CMGI_WARP) {
        to[count - count % CMGI_WARP + lane] = mine;
    }
    if ((a.columns == NULL || a.pitch > 0) && lane == 0) {
        a.indptr[i] = count;
    }
}

/* Rows that lie `pitch` apart go where indptr says. */
struct closing_up {
    int pitch;
    const cmg_index *from;
    const cmg_size *indptr;
    cmg_index *to;
};

CMGI_EACH_ROW(close_up_columns, closing_up)
{
    const cmg_size begin = real ? a.indptr[i] : 0;
    const cmg_size length = real ? a.indptr[i + 1] - begin : 0;
    for (cmg_size e = lane; e < length; e += CMGI_STEP) {
        a.to[begin + e] = a.from[i * a.pitch + e];
    }
}

static cmg_status merge(cmg_context *ctx, const lengths *of, const merge_args &a)
{
    const cudaStream_t stream = cmgi_stream(ctx);
    const unsigned grid = cmgi_grid(a.A.rows * CMGI_WARP, THREADS);
    if (of->longest <= CMGI_WARP) {
        merge_kernel<1><<<grid, THREADS, 0, stream>>>(a);
    } else if (of->longest <= 2 * CMGI_WARP) {
        merge_kernel<2><<<grid, THREADS, 0, stream>>>(a);
    } else if (of->longest <= 4 * CMGI_WARP) {
        merge_kernel<4><<<grid, THREADS, 0, stream>>>(a);
    } else {
        merge_kernel<MOST_LISTS><<<grid, THREADS, 0, stream>>>(a);
    }
    return CMGI_LAUNCHED(ctx);
}

/* The columns of short rows in places of PITCH, and their number; *places stays NULL where a row
 * has more, or is likely to. */
static cmg_status merge_into_places(cmg_context *ctx, const lengths *of, merge_args *a,
                                    cmg_index **places)
{
    const cmg_size rows = a->A.rows;
    cmg_index *made = NULL;
    int over = 1;
    cmg_status status = CMG_OK;
    if (of->entries < LEAST_OF_A * rows || of->entries > MOST_OF_A * rows) {
        return CMG_OK;
    }
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, rows * PITCH, sizeof *made, &made));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, 1, sizeof *a->over, &a->over));
    CMGI_TRY_GOTO(done, cmgi_cuda_clear(ctx, a->over, sizeof *a->over));
    a->columns = made;
    a->pitch = PITCH;
    CMGI_TRY_GOTO(done, merge(ctx, of, *a));
    CMGI_TRY_GOTO(done, cmgi_to_host(ctx, &over, a->over, sizeof over));
    if (over == 0) {
        *places = made;
        made = NULL;
    }
done:
    a->columns = NULL;
    a->pitch = 0;
    cmgi_free_device(ctx, made);
    cmgi_free_device(ctx, a->over);
    return status;
}

/* C, whose rows' lengths are in a->indptr, but for its values. */
static cmg_status write_columns(cmg_context *ctx, const lengths *of, merge_args *a,
                                const cmg_index *places, cmgi_resident *C)
{
    CMGI_TRY(cmgi_product_open(ctx, C, &a->columns));
    if (places == NULL) {
        return merge(ctx, of, *a);
    }
    const closing_up c = {PITCH, places, a->indptr, a->columns};
    return cmgi_close_up_columns_device(ctx, a->A.rows, &c);
}

cmg_status cmgi_product_merge(cmg_context *ctx, const cmg_csr *A, const cmgi_resident *B,
                              bool filled, cmgi_resident *C)
{
    CMGI_ON_DEVICE(ctx);
    cmgi_resident made = {};
    merge_args a = {*A, B->csr, filled, NULL, NULL, 0, NULL};
    lengths of = {};
    cmg_index *places = NULL;
    cmg_status status = CMG_OK;
    if (!B->facts.ascending || A->rows == 0) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_product_lengths(ctx, A, NULL, &of));
    if (of.longest > MOST_LISTS * CMGI_WARP || of.entries < LEAST * A->rows) {
        return CMG_OK;
    }
    made.csr.rows = A->rows;
    made.csr.cols = B->csr.cols;
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, A->rows + 1, sizeof *a.indptr, &a.indptr));
    made.csr.indptr = a.indptr;
    CMGI_TRY_GOTO(done, merge_into_places(ctx, &of, &a, &places));
    CMGI_TRY_GOTO(done, places != NULL ? CMG_OK : merge(ctx, &of, a));
    CMGI_TRY_GOTO(done, write_columns(ctx, &of, &a, places, &made));
    *C = made;
    made = cmgi_resident{};
done:
    cmgi_free_device(ctx, places);
    cmgi_resident_free(ctx, &made);
    return status;
}
