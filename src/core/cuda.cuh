/*
 * What the .cu files share: state of the device, checks, launch geometry, loads with cache hints,
 * sums over warps and blocks in a fixed order.
 */
#pragma once
#include <assert.h>
#include <cuda_runtime.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <type_traits>
#ifdef _OPENMP
#include <omp.h>
#endif

extern "C" {
#include "core/backend.h"
#include "core/feed.h"
}

/* Lanes of a warp, and the mask of all of them. */
enum { CMGI_WARP = 32 };
static const unsigned CMGI_ALL = 0xffffffffU;

/* An array on the device and its size, so that frees can be accounted for. */
typedef struct cmgi_device_block {
    void *p;
    size_t bytes;
} cmgi_device_block;

/* Freed small arrays of one size, which the next allocations take: the calls of CUDA for them would
 * take longer than many a kernel. */
enum { CMGI_SPARE_SIZES = 12, CMGI_SPARES = 32 };
typedef struct cmgi_spares {
    int count;
    void *p[CMGI_SPARES];
} cmgi_spares;

/* A stream beside that of a context. */
typedef struct cmgi_side {
    cudaStream_t main;
    cudaStream_t side;
    cudaEvent_t forked;
    cudaEvent_t joined;
} cmgi_side;

typedef struct cmgi_device {
    int number;          /* CUDA device */
    int processors;      /* multiprocessors */
    bool early;          /* launches may overlap (cmgi_launch) */
    cudaStream_t stream; /* all work of the context */
    bool own_stream;
    cmgi_side side;      /* what may run beside that */
    cudaMemPool_t pool;  /* NULL where the device has no memory pools */
    uint64_t pool_keeps; /* of what is freed */
    bool held;           /* it gives nothing back */
    cmgi_device_block *blocks;
    size_t nblocks;
    size_t capacity;
    cmgi_spares spare[CMGI_SPARE_SIZES]; /* of 256, 512, ... bytes, in stream order */
    struct cmgi_staging *staging;        /* NULL until it is needed */
    char *letter;                        /* pinned host memory for what the host reads; or NULL */
    cudaGraph_t recording;               /* a graph with a loop while it is recorded, else NULL */
    const cmgi_stop *tests;              /* of the columns in the loop, on the device */
    int ntests;                          /* columns */
    unsigned long long loop_condition;   /* its cudaGraphConditionalHandle */
    cudaGraphNode_t loop_node;
    cudaEvent_t *marks;
    int nmarks;
} cmgi_device;

static inline cmgi_device *cmgi_device_of(const cmg_context *ctx)
{
    return (cmgi_device *)ctx->device;
}

static inline cudaStream_t cmgi_stream(const cmg_context *ctx)
{
    return cmgi_device_of(ctx)->stream;
}

/*
 * Makes the context's device current for the calling thread, and gives the old one back at the end
 * of the block: the caller may work on several devices. An error that the program has left behind
 * is looked for first: the launches of the block could not be told from it.
 */
struct cmgi_device_guard {
    explicit cmgi_device_guard(cmg_context *ctx);
    ~cmgi_device_guard();
    cmg_status status() const; /* CMG_OK: the device is current */
    cmgi_device_guard(const cmgi_device_guard &) = delete;
    cmgi_device_guard &operator=(const cmgi_device_guard &) = delete;

  private:
    cmg_context *ctx_;
    int before_;
    bool moved_;
    cudaError_t left_;  /* by the program */
    cudaError_t error_; /* of this change of device */
};

/* The guard of a function that returns a status. */
#define CMGI_ON_DEVICE(ctx)                                                                        \
    const cmgi_device_guard cmgi_guard_(ctx);                                                      \
    CMGI_TRY(cmgi_guard_.status())

/* Stores what CUDA reported and returns CMG_ERR_DEVICE, or CMG_ERR_MEMORY when memory ran out. The
 * error was ours, so it is taken from the runtime, unless it sticks. */
cmg_status cmgi_cuda_failed(cmg_context *ctx, cudaError_t error, const char *what);
/* What the last launch reported, or a call before it; it stays. */
cudaError_t cmgi_cuda_pending(void);
/* A failure that changes nothing, in a clean-up or where there is another way: taken likewise. */
void cmgi_cuda_ignore(cudaError_t error);

