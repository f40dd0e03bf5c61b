/* Geometry of cells: measures, the order of corners, what is wrong, new nodes on surfaces. */
#pragma once
#include "fem/mesh.h"

/* Determinant of rows a, b (, c). */
double cmgi_determinant(int dim, double rows[3][3]);
static inline double cmgi_distance2(int dim, const double *p, const double *q)
{
    double sum = 0;
    for (int d = 0; d < dim; ++d) {
        sum += (p[d] - q[d]) * (p[d] - q[d]);
    }
    return sum;
}
/* What one pass over a cell gives. */
typedef struct cmgi_cell_measure {
    double volume;
    double det;     /* least determinant over the corners and, for hexes, the Gauss points */
    int corner;     /* where it is, -1 = inside */
    double quality; /* corner determinant over the lengths of the edges there, least over the
                       corners, 1 = square or equilateral */
    double edge_min;
    double edge_max;
} cmgi_cell_measure;
cmgi_cell_measure cmgi_mesh_measure_cell(const cmgi_mesh *mesh, cmg_size cell);
/* Fails with the first inverted cell, if any; `what` begins the message. */
cmg_status cmgi_mesh_check_dets(const cmgi_mesh *mesh, const char *what);

/* Mirrors the numbering of cells whose corner determinants are all negative; counts them. */
void cmgi_mesh_make_positive(cmgi_mesh *mesh, cmg_size *turned);
/*
 * Turns the vertices of tets so that refinement cuts the octahedron along its shortest diagonal; a
 * diagonal that is shorter by rounding only does not count. Refinement keeps to that choice from
 * then on.
 */
void cmgi_mesh_order_tets(cmgi_mesh *mesh);

/*
 * Finds boundary nodes at the place of another one (closer than 1e-6 of the shortest edge) and
 * inside a boundary facet that is not theirs (closer than 1e-6 of its size), and fails with the
 * first one. A conforming mesh has neither; a crack between coincident facets has the former.
 */
cmg_status cmgi_mesh_check_conforming(const cmgi_mesh *mesh, cmgi_mesh_report *report);

/*
 * Moves the new nodes of `fine` on facets whose label has a surface to its nearest point, then the
 * centres of quads and hexes (and of inner faces) that border them by transfinite interpolation.
 * Fails with the cell when that inverts one.
 */
cmg_status cmgi_mesh_snap(const cmgi_mesh *coarse, const cmgi_entities *e, const cmgi_snap *snap,
                          cmgi_mesh *fine);
