/*
 * A number of fp64 as the fp32 number next to it, and the distance of their bits where both are
 * written in fp64: numbers of one sign are ordered as their bits are, and where fp32 has all its
 * bits, at most 2^28 numbers of fp64 lie between one and its rounding. The sum is exact.
 */
#pragma once
#include "core/inline.h"

#include <stdbool.h>
#include <stdint.h>

CMGI_INLINE int64_t cmgi_bits_of(double value)
{
    union {
        double d;
        int64_t i;
    } bits;
    bits.d = value;
    return bits.i;
}

/* |value| is under 2^-126 and no 0, or 2^127 and more: there is no such rest, or fp32 has not all
 * its bits. */
CMGI_INLINE bool cmgi_is_beyond(double value)
{
    const uint32_t high = (uint32_t)(cmgi_bits_of(value) >> 32) & INT32_MAX;
    return (high - 0x38100000U >= 0x0fd00000U) & (value != 0);
}

CMGI_INLINE int cmgi_rest(double whole)
{
    return (int)(cmgi_bits_of(whole) - cmgi_bits_of((double)(float)whole));
}

CMGI_INLINE double cmgi_whole(float rounded, int distance)
{
    union {
        double d;
        int64_t i;
    } bits;
    bits.i = cmgi_bits_of((double)rounded) + distance;
    return bits.d;
}
