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
 * different banks. The tiles of L^T L are added up in registers; then lane r has its row r, and
 * step k of the factorisation L D L^T subtracts the pivot's row, which all lanes read at once.
 *
 * Source  Bjoerck, Numerical Methods for Least Squares Problems, SIAM 1996, section 2.2; Golub and
 *         Van Loan, Matrix Computations, 4th ed. 2013, algorithm 4.1.2.
 */
#include "smoothers/spai.cuh"
#include "smoothers/spai_numbering.cuh"

enum { WARPS = 2, SLOTS = 256, TILE = 8, AHEAD = 4, BLOCKS = 32, STRIDE = CMGI_SPAI_LONGEST + 1 };
#define SHARE (1.0 / 1024)

/* Doubles of L, by tiles of eight columns: those of 3D elements of order one fit, in nine rows of
 * ten already in the first. */
static const int room_for_tiles[] = {0, 0, 1488, 2000, 2880};

/* With a table: the rows of A, or L^T L. */
static const int room_beside_table[] = {0, 0, 16 * STRIDE, 24 * STRIDE, 32 * 33};

/* Shared memory of a warp. */
typedef struct space {
    double *L;        /* `room` doubles, then L^T L with rows of 8 T + 1 */
    double *pivot[2]; /* WARP each: row k of what is left, k even and odd */
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
    s.pivot[1] = s.pivot[0] + WARP;
    s.weight = s.pivot[1] + WARP;
    s.t.keys = (int *)s.weight;
    s.t.number = (unsigned short *)(s.t.keys + SLOTS);
    s.t.slots = SLOTS;
    s.t.shift = 32 - log2_of(SLOTS);
    s.t.limit = SLOTS - SLOTS / 4; /* as many weights as the table has room for */
    return s;
}

static size_t bytes_of(int room, bool placed)
{
    return ((size_t)room + 2 * WARP) * sizeof(double) +
           (placed ? CMGI_SPAI_EQUATIONS * sizeof(double) : SLOTS * (sizeof(int) + sizeof(short)));
}

/* Which rows a launch takes, and where it works. */
typedef struct work {
    const int *list; /* NULL: the first `rows` */
    int rows;
    int room;     /* doubles of L */
    size_t bytes; /* of shared memory of a warp */
    int *left;    /* the rows that it leaves */
    int *count;   /* their number */
} work;

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
        const int from = p + q < WARP ? p + q : 0;
        const cmg_size b = __shfl_sync(~0U, c.begin, from);
        const bool there = lane < __shfl_sync(~0U, c.length, from) && p + q < c.n;
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
    const int length = __shfl_sync(~0U, c.length, p);
    const cmg_size begin = __shfl_sync(~0U, c.begin, p);
    for (int e = WARP; e < length && *met != INT_MAX; e += WARP) {
        (void)meet(s.t, lane, e + lane < length ? A.indices[begin + e + lane] : -1, met);
    }
    if (*met == INT_MAX || start + *met > s.room) {
        return false;
    }
    for (int r = lane; r < *met; r += WARP) {
        s.L[start + r] = 0;
    }
    __syncwarp();
    if (at >= 0) {
        s.L[start + at] = value;
    }
    for (int e = WARP + lane; e < length; e += WARP) {
        s.L[start + s.t.number[slot_of(s.t, A.indices[begin + e])]] = A.values[begin + e];
    }
    return true;
}

