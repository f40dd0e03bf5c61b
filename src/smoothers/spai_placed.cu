/*
 * SPAI by normal equations where rows have patterns of a few kinds, which are found first: the
 * entries of L are not put where its equations are. The rows of A that are its columns lie in
 * shared memory as they are, each after a zero, and each lane takes the operands of the tensor
 * cores from there by the places of its kind, 0 where an equation has none: all that a kind says of
 * a column and a quarter of its equations are 32 bytes.
 *
 * Half a warp is enough for 16 unknowns: such rows are solved by twos.
 */
#include "smoothers/spai_normal.cuh"

/* ------------------------------------------------------------------ kinds of rows */

/*
 * Rows of A that number the equations of SPAI alike. On a mesh with a pattern all rows but a few
 * have the columns, less their own number, of one of some hundred others, and so have the rows of A
 * that they name. Such rows are a kind: its equations are numbered once, in the order in which a
 * row's entries meet them, and each row of the kind finds its own entries by that table.
 *
 * Twice the grouping of csr/row_groups.cuh: by relative columns, then by these and the classes of
 * the rows that are named. Values play no part.
 */
/* Equations and length of the rows of A that a kind has room for: those of trilinear elements. */
enum { EQUATIONS = 128, LONGEST = 27 };

/* Rows i of A that have the same columns, less i, and name rows that do. */
typedef struct equation_kind {
    int equations; /* 0: they do not fit */
    int own;       /* the one of column i; -1: none */
    int padding[2];
    int offset[EQUATIONS]; /* column of each, less i */
    /* [e][r][s]: which entry of the row of A that entry e of row i names stands in equation
     * 4 s + r, from 1 on; 0: none */
    unsigned char place[LONGEST][4][EQUATIONS / 4];
} equation_kind;

typedef struct equation_kinds {
    int count;      /* 0: too many, or not worth it */
    uint16_t *kind; /* of each row */
    equation_kind *of;
} equation_kinds;

enum {
    MOST_KINDS = 2048,  /* more do not pay ... */
    ROWS_OF_A_KIND = 8, /* ... nor do they with fewer rows each */
    LEAST_ROWS = 2048,
    SLOTS = 2 * EQUATIONS
};

/* The table of each kind, whose lowest row is in the list, by a warp. */
__global__ void __launch_bounds__(CMGI_WARP)
    place_kernel(const cmgi_device_csr A, const int *list, equation_kind *kinds)
{
    __shared__ int keys[SLOTS];
    __shared__ unsigned short number[SLOTS];
    const int lane = (int)threadIdx.x;
    const cmg_size i = list[blockIdx.x];
    const cmg_size first = A.indptr[i];
    const cmg_size entries = A.indptr[i + 1] - first;
    const table t = {keys, number, SLOTS, 32 - log2_of(SLOTS), EQUATIONS};
    equation_kind *kind = &kinds[blockIdx.x];
    bool fits = entries <= LONGEST;
    int met = 0;
    clear(t, lane);
    for (cmg_size e = 0; fits && e < entries; ++e) {
        const cmg_index j = A.indices[first + e];
        const cmg_size begin = A.indptr[j];
        const cmg_size length = A.indptr[j + 1] - begin;
        const cmg_index column = lane < length ? A.indices[begin + lane] : -1;
        const int at = length <= LONGEST ? meet(t, lane, column, &met) : -1;
        fits = length <= LONGEST && met <= EQUATIONS;
        if (fits && at >= 0) {
            kind->place[e][at % 4][at / 4] = (unsigned char)(lane + 1);
            kind->offset[at] = column - (cmg_index)i;
        }
    }
    if (lane == 0) {
        const int slot = slot_of(t, (cmg_index)i);
        kind->equations = fits ? met : 0;
        kind->own = fits && keys[slot] != -1 ? number[slot] : -1;
    }
}

struct nothing {
    __device__ __forceinline__ unsigned long long operator()(cmg_size, cmg_index, cmg_size) const
    {
        return 0;
    }
};

