/*
 * One body a row for both compilers. X.inc has the bodies, each behind the line that says how it is
 * looped; X.c includes it and has the functions, X.cu includes it and has the kernels:
 *
 *     typedef struct scaling { const double *d; double *x; } scaling;
 *     CMGI_EACH_INDEX(scale, scaling)
 *     {
 *         a.x[i] *= a.d[i];
 *     }
 *
 * is  scale(ctx, at, n, &(scaling){d, x})  for i < n: an OpenMP loop over arrays on the host, a
 * kernel in the context's stream over arrays on the device. Four forms:
 *
 *   CMGI_EACH_INDEX(name, args)   one thread an index i
 *   CMGI_EACH_ROW(name, args)     eight lanes a row i on the device, for loops over its entries
 *   CMGI_COUNT_INDEX(name, args)  bodies return a bool, and name(..., &count) how many are true;
 *   CMGI_COUNT_ROW(name, args)    the host waits for the count
 *
 * In a body, `a` is a copy of the struct. In those of rows each lane goes its own way through the
 * entries, from `lane` on in steps of CMGI_STEP (0 and 1 on the host). All lanes of a warp come to
 * the functions below together, also those past the last row, for which `real` is false: they have
 * no entries and store nothing. `lane == 0` stores what a row has once. Sums have the same bits on
 * both sides.
 */
#pragma once
#include "core/inline.h"
#ifdef __cplusplus
#include "core/cuda.cuh"
extern "C" {
#include "core/place.h"
}
#else
#include "core/backend.h"
#include "core/place.h"
#endif

/* Lanes of a row; entry e of a row is added to part e mod 8 of a sum, on the host too. */
enum { CMGI_LANES = 8 };

#ifdef __cplusplus /* a .cu */

enum { CMGI_STEP = CMGI_LANES, CMGI_EACH_THREADS = 256 };

/* Of functions that bodies call and that exchange between lanes; others are CMGI_INLINE. */
#define CMGI_BODY static __device__ __forceinline__

typedef struct cmgi_row_sum {
    double part; /* of this lane */
} cmgi_row_sum;

/* Adds what entry e of the row gives. */
CMGI_BODY void cmgi_row_add(cmgi_row_sum *s, cmg_size e, double value)
{
    (void)e;
    s->part += value;
}

/* The sum, in all lanes. */
CMGI_BODY double cmgi_row_total(const cmgi_row_sum *s)
{
    double sum = s->part;
#pragma unroll
    for (int d = CMGI_LANES / 2; d > 0; d >>= 1) {
        sum += __shfl_xor_sync(CMGI_ALL, sum, d);
    }
    return sum;
}

CMGI_BODY double cmgi_row_largest(double x)
{
#pragma unroll
    for (int d = CMGI_LANES / 2; d > 0; d >>= 1) {
        x = fmax(x, __shfl_xor_sync(CMGI_ALL, x, d));
    }
    return x;
}

/* Which lanes of the row say yes, the first in bit 0. */
CMGI_BODY unsigned cmgi_row_votes(bool yes)
{
    return __ballot_sync(CMGI_ALL, yes) >> (threadIdx.x % CMGI_WARP / CMGI_LANES * CMGI_LANES) &
           0xffU;
}

/* Whether any lane does. */
CMGI_BODY bool cmgi_row_any(bool yes)
{
    return cmgi_row_votes(yes) != 0;
}

/* How many lanes do, and how many of them come before this one. */
CMGI_BODY int cmgi_row_count(bool yes, int *before)
{
    const unsigned votes = cmgi_row_votes(yes);
    *before = __popc(votes & ((1U << (threadIdx.x % CMGI_LANES)) - 1));
    return __popc(votes);
}

/* Whether a lane of the warp has more to do: loops with exchanges end together. */
CMGI_BODY bool cmgi_warp_goes_on(bool more)
{
    return __any_sync(CMGI_ALL, more);
}

/* Adds what the threads of a block have counted. */
CMGI_BODY void cmgi_count_block(bool yes, unsigned long long *count)
{
    const unsigned mine = cmgi_block_sum<CMGI_EACH_THREADS>(yes ? 1U : 0U);
    if (threadIdx.x == 0 && mine > 0) {
        atomicAdd(count, (unsigned long long)mine);
    }
}

static inline cmg_status cmgi_count_open(cmg_context *ctx, unsigned long long **counter)
{
    CMGI_TRY(cmgi_alloc_device(ctx, 1, sizeof **counter, counter));
    return cmgi_cuda_clear(ctx, *counter, sizeof **counter);
}

static inline cmg_status cmgi_count_close(cmg_context *ctx, cmg_status status,
                                          unsigned long long *counter, cmg_size *count)
{
    unsigned long long found = 0;
    if (status == CMG_OK) {
        status = cmgi_to_host(ctx, &found, counter, sizeof found);
    }
    cmgi_free_device(ctx, counter);
    *count = (cmg_size)found;
    return status;
}

