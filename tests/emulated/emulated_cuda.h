/*
 * CUDA C on the CPU, for tests: what a translated .cu file (translate.py) needs of the device.
 *
 * A block runs on one thread of the host. Each of its CUDA threads is a fiber, which runs until it
 * has to wait: for the block (__syncthreads) or for the lanes of its warp that a mask names. What a
 * device would hang on or leave undefined is an error here, with the kernel's place: lanes that
 * never come, lanes of one mask in different operations. The order in which threads and blocks run
 * is CMG_EMULATED_ORDER (up, down or a seed): results that depend on it show a missing barrier.
 * Values in memory of the device begin as NaN, so that reads of what nobody wrote are seen.
 */
#pragma once
#include <cuda_runtime.h>
#include <cuda_fp16.h>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <sched.h>
#include <tuple>

namespace emulated
{

enum operation { SYNC, SHUFFLE, VOTE, MATCH, REDUCE };

struct shape {
    dim3 grid;
    dim3 block;
    size_t shared;
    cudaStream_t stream;
    shape(dim3 g, dim3 b, size_t s = 0, cudaStream_t t = nullptr)
        : grid(g), block(b), shared(s), stream(t)
    {
    }
};

/* What a CUDA thread knows of itself and of its block. */
struct places {
    uint3 block;
    dim3 block_dim;
    dim3 grid_dim;
};
extern thread_local const uint3 *now;
extern thread_local places around;

void *dynamic_shared();
void block_barrier();
/* Waits for the lanes of `mask`, hands each of them the value of every lane, and says who was
 * there. */
unsigned meet(unsigned mask, operation what, uint64_t value, uint64_t seen[32]);
int lane();

/* Runs or records a kernel; errors of the launch are what cudaGetLastError says. */
void run(const shape &s, std::function<void()> kernel, const char *name);

template <typename K, typename... A>
void launch(const shape &s, K kernel, A... arguments)
{
    std::tuple<A...> kept(arguments...);
    run(
        s, [kernel, kept] { std::apply(kernel, kept); }, __PRETTY_FUNCTION__);
}

/* cudaLaunchKernelEx: kernels run one after another, whether they may overlap or not. */
template <typename... P, typename... A>
cudaError_t launch_kernel(const cudaLaunchConfig_t *c, void (*kernel)(P...), A... arguments)
{
    launch(shape(c->gridDim, c->blockDim, c->dynamicSmemBytes, c->stream), kernel, P(arguments)...);
    return cudaSuccess;
}

template <typename T>
uint64_t bits(T value)
{
    static_assert(sizeof(T) <= 8, "a lane hands over eight bytes");
    uint64_t b = 0;
    std::memcpy(&b, &value, sizeof value);
    return b;
}

template <typename T>
T value_of(uint64_t b)
{
    T value;
    std::memcpy(&value, &b, sizeof value);
    return value;
}

template <typename T>
T shuffle(unsigned mask, T value, int from)
{
    uint64_t seen[32];
    const unsigned there = meet(mask, SHUFFLE, bits(value), seen);
    return (there >> (from & 31) & 1U) != 0 ? value_of<T>(seen[from & 31]) : value_of<T>(~0ULL);
}

inline unsigned vote(unsigned mask, bool yes)
{
    uint64_t seen[32];
    const unsigned there = meet(mask, VOTE, yes ? 1 : 0, seen);
    unsigned all = 0;
    for (int k = 0; k < 32; ++k) {
        all |= (there >> k & 1U) != 0 && seen[k] != 0 ? 1U << k : 0U;
    }
    return all;
}
} // namespace emulated

#define cudaLaunchKernelEx emulated::launch_kernel
#define threadIdx (*emulated::now)
#define blockIdx (emulated::around.block)
#define blockDim (emulated::around.block_dim)
#define gridDim (emulated::around.grid_dim)
#undef __shared__
#define __shared__ static thread_local
#undef __launch_bounds__
#define __launch_bounds__(...)
#undef __noinline__ /* a word of the C++ library too */

inline void __syncthreads()
{
    emulated::block_barrier();
}
inline void __syncwarp(unsigned mask = ~0U)
{
    uint64_t seen[32];
    emulated::meet(mask, emulated::SYNC, 0, seen);
}
inline void __threadfence()
{
}
/* Other threads of the host may wait for what is written, as other devices do. */
inline void __threadfence_system()
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
inline void __nanosleep(unsigned)
{
    (void)sched_yield();
}

