/*
 * The finest mesh for output. All nodes of the space are nodes of it, those with Dirichlet values
 * as well; spaces of order 2 are shown on cells refined once, whose nodes are numbered like the
 * space's.
 */
#include "fem/generate.h"

#include "core/ranks.h"
#include "hierarchy/own.h"

#include <string.h>

/* Boundary values of the nodes without unknowns: exact ones where they are known, else zero. */
static void fill_boundary(const cmgi_problem *problem, cmgi_stored_mesh *mesh)
{
    const int nc = mesh->components;
    cmg_size k = 0;
    for (cmg_size v = 0; v < mesh->nodes; ++v) {
        if (mesh->unknown[v] >= 0) {
            continue;
        }
        double *value = mesh->boundary_values + k++ * nc;
        memset(value, 0, (size_t)nc * sizeof *value);
        if (cmgi_problem_solved(problem)) {
            cmgi_problem_exact(problem, mesh->x + v * mesh->dim, value, NULL);
        }
    }
}

static cmg_status copy_mesh(const cmgi_space *space, const cmgi_mesh *shown,
                            const cmgi_problem *problem, cmgi_stored_mesh **stored)
{
    const int corners = cmgi_cell_table(shown->cell)->corners;
    const cmgi_stored_mesh sizes = {.dim = shown->dim,
                                    .corners = corners,
                                    .components = space->components,
                                    .nodes = shown->nodes,
                                    .cells = shown->cells,
                                    .boundary = space->nodes - space->unknowns};
    CMGI_TRY(cmgi_stored_mesh_create(space->ctx, &sizes, stored));
    cmgi_stored_mesh *m = *stored;
    memcpy(m->x, shown->x, (size_t)(m->nodes * m->dim) * sizeof *m->x);
    memcpy(m->cell_nodes, shown->cell_nodes, (size_t)(m->cells * corners) * sizeof *m->cell_nodes);
    memcpy(m->unknown, space->unknown, (size_t)m->nodes * sizeof *m->unknown);
    fill_boundary(problem, m);
    return CMG_OK;
}

static cmgi_stored_mesh grid_sizes(const cmgi_grid *grid)
{
    cmgi_stored_mesh m = {.dim = grid->dim,
                          .corners = 1 << grid->dim,
                          .components = grid->components,
                          .nodes = 1,
                          .cells = 1};
    for (int d = 0; d < grid->dim; ++d) {
        m.nodes *= grid->axis[d].nodes;
        m.cells *= grid->axis[d].nodes - 1;
    }
    m.boundary = m.nodes - cmgi_grid_nodes(grid);
    return m;
}

size_t cmgi_grid_mesh_bytes(const cmgi_grid *grid)
{
    const cmgi_stored_mesh m = grid_sizes(grid);
    return (size_t)m.nodes * ((size_t)m.dim * sizeof *m.x + sizeof *m.unknown) +
           (size_t)(m.cells * m.corners) * sizeof *m.cell_nodes +
           (size_t)(m.boundary * m.components) * sizeof *m.boundary_values;
}

/* The cells and nodes of a part of the mesh, numbers first + 0, 1, ... of the whole. */
static void fill_grid(const cmgi_grid *grid, cmg_size first_node, cmg_size first_cell,
                      cmgi_stored_mesh *m, int threads)
{
    const cmgi_grid_axis *axis = grid->axis;
    const cmg_size nx = axis[0].nodes;
    const cmg_size ny = axis[1].nodes;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (cmg_size v = 0; v < m->nodes; ++v) {
        cmgi_grid_position(grid, first_node + v, m->x + v * m->dim);
        m->unknown[v] = (cmg_index)cmgi_grid_unknown(grid, first_node + v);
    }
#pragma omp parallel for num_threads(threads) schedule(static)
    for (cmg_size c = 0; c < m->cells; ++c) {
        const cmg_size e = first_cell + c;
        const cmg_size line = e / (nx - 1);
        const cmg_size low = e % (nx - 1) + nx * (line % (ny - 1) + ny * (line / (ny - 1)));
        for (int k = 0; k < m->corners; ++k) {
            m->cell_nodes[c * m->corners + k] =
                (cmg_index)(low + (k & 1) + nx * ((k >> 1 & 1) + ny * (k >> 2)));
        }
    }
}

/* This rank's share of a grid's mesh. */
static cmg_status make_part(cmg_context *ctx, const cmgi_grid *grid, const cmgi_problem *problem,
                            cmgi_stored_mesh **part)
{
    const int me = cmgi_rank(ctx);
    const int ranks = cmgi_ranks(ctx);
    cmgi_stored_mesh sizes = grid_sizes(grid);
    *part = NULL;
    if (sizes.nodes > INT32_MAX) { /* no file holds so many */
        return CMG_OK;
    }
    const cmg_size node = sizes.nodes * me / ranks;
    const cmg_size cell = sizes.cells * me / ranks;
    sizes.nodes = sizes.nodes * (me + 1) / ranks - node;
    sizes.cells = sizes.cells * (me + 1) / ranks - cell;
    sizes.boundary = 0;
    for (cmg_size v = node; v < node + sizes.nodes; ++v) {
        sizes.boundary += cmgi_grid_unknown(grid, v) < 0;
    }
    CMGI_TRY(cmgi_stored_mesh_create(ctx, &sizes, part));
    fill_grid(grid, node, cell, *part, ctx->threads);
    fill_boundary(problem, *part);
    return CMG_OK;
}

cmg_status cmgi_grid_store_part(cmg_context *ctx, const cmgi_grid *grid,
                                const cmgi_problem *problem, cmg_hierarchy *h)
{
    cmgi_stored_mesh *part = NULL;
    CMGI_TRY(make_part(ctx, grid, problem, &part));
    return cmgi_hierarchy_take_mesh_part(h, &part);
}

cmg_status cmgi_space_store_mesh(const cmgi_space *space, const cmgi_problem *problem,
                                 cmg_hierarchy *h)
{
    cmgi_scoped_by(cmgi_mesh_destroy) cmgi_mesh *fine = NULL;
    cmgi_stored_mesh *stored = NULL;
    CMGI_RELEASED(cmgi_stored_mesh_destroy, h->ctx, &stored);
    if (space->grid != NULL) {
        CMGI_TRY(make_part(space->ctx, space->grid, problem, &stored));
        return cmgi_hierarchy_take_mesh(h, &stored);
    }
    if (space->basis.order == 2) {
        CMGI_TRY(cmgi_mesh_refine(space->mesh, NULL, &fine));
    }
    CMGI_TRY(copy_mesh(space, fine != NULL ? fine : space->mesh, problem, &stored));
    return cmgi_hierarchy_take_mesh(h, &stored);
}
