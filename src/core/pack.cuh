/* Packs of neighbouring values, loaded and stored at once; what becomes of sums. */
#pragma once
#include "core/cuda.cuh"

template <typename T, int W>
struct alignas(sizeof(T) * W) pack {
    T v[W];
};

/* Values in 16 bytes, the most that one load brings. */
template <typename T>
constexpr int WIDE = 16 / (int)sizeof(T);

/* True when an array can be read in packs of 16 bytes; NULL can. */
static inline bool aligned(const void *p)
{
    return (uintptr_t)p % 16 == 0;
}

template <int W, typename T>
__device__ __forceinline__ pack<T, W> load(const T *p)
{
    return *reinterpret_cast<const pack<T, W> *>(p);
}

/* Zeros where there is no array. */
template <int W, typename T>
__device__ __forceinline__ pack<T, W> load_if(const T *p, cmg_size at)
{
    return p != NULL ? load<W>(p + at) : pack<T, W>{};
}

template <int W, typename T>
__device__ __forceinline__ void store(T *p, const pack<T, W> &v)
{
    *reinterpret_cast<pack<T, W> *>(p) = v;
}

/* What a block does before the first pack: f.open<THREADS>(), where an operation has it. */
template <int THREADS, typename F>
__device__ __forceinline__ auto open(F &f, int) -> decltype(f.template open<THREADS>())
{
    f.template open<THREADS>();
}
template <int THREADS, typename F>
__device__ __forceinline__ void open(F &, long)
{
}

/*
 * The sum of addends that are there, for all threads of a block, which leave it in *sum. A block
 * reads them once: warps that each read all of them wait for the same lines of the second cache (of
 * 264 in 489 blocks 6 us).
 */
template <int THREADS>
__device__ __forceinline__ double whole_of(const cmgi_addends &addends, double *sum)
{
    if (addends.count == 0) {
        return *sum;
    }
    __shared__ double whole;
    double s = 0;
    for (cmg_size k = threadIdx.x; k < addends.count; k += THREADS) {
        s += __ldcg(addends.at + k);
    }
    s = cmgi_block_sum<THREADS>(s);
    if (threadIdx.x == 0) {
        whole = s;
        if (blockIdx.x == 0) {
            *sum = s;
        }
    }
    __syncthreads();
    return whole;
}

/* What is done with the sum of a column when it is complete. */
struct keep_sum {
    double *result;
    __device__ void finish(int c, double sum) const
    {
        result[c] = sum;
    }
};

struct note_update {
    cmgi_cg_update u;
    __device__ void finish(int c, double sum) const
    {
        u.rr[c] = sum;
        cmgi_cg_note(&u, c);
    }
};

/* f of a value in precision p. */
template <typename F>
static cmg_status in_precision(cmg_precision p, const F &f)
{
    return p == CMG_FP64 ? f(double()) : f(float());
}
