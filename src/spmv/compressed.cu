/*
 * Products with compressed slices that hold values. A warp takes a slice of 64 rows, a thread the
 * rows of lanes l and l + 32, so that every load of values and codes brings two entries and x is
 * read in order; of values in 8 bits it brings four, of two slice columns. One kernel a precision
 * and kind of values; the size of a code is uniform in a warp.
 */
#include "spmv/compressed.cuh"
#include "spmv/packed_pairs.cuh"

extern "C" {
#include "spmv/columns.h"
#include "spmv/stencil.h"
}

enum { BLOCK = 256 };

/*
 * Sums of two rows of a packed slice. Where bases are handed round, those of 32 slice columns are
 * loaded at once, one a lane, so that the loads of x wait for no other load. NEAR: x1 is x0 + 32.
 */
template <typename T, cmg_values VALUES, int BYTES, bool NEAR>
__device__ __forceinline__ void packed_sums(const typename pair_of<T, VALUES>::places values,
                                            const int *base, const unsigned char *codes, int width,
                                            int lane, const T *x0, const T *x1, T &s0, T &s1)
{
    typedef pair_of<T, VALUES> pair;
    enum { COLUMNS = pair::columns, AHEAD = pair::ahead };
    const int loads = width / COLUMNS; /* the width is a multiple */
    int mine = 0;
    for (int k = 0; k < loads; k += AHEAD) {
        typename pair::places::type v[AHEAD];
        int c0[AHEAD][COLUMNS];
        int c1[AHEAD][COLUMNS];
        T y0[AHEAD][COLUMNS];
        T y1[AHEAD][COLUMNS];
        if (pair::handed_round && k * COLUMNS % 32 == 0) {
            mine = k * COLUMNS + lane < width ? __ldg(base + k * COLUMNS + lane) : 0;
        }
#pragma unroll
        for (int u = 0; u < AHEAD; ++u) {
            /* a repeated load costs nothing, its product is dropped */
            const int e = k + u < loads ? k + u : k;
            v[u] = values.load((cmg_size)e * 32 + lane);
            load_codes<BYTES, COLUMNS>(codes, (cmg_size)e * 32 + lane, c0[u], c1[u]);
#pragma unroll
            for (int j = 0; j < COLUMNS; ++j) {
                const int column = e * COLUMNS + j;
                const int b = pair::handed_round ? __shfl_sync(CMGI_ALL, mine, column % 32)
                                                 : __ldg(base + column);
                c0[u][j] += b;
                c1[u][j] += b;
            }
        }
#pragma unroll
        for (int u = 0; u < AHEAD; ++u) {
#pragma unroll
            for (int j = 0; j < COLUMNS; ++j) {
                const T *at = x0 + c0[u][j];
                y0[u][j] = __ldg(at);
                y1[u][j] = __ldg(NEAR && BYTES == 0 ? at + 32 : x1 + c1[u][j]);
            }
        }
#pragma unroll
        for (int u = 0; u < AHEAD; ++u) {
            T a0[COLUMNS];
            T a1[COLUMNS];
            pair::split(v[u], a0, a1);
#pragma unroll
            for (int j = 0; j < COLUMNS && k + u < loads; ++j) {
                s0 += a0[j] * y0[u][j];
                s1 += a1[j] * y1[u][j];
            }
        }
    }
}