/* With A = S A S the equation of column k is weighted by s_k. The table makes room. */
__device__ __forceinline__ void weigh(const cmgi_device_csr &A, const space &s, int lane)
{
    enum { ROUNDS = SLOTS / WARP };
    int number[ROUNDS];
    double weight[ROUNDS];
#pragma unroll
    for (int r = 0; r < ROUNDS; ++r) {
        const int key = s.t.keys[r * WARP + lane];
        number[r] = key != -1 ? s.t.number[r * WARP + lane] : -1;
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

/* The tiles of L^T L, by rows of 8 T + 1 doubles where L was. */
template <int T>
__device__ __forceinline__ void keep(const space &s, const double (*sum)[2], int lane)
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
                s.L[row * ROW + column + e] = sum[a][e];
                if (u < t) {
                    s.L[(column + e) * ROW + row] = sum[a][e];
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

/* L^T L */
template <int T>
__device__ __forceinline__ void multiply(const space &s, const columns &c, int lane)
{
    enum { TRIANGLE = T * (T + 1) / 2 };
    double sum[TRIANGLE][2] = {};
    const double *from[T];
    int met[T];
#pragma unroll
    for (int t = 0; t < T; ++t) {
        from[t] = s.L + __shfl_sync(~0U, c.start, TILE * t + lane / 4) + lane % 4;
        met[t] = __shfl_sync(~0U, c.met, TILE * t + lane / 4) - lane % 4;
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
    keep<T>(s, sum, lane);
}

/* The lane's place in the first 32 entries of row i, which ascend, of column j; -1: not there. */
__device__ __forceinline__ int entry_of(const cmgi_device_csr &A, cmg_size i, cmg_index j, int lane)
{
    const cmg_size begin = A.indptr[i];
    const cmg_index mine = lane < A.indptr[i + 1] - begin ? A.indices[begin + lane] : INT32_MAX;
    int at = 0;
#pragma unroll
    for (int d = WARP / 2; d > 0; d /= 2) {
        at += __shfl_sync(~0U, mine, at + d - 1) < j ? d : 0;
    }
    return __shfl_sync(~0U, mine, at) == j ? at : -1;
}

/* The rows of A that row i's columns J name, each after a 0 for the equations without it, and the
 * weights; c.start becomes the entry of row i. False: the kind has no table, or J is no part of
 * row i. */
template <int T>
__device__ __forceinline__ bool gather(const cmgi_device_csr &A, const space &s,
                                       const cmgi_spai_kind *kind, const cmg_index *J, cmg_size i,
                                       int lane, columns *c)
{
    c->m = kind->equations;
    c->j = lane < c->n ? J[lane] : 0;
    c->start = entry_of(A, i, c->j, lane);
    if (!__all_sync(~0U, c->m > 0 && (lane >= c->n || c->start >= 0))) {
        return false;
    }
    c->begin = lane < c->n ? A.indptr[c->j] : 0;
    c->length = lane < c->n ? (int)(A.indptr[c->j + 1] - c->begin) : 0;
    for (int q = lane; q < CMGI_SPAI_EQUATIONS; q += WARP) {
        const double weight = q < c->m && A.s != NULL ? A.s[i + kind->offset[q]] : 1;
        s.weight[q] = q < c->m ? weight : 0;
    }
#pragma unroll
    for (int p = 0; p < TILE * T; p += TILE) {
        double value[TILE];
#pragma unroll
        for (int q = 0; q < TILE; ++q) {
            const cmg_size b = __shfl_sync(~0U, c->begin, p + q);
            value[q] = lane < __shfl_sync(~0U, c->length, p + q) ? A.values[b + lane] : 0;
        }
#pragma unroll
        for (int q = 0; q < TILE; ++q) {
            if (lane < STRIDE - 1) {
                s.L[(p + q) * STRIDE + 1 + lane] = value[q];
            }
        }
    }
    if (lane < TILE * T) {
        s.L[lane * STRIDE] = 0;
    }
    __syncwarp();
    const int own = kind->own;
    c->b = lane < c->n && own >= 0 ? s.L[lane * STRIDE + kind->place[c->start][own % 4][own / 4]] *
                                         (A.s != NULL ? A.s[i] : 1)
                                   : 0;
    return true;
}

/* L^T L where the entries of L are looked up. */
template <int T>
__device__ __forceinline__ void multiply_placed(const space &s, const cmgi_spai_kind *kind,
                                                const columns &c, int lane)
{
    enum { TRIANGLE = T * (T + 1) / 2, WORDS = CMGI_SPAI_EQUATIONS / 16 };
    double sum[TRIANGLE][2] = {};
    const double *from[T];
    unsigned place[T][WORDS];
#pragma unroll
    for (int t = 0; t < T; ++t) {
        const int p = TILE * t + lane / 4;
        const int e = __shfl_sync(~0U, c.start, p);
        const uint4 *at = (const uint4 *)kind->place[p < c.n ? e : 0][lane % 4];
        from[t] = s.L + p * STRIDE;
#pragma unroll
        for (int h = 0; h < WORDS / 4; ++h) {
            const uint4 four = p < c.n ? at[h] : make_uint4(0, 0, 0, 0);
            place[t][4 * h] = four.x;
            place[t][4 * h + 1] = four.y;
            place[t][4 * h + 2] = four.z;
            place[t][4 * h + 3] = four.w;
        }
    }
#pragma unroll
    for (int w = 0; w < WORDS; ++w) {
        if (16 * w < c.m) { /* what comes after m has weight 0 */
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                const double weight = s.weight[16 * w + 4 * k + lane % 4];
                double f[T];
#pragma unroll
                for (int t = 0; t < T; ++t) {
                    f[t] = from[t][place[t][w] >> 8 * k & 0xff] * weight;
                }
                add_tiles<T>(sum, f);
            }
        }
    }
    keep<T>(s, sum, lane);
}

/* Lane r's unknown r; false in all lanes: a pivot is too small. */
template <int T>
__device__ __forceinline__ bool solve(const space &s, const columns &c, int lane, double *x)
{
    enum { N = TILE * T, ROW = N + 1 };
    double g[N];
    double y = c.b;
    double inverse = 0; /* of this lane's pivot */
    const double own = lane < c.n ? s.L[lane * ROW + lane] : 0;
    bool good = true;
#pragma unroll
    for (int k = 0; k < N; ++k) {
        g[k] = lane < N ? s.L[lane * ROW + k] : 0;
    }
#pragma unroll
    for (int k = 0; k < N; ++k) {
        if (k < c.n) {
            double *pivot = s.pivot[k % 2];
            pivot[lane] = g[k];
            __syncwarp();
            const double2 *row = (const double2 *)pivot;
            const double d = pivot[k];
            const double i = 1 / d;
            const double factor = lane > k ? g[k] * i : 0;
            inverse = lane == k ? i : inverse;
            good = good && (lane != k || d > SHARE * own);
            y -= factor * __shfl_sync(~0U, y, k);
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
        if (k < c.n) {
            const double known = __shfl_sync(~0U, z, k);
            z -= lane < k ? g[k] * inverse * known : 0;
        }
    }
    *x = z;
    return __all_sync(~0U, good);
}

/* The rows of a list, NULL: all; those that are left go into another one. PLACED: their kinds have
 * tables. */
template <int T, bool PLACED>
__global__ void __launch_bounds__(WARPS *WARP)
    normal_kernel(const cmgi_device_csr A, const cmgi_device_csr S, const cmgi_spai_kinds K,
                  const work w)
{
    extern __shared__ double2 shared_space[];
    const int lane = (int)threadIdx.x % WARP;
    const int warp = (int)threadIdx.x / WARP;
    const space s = carve((char *)shared_space + warp * w.bytes, w.room);
    for (int a = (int)blockIdx.x * WARPS + warp; a < w.rows; a += (int)gridDim.x * WARPS) {
        const cmg_size i = w.list != NULL ? w.list[a] : a;
        const cmg_size first = S.indptr[i];
        const cmg_size n = S.indptr[i + 1] - first;
        const cmgi_spai_kind *kind = PLACED ? &K.of[K.kind[i]] : NULL;
        columns c = {};
        c.n = (int)n;
        double x = 0;
        bool solved =
            n <= TILE * T && (PLACED ? gather<T>(A, s, kind, S.indices + first, i, lane, &c)
                                     : fill(A, s, S.indices + first, i, lane, &c));
        if (solved && PLACED) {
            multiply_placed<T>(s, kind, c, lane);
        } else if (solved) {
            multiply<T>(s, c, lane);
        }
        solved = solved && solve<T>(s, c, lane, &x);
        if (solved && lane < n) {
            S.values[first + lane] = A.s != NULL ? x / A.s[c.j] : x;
        }
        if (!solved && lane == 0) {
            w.left[atomicAdd(w.count, 1)] = (int)i;
        }
        __syncwarp();
    }
}

/* One launch over the rows that are left, which leaves others. */
template <int T, bool PLACED>
static cmg_status solve_in(cmg_context *ctx, const cmgi_device_csr *A, const cmgi_device_csr *S,
                           const cmgi_spai_kinds *K, cmgi_spai_left *left)
{
    int *to = left->list == left->space[0] ? left->space[1] : left->space[0];
    const int rows = left->count;
    const int most = BLOCKS * cmgi_device_of(ctx)->processors;
    const int wanted = (rows + WARPS - 1) / WARPS;
    const int room = PLACED ? room_beside_table[T] : room_for_tiles[T];
    const work w = {left->list, rows, room, bytes_of(room, PLACED), to, to + S->rows};
    if (rows == 0) {
        return CMG_OK;
    }
    CMGI_CUDA(ctx, cudaFuncSetAttribute(normal_kernel<T, PLACED>,
                                        cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        (int)(WARPS * w.bytes)));
    CMGI_CUDA(ctx, cudaFuncSetAttribute(normal_kernel<T, PLACED>,
                                        cudaFuncAttributePreferredSharedMemoryCarveout,
                                        cudaSharedmemCarveoutMaxShared));
    CMGI_TRY(cmgi_cuda_clear(ctx, w.count, sizeof *w.count));
    normal_kernel<T, PLACED><<<(unsigned)(wanted < most ? wanted : most), WARPS * WARP,
                               WARPS * w.bytes, cmgi_stream(ctx)>>>(*A, *S, *K, w);
    CMGI_TRY(CMGI_LAUNCHED(ctx));
    left->list = to;
    return cmgi_to_host(ctx, &left->count, w.count, sizeof left->count);
}

cmg_status cmgi_spai_normal(cmg_context *ctx, const cmgi_device_csr *A, const cmgi_device_csr *S,
                            const int *list, int rows, cmgi_spai_left *left)
{
    cmgi_spai_kinds K = {};
    cmg_status status = CMG_OK;
    left->count = rows;
    left->list = (int *)list;
    if (list == NULL) { /* rows do not repeat, their patterns may */
        CMGI_TRY_GOTO(done, cmgi_spai_kinds_find(ctx, A, &K));
    }
    if (K.count > 0) {
        CMGI_TRY_GOTO(done, (solve_in<2, true>(ctx, A, S, &K, left)));
        CMGI_TRY_GOTO(done, (solve_in<3, true>(ctx, A, S, &K, left)));
        CMGI_TRY_GOTO(done, (solve_in<4, true>(ctx, A, S, &K, left)));
    }
    CMGI_TRY_GOTO(done, (solve_in<2, false>(ctx, A, S, &K, left)));
    CMGI_TRY_GOTO(done, (solve_in<3, false>(ctx, A, S, &K, left)));
    CMGI_TRY_GOTO(done, (solve_in<4, false>(ctx, A, S, &K, left)));
    cmgi_log(ctx, CMG_LOG_INFO, "spai: QR solves %d of %d least squares problems", left->count,
             rows);
done:
    cmgi_spai_kinds_free(ctx, &K);
    return status;
}