/* Passes a CUDA failure up as a status. */
#define CMGI_CUDA(ctx, call)                                                                       \
    do {                                                                                           \
        const cudaError_t cmgi_error_ = (call);                                                    \
        if (cmgi_error_ != cudaSuccess) {                                                          \
            return cmgi_cuda_failed((ctx), cmgi_error_, #call);                                    \
        }                                                                                          \
    } while (0)

/* Passes it up as it is. */
#define CMGI_CUDA_TRY(call)                                                                        \
    do {                                                                                           \
        const cudaError_t cmgi_error_ = (call);                                                    \
        if (cmgi_error_ != cudaSuccess) {                                                          \
            return cmgi_error_;                                                                    \
        }                                                                                          \
    } while (0)

/* After every launch: the launch error; in debug builds also what the kernel itself did. */
cmg_status cmgi_launched(cmg_context *ctx, const char *what);
#define CMGI_LAUNCHED(ctx) cmgi_launched((ctx), __func__)

/* Its work comes first where both have some, if it is `urgent`. */
cmg_status cmgi_side_open(cmg_context *ctx, bool urgent, cmgi_side *s);
void cmgi_side_close(cmgi_side *s); /* also of a failed open */
/* What goes to the side stream comes after all that is in the context's, and after joining before
 * what follows there. */
cmg_status cmgi_side_fork(cmg_context *ctx, cmgi_side *s);
cmg_status cmgi_side_join(cmg_context *ctx, cmgi_side *s);

/* Bytes of zeros, in stream order. */
static inline cmg_status cmgi_cuda_clear(cmg_context *ctx, void *p, size_t bytes)
{
    if (bytes > 0) {
        CMGI_CUDA(ctx, cudaMemsetAsync(p, 0, bytes, cmgi_stream(ctx)));
    }
    return CMG_OK;
}

/* Arrays on the device that are freed at the end of the block; functions that make some take it as
 * an argument. */
struct cmgi_scratch {
    explicit cmgi_scratch(cmg_context *ctx) : ctx_(ctx), count_(0)
    {
    }
    ~cmgi_scratch()
    {
        while (count_ > 0) {
            cmgi_free_device(ctx_, p_[--count_]);
        }
    }
    cmgi_scratch(const cmgi_scratch &) = delete;
    cmgi_scratch &operator=(const cmgi_scratch &) = delete;

    template <typename T>
    cmg_status take(cmg_size n, T **p)
    {
        assert(count_ < MOST);
        CMGI_TRY(cmgi_alloc_device(ctx_, n, sizeof **p, p));
        p_[count_++] = *p;
        return CMG_OK;
    }
    /* The same, filled with zeros. */
    template <typename T>
    cmg_status take_zero(cmg_size n, T **p)
    {
        CMGI_TRY(take(n, p));
        return cmgi_cuda_clear(ctx_, *p, (size_t)n * sizeof **p);
    }

  private:
    enum { MOST = 16 };
    cmg_context *ctx_;
    int count_;
    void *p_[MOST];
};

/* Calls f at the end of the block. */
template <typename F>
struct cmgi_at_end {
    F f;
    ~cmgi_at_end()
    {
        f();
    }
};
template <typename F>
cmgi_at_end(F) -> cmgi_at_end<F>;

/*
 * In every kernel that cmgi_launch starts, before it touches memory: waits until what came before
 * in the stream has ended, and lets the next kernel come as far as here. So the time that a launch
 * takes, about 2 us of a chain of small kernels, passes beside the kernel before it (programmatic
 * dependent launch, CUDA C++ Programming Guide). A kernel without it is never launched early.
 */
__device__ __forceinline__ void cmgi_after_previous()
{
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;\n\tgriddepcontrol.wait;" ::: "memory");
#endif
}

/*
 * Copies 4 or 8 bytes into shared memory beside what the thread does meanwhile. cmgi_fetched ends a
 * group of them; after cmgi_await_fetched<N> all groups but the last N are there for this thread
 * (cp.async, CUDA C++ Programming Guide).
 */
template <typename T>
__device__ __forceinline__ void cmgi_fetch(T *shared, const T *from)
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(
                     (unsigned)__cvta_generic_to_shared(shared)),
                 "l"(from), "n"(sizeof(T))
                 : "memory");
#else
    *shared = *from;