static cmg_status make_tables(cmg_context *ctx, cmgi_scratch &scratch, const cmgi_device_csr *A,
                              cmgi_spai_groups *R, equation_kinds *K)
{
    CMGI_TRY(scratch.take(A->rows, &K->kind));
    CMGI_TRY(scratch.take_zero(R->count, &K->of));
    CMGI_TRY(CMGI_RUN(ctx, (unsigned)R->count, CMGI_WARP, 0, place_kernel, *A, R->list, K->of));
    CMGI_TRY(cmgi_row_groups_number(ctx, A->rows, R->list, R->count, R->same, K->kind));
    K->count = R->count;
    cmgi_log(ctx, CMG_LOG_INFO, "spai: %lld rows number their equations in %d ways",
             (long long)A->rows, K->count);
    return CMG_OK;
}

static cmg_status find_kinds(cmg_context *ctx, cmgi_scratch &scratch, const cmgi_device_csr *A,
                             equation_kinds *K)
{
    const cmg_size most = A->rows / ROWS_OF_A_KIND;
    cmgi_spai_groups R = {};
    cmgi_scratch own(ctx);
    *K = {};
    if (A->rows < LEAST_ROWS) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_spai_group(ctx, own, A, nothing{}, A,
                             most < MOST_KINDS ? most : (cmg_size)MOST_KINDS, &R));
    return R.same != NULL ? make_tables(ctx, scratch, A, &R, K) : CMG_OK;
}

/* ------------------------------------------------------------------ their problems */

enum {
    HALF = CMGI_WARP / 2,
    STRIDE = LONGEST + 1,
    SHARED_PERCENT = 85 /* 196 of 228 kB hold what registers allow; the rest caches rows of A */
};

/* Doubles for the rows of A, by tiles of eight, or L^T L. */
static const int room_for_rows[] = {0, 0, 16 * STRIDE, 24 * STRIDE, 32 * 33};
enum { ROOM_OF_G = 16 * 17 }; /* of the first of two problems */

/* Shared memory of a warp. */
typedef struct space {
    double *rows;
    double *weight;   /* EQUATIONS */
    double *pivot[2]; /* PIVOTS each */
    double *G;        /* ROOM_OF_G, where there are two problems */
} space;

__device__ __forceinline__ space carve(char *from, int room)
{
    space s;
    s.rows = (double *)from;
    s.weight = s.rows + room;
    s.pivot[0] = s.weight + EQUATIONS;
    s.pivot[1] = s.pivot[0] + PIVOTS;
    s.G = s.pivot[1] + PIVOTS;
    return s;
}

/* The lane's place in the first 32 entries of row i, which ascend, of column j; -1: not there. */
__device__ __forceinline__ int entry_of(const cmgi_device_csr &A, cmg_size i, cmg_index j, int lane)
{
    const cmg_size begin = A.indptr[i];
    const cmg_index mine = lane < A.indptr[i + 1] - begin ? A.indices[begin + lane] : INT32_MAX;
    int at = 0;
#pragma unroll
    for (int d = CMGI_WARP / 2; d > 0; d /= 2) {
        at += __shfl_sync(CMGI_ALL, mine, at + d - 1) < j ? d : 0;
    }
    return __shfl_sync(CMGI_ALL, mine, at) == j ? at : -1;
}

/* The rows of A that row i's columns J name, each after a 0 for the equations without it, and the
 * weights; c.start becomes the entry of row i. False: the kind has no table, or J is no part of
 * row i. */
