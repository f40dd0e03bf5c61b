/*
 * Natural embedding between nested meshes: the coarse basis at the fine nodes. A fine node is taken
 * to its coarse cell's reference cell through the corners of its own cell, each of which is a mean
 * of coarse nodes.
 */
#include "fem/space.h"
#include "transfer/rows.h"

typedef struct embedding {
    const cmgi_space *fine;
    const cmgi_space *coarse;
    const cmgi_entities *relation; /* NULL: one mesh */
} embedding;

/* Reference position, in coarse cell `parent`, of a node of the fine mesh. */
static void node_in_parent(const cmgi_mesh *coarse, const cmgi_entities *relation, cmg_size parent,
                           cmg_index node, double *xi)
{
    const int dim = coarse->dim;
    const int corners = cmgi_cell_table(coarse->cell)->corners;
    const cmgi_basis geometry = {cmgi_cell_simplex(coarse->cell), 1, dim};
    cmg_index parents[8];
    const int count = cmgi_refinement_parents(relation, coarse, node, parents);
    for (int d = 0; d < dim; ++d) {
        xi[d] = 0;
    }
    for (int c = 0; c < corners; ++c) {
        double at[3];
        cmgi_basis_position(geometry, c, at);
        for (int p = 0; p < count; ++p) {
            if (coarse->cell_nodes[parent * corners + c] == parents[p]) {
                for (int d = 0; d < dim; ++d) {
                    xi[d] += at[d] / count;
                }
            }
        }
    }
}

void cmgi_space_to_parent(const cmgi_mesh *fine, const cmgi_mesh *coarse,
                          const cmgi_entities *relation, cmg_size cell, double *xi)
{
    const int dim = fine->dim;
    const cmgi_cell_info *info = cmgi_cell_table(fine->cell);
    const cmgi_basis geometry = {cmgi_cell_simplex(fine->cell), 1, dim};
    double G[CMGI_GEOMETRY_CORNERS];
    double sum[3] = {0, 0, 0};
    cmgi_basis_eval(geometry, xi, G, NULL);
    for (int c = 0; c < info->corners; ++c) {
        double at[3];
        node_in_parent(coarse, relation, cell / info->children,
                       fine->cell_nodes[cell * info->corners + c], at);
        for (int d = 0; d < dim; ++d) {
            sum[d] += G[c] * at[d];
        }
    }
    for (int d = 0; d < dim; ++d) {
        xi[d] = sum[d];
    }
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
    if (e->relation != NULL) {
        cmgi_space_to_parent(e->fine->mesh, e->coarse->mesh, e->relation, cell, xi);
        cell /= cmgi_cell_table(e->fine->mesh->cell)->children;
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

cmg_status cmgi_space_prolongation(const cmgi_space *fine, const cmgi_space *coarse,
                                   const cmgi_entities *relation, cmgi_csr *P)
{
    const embedding e = {fine, coarse, relation};
    if (fine->grid != NULL) {
        return cmgi_grid_prolongation(fine->ctx, fine->grid, coarse->grid, P);
    }
    return cmgi_transfer_rows(fine->ctx, fine->unknowns, coarse->unknowns, fine->components,
                              embed_node, &e, P);
}
