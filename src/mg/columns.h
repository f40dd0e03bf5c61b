/* Solves and cycles of several right-hand sides: all columns at once where the method is CG. */
#pragma once
#include "krylov/columns.h"
#include "mg/fallback.h"

typedef struct cmgi_column_solver {
    cmgi_multigrid *mg;
    cmg_size n;
    int k;
    uint64_t builds;     /* of mg, that cycle and outer belong to */
    cmgi_cycle *cycle;   /* of k columns; NULL until it is needed */
    cmgi_columns *outer; /* likewise, where the method is CG */
    double *guess;       /* n x k, x as it was given */
    void *rounded;       /* n x k in the precision of the cycle, for a cycle alone; NULL = fp64 */
    void *image;
    double *b; /* n, one column */
    double *x;
    cmg_report *reports;               /* k */
    char (*texts)[CMGI_FALLBACK_TEXT]; /* k, how each fell back */
    double *history;                   /* k x (max_it + 1) */
} cmgi_column_solver;

/* Makes what k columns need; *s is NULL or that of before, which leaves what belongs to levels that
 * are no longer there. Comes before every use. */
cmg_status cmgi_column_solver_take(cmgi_multigrid *mg, int k, cmgi_column_solver **s);
void cmgi_column_solver_destroy(cmgi_column_solver **s);
/* Improves x, n x k, and fills all reports; `all` gets that of the column that took longest, or
 * failed, with the bytes of all. */
cmg_status cmgi_column_solver_solve(cmgi_column_solver *s, cmgi_fallback *f, const double *b,
                                    double *x, cmg_report *all);
/* z = C r for all columns. */
cmg_status cmgi_column_solver_precondition(cmgi_column_solver *s, const double *r, double *z);
