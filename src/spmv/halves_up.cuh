/* The up half (halves.cuh), and the step of semi-iteration behind it. */
#pragma once
#include "spmv/halves.cuh"

/* P e plane by plane: two planes of e, interpolated in the direction of lanes, are kept. */
template <int DIM, int R, bool RIM, typename T, bool MORE>
struct half_prolongation {
    enum { N = R / 2 + (DIM == 3 ? 3 : 1) };
    T below[N];
    T above[N];
    T next[N];
    const half_planes<const T, MORE> &e;
    int at; /* of the plane after `next` */
    int plane;
    int step;
    int z; /* its number */
    unsigned in;

    /* Before plane z of the box, which is even. */
    __device__ __forceinline__ half_prolongation(const half_args<T, MORE> &a,
                                                 const half_tile<DIM, R> &t, int first)
        : e(a.e)
    {
        const int c0 = a.n[0] / 2;
        const int c1 = DIM == 3 ? a.n[1] / 2 : 1;
        const int x = DIM == 3 ? (t.x - 1) >> 1 : (t.x >> 1) - 1;
        const int y = DIM == 3 ? (t.y >> 1) - 1 : 0;
        step = DIM == 3 ? c0 : 1;
        plane = DIM == 3 ? c0 * c1 : c0;
        in = 0;
#pragma unroll
        for (int k = 0; k < N; ++k) {
            const int kx = DIM == 3 ? x : x + k;
            const int ky = DIM == 3 ? y + k : 0;
            in |= kx >= 0 && kx < c0 && ky >= 0 && ky < c1 ? 1U << k : 0U;
        }
        z = (first >> 1) - 1;
        at = z * plane + y * step + x;
        fetch(next);
        turn(t);
    }
    __device__ __forceinline__ void fetch(T (&v)[N])
    {
        const bool inside = e.there(z);
        const T *array = e.array(z);
#pragma unroll
        for (int k = 0; k < N; ++k) {
            const bool there = RIM ? inside && (in >> k & 1U) != 0 : inside;
            v[k] = there ? __ldg(array + (at + k * step)) : T(0);
        }
        ++z;
        at += plane;
    }
    __device__ __forceinline__ void turn(const half_tile<DIM, R> &t)
    {
#pragma unroll
        for (int k = 0; k < N; ++k) {
            below[k] = above[k];
            const T right = DIM == 3 ? __shfl_down_sync(CMGI_ALL, next[k], 1) : T(0);
            above[k] = DIM == 3 && t.lane % 2 == 0 ? T(0.5) * (next[k] + right) : next[k];
        }
        fetch(next);
    }
    /* c += P e at plane p. */
    template <int M>
    __device__ __forceinline__ void add(const half_tile<DIM, R> &t, int p, T (&c)[M])
    {
        T v[N];
        if (p % 2 == 0) {
            turn(t);
#pragma unroll
            for (int k = 0; k < N; ++k) {
                v[k] = T(0.5) * (below[k] + above[k]);
            }
        } else {
#pragma unroll
            for (int k = 0; k < N; ++k) {
                v[k] = above[k];
            }
        }
#pragma unroll
        for (int j = 0; j < M; ++j) {
            c[j] += j % 2 == 0 ? T(0.5) * (v[j / 2] + v[j / 2 + 1]) : v[(j + 1) / 2];
        }
    }
};

/*
 * The step of semi-iteration behind an up half. d and x of planes to come are on their way into
 * shared memory, as registers are short: each lane has a place for those of its R elements on
 * each of the TURNS planes under way.
 */
template <typename T, int R>
struct half_step : semi_step<T> {
    enum { AHEAD = 3, TURNS = AHEAD + 1 };
    struct place {
        double sum[TURNS][R][HALF_THREADS];
        T d[TURNS][R][HALF_THREADS];
    };
    const half_args<T, false> &a;
    int turn;