#define CMGI_EACH_GRID(threads)                                                                    \
    cmgi_grid((threads), CMGI_EACH_THREADS), CMGI_EACH_THREADS, 0, cmgi_stream(ctx)
#define CMGI_EACH_THREAD ((cmg_size)blockIdx.x * CMGI_EACH_THREADS + threadIdx.x)

/* The launch of kernel(*a, n), for `lanes` threads an index. */
#define CMGI_EACH_LAUNCHER(name, args, lanes)                                                      \
    extern "C" cmg_status cmgi_##name##_device(cmg_context *ctx, cmg_size n, const args *a)        \
    {                                                                                              \
        CMGI_ON_DEVICE(ctx);                                                                       \
        if (n == 0) {                                                                              \
            return CMG_OK;                                                                         \
        }                                                                                          \
        name##_kernel<<<CMGI_EACH_GRID(n *(lanes))>>>(*a, n);                                      \
        return CMGI_LAUNCHED(ctx);                                                                 \
    }
#define CMGI_COUNT_LAUNCHER(name, args, lanes)                                                     \
    extern "C" cmg_status cmgi_##name##_device(cmg_context *ctx, cmg_size n, const args *a,        \
                                               cmg_size *count)                                    \
    {                                                                                              \
        CMGI_ON_DEVICE(ctx);                                                                       \
        unsigned long long *counter = NULL;                                                        \
        cmg_status status = cmgi_count_open(ctx, &counter);                                        \
        if (status == CMG_OK && n > 0) {                                                           \
            name##_kernel<<<CMGI_EACH_GRID(n *(lanes))>>>(*a, n, counter);                         \
            status = CMGI_LAUNCHED(ctx);                                                           \
        }                                                                                          \
        return cmgi_count_close(ctx, status, counter, count);                                      \
    }

#define CMGI_EACH_INDEX(name, args)                                                                \
    CMGI_BODY void name##_body(const args a, cmg_size i);                                          \
    static __global__ void __launch_bounds__(CMGI_EACH_THREADS)                                    \
        name##_kernel(const args a, cmg_size n)                                                    \
    {                                                                                              \
        const cmg_size i = CMGI_EACH_THREAD;                                                       \
        if (i < n) {                                                                               \
            name##_body(a, i);                                                                     \
        }                                                                                          \
    }                                                                                              \
    CMGI_EACH_LAUNCHER(name, args, 1)                                                              \
    CMGI_BODY void name##_body(const args a, cmg_size i)

#define CMGI_EACH_ROW(name, args)                                                                  \
    CMGI_BODY void name##_body(const args a, cmg_size i, int lane, bool real);                     \
    static __global__ void __launch_bounds__(CMGI_EACH_THREADS)                                    \
        name##_kernel(const args a, cmg_size n)                                                    \
    {                                                                                              \
        const cmg_size i = CMGI_EACH_THREAD / CMGI_LANES;                                          \
        name##_body(a, i, (int)(threadIdx.x % CMGI_LANES), i < n);                                 \
    }                                                                                              \
    CMGI_EACH_LAUNCHER(name, args, CMGI_LANES)                                                     \
    CMGI_BODY void name##_body(const args a, cmg_size i, int lane, bool real)

