/* What stands behind the handle: a solver with recourse, for vectors in the caller's numbering. */
#pragma once
#include "mg/busy.h"
#include "mg/edge.h"
#include "mg/fallback.h"

enum { CMGI_HINT = 240 };

struct cmg_solver {
    cmg_context *ctx;
    atomic_flag busy; /* set while a call works with what follows */
    cmgi_multigrid mg;
    cmgi_fallback fallback;
    char hint[CMGI_HINT];
    cmgi_edge edge;        /* to the caller's numbering */
    cmgi_columns *columns; /* of the last solve of several, or NULL */
    bool several;          /* that solve was the last one */
    bool chosen;           /* the precision of the cycle is not the caller's */
    cmg_report report;
    char step_text[CMGI_STEP_TEXT];
};

/* One line of advice, or "" where there is nothing to say. Of a singular matrix and what b has
 * outside its range, `nullspace` tells nothing: those are projected out. `indefinite`:
 * p^T A p <= 0 in the iteration before, 0 = never. */
cmg_status cmgi_hint(cmgi_multigrid *mg, const cmg_report *report, int indefinite,
                     char text[CMGI_HINT]);

/* What a solver says that is not ready. */
#define CMGI_NOT_READY                                                                             \
    "the solver has no values since its last refresh failed: refresh it again, or create it anew"
