/* Binary search in ascending arrays, on the host and in kernels; sums of lengths. */
#pragma once
#include "cmg_types.h"
#include "core/inline.h"

/* The first k in [low, high) with list[k] >= wanted, else high. */
CMGI_INLINE cmg_size cmgi_search_size(const cmg_size *list, cmg_size low, cmg_size high,
                                      cmg_size wanted)
{
    while (low < high) {
        const cmg_size middle = low + (high - low) / 2;
        if (list[middle] < wanted) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

CMGI_INLINE cmg_size cmgi_search_index(const cmg_index *list, cmg_size low, cmg_size high,
                                       cmg_index wanted)
{
    while (low < high) {
        const cmg_size middle = low + (high - low) / 2;
        if (list[middle] < wanted) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Lengths at[1 .. n] become where each ends, at[0] is where the first begins. */
static inline void cmgi_add_up(cmg_size *at, cmg_size n)
{
    for (cmg_size k = 0; k < n; ++k) {
        at[k + 1] += at[k];
    }
}

/* Place of an index in list[low .. high - 1], -1 = it is not there. */
CMGI_INLINE cmg_size cmgi_find_index(const cmg_index *list, cmg_size low, cmg_size high,
                                     cmg_index wanted)
{
    const cmg_size k = cmgi_search_index(list, low, high, wanted);
    return k < high && list[k] == wanted ? k : -1;
}
