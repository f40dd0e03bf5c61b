/* The order of a cell's corners. */
#pragma once
#include "fem/mesh.h"

/* Mirrors the numbering of cells whose corner determinants are all negative; counts them. */
void cmgi_mesh_make_positive(cmgi_mesh *mesh, cmg_size *turned);
/*
 * Turns the vertices of tets so that refinement cuts the octahedron along its shortest diagonal; a
 * diagonal that is shorter by rounding only does not count. Refinement keeps to that choice from
 * then on.
 */
void cmgi_mesh_order_tets(cmgi_mesh *mesh);
