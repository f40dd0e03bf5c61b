/*
 * What comes after an iteration whose cycle failed: the solver is built again on the
 * next rung of the ladder (ladder.h), goes on from the best iterate, and stays there.
 *
 * How an iteration shows it:
 *
 *   diverged, not a number, indefinite preconditioner, breakdown, stagnated
 *   slow       so many iterations (PATIENCE) gained less than a factor (1 / PACE)
 *
 * The best iterate is not kept: it is found again by repeating the iteration, which is
 * reproducible, from the guess up to its least residual.
 */
#include "mg/fallback.h"

#include "mg/range.h"
#include "mg/rounding.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    PATIENCE = 12,
    /*
     * With a strong smoother after one under which the residual rose. Coefficients that jump by 1e6
     * inside of cells leave some dozens of small eigenvalues; CG's residual grows until it has
     * found them, and then falls fast (Q2 in 2D: 13 times as large after 14 iterations, 1e-8 after
     * 42).
     */
    LONG_PATIENCE = 30
};
static const double PACE = 0.28;    /* 0.9 an iteration */
static const double STEADY = 0.027; /* 0.74 an iteration, 60 to 1e-8 */
static const double NEAR = 2;       /* times the least residual: not worth going back for */

/* The iteration ended for a reason that another cycle may cure. */
static bool let_down(const cmgi_multigrid *mg)
{
    const cmgi_krylov *k = mg->krylov;
    switch (k->outcome) {
    case CMG_DIVERGED:
    case CMG_BREAKDOWN:
    case CMG_STAGNATED:
    case CMG_INDEFINITE_PRECONDITIONER:
        return k->iterations < k->options.max_it;
    case CMG_NOT_A_NUMBER: /* not where b or the guess is none */
        return isfinite(k->history[0]) || mg->nested != NULL;
    default:
        return false;
    }
}

static cmgi_ending ending(const cmgi_fallback *f, const cmgi_krylov *k)
{
    const int n = k->iterations;
    const int patience = k->patience > 0 ? k->patience : PATIENCE;
    const bool slow = k->outcome == CMG_STAGNATED && n >= patience;
    return (cmgi_ending){.outcome = k->outcome,
                         .iterations = f->past + n,
                         .last = n,
                         .factor = k->history[0] > 0 ? k->residual / k->history[0] : 0,
                         .steady = slow && k->history[n] <= PACE * k->history[n - patience]};
}

/* Slow iterations are given up only where there is something else to try. */
static void set_limits(const cmgi_fallback *f, cmgi_multigrid *mg, int max_it)
{
    cmgi_krylov *k = mg->krylov;
    const cmgi_ending stagnated = {.outcome = CMG_STAGNATED, .factor = 1};
    const cmgi_ending steady = {.outcome = CMG_STAGNATED, .factor = 1, .steady = true};
    const bool climbs = mg->options.fallback;
    const bool single = /* slow by nature */
        mg->levels.count == 1 && mg->levels.coarse == NULL && !mg->dominated;
    const cmgi_rung next = climbs ? cmgi_ladder_next(&f->ladder, mg, &stagnated) : CMGI_RUNG_NONE;
    const bool faster =
        climbs && !single && cmgi_ladder_next(&f->ladder, mg, &steady) != CMGI_RUNG_NONE;
    const bool more = faster || next == CMGI_RUNG_DIRECT || (next != CMGI_RUNG_NONE && !single);
    const bool strong = f->ladder.automatic && f->ladder.used[CMGI_RUNG_SMOOTHER];
    const int patience = !more ? 0 : (strong && f->rising ? LONG_PATIENCE : PATIENCE);
    const double pace = faster ? STEADY : PACE;
    k->options.max_it = max_it;
    k->patience = patience;
    k->pace = pace;
}

void cmgi_fallback_limits(cmgi_fallback *f, cmgi_multigrid *mg)
{
    if (!f->ladder.started) {
        f->ladder.started = true;
        f->ladder.automatic = strcmp(mg->options.smoother, "auto") == 0;
    }
    set_limits(f, mg, mg->options.max_it);
}

