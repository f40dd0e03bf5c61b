/* Solving with recourse: where an iteration lets down, the solver is built again and goes on. */
#pragma once
#include "mg/ladder.h"

enum { CMGI_FALLBACK_TEXT = 480 };

typedef struct cmgi_fallback {
    double *rest;    /* b without its part in the null space of A; NULL until there is one */
    double *guess;   /* x before the iteration, in the backend's memory */
    double *history; /* residual norms of all attempts of a solve, on the host; NULL = of one */
    int past;        /* iterations in `history` */
    bool rising;     /* the attempt before ended with a larger residual than it began with */
    cmgi_ladder ladder;
    char text[CMGI_FALLBACK_TEXT]; /* what happened in the last solve */
} cmgi_fallback;

/* Improves x and fills the report but for the times. x is the best iterate there was. */
cmg_status cmgi_fallback_solve(cmgi_fallback *f, cmgi_multigrid *mg, const double *b, double *x,
                               cmg_report *report);
/* Limits of the iteration before the first attempt: when to give up for something else to try. */
void cmgi_fallback_limits(cmgi_fallback *f, cmgi_multigrid *mg);
void cmgi_fallback_clear(cmg_context *ctx, cmgi_fallback *f);
