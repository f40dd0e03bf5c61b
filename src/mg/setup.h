/*
 * What a solver is built of: the levels of a hierarchy with the formats, the precision and the
 * smoother that the options ask for, and the cycles compiled from them.
 */
#pragma once
#include "cmg.h"
#include "hierarchy/numbered.h"
#include "mg/coarse.h"
#include "mg/cycle.h"
#include "mg/envelope.h"
#include "transfer/complete.h"

enum { CMGI_MAX_NOTES = 15, CMGI_NOTE = 160 };

/* The null space of the finest matrix in the backend's memory (range.c). */
typedef struct cmgi_projection {
    cmg_size n;
    cmg_size total;  /* entries on all ranks */
    int count;       /* 0 = A is regular, as far as is known */
    bool exact;      /* the caller has said so: b may have a part in it */
    double *q;       /* orthonormal vectors, one after the other */
    double *scalars; /* 1, then Q^T v */
} cmgi_projection;

typedef struct cmgi_levels {
    cmgi_level *level; /* `room` of them, NULL before a set-up */
    int room;
    bool ahead;       /* the smoother of the finest level was made before all else */
    bool begun;       /* the matrices of the finest level are there before the others */
    int count;        /* in use; the last one is solved by `coarse` or smoothed */
    cmg_matrix *A;    /* finest matrix in fp64: level[0].A, or a copy in mixed precision */
    cmg_matrix *rows; /* A by its rows, where `A` sums up elements or cliques: for residuals; NULL =
                         `A` is that, or the device has no room for both */
    uint64_t values;  /* of the hierarchy (hierarchy.h) when they were taken */
    cmg_matrix *coarse;        /* dense operator of the last level, NULL = smoothing */
    cmg_matrix *kept;          /* what was `coarse` so, until the next collapse takes it; or NULL */
    bool collapsed;            /* `coarse` is the cycle of several levels */
    bool symmetric_inverse;    /* the last level is symmetric, and so is its inverse */
    bool symmetric;            /* the cycle is, by the way it was made, and A as far as it tells */
    cmgi_projection nullspace; /* of A, in the numbering of level 0 */
    cmg_matrix *boundary; /* diagonal, 1 / a_ii in Dirichlet rows of level 0: solves them exactly;
                             NULL = none */
    double part[CMG_SETUP_PARTS];         /* seconds of the last set-up */
    char note[CMGI_MAX_NOTES][CMGI_NOTE]; /* what was decided, for people */
    int notes;
} cmgi_levels;

typedef struct cmgi_multigrid cmgi_multigrid;

/* Matrices of the finest level ahead of the others, of which nothing is left after a failure. */
cmg_status cmgi_setup_finest(cmgi_multigrid *mg);
/* The matrix of residuals in fp64. */
static inline const cmg_matrix *cmgi_levels_rows(const cmgi_levels *levels)
{
    return levels->rows != NULL ? levels->rows : levels->A;
}
/* Takes the steps of a set-up; levels that are built take over new values on the same pattern. */
cmg_status cmgi_setup_levels(cmgi_multigrid *mg);
/* The matrix of Dirichlet rows, where the finest level has any. */
cmg_status cmgi_setup_boundary(cmgi_multigrid *mg);
/* Compiles mg->cycle, and the nested iteration if asked for or the first step of semi-iteration,
 * which refer to the levels. */
cmg_status cmgi_setup_cycles(cmgi_multigrid *mg, bool semi);
/* The cycle, or the nested iteration, for vectors of so many columns. */
cmg_status cmgi_setup_cycle(const cmgi_multigrid *mg, int columns, bool nested, cmgi_cycle **cycle);
/* Levels that are built of a hierarchy. */
static inline int cmgi_setup_count(const cmg_hierarchy *h, const cmg_solver_options *options)
{
    return options->cycle == CMG_CYCLE_NONE ? 1 : cmg_hierarchy_levels(h);
}
/* Adds the seconds since *begin to a part of the set-up, and begins anew. */
void cmgi_setup_lap(cmgi_levels *levels, cmg_setup_part part, double *begin);

/* coarse_end.c: whether an operator solves the last level; the level from which on everything
 * becomes one dense operator, or the last one; the two steps that make them, and the cycle. */
bool cmgi_setup_inverse(const cmgi_multigrid *mg);
int cmgi_setup_collapse_from(const cmgi_multigrid *mg);
cmg_status cmgi_setup_coarse(cmgi_multigrid *mg);
cmg_status cmgi_setup_collapse(cmgi_multigrid *mg);
cmgi_cycle_plan cmgi_setup_plan(const cmgi_multigrid *mg);

/* In the numbering perm of the level's rows, NULL = the hierarchy's; in place of what was there. */
cmg_status cmgi_projection_build(const cmg_hierarchy *h, const cmg_index *perm, cmgi_projection *P);
/* Vectors of which n of `total` entries are here. */
cmg_status cmgi_projection_take(cmg_context *ctx, const cmgi_null_space *space, cmg_size n,
                                cmg_size total, cmgi_projection *P);
void cmgi_projection_clear(cmg_context *ctx, cmgi_projection *P);
/* v = v - Q (Q^T v), nothing but backend operations. */
cmg_status cmgi_project(cmg_context *ctx, const cmgi_projection *P, double *v);

/* The interval that the eigenvalues of C A are in, C the cycle, for Chebyshev semi-iteration. */
typedef struct cmgi_interval {
    double low; /* 0 = none: A or C has turned out not to be positive definite */
    double high;
} cmgi_interval;

/*
 * mg->interval by Lanczos on a random vector: with the cycle of level 2 or 1, which cost a part,
 * where that is a level of many rows like any other, else with its own. All have nearly the same
 * eigenvalues; what the estimate misses costs iterations, or is seen by the residual.
 */
cmg_status cmgi_interval_find(cmgi_multigrid *mg);

/* Symmetry of the finest matrix and of the cycle, by the way they were made or by trial. */
typedef struct cmgi_symmetry {
    bool matrix; /* on unknowns without a Dirichlet condition */
    bool cycle;
} cmgi_symmetry;

/*
 * True where the cycle needs no trial, nor A in its precision: `auto` found every level matrix
 * symmetric, smooths before as after with polynomials in it, R is P^T, and the coarse inverse is
 * symmetric.
 */
bool cmgi_symmetric_by_design(const cmgi_multigrid *mg, int total);
/*
 * Compares (A u, v) with (u, A v), and the same of the cycle, for random u and v that are 0 in
 * Dirichlet rows: the difference is that of the matrix and its transpose, in Frobenius's norm,
 * times a number of size 1. Costs two products with A, two cycles, and four vectors for the moment.
 */
cmg_status cmgi_symmetry_look(cmg_context *ctx, const cmgi_levels *levels, cmgi_cycle *cycle,
                              cmgi_symmetry *symmetry);

/* notes.c */
void cmgi_note(cmgi_levels *levels, const char *format, ...) __attribute__((format(printf, 2, 3)));
void cmgi_note_ranks(cmgi_multigrid *mg);
void cmgi_note_numbering(cmgi_multigrid *mg);
void cmgi_note_completion(cmgi_multigrid *mg);
void cmgi_note_dirichlet(cmgi_multigrid *mg);
cmg_status cmgi_note_smoother(cmgi_multigrid *mg, int last);
