/*
 * Finite element spaces on meshes: nodes, the cells around them, which of them have unknowns.
 *
 * Nodes of order 1 are the mesh's nodes; order 2 adds edges, faces of hexes, and centres of quads
 * and hexes, in this order, so that they are the nodes of the refined mesh.
 */
#pragma once
#include "fem/cell.h"
#include "fem/mesh.h"
#include "csr/csr.h"

typedef struct cmgi_space {
    cmg_context *ctx;
    const cmgi_mesh *mesh; /* borrowed */
    cmgi_basis basis;
    int components; /* unknowns a node */
    cmg_boundary boundary;
    int local;             /* nodes of a cell */
    cmg_size nodes;        /* all of them */
    cmg_size unknowns;     /* those with unknowns */
    cmg_index *cell_nodes; /* cells x local */
    unsigned char *fixed;  /* nodes: on a Dirichlet boundary */
    cmg_index *unknown;    /* nodes: number among those with unknowns, -1 = eliminated */
    cmg_index *node;       /* unknowns: the node */
    cmg_size *start;       /* nodes + 1: cells of node n are cell[start[n]] .., ascending */
    cmg_index *cell;
} cmgi_space;

/* `fixes` says for each boundary label of the mesh whether it has Dirichlet conditions. */
cmg_status cmgi_space_create(const cmgi_mesh *mesh, int order, int components,
                             cmg_boundary boundary, const bool *fixes, cmgi_space **space);
void cmgi_space_destroy(cmgi_space **space);
/* Corners (corners x dim) of a cell. */
void cmgi_space_corners(const cmgi_space *space, cmg_size cell, double *corners);
/* Position of a node. */
void cmgi_space_position(const cmgi_space *space, cmg_size node, double *x);
/* Local number of a node in a cell that has it. */
int cmgi_space_local(const cmgi_space *space, cmg_size cell, cmg_index node);
/* All nodes and the cells as the public interface has them; for cmg_fem_mesh_free. */
cmg_status cmgi_space_export(const cmgi_space *space, cmg_fem_mesh *mesh);
/* Are the columns of this node kept in the matrix? */
static inline bool cmgi_space_keeps(const cmgi_space *space, cmg_index node)
{
    return !space->fixed[node] || space->boundary == CMG_BOUNDARY_IDENTITY_KEEP;
}

/*
 * Natural embedding of `coarse` in `fine`: both on one mesh (relation NULL), or `fine` on the
 * refinement of `coarse`'s mesh.
 */
cmg_status cmgi_space_prolongation(const cmgi_space *fine, const cmgi_space *coarse,
                                   const cmgi_refinement *relation, cmgi_csr *P);
/*
 * Maps a point of the reference cell of fine cell `cell` to that of its parent. xi is overwritten.
 */
void cmgi_space_to_parent(const cmgi_mesh *fine, const cmgi_mesh *coarse,
                          const cmgi_refinement *relation, cmg_size cell, double *xi);
/* Sorts and drops repetitions; returns the number left. */
cmg_size cmgi_sort_unique(cmg_index *list, cmg_size n);
/* Position of a value that is in the ascending list. */
cmg_size cmgi_find(const cmg_index *list, cmg_size n, cmg_index value);
/* Position, in its row, of a column that the row has. */
cmg_size cmgi_space_column(const cmgi_csr *A, cmg_size row, cmg_index column);
/* The matrix with zeros for values, columns ascending. */
cmg_status cmgi_space_pattern(const cmgi_space *space, cmgi_csr *A);
/*
 * Cell matrix and, unless F is NULL, load, from which the parts of boundary values in columns that
 * are not kept have been taken. False for an inverted cell.
 */
bool cmgi_space_integrate(const cmgi_space *space, const cmgi_cell_form *form, cmg_size cell,
                          double *K, double *F);
/* Identity rows of a fixed node and, unless b is NULL, its boundary values. */
void cmgi_space_fix_rows(const cmgi_space *space, const cmgi_problem *problem, cmg_index node,
                         cmgi_csr *A, double *b);
/*
 * Matrix and, unless b is NULL, right-hand side. Every row is gathered by one thread from the
 * integrals of its cells, which are computed for a few hundred neighbouring nodes at a time.
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
 * b += integrals of flux (components) times the basis over the facets whose label is among `labels`
 * (one flag a label of the mesh), with axis_points points an axis.
 */
void cmgi_space_add_flux(const cmgi_space *space, const bool *labels, const double *flux,
                         int axis_points, double *b);
