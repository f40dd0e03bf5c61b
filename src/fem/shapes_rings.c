/*
 * Shapes with circles: a ring, and a plate of unit tiles whose holes have O-grids around them,
 *
 *   x(rho, t) = (1 - rho) circle(t) + rho square(t),   0 <= rho <= 1, 0 <= t < 4 once around,
 *
 * where t runs evenly along the sides of the tile and evenly in angle on the circle.
 */
#include "core/memory.h"
#include "fem/mesh_shapes.h"

#include <math.h>

static const double PI = 3.14159265358979323846;

static cmg_size at_least(double count, cmg_size least)
{
    return count > (double)least ? (cmg_size)round(count) : least;
}

cmg_status cmgi_shape_annulus(cmg_context *ctx, const cmgi_shape_options *o, cmgi_mesh **mesh)
{
    const double n = (double)o->n;
    const double radial_cells = n * (o->outer - o->radius);
    const double around_cells = n * PI * (o->outer + o->radius) / 4;
    CMGI_CHECK(ctx, radial_cells * around_cells * 4 < INT32_MAX / 2, CMG_ERR_UNSUPPORTED,
               "a ring of %.0f x %.0f cells is more than 32-bit numbers reach", radial_cells,
               4 * around_cells);
    const cmg_size layers = at_least(radial_cells, 1);
    const cmg_size around = 4 * at_least(around_cells, 1);
    CMGI_TRY(cmgi_mesh_create(ctx, CMGI_QUAD, (layers + 1) * around, layers * around, 0, mesh));
    cmgi_mesh *m = *mesh;
    for (cmg_size v = 0; v < m->nodes; ++v) {
        /* one sine across, four around */
        double u[2] = {(double)(v % (layers + 1)) / (double)layers,
                       4 * (double)(v / (layers + 1)) / (double)around};
        cmgi_bend(2, cmgi_smooth_fraction(o), u);
        const double r = u[0] == 1 ? o->outer : o->radius + u[0] * (o->outer - o->radius);
        m->x[2 * v] = r * cos(PI / 2 * u[1]);
        m->x[2 * v + 1] = r * sin(PI / 2 * u[1]);
    }
    for (cmg_size c = 0; c < m->cells; ++c) {
        const cmg_size i = c % layers;
        const cmg_size j = c / layers;
        for (int k = 0; k < 4; ++k) {
            m->cell_nodes[4 * c + k] =
                (cmg_index)((j + (k >> 1)) % around * (layers + 1) + i + (k & 1));
        }
    }
    return CMG_OK;
}

typedef struct plate {
    const cmgi_shape_options *o;
    cmg_size n;      /* cells a side of a tile */
    cmg_size layers; /* cells from hole to side */
    cmg_size width;  /* points of the lattice of all tiles in x */
    cmg_size height;
    cmg_index *number; /* node at each of its points, -1 inside tiles with a hole */
    cmg_size shared;   /* nodes of the lattice, before those of the rings */
    cmg_size holes;
} plate;

/* Nodes of the rings around one hole, all but the last, which is the tile's side. */
static void place_rings(const plate *p, cmg_size i, cmg_size j, double *x)
{
    const cmg_size around = 4 * p->n;
    for (cmg_size k = 0; k < p->layers * around; ++k) {
        double u[2] = {(double)(k / around) / (double)p->layers,
                       (double)(k % around) / (double)p->n};
        cmgi_bend(2, cmgi_smooth_fraction(p->o), u);
        const int side = (int)u[1]; /* of the unit square, the positive way round */
        const double s = u[1] - side;
        const double square[2] = {side == 0 ? s : (side == 1 ? 1 : (side == 2 ? 1 - s : 0)),
                                  side == 0 ? 0 : (side == 1 ? s : (side == 2 ? 1 : 1 - s))};
        const double angle = PI / 2 * u[1] - 0.75 * PI;
        const double circle[2] = {0.5 + p->o->radius * cos(angle), 0.5 + p->o->radius * sin(angle)};
        x[2 * k] = (double)i + (1 - u[0]) * circle[0] + u[0] * square[0];
        x[2 * k + 1] = (double)j + (1 - u[0]) * circle[1] + u[0] * square[1];
    }
}

