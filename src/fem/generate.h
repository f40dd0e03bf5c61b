/* What cmg_hierarchy_generate has decided before it makes anything. */
#pragma once
#include "fem/problem.h"

enum { CMGI_MAX_LEVELS = 32, CMGI_MAX_NAMES = 32, CMGI_NAME_LENGTH = 64 };

/* Boundary labels by name. */
typedef struct cmgi_names {
    int count;
    char name[CMGI_MAX_NAMES][CMGI_NAME_LENGTH];
} cmgi_names;

typedef struct cmgi_plan {
    cmg_generate_options options; /* nothing left to choose */
    bool simplex;
    bool grid;                       /* square or cube of Q1 or Q2: tensor-product levels */
    int levels;                      /* of the hierarchy */
    int order[CMGI_MAX_LEVELS];      /* of the space of each level */
    int refinement[CMGI_MAX_LEVELS]; /* refinements of the coarsest mesh it lives on */
    cmgi_names fixed;                /* Dirichlet labels, none = all */
    cmgi_names flux;                 /* labels with a given flux */
    cmg_size coarsest_cells; /* cells along a unit edge on the coarsest mesh; not for files */
} cmgi_plan;

/* Checks the options and fills the plan. */
cmg_status cmgi_plan_make(cmg_context *ctx, const cmg_generate_options *options, cmgi_plan *plan);
/* Is a boundary label among the Dirichlet ones? */
bool cmgi_plan_fixes(const cmgi_plan *plan, const char *label);

/* Levels on tensor-product grids: A, P, rhs, coords. */
cmg_status cmgi_generate_grid(cmg_context *ctx, cmgi_plan *plan, cmg_hierarchy *h,
                              cmg_index **order);
/* The same on meshes; the plan learns the dimension of a mesh file. Both set order[l] of every
 * level where the numbering follows coarse cells. */
cmg_status cmgi_generate_mesh(cmg_context *ctx, cmgi_plan *plan, cmg_hierarchy *h,
                              cmg_index **order);
cmg_status cmgi_estimate_mesh(cmg_context *ctx, cmgi_plan *plan, cmg_generate_size *size);
cmg_status cmgi_estimate_grid(cmg_context *ctx, cmgi_plan *plan, cmg_generate_size *size);

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
/* Level l > 0 as P^T A P of level l - 1. */
cmg_status cmgi_generate_galerkin(cmg_context *ctx, const cmgi_plan *plan, cmg_hierarchy *h,
                                  int level);
