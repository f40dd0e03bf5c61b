/*
 * Halves of a cycle (halves.h) on a box of few rows, where a march along all planes would be a
 * chain of waits: a block has a tile of coarse positions, in shared memory with the rim that its
 * stages need. A thread has the planes above a position, or some of them, so that each value that
 * it reads serves three sums.
 *
 * Cost  in 3D and two stages a tile of 11 x 4 x 3 reads 27 x 13 x 11 (down) or 26 x 12 x 10 (up)
 *       entries for the 22 x 8 x 6 it owns, and computes the first stage for 25 x 11 x 9 or
 *       24 x 10 x 8 of them.
 */
#pragma once
#include "spmv/halves.cuh"

/*
 * Coarse positions of a block, in 2D X and Z of them, its threads, and blocks of fp32 that have to
 * fit on a multiprocessor. With LINES a warp has one line and its lanes never read one bank twice;
 * else neighbouring threads have all positions of a plane, and none is without.
 */
template <int D, int X, int Y, int Z, int ALL, int RESIDENT, bool WARPS>
struct half_cut {
    enum { DIM = D, C0 = X, C1 = Y, C2 = Z, THREADS = ALL, BLOCKS = RESIDENT, LINES = WARPS };
};

struct half_position {
    int x;
    int y;
    int z;
};

/* Positions 0 .. X - 1, ... of a tile, and LOW before and HIGH after them, in 2D not along y. */
template <typename CUT, int X, int Y, int Z, int BEFORE, int HIGH, bool PAIRS>
struct half_region {
    static constexpr bool FLAT = CUT::DIM == 2;
    static constexpr int LOW = BEFORE;
    static constexpr int LOWY = FLAT ? 0 : LOW;
    static constexpr int LX = X + LOW + HIGH;
    static constexpr int LY = FLAT ? 1 : Y + LOW + HIGH;
    static constexpr int LZ = Z + LOW + HIGH;
    static constexpr int PLANE = LX * LY;
    /* threads for a line, and for a column at most; each has LONG planes, where PAIRS are asked for
     * an even number of them, and the last ones may lie behind the region */
    static constexpr int WIDTH = CUT::LINES ? (int)CMGI_WARP : LX;
    static constexpr int MOST = CUT::THREADS / (WIDTH * LY);
    static constexpr int SHARE = (LZ + MOST - 1) / MOST;
    static constexpr int LONG = PAIRS ? SHARE + SHARE % 2 : SHARE;
    static constexpr int PARTS = (LZ + LONG - 1) / LONG;
    /* entries of an array, with those that the last threads read behind it */
    static constexpr int ALL = PLANE * (PARTS * LONG + 2);
    static_assert(LX <= WIDTH && MOST > 0, "a plane has a thread for each position");

    /* The first position of this thread. */
    static __device__ __forceinline__ half_position position()
    {
        const int line = (int)threadIdx.x / WIDTH;
        return {(int)threadIdx.x - line * WIDTH - LOW, line % LY - LOWY, line / LY * LONG - LOW};
    }
    /* Whether it has any. */
    static __device__ __forceinline__ bool works()
    {
        return (int)threadIdx.x < PARTS * LY * WIDTH &&
               (LX == WIDTH || (int)threadIdx.x % WIDTH < LX);
    }
    static __device__ __forceinline__ int place(const half_position &p)
    {
        return ((p.z + LOW) * LY + p.y + LOWY) * LX + p.x + LOW;
    }
};

template <typename CUT, int LOW, int HIGH, bool PAIRS = false>
using half_fine_region = half_region<CUT, 2 * CUT::C0, 2 * CUT::C1, 2 * CUT::C2, LOW, HIGH, PAIRS>;
template <typename CUT, int LOW, int HIGH>
using half_coarse_region = half_region<CUT, CUT::C0, CUT::C1, CUT::C2, LOW, HIGH, false>;

/* Where a tile lies in its box, and the column of a thread in that. */
struct half_column {
    int n[3];
    half_position at;
    half_position p;
    int row;
    int plane;
    bool inside;

