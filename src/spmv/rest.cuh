/*
 * A number of fp64 as the fp32 number next to it, and the distance of their bits where both are
 * written in fp64: numbers of one sign are ordered as their bits are, and where fp32 has all its
 * bits, at most 2^28 numbers of fp64 lie between one and its rounding. The sum is exact.
 */
#pragma once
#include "core/cuda.cuh"

static __device__ __forceinline__ int cmgi_rest(double whole)
{
    return (int)(__double_as_longlong(whole) - __double_as_longlong((double)(float)whole));
}

static __device__ __forceinline__ double cmgi_whole(float rounded, int distance)
{
    return __longlong_as_double(__double_as_longlong((double)rounded) + distance);
}
