/*
 * Products with templates that share runs of columns (stencil.h). Half a warp takes a slice of 64
 * rows, a thread PACK neighbouring ones, in fp64 at two places. The windows of x are loaded in
 * packs of 16 bytes; where a run's first column stands in a pack is the same for all threads,
 * because each begins at a multiple of PACK.
 *
 * What limits the plain kernel is the width of the first cache, 128 bytes a cycle: for a run of
 * three columns it moves 12 values to 4 rows in fp32, one by one, and this one 8 or 9 in packs.
 * Next come the values of the templates, which are fetched once for all rows of a thread where the
 * whole warp can do so; where a grid line ends in it, row by row.
 */
#include "spmv/spmv.cuh"

extern "C" {
#include "spmv/stencil.h"
}

enum { BLOCK = 256, WARPS = BLOCK / 32, HALF = 16, AHEAD = 3 /* runs in flight */ };

/* Templates of a warp's rows: all the first one, whose values are kernel arguments; one a thread;
 * one a row. */
enum mode { FIRST, ONE, EACH };

/* Rows of a thread that lie side by side, and how often. */
template <typename T>
constexpr int PACK = WIDE<T>;
template <typename T>
constexpr int SETS = CMGI_SLICE / (HALF * PACK<T>);

template <typename T>
struct stencil_args {
    cmg_size rows;
    cmg_size low;  /* first column, counted as x is: from the first row's own */
    cmg_size cols; /* behind the last */
    cmg_size slices;
    cmg_size late;          /* blocks that begin with the last slices */
    const cmg_index *slice; /* NULL = 0, 1, ... */
    const uint16_t *id;
    const T *value;
    int stored; /* values of all templates */
    int runs;
    cmg_index start[CMGI_RUNS]; /* first column of a run minus the row, rounded down to a pack */
    int8_t shift[CMGI_RUNS];    /* what rounding took away */
    pack<T, CMGI_RUN_STORED> first[CMGI_RUNS]; /* values of the first template */
    const T *x;
    typename cmgi_wb_of<T>::type f;
};

template <typename T>
using run_values = pack<T, CMGI_RUN_STORED>;

/* The columns of a run for PACK rows: two packs and, where it is needed, the value after them. */
template <typename T>
struct window {
    pack<T, PACK<T>> a;
    pack<T, PACK<T>> b;
    T c;

    template <int SHIFT>
    __device__ __forceinline__ T at(int m) const
    {
        const int k = m + SHIFT;
        return k < PACK<T> ? a.v[k % PACK<T>] : k < 2 * PACK<T> ? b.v[k % PACK<T>] : c;
    }
};

/* Columns beyond the ends of x are read as its ends, windows beyond them not at all: the values
 * there are 0. */
template <typename T, bool INSIDE>
__device__ __forceinline__ void load_window(window<T> &w, const stencil_args<T> &s, cmg_size begin,
                                            int shift)
{
    if (!INSIDE && (begin + 2 * PACK<T> < s.low || begin >= s.cols)) {
        w = {};
    } else if constexpr (INSIDE) {
        const T *from = s.x + begin;
        w.a = load<PACK<T>>(from);
        w.b = load<PACK<T>>(from + PACK<T>);
        if (shift + CMGI_RUN - 1 > PACK<T>) {
            w.c = __ldg(from + 2 * PACK<T>);
        }
    } else {
#pragma unroll
        for (int k = 0; k <= 2 * PACK<T>; ++k) {
            const cmg_size j = begin + k;
            const T v = __ldg(s.x + (j < s.low ? s.low : j < s.cols ? j : s.cols - 1));
            if (k < PACK<T>) {
                w.a.v[k % PACK<T>] = v;
            } else if (k < 2 * PACK<T>) {
                w.b.v[k % PACK<T>] = v;
            } else {
                w.c = v;
            }
        }
    }
}

/* Adds a run to the sums; `values` begins at it. */
template <typename T, mode MODE, int SHIFT>
__device__ __forceinline__ void add_run(const window<T> &w, const run_values<T> *values,
                                        const int (&at)[PACK<T>], T (&s)[PACK<T>])
{
    run_values<T> v = MODE == FIRST ? values[0] : values[at[0]];
#pragma unroll
    for (int t = 0; t < PACK<T>; ++t) {
        if (MODE == EACH && t > 0) {
            v = values[at[t]];
        }
#pragma unroll
        for (int m = 0; m < CMGI_RUN; ++m) {
            s[t] += v.v[m] * w.template at<SHIFT>(t + m);
        }
    }
}

