/*
 * Quads and hexes into simplices. The six tets of a hex follow the paths from corner 0 to corner 7
 * along one axis after the other (Kuhn 1960); neighbours in a lattice cut their common face along
 * the same diagonal. Vertices are in the order of the path, or with 0 and 2 exchanged where that
 * makes the tet positive.
 */
#include "fem/mesh_geometry.h"
#include "fem/mesh_shapes.h"

#include <string.h>

static const unsigned char kuhn[6][4] = {{0, 1, 3, 7}, {0, 2, 6, 7}, {0, 4, 5, 7},
                                         {5, 1, 0, 7}, {3, 2, 0, 7}, {6, 4, 0, 7}};
/* along the diagonal 0-3 and along 1-2 */
static const unsigned char halves[2][2][3] = {{{0, 1, 3}, {0, 3, 2}}, {{0, 1, 2}, {1, 3, 2}}};

static void split_cell(const cmgi_mesh *mesh, cmg_size c, cmg_index *to)
{
    if (mesh->dim == 3) {
        for (int k = 0; k < 24; ++k) {
            to[k] = mesh->cell_nodes[8 * c + kuhn[k / 4][k % 4]];
        }
        return;
    }
    const cmg_index *node = mesh->cell_nodes + 4 * c;
    const double *x[4];
    for (int k = 0; k < 4; ++k) {
        x[k] = mesh->x + 2 * (cmg_size)node[k];
    }
    /* rounding must not decide between equal diagonals */
    const int cut = cmgi_distance2(2, x[0], x[3]) > (1 + 1e-9) * cmgi_distance2(2, x[1], x[2]);
    for (int k = 0; k < 6; ++k) {
        to[k] = node[halves[cut][k / 3][k % 3]];
    }
}

cmg_status cmgi_mesh_split(const cmgi_mesh *mesh, cmgi_mesh **simplices)
{
    const int parts = mesh->dim == 2 ? 2 : 6;
    CMGI_TRY(cmgi_mesh_create(mesh->ctx, cmgi_cell_of(true, mesh->dim), mesh->nodes,
                              parts * mesh->cells, 0, simplices));
    cmgi_mesh *m = *simplices;
    memcpy(m->x, mesh->x, (size_t)(mesh->nodes * mesh->dim) * sizeof *m->x);
#pragma omp parallel for num_threads(mesh->ctx->threads) schedule(static)
    for (cmg_size c = 0; c < mesh->cells; ++c) {
        split_cell(mesh, c, m->cell_nodes + c * parts * (mesh->dim + 1));
    }
    return CMG_OK;
}