    __device__ __forceinline__ explicit half_step(const half_args<T, false> &args)
        : semi_step<T>(args.semi), a(args), turn(0)
    {
    }
    static __device__ __forceinline__ place &here()
    {
        __shared__ place all;
        return all;
    }
    /* Entry i is wanted AHEAD turns later as element j. */
    __device__ __forceinline__ void fetch(int j, int i)
    {
        if (!a.fresh) {
            cmgi_fetch(&here().sum[turn][j][threadIdx.x], a.sum + i);
        }
        if (this->momentum != 0) {
            cmgi_fetch(&here().d[turn][j][threadIdx.x], a.out.own + i);
        }
    }
    __device__ __forceinline__ void next()
    {
        cmgi_fetched();
        turn = (turn + 1) % TURNS;
    }
    /* From z of entry i, which is element j. */
    __device__ __forceinline__ void take(int j, int i, T z)
    {
        const T d = this->direction(z, here().d[turn][j][threadIdx.x]);
        a.out.own[i] = d;
        a.sum[i] = (a.fresh ? 0 : here().sum[turn][j][threadIdx.x]) + (double)d;
    }
};

/* STEP: of one rank, two stages. */
template <typename T, int DIM, int R, int PF, int STAGES, bool EVEN, bool STEP, bool RIM, bool MORE>
__device__ __forceinline__ void half_up(const half_args<T, MORE> &a, const half_tile<DIM, R> &t)
{
    enum { S = DIM == 3, N0 = R + 4 * S, N1 = R + 2 * S };
    std::conditional_t<STEP, half_step<T, R>, half_none> step(a);
    half_stage<DIM, EVEN, N1, T> one;
    half_stage<DIM, EVEN, R, T> two;
    T b2[R] = {};
    T n[PF + 1][N0];
    T q[PF + 1][N1];
    const int begin = t.z0 - 2;
    const int end = t.z1 + STAGES;
    half_prolongation<DIM, R, RIM, T, MORE> P(a, t, begin);
#pragma unroll
    for (int s = 0; s < PF; ++s) {
        half_load<RIM>(t, a.x, begin + s, 0, n[s]);
        half_load<RIM>(t, a.b, begin - 1 + s, S, q[s]);
    }
    for (int zz = begin; zz < end; zz += PF + 1) {
#pragma unroll
        for (int s = 0; s <= PF; ++s) {
            const int z = zz + s;
            const int ahead = (s + PF) % (PF + 1);
            half_load<RIM>(t, a.x, z + PF, 0, n[ahead]);
            half_load<RIM>(t, a.b, z - 1 + PF, S, q[ahead]);
            if constexpr (STEP) {
                const int later = z - STAGES + half_step<T, R>::AHEAD;
#pragma unroll
                for (int j = 0; j < R; ++j) {
                    if (later >= t.z0 && later < t.z1 && t.template owns<RIM>(j + 2 * S)) {
                        step.fetch(j, t.at + later * t.plane + (j + 2 * S) * t.step);
                    }
                }
                step.next();
            }
            P.add(t, z, n[s]);
            T sum[N1];
            T y[N1];
            one.add(a.value, n[s], sum, y);
            const T omega = t.in_planes(z - 1) ? a.first : T(0);
#pragma unroll
            for (int j = 0; j < N1; ++j) {
                y[j] += omega * (q[s][j] - sum[j]);
                y[j] = t.template inside<RIM>(j + S) ? y[j] : T(0);
            }
            T result[R];
            if (STAGES == 2) {
                T sum2[R];
                two.add(a.value, y, sum2, result);
#pragma unroll
                for (int j = 0; j < R; ++j) {
                    result[j] += a.second * (b2[j] - sum2[j]);
                }
            }
            const int to = t.at + (z - STAGES) * t.plane + 2 * S * t.step;
            T *out = a.out.array(z - STAGES);
            const bool writes = z >= t.z0 + STAGES && z < end && a.out.mine(z - STAGES);
            if constexpr (STEP) {
                cmgi_await_fetched<half_step<T, R>::AHEAD>();
            }
#pragma unroll
            for (int j = 0; j < R; ++j) {
                if (writes && t.template owns<RIM>(j + 2 * S)) {
                    if constexpr (STEP) {
                        step.take(j, to + j * t.step, result[j]);
                    } else {
                        out[to + j * t.step] = STAGES == 2 ? result[j] : y[j + S];
                    }
                }
                b2[j] = q[s][j + S];
            }
        }
    }
}
