/*
 * The edge of a solver: the caller's numbering outside, another one inside where that is faster or
 * the format has its own. Everything that crosses it:
 *
 * - the hierarchy, in cmg_solver_create: cmgi_edge_open, with A, P, R, coarse inverse, stored
 *   smoothers, coordinates and null space of all levels
 * - new values, in cmg_solver_refresh and where a solve falls back: cmgi_edge_refresh
 * - b, x, r and z, in cmg_solver_solve, _precondition and _operator: cmgi_edge_in and _out, of one
 *   column or several
 *
 * Norms, histories, the monitor and the step list know no numbering. All else reads the caller's
 * hierarchy, never the solver's: products with its matrices, gradients, cmg_hierarchy_smooth and
 * what is written to files. Levels over several ranks have their own order (cmg_ranks.h).
 *
 * Cost: the order and a copy of the matrices at creation, and three vectors that are gathered or
 * scattered a solve.
 */
#pragma once
#include "core/vector.h"
#include "hierarchy/numbered.h"
#include "mg/level.h"

typedef struct cmgi_edge {
    cmgi_numbered *numbered; /* NULL = the hierarchy inside is the caller's */
    cmg_size n;
    int columns;        /* of what follows; 0 = nothing crosses */
    cmg_index *perm[2]; /* the caller's number of each value inside, in the backend's memory: of one
                           column, and of `columns` */
    double *inside[2];  /* b or r, and x or z */
} cmgi_edge;

/* Whether the finest A of a hierarchy should be renumbered, by its first look. */
cmg_status cmgi_edge_wanted(const cmg_hierarchy *h, const cmg_solver_options *o, bool *wanted);
/* Makes the hierarchy inside of a checked one, where that turns out to be worth while. */
cmg_status cmgi_edge_open(cmg_hierarchy *h, const cmg_solver_options *o, cmgi_edge *e);
cmg_status cmgi_edge_refresh(cmgi_numbered *n); /* NULL: there is none */
/* Memory for vectors inside, once the finest level is built. */
cmg_status cmgi_edge_ready(cmg_context *ctx, const cmgi_level *fine, cmgi_edge *e);
void cmgi_edge_close(cmg_context *ctx, cmgi_edge *e);

/* *values: those of a vector in the numbering inside; which 0: b or r, 1: x or z. */
cmg_status cmgi_edge_in(cmgi_edge *e, const cmg_vector *v, int which, double **values);
/* The same where what is in v does not count. */
cmg_status cmgi_edge_room(cmgi_edge *e, cmg_vector *v, double **values);
/* What was `values` of x or z, in the caller's numbering. */
cmg_status cmgi_edge_out(cmgi_edge *e, const double *values, cmg_vector *v);