#define CMGI_COUNT_INDEX(name, args)                                                               \
    CMGI_BODY bool name##_body(const args a, cmg_size i);                                          \
    static __global__ void __launch_bounds__(CMGI_EACH_THREADS)                                    \
        name##_kernel(const args a, cmg_size n, unsigned long long *count)                         \
    {                                                                                              \
        const cmg_size i = CMGI_EACH_THREAD;                                                       \
        cmgi_count_block(i < n && name##_body(a, i), count);                                       \
    }                                                                                              \
    CMGI_COUNT_LAUNCHER(name, args, 1)                                                             \
    CMGI_BODY bool name##_body(const args a, cmg_size i)

#define CMGI_COUNT_ROW(name, args)                                                                 \
    CMGI_BODY bool name##_body(const args a, cmg_size i, int lane, bool real);                     \
    static __global__ void __launch_bounds__(CMGI_EACH_THREADS)                                    \
        name##_kernel(const args a, cmg_size n, unsigned long long *count)                         \
    {                                                                                              \
        const cmg_size i = CMGI_EACH_THREAD / CMGI_LANES;                                          \
        const int lane = (int)(threadIdx.x % CMGI_LANES);                                          \
        const bool yes = name##_body(a, i, lane, i < n);                                           \
        cmgi_count_block(yes &&lane == 0 && i < n, count);                                         \
    }                                                                                              \
    CMGI_COUNT_LAUNCHER(name, args, CMGI_LANES)                                                    \
    CMGI_BODY bool name##_body(const args a, cmg_size i, int lane, bool real)

#else

/* Fewer rows are one thread's. */
enum { CMGI_STEP = 1, CMGI_EACH_FEW = 1024 };

static inline int cmgi_each_threads(const cmg_context *ctx, cmg_size n)
{
    return n > CMGI_EACH_FEW ? ctx->threads : 1;
}

#define CMGI_BODY static inline

typedef struct cmgi_row_sum {
    double part[CMGI_LANES];
} cmgi_row_sum;

CMGI_BODY void cmgi_row_add(cmgi_row_sum *s, cmg_size e, double value)
{
    s->part[e % CMGI_LANES] += value;
}

/* In the order in which lanes exchange; spoils the parts. */
CMGI_BODY double cmgi_row_total(cmgi_row_sum *s)
{
    for (int d = CMGI_LANES / 2; d > 0; d /= 2) {
        for (int p = 0; p < d; ++p) {
            s->part[p] += s->part[p + d];
        }
    }
    return s->part[0];
}

CMGI_BODY double cmgi_row_largest(double x)
{
    return x;
}

CMGI_BODY bool cmgi_row_any(bool yes)
{
    return yes;
}

CMGI_BODY int cmgi_row_count(bool yes, int *before)
{
    *before = 0;
    return yes;
}

CMGI_BODY bool cmgi_warp_goes_on(bool more)
{
    return more;
}

#define CMGI_PRAGMA(text) _Pragma(#text)

/* The function name(ctx, at, n, &a): the kernel's launch, or the loop with `call` in it. */
#define CMGI_EACH_LOOP(name, args, call)                                                           \
    cmg_status cmgi_##name##_device(cmg_context *ctx, cmg_size n, const args *given);              \
    static cmg_status name(cmg_context *ctx, cmgi_place at, cmg_size n, const args *given)         \
    {                                                                                              \
        static cmg_status (*const device)(cmg_context *, cmg_size, const args *) =                 \
            CMGI_CUDA_FN(cmgi_##name##_device);                                                    \
        const int threads = cmgi_each_threads(ctx, n);                                             \
        const args a = *given;                                                                     \
        if (at == CMGI_DEVICE && device != NULL) {                                                 \
            return device(ctx, n, given);                                                          \
        }                                                                                          \
        (void)threads;                                                                             \
        CMGI_PRAGMA(omp parallel for num_threads(threads) schedule(static))                        \
        for (cmg_size i = 0; i < n; ++i) {                                                         \
            call;                                                                                  \
        }                                                                                          \
        return CMG_OK;                                                                             \
    }
#define CMGI_COUNT_LOOP(name, args, call)                                                          \
    cmg_status cmgi_##name##_device(cmg_context *ctx, cmg_size n, const args *given,               \
                                    cmg_size *count);                                              \
    static cmg_status name(cmg_context *ctx, cmgi_place at, cmg_size n, const args *given,         \
                           cmg_size *count)                                                        \
    {                                                                                              \
        static cmg_status (*const device)(cmg_context *, cmg_size, const args *, cmg_size *) =     \
            CMGI_CUDA_FN(cmgi_##name##_device);                                                    \
        const int threads = cmgi_each_threads(ctx, n);                                             \
        const args a = *given;                                                                     \
        cmg_size found = 0;                                                                        \
        if (at == CMGI_DEVICE && device != NULL) {                                                 \
            return device(ctx, n, given, count);                                                   \
        }                                                                                          \
        (void)threads;                                                                             \
        CMGI_PRAGMA(omp parallel for num_threads(threads) schedule(static) reduction(+ : found))   \
        for (cmg_size i = 0; i < n; ++i) {                                                         \
            found += (call);                                                                       \
        }                                                                                          \
        *count = found;                                                                            \
        return CMG_OK;                                                                             \
    }

#define CMGI_EACH_INDEX(name, args)                                                                \
    CMGI_BODY void name##_body(const args a, cmg_size i);                                          \
    CMGI_EACH_LOOP(name, args, name##_body(a, i))                                                  \
    CMGI_BODY void name##_body(const args a, cmg_size i)

#define CMGI_EACH_ROW(name, args)                                                                  \
    CMGI_BODY void name##_body(const args a, cmg_size i, int lane, bool real);                     \
    CMGI_EACH_LOOP(name, args, name##_body(a, i, 0, true))                                         \
    CMGI_BODY void name##_body(const args a, cmg_size i, int lane, bool real)

#define CMGI_COUNT_INDEX(name, args)                                                               \
    CMGI_BODY bool name##_body(const args a, cmg_size i);                                          \
    CMGI_COUNT_LOOP(name, args, name##_body(a, i))                                                 \
    CMGI_BODY bool name##_body(const args a, cmg_size i)

#define CMGI_COUNT_ROW(name, args)                                                                 \
    CMGI_BODY bool name##_body(const args a, cmg_size i, int lane, bool real);                     \
    CMGI_COUNT_LOOP(name, args, name##_body(a, i, 0, true))                                        \
    CMGI_BODY bool name##_body(const args a, cmg_size i, int lane, bool real)
#endif
