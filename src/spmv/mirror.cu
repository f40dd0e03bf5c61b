/* Mirrors: how one is made of packed slices, and its products. */
#include "core/rest.h"
#include "spmv/march.cuh"
#include "spmv/stored.cuh"

#include <cfloat>

extern "C" {
#include "spmv/mirror.h"
}

enum { UPPER = 14, PAIRS = 7, CENTRE = 13 /* of 27 neighbours, 9 (a + 1) + 3 (b + 1) + (c + 1) */ };

/* How a mirror keeps numbers of T: whole, ... */
template <typename T, cmg_values VALUES>
struct upper_half {
    typedef T number;
    static constexpr double unit = sizeof(T) == sizeof(double) ? DBL_EPSILON : FLT_EPSILON;
    static constexpr double own_unit = unit;
    static __host__ __device__ __forceinline__ cmg_size place(cmg_size i, int k)
    {
        return (i / CMGI_SLICE * UPPER + k) * CMGI_SLICE + i % CMGI_SLICE;
    }
    /* Entries first .. first + COUNT - 1 of row i. */
    template <int COUNT>
    static __device__ __forceinline__ void load(const number *values, cmg_size i, int first,
                                                T (&v)[COUNT])
    {
        const number *of = values + place(i, first);
#pragma unroll
        for (int k = 0; k < COUNT; ++k) {
            v[k] = __ldg(of + k * CMGI_SLICE);
        }
    }
};
/* ... or in fp16, pair by pair, without the diagonal. */
template <>
struct upper_half<float, CMG_VALUES_FP16> {
    typedef unsigned short number;
    static constexpr double unit = FLT_EPSILON;
    static constexpr double own_unit = 0x1p-10;
    static __host__ __device__ __forceinline__ cmg_size place(cmg_size i, int k)
    {
        const int pair = (k - 1) / 2;
        return ((i / CMGI_SLICE * PAIRS + pair) * CMGI_SLICE + i % CMGI_SLICE) * 2 + (k - 1) % 2;
    }
    template <int COUNT>
    static __device__ __forceinline__ void load(const number *values, cmg_size i, int first,
                                                float (&v)[COUNT])
    {
        const __half2 *of = (const __half2 *)(values + place(i, first));
#pragma unroll
        for (int k = 0; k < COUNT; k += 2) {
            const float2 two = __half22float2(__ldg(of + k / 2 * CMGI_SLICE));
            v[k] = two.x;
            if (k + 1 < COUNT) {
                v[k + 1] = two.y;
            }
        }
    }
};

/* ------------------------------------------------------------------ from packed slices */

/* The numbers of packed slices. */
template <typename T, cmg_values VALUES>
struct packed_values {
    typedef typename cmgi_stored<T, VALUES>::type number;
    const number *values;
    const int *rest;
    __device__ __forceinline__ number raw(cmg_size at) const
    {
        return values[at];
    }
};
template <>
struct packed_values<double, CMG_VALUES_FULL> {
    typedef double number;
    const double *values;
    const int *rest;
    __device__ __forceinline__ double raw(cmg_size at) const
    {
        return rest == NULL ? values[at] : cmgi_whole(((const float *)values)[at], rest[at]);
    }
};

template <typename T, cmg_values VALUES>
struct making {
    cmgi_compressed C;
    packed_values<T, VALUES> from;
    int size[3];
    typename upper_half<T, VALUES>::number *values;
    float *diagonal;
    bool *other;
};

/* Where entry e of the row in lane l of a packed slice is, and its column less the row. */
template <typename T, cmg_values VALUES>
static __device__ __forceinline__ cmg_index entry_at(const cmgi_packed_slices &P, cmg_size p, int e,
                                                     int l, cmg_size *at)
{
    const bool pairs = VALUES != CMG_VALUES_FULL;
    const int low = l % CMGI_WARP;
    const int high = l / CMGI_WARP;
    const cmg_size place = pairs ? (e - e % 2) * CMGI_SLICE + 4 * low + 2 * (e % 2) + high
                                 : e * CMGI_SLICE + 2 * low + high;
    const uint8_t *codes = P.codes + P.code[p];
    const int code = P.bytes[p] == 0   ? 0
                     : P.bytes[p] == 1 ? codes[place]
                     : P.bytes[p] == 2 ? ((const uint16_t *)codes)[place]
                                       : (int)((const uint32_t *)codes)[place];
    *at = P.step[p] * CMGI_SLICE + place;
    return P.base[P.step[p] + e] + code;
}

