/*
 * The march: products with the matrix of a box (box.h), whose planes are streamed through
 * registers. A warp owns 30 positions of RY neighbouring lines, with a lane on either side for the
 * neighbours, and goes from plane to plane; it loads every plane of x once, gets the neighbours in
 * a line from the lanes beside it, and adds what a plane gives to three sums: of the rows before,
 * in and behind it. So
 *
 *     (A x)_i = (lower plane + own plane) + upper plane,
 *
 * and in each plane equal values are summed first where the box is even. PF planes of x and of what
 * the write-back reads are under way in registers meanwhile: one plane's loads, exchange and stores
 * wait for each other. In 2D lines take the part of planes, and a warp owns RY times 30 positions.
 *
 * Only vectors move: a Jacobi step in fp32 reads x and b and writes y, 12 bytes a row.
 */
#pragma once
#include "core/pack.cuh"
#include "spmv/spmv.cuh"

#include <climits>

enum { MARCH_OWN = 30 /* positions of a warp in a line */ };

/* What a write-back reads, and whether x . y is left. */
enum {
    MARCH_B = 1,
    MARCH_C = 2,
    MARCH_D = 4,
    MARCH_E = 8,
    MARCH_ANY = MARCH_B | MARCH_C | MARCH_D | MARCH_E, /* those that are there */
    MARCH_DOTS = 16,                                   /* x . A x */
    MARCH_ROUNDED = 32,                                /* y . y, and y in fp32 */
    MARCH_DIRECTION = 64 /* x is formed on the way, z + beta x, and stored */
};

template <unsigned READS>
using march_reading = std::integral_constant<unsigned, READS>;

template <typename T>
struct march_args {
    int positions;  /* of a line */
    int lines;      /* beside each other: of a plane; 1 in 2D */
    int planes;     /* that are marched through; in 2D lines */
    int chunk;      /* of them a warp */
    cmg_size apart; /* planes from each other */
    T value[27];    /* 9 (plane + 1) + 3 (line + 1) + (position + 1) */
    T d;            /* where d is not read */
    const T *x;
    float *rounded; /* in place of f.y */
    cmgi_direction direction;
    typename cmgi_wb_of<T>::type f;
};

/* What a row has in the vectors of its write-back. */
template <typename T, int RY>
struct march_rows {
    T b[RY];
    T c[RY];
    T d[RY];
    T e[RY];
};

/* A plane of x, and of what it is formed with. */
template <typename T, int LINES>
struct march_plane {
    T x[LINES];
    float z[LINES];
};

/* Sums of a plane's entries as the lower, the own and the upper plane of a row. */
template <typename T>
struct march_sums {
    T v[3];
};

/* From the values of a plane around a row, line by line. */
template <typename T, int DIM>
__device__ __forceinline__ march_sums<T> march_any(const march_args<T> &a, const T (&x)[9])
{
    march_sums<T> s;
#pragma unroll
    for (int p = 0; p < 3; ++p) {
        const T *v = a.value + 9 * (2 - p);
        s.v[p] = v[4] * x[4];
#pragma unroll
        for (int c = 0; c < 9; ++c) {
            if (c != 4 && (DIM == 3 || c / 3 == 1)) {
                s.v[p] += v[c] * x[c];
            }
        }
    }
    return s;
}

/* From the row's own value and the sums of its neighbours in its line, across, and aslant. */
template <typename T, int DIM>
__device__ __forceinline__ march_sums<T> march_even(const march_args<T> &a, T own, T line, T across,
                                                    T aslant)
{
    T side = a.value[4] * own + a.value[3] * line;
    T inside = a.value[13] * own + a.value[12] * line;
    if (DIM == 3) {
        side += a.value[1] * across;
        inside += a.value[10] * across;
        side += a.value[0] * aslant;
        inside += a.value[9] * aslant;
    }
    return march_sums<T>{{side, inside, side}};
}

/* What a warp owns. */
template <int DIM, int RY>
struct march_tile {
    enum { LINES = DIM == 3 ? RY + 2 : RY, FIRST = DIM == 3 ? 1 : 0 };
    int apart;      /* 3D: lines, neighbours; 2D: parts of a line */
    unsigned reads; /* bit j: this lane reads line j, neighbours included */
    unsigned owns;  /* ... owns a row of line j */
    cmg_size begin; /* its row in line FIRST of plane 0 */
    int first;      /* plane */
    int end;        /* behind the last */
    int last;       /* that is read */

