/*
 * Products of packed slices with several columns. A thread takes two rows of a slice, as with one
 * column (compressed.cu), and W neighbouring columns of them, a load of 16 bytes; neighbouring
 * threads take the other columns of the same rows, so that values and codes are loaded once for all
 * and the rows of x are runs of memory.
 *
 * Blocks walk through `steps` neighbouring parts of the matrix: with k columns x is k times as
 * large beside the matrix, and what one part has read of it stays in the first cache for the next.
 */
#include "spmv/columns.cuh"
#include "spmv/compressed.cuh"
#include "spmv/packed_pairs.cuh"

extern "C" {
#include "spmv/columns.h"
}

/*
 * Measured on an H200, eight columns, 256^3 cells, distorted, milliseconds a solve:
 *
 *   threads, blocks, ahead   steps 1    4      16
 *   256, 3, 4                  79.0   76.1   83.5
 *   256, 4, 4                  77.4   75.8   84.5
 *   512, 2, 4                  78.4   75.6   79.2
 *   1024, 1, 4                 78.8   75.6   78.2
 *   256, 2, 8                  80.9   77.6   86.3
 */
enum { THREADS = 512, BLOCKS = 2, AHEAD = 4, STEPS = 4, FULL_GRID = 1024 };

template <typename T>
struct columns_args {
    compressed_args<T> of;
    cmg_size pairs; /* of rows, lanes without a row included */
    int k;
    int steps;
};

/* Sums of W columns of two rows of a packed slice; x0 and x1 are at the first of the columns. */
template <typename T, cmg_values VALUES, int BYTES, int W>
__device__ __forceinline__ void packed_sums(const typename pair_of<T, VALUES>::places values,
                                            const int *base, const unsigned char *codes, int width,
                                            int k, const T *x0, const T *x1, pack<T, W> &s0,
                                            pack<T, W> &s1)
{
    typedef pair_of<T, VALUES> pair;
    enum { COLUMNS = pair::columns, LOADS = AHEAD / pair::columns };
    const int loads = width / COLUMNS;
    for (int e0 = 0; e0 < loads; e0 += LOADS) {
        typename pair::places::type v[LOADS];
        pack<T, W> y0[LOADS][COLUMNS];
        pack<T, W> y1[LOADS][COLUMNS];
#pragma unroll
        for (int u = 0; u < LOADS; ++u) {
            const int e = e0 + u < loads ? e0 + u : e0; /* repeated, its product is dropped */
            int c0[COLUMNS];
            int c1[COLUMNS];
            v[u] = values.load((cmg_size)e * 32);
            load_codes<BYTES, COLUMNS>(codes, (cmg_size)e * 32, c0, c1);
#pragma unroll
            for (int j = 0; j < COLUMNS; ++j) {
                const int b = __ldg(base + e * COLUMNS + j);
                y0[u][j] = load<W>(x0 + (cmg_size)(b + c0[j]) * k);
                y1[u][j] = load<W>(x1 + (cmg_size)(b + c1[j]) * k);
            }
        }
#pragma unroll
        for (int u = 0; u < LOADS; ++u) {
            T a0[COLUMNS];
            T a1[COLUMNS];
            pair::split(v[u], a0, a1);
#pragma unroll
            for (int j = 0; j < COLUMNS && e0 + u < loads; ++j) {
#pragma unroll
                for (int w = 0; w < W; ++w) {
                    s0.v[w] += a0[j] * y0[u][j].v[w];
                    s1.v[w] += a1[j] * y1[u][j].v[w];
                }
            }
        }
    }
}

/* Pair `u` of rows and columns c .. c + W - 1. */
template <typename T, cmgi_wb_kind KIND, cmg_values VALUES, int W>
__device__ __forceinline__ void packed_pair(const compressed_args<T> &a, int k, cmg_size u, int c)
{
    typedef pair_of<T, VALUES> pair;
    const cmg_size p = u >> 5;
    const int lane = (int)u & 31;
    const cmg_size slice = a.C.p.slice != NULL ? a.C.p.slice[p] : p;
    const cmg_size i0 = slice * CMGI_SLICE + lane;
    const cmg_size i1 = i0 + 32;
    /* lanes without a row work on the last row's columns with values that are 0 */
    const cmg_size r0 = i0 < a.C.rows ? i0 : a.C.rows - 1;
    const cmg_size r1 = i1 < a.C.rows ? i1 : a.C.rows - 1;
    const T *x0 = a.x + (a.C.ref != NULL ? a.C.ref[r0] : r0) * k + c;
    const T *x1 = a.x + (a.C.ref != NULL ? a.C.ref[r1] : r1) * k + c;
    const cmg_size step = a.C.p.step[p];
    const int width = (int)(a.C.p.step[p + 1] - step);
    const int bytes = a.C.p.bytes[p];
    const typename pair::places values(a.values, a.C.p.rest, step / pair::columns * 32 + lane);
    const int *base = a.C.p.base + step;
    const unsigned char *codes = a.C.p.codes + a.C.p.code[p] + 2 * pair::columns * lane * bytes;
    pack<T, W> s0 = {};
    pack<T, W> s1 = {};
    switch (bytes) {
    case 0:
        packed_sums<T, VALUES, 0, W>(values, base, codes, width, k, x0, x1, s0, s1);
        break;
    case 1:
        packed_sums<T, VALUES, 1, W>(values, base, codes, width, k, x0, x1, s0, s1);
        break;
    case 2:
        packed_sums<T, VALUES, 2, W>(values, base, codes, width, k, x0, x1, s0, s1);
        break;
    default:
        packed_sums<T, VALUES, 4, W>(values, base, codes, width, k, x0, x1, s0, s1);
        break;
    }
    if (pair::scaled) {
        const T scale = (T)a.C.p.scale[p];
        const bool apart = a.C.diagonal != NULL;
        const T d0 = apart ? (T)a.C.diagonal[r0] : T(0);
        const T d1 = apart ? (T)a.C.diagonal[r1] : T(0);
        const pack<T, W> y0 = load<W>(x0);
        const pack<T, W> y1 = load<W>(x1);
#pragma unroll
        for (int w = 0; w < W; ++w) {
            s0.v[w] = s0.v[w] * scale + (apart ? d0 * y0.v[w] : T(0));
            s1.v[w] = s1.v[w] * scale + (apart ? d1 * y1.v[w] : T(0));
        }
    }
    if (i0 < a.C.rows) {
        put_columns<KIND, W>(a.f, i0, i0 * k + c, s0);
    }
    if (i1 < a.C.rows) {
        put_columns<KIND, W>(a.f, i1, i1 * k + c, s1);
    }
}

