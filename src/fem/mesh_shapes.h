/*
 * Built-in geometries: masked lattices (square, cube, L-shape, cantilever, Fichera corner), a ring,
 * and a plate whose holes have O-grids around them.
 */
#pragma once
#include "cmg_fem.h"

#include "fem/mesh.h"

typedef enum cmgi_distortion {
    CMGI_DISTORT_NONE = 0,
    CMGI_DISTORT_RANDOM, /* interior nodes move by up to fraction x shortest edge at the node */
    CMGI_DISTORT_SMOOTH  /* the lattice is bent by sines that vanish on the boundary */
} cmgi_distortion;

typedef struct cmgi_shape_options {
    cmg_shape shape;
    cmgi_cell cell;
    cmg_size n;       /* cells along a unit length, >= 1; default 4 */
    double length[3]; /* beam: length, height, width, default 4 1 1; lshape: side, width of the
                         arms, extent in z, default 2 1 1 */
    cmg_size columns; /* holes: tiles in x and y; default 2 x 1 */
    cmg_size rows;
    bool alternate; /* holes: holes in tiles of even column + row only; default false */
    double radius;  /* holes: of the holes, (0, 0.5); annulus: inner; default 0.25, 0.5 */
    double outer;   /* annulus: outer radius; default 1 */
    double aspect;  /* x is multiplied by this after all else, > 0; default 1 */
    double grading; /* lattices: largest over smallest cell in each direction, >= 1; default 1.
                                   Small at the low ends, for lshape and fichera at the corner */
    cmgi_distortion distortion; /* default none */
    double fraction;            /* of the distortion, [0, 0.5) random, [0, 1) smooth; default 0.2 */
    unsigned long long seed;    /* of the random distortion; default 1 */
} cmgi_shape_options;

/* Defaults of a shape; the cell is a quad, or a hex where the shape has no 2D form. */
void cmgi_shape_options_default(cmg_shape shape, cmgi_shape_options *options);
/* The mesh, with facets labelled left, right, bottom, top, back, front, inner, outer, holes,
 * corner. */
cmg_status cmgi_shape_mesh(cmg_context *ctx, const cmgi_shape_options *options, cmgi_mesh **mesh);
/*
 * Circles that the labels "holes", "inner" and "outer" lie on: writes at most `capacity` surfaces
 * and returns how many there are; 0 for shapes without, and for aspect != 1.
 */
int cmgi_shape_surfaces(const cmgi_shape_options *options, const cmgi_mesh *mesh, int capacity,
                        cmgi_surface *surface);

/* Of a square or cube, low and high along each axis. */
extern const char *const cmgi_side_names[6];

/* Parts that the shapes are made of. */
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