#endif
}
__device__ __forceinline__ void cmgi_fetched()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <int N>
__device__ __forceinline__ void cmgi_await_fetched()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
}

/* Launches a kernel that calls cmgi_after_previous(). */
template <typename... P, typename... A>
static void cmgi_launch(const cmgi_device *d, dim3 grid, dim3 block, size_t shared,
                        void (*kernel)(P...), const A &...arguments)
{
    cudaLaunchAttribute early = {};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    const cudaLaunchConfig_t config = {grid, block, shared, d->stream, &early, d->early ? 1U : 0U};
    (void)cudaLaunchKernelEx(&config, kernel, P(arguments)...); /* CMGI_LAUNCHED sees its error */
}

/*
 * A launch into the context's stream, and the look after it: a status. CMGI_RUN(ctx, grid, block,
 * bytes of shared memory, kernel, arguments...); _EARLY is for kernels that call
 * cmgi_after_previous(). Without a block there is no launch.
 */
#define CMGI_RUN(ctx, ...) cmgi_run<false>((ctx), __func__, __VA_ARGS__)
#define CMGI_RUN_EARLY(ctx, ...) cmgi_run<true>((ctx), __func__, __VA_ARGS__)
template <bool EARLY, typename... P, typename... A>
static cmg_status cmgi_run(cmg_context *ctx, const char *what, dim3 grid, dim3 block, size_t shared,
                           void (*kernel)(P...), const A &...arguments)
{
    if (grid.x == 0) {
        return CMG_OK;
    }
    if constexpr (EARLY) {
        cmgi_launch(cmgi_device_of(ctx), grid, block, shared, kernel, arguments...);
    } else {
        kernel<<<grid, block, shared, cmgi_stream(ctx)>>>(arguments...);
    }
    return cmgi_launched(ctx, what);
}

/* Blocks of `block` threads that cover n. */
static inline unsigned cmgi_grid(cmg_size n, int block)
{
    return (unsigned)((n + block - 1) / block);
}

/* Values and columns are read once: they pass through the cache without driving out x. */
template <typename T>
__device__ __forceinline__ T cmgi_load_once(const T *p)
{
    return __ldcs(p);
}

/* Begins to copy a number to shared memory, where it is after cmgi_copied() and a barrier: a thread
 * that copies many waits for memory once. */
template <typename T>
__device__ __forceinline__ void cmgi_copy_begin(T *to, const T *from)
{
#if __CUDA_ARCH__ >= 800
    asm volatile(
        "cp.async.ca.shared.global [%0], [%1], %2;" ::"r"((unsigned)__cvta_generic_to_shared(to)),
        "l"(from), "n"(sizeof(T))
        : "memory");
#else
    *to = *from;
#endif
}

__device__ __forceinline__ void cmgi_copied()
{
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/* c += a b, 8 x 4 by 4 x 8: a of row lane / 4, column lane % 4; b of row lane % 4, column lane / 4;
 * c of row lane / 4, columns 2 (lane % 4) and the next. */
__device__ __forceinline__ void cmgi_multiply_tile(double &c0, double &c1, double a, double b)
{
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(c0), "+d"(c1)
        : "d"(a), "d"(b));
#else
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const double mine = __shfl_sync(0xffffffffU, a, lane / 4 * 4 + k);
        c0 += mine * __shfl_sync(0xffffffffU, b, 2 * (lane % 4) * 4 + k);
        c1 += mine * __shfl_sync(0xffffffffU, b, (2 * (lane % 4) + 1) * 4 + k);
    }
#endif
}

/* Sum over the lanes of a warp, or of each WIDTH neighbours, in every lane, in a fixed order; all
 * 32 lanes take part. */
template <int WIDTH = CMGI_WARP, typename T>
__device__ __forceinline__ T cmgi_warp_sum(T s)
{
#pragma unroll
    for (int d = WIDTH / 2; d > 0; d >>= 1) {
        s += __shfl_xor_sync(0xffffffffU, s, d);
    }
    return s;
}

/* The largest number of the lanes, likewise. */
template <int WIDTH = CMGI_WARP, typename T>
__device__ __forceinline__ T cmgi_warp_max(T most)
{
#pragma unroll
    for (int d = WIDTH / 2; d > 0; d >>= 1) {
        const T other = __shfl_xor_sync(0xffffffffU, most, d);
        most = other > most ? other : most;
    }
    return most;
}