/* A row on the grid. */
struct position {
    int at[3];
    __device__ __forceinline__ position(const int (&size)[3], cmg_size i)
        : at{(int)(i % size[0]), (int)(i / size[0] % size[1]), (int)(i / size[0] / size[1])}
    {
    }
};

/* The number of a neighbour by its offset, -1 = it is none, or outside. */
static __device__ __forceinline__ int neighbour_at(const int (&size)[3], const position &row,
                                                   int offset)
{
    const int line = size[0];
    const int plane = size[0] * size[1];
    const int a = offset > line + 1 ? 1 : offset < -line - 1 ? -1 : 0;
    const int beside = offset - a * plane;
    const int b = beside > 1 ? 1 : beside < -1 ? -1 : 0;
    const int c = beside - b * line;
    const int to[3] = {row.at[0] + c, row.at[1] + b, row.at[2] + a};
    bool inside = c >= -1 && c <= 1;
    for (int axis = 0; axis < 3; ++axis) {
        inside = inside && to[axis] >= 0 && to[axis] < size[axis];
    }
    return inside ? 9 * (a + 1) + 3 * (b + 1) + c + 1 : -1;
}

/* step(k, number) for the entries of row i that are not 0, k as neighbour_at gives it. */
template <typename T, cmg_values VALUES, typename F>
static __device__ __forceinline__ void each_entry(const making<T, VALUES> &m, cmg_size i,
                                                  const F &step)
{
    const cmgi_packed_slices &P = m.C.p;
    const cmg_size p = i / CMGI_SLICE;
    const position row(m.size, i);
    const int width = (int)(P.step[p + 1] - P.step[p]);
    for (int e = 0; e < width; ++e) {
        cmg_size at = 0;
        const int offset = entry_at<T, VALUES>(P, p, e, (int)(i % CMGI_SLICE), &at);
        const auto number = m.from.raw(at);
        if (number != 0) {
            step(neighbour_at(m.size, row, offset), number);
        }
    }
}

enum { THREADS = 2 * CMGI_SLICE };

template <typename T, cmg_values VALUES>
__global__ void __launch_bounds__(THREADS) upper_kernel(const making<T, VALUES> m)
{
    typedef upper_half<T, VALUES> half;
    __shared__ typename half::number tile[UPPER][THREADS];
    const cmg_size i = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    for (int k = 0; k < UPPER; ++k) {
        tile[k][threadIdx.x] = 0;
    }
    bool other = false;
    if (i < m.C.rows) {
        each_entry(m, i, [&](int k, auto number) {
            other = other || k < 0;
            if (k >= CENTRE) {
                tile[k - CENTRE][threadIdx.x] = number;
            }
        });
    }
    for (int k = VALUES == CMG_VALUES_FULL ? 0 : 1; k < UPPER && i / CMGI_SLICE < m.C.p.count;
         ++k) {
        m.values[half::place(i, k)] = tile[k][threadIdx.x];
    }
    if (other) {
        *m.other = true;
    }
}

/* Entries of the lower half beside their images; what a row sum loses goes to the diagonal. */
template <typename T, cmg_values VALUES>
__global__ void __launch_bounds__(THREADS) lower_kernel(const making<T, VALUES> m)
{
    typedef upper_half<T, VALUES> half;
    typedef cmgi_stored<T, VALUES> stored;
    enum { FEW = 4 /* units in the last place */ };
    __shared__ T tile[CENTRE][THREADS];
    const bool scaled = VALUES != CMG_VALUES_FULL;
    const cmg_size i = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    if (i >= m.C.rows) {
        return;
    }
    const position row(m.size, i);
    const T own = scaled ? (T)m.C.p.scale[i / CMGI_SLICE] : T(1);
    const T diagonal = scaled ? (T)m.C.diagonal[i] : (T)m.values[half::place(i, 0)];
    for (int k = 0; k < CENTRE; ++k) {
        tile[k][threadIdx.x] = 0;
    }
    each_entry(m, i, [&](int k, auto number) {
        if (k >= 0 && k < CENTRE) {
            tile[k][threadIdx.x] = own * stored::get(number);
        }
    });
    T lost = 0;
    bool other = false;
    for (int k = 0; k < CENTRE; ++k) {
        const int offset = ((k / 9 - 1) * m.size[1] + k / 3 % 3 - 1) * m.size[0] + k % 3 - 1;
        T image = 0;
        if (neighbour_at(m.size, row, offset) == k) {
            const cmg_size j = i + offset;
            image = stored::get(m.values[half::place(j, CENTRE - k)]) *
                    (scaled ? (T)m.C.p.scale[j / CMGI_SLICE] : T(1));
        }
        const T here = tile[k][threadIdx.x];
        const double apart = fabs((double)here - (double)image);
        other = other || !(apart <= FEW * (half::own_unit * fabs((double)here) +
                                           half::unit * fabs((double)diagonal)));
        lost += here - image;
    }
    if (scaled) {
        m.diagonal[i] = (float)(diagonal + lost);
    } else if (lost != 0) {
        m.values[half::place(i, 0)] = (typename half::number)(diagonal + lost);
    }
    if (other) {
        *m.other = true;
    }
}

