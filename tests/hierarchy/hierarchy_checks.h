/* What tests of generated hierarchies share: products by plain loops, exact values at the nodes. */
#pragma once
#include "fem/problem.h"
#include "generated.h"

static inline const double *vector_of(const cmg_hierarchy *h, int level, const char *kind,
                                      const char *name, cmg_size *n)
{
    const double *values = NULL;
    CHECK_OK(cmg_hierarchy_get_vector(h, level, kind, name, n, &values));
    return values;
}
