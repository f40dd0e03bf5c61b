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
    cmg_size column_first; /* positions whose columns are kept in the matrix */
    cmg_size column_last;
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
/* Position in space of the node at p; axis d counts nodes of spacing 1 / order cells. */
void cmgi_grid_position(const cmgi_grid *grid, const cmg_size p[3], double *x);
/* Node position of the n-th node that has unknowns. */
void cmgi_grid_node(const cmgi_grid *grid, cmg_size n, cmg_size p[3]);
/* Is the node on a Dirichlet face? */
bool cmgi_grid_fixed(const cmgi_grid *grid, const cmg_size p[3]);
/* Corners (2^dim x dim) of the cell at e. */
void cmgi_grid_corners(const cmgi_grid *grid, const cmg_size e[3], double *corners);
/* Natural embedding of the coarser space, without Dirichlet nodes on either side. */
cmg_status cmgi_grid_prolongation(cmg_context *ctx, const cmgi_grid *fine, const cmgi_grid *coarse,
                                  cmgi_csr *P);
/* Entries of that prolongation. */
cmg_size cmgi_grid_prolongation_entries(const cmgi_grid *fine, const cmgi_grid *coarse);
/*
 * Matrix and, unless b is NULL, right-hand side (rows values). Every row is gathered from its cells
 * by one thread; the cells' integrals are held for a few layers of cells at a time, or for one cell
 * when all are alike. CMG_ERR_ARG when a cell is inverted.
 */
cmg_status cmgi_grid_assemble(cmg_context *ctx, const cmgi_grid *grid, const cmgi_cell_form *form,
                              cmgi_csr *A, double *b);