    template <typename CUT, typename A>
    __device__ __forceinline__ half_column(const CUT &, const A &a, bool coarse)
    {
        const bool flat = CUT::DIM == 2;
        const int m[3] = {a.n[0], flat ? 1 : a.n[1], flat ? a.n[1] : a.n[2]};
        for (int k = 0; k < 3; ++k) {
            n[k] = coarse && !(flat && k == 1) ? m[k] / 2 : m[k];
        }
        const int size = coarse ? 1 : 2;
        at = {size * CUT::C0 * (int)blockIdx.x, flat ? 0 : size * CUT::C1 * (int)blockIdx.y,
              size * CUT::C2 * (int)blockIdx.z};
        plane = n[0] * n[1];
    }
    __device__ __forceinline__ void go(const half_position &to)
    {
        p = to;
        row = (at.z + p.z) * plane + (at.y + p.y) * n[0] + at.x + p.x;
        inside = (unsigned)(at.x + p.x) < (unsigned)n[0] && (unsigned)(at.y + p.y) < (unsigned)n[1];
    }
    /* of the l-th position */
    __device__ __forceinline__ bool in(int l) const
    {
        return inside && (unsigned)(at.z + p.z + l) < (unsigned)n[2];
    }
    template <int N, typename T>
    __device__ __forceinline__ void load(const T *vector, T (&v)[N]) const
    {
#pragma unroll
        for (int l = 0; l < N; ++l) {
            v[l] = vector != NULL && in(l) ? __ldg(vector + (row + l * plane)) : T(0);
        }
    }
};

template <int N, typename T>
__device__ __forceinline__ void half_put(T *to, int step, const T (&v)[N])
{
#pragma unroll
    for (int l = 0; l < N; ++l) {
        to[l * step] = v[l];
    }
}

/* s = A v at the N positions of a part of region TO, and v itself there; `v` points to the first of
 * them in an array of region FROM. */
template <bool EVEN, typename FROM, typename TO, int N, typename T>
__device__ __forceinline__ void half_column_sums(const T *value, const T *v, T (&s)[N], T (&own)[N])
{
    enum { LINES = FROM::FLAT ? 1 : 3, DIM = FROM::FLAT ? 2 : 3 };
    static_assert((TO::PARTS * N + 1 + FROM::LOW - TO::LOW) * FROM::PLANE <= FROM::ALL,
                  "the last part reads behind the array");
#pragma unroll
    for (int l = 0; l < N; ++l) {
        s[l] = 0;
    }
#pragma unroll
    for (int k = -1; k <= N; ++k) {
        T c[LINES];
        T left[LINES];
        T right[LINES];
        T low;
        T up;
        T unused = 0;
#pragma unroll
        for (int j = 0; j < LINES; ++j) {
            const T *at = v + (k * FROM::PLANE + (j - LINES / 2) * FROM::LX);
            c[j] = at[0];
            left[j] = EVEN ? at[-1] + at[1] : at[-1];
            right[j] = at[1];
        }
        half_sums<DIM, EVEN>(value, c, left, right, 0, low,
                             k >= 0 && k < N ? s[k >= 0 && k < N ? k : 0] : unused, up);
        if (k > 0) {
            s[k > 0 ? k - 1 : 0] += up;
        }
        if (k + 1 < N) {
            s[k + 1 < N ? k + 1 : 0] += low;
        }
        if (k >= 0 && k < N) {
            own[k >= 0 && k < N ? k : 0] = c[LINES / 2];
        }
    }
}