    template <typename T>
    __device__ __forceinline__ march_tile(const march_args<T> &a, int warp, int lane)
        : apart(DIM == 3 ? a.positions : MARCH_OWN), reads(0), owns(0)
    {
        const int y = DIM == 3 ? warp * RY : 0;
        const int x = (DIM == 3 ? (int)blockIdx.x : warp * RY) * MARCH_OWN + lane - 1;
#pragma unroll
        for (int j = 0; j < LINES; ++j) {
            const int line = y + j - FIRST;
            const int at = DIM == 3 ? x : x + j * MARCH_OWN;
            const bool there =
                at >= 0 && at < a.positions && (DIM == 2 || (line >= 0 && line < a.lines));
            const bool own = lane > 0 && lane < 31 && j >= FIRST && j < RY + FIRST;
            reads |= there ? 1U << j : 0;
            owns |= there && own ? 1U << (j - FIRST) : 0;
        }
        begin = (cmg_size)y * a.positions + x;
        first = (int)blockIdx.z * a.chunk;
        end = first + a.chunk < a.planes ? first + a.chunk : a.planes;
        last = end < a.planes ? end : a.planes - 1;
    }
};

/* What the rows before plane z, the first of which is `at`, have beside them; d where none is
 * read. */
template <typename T, unsigned READS, int RY, typename TILE>
__device__ __forceinline__ void march_beside(const march_args<T> &a, const TILE &t, int z,
                                             cmg_size at, T d, march_rows<T, RY> &rows)
{
    const unsigned owns = z > t.first && z <= t.end ? t.owns : 0;
    const bool all = READS != MARCH_ANY;
#pragma unroll
    for (int j = 0; j < RY; ++j) {
        const bool mine = (owns >> j & 1) != 0;
        const cmg_size i = at + j * t.apart;
        rows.b[j] = (READS & MARCH_B) != 0 && mine && (all || a.f.b != NULL) ? a.f.b[i] : T(0);
        rows.c[j] = (READS & MARCH_C) != 0 && mine ? a.f.c[i] : T(0);
        rows.d[j] = (READS & MARCH_D) != 0 && mine && (all || a.f.d != NULL) ? a.f.d[i] : d;
        rows.e[j] = (READS & MARCH_E) != 0 && mine && (all || a.f.e != NULL) ? a.f.e[i] : T(0);
    }
}

/* Row j of plane z - 1, whose x is `own`, is complete; what it gives to a sum that is left. */
template <typename T, cmgi_wb_kind KIND, unsigned READS, int RY, typename TILE>
__device__ __forceinline__ double march_finish(const march_args<T> &a, const TILE &t, int z, int j,
                                               const march_rows<T, RY> &w, T own, T sum)
{
    const cmg_size i = t.begin + (z - 1) * a.apart + j * t.apart;
    const T c = KIND == CMGI_WB_MOMENTUM && (READS & MARCH_C) == 0 ? own : w.c[j];
    if (z <= t.first || (t.owns >> j & 1) == 0) {
        return 0;
    }
    const T y = cmgi_join<KIND>(a.f, w.b[j], c, w.d[j], w.e[j], sum);
    if ((READS & MARCH_ROUNDED) != 0) {
        a.rounded[i] = (float)y;
        return (double)y * (double)y;
    }
    a.f.y[i] = y;
    return (READS & MARCH_DOTS) != 0 ? (double)sum * (double)own : 0;
}