/* The sides of the grid, by the offsets behind the diagonal of a slice near the middle: the first
 * that has all of them, which the first line of a plane has not. */
__global__ void sides_kernel(const cmgi_compressed C, int *size)
{
    __shared__ int first;
    const cmgi_packed_slices &P = C.p;
    const cmg_size p = P.count / 2 + threadIdx.x;
    int behind = 0;
    int second = 0; /* least but one */
    int last = 0;
    if (threadIdx.x == 0) {
        first = THREADS;
    }
    for (cmg_size e = P.step[p]; P.bytes[p] == 0 && e < P.step[p + 1]; ++e) {
        if (P.base[e] > last) { /* they ascend; the last may come twice */
            last = P.base[e];
            second = ++behind == 2 ? last : second;
        }
    }
    const int line = second + 1;
    const int plane = last - line - 1;
    const bool grid = behind == CENTRE && line > 2 && plane > 0 && plane % line == 0 &&
                      plane / line > 2 && C.rows % plane == 0 && C.rows / plane > 2;
    __syncthreads();
    if (grid) {
        atomicMin(&first, (int)threadIdx.x);
    }
    __syncthreads();
    if ((int)threadIdx.x == first % THREADS) {
        size[0] = line;
        size[1] = grid ? plane / line : 0;
        size[2] = grid ? (int)(C.rows / plane) : 0;
    }
}

template <typename T, cmg_values VALUES>
static cmg_status fill(const cmg_matrix *A, cmgi_mirror *mirror)
{
    typedef typename upper_half<T, VALUES>::number number;
    cmg_context *ctx = A->ctx;
    const cmgi_compressed *C = (const cmgi_compressed *)A->data;
    cmgi_scratch scratch(ctx);
    making<T, VALUES> m = {};
    m.C = *C;
    m.from = {(decltype(m.from.values))A->values, C->p.rest};
    memcpy(m.size, mirror->size, sizeof m.size);
    CMGI_TRY(scratch.take_zero(1, &m.other));
    CMGI_TRY(
        cmgi_alloc_device(ctx, C->p.count * CMGI_SLICE * UPPER, sizeof(number), &mirror->values));
    if (VALUES != CMG_VALUES_FULL) {
        CMGI_TRY(cmgi_alloc_device(ctx, C->rows, sizeof(float), &mirror->diagonal));
    }
    m.values = (number *)mirror->values;
    m.diagonal = mirror->diagonal;
    const dim3 grid = cmgi_grid(C->rows, THREADS);
    CMGI_TRY(CMGI_RUN(ctx, grid, THREADS, 0, upper_kernel<T, VALUES>, m));
    CMGI_TRY(CMGI_RUN(ctx, grid, THREADS, 0, lower_kernel<T, VALUES>, m));
    const cmgi_read flag = {&mirror->other, m.other, sizeof *m.other};
    return cmgi_read_each(ctx, &flag, 1);
}

