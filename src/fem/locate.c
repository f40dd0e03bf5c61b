/* Points to cells: tree of boxes, Newton's method in a cell. */
#include "fem/locate.h"

#include "core/memory.h"
#include "fem/mesh_geometry.h"
#include "hierarchy/numbering.h"

#include <math.h>
#include <string.h>

enum { LEAF = 4, DEEPEST = 64, NEWTON = 30 };

/* Outside by this much of a cell is still inside: rounding of the coordinates and of Newton. */
#define INSIDE 1e-9

const unsigned char *cmgi_vtk_order(cmgi_basis basis)
{
    static const unsigned char linear[2][8] = {{0, 1, 3, 2}, {0, 1, 3, 2, 4, 5, 7, 6}};
    static const unsigned char straight[4] = {0, 1, 2, 3};
    static const unsigned char tri[6] = {0, 1, 2, 3, 5, 4};
    static const unsigned char tet[10] = {0, 1, 2, 3, 4, 7, 5, 6, 8, 9};
    static const unsigned char quad[9] = {0, 2, 8, 6, 1, 5, 7, 3, 4};
    static const unsigned char hex[27] = {0,  2,  8, 6,  18, 20, 26, 24, 1,  5,  7, 3,  19, 23,
                                          25, 21, 9, 11, 17, 15, 12, 14, 10, 16, 4, 22, 13};
    if (basis.order == 1) {
        return basis.simplex ? straight : linear[basis.dim - 2];
    }
    return basis.simplex ? (basis.dim == 2 ? tri : tet) : (basis.dim == 2 ? quad : hex);
}

static const double *node_x(const cmgi_locator *t, cmg_size cell, int a)
{
    return t->mesh->x + (cmg_size)t->mesh->cell_nodes[cell * t->nodes + a] * t->mesh->dim;
}

/* x(s) and, unless NULL, rows[b] = dx/ds_b. */
static void map(const cmgi_locator *t, cmg_size cell, const double *xi, double x[3],
                double rows[3][3])
{
    const int dim = t->mesh->dim;
    double N[CMGI_MAX_NODES];
    double dN[CMGI_MAX_NODES * 3];
    cmgi_basis_eval(t->basis, xi, N, rows != NULL ? dN : NULL);
    memset(x, 0, 3 * sizeof *x);
    if (rows != NULL) {
        memset(rows, 0, 3 * sizeof *rows);
    }
    for (int a = 0; a < t->nodes; ++a) {
        const double *p = node_x(t, cell, a);
        const int local = t->local[a];
        for (int d = 0; d < dim; ++d) {
            x[d] += N[local] * p[d];
            for (int b = 0; b < dim && rows != NULL; ++b) {
                rows[b][d] += dN[local * dim + b] * p[d];
            }
        }
    }
}

/* Takes xi to the reference cell, simplices by scaling; returns how far outside it was. */
static double clamp(cmgi_basis basis, double *xi)
{
    double outside = 0;
    double sum = 0;
    for (int d = 0; d < basis.dim; ++d) {
        outside = fmax(outside, fmax(-xi[d], basis.simplex ? 0 : xi[d] - 1));
        sum += xi[d];
        xi[d] = fmin(fmax(xi[d], 0), 1);
    }
    if (basis.simplex && sum > 1) {
        outside = fmax(outside, sum - 1);
        sum = 0;
        for (int d = 0; d < basis.dim; ++d) {
            sum += xi[d];
        }
        for (int d = 0; d < basis.dim && sum > 1; ++d) {
            xi[d] /= sum;
        }
    }
    return outside;
}

