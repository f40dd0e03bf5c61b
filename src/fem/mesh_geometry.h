/* Geometry of single cells. */
#pragma once
#include "fem/mesh.h"

/* Determinant of rows a, b (, c). */
double cmgi_determinant(int dim, double rows[3][3]);
/* Least and largest coordinates of points. */
void cmgi_box_of(int dim, cmg_size points, const double *x, double *low, double *high);
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
/* The cell has a corner that is turned or flat to rounding. */
bool cmgi_cell_is_inverted(const cmgi_cell_measure *measure);
/* CMG_ERR_SHAPE with cell, determinant and the number of such cells; `what` begins the message. */
cmg_status cmgi_mesh_fail_inverted(const cmgi_mesh *mesh, const char *what, cmg_size cell,
                                   cmg_size count);
/* Fails with the first inverted cell, if any. */
cmg_status cmgi_mesh_check_dets(const cmgi_mesh *mesh, const char *what);
