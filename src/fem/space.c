/* Nodes of a space, their cells, and the Dirichlet conditions on them. */
#include "fem/space.h"
#include "core/memory.h"

#include <string.h>

/* Local nodes of order 2 among the nodes of the refined cell: corners, edges, sides, centre. */
static const unsigned char refined[CMGI_CELL_KINDS][CMGI_MAX_NODES] = {
    [CMGI_TRI] = {0, 1, 2, 3, 5, 4},
    [CMGI_QUAD] = {0, 4, 1, 7, 8, 5, 2, 6, 3},
    [CMGI_TET] = {0, 1, 2, 3, 4, 6, 7, 5, 8, 9},
    [CMGI_HEX] = {0,  8,  1,  12, 20, 13, 2, 9,  3,  16, 22, 17, 24, 26,
                  25, 18, 23, 19, 4,  10, 5, 14, 21, 15, 6,  11, 7}};

static cmg_status number_nodes(cmgi_space *s, const bool *fixes)
{
    const cmgi_mesh *mesh = s->mesh;
    const int corners = cmgi_cell_table(mesh->cell)->facet_corners;
    cmgi_scoped_by(cmgi_entities_free) cmgi_entities e = {0};
    const bool quadratic = s->basis.order == 2;
    s->nodes = mesh->nodes;
    if (quadratic) {
        CMGI_TRY(cmgi_mesh_entities(mesh, mesh->cell == CMGI_HEX, &e));
        s->nodes += e.edge.count + e.face.count + (s->basis.simplex ? 0 : mesh->cells);
    }
    CMGI_CHECK(s->ctx, s->nodes <= INT32_MAX, CMG_ERR_ARG, "%lld nodes are more than 2^31 - 1",
               (long long)s->nodes);
    CMGI_TRY(cmgi_alloc(s->ctx, mesh->cells * s->local, sizeof *s->cell_nodes, &s->cell_nodes));
    CMGI_TRY(cmgi_alloc_zero(s->ctx, s->nodes, sizeof *s->fixed, &s->fixed));
    if (!quadratic) {
        memcpy(s->cell_nodes, mesh->cell_nodes,
               (size_t)(mesh->cells * s->local) * sizeof *s->cell_nodes);
    }
    for (cmg_size c = 0; quadratic && c < s->cells; ++c) {
        cmg_index on[CMGI_MAX_REFINED];
        (void)cmgi_refined_cell(mesh, &e, c, on);
        for (int a = 0; a < s->local; ++a) {
            s->cell_nodes[c * s->local + a] = on[refined[mesh->cell][a]];
        }
    }
    for (cmg_size f = 0; f < mesh->facets && fixes != NULL; ++f) {
        const cmg_index *corner = mesh->facet_nodes + f * corners;
        cmg_index on[9]; /* its corners, and in order 2 its edges and centre */
        if (!fixes[mesh->facet_label[f]]) {
            continue;
        }
        const int count = quadratic ? cmgi_refined_side(mesh, &e, corner, on) : corners;
        for (int k = 0; k < count; ++k) {
            s->fixed[quadratic ? on[k] : corner[k]] = 1;
        }
    }
    return CMG_OK;
}

cmg_status cmgi_space_create(const cmgi_mesh *mesh, int order, int components,
                             cmg_boundary boundary, const bool *fixes, cmgi_space **space)
{
    cmgi_scoped_by(cmgi_space_destroy) cmgi_space *s = NULL;
    CMGI_TRY(cmgi_alloc(mesh->ctx, 1, sizeof *s, &s));
    *s = (cmgi_space){.ctx = mesh->ctx,
                      .mesh = mesh,
                      .basis = {cmgi_cell_simplex(mesh->cell), order, mesh->dim},
                      .components = components,
                      .boundary = boundary,
                      .cells = mesh->cells};
    s->local = cmgi_basis_nodes(s->basis);
    CMGI_TRY(number_nodes(s, fixes));
    CMGI_TRY(cmgi_alloc(s->ctx, s->nodes, sizeof *s->unknown, &s->unknown));
    CMGI_TRY(cmgi_alloc(s->ctx, s->nodes, sizeof *s->node, &s->node));
    for (cmg_size n = 0; n < s->nodes; ++n) {
        const bool out = s->fixed[n] && boundary == CMG_BOUNDARY_ELIMINATE;
        s->unknown[n] = out ? -1 : (cmg_index)s->unknowns;
        if (!out) {
            s->node[s->unknowns++] = (cmg_index)n;
        }
    }
    const cmgi_incidence in = {s->nodes, mesh->cells, s->local, s->cell_nodes};
    CMGI_TRY(cmgi_cells_of_nodes(s->ctx, &in, &s->start, &s->cell));
    *space = cmgi_pass_on(&s);
    return CMG_OK;
}

