/* Binary search in ascending arrays, on the host and in kernels; sums of lengths. */
#pragma once
#include "cmg_types.h"
#include "core/inline.h"

/* name(list, low, high, wanted): the first k in [low, high) with list[k] >= wanted, else high. */
#define CMGI_SEARCH(name, type)                                                                    \
    CMGI_INLINE cmg_size name(const type *list, cmg_size low, cmg_size high, type wanted)          \
    {                                                                                              \
        while (low < high) {                                                                       \
            const cmg_size middle = low + (high - low) / 2;                                        \
            const bool before = list[middle] < wanted;                                             \
            low = before ? middle + 1 : low;                                                       \
            high = before ? high : middle;                                                         \
        }                                                                                          \
        return low;                                                                                \
    }
CMGI_SEARCH(cmgi_search_size, cmg_size)
CMGI_SEARCH(cmgi_search_index, cmg_index)

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
