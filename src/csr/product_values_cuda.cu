/*
 * The values of C = A B on the device, whose columns are there (product_cuda.cu). A place of C gets
 * its products in the order of A's row, as on the host (product.c), and has the same bits: products
 * are rounded before they are added (CMakeLists.txt: no fused operations in this file).
 */
#include "csr/product.cuh"

enum {
    OWN = 8,       /* columns of C that a lane keeps */
    MOST_OWN = 64, /* longest rows of C that lanes keep; longer ones have tables */
    AT_ONCE = 4    /* entries of A that a lane waits for together, where rows have kinds */
};

struct values_args {
    cmg_csr A;
    cmg_csr B;
    tables t;
    cmg_csr C;
    double *values;
    cmgi_product_kinds kinds;
};

/* Rows of B that the lanes of a group read next: those of W entries of A, at once. */
template <int W>
struct ahead {
    cmg_size first;
    int length;
    double factor;

    __device__ __forceinline__ ahead(const cmg_csr &A, const cmg_csr &B, cmg_size k, cmg_size end)
    {
        const cmg_index r = k < end ? A.indices[k] : 0;
        factor = k < end ? A.values[k] : 0;
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

/* By tables: the lanes add the products of one entry of A after the other, each in its own place.
 * Nagasaka et al. have several warps add to a place by atomics, in any order. */
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
            const ahead<W> next(A, B, k + g.lane, stop);
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

/*
 * The same for short rows of C, without tables: each lane has up to OWN columns of C in registers
 * and looks at every product of the row.
 */
template <int W>
__global__ void __launch_bounds__(THREADS) own_columns_kernel(const values_args a)
{
    const cmg_csr &A = a.A;
    const cmg_csr &B = a.B;
    const cmg_csr &C = a.C;
    const cmg_size i = ((cmg_size)blockIdx.x * THREADS + threadIdx.x) / W;
    if (i >= A.rows) {
        return;
    }
    const cmg_size begin = C.indptr[i] + threadIdx.x % W;
    const cmg_size end = C.indptr[i + 1];
    cmg_index column[OWN];
    double sum[OWN];
#pragma unroll
    for (int u = 0; u < OWN; ++u) {
        column[u] = begin + u * W < end ? C.indices[begin + u * W] : EMPTY;
        sum[u] = 0;
    }
    const cmg_size stop = A.indptr[i + 1];
    for (cmg_size k = A.indptr[i]; k < stop; ++k) {
        const cmg_index r = A.indices[k];
        const double factor = A.values[k];
        const cmg_size last = B.indptr[r + 1];
        for (cmg_size e = B.indptr[r]; e < last; ++e) {
            const cmg_index j = B.indices[e];
            const double product = factor * B.values[e];
#pragma unroll
            for (int u = 0; u < OWN; ++u) {
                if (column[u] == j) {
                    sum[u] += product;
                }
            }
        }
    }
#pragma unroll
    for (int u = 0; u < OWN; ++u) {
        if (begin + u * W < end) {
            a.values[begin + u * W] = sum[u];
        }
    }
}

template <int W>
struct launch_own {
    static void run(const shape &s, cudaStream_t stream, const values_args &a)
    {
        own_columns_kernel<W><<<s.grid, THREADS, 0, stream>>>(a);
    }
};

/*
 * By kinds of rows: each lane has EACH columns of C and is told which entry of a row of B comes to
 * which, if any; nothing is looked for.
 */
template <int W>
__global__ void __launch_bounds__(THREADS) kinds_kernel(const values_args a)
{
    const cmg_csr &A = a.A;
    const cmg_size i = ((cmg_size)blockIdx.x * THREADS + threadIdx.x) / W;
    if (i >= A.rows) {
        return;
    }
    const int lane = (int)threadIdx.x % W;
    const unsigned mask = lanes_of<W>();
    const cmg_size first = A.indptr[i];
    const int length = (int)(A.indptr[i + 1] - first);
    const unsigned *place =
        (const unsigned *)a.kinds.place + a.kinds.first[a.kinds.kind[i]] * W + lane;
    double sum[EACH] = {0};
    for (int k = 0; k < length; k += W) {
        const ahead<W> next(A, a.B, first + k + lane, first + length);
        for (int d = 0; d < W && k + d < length; d += AT_ONCE) {
            double product[AT_ONCE][EACH];
            unsigned from[AT_ONCE];
#pragma unroll
            for (int t = 0; t < AT_ONCE; ++t) { /* loads of all before the sums */
                const ahead<W> row(next, mask, d + t);
                const double *values = a.B.values + row.first - 1;
                from[t] = d + t < W && k + d + t < length ? place[(k + d + t) * W] : 0;
#pragma unroll
                for (int u = 0; u < EACH; ++u) {
                    const unsigned e = from[t] >> 8 * u & 0xff;
                    product[t][u] = e > 0 ? row.factor * values[e] : 0;
                }
            }
#pragma unroll
            for (int t = 0; t < AT_ONCE; ++t) {
#pragma unroll
                for (int u = 0; u < EACH; ++u) {
                    if ((from[t] >> 8 * u & 0xff) > 0) {
                        sum[u] += product[t][u];
                    }
                }
            }
        }
    }
    const cmg_size begin = a.C.indptr[i] + lane;
    const cmg_size end = a.C.indptr[i + 1];
#pragma unroll
    for (int u = 0; u < EACH; ++u) {
        if (begin + u * W < end) {
            a.values[begin + u * W] = sum[u];
        }
    }
}

template <int W>
struct launch_kinds {
    static void run(const shape &s, cudaStream_t stream, const values_args &a)
    {
        kinds_kernel<W><<<s.grid, THREADS, 0, stream>>>(a);
    }
};

cmg_status cmgi_resident_multiply_values(cmg_context *ctx, const cmg_csr *A, const cmgi_resident *B,
                                         const cmgi_resident *C)
{
    CMGI_ON_DEVICE(ctx);
    const size_t bytes = sizeof(cmg_index) + sizeof(double);
    const cmg_size longest = C->rows.longest;
    values_args a = {*A, B->csr, {}, C->csr, (double *)C->csr.values, C->kinds};
    shape s = {};
    cmg_status status = CMG_OK;
    if (A->rows == 0) {
        return CMG_OK;
    }
    if (C->kinds.width > 0) {
        s.width = C->kinds.width;
        s.grid = cmgi_grid(A->rows * s.width, THREADS);
        launch<launch_kinds>(s, cmgi_stream(ctx), a);
        return CMGI_LAUNCHED(ctx);
    }
    if (longest <= MOST_OWN) {
        s.width = width_for((longest + OWN - 1) / OWN);
        s.grid = cmgi_grid(A->rows * s.width, THREADS);
        launch<launch_own>(s, cmgi_stream(ctx), a);
        return CMGI_LAUNCHED(ctx);
    }
    s = shape_of(ctx, A->rows, width_for(cmgi_mean_length(&B->rows)), longest, bytes, false);
    CMGI_TRY_GOTO(done, open_tables(ctx, &s, true));
    a.t = s.t;
    launch<launch_values>(s, cmgi_stream(ctx), a);
    CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
done:
    close_tables(ctx, &s);
    return status;
}

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
