/* Rounding to 16 and 8 bits; see reduced.h. */
#include "spmv/reduced.h"

#include "core/backend.h"

#include <math.h>

/* Rounds to nearest even: in units of 2^(e - 3), from the exponent's lower end on in units of
 * 2^-17.
 */
uint8_t cmgi_float_to_fp8(float f)
{
    const uint8_t sign = signbit(f) ? 0x80U : 0;
    const float magnitude = fabsf(f);
    if (!(magnitude < 1.9375F)) { /* would round to 2 */
        return (uint8_t)(sign | 0x7fU);
    }
    const int exponent = magnitude >= 0x1p-14F ? ilogbf(magnitude) : -14;
    const int units = (int)rintf(ldexpf(magnitude, 3 - exponent)); /* 8 .. 16, below 2^-14 0 .. 8 */
    /* the bits of a rounded-up 16 run over into the exponent, as they should */
    return (uint8_t)(sign | (8 * (exponent + 14) + units));
}

size_t cmgi_values_bytes(cmg_values kind, cmg_precision precision)
{
    switch (kind) {
    case CMG_VALUES_FULL:
        return cmgi_precision_bytes(precision);
    case CMG_VALUES_FP8:
        return 1;
    default:
        return 2;
    }
}

float cmgi_reduced_scale(cmg_values kind, double largest)
{
    enum { LEAST = -126, MOST = 127 }; /* normal numbers in fp32 */
    if (!(largest > 0) || isinf(largest)) {
        return 1.0F;
    }
    int exponent = ilogb(largest);
    if (kind == CMG_VALUES_FP8) { /* up to 1.875 */
        exponent += ldexp(largest, -exponent) >= 1.9375;
    } else { /* near 2^12, with room up to the 65504 of IEEE half */
        exponent -= 12;
    }
    exponent = exponent < LEAST ? LEAST : exponent > MOST ? MOST : exponent;
    return ldexpf(1.0F, exponent);
}

double cmgi_reduced_store(cmg_values kind, void *values, cmg_size at, double value, float scale)
{
    const float scaled = (float)(value / (double)scale);
    switch (kind) {
    case CMG_VALUES_FP16:
        ((uint16_t *)values)[at] = cmgi_float_to_half(scaled);
        break;
    default:
        ((uint8_t *)values)[at] = cmgi_float_to_fp8(scaled);
        break;
    }
    return (double)cmgi_reduced_load(kind, values, at) * (double)scale;
}