/* Newton's method for x(s) = x from the middle of the cell. */
static void invert(const cmgi_locator *t, cmg_size cell, const double *x, double *xi)
{
    const int dim = t->mesh->dim;
    for (int d = 0; d < dim; ++d) {
        xi[d] = t->basis.simplex ? 1.0 / (dim + 1) : 0.5;
    }
    for (int k = 0; k < NEWTON; ++k) {
        double at[3];
        double rows[3][3];
        double r[3] = {0, 0, 0};
        double step[3];
        double size = 0;
        map(t, cell, xi, at, rows);
        for (int d = 0; d < dim; ++d) {
            r[d] = x[d] - at[d];
        }
        const double det = cmgi_determinant(dim, rows);
        for (int b = 0; b < dim; ++b) { /* sum_b step_b rows[b] = r by Cramer's rule */
            double changed[3][3];
            memcpy(changed, rows, sizeof changed);
            memcpy(changed[b], r, sizeof changed[b]);
            step[b] = cmgi_determinant(dim, changed) / det;
            if (!isfinite(step[b])) { /* a flat cell */
                return;
            }
            size = fmax(size, fabs(step[b]));
        }
        for (int d = 0; d < dim; ++d) {
            xi[d] += size > 1 ? step[d] / size : step[d];
        }
        if (size < 1e-11) { /* the next step would be its square */
            return;
        }
    }
}

/* Squared distance of a point from a box: lows, then highs. */
static double gap(int dim, const double *box, const double *x)
{
    double square = 0;
    for (int d = 0; d < dim; ++d) {
        const double out = fmax(fmax(box[d] - x[d], x[d] - box[dim + d]), 0);
        square += out * out;
    }
    return square;
}

/* Box of a cell; a curved one may leave that of its nodes by less than a quarter of its size. */
static void cell_box(const cmgi_locator *t, cmg_size cell, double *box)
{
    const int dim = t->mesh->dim;
    for (int d = 0; d < dim; ++d) {
        double low = HUGE_VAL;
        double high = -HUGE_VAL;
        for (int a = 0; a < t->nodes; ++a) {
            low = fmin(low, node_x(t, cell, a)[d]);
            high = fmax(high, node_x(t, cell, a)[d]);
        }
        const double more = (t->basis.order == 2 ? 0.25 : 1e-8) * (high - low);
        box[d] = low - more;
        box[dim + d] = high + more;
    }
}

/* Takes the cell if it is nearer than the best; looks no closer where its box is beyond `reach`. */
static void try_cell(const cmgi_locator *t, cmg_index cell, const double *x, double reach,
                     cmgi_location *best)
{
    cmgi_location place = {.cell = cell};
    double inside[3];
    double at[3];
    double box[6];
    cell_box(t, cell, box);
    if (gap(t->mesh->dim, box, x) > reach * reach) {
        return;
    }
    invert(t, cell, x, place.xi);
    memcpy(inside, place.xi, sizeof inside);
    place.outside = clamp(t->basis, inside);
    map(t, cell, inside, at, NULL);
    place.distance = place.outside <= INSIDE ? 0 : sqrt(cmgi_distance2(t->mesh->dim, x, at));
    if (best->cell < 0 || place.distance < best->distance) {
        *best = place;
    }
}

/*
 * Depth first, the nearer child first, without boxes farther than the best cell or, where only
 * boxes around the point count, off the point.
 */
static void search(const cmgi_locator *t, const double *x, bool around, cmgi_location *best)
{
    const int dim = t->mesh->dim;
    cmg_size stack[DEEPEST];
    int depth = 0;
    stack[depth++] = 1;
    while (depth > 0 && best->distance > 0) {
        const cmg_size k = stack[--depth];
        const double reach = around ? 0 : best->distance;
        if (gap(dim, t->box + k * 2 * dim, x) > reach * reach) {
            continue;
        }
        if (k < t->leaves) {
            const double *child = t->box + 4 * k * dim;
            const bool right = gap(dim, child + 2 * dim, x) < gap(dim, child, x);
            stack[depth++] = 2 * k + !right;
            stack[depth++] = 2 * k + right;
            continue;
        }
        const cmg_size first = (k - t->leaves) * LEAF;
        for (cmg_size i = first; i < first + LEAF && i < t->mesh->cells && best->distance > 0;
             ++i) {
            try_cell(t, t->order[i], x, around ? 0 : best->distance, best);
        }
    }
}

/* A point inside is found among the boxes around it; else all the tree is searched for the nearest
 * cell, which boxes that lie hollow around the point would make slow. */
