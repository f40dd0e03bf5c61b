/*
 * Values in fewer bits than fp32: what they stand for, how they are rounded.
 *
 *   fp16  IEEE half: 10 bits of fraction
 *   fp8   sign, 4 bits of exponent, 3 of fraction, shifted into an IEEE half: the byte seeeemmm is
 *         the half s0eeeemmm0000000, subnormals included. 2^-17 .. 1.875 in magnitude, 0, and no
 *         infinity: larger values become the largest.
 *
 * Stored values are multiplied by a scale, a power of two that brings the largest of a group (a
 * slice, a row) near the upper end: whatever the unit of the matrix, the range is used from the
 * top. Rounding is relative to the value, and so the same for a_ij and a_ji in different groups:
 * what was symmetric stays so, apart from values 2^-14 (fp8; fp16: 2^-26) times smaller than their
 * group's largest.
 */
#pragma once
#include "cmg_types.h"

/* IEEE half to and from float, rounding to nearest even; for hosts without the types.
 */
static inline float cmgi_half_to_float(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h & 0x8000U) << 16;
    const uint32_t magnitude = h & 0x7fffU;
    union {
        uint32_t u;
        float f;
    } v;
    if (magnitude >= 0x0400U) { /* normal, infinite or NaN */
        v.u = sign | ((magnitude << 13) + (magnitude >= 0x7c00U ? 0x70000000U : 0x38000000U));
        return v.f;
    }
    v.f = (float)magnitude * 0x1p-24F;
    v.u |= sign;
    return v.f;
}
static inline uint16_t cmgi_float_to_half(float f)
{
    union {
        float f;
        uint32_t u;
    } v;
    v.f = f;
    const uint16_t sign = (uint16_t)((v.u >> 16) & 0x8000U);
    v.u &= 0x7fffffffU;
    if (v.u >= 0x47800000U) { /* 65536 and over, infinite, NaN */
        return (uint16_t)(sign | (v.u > 0x7f800000U ? 0x7e00U : 0x7c00U));
    }
    if (v.u <
        0x38800000U) { /* below the normal range: units of 2^-24; adding 0.5 does the rounding */
        v.f += 0.5F;
        return (uint16_t)(sign | (v.u - 0x3f000000U));
    }
    v.u += 0xc8000fffU + ((v.u >> 13) & 1U);
    return (uint16_t)(sign | (v.u >> 13));
}
/* Every byte is a number; infinite and NaN become the largest. */
static inline float cmgi_fp8_to_float(uint8_t b)
{
    return cmgi_half_to_float((uint16_t)((b & 0x80U) << 8 | (b & 0x7fU) << 7));
}
uint8_t cmgi_float_to_fp8(float f);

/* What a stored value of a reduced kind stands for, but for the scale. */
static inline float cmgi_reduced_load(cmg_values kind, const void *values, cmg_size at)
{
    switch (kind) {
    case CMG_VALUES_FP16:
        return cmgi_half_to_float(((const uint16_t *)values)[at]);
    default:
        return cmgi_fp8_to_float(((const uint8_t *)values)[at]);
    }
}
/* Bytes of a stored value. */
size_t cmgi_values_bytes(cmg_values kind, cmg_precision precision);
/* Scale of a group whose largest magnitude is given; 1 for a group of zeros. */
float cmgi_reduced_scale(cmg_values kind, double largest);
/* Stores value / scale; returns what is stored, times the scale. */
double cmgi_reduced_store(cmg_values kind, void *values, cmg_size at, double value, float scale);
