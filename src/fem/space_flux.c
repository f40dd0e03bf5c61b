/*
 * Neumann data: b_i += int g phi_i over the boundary facets of given labels, with the flux g = k
 * du/dn or, in elasticity, the traction g = sigma n.
 *
 * A facet is integrated in the reference cell of a cell that has it: its corners there span the
 * facet, and basis functions of nodes that are not on it vanish on it.
 */
#include "fem/quadrature.h"
#include "fem/space.h"

#include <math.h>
#include <string.h>

enum { MAX_FACET_POINTS = CMGI_MAX_AXIS_POINTS * CMGI_MAX_AXIS_POINTS };

/* The facet in its cell: reference positions and positions of its corners. */
typedef struct facet_place {
    cmg_size cell;
    int corners;
    double xi[4][3];
    double x[4][3];
} facet_place;

/* Finds the cell of facet f, around the facet's first node. */
static facet_place place_facet(const cmgi_space *space, cmg_size f)
{
    const cmgi_mesh *mesh = space->mesh;
    const cmgi_cell_info *info = cmgi_cell_table(mesh->cell);
    const cmg_index *node = mesh->facet_nodes + f * info->facet_corners;
    facet_place place = {.cell = -1, .corners = info->facet_corners};
    for (cmg_size e = space->start[node[0]]; e < space->start[node[0] + 1]; ++e) {
        bool all = true;
        for (int c = 0; c < place.corners; ++c) {
            all = all && cmgi_space_local(space, space->cell[e], node[c]) >= 0;
        }
        place.cell = all ? space->cell[e] : place.cell;
    }
    for (int c = 0; c < place.corners; ++c) {
        cmgi_basis_position(space->basis, cmgi_space_local(space, place.cell, node[c]),
                            place.xi[c]);
        memcpy(place.x[c], mesh->x + (cmg_size)node[c] * mesh->dim,
               (size_t)mesh->dim * sizeof *mesh->x);
    }
    return place;
}

/* Length or area element of the facet, from the derivatives dG of its corners' functions. */
static double surface_element(int dim, const facet_place *place, const double *dG)
{
    double t[2][3] = {{0}};
    for (int c = 0; c < place->corners; ++c) {
        for (int d = 0; d < dim; ++d) {
            for (int e = 0; e < dim - 1; ++e) {
                t[e][d] += place->x[c][d] * dG[c * (dim - 1) + e];
            }
        }
    }
    if (dim == 2) {
        return hypot(t[0][0], t[0][1]);
    }
    double square = 0;
    for (int d = 0; d < 3; ++d) {
        const int a = (d + 1) % 3;
        const int b = (d + 2) % 3;
        const double n = t[0][a] * t[1][b] - t[0][b] * t[1][a];
        square += n * n;
    }
    return sqrt(square);
}

static void add_facet(const cmgi_space *space, const facet_place *place, const double *flux,
                      int axis_points, double *b)
{
    const int dim = space->mesh->dim;
    const int nc = space->components;
    const cmgi_basis facet = {space->basis.simplex, 1, dim - 1};
    const int points = cmgi_quadrature_points(dim - 1, axis_points);
    double position[MAX_FACET_POINTS * 2];
    double weight[MAX_FACET_POINTS];
    cmgi_quadrature(facet.simplex, dim - 1, axis_points, position, weight);
    for (int q = 0; q < points; ++q) {
        double G[4];
        double dG[8];
        double N[CMGI_MAX_NODES];
        double xi[3] = {0, 0, 0};
        cmgi_basis_eval(facet, position + q * (dim - 1), G, dG);
        for (int k = 0; k < place->corners * dim; ++k) {
            xi[k % dim] += G[k / dim] * place->xi[k / dim][k % dim];
        }
        cmgi_basis_eval(space->basis, xi, N, NULL);
        const double w = weight[q] * surface_element(dim, place, dG);
        for (int a = 0; a < space->local; ++a) {
            const cmg_index node = space->cell_nodes[place->cell * space->local + a];
            if (space->fixed[node]) {
                continue;
            }
            for (int c = 0; c < nc; ++c) {
                b[(cmg_size)space->unknown[node] * nc + c] += w * flux[c] * N[a];
            }
        }
    }
}

void cmgi_space_add_flux(const cmgi_space *space, const bool *labels, const double *flux,
                         int axis_points, double *b)
{
    for (cmg_size f = 0; f < space->mesh->facets; ++f) {
        if (labels[space->mesh->facet_label[f]]) {
            const facet_place place = place_facet(space, f);
            add_facet(space, &place, flux, axis_points, b);
        }
    }
}
