/* Orders for qsort, and a sort of column indices that calls no function for each pair. */
#pragma once
#include "cmg_types.h"

static inline int cmgi_ascending_index(const void *a, const void *b)
{
    const cmg_index x = *(const cmg_index *)a;
    const cmg_index y = *(const cmg_index *)b;
    return (x > y) - (x < y);
}

static inline int cmgi_ascending_double(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Ascending. */
void cmgi_sort_indices(cmg_index *list, cmg_size n);
