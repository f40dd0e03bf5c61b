/*
 * A solver without recourse: levels, cycles and the iteration around them, in the numbering of
 * level 0 and as the options say.
 */
#pragma once
#include "cmg.h"
#include "krylov/krylov.h"
#include "mg/setup.h"

struct cmgi_multigrid {
    cmg_context *ctx;
    cmg_hierarchy *h;           /* borrowed */
    cmgi_numbered *numbered;    /* what h is of, in another numbering than the caller's; borrowed,
                                   NULL = h is the caller's */
    cmgi_completion completion; /* what h lacks, over its matrices */
    cmgi_envelope *envelope;    /* factors of the last level, NULL = it has none */
    cmgi_divided *divided;      /* of an h that several ranks share, else NULL */
    uint64_t generation;        /* of its structure, when the solver was created */
    uint64_t builds;            /* how often levels or cycles were made or took new values */
    cmg_solver_options options;
    cmgi_schedule schedule;
    cmgi_levels levels;
    int columns; /* of the vectors of cycle and krylov */
    cmgi_cycle *cycle;
    cmgi_cycle *nested; /* NULL unless asked for, or part of the iteration */
    cmgi_krylov *krylov;
    cmgi_interval interval; /* of semi-iteration */
    bool dominated;         /* Jacobi on the finest level takes the place of levels */
    bool from_matrix;       /* levels come from the finest A alone, whatever h has */
    size_t begun;           /* bytes that are there before the set-up */
    bool unseen;            /* the method was chosen for earlier values */
    bool ready;             /* they are there, with values that belong together */
    bool outdated;          /* smoothers are those of earlier values, as `reuse` says, or have
                               bounds from them in part */
    bool borrowed;          /* bounds are in part those of other levels */
    bool apart;             /* the bounds of every level are estimated by themselves */
    bool missed;            /* an interval has not held: auto stays with CG */
    cmgi_symmetry symmetry; /* looked at where the method depends on it */
};

/*
 * Forms what h lacks (complete.c): missing level matrices and those that do not fit, algebraic
 * levels below a coarsest one that is too large; in place of what was formed before. `meanwhile`
 * may run while a device looks at the matrices.
 */
cmg_status cmgi_multigrid_complete(cmgi_multigrid *mg, cmgi_meanwhile meanwhile);
void cmgi_multigrid_drop_completion(cmgi_multigrid *mg);
/* New values of the last level to its factors, which go where it is no longer definite. */
cmg_status cmgi_multigrid_factor_again(cmgi_multigrid *mg);
/* One unknown a node, as far as is said. */
bool cmgi_multigrid_scalar(const cmgi_multigrid *mg);
/* The hierarchy that levels are built of: h, or the one over it. */
cmg_hierarchy *cmgi_multigrid_hierarchy(const cmgi_multigrid *mg);
static inline int cmgi_multigrid_levels(const cmgi_multigrid *mg)
{
    return cmgi_setup_count(cmgi_multigrid_hierarchy(mg), &mg->options);
}
/* The matrices of the finest level from ctx, h, options and schedule, unless its A is none for a
 * device or there is no room: what is left to the set-up. Nothing is left of a failure. */
cmg_status cmgi_multigrid_begin(cmgi_multigrid *mg);
/* Everything else; mg->ready where that succeeds. */
cmg_status cmgi_multigrid_build(cmgi_multigrid *mg);
/* The hierarchy that the caller gave. */
static inline cmg_hierarchy *cmgi_multigrid_caller(const cmgi_multigrid *mg)
{
    return mg->numbered != NULL ? mg->numbered->given : mg->h;
}
/* CMG_ERR_STATE when sizes, patterns or numbering of the hierarchy have changed since. */
cmg_status cmgi_multigrid_check_generation(const cmgi_multigrid *mg);
/*
 * New values on the same pattern. Smoothers whose dampings or patterns follow the values leave the
 * step list behind, which is then compiled anew. After a failure mg is not ready.
 */
cmg_status cmgi_multigrid_refresh(cmgi_multigrid *mg);
/* Leaves ctx, h, completion, generation, options and schedule. */
void cmgi_multigrid_clear(cmgi_multigrid *mg);
/* The method that fits A and the cycle as they are. */
cmg_status cmgi_multigrid_choose_method(cmgi_multigrid *mg, cmg_krylov *method);
/* The iteration by another method, on the same cycle. */
cmg_status cmgi_multigrid_take_method(cmgi_multigrid *mg, cmg_krylov method);
/* What comes before the iteration: nested iteration, unless that is its first step, and Dirichlet
 * rows solved exactly. */
bool cmgi_multigrid_nests_before(const cmgi_multigrid *mg);
bool cmgi_multigrid_solves_boundary(const cmgi_multigrid *mg);
/* Improves x; mg->krylov then tells how every column ended. */
cmg_status cmgi_multigrid_solve(cmgi_multigrid *mg, const double *b, double *x);
/*
 * mg for vectors of several columns: with a cycle of its own, and with an iteration where that of
 * mg is CG; all else is mg's. Comes before every use; *several is zero, or that of before.
 */
cmg_status cmgi_multigrid_columns(cmgi_multigrid *mg, int columns, cmgi_multigrid *several);
void cmgi_multigrid_clear_columns(cmgi_multigrid *several);
/*
 * Looks at x after an iteration that has not converged; where its residual is at the level of
 * rounding (rounding.c) the outcome becomes CMG_ROUNDING. b and x are in the numbering of level 0.
 * Costs a pass over A on the host, in a case that is rare.
 */
cmg_status cmgi_rounding_look(cmgi_multigrid *mg, const double *b, const double *x);
/* range.c: rest = P b and x = P x; what is no more of b than rounding leaves becomes 0. */
cmg_status cmgi_range_enter(cmgi_multigrid *mg, const double *b, double *rest, double *x,
                            double *removed);
/*
 * After A x = P b was solved: norms, outcome and the `norms` of the iterations become those of
 * b - A x. b and x are in the numbering of level 0.
 */
cmg_status cmgi_range_judge(cmgi_multigrid *mg, const double *b, double *x, double *norms,
                            cmg_report *report);
/*
 * *enough where half the rows are dominated by their diagonal, as the facts say, and the residual
 * of the method of least residuals with D^-1 falls fast from a rough vector. Six products with A
 * where it is tried, parallel; the result does not depend on the number of threads.
 */
cmg_status cmgi_dominated(cmg_context *ctx, const cmg_csr *A, const cmgi_csr_facts *facts,
                          bool *enough);
/* CMG_ERR_MEMORY when the device has less memory free than the solver, of which `begun` bytes are
 * there, is sure to need. */
cmg_status cmgi_memory_check(const cmg_hierarchy *h, const cmg_solver_options *options,
                             const cmgi_schedule *schedule, size_t begun);
/* Bytes of the last solve by the model (traffic.c), and of one of its iterations. */
double cmgi_multigrid_bytes(const cmgi_multigrid *mg, double *iteration);
