/*
 * C = A B on the device by rows (Gustavson 1978): a hash table holds the columns of a row of C, and
 * W lanes add the products of one entry of A after the other, each in its own place. So a place of
 * C gets its products in the order of A's row, as on the host (product.c), and has the same bits.
 *
 * Source: Nagasaka, Nukada, Matsuoka, High-performance and memory-saving sparse general matrix-
 * matrix multiplication for NVIDIA Pascal GPU, ICPP 2017, doi:10.1109/ICPP.2017.19, whose tables
 * are in shared memory likewise. There several warps add to a place by atomics, in any order.
 */
#include "csr/resident.cuh"

enum {
    THREADS = 256,
    WARP = 32,
    LEAST_SLOTS = 16,
    SHARED = 40960,       /* bytes of tables a block */
    EVERYWHERE = 1 << 29, /* bytes of tables in global memory, where rows are too long */
    MOST_COLUMNS = 1 << 28,
    EMPTY = -1
};

/* Tables of all groups of W lanes: slots of them in shared memory, or, where `keys` is given, here.
 */
struct tables {
    unsigned slots; /* a power of two, at least twice the columns of a row */
    unsigned pitch; /* from table to table: neighbouring rows have the same columns, and places of
                     * these in banks of their own */
    cmg_index *keys;
    double *sums;
};

/* How a kernel is launched. */
struct shape {
    int width; /* lanes of a group: about the length of B's rows */
    int threads;
    unsigned grid;
    size_t shared;
    tables t;
};

static __device__ __forceinline__ unsigned first_slot(cmg_index j, unsigned mask)
{
    return ((unsigned)j * 2654435761U >> 12) & mask;
}

/* The slot of j, which gets one where it has none; isnew: whether it had none. */
static __device__ __forceinline__ unsigned insert(cmg_index *keys, unsigned mask, cmg_index j,
                                                  bool *isnew)
{
    for (unsigned s = first_slot(j, mask);; s = (s + 1) & mask) {
        cmg_index old = ((volatile cmg_index *)keys)[s]; /* most have one: a read is cheaper */
        if (old == EMPTY) {
            old = atomicCAS(&keys[s], EMPTY, j);
        }
        *isnew = old == EMPTY;
        if (old == EMPTY || old == j) {
            return s;
        }
    }
}

static __device__ __forceinline__ unsigned find(const cmg_index *keys, unsigned mask, cmg_index j)
{
    unsigned s = first_slot(j, mask);
    while (keys[s] != j) {
        s = (s + 1) & mask;
    }
    return s;
}

/* The lanes that work on a row, and their table. */
template <int W>
struct group {
    int lane;
    unsigned mask; /* of the lanes, in their warp */
    cmg_size row;
    cmg_size step; /* rows of all groups */
    double *sums;
    cmg_index *keys;

    __device__ group(const tables &t, unsigned char *shared, bool summing)
    {
        const size_t size = summing ? t.pitch * sizeof *sums : 0; /* in front of the keys */
        const int groups = (int)blockDim.x / W;
        const int number = (int)threadIdx.x / W;
        const cmg_size all = (cmg_size)blockIdx.x * groups + number;
        lane = (int)threadIdx.x % W;
        mask = W == WARP ? 0xffffffffU : ((1U << (W % WARP)) - 1) << (threadIdx.x % WARP / W * W);
        row = all;
        step = (cmg_size)gridDim.x * groups;
        if (t.keys != NULL) {
            sums = t.sums + all * t.pitch;
            keys = t.keys + all * t.pitch;
        } else {
            sums = (double *)shared + (size_t)number * t.pitch;
            keys = (cmg_index *)(shared + size * groups) + (size_t)number * t.pitch;
        }
    }

    __device__ __forceinline__ void clear(unsigned slots) const
    {
        for (unsigned s = (unsigned)lane; s < slots; s += W) {
            keys[s] = EMPTY;
        }
        __syncwarp(mask);
    }
};

/* Rows of B that the lanes of a group read next: those of W entries of A, at once. */
template <int W>
struct ahead {
    cmg_size first;
    int length;
    double factor;

