/* Hierarchies to measure with, from the generator. */
#include "q1.h"

#include <math.h>

static cmg_status generate_of(cmg_context *ctx, cmg_element element, int dim, int cells, int levels,
                              double distort, cmg_boundary boundary, cmg_hierarchy **h)
{
    cmg_generate_options o;
    cmg_generate_options_default(&o);
    o.element = element;
    o.boundary = boundary;
    o.dim = dim;
    o.cells = cells;
    o.levels = levels;
    o.distort = distort;
    o.coefficient = distort > 0 ? CMG_COEFFICIENT_SMOOTH : CMG_COEFFICIENT_CONSTANT;
    o.coords = false;
    o.output_mesh = false;
    return cmg_hierarchy_generate(ctx, &o, h);
}

static cmg_status generate(cmg_context *ctx, int dim, int cells, int levels, double distort,
                           cmg_boundary boundary, cmg_hierarchy **h)
{
    return generate_of(ctx, CMG_ELEMENT_Q1, dim, cells, levels, distort, boundary, h);
}

cmg_status q1_hierarchy(cmg_context *ctx, int dim, int cells, cmg_hierarchy **h)
{
    return generate(ctx, dim, cells, 0, 0, CMG_BOUNDARY_ELIMINATE, h);
}

static int levels_of(int cells)
{
    int levels = 1;
    for (int n = cells; n % 2 == 0 && n > 16; n /= 2) {
        ++levels;
    }
    return levels;
}

cmg_status q1_element(cmg_context *ctx, const bench_problem *p, cmg_element element, bool alone,
                      cmg_hierarchy **h)
{
    const bool finest = alone && p->distort <= 0; /* which nodes are shifted */
    const int levels = finest ? 1 : levels_of(p->cells);
    cmg_status status =
        generate_of(ctx, element, p->dim, p->cells, levels, p->distort, CMG_BOUNDARY_ELIMINATE, h);
    return status == CMG_OK && alone ? cmg_hierarchy_select(*h, 0, levels - 1) : status;
}

cmg_status q1_distorted(cmg_context *ctx, int dim, int cells, double distort, cmg_hierarchy **h)
{
    return generate(ctx, dim, cells, levels_of(cells), distort, CMG_BOUNDARY_ELIMINATE, h);
}

cmg_status q1_templates(cmg_context *ctx, int dim, int cells, cmg_hierarchy **h)
{
    cmg_generate_options o;
    cmg_generate_options_default(&o);
    o.dim = dim;
    o.cells = cells;
    o.templates = true;
    return cmg_hierarchy_generate(ctx, &o, h);
}

/* Of the neighbour a, b, c: one of K and the others of M along the axes, K in turn along each. */
static double q1_entry(int dim, double width, const int step[3])
{
    double sum = 0;
    for (int k = 0; k < dim; ++k) {
        double value = 1;
        for (int d = 0; d < dim; ++d) {
            const bool beside = step[d] != 0;
            value *= d == k ? (beside ? -1 : 2) / width : (beside ? 1 : 4) * width / 6;
        }
        sum += value;
    }
    return sum;
}

double q1_residual(int dim, int cells, const double *b, const double *x)
{
    const cmg_size m = cells - 1;
    const cmg_size planes = dim == 3 ? m : 1;
    double stencil[27];
    double rr = 0;
    double bb = 0;
    for (int s = 0; s < 27; ++s) {
        const int step[3] = {s % 3 - 1, s / 3 % 3 - 1, s / 9 - 1};
        stencil[s] = q1_entry(dim, 1.0 / cells, step);
    }
#pragma omp parallel for schedule(static) reduction(+ : rr, bb)
    for (cmg_size line = 0; line < m * planes; ++line) {
        const cmg_size y = line % m;
        const cmg_size z = line / m;
        for (cmg_size i = 0; i < m; ++i) {
            double r = b != NULL ? b[line * m + i] : 1;
            bb += r * r;
            for (int s = 0; s < 27; ++s) {
                const cmg_size to[3] = {i + s % 3 - 1, y + s / 3 % 3 - 1, z + s / 9 - 1};
                const bool inside = to[0] >= 0 && to[0] < m && to[1] >= 0 && to[1] < m &&
                                    to[2] >= 0 && to[2] < planes;
                r -= inside ? stencil[s] * x[(to[2] * m + to[1]) * m + to[0]] : 0;
            }
            rr += r * r;
        }
    }
    return sqrt(rr / bb);
}

cmg_status q1_problem(cmg_context *ctx, const bench_problem *p, cmg_hierarchy **h)
{
    return p->distort > 0 ? q1_distorted(ctx, p->dim, p->cells, p->distort, h)
                          : q1_hierarchy(ctx, p->dim, p->cells, h);
}

cmg_status q1_bounded(cmg_context *ctx, const bench_problem *p, cmg_boundary boundary, bool whole,
                      cmg_hierarchy **h)
{
    cmg_context *own = NULL; /* which the memory of `ctx` does not show */
    cmg_hierarchy *natural = NULL;
    cmg_csr P;
    cmg_status status = generate(ctx, p->dim, p->cells, 0, p->distort, boundary, h);
    if (status == CMG_OK && whole) {
        status = cmg_context_create(&p->context, &own);
    }
    if (status == CMG_OK && whole) {
        status = generate(own, p->dim, p->cells, cmg_hierarchy_levels(*h), p->distort,
                          CMG_BOUNDARY_NEUMANN, &natural);
        for (int l = 0; status == CMG_OK && l + 1 < cmg_hierarchy_levels(*h); ++l) {
            status = cmg_hierarchy_get_csr(natural, l, CMG_ROLE_P, NULL, 0, &P);
            status = THEN(status, cmg_hierarchy_set_csr(*h, l, CMG_ROLE_P, NULL, 0, &P));
        }
    }
    cmg_hierarchy_destroy(&natural);
    cmg_context_destroy(&own);
    return status;
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