/* Adds the norms of the last attempt to those before; the first of a later one is the norm it went
 * on from. */
static cmg_status keep_history(cmgi_fallback *f, const cmgi_krylov *k)
{
    cmg_context *ctx = k->system.ctx;
    const cmg_size kept = f->history != NULL ? f->past + 1 : 0;
    double *longer = NULL;
    CMGI_TRY(cmgi_alloc(ctx, (cmg_size)f->past + k->iterations + 1, sizeof *longer, &longer));
    if (kept > 0) {
        memcpy(longer, f->history, (size_t)kept * sizeof *longer);
    }
    memcpy(longer + kept, k->history + (kept > 0),
           (size_t)(k->iterations + (kept == 0)) * sizeof *longer);
    cmgi_free(ctx, f->history);
    f->history = longer;
    f->past += k->iterations;
    return CMG_OK;
}

/* Iteration of the last attempt with the least residual; CMGI_NONE where no residual is finite. */
static int best_iterate(const cmgi_krylov *k)
{
    int best = CMGI_NONE;
    for (int i = 0; i <= k->iterations; ++i) {
        if (isfinite(k->history[i]) && (best == CMGI_NONE || k->history[i] < k->history[best])) {
            best = i;
        }
    }
    return best;
}

/*
 * x back to the best iterate, if the last one has more than `factor` times its residual. Where none
 * is finite x is the guess, and k->residual that of it.
 */
static cmg_status return_to_best(cmgi_fallback *f, cmgi_multigrid *mg, const double *b, double *x,
                                 double factor)
{
    cmgi_krylov *k = mg->krylov;
    const cmgi_backend *on = mg->ctx->backend;
    const cmg_size n = k->system.n;
    const int best = best_iterate(k);
    const bool finite = isfinite(k->residual);
    if (finite && best != CMGI_NONE && k->history[k->iterations] <= factor * k->history[best]) {
        return CMG_OK;
    }
    CMGI_TRY(on->convert(mg->ctx, n, CMG_FP64, f->guess, CMG_FP64, x));
    const int max_it = k->options.max_it;
    const cmg_monitor_fn monitor = k->options.monitor;
    cmg_status status = CMG_OK;
    k->options.max_it = best;
    k->options.monitor = NULL; /* it has seen these iterations */
    if (best != CMGI_NONE) {
        status = cmgi_multigrid_solve(mg, b, x);
    }
    if (status == CMG_OK && (best == CMGI_NONE || !isfinite(k->residual))) {
        k->options.max_it = 0;
        status = on->convert(mg->ctx, n, CMG_FP64, f->guess, CMG_FP64, x);
        status = status == CMG_OK ? cmgi_krylov_solve(k, b, x) : status;
    }
    k->options.max_it = max_it;
    k->options.monitor = monitor;
    return status;
}

/* Adds a clause to what is told. */
static void say(cmgi_fallback *f, const cmgi_multigrid *mg, const char *clause)
{
    const size_t used = strlen(f->text);
    (void)snprintf(f->text + used, sizeof f->text - used, "%s%s", used > 0 ? ", " : "", clause);
    cmgi_log(mg->ctx, CMG_LOG_INFO, "solve: %s", clause);
}

static cmg_status attempt(cmgi_fallback *f, cmgi_multigrid *mg, const double *b, double *x,
                          cmg_report *report)
{
    CMGI_TRY(
        mg->ctx->backend->convert(mg->ctx, mg->krylov->system.n, CMG_FP64, x, CMG_FP64, f->guess));
    CMGI_TRY(cmgi_multigrid_solve(mg, b, x));
    CMGI_TRY(cmgi_rounding_look(mg, b, x));
    report->bytes += cmgi_multigrid_bytes(mg, &report->iteration_bytes);
    return CMG_OK;
}

/*
 * One step up: x goes on from the best iterate. Where no rung that is left can be built, the solver
 * as it is goes on.
 */
