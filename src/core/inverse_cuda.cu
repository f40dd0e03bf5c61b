/*
 * The inverse of a small dense symmetric positive definite matrix on the device: Gauss-Jordan in
 * place by blocks of 32 rows, without pivoting (Quintana, Quintana, Sun, van de Geijn, A note on
 * parallel matrix inversion, SIAM J. Sci. Comput. 22, 2001, doi:10.1137/S1064827598345679). With
 * block row p, D the inverse of its diagonal block and W = D A_p, all others:
 *
 *   A_pp = D,   A_pj = W_j,   A_ip = -A_ip D,   A_ij = A_ij - A_ip W_j
 *
 * What stands on the diagonal when its row comes is the square of Cholesky's pivot.
 */
#include "core/cuda.cuh"

#include <float.h>

enum { TILE = 32, THREADS = TILE * TILE };

/* Rows and columns are padded to whole tiles by those of a diagonal matrix. */
struct square {
    cmg_size n;
    cmg_size m; /* n padded */
    double *A;  /* m x m */
    double *D;  /* tile */
    double *W;  /* tile x m */
    double *C;  /* m x tile: column p before the step */
    int *failed;
};

struct place {
    int r; /* in the tile */
    int c;
};

static __device__ __forceinline__ place place_of_thread(void)
{
    return place{(int)threadIdx.x / TILE, (int)threadIdx.x % TILE};
}

__global__ void pad_kernel(const square S, const double *X, double diagonal)
{
    const cmg_size i = (cmg_size)blockIdx.y * TILE + threadIdx.x / TILE;
    const cmg_size j = (cmg_size)blockIdx.x * TILE + threadIdx.x % TILE;
    const bool real = i < S.n && j < S.n;
    S.A[i * S.m + j] = real ? X[i * S.n + j] : i == j ? diagonal : 0;
}

/* X of the lower half, so that it is symmetric. */
__global__ void unpad_kernel(const square S, double *X)
{
    const cmg_size i = (cmg_size)blockIdx.y * TILE + threadIdx.x / TILE;
    const cmg_size j = (cmg_size)blockIdx.x * TILE + threadIdx.x % TILE;
    if (i < S.n && j < S.n) {
        X[i * S.n + j] = i > j ? S.A[i * S.m + j] : S.A[j * S.m + i];
    }
}

/* D = A_pp^-1 by one block; a pivot of at most `least` fails. */
__global__ void __launch_bounds__(THREADS) diagonal_kernel(const square S, cmg_size p, double least)
{
    __shared__ double a[TILE][TILE + 1];
    const place t = place_of_thread();
    a[t.r][t.c] = S.A[(p * TILE + t.r) * S.m + p * TILE + t.c];
    for (int k = 0; k < TILE; ++k) {
        __syncthreads();
        const double pivot = a[k][k];
        const double inverse = 1 / pivot;
        const double row = a[k][t.c];
        const double column = a[t.r][k];
        const double own = a[t.r][t.c];
        if (threadIdx.x == 0 && !(pivot > least)) {
            *S.failed = 1;
        }
        __syncthreads();
        const double others = t.c == k ? -column * inverse : own - column * inverse * row;
        const double mine = t.c == k ? inverse : row * inverse;
        a[t.r][t.c] = t.r == k ? mine : others;
    }
    S.D[threadIdx.x] = a[t.r][t.c];
}

/* Element of a product of tiles in shared memory. */
static __device__ __forceinline__ double multiply(const double (*a)[TILE + 1],
                                                  const double (*b)[TILE + 1], const place &t)
{
    double sum = 0;
    for (int k = 0; k < TILE; ++k) {
        sum += a[t.r][k] * b[k][t.c];
    }
    return sum;
}

/* W_j = D A_pj, and a copy of A_jp. */
__global__ void __launch_bounds__(THREADS) panel_kernel(const square S, cmg_size p)
{
    __shared__ double a[TILE][TILE + 1];
    __shared__ double b[TILE][TILE + 1];
    const place t = place_of_thread();
    const cmg_size j = (cmg_size)blockIdx.x * TILE;
    a[t.r][t.c] = S.D[threadIdx.x];
    b[t.r][t.c] = S.A[(p * TILE + t.r) * S.m + j + t.c];
    __syncthreads();
    S.W[t.r * S.m + j + t.c] = multiply(a, b, t);
    S.C[(j + t.r) * TILE + t.c] = S.A[(j + t.r) * S.m + p * TILE + t.c];
}

