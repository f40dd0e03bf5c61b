/*
 * The values of C = A B on the device, whose columns are there (product_cuda.cu). A place of C gets
 * its products in the order of A's row, as on the host (product.c), and has the same bits: products
 * are rounded before they are added (CMakeLists.txt: no fused operations in this file).
 */
#include "core/each.h"
#include "csr/product.cuh"

enum {
    AT_ONCE = 4, /* entries of A that a lane waits for together */
    RARE = 64,   /* rows, of which one may be longer than the tables of most */
    BLOCKS = 4   /* a multiprocessor, which look for such rows */
};

struct values_args {
    cmg_csr A;
    cmg_csr B;
    tables t;
    cmg_csr C;
    cmg_size usual; /* columns of a row that the tables of most rows have places for */
    double *values;
    cmgi_product_kinds kinds;
    cmg_size rows;   /* of C that are formed ... */
    const int *list; /* ... these, NULL = all; then B has the rows of its kinds alone: */
    const uint16_t *kind;
    const int *row; /* NULL = B has all of them */
};

/* Rows of B that the lanes of a group read next: those of W entries of A, at once. */
template <int W>
struct ahead {
    cmg_size first;
    int length;
    double factor;

    __device__ __forceinline__ ahead(const values_args &a, cmg_size k, cmg_size end)
    {
        const cmg_index of = k < end ? a.A.indices[k] : 0; /* r has its values */
        const cmg_index r = k < end && a.row != NULL ? a.row[a.kind[of]] : of;
        factor = k < end ? a.A.values[k] : 0;
        first = k < end ? a.B.indptr[r] : 0;
        length = k < end ? (int)(a.B.indptr[r + 1] - first) : 0;
    }
    /* that of lane d, for all of them */
    __device__ __forceinline__ ahead(const ahead &mine, int d)
        : first(__shfl_sync(CMGI_ALL, mine.first, d, W)),
          length(__shfl_sync(CMGI_ALL, mine.length, d, W)),
          factor(__shfl_sync(CMGI_ALL, mine.factor, d, W))
    {
    }
};

/* The largest number of the lanes of a warp. */
static __device__ __forceinline__ int most_of_warp(cmg_size length)
{
    return (int)__reduce_max_sync(CMGI_ALL, (unsigned)length);
}

/*
 * Adds the products of the row of A that begins at `first` to the sums of its columns, which have
 * places in the table: those of one entry of A after the other, each by a lane of its own. A step
 * takes W of an entry's products; AT_ONCE steps wait for their loads together.
 */
template <int W>
static __device__ __forceinline__ void add_products(const values_args &a, const group<W> &g,
                                                    cmg_size first, int length)
{
    const unsigned last = a.t.slots - 1;
    int k = 0; /* entry of A, the products of its row that were taken, and the entry `next` is of */
    int taken = 0;
    int block = 0;
    ahead<W> next(a, first + g.lane, first + length);
    ahead<W> coming(a, first + W + g.lane, first + length);
    while (__any_sync(CMGI_ALL, k < length)) {
        double *place[AT_ONCE];
        double product[AT_ONCE];
        cmg_index column[AT_ONCE];
#pragma unroll
        for (int t = 0; t < AT_ONCE; ++t) {
            if (k == block + W) {
                block = k;
                next = coming;
                coming = ahead<W>(a, first + k + W + g.lane, first + length);
            }
            const ahead<W> row(next, k % W);
            const bool real = taken + g.lane < row.length; /* none behind the last entry */
            const cmg_size e = row.first + taken + g.lane;
            column[t] = real ? a.B.indices[e] : EMPTY;
            product[t] = real ? row.factor * a.B.values[e] : 0;
            taken += W;
            const bool done = taken >= row.length;
            k += done;
            taken = done ? 0 : taken;
        }
#pragma unroll
        for (int t = 0; t < AT_ONCE; ++t) {
            place[t] = column[t] != EMPTY ? &g.sums[find(g.keys, last, column[t])] : NULL;
        }
#pragma unroll
        for (int t = 0; t < AT_ONCE; ++t) {
            if (place[t] != NULL) {
                *place[t] += product[t];
            }
            __syncwarp();
        }
    }
}

/* Row i of C by tables, one row a group, where it is real. Nagasaka et al. have several warps add
 * to a place by atomics, in any order. */
template <int W>
static __device__ __forceinline__ void form_row(const values_args &a, const group<W> &g, cmg_size i,
                                                bool real)
{
    const cmg_csr &C = a.C;
    const unsigned last = a.t.slots - 1;
    const cmg_size begin = real ? C.indptr[i] : 0;
    const cmg_size end = real ? C.indptr[i + 1] : 0;
    const cmg_size first = real ? a.A.indptr[i] : 0;
    g.clear(a.t.slots);
    for (cmg_size e = begin + g.lane; e < end; e += W) {
        bool isnew;
        g.sums[insert(g.keys, last, C.indices[e], &isnew)] = 0;
    }
    __syncwarp();
    add_products(a, g, first, real ? (int)(a.A.indptr[i + 1] - first) : 0);
    for (cmg_size e = begin + g.lane; e < end; e += W) {
        a.values[e] = g.sums[find(g.keys, last, C.indices[e])];
    }
    __syncwarp();
}

