/* Geometry of single cells. */
#pragma once
#include "fem/mesh.h"

/* Determinant of rows a, b (, c). */
double cmgi_determinant(int dim, double rows[3][3]);
/* Least determinant over the corners and, for hexes, the Gauss points; *corner is where, -1 =
 * inside. */
double cmgi_mesh_least_det(const cmgi_mesh *mesh, cmg_size cell, int *corner);
/* Corner determinant over the lengths of the edges there, least over the corners, 1 = ideal. */
double cmgi_mesh_cell_quality(const cmgi_mesh *mesh, cmg_size cell);
/* Fails with the first inverted cell, if any, its number in *cell (NULL allowed). */
cmg_status cmgi_mesh_check_dets(const cmgi_mesh *mesh, const char *what, cmg_size *cell,
                                cmg_size *inverted);
