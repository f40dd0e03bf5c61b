/*
 * Natural embedding between nested meshes: the coarse basis at the fine nodes. A fine node is taken
 * to its coarse cell's reference cell through the corners of its own cell, each of which is midway
 * between two coarse ones.
 */
#include "fem/space.h"
#include "transfer/rows.h"

#include <string.h>

typedef struct embedding {
    const cmgi_space *fine;
    const cmgi_space *coarse;
} embedding;

void cmgi_space_to_parent(cmgi_cell cell, int child, double *xi)
{
    const cmgi_cell_info *info = cmgi_cell_table(cell);
    const cmgi_basis geometry = {cmgi_cell_simplex(cell), 1, info->dim};
    double G[CMGI_GEOMETRY_CORNERS];
    double sum[3] = {0, 0, 0};
    cmgi_basis_eval(geometry, xi, G, NULL);
    for (int c = 0; c < info->corners; ++c) {
        int between[2];
        double p[3];
        double q[3];
        cmgi_refined_corner(cell, child, c, between);
        cmgi_basis_position(geometry, between[0], p);
        cmgi_basis_position(geometry, between[1], q);
        for (int d = 0; d < info->dim; ++d) {
            sum[d] += G[c] * (0.5 * (p[d] + q[d]));
        }
    }
    memcpy(xi, sum, (size_t)info->dim * sizeof *xi);
}

static int embed_node(const void *user, cmg_size unknown, cmg_index *column, double *weight)
{
    const embedding *e = user;
    const cmg_index node = e->fine->node[unknown];
    if (e->fine->fixed[node]) {
        return 0;
    }
    cmg_size cell = e->fine->cell[e->fine->start[node]];
    double xi[3];
    double N[CMGI_MAX_NODES];
    cmgi_basis_position(e->fine->basis, cmgi_space_local(e->fine, cell, node), xi);
    if (e->fine->mesh != e->coarse->mesh) {
        const int children = cmgi_cell_table(e->fine->mesh->cell)->children;
        cmgi_space_to_parent(e->fine->mesh->cell, (int)(cell % children), xi);
        cell /= children;
    }
    cmgi_basis_eval(e->coarse->basis, xi, N, NULL);
    int count = 0;
    for (int a = 0; a < e->coarse->local; ++a) {
        const cmg_index from = e->coarse->cell_nodes[cell * e->coarse->local + a];
        if (!e->coarse->fixed[from]) {
            column[count] = e->coarse->unknown[from];
            weight[count++] = N[a];
        }
    }
    return count;
}

cmg_status cmgi_space_prolongation(const cmgi_space *fine, const cmgi_space *coarse, cmgi_csr *P)
{
    const embedding e = {fine, coarse};
    if (fine->grid != NULL) {
        return cmgi_grid_prolongation(fine->ctx, fine->grid, coarse->grid, P);
    }
    return cmgi_transfer_rows(fine->ctx, fine->unknowns, coarse->unknowns, fine->components,
                              embed_node, &e, P);
}
