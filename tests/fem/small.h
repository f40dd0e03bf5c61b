/* Small generated problems. */
#pragma once
#include "hierarchy/hierarchy_checks.h"

static inline cmg_generate_options small(int dim, cmg_element element)
{
    cmg_generate_options o = generate_defaults();
    o.dim = dim;
    o.element = element;
    o.cells = dim == 3 ? 4 : 8;
    o.levels = 2;
    o.load = CMG_LOAD_POLYNOMIAL;
    return o;
}
