/*
 * One row of SPAI on the device: the least squares problem of spai.h in the memory of one block, by
 * Householder QR without pivoting, as spai_rows.c does it.
 *
 * The equations are numbered in the order in which the rows A(p,:), p in J, meet them, so that
 * column p of the local matrix ends at the last equation met so far: L is a staircase, stays one
 * under the reflections, and is stored and reflected only down to its steps. On the pattern of a 3D
 * Q1 matrix that leaves 57 % of the operations and 70 % of the memory of the full 125 x 27.
 *
 *     column p: met[p] equations at L[start[p]], zeros up to the next column
 *     column n: e_i, then Q^T e_i
 *
 * Eight lanes work on a column and a warp on four columns at a time, so that three exchanges make
 * four scalar products. Columns begin 8 doubles apart modulo 16: the two columns that half a warp
 * reads lie in different banks.
 *
 * Source  Golub and Van Loan, Matrix Computations, 4th ed. 2013, algorithms 5.1.1 and 5.3.2.
 */
#pragma once
#include "smoothers/spai.cuh"
#include "smoothers/spai_numbering.cuh"

#include <float.h>

enum { LANES = 8, GROUPS = CMGI_WARP / LANES, WARPS = 2 };

typedef struct problem {
    int m; /* equations */
    int n; /* unknowns */
    double *L;
    double *diagonal; /* n, of R */
    int *start;       /* n + 1 */
    int *met;         /* n + 1 */
    int *count;       /* m, stored entries of each equation; NULL: not wanted */
    table t;
} problem;

__device__ __forceinline__ problem carve(char *space, int m, int n, bool counted)
{
    problem P;
    P.m = m;
    P.n = n;
    P.L = (double *)(space + before_matrix(m, n, counted));
    P.diagonal = (double *)space;
    P.start = (int *)(P.diagonal + n);
    P.met = P.start + n + 1;
    P.t.slots = slots_of(m);
    P.t.shift = 32 - log2_of(P.t.slots);
    P.t.limit = P.t.slots;
    P.count = counted ? P.met + n + 1 : NULL;
    P.t.keys = P.met + n + 1 + (counted ? m : 0);
    P.t.number = (unsigned short *)(P.t.keys + P.t.slots);
    return P;
}

/* Column p of L at `start`: a row of A, the first 32 entries of which the lanes hold already. */
__device__ __forceinline__ void fill_column(const cmgi_device_csr &A, const problem &P, int lane,
                                            double *start, cmg_size i, cmg_size begin, int length,
                                            cmg_index column, double value, int *met)
{
    const int at = meet(P.t, lane, column, met);
#pragma unroll 1
    for (int e = CMGI_WARP; e < length; e += CMGI_WARP) {
        (void)meet(P.t, lane, e + lane < length ? A.indices[begin + e + lane] : -1, met);
    }
    double2 *pairs = (double2 *)start;
    const int room = room_of(*met) / 2;
#pragma unroll 1
    for (int r = lane; r < room; r += CMGI_WARP) {
        pairs[r] = make_double2(0, 0);
    }
    __syncwarp();
    if (at >= 0) {
        start[at] = value;
    }
    if (length > CMGI_WARP || P.count != NULL) {
#pragma unroll 1
        for (int e = lane; e < length; e += CMGI_WARP) {
            const int r = P.t.number[slot_of(P.t, A.indices[begin + e])];
            start[r] = cmgi_value_at(A, i, A.indices[begin + e], begin + e);
            if (P.count != NULL) {
                ++P.count[r];
            }
        }
    }
}

/* Column n of L: e_i, 0 where no row meets i. */
__device__ __forceinline__ void fill_right_side(const problem &P, int lane, cmg_size i, int start)
{
    for (int r = lane; r < room_of(P.m); r += CMGI_WARP) {
        P.L[start + r] = 0;
    }
    __syncwarp();
    if (lane == 0) {
        const int s = slot_of(P.t, (cmg_index)i);
        P.start[P.n] = start;
        P.met[P.n] = P.m;
        if (P.t.keys[s] != -1) {
            P.L[start + P.t.number[s]] = 1;
        }
    }
    __syncwarp();
}

/* All columns of L; the next row of A is on its way while one is filled in. Until column k is
 * reflected, diagonal[k] has its squared norm. */
