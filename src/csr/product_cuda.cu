/*
 * C = A B on the device by rows (Gustavson 1978): which columns a row of C has, where they are not
 * merged (product_merge_cuda.cu). Its lanes put the columns of B's rows into a table (product.cuh);
 * once to count, once more, with tables of the size that is known then, to write them.
 */
#include "csr/product.cuh"

enum {
    MOST_COLUMNS = 1 << 28,
    FEW = 32, /* columns a row that are tried first; of many products, four times as many */
    BUSY = 32 /* rows a multiprocessor, of which fewer get a block each in place of a warp */
};

struct measuring {
    cmg_csr A;
    const cmg_size *indptr; /* B's, NULL = products are not counted */
    double *most;           /* entries and products of a row */
};

CMGI_EACH_INDEX(measure_row, measuring)
{
    const cmg_size end = a.indptr != NULL ? a.A.indptr[i + 1] : 0;
    cmg_size products = 0;
    for (cmg_size k = a.A.indptr[i]; k < end; ++k) {
        const cmg_index r = a.A.indices[k];
        products += a.indptr[r + 1] - a.indptr[r];
    }
    cmgi_raise_to(&a.most[0], (double)(a.A.indptr[i + 1] - a.A.indptr[i]));
    cmgi_raise_to(&a.most[1], (double)products);
}

cmg_status cmgi_product_lengths(cmg_context *ctx, const cmg_csr *A, const cmg_csr *B, lengths *of)
{
    double most[2] = {0, 0};
    measuring a = {*A, B != NULL ? B->indptr : NULL, NULL};
    cmgi_scratch scratch(ctx);
    CMGI_TRY(scratch.take_zero(2, &a.most));
    const cmgi_read reads[] = {{most, a.most, sizeof most},
                               {&of->entries, A->indptr + A->rows, sizeof of->entries}};
    CMGI_TRY(cmgi_measure_row_device(ctx, A->rows, &a));
    CMGI_TRY(cmgi_read_each(ctx, reads, 2));
    of->longest = (cmg_size)most[0];
    of->products = (cmg_size)most[1];
    return CMG_OK;
}

cmg_status cmgi_product_open(cmg_context *ctx, cmgi_resident *C, cmg_index **columns)
{
    cmg_size nnz = 0;
    CMGI_TRY(cmgi_resident_offsets(ctx, C->csr.rows, (cmg_size *)C->csr.indptr, &nnz));
    CMGI_TRY(cmgi_resident_rows(ctx, &C->csr, C));
    CMGI_TRY(cmgi_alloc_device(ctx, nnz, sizeof **columns, columns));
    C->csr.indices = *columns;
    return CMG_OK;
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
        g.sync();
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
        g.sync();
    }
}

/* Columns of C, or their number a row (columns_args), with tables for rows of so many. */
static cmg_status form_columns(cmg_context *ctx, columns_args *a, const cmgi_resident *B,
                               cmg_size mean, cmg_size longest)
{
    const cmg_size length = cmgi_mean_length(&B->rows);
    /* the lane that looks longest for a slot keeps its warp waiting: tables are an eighth full */
    const cmg_size room = longest <= 4 * FEW ? 4 * longest : longest;
    cmgi_scratch scratch(ctx);
    a->across = length < 8 ? 1 : length < 32 ? 2 : 8;
    shape s = shape_of(ctx, a->A.rows, width_for(mean * a->across / 2), room, sizeof *a->t.keys,
                       a->columns != NULL);
    a->across = a->across < s.width ? a->across : s.width;
    CMGI_TRY(open_tables(scratch, &s, false));
    a->t = s.t;
    auto kernel = CMGI_BY_WIDTH(columns_kernel, s.width);
    if (s.width == CMGI_WARP && s.shared > 0 &&
        a->A.rows < (cmg_size)BUSY * cmgi_device_of(ctx)->processors) {
        kernel = columns_kernel<THREADS>;
        s.threads = THREADS;
        s.grid = (unsigned)a->A.rows;
        s.shared = s.t.pitch * sizeof *a->t.keys;
    }
    return CMGI_RUN(ctx, s.grid, s.threads, s.shared, kernel, *a);
}

/* The number of columns a row, of at most `most`: by tables for fewer first, since a row has far
 * fewer columns than products. */
static cmg_status count_columns(cmg_context *ctx, columns_args *a, const cmgi_resident *B,
                                cmg_size mean, cmg_size most)
{
    const cmg_size first = most < 16 * FEW ? FEW : 4 * FEW;
    cmg_size longest = first < most ? first : most;
    int over = 1;
    cmgi_scratch scratch(ctx);
    CMGI_TRY(scratch.take(1, &a->over));
    while (over != 0) {
        CMGI_TRY(cmgi_cuda_clear(ctx, a->over, sizeof *a->over));
        CMGI_TRY(form_columns(ctx, a, B, mean, longest));
        if (longest >= most) {
            break;
        }
        CMGI_TRY(cmgi_to_host(ctx, &over, a->over, sizeof over));
        longest = 8 * longest < most ? 8 * longest : most;
    }
    return CMG_OK;
}

cmg_status cmgi_product_pattern(cmg_context *ctx, const cmg_csr *A, const cmgi_resident *B,
                                bool filled, cmgi_resident *C)
{
    columns_args a = {*A, B->csr, {}, 0, filled, NULL, NULL, NULL};
    lengths of = {};
    CMGI_TRY(cmgi_product_lengths(ctx, A, &B->csr, &of));
    const cmg_size most = of.products < B->csr.cols ? of.products : B->csr.cols;
    CMGI_CHECK(ctx, most <= MOST_COLUMNS, CMG_ERR_MEMORY,
               "product: a row of up to %lld entries, %d fit into a table", (long long)most,
               (int)MOST_COLUMNS);
    const cmg_size mean = A->rows > 0 ? (of.entries + A->rows - 1) / A->rows : 1;
    C->csr.rows = A->rows;
    C->csr.cols = B->csr.cols;
    CMGI_TRY(cmgi_alloc_device(ctx, A->rows + 1, sizeof *a.indptr, &a.indptr));
    C->csr.indptr = a.indptr;
    if (A->rows > 0) {
        CMGI_TRY(count_columns(ctx, &a, B, mean, most));
    }
    CMGI_TRY(cmgi_product_open(ctx, C, &a.columns));
    return A->rows > 0 ? form_columns(ctx, &a, B, mean, C->rows.longest) : CMG_OK;
}