cmg_status cmgi_space_on_grid(cmg_context *ctx, const cmgi_grid *grid, cmg_size before,
                              cmgi_space **space)
{
    CMGI_SCOPED(ctx, 1, cmgi_space, s);
    *s = (cmgi_space){.ctx = ctx,
                      .basis = {false, grid->order, grid->dim},
                      .components = grid->components,
                      .boundary = grid->domain->boundary,
                      .cells = 1,
                      .nodes = 1,
                      .unknowns = cmgi_grid_nodes(grid),
                      .before = before,
                      .own = *grid};
    s->grid = &s->own;
    s->local = cmgi_basis_nodes(s->basis);
    for (int d = 0; d < 3; ++d) {
        s->cells *= grid->axis[d].cells;
        s->nodes *= grid->axis[d].nodes;
    }
    *space = cmgi_pass_on(&s);
    return CMG_OK;
}

void cmgi_space_destroy(cmgi_space **space)
{
    cmgi_space *s = *space;
    if (s == NULL) {
        return;
    }
    CMGI_FREE(s->ctx, s->cell_nodes, s->fixed, s->unknown, s->node, s->start, s->cell, s);
    *space = NULL;
}

void cmgi_space_corners(const cmgi_space *space, cmg_size cell, double *corners)
{
    const cmgi_mesh *mesh = space->mesh;
    if (space->grid != NULL) {
        cmgi_grid_corners(space->grid, cell, corners);
        return;
    }
    const int n = cmgi_cell_table(mesh->cell)->corners;
    for (int c = 0; c < n; ++c) {
        const cmg_size node = mesh->cell_nodes[cell * n + c];
        for (int d = 0; d < mesh->dim; ++d) {
            corners[c * mesh->dim + d] = mesh->x[node * mesh->dim + d];
        }
    }
}

int cmgi_space_local(const cmgi_space *space, cmg_size cell, cmg_index node)
{
    const cmg_index *nodes = space->cell_nodes + cell * space->local;
    int a = 0;
    while (a < space->local && nodes[a] != node) {
        ++a;
    }
    return a < space->local ? a : -1;
}

void cmgi_space_position(const cmgi_space *space, cmg_size node, double *x)
{
    if (space->grid != NULL) {
        cmgi_grid_position(space->grid, node, x);
        return;
    }
    const int dim = space->mesh->dim;
    if (node < space->mesh->nodes) {
        memcpy(x, space->mesh->x + node * dim, (size_t)dim * sizeof *x);
        return;
    }
    const cmgi_basis geometry = {space->basis.simplex, 1, dim};
    const cmg_size cell = space->cell[space->start[node]];
    double xi[3];
    double G[CMGI_GEOMETRY_CORNERS];
    double corners[CMGI_GEOMETRY_CORNERS * 3];
    cmgi_basis_position(space->basis, cmgi_space_local(space, cell, (cmg_index)node), xi);
    cmgi_basis_eval(geometry, xi, G, NULL);
    cmgi_space_corners(space, cell, corners);
    for (int d = 0; d < dim; ++d) {
        x[d] = 0;
        for (int c = 0; c < cmgi_basis_nodes(geometry); ++c) {
            x[d] += G[c] * corners[c * dim + d];
        }
    }
}