/* The same for a shift that is known when it runs; it is uniform over all threads. */
template <typename T, mode MODE>
__device__ __forceinline__ void add_shifted(const window<T> &w, int shift,
                                            const run_values<T> *values, const int (&at)[PACK<T>],
                                            T (&s)[PACK<T>])
{
    if (PACK<T> == 4 && shift == 3) {
        add_run<T, MODE, 3 % PACK<T>>(w, values, at, s);
    } else if (PACK<T> == 4 && shift == 2) {
        add_run<T, MODE, 2 % PACK<T>>(w, values, at, s);
    } else if (shift == 1) {
        add_run<T, MODE, 1>(w, values, at, s);
    } else {
        add_run<T, MODE, 0>(w, values, at, s);
    }
}

/* Sums of PACK rows from `row` on, whose values begin at `at` in the table. */
template <typename T, mode MODE, bool INSIDE>
__device__ __forceinline__ void add_runs(const stencil_args<T> &a, const run_values<T> *table,
                                         const int (&at)[PACK<T>], cmg_size row, T (&s)[PACK<T>])
{
    for (int r = 0; r < a.runs; r += AHEAD) {
        window<T> w[AHEAD];
#pragma unroll
        for (int u = 0; u < AHEAD; ++u) {
            if (r + u < a.runs) {
                load_window<T, INSIDE>(w[u], a, row + a.start[r + u], a.shift[r + u]);
            }
        }
#pragma unroll
        for (int u = 0; u < AHEAD; ++u) {
            if (r + u < a.runs) {
                add_shifted<T, MODE>(w[u], a.shift[r + u],
                                     (MODE == FIRST ? a.first : table) + r + u, at, s);
            }
        }
    }
}

/* The write-back of PACK rows: what it reads and what it stores in packs. */
template <typename T, cmgi_wb_kind KIND>
__device__ __forceinline__ void put_rows(const typename cmgi_wb_of<T>::type &f, cmg_size row,
                                         cmg_size rows, const T (&s)[PACK<T>])
{
    if (rows < row + PACK<T>) {
        for (int t = 0; t < PACK<T> && row + t < rows; ++t) {
            cmgi_put<KIND>(f, row + t, s[t]);
        }
        return;
    }
    constexpr bool reads = KIND != CMGI_WB_SCALED;
    constexpr bool momentum = KIND == CMGI_WB_MOMENTUM;
    typedef pack<T, PACK<T>> packed;
    const packed b = momentum && f.d != NULL ? load<PACK<T>>(f.b + row) : packed{};
    const packed c = reads ? load<PACK<T>>(f.c + row) : packed{};
    const packed d = load_if<PACK<T>>(reads ? f.d : NULL, row);
    const packed e = load_if<PACK<T>>(momentum ? f.e : NULL, row);
    packed y;
#pragma unroll
    for (int t = 0; t < PACK<T>; ++t) {
        y.v[t] = cmgi_join<KIND>(f, b.v[t], c.v[t], d.v[t], e.v[t], s[t]);
    }
    store<PACK<T>>(f.y + row, y);
}

/* Where the values of PACK rows begin in the table; past the last row those of the last. */
template <typename T>
__device__ __forceinline__ mode find_values(const stencil_args<T> &a, cmg_size row,
                                            int (&at)[PACK<T>])
{
    pack<uint16_t, PACK<T>> id;
    if (row + PACK<T> <= a.rows) {
        id = load<PACK<T>>(a.id + row);
    } else {
#pragma unroll
        for (int t = 0; t < PACK<T>; ++t) {
            id.v[t] = a.id[row + t < a.rows ? row + t : a.rows - 1];
        }
    }
    bool first = true;
    bool one = true;
#pragma unroll
    for (int t = 0; t < PACK<T>; ++t) {
        at[t] = id.v[t] * a.runs;
        first = first && id.v[t] == 0;
        one = one && id.v[t] == id.v[0];
    }
    if (__all_sync(CMGI_ALL, first)) {
        return FIRST;
    }
    return __all_sync(CMGI_ALL, one) ? ONE : EACH;
}