cmgi_location cmgi_locate(const cmgi_locator *t, const double *x)
{
    cmgi_location best = {.cell = -1, .distance = HUGE_VAL};
    search(t, x, true, &best);
    if (best.distance > 0) {
        search(t, x, false, &best);
    }
    return best;
}

/* Makes room in a box for another one. */
static void widen(int dim, double *box, const double *other)
{
    for (int d = 0; d < dim; ++d) {
        box[d] = fmin(box[d], other[d]);
        box[dim + d] = fmax(box[dim + d], other[dim + d]);
    }
}

/* Along a Z-curve through the middles of the cells, 20 bits an axis. */
static cmg_status sort_cells(cmgi_locator *t)
{
    const cmg_fem_mesh *mesh = t->mesh;
    const int dim = mesh->dim;
    double low[3];
    double high[3];
    cmgi_box_of(dim, mesh->nodes, mesh->x, low, high);
    CMGI_SCOPED_ZERO(t->ctx, mesh->cells, uint64_t, keys);
#pragma omp parallel for num_threads(t->ctx->threads) schedule(static) if (mesh->cells > 256)
    for (cmg_size c = 0; c < mesh->cells; ++c) {
        for (int d = 0; d < dim; ++d) {
            double middle = 0;
            for (int a = 0; a < t->nodes; ++a) {
                middle += node_x(t, c, a)[d] / t->nodes;
            }
            const double share = high[d] > low[d] ? (middle - low[d]) / (high[d] - low[d]) : 0;
            const uint64_t at = (uint64_t)(share * 0xfffff);
            for (int b = 0; b < 20; ++b) {
                keys[c] |= (at >> b & 1) << (b * dim + d);
            }
        }
    }
    return cmgi_order_by_key(t->ctx, mesh->cells, keys, t->order);
}

cmg_status cmgi_locator_create(cmg_context *ctx, const cmg_fem_mesh *mesh, cmgi_locator *locator)
{
    const cmgi_basis basis = cmgi_basis_of(mesh->element, mesh->dim);
    cmgi_scoped_by(cmgi_locator_free) cmgi_locator t = {.ctx = ctx,
                                                        .mesh = mesh,
                                                        .basis = basis,
                                                        .local = cmgi_vtk_order(basis),
                                                        .nodes = cmgi_basis_nodes(basis),
                                                        .leaves = 1};
    const cmg_size width = 2 * (cmg_size)mesh->dim; /* numbers of a box */
    while (t.leaves * LEAF < mesh->cells) {
        t.leaves *= 2;
    }
    CMGI_TRY(cmgi_alloc(ctx, mesh->cells, sizeof *t.order, &t.order));
    CMGI_TRY(cmgi_alloc(ctx, 2 * t.leaves * width, sizeof *t.box, &t.box));
    CMGI_TRY(sort_cells(&t));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (t.leaves > 256)
    for (cmg_size leaf = 0; leaf < t.leaves; ++leaf) {
        double *box = t.box + (t.leaves + leaf) * width;
        for (int d = 0; d < mesh->dim; ++d) {
            box[d] = HUGE_VAL;
            box[mesh->dim + d] = -HUGE_VAL;
        }
        for (cmg_size i = leaf * LEAF; i < (leaf + 1) * LEAF && i < mesh->cells; ++i) {
            double one[6];
            cell_box(&t, t.order[i], one);
            widen(mesh->dim, box, one);
        }
    }
    for (cmg_size k = t.leaves - 1; k >= 1; --k) { /* the box of two */
        memcpy(t.box + k * width, t.box + 2 * k * width, (size_t)width * sizeof *t.box);
        widen(mesh->dim, t.box + k * width, t.box + (2 * k + 1) * width);
    }
    CMGI_PASS_ON(&t, locator);
    return CMG_OK;
}

void cmgi_locator_free(cmgi_locator *locator)
{
    CMGI_FREE(locator->ctx, locator->order, locator->box);
    *locator = (cmgi_locator){0};
}
