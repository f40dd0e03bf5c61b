/* How a thread loads values and codes of packed slices (compressed.h): two rows at once. */
#pragma once
#include "core/rest.h"

#include <cuda_fp16.h>

/* Whole values that are the sums of two numbers (rest.h): a kind for these kernels alone. */
static const cmg_values CMGI_VALUES_SUMS = (cmg_values)(CMG_VALUES_FP8 + 1);

/* Where the values of a slice are, from place `at` on; one array of all that is loaded at once. */
template <typename V>
struct one_array {
    typedef V type;
    const V *values;
    __device__ __forceinline__ one_array(const void *all, const int *, cmg_size at)
        : values((const V *)all + at)
    {
    }
    __device__ __forceinline__ V load(cmg_size at) const
    {
        return __ldcs(values + at);
    }
};

/* Two numbers of two rows. */
struct two_sums {
    float2 rounded;
    int2 rest;
};
struct two_arrays {
    typedef two_sums type;
    const float2 *rounded;
    const int2 *rest;
    __device__ __forceinline__ two_arrays(const void *all, const int *rests, cmg_size at)
        : rounded((const float2 *)all + at), rest((const int2 *)rests + at)
    {
    }
    __device__ __forceinline__ two_sums load(cmg_size at) const
    {
        return two_sums{__ldcs(rounded + at), __ldcs(rest + at)};
    }
};

/*
 * What a thread loads at once, `columns` entries of its two rows, as factors of two sums. How many
 * loads are in flight, blocks that a processor has room for, and whether bases are loaded ahead and
 * handed round the warp is chosen by measurement (H200, 256^3 cells, distorted, microseconds):
 *
 *   ahead, blocks, handed round            fp64   fp32   fp16   fp8
 *   4, 5 (fp8: 6), no                      1050    668    378   343
 *   4, 4 or fewer, yes                      931    539    467   433
 *   4, 5, yes                               900    497    397   357
 *   2, 6, yes                               912    532    455   333
 */
template <typename T, cmg_values VALUES>
struct pair_of;
template <typename T, typename T2>
struct pair_of_whole {
    typedef one_array<T2> places;
    enum { columns = 1, ahead = 4, blocks = 5, scaled = 0 };
    enum { pattern_ahead = 4, pattern_blocks = 5 };
    static __device__ __forceinline__ void split(T2 v, T (&a)[1], T (&b)[1])
    {
        a[0] = v.x;
        b[0] = v.y;
    }
};
template <>
struct pair_of<double, CMG_VALUES_FULL> : pair_of_whole<double, double2> {
};
template <>
struct pair_of<float, CMG_VALUES_FULL> : pair_of_whole<float, float2> {
};
template <>
struct pair_of<double, CMGI_VALUES_SUMS> {
    typedef two_arrays places;
    enum { columns = 1, ahead = 4, blocks = 4, scaled = 0 };
    enum { pattern_ahead = 4, pattern_blocks = 4 };
    static __device__ __forceinline__ void split(const two_sums &v, double (&a)[1], double (&b)[1])
    {
        a[0] = cmgi_whole(v.rounded.x, v.rest.x);
        b[0] = cmgi_whole(v.rounded.y, v.rest.y);
    }
};
/* Two halves. */
static __device__ __forceinline__ void halves(unsigned int h, float &low, float &high)
{
    low = __half2float(__ushort_as_half((unsigned short)(h & 0xffffU)));
    high = __half2float(__ushort_as_half((unsigned short)(h >> 16)));
}
template <>
struct pair_of<float, CMG_VALUES_FP16> {
    typedef one_array<uint2> places; /* two rows each */
    enum { columns = 2, ahead = 2, blocks = 5, scaled = 1 };
    enum { pattern_ahead = 2, pattern_blocks = 8 };
    static __device__ __forceinline__ void split(uint2 v, float (&a)[2], float (&b)[2])
    {
        halves(v.x, a[0], b[0]);
        halves(v.y, a[1], b[1]);
    }
};
/* Bytes 0 and 2 are the first row's, in two slice columns, 1 and 3 the second's. */
template <>
struct pair_of<float, CMG_VALUES_FP8> {
    typedef one_array<unsigned int> places;
    enum { columns = 2, ahead = 2, blocks = 6, scaled = 1 };
    enum { pattern_ahead = 2, pattern_blocks = 8 };
    static __device__ __forceinline__ void split(unsigned int v, float (&a)[2], float (&b)[2])
    {
        halves(v << 7 & 0x3f803f80U | v << 8 & 0x80008000U, a[0], a[1]);
        halves(v >> 1 & 0x3f803f80U | v & 0x80008000U, b[0], b[1]);
    }
};

/* Codes of BYTES bytes of two rows in COLUMNS slice columns, stored as the values are. */
template <typename V2, int COLUMNS>
__device__ __forceinline__ void load_pairs(const unsigned char *codes, cmg_size at,
                                           int (&c0)[COLUMNS], int (&c1)[COLUMNS])
{
#pragma unroll
    for (int j = 0; j < COLUMNS; ++j) {
        const V2 c = __ldcs((const V2 *)codes + COLUMNS * at + j);
        c0[j] = c.x;
        c1[j] = c.y;
    }
}
template <int BYTES, int COLUMNS>
__device__ __forceinline__ void load_codes(const unsigned char *codes, cmg_size at,
                                           int (&c0)[COLUMNS], int (&c1)[COLUMNS])
{
    if (BYTES == 1 && COLUMNS == 2) { /* a warp's 128 bytes in one load each */
        const uchar4 c = __ldcs((const uchar4 *)codes + at);
        c0[0] = c.x;
        c1[0] = c.y;
        c0[COLUMNS - 1] = c.z;
        c1[COLUMNS - 1] = c.w;
    } else if (BYTES == 1) {
        load_pairs<uchar2, COLUMNS>(codes, at, c0, c1);
    } else if (BYTES == 2) {
        load_pairs<ushort2, COLUMNS>(codes, at, c0, c1);
    } else if (BYTES == 4) {
        load_pairs<int2, COLUMNS>(codes, at, c0, c1);
    } else {
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) {
            c0[j] = 0;
            c1[j] = 0;
        }
    }
}
