/*
 * Meshes as the public interface has them. Which cell of a mesh a point lies in: a tree of boxes
 * over the cells, sorted along a Z-curve. The inner nodes k of the tree have the children 2k and 2k
 * + 1, the leaves a few neighbouring cells, so that a point costs the logarithm of the number of
 * cells.
 *
 * Cells are those of the element: x(s) = sum_a N_a(s) x_a over all nodes a of a cell, so that cells
 * of order 2 may be curved.
 */
#pragma once
#include "cmg_fem.h"

#include "core/context.h"
#include "fem/basis.h"
#include "fem/mesh.h"

typedef struct cmgi_locator {
    cmg_context *ctx;
    const cmg_fem_mesh *mesh; /* borrowed */
    cmgi_basis basis;
    const unsigned char *local; /* local node of the basis at each place of mesh->cell_nodes */
    int nodes;                  /* of a cell */
    cmg_size leaves;            /* a power of two */
    double *box;                /* 2 leaves x 2 dim: lows, then highs; node 0 is not used */
    cmg_index *order;           /* cells as the leaves have them */
} cmgi_locator;

/* A point in a cell, or in the nearest cell: then distance > 0, and xi lies outside the reference
 * cell by `outside`. */
typedef struct cmgi_location {
    cmg_index cell; /* -1 = none */
    double xi[3];
    double outside;
    double distance;
} cmgi_location;

/* Local node of the basis for each node of a cell in VTK's order. */
const unsigned char *cmgi_vtk_order(cmgi_basis basis);

cmg_status cmgi_locator_create(cmg_context *ctx, const cmg_fem_mesh *mesh, cmgi_locator *locator);
void cmgi_locator_free(cmgi_locator *locator);
cmgi_location cmgi_locate(const cmgi_locator *locator, const double *x);

/* Numbers in range, coordinates finite; `name` is for the message. */
cmg_status cmgi_fem_mesh_check(cmg_context *ctx, const cmg_fem_mesh *mesh, const char *name);
/* A mesh of first order as the others here have it, without boundary facets. */
cmg_status cmgi_fem_mesh_take(cmg_context *ctx, const cmg_fem_mesh *from, cmgi_mesh **mesh);