template <typename T, cmgi_wb_kind KIND>
__global__ void __launch_bounds__(BLOCK, 4) stencil_kernel(const stencil_args<T> a, cmg_size chunk)
{
    cmgi_after_previous();
    extern __shared__ __align__(32) unsigned char memory[];
    T *values = (T *)memory;
    for (int e = threadIdx.x; e < a.stored; e += BLOCK) {
        values[e] = __ldg(a.value + e);
    }
    __syncthreads();
    const run_values<T> *table = (const run_values<T> *)memory;
    const int half = threadIdx.x % 32 / HALF;
    const cmg_size at_end = blockIdx.x < a.late ? gridDim.x : 0;
    const cmg_size begin = (blockIdx.x + at_end - a.late) * chunk;
    const cmg_size end = begin + chunk < a.slices ? begin + chunk : a.slices;
    for (cmg_size k = begin + threadIdx.x / 32 * 2; k < end; k += 2 * WARPS) {
        const bool mine = k + half < end;
        const cmg_size own = mine ? k + half : k;
        const cmg_size slice = a.slice != NULL ? a.slice[own] : own;
        const cmg_size first = slice * CMGI_SLICE;
        const bool inside = first + a.start[0] >= a.low &&
                            first + CMGI_SLICE + a.start[a.runs - 1] + PACK<T> < a.cols;
        double dot = 0;
        const bool all_inside = __all_sync(CMGI_ALL, inside);
#pragma unroll
        for (int set = 0; set < SETS<T>; ++set) {
            const cmg_size row = first + (set * HALF + threadIdx.x % HALF) * PACK<T>;
            int at[PACK<T>];
            T s[PACK<T>] = {};
            const mode values_of = find_values(a, row, at);
            if (!all_inside && values_of != EACH) {
                add_runs<T, ONE, false>(a, table, at, row, s);
            } else if (!all_inside) {
                add_runs<T, EACH, false>(a, table, at, row, s);
            } else if (values_of == FIRST) {
                add_runs<T, FIRST, true>(a, table, at, row, s);
            } else if (values_of == ONE) {
                add_runs<T, ONE, true>(a, table, at, row, s);
            } else {
                add_runs<T, EACH, true>(a, table, at, row, s);
            }
            if (mine) {
                put_rows<T, KIND>(a.f, row, a.rows, s);
            }
            for (int t = 0; cmgi_leaves_dots<T, KIND>(a.f) && t < PACK<T>; ++t) {
                dot += row + t < a.rows ? (double)s[t] * (double)__ldg(a.x + row + t) : 0;
            }
        }
        if (cmgi_leaves_dots<T, KIND>(a.f)) {
            dot = cmgi_group_sum(dot, HALF, HALF);
            if (mine && threadIdx.x % HALF == 0) {
                a.f.dots[slice] = dot;
            }
        }
    }
}

/* Slices whose windows leave x take longer: of those at its end no block shall begin last. */
template <typename T>
static cmg_size late_blocks(const stencil_args<T> &a, cmg_size chunk, cmg_size grid)
{
    const cmg_size reach = a.start[a.runs - 1] + CMGI_SLICE + PACK<T>;
    const cmg_size rows = a.rows + reach - a.cols; /* at the end, that see its end */
    const cmg_size blocks = rows > 0 ? (rows / CMGI_SLICE + chunk) / chunk : 0;
    return blocks < grid ? blocks : 0;
}

template <typename T>
static stencil_args<T> stencil_arguments(const cmgi_compressed *C,
                                         const typename cmgi_wb_of<T>::type &f, const T *x)
{
    const cmgi_stencil *S = C->t.stencil;
    stencil_args<T> a = {};
    a.rows = C->rows;
    a.low = -(cmg_size)C->lead;
    a.cols = C->cols - C->lead;
    a.slices = C->t.count;
    a.slice = C->t.slice;
    a.id = C->t.id;
    a.value = (const T *)S->value;
    a.stored = C->t.kinds * S->runs * CMGI_RUN_STORED;
    a.runs = S->runs;
    for (int r = 0; r < S->runs; ++r) {
        a.shift[r] = (int8_t)(S->run[r] & (PACK<T> - 1));
        a.start[r] = S->run[r] - a.shift[r];
        for (int m = 0; m < CMGI_RUN_STORED; ++m) {
            a.first[r].v[m] = (T)S->first[r][m];
        }
    }
    a.x = x;
    a.f = f;
    return a;
}

extern "C" cmg_status cmgi_stencil_spmv_cuda(const cmg_matrix *A, const cmgi_writeback *w,
                                             const void *x, bool *done)
{
    const cmgi_compressed *C = (const cmgi_compressed *)A->data;
    *done = aligned(x) && aligned(w->y) && aligned(w->b) && aligned(w->c) && aligned(w->d) &&
            aligned(w->e);
    if (!*done) {
        return CMG_OK;
    }
    return cmgi_select(A, w, x, [&](auto zero, auto kind, const auto &f, const auto *of) {
        using T = decltype(zero);
        stencil_args<T> a = stencil_arguments(C, f, of);
        const size_t bytes = (size_t)a.stored * sizeof(T);
        const cmg_size chunk = cmgi_template_chunk(A->ctx, C->t.count, bytes, 2 * WARPS);
        const unsigned grid = cmgi_grid(C->t.count, (int)chunk);
        a.late = late_blocks(a, chunk, grid);
        return CMGI_RUN_EARLY(A->ctx, grid, BLOCK, bytes, stencil_kernel<T, kind>, a, chunk);
    });
}
