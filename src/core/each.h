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

#define CMGI_EACH_ARGS(args) const args &
enum { CMGI_EACH_THREADS = CMGI_SUM_BLOCK };
#define CMGI_EACH_THREAD ((cmg_size)blockIdx.x * CMGI_EACH_THREADS + threadIdx.x)
#define CMGI_EACH_KERNEL static __global__ void __launch_bounds__(CMGI_EACH_THREADS)

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

/* The kernels of the forms; a BODY that says nothing is not counted. */
template <typename A, auto BODY>
CMGI_EACH_KERNEL cmgi_index_kernel(const __grid_constant__ A a, cmg_size n,
                                   unsigned long long *count)
{
    const cmg_size i = CMGI_EACH_THREAD;
    if constexpr (std::is_void_v<decltype(BODY(a, i))>) {
        if (i < n) {
            BODY(a, i);
        }
    } else {
        cmgi_count_block(i < n && BODY(a, i) ? 1 : 0, count);
    }
}

template <typename A, auto BODY>
CMGI_EACH_KERNEL cmgi_row_kernel(const __grid_constant__ A a, cmg_size n, unsigned long long *count)
{
    const cmg_size i = CMGI_EACH_THREAD / CMGI_LANES;
    const int lane = cmgi_lane();
    if constexpr (std::is_void_v<decltype(BODY(a, i, lane, true))>) {
        BODY(a, i, lane, i < n);
    } else {
        const bool yes = BODY(a, i, lane, i < n);
        cmgi_count_block(yes && lane == 0 && i < n ? 1 : 0, count);
    }
}

template <typename A, auto BODY, auto WANTED>
CMGI_EACH_KERNEL cmgi_busy_kernel(const __grid_constant__ A a, cmg_size n,
                                  unsigned long long *count)
{
    const int lane = cmgi_lane();
    const cmg_size own = CMGI_EACH_THREAD;
    cmgi_busy todo(own, own < n && WANTED(a, own));
    unsigned mine = 0;
    while (todo.next()) {
        if constexpr (std::is_void_v<decltype(BODY(a, own, lane, true))>) {
            BODY(a, todo.i, lane, todo.real);
        } else {
            const bool yes = BODY(a, todo.i, lane, todo.real);
            mine += yes && lane == 0 && todo.real ? 1 : 0;
        }
    }
    cmgi_count_block(mine, count);
}

template <typename A, auto BODY>
CMGI_EACH_KERNEL cmgi_sum_kernel(const __grid_constant__ A a, cmg_size n, unsigned long long *)
{
    const cmg_size i = CMGI_EACH_THREAD;
    cmgi_pair own = {{0, 0}};
    if (i < n) {
        own = BODY(a, i);
    }
    cmgi_block_total(own, a.sums);
}

/* A kernel for `threads`, and, unless `found` is NULL, what it counts. */
template <typename A, typename K>
static cmg_status cmgi_each_run(cmg_context *ctx, const char *what, cmg_size threads, cmg_size n,
                                const A *a, K *kernel, cmg_size *found)
{
    CMGI_ON_DEVICE(ctx);
    unsigned long long *count = NULL;
    unsigned long long counted = 0;
    cmgi_scratch scratch(ctx);
    CMGI_TRY(found != NULL ? scratch.take_zero(1, &count) : CMG_OK);
    CMGI_TRY(cmgi_run<false>(ctx, what, cmgi_grid(threads, CMGI_EACH_THREADS), CMGI_EACH_THREADS, 0,
                             kernel, *a, n, count));
    if (found != NULL) {
        CMGI_TRY(cmgi_to_host(ctx, &counted, count, sizeof counted));
        *found = (cmg_size)counted;
    }
    return CMG_OK;
}

/* cmgi_name_device: the launch of a kernel with a number of lanes an index. */
#define CMGI_EACH_RUN(name, args, lanes, call, ...)                                                \
    extern "C" cmg_status cmgi_##name##_device(cmg_context *ctx, cmg_size n, const args *a)        \
    {                                                                                              \
        return cmgi_each_run(ctx, __func__, n * (lanes), n, a, __VA_ARGS__, NULL);                 \
    }
#define CMGI_COUNT_RUN(name, args, lanes, call, ...)                                               \
    extern "C" cmg_status cmgi_##name##_device(cmg_context *ctx, cmg_size n, const args *a,        \
                                               cmg_size *count)                                    \
    {                                                                                              \
        return cmgi_each_run(ctx, __func__, n * (lanes), n, a, __VA_ARGS__, count);                \
    }
#define CMGI_SUM_RUN(name, args) CMGI_EACH_RUN(name, args, 1, , cmgi_sum_kernel<args, name##_body>)

#else

#define CMGI_EACH_ARGS(args) const args
/* Fewer rows are one thread's. */
enum { CMGI_EACH_FEW = 1024 };

