/*
 * What comes after an iteration that was let down by its cycle: the solver is built again with more
 * of something, each only once, goes on from the best iterate, and stays with it.
 *
 *   a stronger smoother   FSAI where A is symmetric, SPAI where not, in place of a diagonal or a
 *                         polynomial one
 *   more bits             fp8, then fp16, fp32, fp64; first where the cycle has fewer than fp32 or
 *                         ends in what is no number, and where the residual has fallen far
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

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PATIENCE = 12 };
static const double PACE = 0.28; /* 0.9 an iteration */
static const double NEAR = 2;    /* times the least residual: not worth going back for */
static const double FAR = 1e-4;  /* a residual that fell so far was not stopped by the smoother */

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

/* ------------------------------------------------------------------ rungs */

typedef enum rung { RUNG_NONE = 0, RUNG_SMOOTHER, RUNG_BITS } rung;

/* Smoothers of one diagonal, or of polynomials in it. */
static bool is_weak(const char *smoother)
{
    static const char *const weak[] = {"auto",       "jacobi",  "l1-jacobi",    "chebyshev",
                                       "chebyshev4", "neumann", "least-squares"};
    const size_t length = strcspn(smoother, ":");
    for (size_t k = 0; k < sizeof weak / sizeof *weak; ++k) {
        if (strlen(weak[k]) == length && strncmp(weak[k], smoother, length) == 0) {
            return true;
        }
    }
    return false;
}

/* Smoothing on one level is slow by nature: neither patience nor a pace is expected of it. */
static bool is_slow(const cmgi_multigrid *mg)
{
    return mg->levels.count == 1 && mg->levels.coarse == NULL;
}

/* What an iteration that ended so asks for, of what is left. */
static rung next_rung(const cmgi_fallback *f, const cmgi_multigrid *mg, cmg_outcome why, bool far)
{
    const bool bits = mg->options.precision != CMG_FP64;
    const bool smoother = !f->smoother_used && is_weak(mg->options.smoother) && !is_slow(mg);
    if (bits && (why == CMG_NOT_A_NUMBER || least_values(mg) != CMG_VALUES_FULL || far)) {
        return RUNG_BITS;
    }
    if (smoother && why != CMG_NOT_A_NUMBER && why != CMG_BREAKDOWN) {
        return RUNG_SMOOTHER;
    }
    return bits ? RUNG_BITS : RUNG_NONE;
}

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

static rung rung_after(const cmgi_fallback *f, const cmgi_multigrid *mg)
{
    const cmgi_krylov *k = mg->krylov;
    return let_down(mg) ? next_rung(f, mg, k->outcome, k->residual < FAR * k->history[0])
                        : RUNG_NONE;
}

/* Slow iterations are given up only where there is something else to try. */
static void set_limits(const cmgi_fallback *f, cmgi_multigrid *mg, int max_it)
{
    cmgi_krylov *k = mg->krylov;
    const bool more =
        mg->options.fallback && !is_slow(mg) && next_rung(f, mg, CMG_STAGNATED, false) != RUNG_NONE;
    const int patience = more ? PATIENCE : 0;
    if (k->options.max_it != max_it || k->patience != patience) {
        cmgi_krylov_drop_graphs(k); /* limits are part of what is recorded */
    }
    k->options.max_it = max_it;
    k->patience = patience;
    k->pace = PACE;
}

void cmgi_fallback_limits(const cmgi_fallback *f, cmgi_multigrid *mg)
{
    set_limits(f, mg, mg->options.max_it);
}

/* ------------------------------------------------------------------ the best iterate */

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
    const cmg_monitor_fn monitor = k->options.monitor;
    cmgi_krylov_drop_graphs(k); /* limits are part of what is recorded */
    k->options.max_it = best;
    k->options.monitor = NULL; /* it has seen these iterations */
    const cmg_status status = cmgi_multigrid_solve(mg, b, x);
    k->options.max_it = max_it;
    k->options.monitor = monitor;
    cmgi_krylov_drop_graphs(k);
    return status;
}

/* ------------------------------------------------------------------ falling back */

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
    report->bytes += cmgi_multigrid_bytes(mg, &report->iteration_bytes);
    return CMG_OK;
}

