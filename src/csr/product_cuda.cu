/*
 * C = A B on the device by rows (Gustavson 1978): which columns a row of C has, where they are not
 * merged (product_merge_cuda.cu). Its lanes put the columns of B's rows into a table (product.cuh);
 * once to count, once more, with tables of the size that is known then, to write them.
 */
#include "csr/product.cuh"

enum {
    MOST_COLUMNS = 1 << 28,
    FEW = 32 /* columns a row that are tried first; of many products, four times as many */
};

/* most = the largest number of products of a row */
__global__ void products_kernel(const cmg_csr A, const cmg_size *indptr, unsigned long long *most)
{
    const cmg_size i = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    unsigned long long products = 0;
    for (cmg_size k = i < A.rows ? A.indptr[i] : 0; i < A.rows && k < A.indptr[i + 1]; ++k) {
        const cmg_index r = A.indices[k];
        products += (unsigned long long)(indptr[r + 1] - indptr[r]);
    }
    for (int d = CMGI_WARP / 2; d > 0; d /= 2) {
        const unsigned long long other = __shfl_xor_sync(CMGI_ALL, products, d);
        products = other > products ? other : products;
    }
    if (threadIdx.x % CMGI_WARP == 0) {
        atomicMax(most, products);
    }
}

struct columns_args {
    cmg_csr A;
    cmg_csr B;
    tables t;
    int across; /* lanes that share an entry of A and its row of B; the others have other entries */
    bool filled;
    cmg_size *indptr;
    cmg_index *columns; /* NULL = count them */
    int *over;          /* a row does not fit into its table, and the counts are void */
};

/* The columns of A's row of a group, each once, into its list where it has one; false: its table
 * is full. */
template <int W>
static __device__ __forceinline__ bool put_columns(const columns_args &a, const group<W> &g,
                                                   cmg_size i, cmg_index *list, int *found)
{
    const cmg_size end = a.A.indptr[i + 1];
    for (cmg_size k = a.A.indptr[i] + g.lane / a.across; k < end; k += W / a.across) {
        const cmg_index r = a.A.indices[k];
        const cmg_size stop = a.B.indptr[r + 1];
        for (cmg_size e = a.B.indptr[r] + g.lane % a.across; e < stop; e += a.across) {
            const cmg_index j = a.B.indices[e];
            bool isnew;
            if (insert(g.keys, a.t.slots - 1, j, &isnew) == FULL) {
                return false;
            }
            if (isnew) {
                const int at = atomicAdd(found, 1);
                if (list != NULL) {
                    list[at] = j;
                }
            }
        }
    }
    return true;
}

/* Columns of the rows of A B, ascending, from indptr on, or their number alone, into indptr. A row
 * without any gets its own number where `filled`. */
template <int W>
__global__ void columns_kernel(const columns_args a)
{
    extern __shared__ __align__(16) unsigned char shared_tables[];
    __shared__ int found[THREADS / W];
    const group<W> g(a.t, shared_tables, false);
    int *mine = &found[threadIdx.x / W];
    cmg_index *list = a.columns != NULL ? g.keys + a.t.slots : NULL;
    for (cmg_size first = g.row; first < a.A.rows; first += g.step) {
        const cmg_size i = first + g.number;
        const bool real = i < a.A.rows;
        if (g.lane == 0) {
            *mine = 0;
        }
        g.clear(a.t.slots);
        if (real && !put_columns(a, g, i, list, mine)) {
            *a.over = 1;
        }
        __syncwarp();
        const int length = *mine;
        if (real && list == NULL && g.lane == 0) {
            a.indptr[i] = length > 0 || !a.filled ? length : 1;
        }
        for (int e = g.lane; list != NULL && e < length; e += W) {
            const cmg_index j =
                list[e]; /* columns differ: its place is the number of smaller ones */
            int rank = 0;
            for (int other = 0; other < length; ++other) {
                rank += list[other] < j;
            }
            a.columns[a.indptr[i] + rank] = j;
        }
        if (real && list != NULL && length == 0 && a.filled && g.lane == 0) {
            a.columns[a.indptr[i]] = (cmg_index)i;
        }
        __syncwarp();
    }
}

template <int W>
struct launch_columns {
    static void run(const shape &s, cudaStream_t stream, const columns_args &a)
    {
        columns_kernel<W><<<s.grid, s.threads, s.shared, stream>>>(a);
    }
};

/* Also the number of entries of A. */
static cmg_status most_products(cmg_context *ctx, const cmg_csr *A, const cmg_csr *B,
                                cmg_size *most, cmg_size *nnz)
{
    unsigned long long *found = NULL;
    cmg_status status = CMG_OK;
    *most = 0;
    CMGI_TRY(cmgi_alloc_device(ctx, 1, sizeof *found, &found));
    CMGI_TRY_GOTO(done, cmgi_cuda_clear(ctx, found, sizeof *found));
    if (A->rows > 0) {
        products_kernel<<<cmgi_grid(A->rows, THREADS), THREADS, 0, cmgi_stream(ctx)>>>(
            *A, B->indptr, found);
        CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
    }
    CMGI_TRY_GOTO(done, cmgi_to_host(ctx, most, found, sizeof *most));
    CMGI_TRY_GOTO(done, cmgi_to_host(ctx, nnz, A->indptr + A->rows, sizeof *nnz));
    *most = *most < B->cols ? *most : B->cols;
done:
    cmgi_free_device(ctx, found);
    return status;
}