template <typename T, cmgi_wb_kind KIND, cmg_values VALUES, int W>
__global__ void __launch_bounds__(THREADS, BLOCKS) packed_columns_kernel(const columns_args<T> a)
{
    const int groups = a.k / W;
    const int pairs = THREADS / groups; /* that a block takes at once */
    const int local = (int)threadIdx.x / groups;
    const int c = ((int)threadIdx.x % groups) * W;
    cmg_size u = (cmg_size)blockIdx.x * a.steps * pairs + local;
    if (local >= pairs) {
        return;
    }
    for (int t = 0; t < a.steps && u < a.pairs; ++t, u += pairs) {
        packed_pair<T, KIND, VALUES, W>(a.of, a.k, u, c);
    }
}

template <typename T, cmgi_wb_kind KIND, cmg_values VALUES, int W>
static cmg_status launch(const cmg_matrix *A, const cmgi_writeback *w, const void *x)
{
    const compressed_args<T> of = arguments(A, cmgi_wb_of<T>::cast(w), (const T *)x);
    const cmg_size pairs = of.C.p.count * 32;
    const int rows = THREADS / (w->columns / W);
    int steps = STEPS;
    while (steps > 1 && pairs / rows / steps < FULL_GRID) {
        steps /= 2;
    }
    packed_columns_kernel<T, KIND, VALUES, W>
        <<<cmgi_grid(pairs, rows * steps), THREADS, 0, cmgi_stream(A->ctx)>>>(
            columns_args<T>{of, pairs, w->columns, steps});
    return CMGI_LAUNCHED(A->ctx);
}

/* W by what k and the arrays allow. */
template <typename T, cmgi_wb_kind KIND, cmg_values VALUES>
static cmg_status widest(const cmg_matrix *A, const cmgi_writeback *w, const void *x)
{
    const bool wide = w->columns % WIDE<T> == 0 && aligned(x) && aligned(w->b) && aligned(w->c) &&
                      aligned(w->e) && aligned(w->y);
    return wide ? launch<T, KIND, VALUES, WIDE<T>>(A, w, x) : launch<T, KIND, VALUES, 1>(A, w, x);
}

template <typename T, cmg_values VALUES>
static cmg_status run(const cmg_matrix *A, const cmgi_writeback *w, const void *x)
{
    switch (w->kind) {
#define CMGI_CASE(KIND)                                                                            \
    case CMGI_WB_##KIND:                                                                           \
        return widest<T, CMGI_WB_##KIND, VALUES>(A, w, x);
        CMGI_WB_LIST(CMGI_CASE)
#undef CMGI_CASE
    default:
        return cmgi_fail(A->ctx, CMG_ERR_INTERNAL, "unknown write-back %d", (int)w->kind);
    }
}

extern "C" cmg_status cmgi_packed_columns_cuda(const cmg_matrix *A, const cmgi_writeback *w,
                                               const void *x)
{
    const cmgi_compressed *C = (const cmgi_compressed *)A->data;
    if (C->p.count == 0) {
        return CMG_OK;
    }
    if (A->options.precision == CMG_FP64) {
        return C->p.rest != NULL ? run<double, CMGI_VALUES_SUMS>(A, w, x)
                                 : run<double, CMG_VALUES_FULL>(A, w, x);
    }
    return C->p.kind == CMG_VALUES_FULL   ? run<float, CMG_VALUES_FULL>(A, w, x)
           : C->p.kind == CMG_VALUES_FP16 ? run<float, CMG_VALUES_FP16>(A, w, x)
                                          : run<float, CMG_VALUES_FP8>(A, w, x);
}
