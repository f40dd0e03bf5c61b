/* Small generated problems. */
#pragma once
#include "generated.h"

static inline cmg_generate_options small(int dim, cmg_element element)
{
    return generate_options("dim=%d element=%s cells=%d levels=2 load=polynomial", dim,
                            FEM_WORD("element", element), dim == 3 ? 4 : 8);
}