static inline int cmgi_each_threads(const cmg_context *ctx, cmg_size n)
{
    return n > CMGI_EACH_FEW ? ctx->threads : 1;
}

/* The function name(ctx, at, n, &a): the kernel's launch, or the loop with `call` in it. */
#define CMGI_EACH_RUN(name, args, lanes, call, ...)                                                \
    cmg_status cmgi_##name##_device(cmg_context *ctx, cmg_size n, const args *given);              \
    static cmg_status name(cmg_context *ctx, cmgi_place at, cmg_size n, const args *given)         \
    {                                                                                              \
        CMGI_CUDA_ONLY(device, cmgi_##name##_device);                                              \
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
#define CMGI_COUNT_RUN(name, args, lanes, call, ...)                                               \
    cmg_status cmgi_##name##_device(cmg_context *ctx, cmg_size n, const args *given,               \
                                    cmg_size *count);                                              \
    static cmg_status name(cmg_context *ctx, cmgi_place at, cmg_size n, const args *given,         \
                           cmg_size *count)                                                        \
    {                                                                                              \
        CMGI_CUDA_ONLY(device, cmgi_##name##_device);                                              \
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
#define CMGI_SUM_RUN(name, args)                                                                   \
    CMGI_BODY void name##_block(const args *a, cmg_size first, cmg_size n)                         \
    {                                                                                              \
        cmgi_pair term[CMGI_SUM_BLOCK] = {{{0}}};                                                  \
        for (cmg_size i = first; i < n && i < first + CMGI_SUM_BLOCK; ++i) {                       \
            term[i - first] = name##_body(*a, i);                                                  \
        }                                                                                          \
        a->sums[first / CMGI_SUM_BLOCK] = cmgi_block_total(term);                                  \
    }                                                                                              \
    CMGI_EACH_RUN(                                                                                 \
        name, args, 1, if (i % CMGI_SUM_BLOCK == 0) { name##_block(&a, i, n); }, )
#endif

/* The forms: what the body is declared as, how it is run, and its head. */
#define CMGI_EACH_BODY(type, name, args)                                                           \
    CMGI_BODY type name##_body(CMGI_EACH_ARGS(args) a, cmg_size i)
#define CMGI_LANE_BODY(type, name, args)                                                           \
    CMGI_BODY type name##_body(CMGI_EACH_ARGS(args) a, cmg_size i, int lane, bool real)

#define CMGI_EACH_INDEX(name, args)                                                                \
    CMGI_EACH_BODY(void, name, args);                                                              \
    CMGI_EACH_RUN(name, args, 1, name##_body(a, i), cmgi_index_kernel<args, name##_body>)          \
    CMGI_EACH_BODY(void, name, args)
#define CMGI_COUNT_INDEX(name, args)                                                               \
    CMGI_EACH_BODY(bool, name, args);                                                              \
    CMGI_COUNT_RUN(name, args, 1, name##_body(a, i), cmgi_index_kernel<args, name##_body>)         \
    CMGI_EACH_BODY(bool, name, args)
#define CMGI_SUM_INDEX(name, args)                                                                 \
    CMGI_EACH_BODY(cmgi_pair, name, args);                                                         \
    CMGI_SUM_RUN(name, args)                                                                       \
    CMGI_EACH_BODY(cmgi_pair, name, args)
#define CMGI_EACH_ROW(name, args)                                                                  \
    CMGI_LANE_BODY(void, name, args);                                                              \
    CMGI_EACH_RUN(name, args, CMGI_LANES, name##_body(a, i, 0, true),                              \
                  cmgi_row_kernel<args, name##_body>)                                              \
    CMGI_LANE_BODY(void, name, args)
#define CMGI_COUNT_ROW(name, args)                                                                 \
    CMGI_LANE_BODY(bool, name, args);                                                              \
    CMGI_COUNT_RUN(name, args, CMGI_LANES, name##_body(a, i, 0, true),                             \
                   cmgi_row_kernel<args, name##_body>)                                             \
    CMGI_LANE_BODY(bool, name, args)
#define CMGI_EACH_BUSY(name, args, wanted)                                                         \
    CMGI_LANE_BODY(void, name, args);                                                              \
    CMGI_WANTED(name, args, wanted)                                                                \
    CMGI_EACH_RUN(                                                                                 \
        name, args, 1, if (name##_wanted(a, i)) { name##_body(a, i, 0, true); },                   \
        cmgi_busy_kernel<args, name##_body, name##_wanted>)                                        \
    CMGI_LANE_BODY(void, name, args)
#define CMGI_COUNT_BUSY(name, args, wanted)                                                        \
    CMGI_LANE_BODY(bool, name, args);                                                              \
    CMGI_WANTED(name, args, wanted)                                                                \
    CMGI_COUNT_RUN(name, args, 1, name##_wanted(a, i) && name##_body(a, i, 0, true),               \
                   cmgi_busy_kernel<args, name##_body, name##_wanted>)                             \
    CMGI_LANE_BODY(bool, name, args)
