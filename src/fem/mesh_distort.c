/* Random distortion of the inner nodes. */
#include "core/memory.h"
#include "core/random.h"
#include "fem/mesh_geometry.h"
#include "fem/mesh_shapes.h"

#include <math.h>
#include <string.h>

static const double FLATTEST = 0.02; /* least scaled determinant that is left */
enum { HALVINGS = 30 };

/* reach[v] = shortest edge at node v, 0 on the boundary. */
static void measure_reach(const cmgi_mesh *mesh, double *reach)
{
    const cmgi_cell_info *info = cmgi_cell_table(mesh->cell);
    for (cmg_size v = 0; v < mesh->nodes; ++v) {
        reach[v] = HUGE_VAL;
    }
    for (cmg_size k = 0; k < mesh->cells * info->edges; ++k) {
        const cmg_index *node = mesh->cell_nodes + k / info->edges * info->corners;
        const cmg_index a = node[info->edge[k % info->edges][0]];
        const cmg_index b = node[info->edge[k % info->edges][1]];
        const double length = sqrt(cmgi_distance2(mesh->dim, mesh->x + (cmg_size)a * mesh->dim,
                                                  mesh->x + (cmg_size)b * mesh->dim));
        reach[a] = fmin(reach[a], length);
        reach[b] = fmin(reach[b], length);
    }
    for (cmg_size k = 0; k < mesh->facets * info->facet_corners; ++k) {
        reach[mesh->facet_nodes[k]] = 0;
    }
}

/* A point of the unit ball, its own stream for every node. */
static void draw(int dim, unsigned long long seed, cmg_size v, double p[3])
{
    uint64_t state = seed + (uint64_t)v;
    state = cmgi_random_bits(&state);
    double square = 2;
    while (square > 1) {
        square = 0;
        for (int d = 0; d < dim; ++d) {
            p[d] = 2 * cmgi_random(&state) - 1;
            square += p[d] * p[d];
        }
    }
}

/* Halves the reach of the nodes of flat cells, once each; returns how many cells are flat. */
static cmg_size hold_back(const cmgi_mesh *mesh, const double *from, double *reach,
                          unsigned char *held)
{
    const int corners = cmgi_cell_table(mesh->cell)->corners;
    cmg_size flat = 0;
    memset(held, 0, (size_t)mesh->nodes);
    for (cmg_size c = 0; c < mesh->cells; ++c) {
        const cmgi_cell_measure m = cmgi_mesh_measure_cell(mesh, c);
        if (m.det > 0 && m.quality > FLATTEST) {
            continue;
        }
        for (int k = 0; k < corners; ++k) {
            const cmg_index v = mesh->cell_nodes[c * corners + k];
            const bool moved =
                memcmp(mesh->x + (cmg_size)v * mesh->dim, from + (cmg_size)v * mesh->dim,
                       (size_t)mesh->dim * sizeof *from) != 0;
            if (moved && !held[v]) {
                reach[v] *= 0.5;
                held[v] = 1;
                ++flat;
            }
        }
    }
    return flat;
}

cmg_status cmgi_mesh_distort(cmgi_mesh *mesh, double fraction, unsigned long long seed)
{
    const cmg_size length = mesh->nodes * mesh->dim;
    CMGI_SCOPED(mesh->ctx, length, double, from);
    CMGI_SCOPED(mesh->ctx, mesh->nodes, double, reach);
    CMGI_SCOPED(mesh->ctx, mesh->nodes, unsigned char, held);
    memcpy(from, mesh->x, (size_t)length * sizeof *from);
    measure_reach(mesh, reach);
    for (int k = 0; k < HALVINGS; ++k) {
        for (cmg_size v = 0; v < mesh->nodes; ++v) {
            double p[3];
            draw(mesh->dim, seed, v, p);
            for (int d = 0; d < mesh->dim; ++d) {
                mesh->x[v * mesh->dim + d] = from[v * mesh->dim + d] + fraction * reach[v] * p[d];
            }
        }
        if (hold_back(mesh, from, reach, held) == 0) {
            break;
        }
    }
    return CMG_OK;
}