__device__ __forceinline__ void fill(const cmgi_device_csr &A, const double *norm2,
                                     const cmg_index *J, cmg_size i, const problem &P, int lane)
{
    int met = 0;
    int start = 0;
    clear(P.t, lane);
    for (int r = lane; r < P.m && P.count != NULL; r += CMGI_WARP) {
        P.count[r] = 0;
    }
    for (int p0 = 0; p0 < P.n; p0 += CMGI_WARP) {
        const bool there = p0 + lane < P.n;
        const cmg_index j = there ? J[p0 + lane] : 0;
        const cmg_size begin = A.indptr[j];
        if (there) {
            P.diagonal[p0 + lane] = norm2[j];
        }
        const int length = there ? (int)(A.indptr[j + 1] - begin) : 0;
        cmg_size b = __shfl_sync(CMGI_ALL, begin, 0);
        int l = __shfl_sync(CMGI_ALL, length, 0);
        cmg_index column = lane < l ? A.indices[b + lane] : -1;
        double value = lane < l ? cmgi_value_at(A, J[p0], column, b + lane) : 0;
#pragma unroll 1
        for (int q = 0; q < CMGI_WARP && p0 + q < P.n; ++q) {
            const cmg_size next = __shfl_sync(CMGI_ALL, begin, (q + 1) % CMGI_WARP);
            const int next_length =
                q + 1 < CMGI_WARP ? __shfl_sync(CMGI_ALL, length, (q + 1) % CMGI_WARP) : 0;
            const cmg_index next_column = lane < next_length ? A.indices[next + lane] : -1;
            const double next_value =
                lane < next_length ? cmgi_value_at(A, J[p0 + q + 1], next_column, next + lane) : 0;
            fill_column(A, P, lane, P.L + start, J[p0 + q], b, l, column, value, &met);
            if (lane == 0) {
                P.start[p0 + q] = start;
                P.met[p0 + q] = met;
            }
            start += room_of(met);
            b = next;
            l = next_length;
            column = next_column;
            value = next_value;
        }
    }
    fill_right_side(P, lane, i, start);
}

/* Every equation times the square root of its number of entries. */
__device__ __forceinline__ void weigh(const problem &P, int lane)
{
    for (int p = 0; p <= P.n; ++p) {
        for (int r = lane; r < P.met[p]; r += CMGI_WARP) {
            P.L[P.start[p] + r] *= sqrt((double)P.count[r]);
        }
    }
    __syncwarp();
}

/* Columns are dealt to the warps of a row by fours. */
__device__ __forceinline__ int first_column()
{
    return (int)threadIdx.x / CMGI_WARP * GROUPS;
}

/* The equations of column k from `row` on are to become r e_1 by a reflection v. */
typedef struct reflector {
    double r;     /* 0: the column depends on earlier ones, nothing is reflected */
    double scale; /* 2 / v^T v */
} reflector;

/* From the squared norms of the column, and of it from `row` on: what is left of a dependent column
 * is rounding. */
__device__ __forceinline__ reflector make_reflector(double all2, double norm2, double x1,
                                                    double tolerance)
{
    reflector h = {0, 0};
    if (norm2 > tolerance * tolerance * all2) {
        const double norm = sqrt(norm2);
        h.r = x1 > 0 ? -norm : norm;
        h.scale = 1 / (h.r * (h.r - x1));
    }
    return h;
}

/* Reflects the columns after k by the one that takes column k from `row` on to r e_1; returns r.
 * The equations from row & -8 are N - 3 .. N chunks of eight, which the lanes hold. */
template <int N>
__device__ __forceinline__ double reflect(const problem &P, int lane, int k, int row, int chunks,
                                          double tolerance)
{
    const int base = (row & -LANES) + lane % LANES;
    const double *x = P.L + P.start[k] + base;
    double v[N];
    double norm2[2] = {0, 0};
#pragma unroll
    for (int c = 0; c < N; ++c) {
        v[c] = c < N - 3 || c < chunks ? x[c * LANES] : 0;
    }
    v[0] = base < row ? 0 : v[0];
#pragma unroll
    for (int c = 0; c < N; ++c) {
        norm2[c % 2] += v[c] * v[c];
    }
    const reflector h = make_reflector(P.diagonal[k], cmgi_lanes_sum(norm2[0] + norm2[1]),
                                       __shfl_sync(CMGI_ALL, v[0], row % LANES), tolerance);
    v[0] -= base == row ? h.r : 0;
#pragma unroll 1
    for (int j0 = k + 1 + first_column(); j0 <= P.n && h.r != 0; j0 += GROUPS * WARPS) {
        const int j = j0 + lane / LANES;
        double *column = P.L + P.start[j <= P.n ? j : k] + base; /* k: not used */
        double y[N];
        double s[2] = {0, 0};
#pragma unroll
        for (int c = 0; c < N; ++c) {
            y[c] = c < N - 3 || c < chunks ? column[c * LANES] : 0;
        }
#pragma unroll
        for (int c = 0; c < N; ++c) {
            s[c % 2] += v[c] * y[c];
        }
        const double factor = h.scale * cmgi_lanes_sum(s[0] + s[1]);
        if (j <= P.n) {
#pragma unroll
            for (int c = 0; c < N; ++c) {
                if (c < N - 3 || c < chunks) {
                    column[c * LANES] = y[c] - factor * v[c];
                }
            }
        }
    }
    return h.r;
}