/* Whether its slices have about as many columns as a row of a grid has entries. */
static bool looks_like_one(const cmg_matrix *A)
{
    enum { FEW = 20, MANY = 40 };
    const cmgi_compressed *C = (const cmgi_compressed *)A->data;
    const cmgi_packed_slices *P = &C->p;
    return C->block == 1 && C->square && C->lead == 0 && A->rows == A->cols && C->t.count == 0 &&
           P->slice == NULL && P->kind != CMG_VALUES_FP8 && !A->options.keep_map &&
           A->rows >= CMGI_MIRROR_ROWS && A->rows < INT32_MAX / 2 && P->steps >= FEW * P->count &&
           P->steps <= MANY * P->count;
}

extern "C" void cmgi_mirror_free(cmg_context *ctx, cmgi_mirror *mirror)
{
    if (mirror != NULL) {
        cmgi_free_device(ctx, mirror->values);
        cmgi_free_device(ctx, mirror->diagonal);
        cmgi_free(ctx, mirror);
    }
}

/* ------------------------------------------------------------------ products */

template <typename T>
struct mirror_args {
    march_args<T> m; /* without values */
    const void *values;
    const float *scale;
    const float *diagonal;
};

/*
 * A warp on its way, as in march.cuh. With plane z come the entries that join it to the plane
 * before, of whose rows it ends the sums, and those within it. Row i gives v x_j to its own sum,
 * and v x_i to that of row j: sums for the lanes beside it are handed over once a line.
 */
template <typename T, cmgi_wb_kind KIND, unsigned READS, cmg_values VALUES, int RY>
struct mirror_march {
    typedef march_tile<3, RY> tile;
    typedef upper_half<T, VALUES> half;
    enum { LINES = tile::LINES, SCALED = VALUES != CMG_VALUES_FULL };
    T before[LINES]; /* x in the plane before, times the scale of its row */
    T scale[LINES];  /* of that row */
    T mid[RY];       /* of rows in the plane before: what has come so far */
    T own[RY];       /* their x */
    double dot;