/* Node of layer l at place s around the hole of tile (i, j), whose rings begin at `first`. */
static cmg_index ring_node(const plate *p, cmg_size i, cmg_size j, cmg_size first, cmg_size l,
                           cmg_size s)
{
    const cmg_size n = p->n;
    const cmg_size around = 4 * n;
    s %= around;
    if (l < p->layers) {
        return (cmg_index)(first + l * around + s);
    }
    const cmg_size a = s < n ? s : (s < 2 * n ? n : (s < 3 * n ? 3 * n - s : 0));
    const cmg_size b = s < n ? 0 : (s < 2 * n ? s - n : (s < 3 * n ? n : 4 * n - s));
    return p->number[i * n + a + (j * n + b) * p->width];
}

static cmg_index *fill_tile(const plate *p, cmg_size i, cmg_size j, cmg_size first, cmg_index *node)
{
    const cmg_size n = p->n;
    const bool hole = cmgi_plate_hole(p->o, i, j);
    const cmg_size across = hole ? p->layers : n;
    const cmg_size along = hole ? 4 * n : n;
    for (cmg_size c = 0; c < across * along; ++c) {
        const cmg_size l = c % across;
        const cmg_size s = c / across;
        for (int k = 0; k < 4; ++k) {
            const cmg_size a = l + (k & 1);
            const cmg_size b = s + (k >> 1);
            *node++ = hole ? ring_node(p, i, j, first, a, b)
                           : p->number[i * n + a + (j * n + b) * p->width];
        }
    }
    return node;
}

cmg_status cmgi_shape_plate(cmg_context *ctx, const cmgi_shape_options *o, cmgi_mesh **mesh)
{
    /* as wide as the mean of the sides of the cells on the circle and on the square */
    const double side = (2 * PI * o->radius + 4) / (8 * (double)o->n);
    plate p = {.o = o,
               .n = o->n,
               .layers = at_least((0.56 - o->radius) / side, 1),
               .width = o->columns * o->n + 1,
               .height = o->rows * o->n + 1};
    CMGI_FREED(ctx, &p.number);
    const double most = (double)(o->columns * o->rows) * (double)o->n *
                        (double)(o->n > 4 * p.layers ? o->n : 4 * p.layers);
    CMGI_CHECK(ctx, most < INT32_MAX / 2, CMG_ERR_UNSUPPORTED,
               "a plate of %.0f cells is more than 32-bit numbers reach", most);
    CMGI_TRY(cmgi_alloc(ctx, p.width * p.height, sizeof *p.number, &p.number));
    for (cmg_size v = 0; v < p.width * p.height; ++v) {
        const cmg_size i = v % p.width;
        const cmg_size j = v / p.width;
        const bool line = i % p.n == 0 || j % p.n == 0;
        const bool used = line || !cmgi_plate_hole(o, i / p.n, j / p.n);
        p.number[v] = used ? (cmg_index)p.shared++ : -1;
    }
    for (cmg_size t = 0; t < o->columns * o->rows; ++t) {
        p.holes += cmgi_plate_hole(o, t % o->columns, t / o->columns);
    }
    const cmg_size ring = 4 * p.n * p.layers;
    const cmg_size plain = o->columns * o->rows - p.holes;
    CMGI_TRY(cmgi_mesh_create(ctx, CMGI_QUAD, p.shared + p.holes * ring,
                              p.holes * ring + plain * p.n * p.n, 0, mesh));
    cmg_size first = p.shared;
    cmg_index *node = (*mesh)->cell_nodes;
    for (cmg_size v = 0; v < p.width * p.height; ++v) {
        const double step = (double)p.n;
        double u[2] = {(double)(v % p.width) / step, (double)(v / p.width) / step};
        if (p.number[v] >= 0) {
            cmgi_bend(2, cmgi_smooth_fraction(p.o), u);
            memcpy((*mesh)->x + 2 * p.number[v], u, sizeof u);
        }
    }
    for (cmg_size t = 0; t < o->columns * o->rows; ++t) {
        const cmg_size i = t % o->columns;
        const cmg_size j = t / o->columns;
        node = fill_tile(&p, i, j, first, node);
        if (cmgi_plate_hole(o, i, j)) {
            place_rings(&p, i, j, (*mesh)->x + 2 * first);
            first += ring;
        }
    }
    return CMG_OK;
}
