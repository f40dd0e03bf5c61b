/* The solver: levels, compiled cycles and the outer iteration. */
#pragma once
#include "krylov/krylov.h"
#include "mg/coarse.h"
#include "mg/cycle.h"
#include "hierarchy/hierarchy.h"

enum { CMGI_MAX_NOTES = 16, CMGI_NOTE = 160, CMGI_FALLBACK = 320 };

struct cmg_solver {
    cmg_context *ctx;
    cmg_hierarchy *h; /* borrowed */
    cmg_solver_options options;
    char smoother[128];
    cmgi_schedule schedule;
    cmgi_level level[CMGI_MAX_LEVELS];
    int nlevels; /* levels in use; the last one is solved by `coarse` or smoothed */
    cmg_matrix
        *A; /* finest matrix in fp64: level[0].A, or a copy of its own under mixed precision */
    cmg_matrix *coarse; /* dense operator of the last level, NULL = smoothing */
    bool collapsed;     /* `coarse` is the cycle of several levels */
    cmg_matrix
        *lift; /* diagonal, 1/a_ii in identity rows of level 0: solves them exactly; NULL = none */
    cmgi_cycle *cycle;
    cmgi_cycle *fmg; /* NULL unless asked for */
    cmg_index *perm; /* sorted numbering of level 0 in the backend's memory, NULL = none */
    double *b;       /* work vectors of level 0, allocated where a renumbering or lift needs them */
    double *x;
    cmgi_krylov *krylov;
    /* falling back (solve.c) */
    double
        *guess; /* x before the iteration, in the backend's memory; NULL = there is no way back */
    double *history; /* residual norms of all attempts of a solve, on the host; NULL = of one */
    int past;        /* iterations of the attempts before the last */
    char fallback[CMGI_FALLBACK]; /* what happened in the last solve */
    cmg_report report;
    char note[CMGI_MAX_NOTES][CMGI_NOTE];
    int notes;
    char step_text[CMGI_STEP_TEXT];
};

/* What a solver says whose refresh has failed: its cycle is NULL, as it referred to replaced
 * matrices. */
#define CMGI_NOT_READY "the last refresh failed: refresh again, or create the solver anew"

/* Adds a line to what cmg_solver_note tells. */
void cmgi_solver_note(cmg_solver *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
/*
 * Builds everything that depends on the matrices; on a solver that is built, takes over new values
 * on the same pattern.
 */
cmg_status cmgi_solver_setup(cmg_solver *s);
/* Levels that a solver builds of a hierarchy. */
int cmgi_solver_levels(const cmg_hierarchy *h, const cmg_solver_options *options);
/* CMG_ERR_MEMORY when the device has less memory free than the solver is sure to need. */
cmg_status cmgi_solver_check_memory(cmg_solver *s);
/*
 * One solve in the numbering of level 0: improves the guess, iterates, and, where the cycle has
 * fewer bits than fp64 and lets the iteration down, goes on with more. Fills s->report but for the
 * times.
 */
cmg_status cmgi_solver_run(cmg_solver *s, const double *b, double *x);
/* Name of the cycle's precision: fp64, fp32, or the storage in it with the fewest bits. */
const char *cmgi_solver_precision(const cmg_solver *s);
/* Adds the bytes of the attempt that has just ended to the report. */
void cmgi_solver_add_bytes(cmg_solver *s);
/* Compiles the cycle, and the nested iteration if asked for. */
cmg_status cmgi_solver_compile(cmg_solver *s);