template <typename T, cmgi_wb_kind KIND, cmg_values VALUES>
__global__ void __launch_bounds__(BLOCK, pair_of<T, VALUES>::blocks)
    packed_kernel(const compressed_args<T> a)
{
    typedef pair_of<T, VALUES> pair;
    const cmg_size p = ((cmg_size)blockIdx.x * BLOCK + threadIdx.x) / 32;
    const int lane = threadIdx.x % 32;
    if (p >= a.C.p.count) { /* the same for the whole warp */
        return;
    }
    const cmg_size slice = a.C.p.slice != NULL ? a.C.p.slice[p] : p;
    const cmg_size i0 = slice * CMGI_SLICE + lane;
    const cmg_size i1 = i0 + 32;
    /* lanes without a row work on the last row's columns with values that are 0 */
    const cmg_size r0 = i0 < a.C.rows ? i0 : a.C.rows - 1;
    const cmg_size r1 = i1 < a.C.rows ? i1 : a.C.rows - 1;
    const T *x0 = a.x + (a.C.ref != NULL ? a.C.ref[r0] : r0);
    const T *x1 = a.x + (a.C.ref != NULL ? a.C.ref[r1] : r1);
    const cmg_size step = a.C.p.step[p];
    const int width = (int)(a.C.p.step[p + 1] - step);
    const typename pair::places values(a.values, a.C.p.rest, step / pair::columns * 32);
    const int *base = a.C.p.base + step;
    const unsigned char *codes = a.C.p.codes + a.C.p.code[p];
    T s0 = 0;
    T s1 = 0;
    switch (a.C.p.bytes[p]) {
    case 0:
        if (pair::handed_round && a.C.ref == NULL && (slice + 1) * CMGI_SLICE <= a.C.rows) {
            packed_sums<T, VALUES, 0, true>(values, base, codes, width, lane, x0, x1, s0, s1);
        } else {
            packed_sums<T, VALUES, 0, false>(values, base, codes, width, lane, x0, x1, s0, s1);
        }
        break;
    case 1:
        packed_sums<T, VALUES, 1, false>(values, base, codes, width, lane, x0, x1, s0, s1);
        break;
    case 2:
        packed_sums<T, VALUES, 2, false>(values, base, codes, width, lane, x0, x1, s0, s1);
        break;
    default:
        packed_sums<T, VALUES, 4, false>(values, base, codes, width, lane, x0, x1, s0, s1);
        break;
    }
    if (pair::scaled) {
        const T scale = (T)a.C.p.scale[p];
        s0 *= scale;
        s1 *= scale;
        if (a.C.diagonal != NULL) {
            s0 += (T)a.C.diagonal[r0] * __ldg(x0);
            s1 += (T)a.C.diagonal[r1] * __ldg(x1);
        }
    }
    if (i0 < a.C.rows) {
        cmgi_put<KIND>(a.f, i0, s0);
    }
    if (i1 < a.C.rows) {
        cmgi_put<KIND>(a.f, i1, s1);
    }
    put_dot<T, KIND>(a, slice, i0, i1, s0, s1);
}

/* Values in 16 and 8 bits exist in fp32 only, those that are sums in fp64 only. */
template <typename T, cmgi_wb_kind KIND>
struct launch_packed {
    static cmg_status run(const cmg_matrix *A, const typename cmgi_wb_of<T>::type &f, const T *x)
    {
        const compressed_args<T> a = arguments(A, f, x);
        const cudaStream_t stream = cmgi_stream(A->ctx);
        const unsigned grid = cmgi_grid(a.C.p.count * 32, BLOCK);
        if (a.C.p.rest != NULL) {
            packed_kernel<T, KIND, CMGI_VALUES_SUMS><<<grid, BLOCK, 0, stream>>>(a);
        } else {
            packed_kernel<T, KIND, CMG_VALUES_FULL><<<grid, BLOCK, 0, stream>>>(a);
        }
        return CMGI_LAUNCHED(A->ctx);
    }
};
template <cmgi_wb_kind KIND>
struct launch_packed<float, KIND> {
    static cmg_status run(const cmg_matrix *A, const cmgi_wb_f32 &f, const float *x)
    {
        const compressed_args<float> a = arguments(A, f, x);
        const cudaStream_t stream = cmgi_stream(A->ctx);
        const unsigned grid = cmgi_grid(a.C.p.count * 32, BLOCK);
        if (a.C.p.kind == CMG_VALUES_FP16) {
            packed_kernel<float, KIND, CMG_VALUES_FP16><<<grid, BLOCK, 0, stream>>>(a);
        } else if (a.C.p.kind == CMG_VALUES_FP8) {
            packed_kernel<float, KIND, CMG_VALUES_FP8><<<grid, BLOCK, 0, stream>>>(a);
        } else {
            packed_kernel<float, KIND, CMG_VALUES_FULL><<<grid, BLOCK, 0, stream>>>(a);
        }
        return CMGI_LAUNCHED(A->ctx);
    }
};

extern "C" cmg_status cmgi_compressed_spmv_cuda(const cmg_matrix *A, const cmgi_writeback *w,
                                                const void *x)
{
    const cmgi_compressed *C = (const cmgi_compressed *)A->data;
    bool done = C->t.count == 0;
    x = cmgi_compressed_x(A, w, x);
    if (C->block > 1) {
        return cmgi_compressed_blocks_cuda(A, w, x);
    }
    if (w->columns > 1) {
        return cmgi_compressed_columns_cuda(A, w, x);
    }
    if (!done && C->t.stencil != NULL) {
        CMGI_TRY(cmgi_stencil_spmv_cuda(A, w, x, &done));
    }
    if (!done) {
        CMGI_TRY(cmgi_templates_spmv_cuda(A, w, x));
    }
    return C->p.count > 0 ? cmgi_select<launch_packed>(A, w, x) : CMG_OK;
}
