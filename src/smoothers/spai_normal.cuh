/*
 * What SPAI's normal equations share, however the entries of L are found: tiles of L^T L on tensor
 * cores, and its factorisation L D L^T by the lanes of a group, of which lane r has row r. Step k
 * subtracts the pivot's row, which all lanes read at once.
 *
 * Source  Golub and Van Loan, Matrix Computations, 4th ed. 2013, algorithm 4.1.2.
 */
#pragma once
#include "smoothers/spai.cuh"
#include "smoothers/spai_numbering.cuh"

enum { TILE = 8, PIVOTS = CMGI_WARP + 2, BLOCKS = 32, WARPS = 2 };
#define SHARE (1.0 / 1024)

/* Which rows a launch takes. */
typedef struct cmgi_spai_rows {
    const int *list; /* NULL: the first `rows` */
    int rows;
    int *left;  /* the rows that it leaves */
    int *count; /* their number */
} cmgi_spai_rows;

/*
 * A launch over the rows that are left, of a kernel with WARPS rows a block and `bytes` of shared
 * memory each, of which `room` doubles are for L; those that it leaves are left from then on.
 */
template <auto KERNEL, typename... MORE>
static cmg_status solve_left(cmg_context *ctx, int carveout, int room, size_t bytes,
                             const cmgi_device_csr *A, const cmgi_device_csr *S,
                             cmgi_spai_left *left, const MORE &...more)
{
    int *to = left->list == left->space[0] ? left->space[1] : left->space[0];
    const cmgi_spai_rows w = {left->list, left->count, to, to + S->rows};
    const int most = BLOCKS * cmgi_device_of(ctx)->processors;
    const int wanted = (left->count + WARPS - 1) / WARPS;
    const size_t shared = WARPS * bytes;
    if (wanted == 0) {
        return CMG_OK;
    }
    CMGI_CUDA(ctx, cudaFuncSetAttribute(KERNEL, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        (int)shared));
    CMGI_CUDA(ctx, cudaFuncSetAttribute(KERNEL, cudaFuncAttributePreferredSharedMemoryCarveout,
                                        carveout));
    CMGI_TRY(cmgi_cuda_clear(ctx, w.count, sizeof *w.count));
    CMGI_TRY(CMGI_RUN(ctx, (unsigned)(wanted < most ? wanted : most), WARPS * CMGI_WARP, shared,
                      KERNEL, *A, *S, room, bytes, w, more...));
    left->list = to;
    return cmgi_to_host(ctx, &left->count, w.count, sizeof left->count);
}

/* Row i where it is solved: lane r of its n has x, for the row j of A; else it is left. All lanes
 * of a warp come here. */
__device__ __forceinline__ void put_row(const cmgi_device_csr &A, const cmgi_device_csr &S,
                                        const cmgi_spai_rows &w, cmg_size i, bool solved, int r,
                                        int n, cmg_index j, double x)
{
    if (solved && r < n) {
        S.values[S.indptr[i] + r] = A.s != NULL ? x / A.s[j] : x;
    }
    if (!solved && r == 0 && i >= 0) {
        w.left[atomicAdd(w.count, 1)] = (int)i;
    }
    __syncwarp();
}

/* A row's problem as the lanes have it. */
typedef struct columns {
    int n;       /* columns */
    int m;       /* equations */
    cmg_index j; /* the row of A that is this lane's column */
    cmg_size begin;
    int length; /* its entries */
    int start;  /* its place in L */
    int met;    /* its equations; 0 from lane n on */
    double b;   /* its entry in equation i */
} columns;

/* The tiles of L^T L become G, by rows of 8 T + 1 doubles. */
template <int T>
__device__ __forceinline__ void keep(double *G, const double (*sum)[2], int lane)
{
    enum { ROW = TILE * T + 1 };
    __syncwarp();
#pragma unroll
    for (int t = 0, a = 0; t < T; ++t) {
#pragma unroll
        for (int u = 0; u <= t; ++u, ++a) {
            const int row = TILE * t + lane / 4;
            const int column = TILE * u + 2 * (lane % 4);
            for (int e = 0; e < 2; ++e) {
                G[row * ROW + column + e] = sum[a][e];
                if (u < t) {
                    G[(column + e) * ROW + row] = sum[a][e];
                }
            }
        }
    }
    __syncwarp();
}

/* Four more equations in all tiles. */
template <int T>
__device__ __forceinline__ void add_tiles(double (*sum)[2], const double *f)
{
#pragma unroll
    for (int t = 0, a = 0; t < T; ++t) {
#pragma unroll
        for (int u = 0; u <= t; ++u, ++a) {
            cmgi_multiply_tile(sum[a][0], sum[a][1], f[t], f[u]);
        }
    }
}

/* A problem as the lanes of its group have it. */
typedef struct group {
    const double *G;  /* L^T L, by rows of 8 T + 1 doubles */
    double *pivot[2]; /* 8 T each: row k of what is left, k even and odd */
    int lane;         /* in the group */
    int first;        /* lane of the warp */
    int n;            /* unknowns */
    int most;         /* of all groups of the warp */
} group;

/* The lane's unknown, of right side y; false: its pivot is too small. */
template <int T>
__device__ __forceinline__ bool solve(const group &p, double y, double *x)
{
    enum { N = TILE * T, ROW = N + 1 };
    double g[N];
    double inverse = 0; /* of this lane's pivot */
    const double own = p.lane < p.n ? p.G[p.lane * ROW + p.lane] : 0;
    bool good = true;
#pragma unroll
    for (int k = 0; k < N; ++k) {
        g[k] = p.lane < N ? p.G[p.lane * ROW + k] : 0;
    }
#pragma unroll
    for (int k = 0; k < N; ++k) {
        if (k < p.most) {
            double *pivot = p.pivot[k % 2];
            pivot[p.lane] = g[k];
            __syncwarp();
            const double2 *row = (const double2 *)pivot;
            const double d = pivot[k];
            const double i = k < p.n ? 1 / d : 0;
            const double factor = p.lane > k ? g[k] * i : 0;
            inverse = p.lane == k ? i : inverse;
            good = good && (p.lane != k || k >= p.n || d > SHARE * own);
            y -= factor * __shfl_sync(CMGI_ALL, y, p.first + k);
#pragma unroll
            for (int j = (k + 1) / 2; j < N / 2; ++j) {
                g[2 * j] -= factor * row[j].x;
                g[2 * j + 1] -= factor * row[j].y;
            }
        }
    }
    double z = y * inverse;
#pragma unroll
    for (int k = N - 1; k > 0; --k) {
        if (k < p.most) {
            const double known = __shfl_sync(CMGI_ALL, z, p.first + k);
            z -= p.lane < k ? g[k] * inverse * known : 0;
        }
    }
    *x = z;
    return good;
}