    __device__ __forceinline__ ahead(const cmg_csr &A, const cmg_csr &B, cmg_size k, cmg_size end,
                                     bool values)
    {
        const cmg_index r = k < end ? A.indices[k] : 0;
        factor = k < end && values ? A.values[k] : 0;
        first = k < end ? B.indptr[r] : 0;
        length = k < end ? (int)(B.indptr[r + 1] - first) : 0;
    }
    /* that of lane d, for all of them */
    __device__ __forceinline__ ahead(const ahead &mine, unsigned mask, int d)
        : first(__shfl_sync(mask, mine.first, d, W)), length(__shfl_sync(mask, mine.length, d, W)),
          factor(__shfl_sync(mask, mine.factor, d, W))
    {
    }
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
    for (int d = WARP / 2; d > 0; d /= 2) {
        const unsigned long long other = __shfl_xor_sync(0xffffffffU, products, d);
        products = other > products ? other : products;
    }
    if (threadIdx.x % WARP == 0) {
        atomicMax(most, products);
    }
}

struct columns_args {
    cmg_csr A;
    cmg_csr B;
    tables t;
    bool filled;
    cmg_size *indptr;
    cmg_index *columns; /* NULL = count them */
};

/* Columns of the rows of A B in any order, from indptr on, or their number alone, into indptr. A
 * row without any gets its own number where `filled`. */
template <int W>
__global__ void columns_kernel(const columns_args a)
{
    extern __shared__ __align__(16) unsigned char shared_tables[];
    __shared__ int found[THREADS / W];
    const cmg_csr &A = a.A;
    const cmg_csr &B = a.B;
    const group<W> g(a.t, shared_tables, false);
    int *mine = &found[threadIdx.x / W];
    for (cmg_size i = g.row; i < A.rows; i += g.step) {
        if (g.lane == 0) {
            *mine = 0;
        }
        g.clear(a.t.slots);
        const cmg_size end = A.indptr[i + 1];
        for (cmg_size k = A.indptr[i]; k < end; k += W) {
            const ahead<W> next(A, B, k + g.lane, end, false);
            for (int d = 0; d < W && k + d < end; ++d) {
                const ahead<W> row(next, g.mask, d);
                for (int e = g.lane; e < row.length; e += W) {
                    const cmg_index j = B.indices[row.first + e];
                    bool isnew;
                    (void)insert(g.keys, a.t.slots - 1, j, &isnew);
                    if (isnew) {
                        const int at = atomicAdd(mine, 1);
                        if (a.columns != NULL) {
                            a.columns[a.indptr[i] + at] = j;
                        }
                    }
                }
            }
        }
        __syncwarp(g.mask);
        if (g.lane == 0 && a.columns == NULL) {
            a.indptr[i] = *mine > 0 || !a.filled ? *mine : 1;
        } else if (g.lane == 0 && *mine == 0 && a.filled) {
            a.columns[a.indptr[i]] = (cmg_index)i;
        }
        __syncwarp(g.mask);
    }
}

template <int W>
struct launch_columns {
    static void run(const shape &s, cudaStream_t stream, const columns_args &a)
    {
        columns_kernel<W><<<s.grid, s.threads, s.shared, stream>>>(a);
    }
};

struct values_args {
    cmg_csr A;
    cmg_csr B;
    tables t;
    cmg_csr C;
    double *values;
};

/* Values of C = A B, whose columns are there. Products are rounded before they are added, as the
 * host does it (CMakeLists.txt: no fused operations in this file). */
template <int W>
__global__ void values_kernel(const values_args a)
{
    extern __shared__ __align__(16) unsigned char shared_tables[];
    const cmg_csr &A = a.A;
    const cmg_csr &B = a.B;
    const cmg_csr &C = a.C;
    const unsigned last = a.t.slots - 1;
    const group<W> g(a.t, shared_tables, true);
    for (cmg_size i = g.row; i < A.rows; i += g.step) {
        const cmg_size begin = C.indptr[i];
        const cmg_size end = C.indptr[i + 1];
        g.clear(a.t.slots);
        for (cmg_size e = begin + g.lane; e < end; e += W) {
            bool isnew;
            g.sums[insert(g.keys, last, C.indices[e], &isnew)] = 0;
        }
        __syncwarp(g.mask);
        const cmg_size stop = A.indptr[i + 1];
        for (cmg_size k = A.indptr[i]; k < stop; k += W) {
            const ahead<W> next(A, B, k + g.lane, stop, true);
            for (int d = 0; d < W && k + d < stop; ++d) {
                const ahead<W> row(next, g.mask, d);
                for (int e = g.lane; e < row.length; e += W) {
                    double *sum = &g.sums[find(g.keys, last, B.indices[row.first + e])];
                    *sum += row.factor * B.values[row.first + e];
                }
                __syncwarp(g.mask);
            }
        }
        for (cmg_size e = begin + g.lane; e < end; e += W) {
            a.values[e] = g.sums[find(g.keys, last, C.indices[e])];
        }
        __syncwarp(g.mask);
    }
}