static cmg_status fall_back(cmgi_fallback *f, cmgi_multigrid *mg, const cmgi_ending *end,
                            const double *b, double *x, cmg_report *report)
{
    char clause[CMGI_CLAUSE] = "";
    cmgi_rung next;
    CMGI_TRY(cmgi_multigrid_check_generation(mg));
    CMGI_TRY(keep_history(f, mg->krylov));
    f->rising = end->factor > 1;
    CMGI_TRY(return_to_best(f, mg, b, x, NEAR));
    while (clause[0] == '\0' && (next = cmgi_ladder_next(&f->ladder, mg, end)) != CMGI_RUNG_NONE) {
        CMGI_TRY(cmgi_ladder_climb(&f->ladder, mg, next, end, clause));
    }
    if (clause[0] != '\0') {
        ++report->fallbacks;
        say(f, mg, clause);
    }
    set_limits(f, mg, mg->options.max_it - f->past); /* the limit is one over all attempts */
    return attempt(f, mg, b, x, report);
}

/* After the last attempt: the norms of all, and where none converged the best x. */
static cmg_status finish(cmgi_fallback *f, cmgi_multigrid *mg, const double *b, double *x,
                         cmg_report *report)
{
    const cmgi_krylov *k = mg->krylov;
    report->outcome = k->outcome;
    report->iterations = f->past + k->iterations;
    report->best = report->iterations;
    report->history = k->history;
    if (f->history != NULL || !cmg_outcome_converged(k->outcome)) {
        const int best = best_iterate(k);
        report->best = cmg_outcome_converged(k->outcome) ? report->best
                       : best == CMGI_NONE               ? f->past
                                                         : f->past + best;
        CMGI_TRY(keep_history(f, k));
        report->history = f->history;
    }
    if (!cmg_outcome_converged(report->outcome)) {
        CMGI_TRY(return_to_best(f, mg, b, x, 1));
        if (!isfinite(f->history[report->best])) { /* of a start that overflows: x is the guess */
            f->history[report->best] = k->residual;
        }
    }
    report->starts = k->starts;
    report->residual = k->residual;
    report->rhs_norm = k->rhs_norm;
    report->relative_residual = cmgi_krylov_relative(k->residual, k->rhs_norm);
    report->range_residual = report->relative_residual;
    report->loop = k->used;
    report->krylov = k->options.method;
    report->fallback = f->text;
    report->precision = cmgi_ladder_precision(mg);
    return CMG_OK;
}

cmg_status cmgi_fallback_solve(cmgi_fallback *f, cmgi_multigrid *mg, const double *b, double *x,
                               cmg_report *report)
{
    const double *rest = b;
    cmgi_free(mg->ctx, f->history);
    f->history = NULL;
    f->past = 0;
    f->rising = false;
    f->text[0] = '\0';
    report->fallbacks = 0;
    report->bytes = 0;
    report->nullspace = mg->levels.nullspace.count;
    report->removed = 0;
    if (report->nullspace > 0) {
        if (f->rest == NULL) {
            CMGI_TRY(cmgi_alloc_device(mg->ctx, mg->krylov->system.n, sizeof *f->rest, &f->rest));
        }
        CMGI_TRY(cmgi_range_enter(mg, b, f->rest, x, &report->removed));
        rest = f->rest;
    }
    cmgi_fallback_limits(f, mg);
    CMGI_TRY(attempt(f, mg, rest, x, report));
    while (mg->options.fallback && let_down(mg)) {
        const cmgi_ending end = ending(f, mg->krylov);
        if (cmgi_ladder_next(&f->ladder, mg, &end) == CMGI_RUNG_NONE) {
            break;
        }
        CMGI_TRY(fall_back(f, mg, &end, rest, x, report));
    }
    CMGI_TRY(finish(f, mg, rest, x, report));
    double *norms = f->history != NULL ? f->history : mg->krylov->history;
    return report->nullspace > 0 ? cmgi_range_judge(mg, b, x, norms, report) : CMG_OK;
}

void cmgi_fallback_clear(cmg_context *ctx, cmgi_fallback *f)
{
    CMGI_FREE_DEVICE(ctx, f->guess, f->rest);
    cmgi_free(ctx, f->history);
}