/* Rows of at most a.usual columns. */
template <int W>
__global__ void values_kernel(const values_args a)
{
    extern __shared__ __align__(16) unsigned char shared_tables[];
    const group<W> g(a.t, shared_tables, true);
    for (cmg_size row = g.row; row < a.A.rows; row += g.step) {
        const cmg_size i = row + g.number;
        form_row(a, g, i, i < a.A.rows && a.C.indptr[i + 1] - a.C.indptr[i] <= a.usual);
    }
}

/* The others, which are few: the lanes of a warp look at a row each, four that follow one another
 * and others far off, as long rows lie together. */
template <int W>
__global__ void long_rows_kernel(const values_args a)
{
    extern __shared__ __align__(16) unsigned char shared_tables[];
    enum { GROUPS = CMGI_WARP / W, NEAR = 4 };
    const group<W> g(a.t, shared_tables, true);
    const cmg_size far = g.step / GROUPS * NEAR;
    for (cmg_size first = g.row / GROUPS * NEAR; first < a.A.rows;
         first += far * CMGI_WARP / NEAR) {
        const int lane = (int)threadIdx.x % CMGI_WARP;
        const cmg_size i = first + lane / NEAR * far + lane % NEAR;
        const bool mine = i < a.A.rows && a.C.indptr[i + 1] - a.C.indptr[i] > a.usual;
        unsigned left = __ballot_sync(CMGI_ALL, mine);
        while (left != 0) {
            unsigned own = left;
            for (int n = 0; n < GROUPS; ++n) {
                own = n < g.number ? own & (own - 1) : own;
                left &= left - 1;
            }
            const int from = own != 0 ? __ffs((int)own) - 1 : 0;
            form_row(a, g, first + from / NEAR * far + from % NEAR, own != 0);
        }
    }
}

/* A row of C, its columns shared by W lanes. */
struct kind_row {
    int lane;
    cmg_size first; /* of A's row */
    int length;
    int most; /* of the warp's rows */
    const unsigned *place;
};

/* The sums of U columns a lane. What has no product gets -0, which changes no number. */
template <int W, int U>
static __device__ __forceinline__ void add_places(const values_args &a, const kind_row &row,
                                                  double (&sum)[EACH])
{
    for (int k = 0; k < row.most; k += W) {
        const ahead<W> next(a, row.first + k + row.lane, row.first + row.length);
        const unsigned begin = (unsigned)next.first;
        for (int d = 0; d < W && k + d < row.most; d += AT_ONCE) {
            double product[AT_ONCE][U];
#pragma unroll
            for (int t = 0; t < AT_ONCE; ++t) { /* loads of all before the sums */
                const unsigned before = __shfl_sync(CMGI_ALL, begin, d + t, W) - 1;
                const double factor = __shfl_sync(CMGI_ALL, next.factor, d + t, W);
                const bool real = d + t < W && k + d + t < row.length;
                const unsigned from = real ? row.place[(k + d + t) * W] : 0;
#pragma unroll
                for (int u = 0; u < U; ++u) {
                    const unsigned e = from >> 8 * u & 0xff;
                    product[t][u] = -0.0;
                    if (e > 0) {
                        product[t][u] = factor * a.B.values[before + e];
                    }
                }
            }
#pragma unroll
            for (int t = 0; t < AT_ONCE; ++t) {
#pragma unroll
                for (int u = 0; u < U; ++u) {
                    sum[u] += product[t][u];
                }
            }
        }
    }
}

/*
 * By kinds of rows: each lane has up to EACH columns of C and is told which entry of a row of B
 * comes to which, if any; nothing is looked for.
 */
template <int W>
__global__ void __launch_bounds__(THREADS) kinds_kernel(const values_args a)
{
    const cmg_size number = ((cmg_size)blockIdx.x * THREADS + threadIdx.x) / W;
    const bool real = number < a.rows;
    const cmg_size i = real && a.list != NULL ? a.list[number] : number;
    const cmg_size begin = real ? a.C.indptr[i] : 0;
    const int columns = real ? (int)(a.C.indptr[i + 1] - begin) : 0;
    const int widest = most_of_warp(columns);
    double sum[EACH] = {0};
    kind_row row;
    row.lane = (int)threadIdx.x % W;
    row.first = real ? a.A.indptr[i] : 0;
    row.length = real ? (int)(a.A.indptr[i + 1] - row.first) : 0;
    row.most = most_of_warp(row.length);
    row.place = (const unsigned *)a.kinds.place + row.lane;
    row.place += real ? a.kinds.first[a.kinds.kind[i]] * W : 0;
    if (widest <= 2 * W) {
        add_places<W, 2>(a, row, sum);
    } else if (widest <= 3 * W) {
        add_places<W, 3>(a, row, sum);
    } else {
        add_places<W, EACH>(a, row, sum);
    }
#pragma unroll
    for (int u = 0; u < EACH; ++u) {
        if (row.lane + u * W < columns) {
            a.values[begin + row.lane + u * W] = sum[u];
        }
    }
}

