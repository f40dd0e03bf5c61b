/* Tensor-product grids: ranges of unknowns, positions, prolongation. */
#include "fem/grid.h"
#include "core/memory.h"
#include "core/random.h"

#include <math.h>

cmg_status cmgi_domain_distort(cmg_context *ctx, cmgi_domain *domain, double distort, uint64_t seed)
{
    const int dim = domain->dim;
    cmg_size nodes = 1;
    for (int d = 0; d < dim; ++d) {
        nodes *= domain->cells[d] + 1;
    }
    CMGI_TRY(cmgi_alloc(ctx, nodes * dim, sizeof *domain->vertices, &domain->vertices));
    uint64_t state = seed;
    for (cmg_size n = 0; n < nodes; ++n) {
        cmg_size rest = n;
        for (int d = 0; d < dim; ++d) {
            const cmg_size cells = domain->cells[d];
            const cmg_size i = rest % (cells + 1);
            rest /= cells + 1;
            const double shift = distort * (cmgi_random(&state) - 0.5);
            const double at = (double)i + (i > 0 && i < cells ? shift : 0);
            domain->vertices[n * dim + d] = domain->extent[d] * at / (double)cells;
        }
    }
    return CMG_OK;
}

cmgi_grid cmgi_grid_make(const cmgi_domain *domain, int order, int components, int refinement)
{
    cmgi_grid grid = {
        .domain = domain, .dim = domain->dim, .order = order, .components = components};
    const bool eliminate = domain->boundary == CMG_BOUNDARY_ELIMINATE;
    for (int d = 0; d < 3; ++d) {
        cmgi_grid_axis *axis = &grid.axis[d];
        const bool there = d < domain->dim;
        axis->order = there ? order : 0;
        axis->cells = there ? domain->cells[d] << refinement : 1;
        axis->nodes = axis->order * axis->cells + 1;
        axis->free_first = there && domain->fixed[d][0] ? 1 : 0;
        axis->free_last = axis->nodes - 1 - (there && domain->fixed[d][1] ? 1 : 0);
        axis->first = eliminate ? axis->free_first : 0;
        axis->unknowns = eliminate ? axis->free_last - axis->free_first + 1 : axis->nodes;
    }
    return grid;
}

cmg_size cmgi_grid_nodes(const cmgi_grid *grid)
{
    return grid->axis[0].unknowns * grid->axis[1].unknowns * grid->axis[2].unknowns;
}

/* Coupled positions whose columns are kept, summed over the free positions of an axis. */
static cmg_size coupled(const cmgi_grid_axis *axis, bool keep)
{
    const cmg_size least = keep ? 0 : axis->free_first;
    const cmg_size most = keep ? axis->nodes - 1 : axis->free_last;
    cmg_size sum = 0;
    for (cmg_size p = axis->free_first; p <= axis->free_last; ++p) {
        const int o = axis->order;
        cmg_size low = o == 0 ? 0 : (p % o == 0 ? p - o : p - p % o);
        cmg_size high = o == 0 ? 0 : (p % o == 0 ? p + o : p - p % o + o);
        low = low < least ? least : low;
        high = high > most ? most : high;
        sum += high - low + 1;
    }
    return sum;
}

cmg_size cmgi_grid_entries(const cmgi_grid *grid)
{
    cmg_size entries = (cmg_size)grid->components * grid->components;
    cmg_size inner = 1;
    for (int d = 0; d < 3; ++d) {
        entries *= coupled(&grid->axis[d], grid->domain->boundary == CMG_BOUNDARY_IDENTITY_KEEP);
        inner *= grid->axis[d].free_last - grid->axis[d].free_first + 1;
    }
    return entries + (cmgi_grid_nodes(grid) - inner) * grid->components;
}

/* Places along the axes of number n in a box. */
static inline void split(cmg_size n, cmg_size nx, cmg_size ny, cmg_size p[3])
{
    p[0] = n % nx;
    p[1] = n / nx % ny;
    p[2] = n / nx / ny;
}

static void node_at(const cmgi_grid *grid, cmg_size node, cmg_size p[3])
{
    split(node, grid->axis[0].nodes, grid->axis[1].nodes, p);
}

static void unknown_at(const cmgi_grid *grid, cmg_size unknown, cmg_size p[3])
{
    split(unknown, grid->axis[0].unknowns, grid->axis[1].unknowns, p);
    for (int d = 0; d < 3; ++d) {
        p[d] += grid->axis[d].first;
    }
}

cmg_size cmgi_grid_node(const cmgi_grid *grid, cmg_size unknown)
{
    cmg_size p[3];
    unknown_at(grid, unknown, p);
    return p[0] + grid->axis[0].nodes * (p[1] + grid->axis[1].nodes * p[2]);
}

static bool is_fixed(const cmgi_grid *grid, const cmg_size p[3])
{
    for (int d = 0; d < grid->dim; ++d) {
        if (p[d] < grid->axis[d].free_first || p[d] > grid->axis[d].free_last) {
            return true;
        }
    }
    return false;
}

