/* The down half (halves.cuh). */
#pragma once
#include "spmv/halves.cuh"

/* R r plane by plane: sums of a coarse plane over the three it reaches. */
template <int DIM, int R, bool RIM, typename T>
struct half_restriction {
    T sum[R / 2];

    /* r of plane p; writes a coarse plane when p is its last. */
    template <int N>
    __device__ __forceinline__ void add(const half_args<T> &a, const half_tile<DIM, R> &t, int p,
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
        const long long plane = (long long)(p / 2 - 1) * (DIM == 3 ? a.n[1] / 2 : 1);
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
            if (mine && p > t.z0) {
                const int cx = DIM == 3 ? t.x / 2 : t.x / 2 + m;
                const long long cy = DIM == 3 ? plane + t.y / 2 + 1 + m : plane;
                a.coarse[cy * (a.n[0] / 2) + cx] = s;
            }
        }
    }
};

template <typename T, int DIM, int R, int PF, int STAGES, bool EVEN, bool RIM>
__device__ __forceinline__ void half_down(const half_args<T> &a, const half_tile<DIM, R> &t)
{
    enum { S = DIM == 3, N0 = R + 5 * S, N1 = R + 3 * S, N2 = R + S };
    half_stage<DIM, EVEN, N1, T> one;
    half_stage<DIM, EVEN, N2, T> two;
    half_restriction<DIM, R, RIM, T> restriction;
    T b2[N2] = {};
    T n[PF + 1][N0];
    const int begin = t.z0 - 2;
    const int last = t.z1 < t.planes ? t.z1 : t.planes - 1; /* plane of r */
    const int end = last + STAGES + 1;
    const T *b = a.b + t.at + (long long)begin * t.plane;
    T *out = a.out + t.at + (long long)(begin - 1) * t.plane;
    /* of two stages x = alpha b - factor A b comes first, of one r, which has that form too */
    const T alpha = STAGES == 2 ? a.first : T(1);
    const T factor = STAGES == 2 ? a.second : a.first;
#pragma unroll
    for (int m = 0; m < R / 2; ++m) {
        restriction.sum[m] = 0;
    }
#pragma unroll
    for (int s = 0; s < PF; ++s) {
        half_load<RIM>(t, b + (long long)s * t.plane, begin + s, 0, n[s]);
    }
    for (int zz = begin; zz < end; zz += PF + 1) {
#pragma unroll
        for (int s = 0; s <= PF; ++s) {
            const int z = zz + s;
            if (z >= end) {
                break;
            }
            half_load<RIM>(t, b + (long long)PF * t.plane, z + PF, 0, n[(s + PF) % (PF + 1)]);
            T sum[N1];
            T y[N1];
            T before[N1];
            one.add(a.value, n[s], sum, before);
            const T beta = t.in_planes(z - 1) ? factor : T(0);
#pragma unroll
            for (int j = 0; j < N1; ++j) {
                y[j] = alpha * before[j] - beta * sum[j];
                y[j] = t.template inside<RIM>(j + S) ? y[j] : T(0);
            }
#pragma unroll
            for (int j = 0; j < R; ++j) {
                if (z > t.z0 && z <= t.z1 && t.template owns<RIM>(j + 2 * S)) {
                    out[(long long)(j + 2 * S) * t.step] =
                        STAGES == 2 ? y[j + S] : a.first * before[j + S];
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
            if (z >= t.z0 + STAGES) {
                restriction.add(a, t, z - STAGES, r);
            }
            b += t.plane;
            out += t.plane;
        }
    }
}

template <typename T, int DIM, int R, int PF, int STAGES, bool EVEN, int BLOCKS>
__global__ void __launch_bounds__(HALF_THREADS, BLOCKS)
    half_down_kernel(const __grid_constant__ half_args<T> a)
{
    enum { OWN = DIM == 3 ? 26 : 32 * R - 6, N0 = DIM == 3 ? R + 5 : R };
    const half_tile<DIM, R> t(a, N0, OWN);
    if (t.none()) {
        return;
    }
    if (t.inner) {
        half_down<T, DIM, R, PF, STAGES, EVEN, false>(a, t);
    } else {
        half_down<T, DIM, R, PF, STAGES, EVEN, true>(a, t);
    }
}