/* A width parts the warp into runs of lanes, as on the device. */
template <typename T>
T __shfl_sync(unsigned mask, T v, int from, int width = 32)
{
    return emulated::shuffle(mask, v, (emulated::lane() & ~(width - 1)) + (from & (width - 1)));
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T v, int bits, int width = 32)
{
    const int from = emulated::lane() ^ bits;
    const bool inside = from / width <= emulated::lane() / width;
    return emulated::shuffle(mask, v, inside ? from : emulated::lane());
}
template <typename T>
T __shfl_up_sync(unsigned mask, T v, unsigned d, int width = 32)
{
    const int at = emulated::lane() & (width - 1);
    return emulated::shuffle(mask, v, emulated::lane() - (at >= (int)d ? (int)d : 0));
}
template <typename T>
T __shfl_down_sync(unsigned mask, T v, unsigned d, int width = 32)
{
    const int at = emulated::lane() & (width - 1);
    return emulated::shuffle(mask, v, emulated::lane() + (at + (int)d < width ? (int)d : 0));
}
inline unsigned __ballot_sync(unsigned mask, bool yes)
{
    return emulated::vote(mask, yes);
}
inline int __any_sync(unsigned mask, bool yes)
{
    return emulated::vote(mask, yes) != 0;
}
inline int __all_sync(unsigned mask, bool yes)
{
    return emulated::vote(mask, !yes) == 0;
}
template <typename T>
unsigned __match_any_sync(unsigned mask, T v)
{
    uint64_t seen[32];
    const unsigned there = emulated::meet(mask, emulated::MATCH, emulated::bits(v), seen);
    unsigned same = 0;
    for (int k = 0; k < 32; ++k) {
        same |= (there >> k & 1U) != 0 && seen[k] == emulated::bits(v) ? 1U << k : 0U;
    }
    return same;
}
inline unsigned __reduce_min_sync(unsigned mask, unsigned v)
{
    uint64_t seen[32];
    const unsigned there = emulated::meet(mask, emulated::REDUCE, emulated::bits(v), seen);
    for (int k = 0; k < 32; ++k) {
        const unsigned other = emulated::value_of<unsigned>(seen[k]);
        v = (there >> k & 1U) != 0 && other < v ? other : v;
    }
    return v;
}
inline unsigned __reduce_max_sync(unsigned mask, unsigned v)
{
    uint64_t seen[32];
    const unsigned there = emulated::meet(mask, emulated::REDUCE, emulated::bits(v), seen);
    for (int k = 0; k < 32; ++k) {
        const unsigned other = emulated::value_of<unsigned>(seen[k]);
        v = (there >> k & 1U) != 0 && other > v ? other : v;
    }
    return v;
}

template <typename T>
T __ldg(const T *p)
{
    return *p;
}
template <typename T>
T __ldcs(const T *p)
{
    return *p;
}
template <typename T>
T __ldcg(const T *p)
{
    return *p;
}

/* Other threads of the host may run blocks of their own contexts: real atomic operations. */
template <typename T, typename F>
T emulated_atomic(T *p, F f)
{
    T old;
    __atomic_load(p, &old, __ATOMIC_RELAXED);
    T made = f(old);
    while (!__atomic_compare_exchange(p, &old, &made, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
        made = f(old);
    }
    return old;
}
template <typename T>
struct emulated_same {
    typedef T type;
};
template <typename T>
T atomicAdd(T *p, typename emulated_same<T>::type v)
{
    return emulated_atomic(p, [v](T old) { return (T)(old + v); });
}
template <typename T>
T atomicMax(T *p, typename emulated_same<T>::type v)
{
    return emulated_atomic(p, [v](T old) { return old > v ? old : v; });
}
template <typename T>
T atomicMin(T *p, typename emulated_same<T>::type v)
{
    return emulated_atomic(p, [v](T old) { return old < v ? old : v; });
}
template <typename T>
T atomicCAS(T *p, typename emulated_same<T>::type expected, typename emulated_same<T>::type v)
{
    return emulated_atomic(p, [=](T old) { return old == expected ? v : old; });
}
inline unsigned atomicInc(unsigned *p, unsigned last)
{
    return emulated_atomic(p, [last](unsigned old) { return old >= last ? 0U : old + 1U; });
}

inline int __popc(unsigned v)
{
    return __builtin_popcount(v);
}
inline int __ffs(int v)
{
    return __builtin_ffs(v);
}
inline int __clz(int v)
{
    return v == 0 ? 32 : __builtin_clz((unsigned)v);
}
inline long long __double_as_longlong(double v)
{
    return emulated::value_of<long long>(emulated::bits(v));
}
inline double __longlong_as_double(long long v)
{
    return emulated::value_of<double>(emulated::bits(v));
}
inline float __int_as_float(int v)
{
    return emulated::value_of<float>(emulated::bits(v));
}
inline double __hiloint2double(int high, int low)
{
    return emulated::value_of<double>((uint64_t)(uint32_t)high << 32 | (uint32_t)low);
}
template <typename A, typename B>
auto min(A a, B b) -> decltype(a + b)
{
    return b < a ? b : a;
}
template <typename A, typename B>
auto max(A a, B b) -> decltype(a + b)
{
    return a < b ? b : a;
}
/* As in nvcc's headers: any kernel is an address. */
template <typename T>
cudaError_t cudaFuncSetAttribute(T *kernel, cudaFuncAttribute what, int value)
{
    return cudaFuncSetAttribute((const void *)kernel, what, value);
}
/* The body of a while node runs again when this is not 0. */
inline void cudaGraphSetConditional(cudaGraphConditionalHandle condition, unsigned value)
{
    *(unsigned *)(uintptr_t)condition = value;
}
