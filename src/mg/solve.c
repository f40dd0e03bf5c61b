/*
 * One solve. What comes before the iteration, the iteration, and what comes after it when a cycle
 * in few bits has let it down: the solver is built again with more (fp8, then fp16, fp32, fp64),
 * goes on from the best iterate, and stays with them. How an iteration shows it:
 *
 *   diverged, not a number, indefinite preconditioner, breakdown, stagnated
 *   stalled           30 iterations gained less than a factor of 2
 *   iteration limit   and the residual fell by less than half an iteration; max_it begins anew
 *
 * The best iterate is not kept: it is found again by repeating the iteration, which is
 * reproducible, from the guess up to its least residual.
 */
#include "mg/solver.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PATIENCE = 30 };
static const double SLOW = 0.5; /* mean factor an iteration */
static const double NEAR = 2;   /* times the least residual: not worth going back for */

/* ------------------------------------------------------------------ one attempt */

/* What comes before the iteration: Dirichlet rows solved exactly for CG, nested iteration. */
static cmg_status improve_guess(cmg_solver *s, const double *b, double *x)
{
    cmg_context *ctx = s->ctx;
    cmgi_krylov *k = s->krylov;
    double *r = k->work[0];
    double *z = k->work[1];
    if (s->lift != NULL && s->options.krylov != CMG_KRYLOV_NONE) {
        CMGI_TRY(k->system.residual(s, b, x, r));
        const cmgi_writeback w = {.kind = CMGI_WB_AXPBY, .alpha = 1, .beta = 1, .c = x, .y = x};
        CMGI_TRY(cmgi_matrix_spmv(s->lift, &w, r));
    }
    if (s->fmg != NULL) {
        CMGI_TRY(k->system.residual(s, b, x, r));
        CMGI_TRY(cmgi_cycle_run(s->fmg, r, z));
        CMGI_TRY(ctx->backend->axpby(ctx, CMG_FP64, k->system.n, 1.0, z, 1.0, x));
    }
    return CMG_OK;
}

/* The iteration with the cycle as it is. */
static cmg_status attempt(cmg_solver *s, const double *b, double *x)
{
    cmgi_krylov *k = s->krylov;
    double norm = 0;
    if (s->fmg == NULL && (s->lift == NULL || s->options.krylov == CMG_KRYLOV_NONE)) {
        return cmgi_krylov_solve(k, s->options.krylov, b, x);
    }
    /* An exact guess, or b = 0, must come back as it is: look before anything is improved. */
    CMGI_TRY(cmgi_krylov_norm(k, b, &k->rhs_norm));
    if (k->rhs_norm > 0) {
        CMGI_TRY(k->system.residual(s, b, x, k->work[0]));
        CMGI_TRY(cmgi_krylov_norm(k, k->work[0], &norm));
        if (norm > cmgi_krylov_tolerance(k)) {
            CMGI_TRY(improve_guess(s, b, x));
        }
    }
    return cmgi_krylov_solve(k, s->options.krylov, b, x);
}

/* ------------------------------------------------------------------ more bits */

static bool keeps_values(const cmg_solver *s)
{
    const cmg_format format = s->options.matrix.format;
    return format == CMG_FORMAT_COMPRESSED || format == CMG_FORMAT_TUNE ||
           format == CMG_FORMAT_DENSE;
}

/* The storage with the fewest bits in the cycle. */
static cmg_values least_values(const cmg_solver *s)
{
    const cmg_values scheduled = cmgi_schedule_least(&s->schedule);
    const cmg_values matrix = keeps_values(s) ? s->options.matrix.values : CMG_VALUES_FULL;
    return matrix > scheduled ? matrix : scheduled;
}

const char *cmgi_solver_precision(const cmg_solver *s)
{
    const cmg_values least = least_values(s);
    return s->options.precision == CMG_FP64 ? "fp64"
           : least == CMG_VALUES_FULL       ? "fp32"
                                            : cmg_enum_name("values", (int)least);
}

/* The next storage with more bits than `least`; others stay. */
static cmg_values more_bits(cmg_values values, cmg_values least)
{
    if (least == CMG_VALUES_FP8) {
        return values == CMG_VALUES_FP8 ? CMG_VALUES_FP16 : values;
    }
    return CMG_VALUES_FULL;
}