/* How the last attempt went: its mean factor where it was slow, else its outcome. */
static void describe(const cmgi_krylov *k, char *text, size_t size)
{
    const int n = k->iterations;
    if (k->outcome == CMG_STAGNATED && n > 0) {
        (void)snprintf(text, size, "reduced by %.2f", pow(k->history[n] / k->history[0], 1.0 / n));
    } else {
        (void)snprintf(text, size, "ended as %s", cmg_enum_name("outcome", (int)k->outcome));
    }
}

static cmg_status rebuild(const cmgi_fallback *f, cmgi_multigrid *mg)
{
    cmgi_multigrid_clear(mg);
    CMGI_TRY(cmgi_multigrid_build(mg));
    set_limits(f, mg, mg->options.max_it - f->past); /* the limit is one over all attempts */
    return CMG_OK;
}

/* Where the stronger smoother cannot be computed, the old one goes on. */
static cmg_status change_smoother(cmgi_fallback *f, cmgi_multigrid *mg, const char *went,
                                  int iterations)
{
    const cmg_solver_options before = mg->options;
    const cmg_krylov method = mg->krylov->options.method;
    const bool symmetric = method != CMG_KRYLOV_FGMRES && method != CMG_KRYLOV_BICGSTAB;
    char clause[CMGI_FALLBACK_TEXT / 2];
    f->smoother_used = true;
    const char *stronger = symmetric ? "fsai" : "spai";
    (void)snprintf(mg->options.smoother, sizeof mg->options.smoother, "%s", stronger);
    mg->options.omega = 0;
    (void)snprintf(clause, sizeof clause, "%s from iteration %d: %.40s %s", stronger, iterations,
                   before.smoother, went);
    const cmg_status status = rebuild(f, mg);
    if (status == CMG_OK) {
        say(f, mg, clause);
        return CMG_OK;
    }
    if (status == CMG_ERR_MEMORY || status == CMG_ERR_DEVICE) {
        return status;
    }
    mg->options = before;
    return rebuild(f, mg);
}

static cmg_status add_bits(cmgi_fallback *f, cmgi_multigrid *mg, cmg_outcome why, int iterations)
{
    const char *from = cmgi_fallback_precision(mg);
    char clause[CMGI_FALLBACK_TEXT / 2];
    strengthen_options(mg);
    (void)snprintf(clause, sizeof clause, "%s to %s after %d iterations (%s)", from,
                   cmgi_fallback_precision(mg), iterations, cmg_enum_name("outcome", (int)why));
    say(f, mg, clause);
    return rebuild(f, mg);
}

/* One step down: x goes on from the best iterate. */
static cmg_status fall_back(cmgi_fallback *f, cmgi_multigrid *mg, rung next, const double *b,
                            double *x, cmg_report *report)
{
    const cmg_outcome why = mg->krylov->outcome;
    const int iterations = mg->krylov->iterations;
    char went[64];
    CMGI_TRY(cmgi_multigrid_check_generation(mg));
    describe(mg->krylov, went, sizeof went);
    CMGI_TRY(keep_history(f, mg->krylov));
    CMGI_TRY(return_to_best(f, mg, b, x, NEAR));
    ++report->fallbacks;
    CMGI_TRY(next == RUNG_SMOOTHER ? change_smoother(f, mg, went, f->past)
                                   : add_bits(f, mg, why, iterations));
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
    rung next = RUNG_NONE;
    cmgi_free(mg->ctx, f->history);
    f->history = NULL;
    f->past = 0;
    f->text[0] = '\0';
    report->fallbacks = 0;
    report->bytes = 0;
    set_limits(f, mg, mg->options.max_it);
    CMGI_TRY(attempt(f, mg, b, x, report));
    while (mg->options.fallback && (next = rung_after(f, mg)) != RUNG_NONE) {
        CMGI_TRY(fall_back(f, mg, next, b, x, report));
    }
    return finish(f, mg, b, x, report);
}

void cmgi_fallback_clear(cmg_context *ctx, cmgi_fallback *f)
{
    cmgi_free_device(ctx, f->guess);
    cmgi_free(ctx, f->history);
}
