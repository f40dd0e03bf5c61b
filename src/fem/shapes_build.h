/* Parts that the built-in shapes are made of. */
#pragma once
#include "fem/mesh_shapes.h"

/* Quads or hexes of a masked lattice, of a ring and of a plate with holes; no facets yet. */
cmg_status cmgi_shape_lattice(cmg_context *ctx, const cmgi_shape_options *o, cmgi_mesh **mesh);
cmg_status cmgi_shape_annulus(cmg_context *ctx, const cmgi_shape_options *o, cmgi_mesh **mesh);
cmg_status cmgi_shape_plate(cmg_context *ctx, const cmgi_shape_options *o, cmgi_mesh **mesh);

/*
 * Smooth distortion of coordinates u whose boundaries are multiples of 1/2:
 * u_d += f / (2 pi dim) prod_k sin(2 pi u_k), one to one for f < 1 since its derivative's row sums
 * are <= f.
 */
void cmgi_bend(int dim, double fraction, double *u);
/* The smooth fraction in use, 0 for the other distortions. */
double cmgi_smooth_fraction(const cmgi_shape_options *o);

/* Extent of lattice shapes in each direction. */
void cmgi_shape_extent(const cmgi_shape_options *o, double extent[3]);
/* Plate: tile (i, j) has a hole; it is the one called centre. */
bool cmgi_plate_hole(const cmgi_shape_options *o, cmg_size i, cmg_size j);
bool cmgi_plate_centre(const cmgi_shape_options *o, cmg_size i, cmg_size j);

/* Quads into 2 triangles along the shorter diagonal, hexes of a lattice into 6 tets around diagonal
 * 0-7. */
cmg_status cmgi_mesh_split(const cmgi_mesh *mesh, cmgi_mesh **simplices);

/*
 * Moves every node off the boundary in a random direction by at most fraction x its shortest edge.
 * Nodes of cells that this would flatten move half as far, until none is flat. The same for any
 * thread count.
 */
cmg_status cmgi_mesh_distort(cmgi_mesh *mesh, double fraction, unsigned long long seed);
