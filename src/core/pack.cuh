/* Packs of neighbouring values, loaded and stored at once; what becomes of sums. */
#pragma once
#include "core/cuda.cuh"

template <typename T, int W>
struct alignas(sizeof(T) * W) pack {
    T v[W];
};

enum { REDUCERS = 256 /* threads of a block that sums */ };

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

/* The step of semi-iteration of a column (core/backend.h). */
template <typename T>
struct semi_step {
    T momentum;
    T step;
    __device__ __forceinline__ explicit semi_step(const cmgi_semi *s)
        : momentum((T)s->momentum), step((T)s->step)
    {
    }
    /* d, from the one before, which is not looked at with a momentum of 0. */
    __device__ __forceinline__ T direction(T z, T before) const
    {
        return step * z + (momentum != 0 ? momentum * before : T(0));
    }
};

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

/* Whether this is the first of all blocks. */
__device__ __forceinline__ bool is_first_block()
{
    return (blockIdx.x | blockIdx.y | blockIdx.z) == 0;
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
        if (is_first_block()) {
            *sum = s;
        }
    }
    __syncthreads();
    return whole;
}

/* f of the sum of addends, in the first thread of a block of any size. The sum has the bits of a
 * block of REDUCERS. */
template <int THREADS, typename F>
__device__ __forceinline__ void with_whole(const cmgi_addends &addends, const F &f)
{
    __shared__ double part[REDUCERS / CMGI_WARP];
    for (int t = (int)threadIdx.x; t < REDUCERS; t += THREADS) {
        double s = 0;
        for (cmg_size k = t; k < addends.count; k += REDUCERS) {
            s += __ldcg(addends.at + k);
        }
        part[t / CMGI_WARP] = cmgi_warp_sum(s);
    }
    __syncthreads();
    const int warps = REDUCERS / CMGI_WARP;
    if (threadIdx.x < CMGI_WARP) {
        const double sum = cmgi_warp_sum((int)threadIdx.x < warps ? part[threadIdx.x] : 0);
        if (threadIdx.x == 0) {
            f(sum);
        }
    }
}

/* Notes the step before a direction, once. */
template <int THREADS>
__device__ __forceinline__ void note_before(const cmgi_direction &d)
{
    if (d.squares.count > 0 && is_first_block()) {
        with_whole<THREADS>(d.squares,
                            [&](double rr) { cmgi_stop_note(d.stop, *d.den, *d.pq, rr); });
    }
}

/* The ratio of a direction, likewise. */
template <int THREADS>
__device__ __forceinline__ double beta_of(const cmgi_direction &d)
{
    const double den = *d.den; /* on its way before the sum is made */
    const double num = whole_of<THREADS>(d.parts, d.num);
    return den != 0 ? num / den : 0;
}

/* What is done with the sum of a column when it is complete. */
struct keep_sum {
    static constexpr bool LEAVES = false;
    double *result;
    __device__ void finish(int c, double sum) const
    {
        result[c] = sum;
    }
};

struct note_update {
    static constexpr bool LEAVES = false;
    cmgi_cg_update u;
    __device__ void finish(int c, double sum) const
    {
        u.rr[c] = sum;
        cmgi_cg_note(&u, c);
        if (u.post != NULL) {
            cmgi_stop_copy(u.stop, u.post);
        }
    }
};

/* Blocks leave theirs. */
struct leave_sums {
    static constexpr bool LEAVES = true;
    __device__ void finish(int, double) const
    {
    }
};

/* f of a value in precision p. */
template <typename F>
static cmg_status in_precision(cmg_precision p, const F &f)
{
    return p == CMG_FP64 ? f(double()) : f(float());
}
