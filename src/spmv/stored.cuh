/* Values in 16 and 8 bits on the device. */
#pragma once
#include "core/cuda.cuh"

#include <cuda_fp16.h>

/* How a value is stored, and what it stands for but for its scale. */
template <typename T, cmg_values VALUES>
struct cmgi_stored {
    typedef T type;
    static __device__ __forceinline__ T get(T v)
    {
        return v;
    }
};
template <>
struct cmgi_stored<float, CMG_VALUES_FP16> {
    typedef unsigned short type;
    static __device__ __forceinline__ float get(unsigned short v)
    {
        return __half2float(__ushort_as_half(v));
    }
};
template <>
struct cmgi_stored<float, CMG_VALUES_FP8> {
    typedef unsigned char type;
    static __device__ __forceinline__ float get(unsigned char v)
    {
        return __half2float(__ushort_as_half((unsigned short)((v & 0x80) << 8 | (v & 0x7f) << 7)));
    }
};
