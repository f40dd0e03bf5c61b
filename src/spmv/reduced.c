/* Rounding to 16 and 8 bits; see reduced.h. */
#include "spmv/reduced.h"

#include "core/backend.h"

size_t cmgi_values_bytes(cmg_values kind, cmg_precision precision)
{
    return kind == CMG_VALUES_FULL  ? cmgi_precision_bytes(precision)
           : kind == CMG_VALUES_FP8 ? 1
                                    : 2;
}

double cmgi_reduced_store(cmg_values kind, void *values, cmg_size at, double value, float scale)
{
    const float scaled = (float)(value / (double)scale);
    if (kind == CMG_VALUES_FP16) {
        ((uint16_t *)values)[at] = cmgi_float_to_half(scaled);
    } else {
        ((uint8_t *)values)[at] = cmgi_float_to_fp8(scaled);
    }
    return (double)cmgi_reduced_load(kind, values, at) * (double)scale;
}
