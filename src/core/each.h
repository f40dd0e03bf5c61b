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
 * kernel in the context's stream over arrays on the device. Seven forms:
 *
 *   CMGI_EACH_INDEX(name, args)   one thread an index i
 *   CMGI_EACH_ROW(name, args)     eight lanes a row i on the device, for loops over its entries
 *   CMGI_COUNT_INDEX(name, args)  bodies return a bool, and name(..., &count) how many are true;
 *   CMGI_COUNT_ROW(name, args)    the host waits for the count, unless `count` is NULL
 *   CMGI_EACH_BUSY(name, args, wanted)
 *   CMGI_COUNT_BUSY(name, args, wanted)  the rows for which `wanted`, an expression of a and i, is
 *                                 true: eight lanes take one after the other where they are few
 *   CMGI_SUM_INDEX(name, args)    bodies return a cmgi_pair, and a.sums gets the sums of 256 each
 *
 * In a body, `a` is the struct. In those of rows each lane goes its own way through the
 * entries, from `lane` on in steps of CMGI_STEP (0 and 1 on the host). All lanes of a warp come to
 * the functions below together, also those past the last row, for which `real` is false: they have
 * no entries and store nothing. `lane == 0` stores what a row has once. Sums have the same bits on
 * both sides.
 */
#pragma once
#include "core/lanes.h"
#ifdef __cplusplus
extern "C" {
#include "core/place.h"
}
#else
#include "core/backend.h"
#include "core/place.h"
#endif

/* The rows that are wanted, for the forms that ask. */
#define CMGI_WANTED(name, args, wanted)                                                            \
    CMGI_BODY bool name##_wanted(const args a, cmg_size i)                                         \
    {                                                                                              \
        return wanted;                                                                             \
    }

#ifdef __cplusplus /* a .cu */

enum { CMGI_EACH_THREADS = CMGI_SUM_BLOCK };

/* Adds what the threads of a block have counted; NULL = nobody asks. */
CMGI_BODY void cmgi_count_block(unsigned mine, unsigned long long *count)
{
    if (count == NULL) {
        return;
    }
    mine = cmgi_block_sum<CMGI_EACH_THREADS>(mine);
    if (threadIdx.x == 0 && mine > 0) {
        atomicAdd(count, (unsigned long long)mine);
    }
}

/* The rows of a warp, 32 that follow each other, which have something to do: each thread says so of
 * one, then eight lanes take one after the other. */
struct cmgi_busy {
    cmg_size first;
    unsigned left;
    cmg_size i; /* of the lane's eight; no such row: !real */
    bool real;

    __device__ __forceinline__ cmgi_busy(cmg_size own, bool wanted)
        : first(own - threadIdx.x % CMGI_WARP), left(__ballot_sync(CMGI_ALL, wanted)), i(0),
          real(false)
    {
    }
    /* The next four; false: there are none. */
    __device__ __forceinline__ bool next()
    {
        unsigned mine = left;
        for (int g = (int)threadIdx.x % CMGI_WARP / CMGI_LANES; g > 0; --g) {
            mine &= mine - 1;
        }
        const bool any = left != 0;
        real = mine != 0;
        i = first + (real ? __ffs((int)mine) - 1 : 0);
        for (int g = 0; g < CMGI_WARP / CMGI_LANES; ++g) {
            left &= left - 1;
        }
        return any;
    }
};

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
        cmg_status status = count != NULL ? cmgi_count_open(ctx, &counter) : CMG_OK;               \
        if (status == CMG_OK && n > 0) {                                                           \
            name##_kernel<<<CMGI_EACH_GRID(n *(lanes))>>>(*a, n, counter);                         \
            status = CMGI_LAUNCHED(ctx);                                                           \
        }                                                                                          \
        return count != NULL ? cmgi_count_close(ctx, status, counter, count) : status;             \
    }

