/* Orientation of cells and the numbering of tets that makes their refinement good. */
#include "fem/mesh_geometry.h"

static void swap(cmg_index *a, cmg_index *b)
{
    const cmg_index c = *a;
    *a = *b;
    *b = c;
}

void cmgi_mesh_make_positive(cmgi_mesh *mesh, cmg_size *turned)
{
    const cmgi_cell_info *info = cmgi_cell_table(mesh->cell);
    cmg_size count = 0;
#pragma omp parallel for num_threads(mesh->ctx->threads) schedule(static) reduction(+ : count)               \
    if (mesh->cells > 4096)
    for (cmg_size c = 0; c < mesh->cells; ++c) {
        bool negative = true;
        for (int k = 0; k < info->corners && negative; ++k) {
            negative = cmgi_mesh_corner_det(mesh, c, k) < 0;
        }
        if (!negative) {
            continue;
        }
        /* exchanges the first two directions of every cell type */
        cmg_index *node = mesh->cell_nodes + c * info->corners;
        swap(&node[1], &node[2]);
        if (mesh->cell == CMGI_HEX) {
            swap(&node[5], &node[6]);
        }
        ++count;
    }
    *turned = count;
}

/* Squared length of the diagonal between the midpoints of edges ab and cd, times 4. */
static double diagonal2(const cmgi_mesh *mesh, cmg_index a, cmg_index b, cmg_index c, cmg_index d)
{
    double sum = 0;
    for (int k = 0; k < 3; ++k) {
        const double gap = mesh->x[3 * (cmg_size)a + k] + mesh->x[3 * (cmg_size)b + k] -
                           mesh->x[3 * (cmg_size)c + k] - mesh->x[3 * (cmg_size)d + k];
        sum += gap * gap;
    }
    return sum;
}

void cmgi_mesh_order_tets(cmgi_mesh *mesh)
{
    /* even permutations that bring the pair 02|13, 01|23, 03|12 to the places of 02|13 */
    static const int turn[3][4] = {{0, 1, 2, 3}, {0, 3, 1, 2}, {0, 2, 3, 1}};
    if (mesh->cell != CMGI_TET) {
        return;
    }
#pragma omp parallel for num_threads(mesh->ctx->threads) schedule(static) if (mesh->cells > 4096)
    for (cmg_size c = 0; c < mesh->cells; ++c) {
        cmg_index *node = mesh->cell_nodes + 4 * c;
        const cmg_index old[4] = {node[0], node[1], node[2], node[3]};
        const double length[3] = {diagonal2(mesh, old[0], old[2], old[1], old[3]),
                                  diagonal2(mesh, old[0], old[1], old[2], old[3]),
                                  diagonal2(mesh, old[0], old[3], old[1], old[2])};
        int best = 0;
        for (int k = 1; k < 3; ++k) {
            best = length[k] < length[best] * (1 - 1e-9) ? k : best;
        }
        for (int k = 0; k < 4; ++k) {
            node[k] = old[turn[best][k]];
        }
    }
}
