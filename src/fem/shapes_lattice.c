/*
 * Shapes cut from a lattice of cubes: square, cube, beam, and the L-shape and the Fichera corner,
 * which lack the cells beyond a notch in two or all three directions.
 */
#include "core/memory.h"
#include "fem/mesh_shapes.h"

#include <math.h>

typedef struct lattice {
    int dim;
    cmg_size size[3];  /* cells in each direction, 0 in z for 2D */
    cmg_size notch;    /* first cell of the missing part in each direction it has, -1 = whole */
    int notched;       /* directions in which the notch is bounded: 2 or 3 */
    cmg_size waves[3]; /* of the smooth distortion */
    double extent[3];
    double grading;
    double fraction;
} lattice;

/* Whole number of cells of size 1/n in a length, -1 where it is none. */
static cmg_size cells_in(cmg_size n, double length)
{
    const double count = (double)n * length;
    const double whole = round(count);
    return whole >= 1 && fabs(count - whole) < 1e-9 * whole && whole < 1e9 ? (cmg_size)whole : -1;
}

static cmg_status make_lattice(cmg_context *ctx, const cmgi_shape_options *o, lattice *l)
{
    const bool lshape = o->shape == CMG_SHAPE_LSHAPE;
    *l = (lattice){.dim = cmgi_cell_table(o->cell)->dim,
                   .notch = -1,
                   .grading = o->grading,
                   .fraction = cmgi_smooth_fraction(o)};
    cmgi_shape_extent(o, l->extent);
    for (int d = 0; d < l->dim; ++d) {
        l->size[d] = cells_in(o->n, l->extent[d]);
        CMGI_CHECK(ctx, l->size[d] >= 1, CMG_ERR_ARG, "%lld cells a unit do not fit a length of %g",
                   (long long)o->n, l->extent[d]);
        l->waves[d] = l->extent[d] < 1 ? 1 : (cmg_size)round(l->extent[d]);
    }
    if (lshape || o->shape == CMG_SHAPE_FICHERA) {
        const double width = lshape ? o->length[1] : 1;
        l->notched = lshape ? 2 : 3;
        l->notch = cells_in(o->n, width);
        CMGI_CHECK(ctx, l->notch >= 1 && l->notch < l->size[0], CMG_ERR_ARG,
                   "%lld cells a unit do not fit arms of width %g", (long long)o->n, width);
        /* the re-entrant sides must be nodal lines of the sines */
        const cmg_size half = 2 * l->waves[0] * l->notch;
        CMGI_CHECK(ctx, l->fraction == 0 || half % l->size[0] == 0, CMG_ERR_ARG,
                   "smooth distortion of the L-shape needs side and width in multiples of 1/2, not "
                   "%g and %g",
                   l->extent[0], width);
    }
    return CMG_OK;
}

/* Node or cell (i, j, k) lies beyond the notch; for nodes `past` is one more. */
static bool beyond(const lattice *l, const cmg_size at[3], cmg_size past)
{
    if (l->notch < 0) {
        return false;
    }
    bool all = true;
    for (int d = 0; d < l->notched; ++d) {
        all = all && at[d] >= l->notch + past;
    }
    return all;
}

static void unfold(const cmg_size size[3], cmg_size number, cmg_size at[3])
{
    at[0] = number % size[0];
    at[1] = number / size[0] % size[1];
    at[2] = number / size[0] / size[1];
}

/* [0,1] onto itself, the slope at 1 g times that at 0. */
static double graded(double g, double t)
{
    return g == 1 || t == 0 || t == 1 ? t : expm1(log(g) * t) / expm1(log(g));
}

static double place(const lattice *l, int d, double t)
{
    if (d >= l->notched || l->notch < 0) {
        return l->extent[d] * (l->notched > 0 ? t : graded(l->grading, t));
    }
    const double a = (double)l->notch / (double)l->size[d];
    const double s = t < a ? a * (1 - graded(l->grading, 1 - t / a))
                           : a + (1 - a) * graded(l->grading, (t - a) / (1 - a));
    return l->extent[d] * (t == 1 ? 1 : s);
}

static void fill_lattice(const lattice *l, const cmg_size points[3], const cmg_index *number,
                         cmgi_mesh *mesh)
{
    const cmg_size all = points[0] * points[1] * points[2];
#pragma omp parallel for num_threads(mesh->ctx->threads) schedule(static)
    for (cmg_size v = 0; v < all; ++v) {
        cmg_size at[3];
        double u[3] = {0};
        if (number[v] < 0) {
            continue;
        }
        unfold(points, v, at);
        for (int d = 0; d < l->dim; ++d) {
            u[d] = (double)(at[d] * l->waves[d]) / (double)l->size[d];
        }
        cmgi_bend(l->dim, l->fraction, u);
        for (int d = 0; d < l->dim; ++d) {
            mesh->x[(cmg_size)number[v] * l->dim + d] = place(l, d, u[d] / (double)l->waves[d]);
        }
    }
    const cmg_size size[3] = {l->size[0], l->size[1], l->dim == 3 ? l->size[2] : 1};
    const cmg_size step[3] = {1, points[0], points[0] * points[1]};
    cmg_index *node = mesh->cell_nodes;
    for (cmg_size c = 0; c < size[0] * size[1] * size[2]; ++c) {
        cmg_size at[3];
        unfold(size, c, at);
        if (beyond(l, at, 0)) {
            continue;
        }
        const cmg_size base = at[0] + at[1] * step[1] + at[2] * step[2];
        for (int k = 0; k < 1 << l->dim; ++k) {
            *node++ = number[base + (k & 1) + (k >> 1 & 1) * step[1] + (k >> 2 & 1) * step[2]];
        }
    }
}

cmg_status cmgi_shape_lattice(cmg_context *ctx, const cmgi_shape_options *o, cmgi_mesh **mesh)
{
    lattice l;
    CMGI_TRY(make_lattice(ctx, o, &l));
    const cmg_size points[3] = {l.size[0] + 1, l.size[1] + 1, l.dim == 3 ? l.size[2] + 1 : 1};
    const double many = (double)points[0] * (double)points[1] * (double)points[2];
    CMGI_CHECK(ctx, many <= INT32_MAX, CMG_ERR_UNSUPPORTED,
               "%.0f nodes are more than 32-bit numbers reach", many);
    const cmg_size all = points[0] * points[1] * points[2];
    cmg_size cells = l.size[0] * l.size[1] * (l.dim == 3 ? l.size[2] : 1);
    if (l.notch >= 0) {
        const cmg_size gap = l.size[0] - l.notch;
        cells -= gap * gap * (l.notched == 3 ? gap : (l.dim == 3 ? l.size[2] : 1));
    }
    CMGI_SCOPED(ctx, all, cmg_index, number);
    cmg_size nodes = 0; /* those in use, in lexicographic order */
    for (cmg_size v = 0; v < all; ++v) {
        cmg_size at[3];
        unfold(points, v, at);
        number[v] = beyond(&l, at, 1) ? -1 : (cmg_index)nodes++;
    }
    CMGI_TRY(cmgi_mesh_create(ctx, cmgi_cell_of(false, l.dim), nodes, cells, 0, mesh));
    fill_lattice(&l, points, number, *mesh);
    return CMG_OK;
}