__global__ void __launch_bounds__(THREADS) update_kernel(const square S, cmg_size p)
{
    __shared__ double a[TILE][TILE + 1];
    __shared__ double b[TILE][TILE + 1];
    const place t = place_of_thread();
    const cmg_size i = (cmg_size)blockIdx.y * TILE;
    const cmg_size j = (cmg_size)blockIdx.x * TILE;
    const bool own_row = blockIdx.y == p;
    const bool own_column = blockIdx.x == p;
    double *to = &S.A[(i + t.r) * S.m + j + t.c];
    const double w = own_column ? S.D[threadIdx.x] : S.W[t.r * S.m + j + t.c];
    a[t.r][t.c] = S.C[(i + t.r) * TILE + t.c];
    b[t.r][t.c] = w;
    __syncthreads();
    const double product = multiply(a, b, t);
    *to = own_row ? w : own_column ? -product : *to - product;
}

static cmg_status open_square(cmgi_scratch &scratch, cmg_size n, square *S)
{
    S->n = n;
    S->m = (n + TILE - 1) / TILE * TILE;
    CMGI_TRY(scratch.take(S->m * S->m, &S->A));
    CMGI_TRY(scratch.take(THREADS, &S->D));
    CMGI_TRY(scratch.take(S->m * TILE, &S->W));
    CMGI_TRY(scratch.take(S->m * TILE, &S->C));
    return scratch.take_zero(1, &S->failed);
}

static cmg_status eliminate(cmg_context *ctx, const square *S, double least)
{
    const unsigned tiles = cmgi_grid(S->m, TILE);
    for (cmg_size p = 0; p < (cmg_size)tiles; ++p) {
        CMGI_TRY(CMGI_RUN(ctx, 1, THREADS, 0, diagonal_kernel, *S, p, least));
        CMGI_TRY(CMGI_RUN(ctx, tiles, THREADS, 0, panel_kernel, *S, p));
        CMGI_TRY(CMGI_RUN(ctx, dim3(tiles, tiles), THREADS, 0, update_kernel, *S, p));
    }
    return CMG_OK;
}

cmg_status cmgi_cuda_invert_there(cmg_context *ctx, cmg_size n, double largest, double *X,
                                  bool *definite)
{
    CMGI_ON_DEVICE(ctx);
    const unsigned tiles = cmgi_grid(n, TILE);
    square S = {};
    int failed = 1;
    cmgi_scratch scratch(ctx);
    CMGI_TRY(open_square(scratch, n, &S));
    CMGI_TRY(CMGI_RUN(ctx, dim3(tiles, tiles), THREADS, 0, pad_kernel, S, X, largest));
    CMGI_TRY(eliminate(ctx, &S, 16.0 * (double)n * DBL_EPSILON * largest));
    CMGI_TRY(cmgi_to_host(ctx, &failed, S.failed, sizeof failed));
    *definite = failed == 0;
    if (*definite) {
        CMGI_TRY(CMGI_RUN(ctx, dim3(tiles, tiles), THREADS, 0, unpad_kernel, S, X));
    }
    return CMG_OK;
}

cmg_status cmgi_cuda_invert(cmg_context *ctx, cmg_size n, double largest, double *X, bool *definite)
{
    const size_t bytes = (size_t)(n * n) * sizeof *X;
    double *there = NULL;
    cmgi_scratch scratch(ctx);
    CMGI_TRY(scratch.take(n * n, &there));
    CMGI_TRY(cmgi_to_device(ctx, there, X, bytes));
    CMGI_TRY(cmgi_cuda_invert_there(ctx, n, largest, there, definite));
    if (*definite) {
        CMGI_TRY(cmgi_to_host(ctx, X, there, bytes));
    }
    return CMG_OK;
}
