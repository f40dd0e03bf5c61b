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
#include "core/backend.h"
#include "core/rest.h"

typedef union cmgi_float_bits {
    float f;
    uint32_t u;
} cmgi_float_bits;

/* IEEE half to and from float, rounding to nearest even; for hosts without the types, and the same
 * bits on a device. */
CMGI_INLINE float cmgi_half_to_float(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h & 0x8000U) << 16;
    const uint32_t magnitude = h & 0x7fffU;
    cmgi_float_bits v;
    if (magnitude >= 0x0400U) { /* normal, infinite or NaN */
        v.u = sign | ((magnitude << 13) + (magnitude >= 0x7c00U ? 0x70000000U : 0x38000000U));
        return v.f;
    }
    v.f = (float)magnitude * 0x1p-24F;
    v.u |= sign;
    return v.f;
}
CMGI_INLINE uint16_t cmgi_float_to_half(float f)
{
    cmgi_float_bits v;
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
/* Every byte is a number; infinite and NaN become the largest. Rounds to nearest even: in units of
 * 2^(e - 3), below the exponent's lower end in units of 2^-17. */
CMGI_INLINE float cmgi_fp8_to_float(uint8_t b)
{
    return cmgi_half_to_float((uint16_t)((b & 0x80U) << 8 | (b & 0x7fU) << 7));
}
CMGI_INLINE uint8_t cmgi_float_to_fp8(float f)
{
    cmgi_float_bits v;
    v.f = f;
    const uint8_t sign = (uint8_t)((v.u >> 24) & 0x80U);
    v.u &= 0x7fffffffU;
    if (v.u >= 0x3ff80000U) { /* 1.9375 would round to 2; NaN */
        return (uint8_t)(sign | 0x7fU);
    }
    if (v.u < 0x38800000U) { /* below 2^-14; adding 64 does the rounding */
        v.f += 64.0F;
        return (uint8_t)(sign | (v.u - 0x42800000U));
    }
    v.u += 0x7ffffU + ((v.u >> 20) & 1U);
    return (uint8_t)(sign | ((v.u >> 20) - 8 * 112));
}

/* What a stored value of a reduced kind stands for, but for the scale. */
CMGI_INLINE float cmgi_reduced_load(cmg_values kind, const void *values, cmg_size at)
{
    return kind == CMG_VALUES_FP16 ? cmgi_half_to_float(((const uint16_t *)values)[at])
                                   : cmgi_fp8_to_float(((const uint8_t *)values)[at]);
}
/* Scale of a group whose largest magnitude is given: of fp8 up to 1.875 are left, of fp16 near
 * 2^12, with room up to the 65504 of IEEE half. A normal number in fp32; 1 for a group of zeros. */
CMGI_INLINE float cmgi_reduced_scale(cmg_values kind, double largest)
{
    enum { LEAST = -126, MOST = 127 };
    cmgi_float_bits scale;
    const uint64_t bits = (uint64_t)cmgi_bits_of(largest);
    int exponent = (int)(bits >> 52) - 1023; /* of positive numbers */
    if (!(largest > 0) || exponent == 1024) {
        return 1.0F;
    }
    exponent += kind == CMG_VALUES_FP8 ? (bits & 0xfffffffffffffU) >= 0xf000000000000U : -12;
    exponent = exponent < LEAST ? LEAST : exponent > MOST ? MOST : exponent;
    scale.u = (uint32_t)(exponent + 127) << 23;
    return scale.f;
}
/* Bytes of a stored value. */
static inline size_t cmgi_values_bytes(cmg_values kind, cmg_precision precision)
{
    return kind == CMG_VALUES_FULL  ? cmgi_precision_bytes(precision)
           : kind == CMG_VALUES_FP8 ? 1
                                    : 2;
}
/* Stores value / scale; returns what is stored, times the scale. */
static inline double cmgi_reduced_store(cmg_values kind, void *values, cmg_size at, double value,
                                        float scale)
{
    const float scaled = (float)(value / (double)scale);
    if (kind == CMG_VALUES_FP16) {
        ((uint16_t *)values)[at] = cmgi_float_to_half(scaled);
    } else {
        ((uint8_t *)values)[at] = cmgi_float_to_fp8(scaled);
    }
    return (double)cmgi_reduced_load(kind, values, at) * (double)scale;
}