static void strengthen_options(cmg_solver *s)
{
    const cmg_values least = least_values(s);
    if (least == CMG_VALUES_FULL) {
        s->options.precision = CMG_FP64;
    }
    s->options.matrix.values = more_bits(s->options.matrix.values, least);
    for (int l = 0; l < CMGI_MAX_LEVELS; ++l) {
        for (int role = 0; role < CMGI_ROLES; ++role) {
            s->schedule.values[l][role] = more_bits(s->schedule.values[l][role], least);
        }
    }
}

/* Everything that depends on the storage anew; the vectors stay. */
static cmg_status rebuild(cmg_solver *s)
{
    cmgi_krylov_forget(s->krylov);
    cmgi_cycle_destroy(&s->cycle);
    cmgi_cycle_destroy(&s->fmg);
    cmg_matrix_destroy(&s->lift);
    cmg_matrix_destroy(&s->coarse);
    s->collapsed = false;
    if (s->A != s->level[0].A) {
        cmg_matrix_destroy(&s->A);
    }
    s->A = NULL;
    for (int l = 0; l < CMGI_MAX_LEVELS; ++l) {
        cmgi_level_clear(s->ctx, &s->level[l]);
    }
    CMGI_TRY(cmgi_solver_setup(s));
    CMGI_TRY(cmgi_solver_compile(s));
    if (!cmgi_cycle_is_single(s->cycle)) { /* from fp32 to fp64, never back */
        cmgi_krylov_raise(s->krylov);
    }
    return CMG_OK;
}

/* ------------------------------------------------------------------ falling back */

/* Smoothing on one level is slow by nature: neither patience nor a pace is expected of it. */
static bool is_slow(const cmg_solver *s)
{
    return s->nlevels == 1 && s->coarse == NULL;
}

static int patience(const cmg_solver *s)
{
    return s->options.precision == CMG_FP64 || is_slow(s) ? 0 : PATIENCE;
}

/* The iteration ended for a reason that more bits in the cycle may cure. */
static bool let_down(const cmg_solver *s)
{
    const cmgi_krylov *k = s->krylov;
    switch (k->outcome) {
    case CMG_DIVERGED:
    case CMG_BREAKDOWN:
    case CMG_STAGNATED:
    case CMG_INDEFINITE_PRECONDITIONER:
        return true;
    case CMG_NOT_A_NUMBER: /* not where b or the guess is none */
        return isfinite(k->history[0]) || s->fmg != NULL;
    case CMG_ITERATION_LIMIT:
        return k->iterations > 0 && !is_slow(s) &&
               k->residual > pow(SLOW, k->iterations) * k->history[0];
    default:
        return false;
    }
}

/* Adds the norms of the last attempt to those before; the first of a later one is the norm it went
 * on from. */
static cmg_status keep_history(cmg_solver *s)
{
    const cmgi_krylov *k = s->krylov;
    const cmg_size kept = s->history != NULL ? s->past + 1 : 0;
    double *longer = NULL;
    CMGI_TRY(cmgi_alloc(s->ctx, (cmg_size)s->past + k->iterations + 1, sizeof *longer, &longer));
    if (kept > 0) {
        memcpy(longer, s->history, (size_t)kept * sizeof *longer);
    }
    memcpy(longer + kept, k->history + (kept > 0),
           (size_t)(k->iterations + (kept == 0)) * sizeof *longer);
    cmgi_free(s->ctx, s->history);
    s->history = longer;
    s->past += k->iterations;
    return CMG_OK;
}

/* x back to the iterate with the least residual, if the last one has more than `factor` times that.
 */