template <typename T, int STAGES, bool EVEN, typename CUT>
__device__ __forceinline__ void half_tile_down(const half_args<T, false> &a)
{
    typedef half_fine_region<CUT, STAGES, STAGES + 1> of_b;
    typedef half_fine_region<CUT, 1, 2> of_x;
    typedef half_fine_region<CUT, 0, 1> of_r;
    __shared__ T b[of_b::ALL];
    __shared__ T x[of_x::ALL];
    __shared__ T r[of_r::ALL];
    half_column fine(CUT(), a, false);
    half_column coarse(CUT(), a, true);
    fine.go(of_b::position());
    cmgi_after_previous();
    if (of_b::works()) {
        T v[of_b::LONG];
        fine.load(a.b.own, v);
        half_put(b + of_b::place(fine.p), of_b::PLANE, v);
    }
    T v[of_x::LONG];
    if (STAGES == 0 && of_x::works()) {
        fine.go(of_x::position());
        fine.load(a.x.own, v);
    }
    __syncthreads();
    if (of_x::works()) {
        fine.go(of_x::position());
        if constexpr (STAGES == 2) {
            T s[of_x::LONG];
            half_column_sums<EVEN, of_b, of_x>(a.value, b + of_b::place(fine.p), s, v);
#pragma unroll
            for (int l = 0; l < of_x::LONG; ++l) {
                v[l] = fine.in(l) ? a.first * v[l] - a.second * s[l] : T(0);
            }
        } else if constexpr (STAGES == 1) {
#pragma unroll
            for (int l = 0; l < of_x::LONG; ++l) {
                v[l] = a.first * b[of_b::place(fine.p) + l * of_b::PLANE];
            }
        }
        half_put(x + of_x::place(fine.p), of_x::PLANE, v);
        /* the last position of a box belongs to the last tile */
        const auto mine = [](int k, int own, int at, int n) {
            return k >= 0 && (k < own || (k == own && at + k == n - 1));
        };
        const bool column = STAGES > 0 && mine(fine.p.x, 2 * CUT::C0, fine.at.x, fine.n[0]) &&
                            mine(fine.p.y, 2 * CUT::C1, fine.at.y, fine.n[1]);
#pragma unroll
        for (int l = 0; l < of_x::LONG; ++l) {
            if (column && fine.in(l) && mine(fine.p.z + l, 2 * CUT::C2, fine.at.z, fine.n[2])) {
                a.out.own[fine.row + l * fine.plane] = v[l];
            }
        }
    }
    __syncthreads();
    if (of_r::works()) {
        T s[of_r::LONG];
        T unused[of_r::LONG];
        const half_position p = of_r::position();
        half_column_sums<EVEN, of_x, of_r>(a.value, x + of_x::place(p), s, unused);
#pragma unroll
        for (int l = 0; l < of_r::LONG; ++l) {
            s[l] = b[of_b::place(p) + l * of_b::PLANE] - s[l];
        }
        half_put(r + of_r::place(p), of_r::PLANE, s);
    }
    __syncthreads();
    static_assert(CUT::C0 * CUT::C1 * CUT::C2 <= CUT::THREADS, "one a thread");
    const int c = (int)threadIdx.x;
    if (c < CUT::C0 * CUT::C1 * CUT::C2) {
        const half_position p = {c % CUT::C0, c / CUT::C0 % CUT::C1, c / (CUT::C0 * CUT::C1)};
        const T *at = r + of_r::place({2 * p.x + 1, of_r::FLAT ? 0 : 2 * p.y + 1, 2 * p.z + 1});
        T sum = 0;
#pragma unroll
        for (int n = 0; n < (of_r::FLAT ? 9 : 27); ++n) {
            const int dx = n % 3 - 1;
            const int dz = n / 3 % 3 - 1;
            const int dy = of_r::FLAT ? 0 : n / 9 - 1;
            sum += T(1) / T(1 << ((dx != 0) + (dy != 0) + (dz != 0))) *
                   at[dz * of_r::PLANE + dy * of_r::LX + dx];
        }
        coarse.go(p);
        if (coarse.in(0)) {
            a.coarse.own[coarse.row] = sum;
        }
    }
}

/* v += P e at N positions of a column, the first of which is as even as START; an array of region
 * FROM. */
template <int START, typename FROM, typename TO, int N, typename T>
__device__ __forceinline__ void half_column_interpolate(const T *e, const half_position &p,
                                                        T (&v)[N])
{
    enum { LINES = FROM::FLAT ? 1 : 2, FIRST = START % 2 == 0 ? 1 : 0 };
    static_assert((TO::PARTS * N / 2 + 1) * FROM::PLANE <= FROM::ALL, "as above");
    const int left = p.x % 2 == 0 ? 1 : 0;
    const int before = !FROM::FLAT && p.y % 2 == 0 ? FROM::LX : 0;
    const T *at = e + FROM::place({p.x >> 1, p.y >> 1, (p.z >> 1) - FIRST});
    T q[(N + 1) / 2 + 1];
#pragma unroll
    for (int k = 0; k < (N + 1) / 2 + 1; ++k) {
        const T *line = at + k * FROM::PLANE;
        q[k] = T(0.5) * (line[0] + line[-left]);
        if (LINES == 2) {
            q[k] = T(0.5) * (q[k] + T(0.5) * (line[-before] + line[-before - left]));
        }
    }
#pragma unroll
    for (int l = 0; l < N; ++l) {
        const int k = (l + FIRST) / 2; /* the coarse position there or before it */
        v[l] += (START + l) % 2 == 0 ? T(0.5) * (q[k] + q[k + 1]) : q[k];
    }
}

