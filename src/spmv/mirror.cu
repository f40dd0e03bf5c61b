/* Mirrors: how one is made of packed slices, and its products. */
#include "core/rest.h"
#include "spmv/march.cuh"
#include "spmv/stored.cuh"

#include <cfloat>

extern "C" {
#include "spmv/mirror.h"
}

enum { UPPER = 14, PAIRS = 7, CENTRE = 13 /* of 27 neighbours, 9 (a + 1) + 3 (b + 1) + (c + 1) */ };

/*
 * How a mirror keeps numbers of T, and what a row of it is in registers: the words of the entries
 * within a plane, but for a diagonal that is apart, and of those to the next one. Whole ...
 */
template <typename T, cmg_values VALUES>
struct upper_half {
    typedef T number;
    typedef T word;
    enum { INSIDE = 5, LINK = 9, APART = INSIDE };
    static constexpr double unit = sizeof(T) == sizeof(double) ? DBL_EPSILON : FLT_EPSILON;
    static constexpr double own_unit = unit;
    static __host__ __device__ __forceinline__ cmg_size place(cmg_size i, int k)
    {
        return (i / CMGI_SLICE * UPPER + k) * CMGI_SLICE + i % CMGI_SLICE;
    }
    static __device__ __forceinline__ const word *row(const void *values, cmg_size i)
    {
        return (const word *)values + place(i, 0);
    }
    /* Entries 1 .. 4, and 5 .. 13. */
    static __device__ __forceinline__ void open(const word (&in)[INSIDE], T (&v)[4])
    {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            v[k] = in[k + 1];
        }
    }
    static __device__ __forceinline__ void open(const word (&in)[LINK], T (&v)[9])
    {
#pragma unroll
        for (int k = 0; k < 9; ++k) {
            v[k] = in[k];
        }
    }
};
/* ... or in fp16, pair by pair, without the diagonal. */
template <>
struct upper_half<float, CMG_VALUES_FP16> {
    typedef unsigned short number;
    typedef __half2 word;
    enum { INSIDE = 2, LINK = 5, APART = INSIDE };
    static constexpr double unit = FLT_EPSILON;
    static constexpr double own_unit = 0x1p-10;
    static __host__ __device__ __forceinline__ cmg_size place(cmg_size i, int k)
    {
        const int pair = (k - 1) / 2;
        return ((i / CMGI_SLICE * PAIRS + pair) * CMGI_SLICE + i % CMGI_SLICE) * 2 + (k - 1) % 2;
    }
    static __device__ __forceinline__ const word *row(const void *values, cmg_size i)
    {
        return (const word *)values + place(i, 1) / 2;
    }
    template <int WORDS, int COUNT>
    static __device__ __forceinline__ void open(const word (&in)[WORDS], float (&v)[COUNT])
    {
#pragma unroll
        for (int k = 0; k < COUNT; ++k) {
            v[k] = k % 2 == 0 ? __low2float(in[k / 2]) : __high2float(in[k / 2]);
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

enum { SLICES = 2, THREADS = SLICES * CMGI_SLICE, NEIGHBOURS = 27 };

/* The neighbour at an offset, -1 = it is none. */
static __device__ __forceinline__ int neighbour_at(const int (&size)[3], int offset)
{
    const int line = size[0];
    const int plane = size[0] * size[1];
    const int a = offset > line + 1 ? 1 : offset < -line - 1 ? -1 : 0;
    const int beside = offset - a * plane;
    const int b = beside > 1 ? 1 : beside < -1 ? -1 : 0;
    const int c = beside - b * line;
    return c >= -1 && c <= 1 ? 9 * (a + 1) + 3 * (b + 1) + c + 1 : -1;
}

/* The neighbours that row i has, as bits. */
static __device__ __forceinline__ unsigned neighbours_of(const int (&size)[3], cmg_size i)
{
    const int at[3] = {(int)(i % size[0]), (int)(i / size[0] % size[1]),
                       (int)(i / size[0] / size[1])};
    unsigned bits = (1U << NEIGHBOURS) - 1;
    bits &= at[0] == 0 ? ~0x1249249U : ~0U;
    bits &= at[0] == size[0] - 1 ? ~0x4924924U : ~0U;
    bits &= at[1] == 0 ? ~0x01c0e07U : ~0U;
    bits &= at[1] == size[1] - 1 ? ~0x70381c0U : ~0U;
    bits &= at[2] == 0 ? ~0x1ffU : ~0U;
    bits &= at[2] == size[2] - 1 ? ~0x7fc0000U : ~0U;
    return bits;
}

/* Where a block's rows have the entries of neighbours: columns of their slices, NONE = they have
 * none. */
struct row_columns {
    signed char of_slice[SLICES][NEIGHBOURS]; /* of patterns, ... */
    signed char of_row[NEIGHBOURS][THREADS];  /* ... of slices with codes */
    bool others;                              /* a pattern has offsets of none */
};

enum { NONE = -1 };

/* A row, and its slice. */
template <typename T, cmg_values VALUES>
struct given_row {
    typedef typename packed_values<T, VALUES>::number number;
    const making<T, VALUES> &m;
    cmg_size i;
    cmg_size p;
    cmg_size step;
    int slice; /* of the block */
    int lane;
    int width;
    int bytes;
    __device__ __forceinline__ given_row(const making<T, VALUES> &all)
        : m(all), i((cmg_size)blockIdx.x * THREADS + threadIdx.x), p(i / CMGI_SLICE),
          step(p < m.C.p.count ? m.C.p.step[p] : 0), slice((int)threadIdx.x / CMGI_SLICE),
          lane((int)threadIdx.x % CMGI_SLICE),
          width(i < m.C.rows ? (int)(m.C.p.step[p + 1] - step) : 0),
          bytes(p < m.C.p.count ? m.C.p.bytes[p] : 0)
    {
    }
    /* Where its entry in column e is in the slice (compressed.h). */
    __device__ __forceinline__ cmg_size place(int e) const
    {
        const bool pairs = VALUES != CMG_VALUES_FULL;
        const int low = lane % CMGI_WARP;
        const int high = lane / CMGI_WARP;
        return pairs ? (e - e % 2) * CMGI_SLICE + 4 * low + 2 * (e % 2) + high
                     : e * CMGI_SLICE + 2 * low + high;
    }
    __device__ __forceinline__ number at(int e) const
    {
        return e >= 0 && width > 0 ? m.from.raw(step * CMGI_SLICE + place(e)) : number(0);
    }
    __device__ __forceinline__ int neighbour(int e) const
    {
        const uint8_t *codes = m.C.p.codes + m.C.p.code[p];
        const int code = bytes == 0   ? 0
                         : bytes == 1 ? codes[place(e)]
                         : bytes == 2 ? ((const uint16_t *)codes)[place(e)]
                                      : ((const int *)codes)[place(e)];
        return neighbour_at(m.size, m.C.p.base[step + e] + code);
    }
    __device__ __forceinline__ int column(const row_columns &columns, int k) const
    {
        return bytes == 0 ? columns.of_slice[slice][k] : columns.of_row[k][threadIdx.x];
    }
    /* False where an entry that is not 0 is none of a neighbour. */
    __device__ __forceinline__ bool find_columns(row_columns &columns) const
    {
        bool good = true;
        const int columns_of_slice = p < m.C.p.count ? (int)(m.C.p.step[p + 1] - step) : 0;
        columns.others = false;
        if (lane < NEIGHBOURS) {
            columns.of_slice[slice][lane] = NONE;
        }
        for (int k = 0; bytes > 0 && k < NEIGHBOURS; ++k) {
            columns.of_row[k][threadIdx.x] = NONE;
        }
        __syncthreads();
        for (int e = 0; bytes > 0 && e < width; ++e) {
            const int k = at(e) != 0 ? neighbour(e) : CENTRE;
            good = good && k >= 0;
            if (k >= 0 && at(e) != 0) {
                columns.of_row[k][threadIdx.x] = (signed char)e;
            }
        }
        const cmg_index *base = m.C.p.base + step;
        for (int e = lane; bytes == 0 && e < columns_of_slice; e += CMGI_SLICE) {
            const int k = neighbour_at(m.size, base[e]);
            if (k < 0) {
                columns.others = true;
            } else if (e == 0 || base[e - 1] != base[e]) { /* not one that fills a pair up */
                columns.of_slice[slice][k] = (signed char)e;
            }
        }
        __syncthreads();
        for (int e = 0; columns.others && bytes == 0 && e < width; ++e) {
            good = good && (neighbour(e) >= 0 || at(e) == 0);
        }
        return good;
    }
};

template <typename T, cmg_values VALUES>
__global__ void __launch_bounds__(THREADS) upper_kernel(const making<T, VALUES> m)
{
    __shared__ row_columns columns;
    const given_row<T, VALUES> row(m);
    const unsigned there = neighbours_of(m.size, row.i);
    bool other = !row.find_columns(columns);
#pragma unroll
    for (int k = VALUES == CMG_VALUES_FULL ? 0 : 1; k < UPPER; ++k) {
        const auto number = row.at(row.column(columns, CENTRE + k));
        other = other || (number != 0 && (there >> (CENTRE + k) & 1) == 0);
        if (row.p < m.C.p.count) {
            m.values[upper_half<T, VALUES>::place(row.i, k)] = number;
        }
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
    __shared__ row_columns columns;
    const bool scaled = VALUES != CMG_VALUES_FULL;
    const given_row<T, VALUES> row(m);
    const cmg_size i = row.i;
    row.find_columns(columns);
    if (i >= m.C.rows) {
        return;
    }
    const unsigned there = neighbours_of(m.size, i);
    const T own = scaled ? (T)m.C.p.scale[i / CMGI_SLICE] : T(1);
    const T diagonal = scaled ? (T)m.C.diagonal[i] : (T)m.values[half::place(i, 0)];
    T lost = 0;
    bool other = false;
#pragma unroll
    for (int k = 0; k < CENTRE; ++k) {
        const int offset = ((k / 9 - 1) * m.size[1] + k / 3 % 3 - 1) * m.size[0] + k % 3 - 1;
        const cmg_size j = i + offset;
        const T here = own * stored::get(row.at(row.column(columns, k)));
        T image = 0;
        if ((there >> k & 1) != 0) {
            image = stored::get(m.values[half::place(j, CENTRE - k)]) *
                    (scaled ? (T)m.C.p.scale[j / CMGI_SLICE] : T(1));
        }
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
    for (cmg_size e = P.step[p]; e < P.step[p + 1]; ++e) {
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

/* What is loaded of a line. */
template <typename T, cmg_values VALUES>
struct mirror_line {
    typedef upper_half<T, VALUES> half;
    T x;
    T unit; /* scale of the row in this plane */
    T diagonal;
    typename half::word inside[half::INSIDE];
    typename half::word link[half::LINK]; /* of the row in the plane before */
};

/* A plane: x of its rows, their entries, and what the rows before them have beside it. */
template <typename T, cmg_values VALUES, int RY>
struct mirror_plane {
    mirror_line<T, VALUES> line[RY + 2];
    march_rows<T, RY> beside;
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
    typedef mirror_plane<T, VALUES, RY> plane;
    enum { LINES = tile::LINES, SCALED = VALUES != CMG_VALUES_FULL };
    T before[LINES]; /* x in the plane before, times the scale of its row */
    T scale[LINES];  /* of that row */
    T mid[RY];       /* of rows in the plane before: what has come so far */
    T own[RY];       /* their x */
    double dot;

    /* Plane z. */
    static __device__ __forceinline__ void load(const mirror_args<T> &a, const tile &t, int z,
                                                plane &p)
    {
        const cmg_size here = t.begin + z * a.m.apart;
        const bool is = z >= 0 && z <= t.last;
        const bool joins = z > 0 && z >= t.first && z <= t.end && z < a.m.planes;
        const bool within = z >= t.first && z < t.end;
        const bool all = READS != MARCH_ANY;
#pragma unroll
        for (int j = 0; j < LINES; ++j) {
            mirror_line<T, VALUES> &line = p.line[j];
            const cmg_size i = here + (j - 1) * t.apart;
            const bool there = (t.reads >> j & 1) != 0;
            const typename half::word *row = half::row(a.values, i);
            const typename half::word *low =
                half::row(a.values, i - a.m.apart) + half::APART * CMGI_SLICE;
            line.x = there && is ? __ldg(a.m.x + i) : T(0);
            line.unit = !SCALED                    ? T(1)
                        : there && is && z < t.end ? (T)__ldg(a.scale + i / CMGI_SLICE)
                                                   : T(0);
            line.diagonal = SCALED && there && within ? (T)__ldg(a.diagonal + i) : T(0);
#pragma unroll
            for (int k = 0; k < half::INSIDE; ++k) {
                line.inside[k] =
                    there && within ? __ldg(row + k * CMGI_SLICE) : typename half::word();
            }
#pragma unroll
            for (int k = 0; k < half::LINK; ++k) {
                line.link[k] = there && joins ? __ldg(low + k * CMGI_SLICE) : typename half::word();
            }
        }
        const unsigned owns = z > t.first && z <= t.end ? t.owns : 0;
#pragma unroll
        for (int j = 0; j < RY; ++j) {
            const bool mine = (owns >> j & 1) != 0;
            const cmg_size i = here - a.m.apart + j * t.apart;
            const typename cmgi_wb_of<T>::type &f = a.m.f;
            p.beside.b[j] = (READS & MARCH_B) != 0 && mine && (all || f.b != NULL) ? f.b[i] : T(0);
            p.beside.c[j] = (READS & MARCH_C) != 0 && mine ? f.c[i] : T(0);
            p.beside.d[j] = (READS & MARCH_D) != 0 && mine && (all || f.d != NULL) ? f.d[i] : T(0);
            p.beside.e[j] = (READS & MARCH_E) != 0 && mine && (all || f.e != NULL) ? f.e[i] : T(0);
        }
    }
    __device__ __forceinline__ void finish(const march_args<T> &a, const tile &t, int z, int j,
                                           const march_rows<T, RY> &w, T sum)
    {
        const cmg_size i = t.begin + (z - 1) * a.apart + j * t.apart;
        const T c = KIND == CMGI_WB_MOMENTUM && (READS & MARCH_C) == 0 ? own[j] : w.c[j];
        if (z > t.first && (t.owns >> j & 1) != 0) {
            const T y = cmgi_join<KIND>(a.f, w.b[j], c, w.d[j], w.e[j], sum);
            if ((READS & MARCH_ROUNDED) != 0) {
                a.rounded[i] = (float)y;
                dot += (double)y * (double)y;
            } else {
                a.f.y[i] = y;
            }
        }
    }
    /* Rows in the plane before end with what the links give. */
    __device__ __forceinline__ void end_rows(const march_args<T> &a, const tile &t, int z,
                                             const plane &p, const T (&l)[LINES],
                                             const T (&r)[LINES], const T (&link)[LINES][9])
    {
#pragma unroll
        for (int j = 0; j < RY; ++j) {
            T sum = 0;
#pragma unroll
            for (int b = 0; b < 3; ++b) {
                const T *v = link[j + 1] + 3 * b;
                sum += v[0] * l[j + b];
                sum += v[1] * p.line[j + b].x;
                sum += v[2] * r[j + b];
            }
            finish(a, t, z, j, p.beside, mid[j] + (SCALED ? scale[j + 1] * sum : sum));
        }
    }
    __device__ __forceinline__ void step(const mirror_args<T> &a, const tile &t, int z,
                                         const plane &p)
    {
        T l[LINES];
        T r[LINES];
        T self[LINES];
        T link[LINES][9];
        T inside[LINES][4];
#pragma unroll
        for (int j = 0; j < LINES; ++j) {
            const T x = p.line[j].x;
            l[j] = __shfl_up_sync(CMGI_ALL, x, 1);
            r[j] = __shfl_down_sync(CMGI_ALL, x, 1);
            self[j] = SCALED ? p.line[j].unit * x : x;
            half::open(p.line[j].inside, inside[j]);
            half::open(p.line[j].link, link[j]);
        }
        end_rows(a.m, t, z, p, l, r, link);
#pragma unroll
        for (int j = 0; j < RY; ++j) {
            const int k = j + 1;
            T to[3] = {0, 0, 0}; /* the lanes before, itself, behind */
#pragma unroll
            for (int c = 0; c < 3; ++c) {
#pragma unroll
                for (int b = 0; b < 3; ++b) {
                    to[c] += link[k - b + 1][3 * b + c] * before[k - b + 1];
                }
                to[c] += inside[k - 1][1 + c] * self[k - 1];
            }
            to[2] += inside[k][0] * self[k];
            const T *v = inside[k];
            const T x = p.line[k].x;
            const T sum = v[0] * r[k] + v[1] * l[k + 1] + v[2] * p.line[k + 1].x + v[3] * r[k + 1];
            T d = p.line[k].diagonal;
            if constexpr (!SCALED) {
                d = p.line[k].inside[0];
            }
            mid[j] = (SCALED ? p.line[k].unit * sum : sum) + d * x + to[1];
            mid[j] += __shfl_up_sync(CMGI_ALL, to[2], 1) + __shfl_down_sync(CMGI_ALL, to[0], 1);
            own[j] = x;
        }
#pragma unroll
        for (int j = 0; j < LINES; ++j) {
            before[j] = self[j];
            scale[j] = p.line[j].unit;
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
        mirror_plane<T, VALUES, RY> p;
        m.load(a, t, z, p);
        m.step(a, t, z, p);
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
template <typename T, cmg_values VALUES>
struct mirror_shape {
    enum {
        LINES = 2,
        WARPS = 4,
        BLOCKS = sizeof(T) == sizeof(double) ? 4
                 : VALUES == CMG_VALUES_FULL ? 6
                                             : 8
    };
};

template <typename T, cmg_values VALUES>
static march_cut cut_mirror(const cmg_context *ctx, const cmgi_mirror *M)
{
    typedef mirror_shape<T, VALUES> s;
    return march_cut_of(ctx, M->size, s::LINES * s::WARPS, s::BLOCKS);
}

template <typename T, cmgi_wb_kind KIND, unsigned READS, cmg_values VALUES>
static cmg_status run(const cmg_matrix *A, const typename cmgi_wb_of<T>::type &f, const T *x,
                      float *rounded)
{
    typedef mirror_shape<T, VALUES> s;
    const cmgi_compressed *C = (const cmgi_compressed *)A->data;
    const cmgi_mirror *M = C->mirror;
    const march_cut c = (cut_mirror<T, VALUES>)(A->ctx, M);
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
        const march_cut c = cut_mirror<double, CMG_VALUES_FULL>(A->ctx, mirror);
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
