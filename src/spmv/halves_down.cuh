/* The down half (halves.cuh). */
#pragma once
#include "spmv/halves.cuh"

/* R r plane by plane: sums of a coarse plane over the three it reaches. */
template <int DIM, int R, bool RIM, typename T>
struct half_restriction {
    T sum[R / 2];

    /* r of plane p; writes a coarse plane when p is its last. */
    template <int N, typename A>
    __device__ __forceinline__ void add(const A &a, const half_tile<DIM, R> &t, int p,
                                        const T (&r)[N])
    {
        const T behind = DIM == 3 ? T(0) : __shfl_down_sync(CMGI_ALL, r[0], 1);
        T v[R / 2];
#pragma unroll
        for (int m = 0; m < R / 2; ++m) {
            const T after = 2 * m + 2 < N ? r[2 * m + 2 < N ? 2 * m + 2 : 0] : behind;
            v[m] = r[2 * m + 1] + T(0.5) * (r[2 * m] + after);
        }
        if (p % 2 != 0) {
#pragma unroll
            for (int m = 0; m < R / 2; ++m) {
                sum[m] += v[m];
            }
            return;
        }
        const int c = (p >> 1) - 1;
        const int plane = c * (DIM == 3 ? a.n[1] / 2 : 1);
        T *coarse = a.coarse.array(c);
        const bool writes = p > t.z0 && a.coarse.mine(c);
#pragma unroll
        for (int m = 0; m < R / 2; ++m) {
            T s = sum[m] + T(0.5) * v[m];
            if (DIM == 3) {
                s += T(0.5) * (__shfl_up_sync(CMGI_ALL, s, 1) + __shfl_down_sync(CMGI_ALL, s, 1));
            }
            sum[m] = T(0.5) * v[m];
            /* the centre: element 2 m + 1 of the owned ones, in 3D of a lane at an odd position */
            const int centre = 2 * m + (DIM == 3 ? 3 : 1);
            const bool mine = t.template owns<RIM>(centre) && (DIM == 2 || t.lane % 2 != 0);
            if (mine && writes) {
                const int cx = DIM == 3 ? t.x / 2 : t.x / 2 + m;
                const int cy = DIM == 3 ? plane + t.y / 2 + 1 + m : plane;
                coarse[cy * (a.n[0] / 2) + cx] = s;
            }
        }
    }
};

template <typename T, int DIM, int R, int PF, int STAGES, bool EVEN, bool RIM, bool MORE>
__device__ __forceinline__ void half_down(const half_args<T, MORE> &a, const half_tile<DIM, R> &t)
{
    enum { S = DIM == 3, N0 = R + 5 * S, N1 = R + 3 * S, N2 = R + S };
    half_stage<DIM, EVEN, N1, T> one;
    half_stage<DIM, EVEN, N2, T> two;
    half_restriction<DIM, R, RIM, T> restriction;
    T b2[N2] = {};
    T n[PF + 1][N0];
    T q[PF + 1][STAGES == 0 ? N1 : 1];
    const half_planes<const T, MORE> &x = STAGES == 0 ? a.x : a.b; /* what is multiplied first */
    enum { BEHIND = STAGES == 2 ? 2 : 1 };                         /* r is that of a plane before */
    const int begin = t.z0 - 2;
    const int last = t.z1 < t.high ? t.z1 : t.high - 1; /* plane of r */
    const int end = last + BEHIND + 1;
    /* of two stages x = alpha b - factor A b comes first, of one r, which has that form too */
    const T alpha = STAGES == 2 ? a.first : T(1);
    const T factor = STAGES == 2 ? a.second : a.first;
#pragma unroll
    for (int m = 0; m < R / 2; ++m) {
        restriction.sum[m] = 0;
    }
#pragma unroll
    for (int s = 0; s < PF; ++s) {
        half_load<RIM>(t, x, begin + s, 0, n[s]);
        if (STAGES == 0) {
            half_load<RIM>(t, a.b, begin - 1 + s, S, q[s]);
        }
    }
    for (int zz = begin; zz < end; zz += PF + 1) {
#pragma unroll
        for (int s = 0; s <= PF; ++s) {
            const int z = zz + s;
            const int ahead = (s + PF) % (PF + 1);
            half_load<RIM>(t, x, z + PF, 0, n[ahead]);
            if (STAGES == 0) {
                half_load<RIM>(t, a.b, z - 1 + PF, S, q[ahead]);
            }
            T sum[N1];
            T y[N1];
            T before[N1];
            one.add(a.value, n[s], sum, before);
            const T beta = t.in_planes(z - 1) ? factor : T(0);
#pragma unroll
            for (int j = 0; j < N1; ++j) {
                y[j] = STAGES == 0 ? q[s][STAGES == 0 ? j : 0] - sum[j]
                                   : alpha * before[j] - beta * sum[j];
                y[j] = t.template inside<RIM>(j + S) ? y[j] : T(0);
            }
            const int to = t.at + (z - 1) * t.plane + 2 * S * t.step;
            T *out = a.out.array(z - 1);
            const bool writes = STAGES > 0 && z > t.z0 && z <= t.z1 && a.out.mine(z - 1);
#pragma unroll
            for (int j = 0; j < R; ++j) {
                if (writes && t.template owns<RIM>(j + 2 * S)) {
                    out[to + j * t.step] = STAGES == 2 ? y[j + S] : a.first * before[j + S];
                }
            }
            T r[N2];
            if (STAGES == 2) {
                T unused[N2];
                two.add(a.value, y, r, unused);
#pragma unroll
                for (int j = 0; j < N2; ++j) {
                    r[j] = b2[j] - r[j];
                    b2[j] = before[j + S];
                }
            } else {
#pragma unroll
                for (int j = 0; j < N2; ++j) {
                    r[j] = y[j + S];
                }
            }
            if (z >= t.z0 + BEHIND && z < end) {
                restriction.add(a, t, z - BEHIND, r);
            }
        }
    }
}