template <typename T, int STAGES, bool EVEN, bool STEP, typename CUT>
__device__ __forceinline__ void half_tile_up(const half_args<T, false> &a)
{
    typedef half_coarse_region<CUT, STAGES, 1> of_e;
    typedef half_fine_region<CUT, STAGES, STAGES, true> of_y;
    typedef half_fine_region<CUT, STAGES - 1, STAGES - 1> of_z; /* after the first stage */
    typedef half_fine_region<CUT, 0, 0> of_own;
    __shared__ T e[of_e::ALL];
    __shared__ T y[of_y::ALL];
    __shared__ T z[STAGES == 2 ? of_z::ALL : 1];
    T x[of_y::LONG];
    T b[of_z::LONG];
    T b2[of_own::LONG];
    double dot = 0;
    half_column fine(CUT(), a, false);
    half_column coarse(CUT(), a, true);
    coarse.go(of_e::position());
    cmgi_after_previous();
    if (STEP && !a.stop->running) {
        return;
    }
    std::conditional_t<STEP, semi_step<T>, half_none> step(a.semi);
    /* all loads are on their way before the first is waited for */
    if (of_e::works()) {
        T v[of_e::LONG];
        coarse.load(a.e.own, v);
        half_put(e + of_e::place(coarse.p), of_e::PLANE, v);
    }
    fine.go(of_y::position());
    fine.load(a.x.own, x);
    fine.go(of_z::position());
    fine.load(a.b.own, b);
    if (STAGES == 2) {
        fine.go(of_own::position());
        fine.load(a.b.own, b2);
    }
    __syncthreads();
    if (of_y::works()) {
        fine.go(of_y::position());
        half_column_interpolate<STAGES, of_e, of_y>(e, fine.p, x);
#pragma unroll
        for (int l = 0; l < of_y::LONG; ++l) {
            x[l] = fine.in(l) ? x[l] : T(0);
        }
        half_put(y + of_y::place(fine.p), of_y::PLANE, x);
    }
    __syncthreads();
    const auto stage = [&](auto from, auto to, const T *array, T omega, const T *rhs, auto after) {
        typedef decltype(to) of_to;
        T s[of_to::LONG];
        T v[of_to::LONG];
        fine.go(of_to::position());
        half_column_sums<EVEN, decltype(from), of_to>(a.value, array + from.place(fine.p), s, v);
#pragma unroll
        for (int l = 0; l < of_to::LONG; ++l) {
            after(l, v[l] + omega * (rhs[l] - s[l]), rhs[l]);
        }
    };
    T d[STEP ? of_own::LONG : 1] = {};
    double sum[STEP ? of_own::LONG : 1] = {};
    const auto leave = [&](int l, T v, T rhs) {
        const int i = fine.row + l * fine.plane;
        if (!fine.in(l) || fine.p.z + l >= 2 * CUT::C2) {
            return;
        }
        if constexpr (STEP) {
            v = step.direction(v, d[l]);
            a.sum[i] = sum[l] + (double)v;
        }
        a.out.own[i] = v;
        dot += (double)v * (double)rhs;
    };
    if (of_z::works()) {
        if constexpr (STAGES == 2) {
            T *to = z + of_z::place(of_z::position());
            stage(of_y(), of_z(), y, a.first, b,
                  [&](int l, T v, T) { to[l * of_z::PLANE] = fine.in(l) ? v : T(0); });
        } else {
            stage(of_y(), of_z(), y, a.first, b, leave);
        }
    }
    if constexpr (STAGES == 2) {
        if constexpr (STEP) {
            fine.go(of_own::position());
            fine.load(step.momentum != 0 ? a.out.own : NULL, d);
            fine.load(a.fresh ? NULL : a.sum, sum);
        }
        __syncthreads();
        if (of_own::works()) {
            stage(of_z(), of_own(), z, a.second, b2, leave);
        }
    }
    if (a.dots != NULL) {
        dot = cmgi_block_sum<CUT::THREADS>(dot);
        if (threadIdx.x == 0) {
            a.dots[(blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x] = dot;
        }
    }
}

template <typename T, int STAGES, bool UP, bool EVEN, bool STEP, typename CUT>
__global__ void __launch_bounds__(CUT::THREADS, CUT::BLOCKS * sizeof(float) / sizeof(T))
    half_tile_kernel(const __grid_constant__ half_args<T, false> a)
{
    if (!UP && a.squares.count > 0 && blockIdx.z == gridDim.z - 1) {
        if (blockIdx.x == 0 && blockIdx.y == 0) {
            cmgi_after_previous();
            with_whole<CUT::THREADS>(a.squares,
                                     [&](double rr) { cmgi_semi_note(a.semi, a.stop, rr); });
        }
        return;
    }
    if constexpr (UP) {
        half_tile_up<T, STAGES, EVEN, STEP, CUT>(a);
    } else {
        half_tile_down<T, STAGES, EVEN, CUT>(a);
    }
}
