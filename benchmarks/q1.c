/* Hierarchies to measure with, from the generator. */
#include "q1.h"

static cmg_status generate(cmg_context *ctx, int dim, int cells, int levels, double distort,
                           cmg_hierarchy **h)
{
    cmg_generate_options o;
    cmg_generate_options_default(&o);
    o.dim = dim;
    o.cells = cells;
    o.levels = levels;
    o.distort = distort;
    o.coefficient = distort > 0 ? CMG_COEFFICIENT_SMOOTH : CMG_COEFFICIENT_CONSTANT;
    o.coords = false;
    o.output_mesh = false;
    return cmg_hierarchy_generate(ctx, &o, h);
}

cmg_status q1_hierarchy(cmg_context *ctx, int dim, int cells, cmg_hierarchy **h)
{
    return generate(ctx, dim, cells, 0, 0, h);
}

cmg_status q1_matrix(cmg_context *ctx, int dim, int cells, cmg_hierarchy **h)
{
    return generate(ctx, dim, cells, 1, 0, h);
}

cmg_status q1_distorted(cmg_context *ctx, int dim, int cells, double distort, cmg_hierarchy **h)
{
    int levels = 1;
    for (int n = cells; n % 2 == 0 && n > 16; n /= 2) {
        ++levels;
    }
    return generate(ctx, dim, cells, levels, distort, h);
}

cmg_status q1_problem(cmg_context *ctx, const bench_problem *p, cmg_hierarchy **h)
{
    return p->distort > 0 ? q1_distorted(ctx, p->dim, p->cells, p->distort, h)
                          : q1_hierarchy(ctx, p->dim, p->cells, h);
}

void q1_corners(cmg_size n, cmg_index *corners)
{
    const cmg_size row = n + 1;
    for (cmg_size c = 0; c < n * n * n; ++c) {
        const cmg_size low = c % n + row * (c / n % n + row * (c / (n * n)));
        for (int k = 0; k < 8; ++k) {
            const int t = k ^ (k >> 1 & 1);
            corners[8 * c + k] =
                (cmg_index)(low + (t & 1) + row * (t >> 1 & 1) + row * row * (t >> 2));
        }
    }
}