    static __device__ __forceinline__ T read(bool there, const T *p)
    {
        return there ? __ldg(p) : T(0);
    }
    __device__ __forceinline__ void finish(const march_args<T> &a, const tile &t, int z, int j,
                                           T sum)
    {
        const cmg_size i = t.begin + (z - 1) * a.apart + j * t.apart;
        const bool all = READS != MARCH_ANY;
        if (z <= t.first || (t.owns >> j & 1) == 0) {
            return;
        }
        const T b = (READS & MARCH_B) != 0 && (all || a.f.b != NULL) ? a.f.b[i] : T(0);
        const T c = (READS & MARCH_C) != 0 ? a.f.c[i] : KIND == CMGI_WB_MOMENTUM ? own[j] : T(0);
        const T d = (READS & MARCH_D) != 0 && (all || a.f.d != NULL) ? a.f.d[i] : a.d;
        const T e = (READS & MARCH_E) != 0 && (all || a.f.e != NULL) ? a.f.e[i] : T(0);
        const T y = cmgi_join<KIND>(a.f, b, c, d, e, sum);
        if ((READS & MARCH_ROUNDED) != 0) {
            a.rounded[i] = (float)y;
            dot += (double)y * (double)y;
        } else {
            a.f.y[i] = y;
        }
    }
    /* Plane z. */
    __device__ __forceinline__ void step(const mirror_args<T> &a, const tile &t, int z)
    {
        const cmg_size here = t.begin + z * a.m.apart;
        const bool plane = z >= 0 && z <= t.last; /* is there */
        const bool joins = z > 0 && z >= t.first && z < a.m.planes;
        const bool within = z >= t.first && z < t.end;
        T x[LINES];
        T l[LINES];
        T r[LINES];
        T unit[LINES];
        T link[LINES][9];
        T inside[LINES][5];
#pragma unroll
        for (int j = 0; j < LINES; ++j) {
            const cmg_size i = here + (j - 1) * t.apart;
            const bool there = (t.reads >> j & 1) != 0;
            x[j] = read(there && plane, a.m.x + i);
            unit[j] = !SCALED                       ? T(1)
                      : there && plane && z < t.end ? (T)__ldg(a.scale + i / CMGI_SLICE)
                                                    : T(0);
#pragma unroll
            for (int k = 0; k < 9; ++k) {
                link[j][k] = 0;
                inside[j][k % 5] = 0;
            }
            if (there && joins) {
                half::load((const typename half::number *)a.values, i - a.m.apart, 5, link[j]);
            }
            if (there && within) {
                if constexpr (SCALED) {
                    float four[4];
                    half::load((const typename half::number *)a.values, i, 1, four);
                    inside[j][0] = __ldg(a.diagonal + i);
#pragma unroll
                    for (int k = 0; k < 4; ++k) {
                        inside[j][k + 1] = four[k];
                    }
                } else {
                    half::load((const typename half::number *)a.values, i, 0, inside[j]);
                }
            }
        }
#pragma unroll
        for (int j = 0; j < LINES; ++j) {
            l[j] = __shfl_up_sync(CMGI_ALL, x[j], 1);
            r[j] = __shfl_down_sync(CMGI_ALL, x[j], 1);
        }
#pragma unroll
        for (int j = 0; j < RY; ++j) { /* rows in the plane before end here */
            T sum = 0;
#pragma unroll
            for (int b = 0; b < 3; ++b) {
                const T *v = link[j + 1] + 3 * b;
                sum += v[0] * l[j + b] + v[1] * x[j + b] + v[2] * r[j + b];
            }
            finish(a.m, t, z, j, mid[j] + (SCALED ? scale[j + 1] * sum : sum));
        }
#pragma unroll
        for (int j = 0; j < RY; ++j) {
            const int k = j + 1;
            T to[3] = {0, 0, 0}; /* the lanes before, itself, behind */
#pragma unroll
            for (int b = 0; b < 3; ++b) { /* from line k - b + 1 */
#pragma unroll
                for (int c = 0; c < 3; ++c) {
                    to[c] += link[k - b + 1][3 * b + c] * before[k - b + 1];
                }
            }
            const T above = SCALED ? unit[k - 1] * x[k - 1] : x[k - 1];
            const T self = SCALED ? unit[k] * x[k] : x[k];
#pragma unroll
            for (int c = 0; c < 3; ++c) {
                to[c] += inside[k - 1][2 + c] * above;
            }
            to[2] += inside[k][1] * self;
            const T *v = inside[k];
            const T sum = v[1] * r[k] + v[2] * l[k + 1] + v[3] * x[k + 1] + v[4] * r[k + 1];
            const T got =
                to[1] + (__shfl_up_sync(CMGI_ALL, to[2], 1) + __shfl_down_sync(CMGI_ALL, to[0], 1));
            mid[j] = got + (v[0] * x[k] + (SCALED ? unit[k] * sum : sum));
            own[j] = x[k];
        }
#pragma unroll
        for (int j = 0; j < LINES; ++j) {
            before[j] = SCALED ? unit[j] * x[j] : x[j];
            scale[j] = unit[j];
        }
    }
};

template <typename T, cmgi_wb_kind KIND, unsigned READS, cmg_values VALUES, int RY, int WARPS,
          int BLOCKS>
