/* Solving with recourse, one column or several: where an iteration lets down, the solver is built
 * again and goes on. */
#pragma once
#include "mg/ladder.h"

enum { CMGI_FALLBACK_TEXT = 480 };

typedef struct cmgi_fallback {
    double *rest;    /* b without its part in the null space of A; NULL until there is one */
    double *guess;   /* x before the iteration, in the backend's memory */
    bool zero;       /* that is 0, and not in `guess` */
    double *history; /* residual norms of all attempts of a solve, on the host; NULL = of one */
    int past;        /* iterations in `history` */
    int indefinite;  /* CG of the last solve met p^T A p <= 0 in the iteration before; 0 = no */
    bool stopped;    /* the monitor has asked to in this solve, at a column before */
    bool rising;     /* the attempt before ended with a larger residual than it began with */
    cmgi_ladder ladder;
    char text[CMGI_FALLBACK_TEXT]; /* what happened in the last solve */
} cmgi_fallback;

/* Several columns and how the last solve of them ended. */
typedef struct cmgi_columns {
    cmgi_multigrid mg; /* of so many columns (multigrid.h) */
    double *guess;     /* n x columns, x as it was given */
    double *b;         /* n, one column */
    double *x;
    cmg_report *report;               /* of each */
    char (*text)[CMGI_FALLBACK_TEXT]; /* how each fell back */
} cmgi_columns;

/* Improves x and fills the report but for the times. x is the best iterate there was. */
cmg_status cmgi_fallback_solve(cmgi_fallback *f, cmgi_multigrid *mg, const double *b, double *x,
                               cmg_report *report);
/* Makes what k columns need; *s is zero, or that of before. Comes before every use. */
cmg_status cmgi_columns_take(cmgi_multigrid *mg, int k, cmgi_columns *s);
void cmgi_columns_clear(cmg_context *ctx, cmgi_columns *s);
/*
 * Improves x, n x k: by CG on all columns at once. What does not converge so - or is not CG, or
 * needs b to be scaled - is solved by itself, from its guess and with all recourse, as if it had
 * been the only one. `all` is the report of the column that took longest, or failed, with the bytes
 * of all.
 */
cmg_status cmgi_columns_solve(cmgi_fallback *f, cmgi_multigrid *mg, cmgi_columns *s,
                              const double *b, double *x, cmg_report *all);
void cmgi_fallback_clear(cmg_context *ctx, cmgi_fallback *f);
