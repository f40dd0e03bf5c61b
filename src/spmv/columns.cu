/*
 * Products with several columns: neighbouring threads take neighbouring columns of one row, W of
 * them each in one load of up to 16 bytes, so that a row of x is a run of memory and an entry of
 * the matrix is loaded once for the threads of its row. One kernel; formats differ in how the
 * entries of a row are found.
 */
#include "spmv/columns.cuh"
#include "spmv/compressed.cuh"
#include "spmv/stored.cuh"

extern "C" {
#include "spmv/columns.h"
#include "spmv/csr.h"
}

enum { THREADS = 256, AHEAD = 4 };

/* A row and how many entries it has; i < 0 = none. What columns are counted from, where they are.
 */
struct row_at {
    cmg_size i;
    cmg_size begin;
    int length;
    cmg_size reference;
};

template <typename T>
struct entry {
    T value;
    cmg_size column;
};

template <typename T>
struct csr_rows {
    cmg_size count;
    cmgi_csr_storage S;
    const T *values;
    __device__ row_at row(cmg_size r) const
    {
        const cmg_size begin = __ldg(S.indptr + r);
        return {r, begin, (int)(__ldg(S.indptr + r + 1) - begin)};
    }
    __device__ entry<T> get(const row_at &at, int e) const
    {
        return {__ldg(values + at.begin + e), __ldg(S.columns + at.begin + e)};
    }
};

/* Slices without blocks; `reference` has log2 of the lanes of a row. */
template <typename T>
struct slice_rows {
    cmg_size count; /* slices times the most rows that fit in one */
    cmgi_slices S;
    const T *values;
    int log_rows; /* log2 of those */
    __device__ row_at row(cmg_size u) const
    {
        const cmg_size s = u >> log_rows;
        const cmg_size r = S.first_row[s] + (u & (((cmg_size)1 << log_rows) - 1));
        if (r >= S.first_row[s + 1]) {
            return {-1, 0, 0};
        }
        const int shift = S.shift != NULL ? S.shift[s] : S.uniform_shift;
        const int steps = S.row_length != NULL ? S.row_length[r] : S.width[s];
        return {S.rowmap != NULL ? (cmg_size)S.rowmap[r] : r,
                S.start[s] + ((r - S.first_row[s]) << shift), steps << shift, shift};
    }
    __device__ entry<T> get(const row_at &at, int e) const
    {
        const int shift = (int)at.reference;
        const cmg_size k = at.begin + (cmg_size)(e >> shift) * S.stride + (e & ((1 << shift) - 1));
        return {__ldg(values + k), __ldg(S.columns + k)};
    }
};

/* Lane u mod 64 of a compressed slice: neighbours in storage are rows l and l + 32. */
__device__ __forceinline__ cmg_size compressed_row(const cmg_index *slices, cmg_size u)
{
    const cmg_size s = u >> 6;
    const cmg_size lane = (u & 63) >> 1 | (u & 1) << 5;
    return (slices != NULL ? (cmg_size)__ldg(slices + s) : s) * CMGI_SLICE + lane;
}

template <typename T>
struct template_rows {
    cmg_size count;
    cmgi_compressed C;
    __device__ row_at row(cmg_size u) const
    {
        const cmg_size i = compressed_row(C.t.slice, u);
        if (i >= C.rows) {
            return {-1, 0, 0};
        }
        const int id = C.t.id[i];
        const int begin = __ldg(C.t.begin + id);
        const cmg_size reference = C.ref != NULL ? (cmg_size)__ldg(C.ref + i) : i;
        return {i, begin, __ldg(C.t.begin + id + 1) - begin, reference};
    }
    __device__ entry<T> get(const row_at &at, int e) const
    {
        const template_entry<T> t = ((const template_entry<T> *)C.t.pair)[at.begin + e];
        return {t.value, at.reference + t.offset};
    }
};

template <typename T, cmg_values VALUES>
struct dense_rows {
    cmg_size count;
    cmg_size cols;
    const typename cmgi_stored<T, VALUES>::type *values;
    const float *scale;
    __device__ row_at row(cmg_size i) const
    {
        return {i, i * cols, (int)cols};
    }
    __device__ entry<T> get(const row_at &at, int e) const
    {
        const T value = cmgi_stored<T, VALUES>::get(__ldg(values + at.begin + e));
        return {VALUES == CMG_VALUES_FULL ? value : value * (T)__ldg(scale + at.i), e};
    }
};

template <typename T>
struct diagonal_rows {
    cmg_size count;
    const T *values;
    __device__ row_at row(cmg_size i) const
    {
        return {i, i, 1};
    }
    __device__ entry<T> get(const row_at &at, int e) const
    {
        (void)e;
        return {__ldg(values + at.i), at.i};
    }
};

