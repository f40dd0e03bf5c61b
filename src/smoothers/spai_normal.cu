/*
 * SPAI by normal equations, a warp a row: with L the local matrix of the equations that row i meets
 * (spai_row.cuh), L^T L m = L^T e_i. That squares the condition number, so a row is solved here
 * only where every pivot of L^T L keeps a share of the square of its column: then at most about
 * 1 / SHARE units of rounding are lost, and every other row is left to the QR factorisation of
 * spai.cu. Which of both a row takes depends on its own problem alone.
 *
 * Where A stands for S A S, the factors of its columns are weights of the equations, and those of
 * its rows come off m at the end. L is a staircase by columns in shared memory, which begin 4
 * doubles apart modulo 16: the eight columns by four equations of a tensor core's operand lie in
 * different banks. Where rows have patterns of a few kinds, spai_placed.cu does without L.
 *
 * Source  Bjoerck, Numerical Methods for Least Squares Problems, SIAM 1996, section 2.2.
 */
#include "smoothers/spai_normal.cuh"

enum { SLOTS = 256, AHEAD = 4 };

/* Doubles of L, by tiles of eight columns: those of 3D elements of order one fit, in nine rows of
 * ten already in the first. */
static const int room_for_tiles[] = {0, 0, 1488, 2000, 2880};

/* Shared memory of a warp. */
typedef struct space {
    double *L;        /* `room` doubles, then L^T L with rows of 8 T + 1 */
    double *pivot[2]; /* CMGI_WARP each */
    double *weight;   /* of each equation, where the table was */
    table t;
    int room;
} space;

__device__ __forceinline__ space carve(char *from, int room)
{
    space s;
    s.room = room;
    s.L = (double *)from;
    s.pivot[0] = s.L + room;
    s.pivot[1] = s.pivot[0] + CMGI_WARP;
    s.weight = s.pivot[1] + CMGI_WARP;
    s.t.keys = (int *)s.weight;
    s.t.number = (unsigned short *)(s.t.keys + SLOTS);
    s.t.slots = SLOTS;
    s.t.shift = 32 - log2_of(SLOTS);
    s.t.limit = SLOTS - SLOTS / 4; /* as many weights as the table has room for */
    return s;
}

/* The first 32 entries of some rows of A, an entry of each a lane. */
typedef struct ahead {
    cmg_index column[AHEAD];
    double value[AHEAD];
} ahead;

__device__ __forceinline__ ahead look_ahead(const cmgi_device_csr &A, const columns &c, int lane,
                                            int p)
{
    ahead next;
#pragma unroll
    for (int q = 0; q < AHEAD; ++q) {
        const int from = p + q < CMGI_WARP ? p + q : 0;
        const cmg_size b = __shfl_sync(CMGI_ALL, c.begin, from);
        const bool there = lane < __shfl_sync(CMGI_ALL, c.length, from) && p + q < c.n;
        next.column[q] = there ? A.indices[b + lane] : -1;
        next.value[q] = there ? A.values[b + lane] : 0;
    }
    return next;
}

/* Column p of L, the first 32 entries of which the lanes hold already; false: it does not fit. */
__device__ __forceinline__ bool fill_column(const cmgi_device_csr &A, const space &s, int lane,
                                            int p, cmg_index column, double value, int start,
                                            int *met, const columns &c)
{
    const int at = meet(s.t, lane, column, met);
    const int length = __shfl_sync(CMGI_ALL, c.length, p);
    const cmg_size begin = __shfl_sync(CMGI_ALL, c.begin, p);
    for (int e = CMGI_WARP; e < length && *met != INT_MAX; e += CMGI_WARP) {
        (void)meet(s.t, lane, e + lane < length ? A.indices[begin + e + lane] : -1, met);
    }
    if (*met == INT_MAX || start + *met > s.room) {
        return false;
    }
    for (int r = lane; r < *met; r += CMGI_WARP) {
        s.L[start + r] = 0;
    }
    __syncwarp();
    if (at >= 0) {
        s.L[start + at] = value;
    }
    for (int e = CMGI_WARP + lane; e < length; e += CMGI_WARP) {
        s.L[start + s.t.number[slot_of(s.t, A.indices[begin + e])]] = A.values[begin + e];
    }
    return true;
}

/* With A = S A S the equation of column k is weighted by s_k. The table makes room. */
__device__ __forceinline__ void weigh(const cmgi_device_csr &A, const space &s, int lane)
{
    enum { ROUNDS = SLOTS / CMGI_WARP };
    int number[ROUNDS];
    double weight[ROUNDS];
#pragma unroll
    for (int r = 0; r < ROUNDS; ++r) {
        const int key = s.t.keys[r * CMGI_WARP + lane];
        number[r] = key != -1 ? s.t.number[r * CMGI_WARP + lane] : -1;
        weight[r] = key != -1 && A.s != NULL ? A.s[key] : 1;
    }
    __syncwarp();
#pragma unroll
    for (int r = 0; r < ROUNDS; ++r) {
        if (number[r] >= 0) {
            s.weight[number[r]] = weight[r];
        }
    }
    __syncwarp();
}

