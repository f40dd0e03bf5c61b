/* A run of `cmg solve`: what was asked for, what it works on, what came out, and how that is
 * reported.
 */
#pragma once
#include "columns.h"
#include "input.h"
#include "ranks.h"
#include "solver_args.h"

typedef struct solve_job {
    /* options */
    const char *path;
    device_args device;
    input_args input;
    solver_args solver;
    const char *rhs;
    const char *x0;
    const char *batch; /* values of many systems, NULL = one */
    const char *output;
    const char *json;
    bool history;
    int repeat;
    int ranks;     /* threads that share the solve, or 1 */
    int processes; /* of mpirun, or 1 */
    int rank;      /* among them; the first one reports */
    /* objects */
    cmg_context *ctx;
    cmg_hierarchy *h;
    cmg_solver *s;
    cmg_vector *b;
    cmg_vector *guess; /* NULL = zero */
    cmg_vector *x;
    /* results */
    ranks_job several; /* where ranks or processes share the solve */
    char rhs_text[INPUT_TEXT];
    cmg_report report;
    double *residuals; /* iterations + 1, copied from the report */
    double *seconds;   /* repeat solves, sorted */
    double solve_seconds;
    int fallbacks;      /* of the solve that fell back; later ones find the precision changed */
    char fallback[512]; /* how */
    double error;       /* to the reference solution, relative, NaN = there is none */
} solve_job;

static inline bool solve_is_shared(const solve_job *job)
{
    return job->ranks > 1 || job->processes > 1;
}

/* Ranks read their rows each, and nobody the whole. */
bool solve_by_rows(const solve_job *job);
/* Levels of what is solved. */
static inline int solve_levels(const solve_job *job)
{
    return job->h != NULL ? cmg_hierarchy_levels(job->h) : job->several.levels;
}

/* What is going to be solved, and how it comes out, for people. */
void solve_print_input(const solve_job *job, FILE *out);
void solve_print(solve_job *job, FILE *out);
/* For programs, to the file that was asked for; an exit status. */
int solve_write_json(const solve_job *job);
