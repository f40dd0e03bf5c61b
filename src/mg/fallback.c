/*
 * What comes after an iteration that a cycle in few bits has let down: the solver is built again
 * with more (fp8, then fp16, fp32, fp64), goes on from the best iterate, and stays with them. How
 * an iteration shows it:
 *
 *   diverged, not a number, indefinite preconditioner, breakdown, stagnated
 *   stalled           30 iterations gained less than a factor of 2
 *   iteration limit   and the residual fell by less than half an iteration; max_it begins anew
 *
 * The best iterate is not kept: it is found again by repeating the iteration, which is
 * reproducible, from the guess up to its least residual.
 */
#include "mg/fallback.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PATIENCE = 30 };
static const double PACE = 0.5; /* that so many iterations gain */
static const double SLOW = 0.5; /* mean factor an iteration */
static const double NEAR = 2;   /* times the least residual: not worth going back for */

/* ------------------------------------------------------------------ more bits */

static bool keeps_values(const cmgi_multigrid *mg)
{
    const cmg_format format = mg->options.matrix.format;
    return format == CMG_FORMAT_COMPRESSED || format == CMG_FORMAT_TUNE ||
           format == CMG_FORMAT_DENSE;
}

/* The storage with the fewest bits in the cycle. */
static cmg_values least_values(const cmgi_multigrid *mg)
{
    const cmg_values scheduled = cmgi_schedule_least(&mg->schedule);
    const cmg_values matrix = keeps_values(mg) ? mg->options.matrix.values : CMG_VALUES_FULL;
    return matrix > scheduled ? matrix : scheduled;
}

