/* Rounding to 16 and 8 bits; see reduced.h. */
#include "spmv/reduced.h"

#include "core/backend.h"

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