template <int W>
struct launch_values {
    static void run(const shape &s, cudaStream_t stream, const values_args &a)
    {
        values_kernel<W><<<s.grid, s.threads, s.shared, stream>>>(a);
    }
};

/* A row of zeros gets a 1 on the diagonal, as in transfer/galerkin.c. */
__global__ void unit_rows_kernel(const cmg_csr A, double *values)
{
    const cmg_size i = ((cmg_size)blockIdx.x * THREADS + threadIdx.x) / WARP;
    const int lane = (int)threadIdx.x % WARP;
    bool zero = true;
    for (cmg_size k = i < A.rows ? A.indptr[i] + lane : 0; i < A.rows && k < A.indptr[i + 1];
         k += WARP) {
        zero = zero && !(fabs(A.values[k]) > 0);
    }
    if (!__all_sync(0xffffffffU, zero)) {
        return;
    }
    for (cmg_size k = i < A.rows ? A.indptr[i] + lane : 0; i < A.rows && k < A.indptr[i + 1];
         k += WARP) {
        values[k] = A.indices[k] == i;
    }
}

/* Tables for rows of at most `longest` columns, `bytes` a slot. */
static shape shape_of(cmg_context *ctx, cmg_size rows, cmg_size mean, cmg_size longest,
                      size_t bytes)
{
    shape s = {};
    s.width = 2;
    while (s.width < WARP && s.width < mean) {
        s.width *= 2;
    }
    s.t.slots = LEAST_SLOTS;
    while (s.t.slots < 2 * longest) {
        s.t.slots *= 2;
    }
    s.t.pitch = s.t.slots + (unsigned)s.width;
    const size_t table = s.t.pitch * bytes;
    s.threads = THREADS;
    while (s.threads > WARP && s.threads / s.width * table > SHARED) {
        s.threads /= 2;
    }
    s.width = s.threads / s.width * table > SHARED ? WARP : s.width;
    s.grid = cmgi_grid(rows * s.width, s.threads);
    s.shared = s.threads / s.width * table;
    if (s.shared > SHARED) { /* one warp a block, as many as the device has places and memory for */
        const unsigned most = (unsigned)(16 * cmgi_device_of(ctx)->processors);
        const size_t room = EVERYWHERE / table > 0 ? EVERYWHERE / table : 1;
        s.shared = 0;
        s.grid = s.grid < most ? s.grid : most;
        s.grid = s.grid < room ? s.grid : (unsigned)room;
    }
    return s;
}

static cmg_status open_tables(cmg_context *ctx, shape *s, bool sums)
{
    const cmg_size slots = (cmg_size)s->grid * s->t.pitch;
    if (s->shared > 0) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_alloc_device(ctx, slots, sizeof *s->t.keys, &s->t.keys));
    return sums ? cmgi_alloc_device(ctx, slots, sizeof *s->t.sums, &s->t.sums) : CMG_OK;
}

static void close_tables(cmg_context *ctx, shape *s)
{
    cmgi_free_device(ctx, s->t.keys);
    cmgi_free_device(ctx, s->t.sums);
}

/* Launches the kernel of L for the width of a shape. */
template <template <int> class L, typename A>
static void launch(const shape &s, cudaStream_t stream, const A &a)
{
    switch (s.width) {
    case 2:
        return L<2>::run(s, stream, a);
    case 4:
        return L<4>::run(s, stream, a);
    case 8:
        return L<8>::run(s, stream, a);
    case 16:
        return L<16>::run(s, stream, a);
    default:
        return L<32>::run(s, stream, a);
    }
}

static cmg_status most_products(cmg_context *ctx, const cmg_csr *A, const cmg_csr *B,
                                cmg_size *most)
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
    *most = *most < B->cols ? *most : B->cols;