const char *cmgi_fallback_precision(const cmgi_multigrid *mg)
{
    const cmg_values least = least_values(mg);
    return mg->options.precision == CMG_FP64 ? "fp64"
           : least == CMG_VALUES_FULL        ? "fp32"
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

static void strengthen_options(cmgi_multigrid *mg)
{
    const cmg_values least = least_values(mg);
    if (least == CMG_VALUES_FULL) {
        mg->options.precision = CMG_FP64;
    }
    mg->options.matrix.values = more_bits(mg->options.matrix.values, least);
    for (int l = 0; l < CMGI_MAX_LEVELS; ++l) {
        for (int role = 0; role < CMGI_ROLES; ++role) {
            mg->schedule.values[l][role] = more_bits(mg->schedule.values[l][role], least);
        }
    }
}

/* ------------------------------------------------------------------ falling back */

/* Smoothing on one level is slow by nature: neither patience nor a pace is expected of it. */
static bool is_slow(const cmgi_multigrid *mg)
{
    return mg->levels.count == 1 && mg->levels.coarse == NULL;
}

static int patience(const cmgi_multigrid *mg)
{
    return mg->options.precision == CMG_FP64 || is_slow(mg) ? 0 : PATIENCE;
}

/* The iteration ended for a reason that more bits in the cycle may cure. */
static bool let_down(const cmgi_multigrid *mg)
{
    const cmgi_krylov *k = mg->krylov;
    switch (k->outcome) {
    case CMG_DIVERGED:
    case CMG_BREAKDOWN:
    case CMG_STAGNATED:
    case CMG_INDEFINITE_PRECONDITIONER:
        return true;
    case CMG_NOT_A_NUMBER: /* not where b or the guess is none */
        return isfinite(k->history[0]) || mg->nested != NULL;
    case CMG_ITERATION_LIMIT:
        return k->iterations > 0 && !is_slow(mg) &&
               k->residual > pow(SLOW, k->iterations) * k->history[0];
    default:
        return false;
    }
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

/* x back to the best iterate, if the last one has more than `factor` times its residual. */
static cmg_status return_to_best(cmgi_fallback *f, cmgi_multigrid *mg, const double *b, double *x,
                                 double factor)
{
    cmgi_krylov *k = mg->krylov;
    const int best = best_iterate(k);
    if (best != CMGI_NONE && k->history[k->iterations] <= factor * k->history[best]) {
        return CMG_OK;
    }
    CMGI_TRY(mg->ctx->backend->convert(mg->ctx, k->system.n, CMG_FP64, f->guess, CMG_FP64, x));
    if (best == CMGI_NONE) {
        return CMG_OK;
    }
    const int max_it = k->options.max_it;
    cmgi_krylov_drop_graphs(k); /* limits are part of what is recorded */
    k->options.max_it = best;
    const cmg_status status = cmgi_multigrid_solve(mg, b, x);
    k->options.max_it = max_it;
    cmgi_krylov_drop_graphs(k);
    return status;
}

/* Says what happened; from = name of the precision before. */
static void note_fallback(cmgi_fallback *f, const cmgi_multigrid *mg, const char *from,
                          cmg_outcome why, int iterations)
{
    const size_t used = strlen(f->text);
    (void)snprintf(f->text + used, sizeof f->text - used, "%s%s to %s after %d iterations (%s)",
                   used > 0 ? ", " : "", from, cmgi_fallback_precision(mg), iterations,
                   cmg_enum_name("outcome", (int)why));
    cmgi_log(mg->ctx, CMG_LOG_INFO, "solve: falling back from %s to %s", from,
             cmgi_fallback_precision(mg));
}

static cmg_status attempt(cmgi_fallback *f, cmgi_multigrid *mg, const double *b, double *x,
                          cmg_report *report)
{
    CMGI_TRY(
        mg->ctx->backend->convert(mg->ctx, mg->krylov->system.n, CMG_FP64, x, CMG_FP64, f->guess));
    CMGI_TRY(cmgi_multigrid_solve(mg, b, x));
    report->bytes += cmgi_multigrid_bytes(mg, &report->iteration_bytes);
    return CMG_OK;
}

/* One step down: x goes on from the best iterate with more bits. */
static cmg_status fall_back(cmgi_fallback *f, cmgi_multigrid *mg, const double *b, double *x,
                            cmg_report *report)
{
    CMGI_TRY(cmgi_multigrid_check_generation(mg));
    const char *from = cmgi_fallback_precision(mg);
    const cmg_outcome why = mg->krylov->outcome;
    const int iterations = mg->krylov->iterations;
    CMGI_TRY(keep_history(f, mg->krylov));
    CMGI_TRY(return_to_best(f, mg, b, x, NEAR));
    strengthen_options(mg);
    note_fallback(f, mg, from, why, iterations);
    ++report->fallbacks;
    cmgi_multigrid_clear(mg);
    CMGI_TRY(cmgi_multigrid_build(mg));
    mg->krylov->patience = patience(mg);
    mg->krylov->pace = PACE;
    mg->krylov->options.max_it -= f->past; /* the limit is one over all attempts */
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
    if (report->fallbacks > 0 || !cmg_outcome_converged(k->outcome)) {
        const int best = best_iterate(k);
        report->best = cmg_outcome_converged(k->outcome) ? report->best
                       : best == CMGI_NONE               ? f->past
                                                         : f->past + best;
        CMGI_TRY(keep_history(f, k));
        report->history = f->history;
    }
    if (!cmg_outcome_converged(k->outcome)) {
        CMGI_TRY(return_to_best(f, mg, b, x, 1));
    }
    report->starts = k->starts;
    report->residual = k->residual;
    report->rhs_norm = k->rhs_norm;
    report->relative_residual = k->rhs_norm == 0 ? 0 : k->residual / k->rhs_norm;
    report->loop = k->used;
    report->krylov = k->options.method;
    report->fallback = f->text;
    report->precision = cmgi_fallback_precision(mg);
    return CMG_OK;
}

cmg_status cmgi_fallback_solve(cmgi_fallback *f, cmgi_multigrid *mg, const double *b, double *x,
                               cmg_report *report)
{
    const bool may_fall = mg->options.fallback;
    cmgi_free(mg->ctx, f->history);
    f->history = NULL;
    f->past = 0;
    f->text[0] = '\0';
    report->fallbacks = 0;
    report->bytes = 0;
    if (mg->krylov->options.max_it != mg->options.max_it) { /* what the last solve had left */
        cmgi_krylov_drop_graphs(mg->krylov);
        mg->krylov->options.max_it = mg->options.max_it;
    }
    mg->krylov->patience = may_fall ? patience(mg) : 0;
    mg->krylov->pace = PACE;
    CMGI_TRY(attempt(f, mg, b, x, report));
    while (may_fall && mg->options.precision != CMG_FP64 && let_down(mg)) {
        CMGI_TRY(fall_back(f, mg, b, x, report));
    }
    return finish(f, mg, b, x, report);
}

void cmgi_fallback_clear(cmg_context *ctx, cmgi_fallback *f)
{
    cmgi_free_device(ctx, f->guess);
    cmgi_free(ctx, f->history);
}
