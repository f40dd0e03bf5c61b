/*
 * The rows of packed slices that a thread multiplies: those of lanes l and l + 32, so that every
 * load of values and codes brings two entries (packed_pairs.cuh), and W neighbouring columns of x.
 * The size of a code is uniform in a slice.
 */
#pragma once
#include "spmv/columns.cuh"
#include "spmv/compressed.cuh"
#include "spmv/packed_pairs.cuh"

/* Loads of x: of one column through the cache for what is only read. */
template <int W, bool ONE, typename T>
__device__ __forceinline__ pack<T, W> load_x(const T *x)
{
    if constexpr (ONE) {
        return pack<T, W>{__ldg(x)};
    } else {
        return load<W>(x);
    }
}

/*
 * Sums of two rows, W columns each, of vectors of k columns, with AHEAD loads of values under way.
 * ONE: k is 1, and the warp has one slice: where bases are handed round, those of 32 slice columns
 * are loaded at once, one a lane, so that the loads of x wait for no other load.
 */
template <typename T, cmg_values VALUES, int BYTES, bool ONE, int W, int AHEAD>
__device__ __forceinline__ void packed_sums(const typename pair_of<T, VALUES>::places values,
                                            const int *base, const unsigned char *codes, int width,
                                            int lane, int k, const T *x0, const T *x1,
                                            pack<T, W> &s0, pack<T, W> &s1)
{
    typedef pair_of<T, VALUES> pair;
    enum { COLUMNS = pair::columns };
    const int loads = width / COLUMNS; /* the width is a multiple */
    int mine = 0;
    for (int e0 = 0; e0 < loads; e0 += AHEAD) {
        typename pair::places::type v[AHEAD];
        int c0[AHEAD][COLUMNS];
        int c1[AHEAD][COLUMNS];
        pack<T, W> y0[AHEAD][COLUMNS];
        pack<T, W> y1[AHEAD][COLUMNS];
        const auto take_x = [&](int u) {
#pragma unroll
            for (int j = 0; j < COLUMNS; ++j) {
                const T *at = x0 + (ONE ? c0[u][j] : (cmg_size)c0[u][j] * k);
                y0[u][j] = load_x<W, ONE>(at);
                y1[u][j] = load_x<W, ONE>(x1 + (ONE ? c1[u][j] : (cmg_size)c1[u][j] * k));
            }
        };
        if (ONE && e0 * COLUMNS % 32 == 0) {
            mine = e0 * COLUMNS + lane < width ? __ldg(base + e0 * COLUMNS + lane) : 0;
        }
#pragma unroll
        for (int u = 0; u < AHEAD; ++u) {
            /* a repeated load costs nothing, its product is dropped */
            const int e = e0 + u < loads ? e0 + u : e0;
            v[u] = values.load((cmg_size)e * 32 + lane);
            load_codes<BYTES, COLUMNS>(codes, (cmg_size)e * 32 + lane, c0[u], c1[u]);
#pragma unroll
            for (int j = 0; j < COLUMNS; ++j) {
                const int column = e * COLUMNS + j;
                const int b = ONE ? __shfl_sync(CMGI_ALL, mine, column % 32) : __ldg(base + column);
                c0[u][j] += b;
                c1[u][j] += b;
            }
            if (!ONE) { /* several columns need the registers of the codes */
                take_x(u);
            }
        }
#pragma unroll
        for (int u = 0; u < AHEAD && ONE; ++u) {
            take_x(u);
        }
#pragma unroll
        for (int u = 0; u < AHEAD; ++u) {
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

/* Reduced values have a scale and their diagonal apart, of rows r0 and r1. */
template <typename T, cmg_values VALUES, bool ONE, int W>
__device__ __forceinline__ void add_apart(const compressed_args<T> &a, cmg_size p, cmg_size r0,
                                          cmg_size r1, const T *x0, const T *x1, pack<T, W> &s0,
                                          pack<T, W> &s1)
{
    if constexpr (pair_of<T, VALUES>::scaled) {
        const T scale = (T)a.C.p.scale[p];
        const bool apart = a.C.diagonal != NULL;
        const T d0 = apart ? (T)a.C.diagonal[r0] : T(0);
        const T d1 = apart ? (T)a.C.diagonal[r1] : T(0);
        const pack<T, W> y0 = load_x<W, ONE>(x0);
        const pack<T, W> y1 = load_x<W, ONE>(x1);
#pragma unroll
        for (int w = 0; w < W; ++w) {
            s0.v[w] = s0.v[w] * scale + d0 * y0.v[w];
            s1.v[w] = s1.v[w] * scale + d1 * y1.v[w];
        }
    }
}

/*
 * Sums of the rows that x and x + 32 belong to, of a pattern: bases of 32 slice columns are loaded
 * at once, one a lane, so that the loads of x wait for no other load. Few registers leave room for
 * many warps, which hide what a load takes better than many loads a warp do.
 */
template <typename T, cmg_values VALUES>
__device__ __forceinline__ void pattern_sums(const typename pair_of<T, VALUES>::places values,
                                             const int *base, int width, int lane, const T *x,
                                             int i, T &s0, T &s1)
{
    typedef pair_of<T, VALUES> pair;
    enum { COLUMNS = pair::columns, AHEAD = pair::pattern_ahead };
    for (int first = 0; first < width; first += 32) {
        const int mine = first + lane < width ? __ldg(base + first + lane) : 0;
        const int end = (width - first < 32 ? width - first : 32) / COLUMNS;
        for (int e0 = 0; e0 < end; e0 += AHEAD) {
            typename pair::places::type v[AHEAD];
            T y0[AHEAD][COLUMNS];
            T y1[AHEAD][COLUMNS];
#pragma unroll
            for (int u = 0; u < AHEAD; ++u) {
                const int e = e0 + u < end ? e0 + u : e0; /* a repeated load costs nothing */
                v[u] = values.load((first / COLUMNS + e) * 32);
#pragma unroll
                for (int j = 0; j < COLUMNS; ++j) {
                    const T *at = x + (i + __shfl_sync(CMGI_ALL, mine, e * COLUMNS + j));
                    y0[u][j] = __ldg(at);
                    y1[u][j] = __ldg(at + 32);
                }
            }
#pragma unroll
            for (int u = 0; u < AHEAD; ++u) {
                T a0[COLUMNS];
                T a1[COLUMNS];
                pair::split(v[u], a0, a1);
#pragma unroll
                for (int j = 0; j < COLUMNS && e0 + u < end; ++j) {
                    s0 += a0[j] * y0[u][j];
                    s1 += a1[j] * y1[u][j];
                }
            }
        }
    }
}

/* Rows of lane `lane` of a slice p that has a pattern and 64 rows, in a matrix without references:
 * numbers of rows have 32 bits. */
template <typename T, cmgi_wb_kind KIND, cmg_values VALUES>
__device__ __forceinline__ void pattern_rows(const compressed_args<T> &a, cmg_size p, int slice,
                                             int lane)
{
    typedef pair_of<T, VALUES> pair;
    const cmg_size step = a.C.p.step[p];
    const int i = slice * CMGI_SLICE + lane;
    const T *x = a.x + i;
    pack<T, 1> s0 = {};
    pack<T, 1> s1 = {};
    pattern_sums<T, VALUES>(
        typename pair::places(a.values, a.C.p.rest, step / pair::columns * 32 + lane),
        a.C.p.base + step, (int)(a.C.p.step[p + 1] - step), lane, a.x, i, s0.v[0], s1.v[0]);
    add_apart<T, VALUES, true, 1>(a, p, i, i + 32, x, x + 32, s0, s1);
    const cmgi_target<T> to0 =
        cmgi_aim<KIND, T>(a.f, NULL, i, true); /* both before either is put */
    const cmgi_target<T> to1 = cmgi_aim<KIND, T>(a.f, NULL, i + 32, true);
    cmgi_hit<KIND>(a.f, to0, s0.v[0]);
    cmgi_hit<KIND>(a.f, to1, s1.v[0]);
    put_dot<T, KIND>(a, slice, i, i + 32, s0.v[0], s1.v[0]);
}

/* Rows of lane `lane` of any slice p, columns c .. c + W - 1 of k. */
template <typename T, cmgi_wb_kind KIND, cmg_values VALUES, bool ONE, int W,
          int AHEAD = pair_of<T, VALUES>::ahead>
__device__ __forceinline__ void packed_rows(const compressed_args<T> &a, cmg_size p, int lane,
                                            int k, int c)
{
    typedef pair_of<T, VALUES> pair;
    const packed_lane<T> at(a, p, lane, ONE ? 1 : k);
    const T *x0 = at.x0 + c;
    const T *x1 = at.x1 + c;
    const typename pair::places values(a.values, a.C.p.rest, at.step / pair::columns * 32);
    const int *base = a.C.p.base + at.step;
    const unsigned char *codes = a.C.p.codes + a.C.p.code[p];
    pack<T, W> s0 = {};
    pack<T, W> s1 = {};
#define CMGI_SUMS(BYTES)                                                                           \
    packed_sums<T, VALUES, BYTES, ONE, W, AHEAD>(values, base, codes, at.width, lane, k, x0, x1,   \
                                                 s0, s1)
    switch (a.C.p.bytes[p]) {
    case 0:
        CMGI_SUMS(0);
        break;
    case 1:
        CMGI_SUMS(1);
        break;
    case 2:
        CMGI_SUMS(2);
        break;
    default:
        CMGI_SUMS(4);
        break;
    }
#undef CMGI_SUMS
    add_apart<T, VALUES, ONE, W>(a, p, at.r0, at.r1, x0, x1, s0, s1);
    if (at.i0 < a.C.rows) {
        put_columns<KIND, W>(a.f, at.i0, at.i0 * k + c, s0);
    }
    if (at.i1 < a.C.rows) {
        put_columns<KIND, W>(a.f, at.i1, at.i1 * k + c, s1);
    }
    if constexpr (ONE) {
        put_dot<T, KIND>(a, at.slice, at.i0, at.i1, s0.v[0], s1.v[0]);
    }
}

/* cmgi_select_values of packed slices, where there are some; values that are sums exist in fp64
 * alone. */
template <typename F>
static cmg_status select_packed(const cmg_matrix *A, const cmgi_writeback *w, const F &launch)
{
    const cmgi_packed_slices *P = &((const cmgi_compressed *)A->data)->p;
    CMGI_ON_DEVICE(A->ctx);
    if (P->count == 0) {
        return CMG_OK;
    }
    if (P->rest == NULL) {
        return cmgi_select_values(A, P->kind, w, launch);
    }
    return cmgi_with_kind(A->ctx, w, [&](auto kind) {
        return launch(double(), kind, cmgi_values_of<CMGI_VALUES_SUMS>());
    });
}