template <int T>
__device__ __forceinline__ bool gather(const cmgi_device_csr &A, const space &s,
                                       const equation_kind *kind, const cmg_index *J, cmg_size i,
                                       int lane, columns *c)
{
    c->m = kind->equations;
    c->j = lane < c->n ? J[lane] : 0;
    c->start = entry_of(A, i, c->j, lane);
    if (!__all_sync(CMGI_ALL, c->m > 0 && (lane >= c->n || c->start >= 0))) {
        return false;
    }
    c->begin = lane < c->n ? A.indptr[c->j] : 0;
    c->length = lane < c->n ? (int)(A.indptr[c->j + 1] - c->begin) : 0;
    for (int q = lane; q < EQUATIONS; q += CMGI_WARP) {
        const double weight = q < c->m && A.s != NULL ? A.s[i + kind->offset[q]] : 1;
        s.weight[q] = q < c->m ? weight : 0;
    }
#pragma unroll
    for (int p = 0; p < TILE * T; p += TILE) {
        double value[TILE];
#pragma unroll
        for (int q = 0; q < TILE; ++q) {
            const cmg_size b = __shfl_sync(CMGI_ALL, c->begin, p + q);
            value[q] = lane < __shfl_sync(CMGI_ALL, c->length, p + q) ? A.values[b + lane] : 0;
        }
#pragma unroll
        for (int q = 0; q < TILE; ++q) {
            if (lane < STRIDE - 1) {
                s.rows[(p + q) * STRIDE + 1 + lane] = value[q];
            }
        }
    }
    if (lane < TILE * T) {
        s.rows[lane * STRIDE] = 0;
    }
    __syncwarp();
    const int own = kind->own;
    c->b = lane < c->n && own >= 0
               ? s.rows[lane * STRIDE + kind->place[c->start][own % 4][own / 4]] *
                     (A.s != NULL ? A.s[i] : 1)
               : 0;
    return true;
}