/* The same with v where column k is, for any length. */
__device__ double reflect_long(const problem &P, int lane, int k, int row, double tolerance)
{
    const double *x = P.L + P.start[k];
    const int first = row + lane % LANES;
    double norm2 = 0;
#pragma unroll 1
    for (int e = first; e < P.met[k]; e += LANES) {
        norm2 += x[e] * x[e];
    }
    const reflector h = make_reflector(P.diagonal[k], cmgi_lanes_sum(norm2), x[row], tolerance);
#pragma unroll 1
    for (int j0 = k + 1 + first_column(); j0 <= P.n && h.r != 0; j0 += GROUPS * WARPS) {
        const int j = j0 + lane / LANES;
        double *y = P.L + P.start[j <= P.n ? j : k];
        double s = 0;
        for (int e = first; e < P.met[k]; e += LANES) {
            s += (x[e] - (e == row ? h.r : 0)) * y[e];
        }
        const double factor = h.scale * cmgi_lanes_sum(s);
        for (int e = first; e < P.met[k] && j <= P.n; e += LANES) {
            y[e] -= factor * (x[e] - (e == row ? h.r : 0));
        }
    }
    return h.r;
}

/* Column k from `row` on; 0: it depends on the earlier ones. */
__device__ __forceinline__ double step(const problem &P, int lane, int k, int row, double tolerance)
{
    const int chunks = (P.met[k] - (row & -LANES) + LANES - 1) / LANES;
    if (P.met[k] <= row) {
        return 0;
    }
    switch ((chunks + 3) / 4) { /* few cases: their code has to stay in the instruction cache */
    case 1:
        return reflect<4>(P, lane, k, row, chunks, tolerance);
    case 2:
        return reflect<8>(P, lane, k, row, chunks, tolerance);
    case 3:
        return reflect<12>(P, lane, k, row, chunks, tolerance);
    case 4:
        return reflect<16>(P, lane, k, row, chunks, tolerance);
    default:
        return reflect_long(P, lane, k, row, tolerance);
    }
}

/* diagonal[k] = r of column k, 0 where it depends on earlier ones; returns the rank. */
__device__ __forceinline__ int factorise(const problem &P, int lane)
{
    const double tolerance = DBL_EPSILON * (double)(P.m + P.n);
    int row = 0;
#pragma unroll 1
    for (int k = 0; k < P.n; ++k) {
        const double r = row < P.m ? step(P, lane, k, row, tolerance) : 0;
        row += r != 0;
        __syncthreads();
        if (threadIdx.x == 0) {
            P.diagonal[k] = r;
        }
    }
    __syncthreads();
    return row;
}

/* x = R^-1 Q^T e_i, where column k of R ends in the row of its rank and diagonal[k] has the inverse
 * of that entry; 0 for dependent columns. */
__device__ __forceinline__ void solve_long(const problem &P, int lane, int rank, double *x)
{
    double *b = P.L + P.start[P.n];
    int row = rank;
    for (int k = P.n - 1; k >= 0; --k) {
        const double inverse = P.diagonal[k];
        const double *R = P.L + P.start[k];
        row -= inverse != 0;
        const double value = inverse != 0 ? b[row] * inverse : 0;
        for (int r = lane; r < row && inverse != 0; r += CMGI_WARP) {
            b[r] -= value * R[r];
        }
        if (lane == 0) {
            x[k] = value;
        }
        __syncwarp();
    }
}

/* The same for up to 32 unknowns: lane r holds b[r], and x[k] for k = r. */
__device__ __forceinline__ void solve_short(const problem &P, int lane, int rank, double *x)
{
    double mine = lane < rank ? P.L[P.start[P.n] + lane] : 0;
    double solution = 0;
    int row = rank;
    for (int k = P.n - 1; k >= 0; --k) {
        const double inverse = P.diagonal[k];
        row -= inverse != 0;
        const double value = __shfl_sync(CMGI_ALL, mine, row) * inverse;
        mine -= lane < row && inverse != 0 ? value * P.L[P.start[k] + lane] : 0;
        solution = lane == k && inverse != 0 ? value : solution;
    }
    if (lane < P.n) {
        x[lane] = solution;
    }
    __syncwarp();
}

__device__ __forceinline__ void solve_triangle(const problem &P, int lane, int rank, double *x)
{
    for (int k = lane; k < P.n; k += CMGI_WARP) {
        P.diagonal[k] = P.diagonal[k] != 0 ? 1 / P.diagonal[k] : 0;
    }
    __syncwarp();
    if (P.n <= CMGI_WARP) {
        solve_short(P, lane, rank, x);
    } else {
        solve_long(P, lane, rank, x);
    }
}
