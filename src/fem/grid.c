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
    const bool keep = domain->boundary == CMG_BOUNDARY_IDENTITY_KEEP;
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
        axis->column_first = keep ? 0 : axis->free_first;
        axis->column_last = keep ? axis->nodes - 1 : axis->free_last;
    }
    return grid;
}

cmg_size cmgi_grid_nodes(const cmgi_grid *grid)
{
    return grid->axis[0].unknowns * grid->axis[1].unknowns * grid->axis[2].unknowns;
}

/* Coupled column positions summed over the free positions of an axis. */
static cmg_size coupled(const cmgi_grid_axis *axis)
{
    cmg_size sum = 0;
    for (cmg_size p = axis->free_first; p <= axis->free_last; ++p) {
        const int o = axis->order;
        cmg_size low = o == 0 ? 0 : (p % o == 0 ? p - o : p - p % o);
        cmg_size high = o == 0 ? 0 : (p % o == 0 ? p + o : p - p % o + o);
        low = low < axis->column_first ? axis->column_first : low;
        high = high > axis->column_last ? axis->column_last : high;
        sum += high - low + 1;
    }
    return sum;
}

cmg_size cmgi_grid_entries(const cmgi_grid *grid)
{
    cmg_size entries = (cmg_size)grid->components * grid->components;
    cmg_size inner = 1;
    for (int d = 0; d < 3; ++d) {
        entries *= coupled(&grid->axis[d]);
        inner *= grid->axis[d].free_last - grid->axis[d].free_first + 1;
    }
    return entries + (cmgi_grid_nodes(grid) - inner) * grid->components;
}

void cmgi_grid_node(const cmgi_grid *grid, cmg_size n, cmg_size p[3])
{
    const cmg_size nx = grid->axis[0].unknowns;
    const cmg_size ny = grid->axis[1].unknowns;
    p[0] = n % nx + grid->axis[0].first;
    p[1] = n / nx % ny + grid->axis[1].first;
    p[2] = n / (nx * ny) + grid->axis[2].first;
}

bool cmgi_grid_fixed(const cmgi_grid *grid, const cmg_size p[3])
{
    for (int d = 0; d < grid->dim; ++d) {
        if (p[d] < grid->axis[d].free_first || p[d] > grid->axis[d].free_last) {
            return true;
        }
    }
    return false;
}

void cmgi_grid_position(const cmgi_grid *grid, const cmg_size p[3], double *x)
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

void cmgi_grid_corners(const cmgi_grid *grid, const cmg_size e[3], double *corners)
{
    for (int c = 0; c < 1 << grid->dim; ++c) {
        cmg_size p[3] = {0, 0, 0};
        for (int d = 0; d < grid->dim; ++d) {
            p[d] = (e[d] + (c >> d & 1)) * grid->order;
        }
        cmgi_grid_position(grid, p, corners + c * grid->dim);
    }
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

static cmg_status axis_map(cmg_context *ctx, const cmgi_grid_axis *fine,
                           const cmgi_grid_axis *coarse, cmgi_axis_map *map)
{
    CMGI_TRY(cmgi_axis_map_alloc(ctx, fine->unknowns, coarse->unknowns, map));
    for (cmg_size r = 0; r < map->rows; ++r) {
        map->count[r] = (unsigned char)interpolate(fine, coarse, r + fine->first,
                                                   map->column + r * CMGI_AXIS_WIDTH,
                                                   map->weight + r * CMGI_AXIS_WIDTH);
    }
    return CMG_OK;
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
    cmg_status status = CMG_OK;
    for (int d = 0; d < 3; ++d) {
        CMGI_TRY_GOTO(done, axis_map(ctx, &fine->axis[d], &coarse->axis[d], &map[d]));
    }
    CMGI_TRY_GOTO(done, cmgi_transfer_tensor(ctx, map, fine->components, P));
done:
    for (int d = 0; d < 3; ++d) {
        cmgi_axis_map_free(ctx, &map[d]);
    }
    return status;
}