static cmg_status return_to_best(cmg_solver *s, const double *b, double *x, double factor)
{
    cmgi_krylov *k = s->krylov;
    const int last = k->iterations;
    int best = CMGI_NONE;
    for (int i = 0; i <= last; ++i) {
        if (isfinite(k->history[i]) && (best == CMGI_NONE || k->history[i] < k->history[best])) {
            best = i;
        }
    }
    if (best != CMGI_NONE && k->history[last] <= factor * k->history[best]) {
        return CMG_OK;
    }
    CMGI_TRY(s->ctx->backend->convert(s->ctx, k->system.n, CMG_FP64, s->guess, CMG_FP64, x));
    if (best == CMGI_NONE) {
        return CMG_OK;
    }
    const int max_it = k->max_it;
    cmgi_krylov_forget(k); /* limits are part of what is recorded */
    k->max_it = best;
    const cmg_status status = attempt(s, b, x);
    k->max_it = max_it;
    cmgi_krylov_forget(k);
    return status;
}

/* Says what happened; from = name of the precision before. */
static void note_fallback(cmg_solver *s, const char *from, cmg_outcome why, int iterations)
{
    const size_t used = strlen(s->fallback);
    (void)snprintf(s->fallback + used, sizeof s->fallback - used,
                   "%s%s to %s after %d iterations (%s)", used > 0 ? ", " : "", from,
                   cmgi_solver_precision(s), iterations, cmg_enum_name("outcome", (int)why));
    cmgi_log(s->ctx, CMG_LOG_INFO, "solve: falling back from %s to %s", from,
             cmgi_solver_precision(s));
}

/* One step down: x goes on from the best iterate with more bits. */
static cmg_status fall_back(cmg_solver *s, const double *b, double *x)
{
    cmgi_krylov *k = s->krylov;
    const char *from = cmgi_solver_precision(s);
    const cmg_outcome why = k->outcome;
    const int iterations = k->iterations;
    CMGI_TRY(keep_history(s));
    CMGI_TRY(return_to_best(s, b, x, NEAR));
    strengthen_options(s);
    note_fallback(s, from, why, iterations);
    ++s->report.fallbacks;
    CMGI_TRY(rebuild(s));
    k->patience = patience(s);
    CMGI_TRY(s->ctx->backend->convert(s->ctx, k->system.n, CMG_FP64, x, CMG_FP64, s->guess));
    return attempt(s, b, x);
}

/* After the last attempt of several: all norms, and of those that did not converge the best x. */
static cmg_status finish(cmg_solver *s, const double *b, double *x)
{
    cmgi_krylov *k = s->krylov;
    const cmg_outcome outcome = k->outcome;
    CMGI_TRY(keep_history(s));
    if (!cmg_outcome_converged(outcome)) {
        CMGI_TRY(return_to_best(s, b, x, 1));
    }
    s->report.outcome = outcome;
    s->report.iterations = s->past;
    s->report.history = s->history;
    return CMG_OK;
}

cmg_status cmgi_solver_run(cmg_solver *s, const double *b, double *x)
{
    cmgi_krylov *k = s->krylov;
    const bool may_fall = s->guess != NULL && s->options.precision != CMG_FP64;
    cmgi_free(s->ctx, s->history);
    s->history = NULL;
    s->past = 0;
    s->fallback[0] = '\0';
    s->report.fallbacks = 0;
    k->patience = may_fall ? patience(s) : 0;
    if (may_fall) {
        CMGI_TRY(s->ctx->backend->convert(s->ctx, k->system.n, CMG_FP64, x, CMG_FP64, s->guess));
    }
    CMGI_TRY(attempt(s, b, x));
    s->report.bytes = 0;
    cmgi_solver_add_bytes(s);
    while (may_fall && s->options.precision != CMG_FP64 && let_down(s)) {
        CMGI_TRY(fall_back(s, b, x));
        cmgi_solver_add_bytes(s);
    }
    s->report.outcome = k->outcome;
    s->report.iterations = k->iterations;
    s->report.history = k->history;
    if (s->report.fallbacks > 0) {
        CMGI_TRY(finish(s, b, x));
    }
    s->report.starts = k->starts;
    s->report.residual = k->residual;
    s->report.rhs_norm = k->rhs_norm;
    s->report.relative_residual = k->rhs_norm > 0 ? k->residual / k->rhs_norm : 0;
    s->report.loop = k->used;
    s->report.fallback = s->fallback;
    s->report.precision = cmgi_solver_precision(s);
    return CMG_OK;
}