/* L of row i on the columns J, the weights of its equations beside it; false: it does not fit. */
__device__ __forceinline__ bool fill(const cmgi_device_csr &A, const space &s, const cmg_index *J,
                                     cmg_size i, int lane, columns *c)
{
    int start = 0;
    int met = 0;
    c->j = lane < c->n ? J[lane] : 0;
    c->begin = lane < c->n ? A.indptr[c->j] : 0;
    c->length = lane < c->n ? (int)(A.indptr[c->j + 1] - c->begin) : 0;
    clear(s.t, lane);
    ahead next = look_ahead(A, *c, lane, 0);
#pragma unroll 1
    for (int p = 0; p < c->n; p += AHEAD) {
        const ahead now = next;
        next = look_ahead(A, *c, lane, p + AHEAD);
#pragma unroll
        for (int q = 0; q < AHEAD; ++q) {
            if (p + q < c->n) {
                if (!fill_column(A, s, lane, p + q, now.column[q], now.value[q], start, &met, *c)) {
                    return false;
                }
                c->start = lane == p + q ? start : c->start;
                c->met = lane == p + q ? met : c->met;
                start += (met + 11) / 16 * 16 + 4;
            }
        }
    }
    __syncwarp();
    const int slot = slot_of(s.t, (cmg_index)i);
    const int own = s.t.keys[slot] != -1 ? s.t.number[slot] : met;
    c->m = met;
    c->b = own < c->met ? s.L[c->start + own] * (A.s != NULL ? A.s[i] : 1) : 0;
    weigh(A, s, lane);
    return true;
}

/* L^T L, where L was. */
template <int T>
__device__ __forceinline__ void multiply(const space &s, const columns &c, int lane)
{
    enum { TRIANGLE = T * (T + 1) / 2 };
    double sum[TRIANGLE][2] = {};
    const double *from[T];
    int met[T];
#pragma unroll
    for (int t = 0; t < T; ++t) {
        from[t] = s.L + __shfl_sync(CMGI_ALL, c.start, TILE * t + lane / 4) + lane % 4;
        met[t] = __shfl_sync(CMGI_ALL, c.met, TILE * t + lane / 4) - lane % 4;
    }
#pragma unroll 2
    for (int k = 0; k < c.m; k += 4) {
        const double weight = k + lane % 4 < c.m ? s.weight[k + lane % 4] : 0;
        double f[T];
#pragma unroll
        for (int t = 0; t < T; ++t) {
            f[t] = k < met[t] ? from[t][k] * weight : 0;
        }
        add_tiles<T>(sum, f);
    }
    keep<T>(s.L, sum, lane);
}

/* The rows of a list, NULL: all; those that are left go into another one. */
template <int T>
__global__ void __launch_bounds__(WARPS *CMGI_WARP)
    normal_kernel(const cmgi_device_csr A, const cmgi_device_csr S, int room, size_t bytes,
                  const cmgi_spai_rows w)
{
    extern __shared__ double2 shared_space[];
    const int lane = (int)threadIdx.x % CMGI_WARP;
    const int warp = (int)threadIdx.x / CMGI_WARP;
    const space s = carve((char *)shared_space + warp * bytes, room);
    for (int a = (int)blockIdx.x * WARPS + warp; a < w.rows; a += (int)gridDim.x * WARPS) {
        const cmg_size i = w.list != NULL ? w.list[a] : a;
        const cmg_size first = S.indptr[i];
        const cmg_size n = S.indptr[i + 1] - first;
        columns c = {};
        c.n = (int)n;
        double x = 0;
        bool solved = n <= TILE * T && fill(A, s, S.indices + first, i, lane, &c);
        if (solved) {
            multiply<T>(s, c, lane);
            const group p = {s.L, {s.pivot[0], s.pivot[1]}, lane, 0, c.n, c.n};
            solved = __all_sync(CMGI_ALL, solve<T>(p, c.b, &x));
        }
        put_row(A, S, w, i, solved, lane, c.n, c.j, x);
    }
}

template <int T>
static cmg_status solve_in(cmg_context *ctx, const cmgi_device_csr *A, const cmgi_device_csr *S,
                           cmgi_spai_left *left)
{
    const int room = room_for_tiles[T];
    const size_t bytes =
        ((size_t)room + 2 * CMGI_WARP) * sizeof(double) + SLOTS * (sizeof(int) + sizeof(short));
    return solve_left<normal_kernel<T>>(ctx, cudaSharedmemCarveoutMaxShared, room, bytes, A, S,
                                        left);
}

cmg_status cmgi_spai_normal(cmg_context *ctx, const cmgi_device_csr *A, const cmgi_device_csr *S,
                            const int *list, int rows, cmgi_spai_left *left)
{
    left->count = rows;
    left->list = (int *)list;
    if (list == NULL) { /* rows do not repeat, their patterns may */
        CMGI_TRY(cmgi_spai_placed(ctx, A, S, left));
    }
    CMGI_TRY(solve_in<2>(ctx, A, S, left));
    CMGI_TRY(solve_in<3>(ctx, A, S, left));
    CMGI_TRY(solve_in<4>(ctx, A, S, left));
    cmgi_log(ctx, CMG_LOG_INFO, "spai: QR solves %d of %d least squares problems", left->count,
             rows);
    return CMG_OK;
}
