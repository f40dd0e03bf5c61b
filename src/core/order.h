/* Orders for qsort. */
#pragma once
#include "cmg.h"

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
