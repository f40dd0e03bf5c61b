/*
 * PCSR products: a block takes `prefetch` partitions, one after the other, and has the loads of the
 * next under way, into registers, while it adds the products of this one: first n neighbours at a
 * time, then one thread a row.
 */
#include "spmv/spmv.cuh"

extern "C" {
#include "studies/pcsr.h"
}

enum { THREADS = CMGI_PARTITION };

template <typename T>
struct pcsr_args {
    cmgi_pcsr S;
    cmg_size stored;
    int prefetch;
    const T *values;
    const T *x;
};

/* One entry of a partition; column -1 past the last. */
template <typename T>
struct entry {
    T value;
    cmg_index column;
};

template <typename T>
__device__ __forceinline__ entry<T> load(const pcsr_args<T> &a, cmg_size q, cmg_size end)
{
    const cmg_size k = q * THREADS + threadIdx.x;
    entry<T> e = {T(0), -1};
    if (q < end && k < a.stored) {
        e.value = cmgi_load_once(a.values + k);
        e.column = cmgi_load_once(a.S.columns + k);
    }
    return e;
}

/* Rows of a partition from the sums of n products each. */
template <typename T, cmgi_wb_kind KIND, int PAD>
__device__ void end_rows(const pcsr_args<T> &a, cmg_size q, const T *sums,
                         const typename cmgi_wb_of<T>::type &f)
{
    const cmgi_partition mine = a.S.split[q];
    const int entries = cmgi_partition_entries(a.stored, q);
    T *parts = (T *)a.S.parts;
    for (int r = (int)threadIdx.x; r < mine.rows; r += THREADS) {
        const cmg_size i = mine.row + r;
        const int end = (r + 1 < mine.rows ? (int)a.S.start[i + 1] : entries) / PAD;
        T s = 0;
        for (int k = a.S.start[i] / PAD; k < end; ++k) {
            s += sums[k];
        }
        if (r + 1 == mine.rows && mine.behind > 0) {
            parts[2 * q] = s;
        } else {
            cmgi_put<KIND>(f, i, s);
        }
    }
    if (threadIdx.x == THREADS - 1) {
        const int end = (mine.rows > 0 ? (int)a.S.start[mine.row] : entries) / PAD;
        T s = 0;
        for (int k = 0; k < end; ++k) {
            s += sums[k];
        }
        parts[2 * q + 1] = s;
    }
}

template <typename T, cmgi_wb_kind KIND, int PAD>
__global__ void __launch_bounds__(THREADS)
    pcsr_kernel(const pcsr_args<T> a, const typename cmgi_wb_of<T>::type f)
{
    __shared__ T sums[2][THREADS / PAD]; /* in turn: one barrier a partition is enough */
    const cmg_size first = (cmg_size)blockIdx.x * a.prefetch;
    const cmg_size end = first + a.prefetch < a.S.partitions ? first + a.prefetch : a.S.partitions;
    entry<T> next = load(a, first, end);
    for (cmg_size q = first; q < end; ++q) {
        const entry<T> now = next;
        const T xj = now.column >= 0 ? __ldg(a.x + now.column) : T(0);
        next = load(a, q + 1, end);
        const T s = cmgi_group_sum(now.value * xj, PAD, PAD);
        if (threadIdx.x % PAD == 0) {
            sums[q & 1][threadIdx.x / PAD] = s;
        }
        __syncthreads();
        end_rows<T, KIND, PAD>(a, q, sums[q & 1], f);
    }
}

/* Rows over several partitions, a warp each. */
template <typename T, cmgi_wb_kind KIND>
__global__ void __launch_bounds__(THREADS)
    join_kernel(const cmgi_pcsr S, const typename cmgi_wb_of<T>::type f)
{
    const cmg_size q = ((cmg_size)blockIdx.x * THREADS + threadIdx.x) / 32;
    const int lane = (int)threadIdx.x % 32;
    if (q >= S.partitions || S.split[q].behind == 0) { /* the same for the whole warp */
        return;
    }
    const cmgi_partition mine = S.split[q];
    const T *parts = (const T *)S.parts;
    T s = lane == 0 ? parts[2 * q] : T(0);
    for (int k = 1 + lane; k <= mine.behind; k += 32) {
        s += parts[2 * (q + k) + 1];
    }
    s = cmgi_group_sum(s, 32, 32);
    if (lane == 0) {
        cmgi_put<KIND>(f, (cmg_size)mine.row + mine.rows - 1, s);
    }
}

template <typename T, cmgi_wb_kind KIND>
struct launch_pcsr {
    template <int PAD>
    static cmg_status with(const cmg_matrix *A, const typename cmgi_wb_of<T>::type &f, const T *x)
    {
        const pcsr_args<T> a = {*(const cmgi_pcsr *)A->data, A->stored,
                                A->options.prefetch != 0 ? A->options.prefetch : 4,
                                (const T *)A->values, x};
        const cmg_size blocks = (a.S.partitions + a.prefetch - 1) / a.prefetch;
        return CMGI_RUN(A->ctx, (unsigned)blocks, THREADS, 0, pcsr_kernel<T, KIND, PAD>, a, f);
    }

    static cmg_status run(const cmg_matrix *A, const typename cmgi_wb_of<T>::type &f, const T *x)
    {
        const cmgi_pcsr *S = (const cmgi_pcsr *)A->data;
        const int pad = A->options.pad;
        CMGI_TRY(pad == 1   ? with<1>(A, f, x)
                 : pad == 2 ? with<2>(A, f, x)
                 : pad == 4 ? with<4>(A, f, x)
                            : with<8>(A, f, x));
        if (!S->splits) {
            return CMG_OK;
        }
        return CMGI_RUN(A->ctx, cmgi_grid(S->partitions * 32, THREADS), THREADS, 0,
                        join_kernel<T, KIND>, *S, f);
    }
};

extern "C" cmg_status cmgi_pcsr_spmv_cuda(const cmg_matrix *A, const cmgi_writeback *w,
                                          const void *x)
{
    return cmgi_select<launch_pcsr>(A, w, x);
}
