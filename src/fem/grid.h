/*
 * Levels on a square or cube as tensor-product grids: no mesh is stored, everything follows from
 * node positions (i, j, k). Unknowns are numbered x fastest over the product of one range an axis.
 *
 * The cells are the images of the coarsest grid's cells under multilinear maps, so that refined
 * grids are nested in the sense of their reference cells also where the coarsest one is distorted.
 */
#pragma once
#include "fem/cell.h"
#include "csr/csr.h"
#include "transfer/tensor.h"

/* What all levels share. */
typedef struct cmgi_domain {
    int dim;
    double extent[3];      /* of the box from the origin */
    cmg_size cells[3];     /* of the coarsest grid */
    double *vertices;      /* positions of the coarsest grid's nodes x dim, NULL = undistorted */
    bool fixed[3][2];      /* faces with Dirichlet conditions: axis, lower or upper end */
    cmg_boundary boundary; /* how they are imposed */
} cmgi_domain;

/* One axis of a level; an axis that is not there has order 0 and one node. */
typedef struct cmgi_grid_axis {
    int order;
    cmg_size cells;
    cmg_size nodes; /* order * cells + 1 */
    cmg_size first; /* node positions with an unknown: first .. first + unknowns - 1 */
    cmg_size unknowns;
    cmg_size free_first; /* positions off the Dirichlet faces, both included */
    cmg_size free_last;
} cmgi_grid_axis;

typedef struct cmgi_grid {
    const cmgi_domain *domain;
    int dim;
    int order;
    int components; /* unknowns a node */
    cmgi_grid_axis axis[3];
} cmgi_grid;

/* `distort` moves inner nodes by up to half that many cell widths, and boundary nodes along it. */
cmg_status cmgi_domain_distort(cmg_context *ctx, cmgi_domain *domain, double distort,
                               uint64_t seed);
/* The grid of an order with the coarsest grid's cells split `refinement` times in two. */
cmgi_grid cmgi_grid_make(const cmgi_domain *domain, int order, int components, int refinement);
/* Nodes that have unknowns, and entries of the matrix. */
cmg_size cmgi_grid_nodes(const cmgi_grid *grid);
cmg_size cmgi_grid_entries(const cmgi_grid *grid);

/*
 * What spaces (space.h) ask of a mesh, computed. Nodes and cells are numbered x fastest, unknowns
 * from the first of the grid's ranges on: in a slab, neighbours have numbers below 0 and above.
 */
cmg_size cmgi_grid_node(const cmgi_grid *grid, cmg_size unknown);
/* -1 for an eliminated node. */
cmg_size cmgi_grid_unknown(const cmgi_grid *grid, cmg_size node);
/* Is the node on a Dirichlet face? */
bool cmgi_grid_fixed(const cmgi_grid *grid, cmg_size node);
/* Position in space of a node. */
void cmgi_grid_position(const cmgi_grid *grid, cmg_size node, double *x);
cmg_size cmgi_grid_cell_node(const cmgi_grid *grid, cmg_size cell, int a);
/* Corners (2^dim x dim) of a cell. */
void cmgi_grid_corners(const cmgi_grid *grid, cmg_size cell, double *corners);
/* The first of the cells around a node; the others, counted from it, ascending, and how many. */
cmg_size cmgi_grid_first_cell(const cmgi_grid *grid, cmg_size node);
int cmgi_grid_cells_around(const cmgi_grid *grid, cmg_size node, cmg_index cells[8]);
/*
 * Nodes of a class have cells and neighbours alike: per axis, a class is a place in the first cell,
 * in the last, or in a cell between.
 */
enum { CMGI_GRID_CLASSES = 8 * 8 * 8 };
/* Class of the node of an unknown, -1 on Dirichlet faces; a node of a class, -1 = it has none. */
int cmgi_grid_class(const cmgi_grid *grid, cmg_size unknown);
cmg_size cmgi_grid_class_node(const cmgi_grid *grid, int kind);
/*
 * Keys of the numbering by coarse cell: the cell up to 6 refinements up, then the position in it,
 * last axis first, in 12 bits each. On a grid a node between two cells belongs to the lower one.
 */
enum { CMGI_KEY_DEPTH = 6, CMGI_KEY_BITS = 12 };
uint64_t cmgi_grid_key(const cmgi_grid *grid, int refinement, cmg_size node);

/* Natural embedding of the coarser space, without Dirichlet nodes on either side. */
cmg_status cmgi_grid_prolongation(cmg_context *ctx, const cmgi_grid *fine, const cmgi_grid *coarse,
                                  cmgi_csr *P);
/* Entries of that prolongation. */
cmg_size cmgi_grid_prolongation_entries(const cmgi_grid *fine, const cmgi_grid *coarse);
