/*
 * Finite element spaces on meshes: nodes, the cells around them, which of them have unknowns. A
 * grid is a mesh that is computed: its spaces have no arrays.
 *
 * Nodes of order 1 are the mesh's nodes; order 2 adds edges, faces of hexes, and centres of quads
 * and hexes, in this order, so that they are the nodes of the refined mesh.
 */
#pragma once
#include "fem/cell.h"
#include "fem/grid.h"
#include "fem/mesh.h"
#include "fem/sum.h"
#include "csr/elements.h"

typedef struct cmgi_space {
    cmg_context *ctx;
    const cmgi_mesh *mesh; /* borrowed; NULL on a grid */
    const cmgi_grid *grid; /* NULL on a mesh */
    cmgi_basis basis;
    int components; /* unknowns a node */
    cmg_boundary boundary;
    int local;         /* nodes of a cell */
    cmg_size cells;    /* all of them */
    cmg_size nodes;    /* all of them */
    cmg_size unknowns; /* nodes with unknowns, in a slab of a grid those of it */
    cmg_size before;   /* nodes with unknowns before a slab */
    /* on a mesh */
    cmg_index *cell_nodes; /* cells x local */
    unsigned char *fixed;  /* nodes: on a Dirichlet boundary */
    cmg_index *unknown;    /* nodes: number among those with unknowns, -1 = eliminated */
    cmg_index *node;       /* unknowns: the node */
    cmg_size *start;       /* nodes + 1: cells of node n are cell[start[n]] .., ascending */
    cmg_index *cell;
    cmgi_grid own; /* what grid points to */
} cmgi_space;

/* `fixes` says for each boundary label of the mesh whether it has Dirichlet conditions; NULL =
 * none.
 */
cmg_status cmgi_space_create(const cmgi_mesh *mesh, int order, int components,
                             cmg_boundary boundary, const bool *fixes, cmgi_space **space);
/* The space of a grid, or of a slab of it, which is copied. */
cmg_status cmgi_space_on_grid(cmg_context *ctx, const cmgi_grid *grid, cmg_size before,
                              cmgi_space **space);
void cmgi_space_destroy(cmgi_space **space);

/* The node of an unknown, and the number of a node among those with unknowns. */
static inline cmg_size cmgi_space_node(const cmgi_space *space, cmg_size unknown)
{
    return space->grid != NULL ? cmgi_grid_node(space->grid, unknown) : space->node[unknown];
}
static inline cmg_size cmgi_space_unknown(const cmgi_space *space, cmg_size node)
{
    return space->grid != NULL ? cmgi_grid_unknown(space->grid, node) : space->unknown[node];
}
static inline bool cmgi_space_fixed(const cmgi_space *space, cmg_size node)
{
    return space->grid != NULL ? cmgi_grid_fixed(space->grid, node) : space->fixed[node] != 0;
}
/* What cells of a stencil are counted from. */
static inline cmg_size cmgi_space_first_cell(const cmgi_space *space, cmg_size node)
{
    return space->grid != NULL ? cmgi_grid_first_cell(space->grid, node) : 0;
}
/* Are the columns of this node kept in the matrix? */
static inline bool cmgi_space_keeps(const cmgi_space *space, cmg_size node)
{
    return space->boundary == CMG_BOUNDARY_IDENTITY_KEEP || !cmgi_space_fixed(space, node);
}
/* Local node a of a cell. */
static inline cmg_size cmgi_space_cell_node(const cmgi_space *space, cmg_size cell, int a)
{
    return space->grid != NULL ? cmgi_grid_cell_node(space->grid, cell, a)
                               : space->cell_nodes[cell * space->local + a];
}
/* Corners (corners x dim) of a cell. */
void cmgi_space_corners(const cmgi_space *space, cmg_size cell, double *corners);
/* Position of a node. */
void cmgi_space_position(const cmgi_space *space, cmg_size node, double *x);
/* Local number of a node in a cell, -1 = it is none of its. */
int cmgi_space_local(const cmgi_space *space, cmg_size cell, cmg_index node);
/* All nodes and the cells as the public interface has them; for cmg_fem_mesh_free. */
cmg_status cmgi_space_export(const cmgi_space *space, cmg_fem_mesh *mesh);
/* Natural embedding of `coarse` in `fine`: both on one mesh, or `fine` on the refinement of
 * `coarse`'s mesh. */