/*
 * Sum over the aligned group of t lanes that a lane belongs to, in every lane of the group and in a
 * fixed order. t is a power of two and may differ between groups; `most` >= every t, equal for the
 * warp. All 32 lanes take part.
 */
template <typename T>
__device__ __forceinline__ T cmgi_group_sum(T s, int t, int most)
{
    for (int d = 1; d < most; d <<= 1) {
        const T other = __shfl_xor_sync(0xffffffffU, s, d);
        s = d < t ? s + other : s;
    }
    return s;
}

/* Sum over a block of THREADS threads, valid in thread 0. */
template <int THREADS, typename T>
__device__ __forceinline__ T cmgi_block_sum(T s)
{
    static_assert(THREADS % 32 == 0 && THREADS <= 1024, "a block is 1 .. 32 whole warps");
    __shared__ T part[THREADS / 32];
    s = cmgi_warp_sum(s);
    if (threadIdx.x % 32 == 0) {
        part[threadIdx.x / 32] = s;
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        s = cmgi_warp_sum(threadIdx.x < THREADS / 32 ? part[threadIdx.x] : T(0));
    }
    return s;
}

/* Functions of the backend's table: vectors (vector_cuda.cu, reduce_cuda.cu), small dense inverses
 * (inverse_cuda.cu), large copies (staging_cuda.cu), graphs and device times (graph_cuda.cu). */
#define CMGI_CUDA_FUNCTIONS(X)                                                                     \
    X(fill)                                                                                        \
    X(convert)                                                                                     \
    X(axpby)                                                                                       \
    X(dot)                                                                                         \
    X(sum)                                                                                         \
    X(direction)                                                                                   \
    X(add_ratio)                                                                                   \
    X(jacobi_step)                                                                                 \
    X(cg_update)                                                                                   \
    X(semi_update)                                                                                 \
    X(test)                                                                                        \
    X(invert)                                                                                      \
    X(feed)                                                                                        \
    X(feed_order)                                                                                  \
    X(graph_begin)                                                                                 \
    X(graph_loop)                                                                                  \
    X(graph_after)                                                                                 \
    X(graph_end)                                                                                   \
    X(graph_launch)                                                                                \
    X(graph_destroy)                                                                               \
    X(mark_reserve)                                                                                \
    X(mark)                                                                                        \
    X(elapsed)
#define CMGI_CUDA_FUNCTION(name)                                                                   \
    std::remove_pointer_t<decltype(cmgi_backend::name)> cmgi_cuda_##name;
CMGI_CUDA_FUNCTIONS(CMGI_CUDA_FUNCTION)

enum {
    CMGI_CUDA_PARTIALS = 1024,                            /* most blocks of a reduction */
    CMGI_CUDA_ARRIVED = CMGI_CUDA_PARTIALS * CMG_COLUMNS, /* of ctx->partials: counts blocks done */
    CMGI_CUDA_LEFT = CMGI_CUDA_ARRIVED + 2, /* of ctx->partials: parts that an update leaves */
    CMGI_CUDA_SUMS = CMGI_CUDA_LEFT + CMGI_CUDA_PARTIALS /* in ctx->partials */
};
/* The direction of several columns. */
cmg_status cmgi_cuda_directions(cmg_context *ctx, cmg_size n, int k, const cmgi_direction *d);
/* A large copy from the device to the host; *fetched = false where there is no pinned memory. */
cmg_status cmgi_cuda_fetch(cmg_context *ctx, char *dst, const char *src, size_t bytes,
                           bool *fetched);
/* What has been made for large copies is freed. */
void cmgi_cuda_staging_close(cmgi_device *d);
/* As backend.invert, of X on the device; spoilt where it is not definite. */
cmg_status cmgi_cuda_invert_there(cmg_context *ctx, cmg_size n, double largest, double *X,
                                  bool *definite);
/* Waits for the stream; meanwhile pieces of what is to be sent go out. */
cmg_status cmgi_cuda_wait(cmg_context *ctx);
void cmgi_cuda_marks_free(cmg_context *ctx);
/* cudaSuccess when this build holds code for the current device; *early: code of compute capability
 * 9.0 or later, which can wait for a kernel before it. */
cudaError_t cmgi_cuda_probe(bool *early);