struct spreading {
    const cmg_size *indptr;
    double *values;
    const uint16_t *kind;
    const int *row;
};

/* The values of the row of its kind. */
CMGI_EACH_ROW(spread_row, spreading)
{
    const cmg_size end = real ? a.indptr[i + 1] : 0;
    const cmg_size from = (real ? a.indptr[a.row[a.kind[i]]] - a.indptr[i] : 0);
    for (cmg_size e = (real ? a.indptr[i] : 0) + lane; e < end && from != 0; e += CMGI_STEP) {
        a.values[e] = a.values[from + e];
    }
}

/* Columns that all rows but one in RARE have at most: tables for the longest, of which several are
 * in shared memory, leave room for few warps. */
static cmg_size usual_columns(const cmgi_row_statistics *C)
{
    cmg_size most = C->longest;
    for (cmg_size longer = C->count[most]; most > 0 && RARE * longer <= C->rows;) {
        longer += C->count[--most];
    }
    return most;
}

static cmg_status form_by_tables(cmg_context *ctx, values_args a, void (*kernel)(values_args),
                                 shape s)
{
    cmgi_scratch scratch(ctx);
    CMGI_TRY(open_tables(scratch, &s, true));
    a.t = s.t;
    return CMGI_RUN(ctx, s.grid, s.threads, s.shared, kernel, a);
}

cmg_status cmgi_resident_multiply_values(cmg_context *ctx, const cmg_csr *A, const cmgi_resident *B,
                                         const cmgi_resident *C, cmgi_product_rows rows)
{
    CMGI_ON_DEVICE(ctx);
    const size_t bytes = sizeof(cmg_index) + sizeof(double);
    const cmg_size longest = C->rows.longest;
    const bool few = rows != CMGI_ROWS_ALL;
    double *values = (double *)C->csr.values;
    values_args a = {*A, B->csr, {}, C->csr, 0, values, C->kinds, A->rows, NULL, NULL, NULL};
    if (A->rows == 0) {
        return CMG_OK;
    }
    if (C->kinds.width > 0) {
        if (few) {
            a.rows = C->kinds.count;
            a.list = C->kinds.row;
        }
        if (rows == CMGI_ROWS_SPREAD) {
            a.kind = B->kinds.kind;
            a.row = B->kinds.row;
        }
        const int width = C->kinds.width;
        const auto kernel = CMGI_BY_WIDTH(kinds_kernel, width);
        CMGI_TRY(CMGI_RUN(ctx, cmgi_grid(a.rows * width, THREADS), THREADS, 0, kernel, a));
        const spreading spread = {C->csr.indptr, values, C->kinds.kind, C->kinds.row};
        return rows == CMGI_ROWS_SPREAD ? cmgi_spread_row_device(ctx, A->rows, &spread) : CMG_OK;
    }
    const int width = width_for(cmgi_mean_length(&B->rows));
    const shape most = shape_of(ctx, A->rows, width, usual_columns(&C->rows), bytes, false);
    a.usual = most.t.slots / 2;
    CMGI_TRY(form_by_tables(ctx, a, CMGI_BY_WIDTH(values_kernel, most.width), most));
    if (a.usual >= longest) {
        return CMG_OK;
    }
    shape s = shape_of(ctx, A->rows, width, longest, bytes, false);
    const unsigned blocks = (unsigned)(BLOCKS * cmgi_device_of(ctx)->processors);
    s.grid = s.grid < blocks ? s.grid : blocks;
    return form_by_tables(ctx, a, CMGI_BY_WIDTH(long_rows_kernel, s.width), s);
}

/* The first of the ways that serves finds the pattern. */
cmg_status cmgi_resident_multiply(cmg_context *ctx, const cmgi_resident *left,
                                  const cmgi_resident *B, bool filled, cmgi_resident *C)
{
    const cmg_csr *A = &left->csr;
    CMGI_ON_DEVICE(ctx);
    cmgi_resident made = {};
    const cmgi_at_end end{[&] { cmgi_resident_free(ctx, &made); }};
    CMGI_TRY(cmgi_product_kinds_find(ctx, left, B, filled, &made));
    if (made.csr.indptr == NULL) {
        CMGI_TRY(cmgi_product_merge(ctx, A, B, filled, &made));
    }
    if (made.csr.indptr == NULL) {
        CMGI_TRY(cmgi_product_pattern(ctx, A, B, filled, &made));
    }
    made.facts.ascending = true;
    CMGI_TRY(cmgi_alloc_device(ctx, made.rows.nnz, sizeof *made.csr.values, &made.csr.values));
    CMGI_TRY(cmgi_resident_multiply_values(ctx, A, B, &made, CMGI_ROWS_ALL));
    CMGI_PASS_ON(&made, C);
    return CMG_OK;
}