/* G = L^T L, which may lie where the rows of A are. */
template <int T>
__device__ __forceinline__ void multiply(const space &s, const equation_kind *kind,
                                         const columns &c, int lane, double *G)
{
    enum { TRIANGLE = T * (T + 1) / 2, WORDS = EQUATIONS / 16 };
    double sum[TRIANGLE][2] = {};
    const double *from[T];
    unsigned place[T][WORDS];
#pragma unroll
    for (int t = 0; t < T; ++t) {
        const int p = TILE * t + lane / 4;
        const int e = __shfl_sync(CMGI_ALL, c.start, p);
        const uint4 *at = (const uint4 *)kind->place[p < c.n ? e : 0][lane % 4];
        from[t] = s.rows + p * STRIDE;
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
    keep<T>(G, sum, lane);
}

/* Row i, or none where it is negative: its columns, and L^T L; false: it is left. */
template <int T>
__device__ __forceinline__ bool prepare(const cmgi_device_csr &A, const cmgi_device_csr &S,
                                        const equation_kinds &K, const space &s, cmg_size i,
                                        int lane, columns *c, double *G)
{
    *c = {};
    if (i < 0) {
        return false;
    }
    const cmg_size first = S.indptr[i];
    const cmg_size n = S.indptr[i + 1] - first;
    const equation_kind *kind = &K.of[K.kind[i]];
    c->n = n <= TILE * T ? (int)n : 0;
    const bool fits = n <= TILE * T && gather<T>(A, s, kind, S.indices + first, i, lane, c);
    if (fits) {
        multiply<T>(s, kind, *c, lane, G);
    }
    return fits;
}

/* The rows of a list, NULL: all, a warp a row; those that are left go into another one. */
template <int T>
__global__ void __launch_bounds__(WARPS *CMGI_WARP)
    placed_kernel(const cmgi_device_csr A, const cmgi_device_csr S, int room, size_t bytes,
                  const cmgi_spai_rows w, const equation_kinds K)
{
    extern __shared__ double2 shared_space[];
    const int lane = (int)threadIdx.x % CMGI_WARP;
    const int warp = (int)threadIdx.x / CMGI_WARP;
    const space s = carve((char *)shared_space + warp * bytes, room);
    for (int a = (int)blockIdx.x * WARPS + warp; a < w.rows; a += (int)gridDim.x * WARPS) {
        const cmg_size i = w.list != NULL ? w.list[a] : a;
        columns c;
        double x = 0;
        bool solved = prepare<T>(A, S, K, s, i, lane, &c, s.rows);
        if (solved) {
            const group p = {s.rows, {s.pivot[0], s.pivot[1]}, lane, 0, c.n, c.n};
            solved = __all_sync(CMGI_ALL, solve<T>(p, c.b, &x));
        }
        put_row(A, S, w, i, solved, lane, c.n, c.j, x);
    }
}

/* The same, a warp two rows of at most 16 entries. */
__global__ void __launch_bounds__(WARPS *CMGI_WARP)
    pairs_kernel(const cmgi_device_csr A, const cmgi_device_csr S, int room, size_t bytes,
                 const cmgi_spai_rows w, const equation_kinds K)
{
    extern __shared__ double2 shared_space[];
    const int lane = (int)threadIdx.x % CMGI_WARP;
    const int warp = (int)threadIdx.x / CMGI_WARP;
    const int half = lane / HALF;
    const int r = lane % HALF;
    const int step = 2 * (int)gridDim.x * WARPS;
    const space s = carve((char *)shared_space + warp * bytes, room);
    for (int a = 2 * ((int)blockIdx.x * WARPS + warp); a < w.rows; a += step) {
        columns mine = {}; /* of the half's problem */
        bool solved = false;
        int most = 0;
        double x = 0;
        const int place = a + half;
        const cmg_size i = place >= w.rows ? -1 : w.list != NULL ? w.list[place] : place;
#pragma unroll 1
        for (int h = 0; h < 2; ++h) {
            columns c;
            const bool fits = prepare<2>(A, S, K, s, __shfl_sync(CMGI_ALL, i, HALF * h), lane, &c,
                                         h == 0 ? s.G : s.rows);
            const double b = __shfl_sync(CMGI_ALL, c.b, r);
            const cmg_index j = __shfl_sync(CMGI_ALL, c.j, r);
            most = fits && c.n > most ? c.n : most;
            if (half == h) {
                mine.n = fits ? c.n : 0;
                mine.b = b;
                mine.j = j;
                solved = fits;
            }
        }
        const int at = half * (HALF + 2); /* in another bank */
        const group p = {half == 0 ? s.G : s.rows,
                         {s.pivot[0] + at, s.pivot[1] + at},
                         r,
                         HALF * half,
                         mine.n,
                         most};
        const unsigned bad = __ballot_sync(CMGI_ALL, !solve<2>(p, mine.b, &x));
        solved = solved && (bad >> HALF * half & 0xffff) == 0;
        put_row(A, S, w, i, solved, r, mine.n, mine.j, x);
    }
}

template <auto KERNEL>
static cmg_status solve_in(cmg_context *ctx, int tiles, const cmgi_device_csr *A,
                           const cmgi_device_csr *S, const equation_kinds *K, cmgi_spai_left *left)
{
    const int room = room_for_rows[tiles];
    const size_t doubles = (size_t)room + EQUATIONS + 2 * PIVOTS + (tiles == 2 ? ROOM_OF_G : 0);
    return solve_left<KERNEL>(ctx, SHARED_PERCENT, room, doubles * sizeof(double), A, S, left, *K);
}

cmg_status cmgi_spai_placed(cmg_context *ctx, const cmgi_device_csr *A, const cmgi_device_csr *S,
                            cmgi_spai_left *left)
{
    equation_kinds K = {};
    cmgi_scratch scratch(ctx);
    CMGI_TRY(find_kinds(ctx, scratch, A, &K));
    if (K.count > 0) {
        CMGI_TRY(solve_in<pairs_kernel>(ctx, 2, A, S, &K, left));
        CMGI_TRY(solve_in<placed_kernel<3>>(ctx, 3, A, S, &K, left));
        CMGI_TRY(solve_in<placed_kernel<4>>(ctx, 4, A, S, &K, left));
    }
    return CMG_OK;
}
