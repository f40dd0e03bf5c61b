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
#include "mg/project.h"
#include "transfer/complete.h"

enum { CMGI_MAX_NOTES = 15, CMGI_NOTE = 160 };

typedef struct cmgi_levels {
    cmgi_level level[CMGI_MAX_LEVELS];
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

/* What set-up reads, and the value it makes. */
typedef struct cmgi_setup {
    cmg_context *ctx;
    cmg_hierarchy *h;
    const cmg_hierarchy *given;        /* the caller's, whose vectors those of h may lack ... */
    const cmgi_numbered *numbered;     /* ... or its copy in this numbering; NULL = it itself */
    const cmgi_completion *completion; /* what h has that the caller's has not */
    const cmg_solver_options *options;
    const cmgi_schedule *schedule;
    const cmgi_divided *divided; /* levels divided among ranks, NULL = none */
    cmgi_envelope *envelope;     /* solves the last level, NULL = none */
    bool apart;                  /* bounds of a level do not begin with those of the next */
    bool dominated;              /* it is smoothed by Jacobi */
    bool direct;                 /* it is inverted, one level or more */
    bool semi;                   /* nested iteration is the first step of semi-iteration */
    cmgi_levels *levels;
} cmgi_setup;

/* Matrices of the finest level ahead of the others; nothing is left of a failure. */
cmg_status cmgi_setup_finest(const cmgi_setup *s);
/* The matrix of residuals in fp64. */
static inline const cmg_matrix *cmgi_levels_rows(const cmgi_levels *levels)
{
    return levels->rows != NULL ? levels->rows : levels->A;
}
/* Takes the steps of a set-up; levels that are built take over new values on the same pattern. */
cmg_status cmgi_setup_levels(const cmgi_setup *s);
/* The matrix of Dirichlet rows, where the finest level has any. */
cmg_status cmgi_setup_boundary(const cmgi_setup *s);
/* Compiles the cycle, and the nested iteration if asked for, which refer to the levels. */
cmg_status cmgi_setup_cycles(const cmgi_setup *s, cmgi_cycle **cycle, cmgi_cycle **nested);
/* The cycle once more, or (fmg) the nested iteration, for vectors of several columns. */
cmg_status cmgi_setup_columns(const cmgi_setup *s, int columns, bool fmg, cmgi_cycle **cycle);
/* Levels that are built of a hierarchy. */
static inline int cmgi_setup_count(const cmg_hierarchy *h, const cmg_solver_options *options)
{
    return options->cycle == CMG_CYCLE_NONE ? 1 : cmg_hierarchy_levels(h);
}
/* Adds the seconds since *begin to a part of the set-up, and begins anew. */
void cmgi_setup_lap(cmgi_levels *levels, cmg_setup_part part, double *begin);
void cmgi_levels_clear(cmg_context *ctx, cmgi_levels *levels);

/* coarse_end.c: whether an operator solves the last level; the level from which on everything
 * becomes one dense operator, or the last one; the two steps that make them, and the cycle. */
bool cmgi_setup_inverse(const cmgi_setup *s);
int cmgi_setup_collapse_from(const cmgi_setup *s);
cmg_status cmgi_setup_coarse(const cmgi_setup *s);
cmg_status cmgi_setup_collapse(const cmgi_setup *s);
cmgi_cycle_plan cmgi_setup_plan(const cmgi_setup *s);

/* notes.c */
void cmgi_note(cmgi_levels *levels, const char *format, ...) __attribute__((format(printf, 2, 3)));
void cmgi_note_ranks(const cmgi_setup *s);
void cmgi_note_numbering(const cmgi_setup *s);
void cmgi_note_completion(const cmgi_setup *s);
void cmgi_note_dirichlet(const cmgi_setup *s);
cmg_status cmgi_note_smoother(const cmgi_setup *s, int last);