cmg_size cmgi_grid_unknown(const cmgi_grid *grid, cmg_size node)
{
    const cmgi_grid_axis *axis = grid->axis;
    cmg_size p[3];
    node_at(grid, node, p);
    if (grid->domain->boundary == CMG_BOUNDARY_ELIMINATE && is_fixed(grid, p)) {
        return -1;
    }
    return p[0] - axis[0].first +
           axis[0].unknowns * (p[1] - axis[1].first + axis[1].unknowns * (p[2] - axis[2].first));
}

bool cmgi_grid_fixed(const cmgi_grid *grid, cmg_size node)
{
    cmg_size p[3];
    node_at(grid, node, p);
    return is_fixed(grid, p);
}

/* Position in space of place p; axis d counts nodes of spacing 1 / order cells. */
static void place(const cmgi_grid *grid, const cmg_size p[3], double *x)
{
    const cmgi_domain *domain = grid->domain;
    const int dim = grid->dim;
    cmg_size cell[3] = {0, 0, 0};
    double t[3] = {0, 0, 0};
    for (int d = 0; d < dim; ++d) {
        const cmg_size total = grid->axis[d].nodes - 1;
        const cmg_size coarse = domain->cells[d];
        if (domain->vertices == NULL) {
            x[d] = domain->extent[d] * (double)p[d] / (double)total;
            continue;
        }
        cell[d] = p[d] == total ? coarse - 1 : p[d] * coarse / total;
        t[d] = (double)(p[d] * coarse - cell[d] * total) / (double)total;
        x[d] = 0;
    }
    for (int c = 0; c < 1 << dim && domain->vertices != NULL; ++c) {
        double weight = 1;
        cmg_size vertex = 0;
        for (int d = dim - 1; d >= 0; --d) {
            const int upper = c >> d & 1;
            weight *= upper ? t[d] : 1 - t[d];
            vertex = vertex * (domain->cells[d] + 1) + cell[d] + upper;
        }
        for (int d = 0; d < dim; ++d) {
            x[d] += weight * domain->vertices[vertex * dim + d];
        }
    }
}

void cmgi_grid_position(const cmgi_grid *grid, cmg_size node, double *x)
{
    cmg_size p[3];
    node_at(grid, node, p);
    place(grid, p, x);
}

cmg_size cmgi_grid_cell_node(const cmgi_grid *grid, cmg_size cell, int a)
{
    const cmgi_grid_axis *axis = grid->axis;
    const int m = grid->order + 1;
    cmg_size e[3];
    split(cell, axis[0].cells, axis[1].cells, e);
    return e[0] * axis[0].order + a % m +
           axis[0].nodes * (e[1] * axis[1].order + a / m % m +
                            axis[1].nodes * (e[2] * axis[2].order + a / m / m));
}

void cmgi_grid_corners(const cmgi_grid *grid, cmg_size cell, double *corners)
{
    cmg_size e[3];
    split(cell, grid->axis[0].cells, grid->axis[1].cells, e);
    for (int c = 0; c < 1 << grid->dim; ++c) {
        cmg_size p[3] = {0, 0, 0};
        for (int d = 0; d < grid->dim; ++d) {
            p[d] = (e[d] + (c >> d & 1)) * grid->order;
        }
        place(grid, p, corners + c * grid->dim);
    }
}

/* The first of the cells around a place on an axis, and how many there are. */
static int cells_on(const cmgi_grid_axis *axis, cmg_size p, cmg_size *first)
{
    const cmg_size o = axis->order > 0 ? axis->order : 1;
    const cmg_size last = p / o < axis->cells ? p / o : axis->cells - 1;
    *first = p / o - (axis->order > 0 && p > 0 && p % o == 0);
    return (int)(last - *first) + 1;
}

int cmgi_grid_cells_around(const cmgi_grid *grid, cmg_size node, cmg_index cells[8])
{
    const cmgi_grid_axis *axis = grid->axis;
    cmg_size p[3];
    cmg_size first;
    node_at(grid, node, p);
    const int nx = cells_on(&axis[0], p[0], &first);
    const int ny = cells_on(&axis[1], p[1], &first);
    const int count = nx * ny * cells_on(&axis[2], p[2], &first);
    for (int n = 0; n < count; ++n) {
        cells[n] =
            (cmg_index)(n % nx + axis[0].cells * (n / nx % ny + axis[1].cells * (n / nx / ny)));
    }
    return count;
}

cmg_size cmgi_grid_first_cell(const cmgi_grid *grid, cmg_size node)
{
    cmg_size p[3];
    cmg_size first[3];
    node_at(grid, node, p);
    for (int d = 0; d < 3; ++d) {
        (void)cells_on(&grid->axis[d], p[d], &first[d]);
    }
    return first[0] + grid->axis[0].cells * (first[1] + grid->axis[1].cells * first[2]);
}

/* Class of a place on its axis: 3 in the first cell, 2 inside, 3 in the last. */
static int class_on(const cmgi_grid_axis *axis, cmg_size p)
{
    const cmg_size left = axis->nodes - 1 - p;
    if (p <= axis->order) {
        return (int)p;
    }
    if (left <= axis->order) {
        return 7 - (int)left;
    }
    return (p & (axis->order - 1)) == 0 ? 4 : 3; /* of order 1 or 2 */
}