#define CMGI_EACH_INDEX(name, args)                                                                \
    CMGI_BODY void name##_body(const args &a, cmg_size i);                                         \
    static __global__ void __launch_bounds__(CMGI_EACH_THREADS)                                    \
        name##_kernel(const __grid_constant__ args a, cmg_size n)                                  \
    {                                                                                              \
        const cmg_size i = CMGI_EACH_THREAD;                                                       \
        if (i < n) {                                                                               \
            name##_body(a, i);                                                                     \
        }                                                                                          \
    }                                                                                              \
    CMGI_EACH_LAUNCHER(name, args, 1)                                                              \
    CMGI_BODY void name##_body(const args &a, cmg_size i)

#define CMGI_EACH_ROW(name, args)                                                                  \
    CMGI_BODY void name##_body(const args &a, cmg_size i, int lane, bool real);                    \
    static __global__ void __launch_bounds__(CMGI_EACH_THREADS)                                    \
        name##_kernel(const __grid_constant__ args a, cmg_size n)                                  \
    {                                                                                              \
        const cmg_size i = CMGI_EACH_THREAD / CMGI_LANES;                                          \
        name##_body(a, i, cmgi_lane(), i < n);                                                     \
    }                                                                                              \
    CMGI_EACH_LAUNCHER(name, args, CMGI_LANES)                                                     \
    CMGI_BODY void name##_body(const args &a, cmg_size i, int lane, bool real)