/* The sum of a block, where it is left. */
template <int THREADS, typename T>
__device__ __forceinline__ void march_leave(const march_args<T> &a, double sum)
{
    const double dot = cmgi_block_sum<THREADS>(sum);
    if (threadIdx.x == 0) {
        a.f.dots[((cmg_size)blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x] = dot;
    }
}

/* A warp on its way. */
template <typename T, cmgi_wb_kind KIND, unsigned READS, int DIM, bool EVEN, int RY, int PF>
struct march {
    typedef march_tile<DIM, RY> tile;
    typedef march_plane<T, tile::LINES> plane;
    plane n[PF + 1];                  /* one and those under way */
    march_rows<T, RY> beside[PF + 1]; /* of the rows in the plane before */
    T low[RY];                        /* of the next row: what its lower plane gives */
    T mid[RY];                        /* of the row: lower and own plane */
    T own[RY];                        /* its x */
    double dot;
    T beta;

    /* Plane z of x, and what the rows before it have beside it. */
    __device__ __forceinline__ void load(const march_args<T> &a, const tile &t, int z, plane &to,
                                         march_rows<T, RY> &rows)
    {
        const cmg_size here = t.begin + z * a.apart;
        const unsigned reads = z >= 0 && z <= t.last ? t.reads : 0;
#pragma unroll
        for (int j = 0; j < tile::LINES; ++j) {
            const cmg_size i = here + (j - tile::FIRST) * t.apart;
            const bool there = (reads >> j & 1) != 0;
            to.x[j] = there ? __ldg(a.x + i) : T(0);
            if ((READS & MARCH_DIRECTION) != 0) {
                to.z[j] = there ? __ldg((const float *)a.direction.z + i) : 0;
            }
        }
        march_beside<T, READS, RY>(a, t, z, here - a.apart, a.d, rows);
    }
    /* x of plane z, stored where it is this warp's. */
    __device__ __forceinline__ void form(const march_args<T> &a, const tile &t, int z, plane &p)
    {
        const unsigned owns = z >= t.first && z < t.end ? t.owns : 0;
        T *to = (T *)a.direction.p + t.begin + z * a.apart;
#pragma unroll
        for (int j = 0; j < tile::LINES; ++j) {
            const int row = j - tile::FIRST;
            p.x[j] = (T)p.z[j] + (beta != 0 ? beta * p.x[j] : T(0));
            if (row >= 0 && (owns >> row & 1) != 0) {
                to[row * t.apart] = p.x[j];
            }
        }
    }
    /* What the plane x gives to the rows before, in and behind it. */
    __device__ __forceinline__ void sums_of(const march_args<T> &a, const T (&x)[tile::LINES],
                                            march_sums<T> (&s)[RY])
    {
        T l[tile::LINES];
        T r[tile::LINES];
#pragma unroll
        for (int j = 0; j < tile::LINES; ++j) {
            l[j] = __shfl_up_sync(CMGI_ALL, x[j], 1);
            r[j] = __shfl_down_sync(CMGI_ALL, x[j], 1);
        }
#pragma unroll
        for (int j = 0; j < RY; ++j) {
            const int k = j + tile::FIRST;
            const int u = k - tile::FIRST; /* the lines before and behind, in 3D */
            const int o = k + tile::FIRST;
            if (EVEN) {
                s[j] = march_even<T, DIM>(a, x[k], l[k] + r[k], x[u] + x[o],
                                          (l[u] + r[u]) + (l[o] + r[o]));
            } else {
                const T v[9] = {l[u], x[u], r[u], l[k], x[k], r[k], l[o], x[o], r[o]};
                s[j] = march_any<T, DIM>(a, v);
            }
        }
    }
    __device__ __forceinline__ void step(const march_args<T> &a, const tile &t, int z, plane &p,
                                         const march_rows<T, RY> &w)
    {
        march_sums<T> sum[RY];
        if ((READS & MARCH_DIRECTION) != 0) {
            form(a, t, z, p);
        }
        sums_of(a, p.x, sum);
#pragma unroll
        for (int j = 0; j < RY; ++j) {
            dot += march_finish<T, KIND, READS, RY>(a, t, z, j, w, own[j], mid[j] + sum[j].v[0]);
            mid[j] = low[j] + sum[j].v[1];
            low[j] = sum[j].v[2];
            own[j] = p.x[j + tile::FIRST];
        }
    }
    template <int THREADS>
    __device__ __forceinline__ void run(const march_args<T> &a, const tile &t)
    {
        dot = 0;
#pragma unroll
        for (int j = 0; j < RY; ++j) {
            low[j] = mid[j] = own[j] = 0;
        }
#pragma unroll
        for (int u = 0; u < PF; ++u) {
            load(a, t, t.first - 1 + u, n[u], beside[u]);
        }
        if ((READS & MARCH_DIRECTION) != 0) { /* whose sums are added up meanwhile */
            beta = (T)beta_of<THREADS>(a.direction);
        }
        for (int z = t.first - 1; z <= t.end; z += PF + 1) {
#pragma unroll
            for (int u = 0; u < PF + 1 && z + u <= t.end; ++u) {
                const int next = (u + PF) % (PF + 1);
                load(a, t, z + u + PF, n[next], beside[next]);
                step(a, t, z + u, n[u], beside[u]);
            }
        }
    }
};

template <typename T, cmgi_wb_kind KIND, unsigned READS, int DIM, bool EVEN, int RY, int WARPS,
          int PF, int BLOCKS>
__global__ void __launch_bounds__(WARPS * 32, BLOCKS) march_kernel(const march_args<T> a)
{
    const int block = DIM == 3 ? (int)blockIdx.y : (int)blockIdx.x;
    const march_tile<DIM, RY> t(a, block * WARPS + (int)threadIdx.x / 32, (int)threadIdx.x % 32);
    cmgi_after_previous();
    march<T, KIND, READS, DIM, EVEN, RY, PF> m;
    m.template run<WARPS * 32>(a, t);
    if ((READS & MARCH_DIRECTION) != 0) { /* in registers that are free by now */
        note_before<WARPS * 32>(a.direction);
    }
    if ((READS & (MARCH_DOTS | MARCH_ROUNDED)) != 0) {
        march_leave<WARPS * 32>(a, m.dot);
    }
}

/* ------------------------------------------------------------------ launches */

/* Blocks across a plane, then chunks of planes. */
struct march_cut {
    dim3 grid;
    int chunk;
};

static inline int march_parts(int n, int each)
{
    return (n + each - 1) / each;
}

/*
 * Of a box of three dimensions, with `beside` lines a block: planes of a block, of which it reads
 * three beside them, are those that take least time if `resident` blocks a multiprocessor work at
 * once.
 */
static inline march_cut march_cut_of(const cmg_context *ctx, const int (&size)[3], int beside,
                                     int resident)
{
    enum { LEAST = 3, BESIDE = 3 };
    const int planes = size[2];
    const dim3 across((unsigned)march_parts(size[0], MARCH_OWN),
                      (unsigned)march_parts(size[1], beside));
    const long long blocks = (long long)across.x * across.y;
    const int at_once = resident * cmgi_device_of(ctx)->processors;
    int best = planes;
    long long least = LLONG_MAX;
    for (int parts = 1; parts <= march_parts(planes, LEAST); ++parts) {
        const int chunk = march_parts(planes, parts);
        const long long rounds = (blocks * parts + at_once - 1) / at_once;
        if (rounds * (chunk + BESIDE) < least) {
            least = rounds * (chunk + BESIDE);
            best = chunk;
        }
    }
    return march_cut{dim3(across.x, across.y, (unsigned)march_parts(planes, best)), best};
}

/* y = b - A x with parts of (y, y). */
static inline cmgi_wb_f64 march_residual(const double *b, double *dots)
{
    cmgi_writeback w = {};
    w.kind = CMGI_WB_RESIDUAL;
    w.b = b;
    w.dots = dots;
    w = cmgi_wb_reduce(&w);
    return cmgi_wb_cast_f64(&w);
}

/* run(reads) with what the write-back f reads, a constant. */
template <typename T, cmgi_wb_kind KIND, typename F>
static cmg_status march_reads(const typename cmgi_wb_of<T>::type &f, const T *x, const F &run)
{
    if constexpr (KIND == CMGI_WB_SCALED) {
        if constexpr (sizeof(T) == sizeof(double)) {
            if (f.dots != NULL) {
                return run(march_reading<MARCH_DOTS>());
            }
        }
        return run(march_reading<0>());
    } else if constexpr (KIND == CMGI_WB_SUM) {
        return f.d != NULL ? run(march_reading<MARCH_C | MARCH_D>())
                           : run(march_reading<MARCH_C>());
    } else {
        return f.c == x && f.d != NULL && f.e == NULL ? run(march_reading<MARCH_B | MARCH_D>())
                                                      : run(march_reading<MARCH_ANY>());
    }
}