/* Columns of C, or their number a row (columns_args), with tables for rows of so many. */
static cmg_status form_columns(cmg_context *ctx, columns_args *a, const cmgi_resident *B,
                               cmg_size mean, cmg_size longest)
{
    const cmg_size length = cmgi_mean_length(&B->rows);
    /* the lane that looks longest for a slot keeps its warp waiting: tables are an eighth full */
    const cmg_size room = longest <= 4 * FEW ? 4 * longest : longest;
    cmg_status status = CMG_OK;
    a->across = length < 8 ? 1 : length < 32 ? 2 : 8;
    shape s = shape_of(ctx, a->A.rows, width_for(mean * a->across / 2), room, sizeof *a->t.keys,
                       a->columns != NULL);
    a->across = a->across < s.width ? a->across : s.width;
    CMGI_TRY_GOTO(done, open_tables(ctx, &s, false));
    a->t = s.t;
    launch<launch_columns>(s, cmgi_stream(ctx), *a);
    CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
done:
    close_tables(ctx, &s);
    return status;
}

/* The number of columns a row, of at most `most`: by tables for fewer first, since a row has far
 * fewer columns than products. */
static cmg_status count_columns(cmg_context *ctx, columns_args *a, const cmgi_resident *B,
                                cmg_size mean, cmg_size most)
{
    const cmg_size first = most < 16 * FEW ? FEW : 4 * FEW;
    cmg_size longest = first < most ? first : most;
    int over = 1;
    cmg_status status = CMG_OK;
    CMGI_TRY(cmgi_alloc_device(ctx, 1, sizeof *a->over, &a->over));
    while (over != 0) {
        CMGI_TRY_GOTO(done, cmgi_cuda_clear(ctx, a->over, sizeof *a->over));
        CMGI_TRY_GOTO(done, form_columns(ctx, a, B, mean, longest));
        if (longest >= most) {
            break;
        }
        CMGI_TRY_GOTO(done, cmgi_to_host(ctx, &over, a->over, sizeof over));
        longest = 8 * longest < most ? 8 * longest : most;
    }
done:
    cmgi_free_device(ctx, a->over);
    return status;
}

cmg_status cmgi_product_pattern(cmg_context *ctx, const cmg_csr *A, const cmgi_resident *B,
                                bool filled, cmgi_resident *C)
{
    cmgi_resident made = {};
    columns_args a = {*A, B->csr, {}, 0, filled, NULL, NULL, NULL};
    cmg_size nnz = 0;
    cmg_size most = 0;
    cmg_size entries = 0;
    cmg_status status = CMG_OK;
    CMGI_TRY(most_products(ctx, A, &B->csr, &most, &entries));
    CMGI_CHECK(ctx, most <= MOST_COLUMNS, CMG_ERR_MEMORY,
               "product: a row of up to %lld entries, %d fit into a table", (long long)most,
               (int)MOST_COLUMNS);
    const cmg_size mean = A->rows > 0 ? (entries + A->rows - 1) / A->rows : 1;
    made.csr.rows = A->rows;
    made.csr.cols = B->csr.cols;
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, A->rows + 1, sizeof *a.indptr, &a.indptr));
    made.csr.indptr = a.indptr;
    if (A->rows > 0) {
        CMGI_TRY_GOTO(done, count_columns(ctx, &a, B, mean, most));
    }
    CMGI_TRY_GOTO(done, cmgi_resident_offsets(ctx, A->rows, a.indptr, &nnz));
    CMGI_TRY_GOTO(done, cmgi_resident_rows(ctx, &made.csr, &made));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, nnz, sizeof *a.columns, &a.columns));
    made.csr.indices = a.columns;
    if (A->rows > 0) {
        CMGI_TRY_GOTO(done, form_columns(ctx, &a, B, mean, made.rows.longest));
    }
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, nnz, sizeof *made.csr.values, &made.csr.values));
    *C = made;
    made = cmgi_resident{};
done:
    cmgi_resident_free(ctx, &made);
    return status;
}

cmg_status cmgi_resident_multiply(cmg_context *ctx, const cmg_csr *A, const cmgi_resident *B,
                                  bool filled, cmgi_resident *C)
{
    CMGI_ON_DEVICE(ctx);
    cmgi_resident made = {};
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(failed, cmgi_product_kinds_find(ctx, A, B, filled, &made));
    if (made.csr.indptr == NULL) {
        CMGI_TRY_GOTO(failed, cmgi_product_merge(ctx, A, B, filled, &made));
    }
    if (made.csr.indptr == NULL) {
        CMGI_TRY_GOTO(failed, cmgi_product_pattern(ctx, A, B, filled, &made));
    }
    made.facts.ascending = true;
    CMGI_TRY_GOTO(failed, cmgi_resident_multiply_values(ctx, A, B, &made));
    *C = made;
    return CMG_OK;
failed:
    cmgi_resident_free(ctx, &made);
    return status;
}
