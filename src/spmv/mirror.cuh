/* How a mirror (mirror.h) is stored. */
#pragma once
#include "core/cuda.cuh"

#include <cfloat>
#include <cuda_fp16.h>

extern "C" {
#include "spmv/mirror.h"
}

enum { UPPER = 14 /* entries of a row */, PAIRS = 7 /* of them, without the diagonal */ };

/*
 * How a mirror keeps numbers of T, and what a row of it is in registers: the words of the entries
 * within a plane, but for a diagonal that is apart, and of those to the next one. Whole ...
 */
template <typename T, cmg_values VALUES>
struct upper_half {
    typedef T number;
    typedef T word;
    enum { INSIDE = 5, LINK = 9 };
    static constexpr double unit = sizeof(T) == sizeof(double) ? DBL_EPSILON : FLT_EPSILON;
    static constexpr double own_unit = unit;
    static __host__ __device__ __forceinline__ cmg_size place(cmg_size i, int k)
    {
        return (i / CMGI_SLICE * UPPER + k) * CMGI_SLICE + i % CMGI_SLICE;
    }
    static __device__ __forceinline__ const word *row(const void *values, cmg_size i)
    {
        return (const word *)values + place(i, 0);
    }
    /* Entries 1 .. 4, and 5 .. 13. */
    static __device__ __forceinline__ void open(const word (&in)[INSIDE], T (&v)[4])
    {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            v[k] = in[k + 1];
        }
    }
    static __device__ __forceinline__ void open(const word (&in)[LINK], T (&v)[9])
    {
#pragma unroll
        for (int k = 0; k < 9; ++k) {
            v[k] = in[k];
        }
    }
};
/* ... or in fp16, pair by pair, without the diagonal. */
template <>
struct upper_half<float, CMG_VALUES_FP16> {
    typedef unsigned short number;
    typedef __half2 word;
    enum { INSIDE = 2, LINK = 5 };
    static constexpr double unit = FLT_EPSILON;
    static constexpr double own_unit = 0x1p-12; /* four are one in the last place */
    static __host__ __device__ __forceinline__ cmg_size place(cmg_size i, int k)
    {
        const int pair = (k - 1) / 2;
        return ((i / CMGI_SLICE * PAIRS + pair) * CMGI_SLICE + i % CMGI_SLICE) * 2 + (k - 1) % 2;
    }
    static __device__ __forceinline__ const word *row(const void *values, cmg_size i)
    {
        return (const word *)values + place(i, 1) / 2;
    }
    template <int WORDS, int COUNT>
    static __device__ __forceinline__ void open(const word (&in)[WORDS], float (&v)[COUNT])
    {
#pragma unroll
        for (int k = 0; k < COUNT; ++k) {
            v[k] = k % 2 == 0 ? __low2float(in[k / 2]) : __high2float(in[k / 2]);
        }
    }
};