done:
    cmgi_free_device(ctx, found);
    return status;
}

/* Pattern of C, rows sorted, and room for its values. */
static cmg_status form_pattern(cmg_context *ctx, const cmg_csr *A, const cmgi_resident *B,
                               bool filled, cmg_csr *C)
{
    const cudaStream_t stream = cmgi_stream(ctx);
    cmg_csr made = {};
    cmg_size *indptr = NULL;
    cmg_index *raw = NULL;
    cmg_size nnz = 0;
    cmg_size most = 0;
    shape s = {};
    cmg_status status = CMG_OK;
    CMGI_TRY(most_products(ctx, A, &B->csr, &most));
    CMGI_CHECK(ctx, most <= MOST_COLUMNS, CMG_ERR_MEMORY,
               "product: a row of up to %lld entries, %d fit into a table", (long long)most,
               (int)MOST_COLUMNS);
    s = shape_of(ctx, A->rows, cmgi_mean_length(&B->rows), most, sizeof *s.t.keys);
    made.rows = A->rows;
    made.cols = B->csr.cols;
    CMGI_TRY_GOTO(done, open_tables(ctx, &s, false));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, A->rows + 1, sizeof *indptr, &indptr));
    made.indptr = indptr;
    if (A->rows > 0) {
        launch<launch_columns>(s, stream, columns_args{*A, B->csr, s.t, filled, indptr, NULL});
        CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
    }
    CMGI_TRY_GOTO(done, cmgi_resident_offsets(ctx, A->rows, indptr, &nnz));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, nnz, sizeof *raw, &raw));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, nnz, sizeof *made.indices, &made.indices));
    if (A->rows > 0) {
        launch<launch_columns>(s, stream, columns_args{*A, B->csr, s.t, filled, indptr, raw});
        CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
        const cmg_csr unsorted = {A->rows, B->csr.cols, indptr, raw, NULL};
        CMGI_TRY_GOTO(done, cmgi_resident_sort(ctx, &unsorted, &made));
    }
    cmgi_free_device(ctx, raw);
    raw = NULL;
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, nnz, sizeof *made.values, &made.values));
    *C = made;
    made = cmg_csr{};
done:
    close_tables(ctx, &s);
    cmgi_free_device(ctx, raw);
    cmgi_resident_free_arrays(ctx, &made);
    return status;
}

cmg_status cmgi_resident_multiply_values(cmg_context *ctx, const cmg_csr *A, const cmgi_resident *B,
                                         const cmgi_resident *C)
{
    CMGI_ON_DEVICE(ctx);
    const size_t bytes = sizeof(cmg_index) + sizeof(double);
    shape s = shape_of(ctx, A->rows, cmgi_mean_length(&B->rows), C->rows.longest, bytes);
    cmg_status status = CMG_OK;
    if (A->rows == 0) {
        return CMG_OK;
    }
    CMGI_TRY_GOTO(done, open_tables(ctx, &s, true));
    launch<launch_values>(s, cmgi_stream(ctx),
                          values_args{*A, B->csr, s.t, C->csr, (double *)C->csr.values});
    CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
done:
    close_tables(ctx, &s);
    return status;
}

cmg_status cmgi_resident_multiply(cmg_context *ctx, const cmg_csr *A, const cmgi_resident *B,
                                  bool filled, cmgi_resident *C)
{
    CMGI_ON_DEVICE(ctx);
    cmgi_resident made = {};
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(failed, form_pattern(ctx, A, B, filled, &made.csr));
    CMGI_TRY_GOTO(failed, cmgi_resident_rows(ctx, &made.csr, &made));
    CMGI_TRY_GOTO(failed, cmgi_resident_multiply_values(ctx, A, B, &made));
    *C = made;
    return CMG_OK;
failed:
    cmgi_resident_free(ctx, &made);
    return status;
}

cmg_status cmgi_resident_unit_rows(cmg_context *ctx, const cmg_csr *A)
{
    CMGI_ON_DEVICE(ctx);
    if (A->rows == 0) {
        return CMG_OK;
    }
    unit_rows_kernel<<<cmgi_grid(A->rows * WARP, THREADS), THREADS, 0, cmgi_stream(ctx)>>>(
        *A, (double *)A->values);
    return CMGI_LAUNCHED(ctx);
}