__global__ void __launch_bounds__(WARPS * 32, BLOCKS) mirror_kernel(const mirror_args<T> a)
{
    const march_tile<3, RY> t(a.m, (int)blockIdx.y * WARPS + (int)threadIdx.x / 32,
                              (int)threadIdx.x % 32);
    cmgi_after_previous();
    mirror_march<T, KIND, READS, VALUES, RY> m = {};
    for (int z = t.first - 1; z <= t.end; ++z) {
        m.step(a, t, z);
    }
    if ((READS & MARCH_ROUNDED) != 0) {
        const double dot = cmgi_block_sum<WARPS * 32>(m.dot);
        if (threadIdx.x == 0) {
            const cmg_size block =
                ((cmg_size)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
            a.m.f.dots[block] = dot;
        }
    }
}

/* Lines of a warp, warps of a block, and blocks of a multiprocessor. */
template <typename T>
struct mirror_shape {
    enum { LINES = sizeof(T) == sizeof(double) ? 2 : 4, WARPS = 4, BLOCKS = 4 };
};

template <typename T>
static march_cut cut_mirror(const cmg_context *ctx, const cmgi_mirror *M)
{
    typedef mirror_shape<T> s;
    return march_cut_of(ctx, M->size, s::LINES * s::WARPS, s::BLOCKS);
}

template <typename T, cmgi_wb_kind KIND, unsigned READS, cmg_values VALUES>
static cmg_status run(const cmg_matrix *A, const typename cmgi_wb_of<T>::type &f, const T *x,
                      float *rounded)
{
    typedef mirror_shape<T> s;
    const cmgi_compressed *C = (const cmgi_compressed *)A->data;
    const cmgi_mirror *M = C->mirror;
    const march_cut c = cut_mirror<T>(A->ctx, M);
    mirror_args<T> a = {};
    a.m.positions = M->size[0];
    a.m.lines = M->size[1];
    a.m.planes = M->size[2];
    a.m.apart = (cmg_size)M->size[0] * M->size[1];
    a.m.chunk = c.chunk;
    a.m.x = x;
    a.m.f = f;
    a.m.rounded = rounded;
    a.values = M->values;
    a.scale = C->p.scale;
    a.diagonal = M->diagonal;
    return CMGI_RUN_EARLY(A->ctx, c.grid, s::WARPS * CMGI_WARP, 0,
                          mirror_kernel<T, KIND, READS, VALUES, s::LINES, s::WARPS, s::BLOCKS>, a);
}

extern "C" cmg_status cmgi_mirror_spmv_cuda(const cmg_matrix *A, const cmgi_writeback *w,
                                            const void *x)
{
    return cmgi_select_values(
        A, ((const cmgi_compressed *)A->data)->p.kind, w, [&](auto zero, auto kind, auto kept) {
            using T = decltype(zero);
            if constexpr (kept == CMG_VALUES_FP8) {
                return CMG_ERR_INTERNAL;
            } else {
                const auto f = cmgi_wb_of<T>::cast(w);
                return march_reads<T, kind>(f, (const T *)x, [&](auto reads) {
                    return run<T, kind, reads, kept>(A, f, (const T *)x, NULL);
                });
            }
        });
}

extern "C" cmg_status cmgi_mirror_residual_cuda(const cmg_matrix *A, const double *b,
                                                const double *x, float *r, double *dots)
{
    cmgi_writeback w = {};
    w.kind = CMGI_WB_RESIDUAL;
    w.b = b;
    w = cmgi_wb_reduce(&w);
    CMGI_ON_DEVICE(A->ctx);
    cmgi_wb_f64 f = cmgi_wb_cast_f64(&w);
    f.dots = dots;
    return run<double, CMGI_WB_SUM, MARCH_C | MARCH_ROUNDED, CMG_VALUES_FULL>(A, f, x, r);
}

template <typename T, cmg_values VALUES>
static cmg_status make(cmg_matrix *A, cmgi_mirror *mirror, bool *good)
{
    cmgi_compressed *C = (cmgi_compressed *)A->data;
    cmgi_scratch scratch(A->ctx);
    int *size = NULL;
    CMGI_TRY(scratch.take(3, &size));
    CMGI_TRY(CMGI_RUN(A->ctx, 1, THREADS, 0, sides_kernel, *C, size));
    const cmgi_read sides = {mirror->size, size, sizeof mirror->size};
    CMGI_TRY(cmgi_read_each(A->ctx, &sides, 1));
    *good = mirror->size[2] > 0;
    const auto fills = fill<T, VALUES>;
    CMGI_TRY(*good ? fills(A, mirror) : CMG_OK);
    *good = *good && !mirror->other;
    if (*good) {
        const march_cut c = cut_mirror<double>(A->ctx, mirror);
        mirror->blocks = (cmg_size)c.grid.x * c.grid.y * c.grid.z;
    }
    return CMG_OK;
}

extern "C" cmg_status cmgi_mirror_find(cmg_matrix *A)
{
    cmg_context *ctx = A->ctx;
    cmgi_compressed *C = (cmgi_compressed *)A->data;
    cmgi_mirror *mirror = NULL;
    bool good = false;
    if (!looks_like_one(A)) {
        return CMG_OK;
    }
    CMGI_ON_DEVICE(ctx);
    CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *mirror, &mirror));
    const cmg_status status =
        A->options.precision == CMG_FP64 ? make<double, CMG_VALUES_FULL>(A, mirror, &good)
        : C->p.kind == CMG_VALUES_FULL   ? make<float, CMG_VALUES_FULL>(A, mirror, &good)
                                         : make<float, CMG_VALUES_FP16>(A, mirror, &good);
    C->mirror = status == CMG_OK && good ? mirror : NULL;
    if (C->mirror == NULL) {
        cmgi_mirror_free(ctx, mirror);
    }
    return status;
}