#define CMGI_COUNT_INDEX(name, args)                                                               \
    CMGI_BODY bool name##_body(const args &a, cmg_size i);                                         \
    static __global__ void __launch_bounds__(CMGI_EACH_THREADS)                                    \
        name##_kernel(const __grid_constant__ args a, cmg_size n, unsigned long long *count)       \
    {                                                                                              \
        const cmg_size i = CMGI_EACH_THREAD;                                                       \
        cmgi_count_block(i < n && name##_body(a, i) ? 1 : 0, count);                               \
    }                                                                                              \
    CMGI_COUNT_LAUNCHER(name, args, 1)                                                             \
    CMGI_BODY bool name##_body(const args &a, cmg_size i)

#define CMGI_COUNT_ROW(name, args)                                                                 \
    CMGI_BODY bool name##_body(const args &a, cmg_size i, int lane, bool real);                    \
    static __global__ void __launch_bounds__(CMGI_EACH_THREADS)                                    \
        name##_kernel(const __grid_constant__ args a, cmg_size n, unsigned long long *count)       \
    {                                                                                              \
        const cmg_size i = CMGI_EACH_THREAD / CMGI_LANES;                                          \
        const int lane = cmgi_lane();                                                              \
        const bool yes = name##_body(a, i, lane, i < n);                                           \
        cmgi_count_block(yes &&lane == 0 && i < n ? 1 : 0, count);                                 \
    }                                                                                              \
    CMGI_COUNT_LAUNCHER(name, args, CMGI_LANES)                                                    \
    CMGI_BODY bool name##_body(const args &a, cmg_size i, int lane, bool real)

#define CMGI_SUM_INDEX(name, args)                                                                 \
    CMGI_BODY cmgi_pair name##_body(const args &a, cmg_size i);                                    \
    static __global__ void __launch_bounds__(CMGI_EACH_THREADS)                                    \
        name##_kernel(const __grid_constant__ args a, cmg_size n)                                  \
    {                                                                                              \
        const cmg_size i = CMGI_EACH_THREAD;                                                       \
        cmgi_pair own = {{0, 0}};                                                                  \
        if (i < n) {                                                                               \
            own = name##_body(a, i);                                                               \
        }                                                                                          \
        cmgi_block_total(own, a.sums);                                                             \
    }                                                                                              \
    CMGI_EACH_LAUNCHER(name, args, 1)                                                              \
    CMGI_BODY cmgi_pair name##_body(const args &a, cmg_size i)

#define CMGI_EACH_BUSY(name, args, wanted)                                                         \
    CMGI_BODY void name##_body(const args &a, cmg_size i, int lane, bool real);                    \
    CMGI_WANTED(name, args, wanted)                                                                \
    static __global__ void __launch_bounds__(CMGI_EACH_THREADS)                                    \
        name##_kernel(const __grid_constant__ args a, cmg_size n)                                  \
    {                                                                                              \
        const cmg_size own = CMGI_EACH_THREAD;                                                     \
        cmgi_busy todo(own, own < n && name##_wanted(a, own));                                     \
        while (todo.next()) {                                                                      \
            name##_body(a, todo.i, cmgi_lane(), todo.real);                                        \
        }                                                                                          \
    }                                                                                              \
    CMGI_EACH_LAUNCHER(name, args, 1)                                                              \
    CMGI_BODY void name##_body(const args &a, cmg_size i, int lane, bool real)

#define CMGI_COUNT_BUSY(name, args, wanted)                                                        \
    CMGI_BODY bool name##_body(const args &a, cmg_size i, int lane, bool real);                    \
    CMGI_WANTED(name, args, wanted)                                                                \
    static __global__ void __launch_bounds__(CMGI_EACH_THREADS)                                    \
        name##_kernel(const __grid_constant__ args a, cmg_size n, unsigned long long *count)       \
    {                                                                                              \
        const int lane = cmgi_lane();                                                              \
        const cmg_size own = CMGI_EACH_THREAD;                                                     \
        cmgi_busy todo(own, own < n && name##_wanted(a, own));                                     \
        unsigned mine = 0;                                                                         \
        while (todo.next()) {                                                                      \
            const bool yes = name##_body(a, todo.i, lane, todo.real);                              \
            mine += yes && lane == 0 && todo.real ? 1 : 0;                                         \
        }                                                                                          \
        cmgi_count_block(mine, count);                                                             \
    }                                                                                              \
    CMGI_COUNT_LAUNCHER(name, args, 1)                                                             \
    CMGI_BODY bool name##_body(const args &a, cmg_size i, int lane, bool real)

#else

/* Fewer rows are one thread's. */
enum { CMGI_EACH_FEW = 1024 };

static inline int cmgi_each_threads(const cmg_context *ctx, cmg_size n)
{
    return n > CMGI_EACH_FEW ? ctx->threads : 1;
}

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
        if (count != NULL) {                                                                       \
            *count = found;                                                                        \
        }                                                                                          \
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

#define CMGI_SUM_INDEX(name, args)                                                                 \
    CMGI_BODY cmgi_pair name##_body(const args a, cmg_size i);                                     \
    CMGI_BODY void name##_block(const args *a, cmg_size first, cmg_size n)                         \
    {                                                                                              \
        cmgi_pair term[CMGI_SUM_BLOCK] = {{{0}}};                                                  \
        for (cmg_size i = first; i < n && i < first + CMGI_SUM_BLOCK; ++i) {                       \
            term[i - first] = name##_body(*a, i);                                                  \
        }                                                                                          \
        a->sums[first / CMGI_SUM_BLOCK] = cmgi_block_total(term);                                  \
    }                                                                                              \
    CMGI_EACH_LOOP(                                                                                \
        name, args, if (i % CMGI_SUM_BLOCK == 0) { name##_block(&a, i, n); })                      \
    CMGI_BODY cmgi_pair name##_body(const args a, cmg_size i)

#define CMGI_EACH_BUSY(name, args, wanted)                                                         \
    CMGI_BODY void name##_body(const args a, cmg_size i, int lane, bool real);                     \
    CMGI_WANTED(name, args, wanted)                                                                \
    CMGI_EACH_LOOP(                                                                                \
        name, args, if (name##_wanted(a, i)) { name##_body(a, i, 0, true); })                      \
    CMGI_BODY void name##_body(const args a, cmg_size i, int lane, bool real)

#define CMGI_COUNT_BUSY(name, args, wanted)                                                        \
    CMGI_BODY bool name##_body(const args a, cmg_size i, int lane, bool real);                     \
    CMGI_WANTED(name, args, wanted)                                                                \
    CMGI_COUNT_LOOP(name, args, name##_wanted(a, i) && name##_body(a, i, 0, true))                 \
    CMGI_BODY bool name##_body(const args a, cmg_size i, int lane, bool real)
#endif