/* A row is `groups` threads, each of W columns: k = groups W. */
template <typename T, cmgi_wb_kind KIND, int W, typename ROWS>
__global__ void __launch_bounds__(THREADS)
    columns_kernel(const ROWS A, int k, const T *__restrict__ x,
                   const typename cmgi_wb_of<T>::type f)
{
    const int groups = k / W;
    const int rows = THREADS / groups; /* that a block takes */
    const int local = (int)threadIdx.x / groups;
    const cmg_size u = (cmg_size)blockIdx.x * rows + local;
    if (local >= rows || u >= A.count) {
        return;
    }
    const int c = ((int)threadIdx.x % groups) * W;
    const row_at at = A.row(u);
    if (at.i < 0) {
        return;
    }
    pack<T, W> sum = {};
    for (int e0 = 0; e0 < at.length; e0 += AHEAD) {
        entry<T> a[AHEAD];
        pack<T, W> v[AHEAD];
#pragma unroll
        for (int u = 0; u < AHEAD; ++u) { /* past the end the first again, its product dropped */
            a[u] = A.get(at, e0 + u < at.length ? e0 + u : e0);
        }
#pragma unroll
        for (int u = 0; u < AHEAD; ++u) {
            v[u] = load<W>(x + a[u].column * k + c);
        }
#pragma unroll
        for (int u = 0; u < AHEAD; ++u) {
#pragma unroll
            for (int w = 0; w < W && e0 + u < at.length; ++w) {
                sum.v[w] += a[u].value * v[u].v[w];
            }
        }
    }
    put_columns<KIND, W>(f, at.i, at.i * k + c, sum);
}

template <typename T, cmgi_wb_kind KIND, int W, typename ROWS>
static cmg_status launch(cmg_context *ctx, const ROWS &A, const cmgi_writeback *w, const void *x)
{
    const int rows = THREADS / (w->columns / W);
    return CMGI_RUN(ctx, cmgi_grid(A.count, rows), THREADS, 0, columns_kernel<T, KIND, W, ROWS>, A,
                    w->columns, (const T *)x, cmgi_wb_of<T>::cast(w));
}

/* W by what k and the arrays allow. */
template <typename T, typename ROWS>
static cmg_status run(const cmg_matrix *M, const ROWS &A, const cmgi_writeback *w, const void *x)
{
    cmg_context *ctx = M->ctx;
    CMGI_ON_DEVICE(ctx);
    return A.count == 0 ? CMG_OK : cmgi_with_kind(ctx, w, [&](auto kind) {
        return wide_columns<T>(w, x) ? launch<T, kind, WIDE<T>>(ctx, A, w, x)
                                     : launch<T, kind, 1>(ctx, A, w, x);
    });
}

extern "C" cmg_status cmgi_csr_columns_cuda(const cmg_matrix *A, const cmgi_writeback *w,
                                            const void *x)
{
    return in_precision(A->options.precision, [&](auto zero) {
        using T = decltype(zero);
        const cmgi_csr_storage *S = (const cmgi_csr_storage *)A->data;
        return run<T>(A, csr_rows<T>{A->rows, *S, (const T *)A->values}, w, x);
    });
}

extern "C" cmg_status cmgi_slices_columns_cuda(const cmg_matrix *A, const cmgi_writeback *w,
                                               const void *x)
{
    const cmgi_slices S = *(const cmgi_slices *)A->data;
    const int shift = S.shift != NULL ? 0 : S.uniform_shift; /* rows may have one lane */
    int log_rows = 0;
    while (1 << (log_rows + shift) < S.lanes) {
        ++log_rows;
    }
    return in_precision(A->options.precision, [&](auto zero) {
        using T = decltype(zero);
        const slice_rows<T> rows = {S.nslices << log_rows, S, (const T *)A->values, log_rows};
        return run<T>(A, rows, w, x);
    });
}

extern "C" cmg_status cmgi_compressed_columns_cuda(const cmg_matrix *A, const cmgi_writeback *w,
                                                   const void *x)
{
    const cmgi_compressed *C = (const cmgi_compressed *)A->data;
    CMGI_TRY(in_precision(A->options.precision, [&](auto zero) {
        using T = decltype(zero);
        return run<T>(A, template_rows<T>{C->t.count * CMGI_SLICE, *C}, w, x);
    }));
    return cmgi_packed_columns_cuda(A, w, x);
}

extern "C" cmg_status cmgi_dense_columns_cuda(const cmg_matrix *A, const cmgi_writeback *w,
                                              const void *x)
{
    return cmgi_with_values(A->options.precision, A->options.values, [&](auto zero, auto kept) {
        using T = decltype(zero);
        typedef dense_rows<T, kept> rows;
        return run<T>(
            A, rows{A->rows, A->cols, (decltype(rows::values))A->values, (const float *)A->data}, w,
            x);
    });
}

extern "C" cmg_status cmgi_diagonal_columns_cuda(const cmg_matrix *A, const cmgi_writeback *w,
                                                 const void *x)
{
    return in_precision(A->options.precision, [&](auto zero) {
        using T = decltype(zero);
        return run<T>(A, diagonal_rows<T>{A->rows, (const T *)A->values}, w, x);
    });
}