int cmgi_grid_class(const cmgi_grid *grid, cmg_size unknown)
{
    const cmgi_grid_axis *axis = grid->axis;
    cmg_size p[3];
    unknown_at(grid, unknown, p);
    if (is_fixed(grid, p)) {
        return -1;
    }
    return class_on(&axis[0], p[0]) + 8 * (class_on(&axis[1], p[1]) + 8 * class_on(&axis[2], p[2]));
}

cmg_size cmgi_grid_class_node(const cmgi_grid *grid, int kind)
{
    cmg_size node = 0;
    for (int d = 2; d >= 0; --d) {
        const cmgi_grid_axis *axis = &grid->axis[d];
        const cmg_size last = axis->nodes - 1;
        const cmg_size o = axis->order;
        const cmg_size candidate[8] = {0, 1, 2, o + 1, 2 * o, last - 2, last - 1, last};
        const int c = kind >> 3 * d & 7;
        const cmg_size p = candidate[c];
        if (p < 0 || p > last || class_on(axis, p) != c) {
            return -1;
        }
        node = node * axis->nodes + p;
    }
    return node;
}

uint64_t cmgi_grid_key(const cmgi_grid *grid, int refinement, cmg_size node)
{
    const cmg_size span = (cmg_size)grid->order
                          << (refinement < CMGI_KEY_DEPTH ? refinement : CMGI_KEY_DEPTH);
    cmg_size p[3];
    uint64_t box = 0;
    uint64_t inside = 0;
    node_at(grid, node, p);
    for (int d = grid->dim - 1; d >= 0; --d) {
        const cmg_size at = p[d] > 0 ? (p[d] - 1) / span : 0;
        box = box * (uint64_t)(grid->axis[d].nodes / span + 1) + (uint64_t)at;
        inside = inside << CMGI_KEY_BITS | (uint64_t)(p[d] - at * span);
    }
    return box << (CMGI_KEY_BITS * grid->dim) | inside;
}

/*
 * Coarse positions and weights of a fine position on its axis; returns their number. Fine node p
 * lies at p / (order_f ratio) coarse cells, where ratio is the number of fine cells in a coarse
 * one.
 */
static int interpolate(const cmgi_grid_axis *fine, const cmgi_grid_axis *coarse, cmg_size p,
                       cmg_index *column, double *weight)
{
    const cmg_size span = fine->order == 0 ? 1 : fine->order * (fine->cells / coarse->cells);
    const cmgi_basis basis = {false, coarse->order, 1};
    const cmg_size cell = p / span < coarse->cells ? p / span : coarse->cells - 1;
    const double xi = (double)(p - cell * span) / (double)span;
    double value[CMGI_AXIS_WIDTH];
    if (p < fine->free_first || p > fine->free_last) {
        return 0;
    }
    cmgi_basis_eval(basis, &xi, value, NULL);
    int count = 0;
    for (int a = 0; a <= coarse->order; ++a) {
        const cmg_size q = cell * coarse->order + a;
        if (fabs(value[a]) > 1e-14 && q >= coarse->free_first && q <= coarse->free_last) {
            column[count] = (cmg_index)(q - coarse->first);
            weight[count++] = value[a];
        }
    }
    return count;
}

cmg_size cmgi_grid_prolongation_entries(const cmgi_grid *fine, const cmgi_grid *coarse)
{
    cmg_size entries = fine->components;
    for (int d = 0; d < 3; ++d) {
        cmg_size sum = 0;
        for (cmg_size r = 0; r < fine->axis[d].unknowns; ++r) {
            cmg_index column[CMGI_AXIS_WIDTH];
            double weight[CMGI_AXIS_WIDTH];
            sum += interpolate(&fine->axis[d], &coarse->axis[d], r + fine->axis[d].first, column,
                               weight);
        }
        entries *= sum;
    }
    return entries;
}

cmg_status cmgi_grid_prolongation(cmg_context *ctx, const cmgi_grid *fine, const cmgi_grid *coarse,
                                  cmgi_csr *P)
{
    cmgi_axis_map map[3] = {{0}, {0}, {0}};
    CMGI_RELEASED(cmgi_axis_map_free, ctx, &map[0], &map[1], &map[2]);
    for (int d = 0; d < 3; ++d) {
        const cmgi_grid_axis *from = &coarse->axis[d];
        const cmgi_grid_axis *to = &fine->axis[d];
        CMGI_TRY(cmgi_axis_map_alloc(ctx, to->unknowns, from->unknowns, &map[d]));
        for (cmg_size r = 0; r < map[d].rows; ++r) {
            map[d].count[r] = (unsigned char)interpolate(to, from, r + to->first,
                                                         map[d].column + r * CMGI_AXIS_WIDTH,
                                                         map[d].weight + r * CMGI_AXIS_WIDTH);
        }
    }
    return cmgi_transfer_tensor(ctx, map, fine->components, P);
}
