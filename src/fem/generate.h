/* What cmg_hierarchy_generate has decided before it makes anything. */
#pragma once
#include "fem/grid.h"
#include "fem/problem.h"
#include "fem/space.h"

enum { CMGI_MAX_LEVELS = 32, CMGI_MAX_NAMES = 32, CMGI_NAME_LENGTH = 64 };

/* Entries of a list: boundary labels, or group=factor. */
typedef struct cmgi_names {
    int count;
    char name[CMGI_MAX_NAMES][CMGI_NAME_LENGTH];
} cmgi_names;

typedef struct cmgi_plan {
    cmg_generate_options options; /* nothing left to choose */
    bool simplex;
    bool grid;                       /* square or cube of Q1 or Q2: tensor-product levels */
    bool slabs;                      /* of which this rank makes its rows alone */
    int levels;                      /* of the hierarchy */
    int order[CMGI_MAX_LEVELS];      /* of the space of each level */
    int refinement[CMGI_MAX_LEVELS]; /* refinements of the coarsest mesh it lives on */
    cmgi_names fixed;                /* Dirichlet labels, none = all */
    cmgi_names flux;                 /* labels with a given flux */
    cmgi_names factors;              /* of the coefficient in groups of cells */
    cmg_size coarsest_cells; /* cells along a unit edge on the coarsest mesh; not for files */
} cmgi_plan;

/* Checks the options and fills the plan. */
cmg_status cmgi_plan_make(cmg_context *ctx, const cmg_generate_options *options, cmgi_plan *plan);

/* All levels; sets order[l] of every level where the numbering follows coarse cells. */
cmg_status cmgi_generate_levels(cmg_context *ctx, cmgi_plan *plan, cmg_hierarchy *h,
                                cmg_index **order);
/* Makes a level's grid the slab of this rank; returns the number of nodes with unknowns before it.
 */
cmg_size cmgi_slab_cut(const cmg_context *ctx, const cmgi_grid *finest, cmgi_grid *grid);
/* Rows of a slab from row `first` on, with the columns of all; the arrays of the CSR are freed. */
cmg_status cmgi_slab_store(cmg_hierarchy *h, int level, cmg_role role, cmg_size first,
                           cmg_size columns_from, cmgi_csr *csr);
cmg_status cmgi_estimate_mesh(cmg_context *ctx, cmgi_plan *plan, cmg_generate_size *size);
cmg_status cmgi_estimate_grid(cmg_context *ctx, cmgi_plan *plan, cmg_generate_size *size);
/* CMG_ERR_ARG on the finest level; coarse ones without unknowns are left out. */
cmg_status cmgi_no_unknowns(cmg_context *ctx, int level);

/* Grids: the domain with its coarsest vertices, which the caller frees, and the grid of a level. */
cmg_status cmgi_domain_make(cmg_context *ctx, const cmgi_plan *plan, cmgi_domain *domain);
cmg_status cmgi_domain_grid(cmg_context *ctx, const cmgi_plan *plan, const cmgi_domain *domain,
                            int level, cmgi_grid *grid);

/* Meshes from the coarsest, 0, to the finest. */
typedef struct cmgi_mesh_chain {
    cmgi_mesh *mesh[CMGI_MAX_LEVELS];
    bool *fixes;      /* Dirichlet conditions by boundary label */
    bool *flux;       /* a given flux, likewise */
    double *factor;   /* of the coefficient by region, NULL = 1 */
    double origin[3]; /* bounding box of the coarsest mesh */
    double extent[3];
} cmgi_mesh_chain;
/* The plan learns the dimension of a mesh file, the hierarchy what the mesh is like. */
cmg_status cmgi_chain_make(cmg_context *ctx, cmgi_plan *plan, cmg_hierarchy *h,
                           cmgi_mesh_chain *chain);
void cmgi_chain_free(cmg_context *ctx, cmgi_mesh_chain *chain);
CMGI_RELEASES(cmgi_chain_free, cmgi_mesh_chain)

/* Sizes of one level, added to the totals as the finest comes first. */
typedef struct cmgi_level_size {
    cmg_size rows;
    cmg_size nnz;   /* of A */
    cmg_size p_nnz; /* of the P to the next level, 0 on the last */
} cmgi_level_size;
void cmgi_estimate_add(const cmgi_plan *plan, int level, const cmgi_level_size *level_size,
                       cmg_generate_size *size);
/* Takes what makes a pure Neumann problem unsolvable out of the right-hand side of a source. */
cmg_status cmgi_make_compatible(const cmgi_plan *plan, cmg_hierarchy *h);

/* The finest mesh as a hierarchy carries it for output. */
cmg_status cmgi_space_store_mesh(const cmgi_space *space, const cmgi_problem *problem,
                                 cmg_hierarchy *h);
/* Bytes that it takes of a grid. */
size_t cmgi_grid_mesh_bytes(const cmgi_grid *grid);
/* This rank's share of a grid's: nodes and cells in their order, numbered through all ranks. */
cmg_status cmgi_grid_store_part(cmg_context *ctx, const cmgi_grid *grid,
                                const cmgi_problem *problem, cmg_hierarchy *h);