cmg_status cmgi_space_prolongation(const cmgi_space *fine, const cmgi_space *coarse, cmgi_csr *P);
/* Maps a point of the reference cell of a child to that of its parent. xi is overwritten. */
void cmgi_space_to_parent(cmgi_cell cell, int child, double *xi);
/* Room for the integrals of cells: those of cell c, or of the c-th in the list, are at c % slots.
 */
typedef struct cmgi_cell_ring {
    cmg_size slots;
    double *K;             /* slots x rows x rows, NULL = not wanted */
    double *F;             /* slots x rows, NULL = not wanted */
    const cmg_index *list; /* NULL = none */
} cmgi_cell_ring;
/*
 * Cell matrix and load, either NULL where it is not wanted; on a mesh the parts of boundary values
 * in columns that are not kept are taken from F, on a grid rows do it. False for an inverted cell.
 */
bool cmgi_space_integrate(const cmgi_space *space, const cmgi_cell_form *form, cmg_size cell,
                          double *K, double *F);
/* The same of cells first .. last - 1, or of those in the ring's list; returns an inverted one, -1
 * = none. */
cmg_size cmgi_space_integrate_cells(const cmgi_space *space, const cmgi_cell_form *form,
                                    cmg_size first, cmg_size last, const cmgi_cell_ring *ring);
/* CMG_ERR_SHAPE that names an inverted cell, if there is one. */
cmg_status cmgi_space_inverted(const cmgi_space *space, cmg_size cell);
/* Identity rows of a fixed node and, unless b is NULL, its boundary values. */
void cmgi_space_fix_rows(const cmgi_space *space, const cmgi_problem *problem, cmg_size unknown,
                         cmgi_csr *A, double *b);
/*
 * The rows of nodes inside of a grid of equal cells and linear elements, whose coefficient is
 * constant: stencil[9 (z + 1) + 3 (y + 1) + x + 1] for the neighbour (x, y, z), with the bits of
 * the assembled matrix.
 */
cmg_status cmgi_space_stencil(const cmgi_space *space, const cmgi_cell_form *form,
                              double stencil[27]);
/*
 * Matrix and, unless b is NULL, right-hand side. Every row is gathered by one thread from the
 * integrals of its cells, which are computed for a few hundred neighbouring nodes at a time, on a
 * grid for a few layers of cells, or for one cell where all are alike. A is for the caller to free,
 * also where it fails.
 */
cmg_status cmgi_space_assemble(const cmgi_space *space, const cmgi_cell_form *form, cmgi_csr *A,
                               double *b);
/*
 * The same matrix as a product: with e the entries of all cell matrices one after the other,
 * values(A) = S e, where S has a one wherever an entry of a cell belongs to an entry of A.
 * Source: Wong, Kuhl and Darve 2015, section 4.
 */
cmg_status cmgi_space_assemble_spmv(const cmgi_space *space, const cmgi_cell_form *form,
                                    cmgi_csr *A, double *b);
/*
 * The pattern of A, with zeros for values, values(A) = S e, and b = T f with the loads f of the
 * cells. Rows of fixed nodes become 1 in A, 0 in b. All three are for the caller to free, also
 * where it fails.
 */
cmg_status cmgi_space_sums(const cmgi_space *space, cmgi_cell_layout layout, cmgi_csr *A,
                           cmgi_sum *S, cmgi_sum *T);
/*
 * b += integrals of flux (components) times the basis over the facets whose label is among `labels`
 * (one flag a label of the mesh), with axis_points points an axis.
 */
void cmgi_space_add_flux(const cmgi_space *space, const bool *labels, const double *flux,
                         int axis_points, double *b);
/*
 * The matrices of all cells, as templates with a factor a cell where few differ by more than that.
 * Rows of fixed nodes have no elements, which makes them rows of the identity. Without `own`, *E
 * stays empty where templates do not do. CMG_ERR_UNSUPPORTED with kept columns. For the caller to
 * free, also where it fails.
 */
cmg_status cmgi_fem_elements(const cmgi_space *space, const cmgi_cell_form *form, bool own,
                             cmgi_elements *E);
