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

#include <math.h>
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
/* Two steps of semi-iteration gain less than this share of the digits that its interval promises:
 * where that holds they gain 0.65 or more (16 problems of 64^3 and 512^2 cells), with single
 * eigenvalues below it 0.3 to 0.55, and CG takes two thirds of the iterations. */
static const double SHARE = 0.6;
static const double FAST = 0.01; /* gained in two steps: fast enough whatever was promised */
static const double NEAR = 2;    /* times the least residual: not worth going back for */

/* The iteration ended for a reason that another cycle may cure. */
static bool let_down(const cmgi_multigrid *mg)
{
    const cmgi_krylov *k = mg->krylov;
    switch (k->column->outcome) {
    case CMG_DIVERGED:
    case CMG_BREAKDOWN:
    case CMG_STAGNATED:
    case CMG_INDEFINITE_PRECONDITIONER:
        return k->column->iterations < k->options.max_it;
    case CMG_NOT_A_NUMBER: /* not where b or the guess is none */
        return isfinite(k->column->history[0]) || mg->nested != NULL;
    default:
        return false;
    }
}

static cmgi_ending ending(const cmgi_fallback *f, const cmgi_krylov *k)
{
    const int n = k->column->iterations;
    const int patience = k->patience > 0 ? k->patience : PATIENCE;
    const bool slow = k->column->outcome == CMG_STAGNATED && n >= patience;
    return (cmgi_ending){
        .outcome = k->column->outcome,
        .iterations = f->past + n,
        .last = n,
        .factor = k->column->history[0] > 0 ? k->column->residual / k->column->history[0] : 0,
        .steady = slow && k->column->history[n] <= PACE * k->column->history[n - patience]};
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
    const bool unseen = single && next == CMGI_RUNG_METHOD; /* given up where it gains nothing */
    const bool more =
        faster || unseen || next == CMGI_RUNG_DIRECT || (next != CMGI_RUNG_NONE && !single);
    const bool strong = f->ladder.automatic && f->ladder.used[CMGI_RUNG_SMOOTHER];
    k->options.max_it = f->stopped ? 0 : max_it;
    k->options.monitor = f->stopped ? NULL : mg->options.monitor;
    k->patience = !more ? 0 : (strong && f->rising ? LONG_PATIENCE : PATIENCE);
    k->pace = faster ? STEADY : unseen ? 1 : PACE;
    if (climbs && k->options.method == CMG_KRYLOV_SEMI) {
        k->patience = 2;
        k->pace = fmax(FAST, pow(cmgi_semi_rate(k->options.low, k->options.high), 2 * SHARE));
    }
}

/* Before the first attempt. */
static void first_limits(cmgi_fallback *f, cmgi_multigrid *mg)
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
    CMGI_TRY(
        cmgi_alloc(ctx, (cmg_size)f->past + k->column->iterations + 1, sizeof *longer, &longer));
    if (kept > 0) {
        memcpy(longer, f->history, (size_t)kept * sizeof *longer);
    }
    memcpy(longer + kept, k->column->history + (kept > 0),
           (size_t)(k->column->iterations + (kept == 0)) * sizeof *longer);
    cmgi_free(ctx, f->history);
    f->history = longer;
    f->past += k->column->iterations;
    return CMG_OK;
}

/* Iteration of the last attempt with the least residual; CMGI_NONE where no residual is finite. */
static int best_iterate(const cmgi_krylov_column *of)
{
    int best = CMGI_NONE;
    for (int i = 0; i <= of->iterations; ++i) {
        if (isfinite(of->history[i]) && (best == CMGI_NONE || of->history[i] < of->history[best])) {
            best = i;
        }
    }
    return best;
}

/* x = guess, NULL = 0 */
static cmg_status put_guess(const cmgi_multigrid *mg, const double *guess, double *x)
{
    const cmgi_backend *on = mg->ctx->backend;
    const cmg_size n = cmgi_krylov_values(mg->krylov);
    return guess == NULL ? on->fill(mg->ctx, CMG_FP64, n, 0.0, x)
                         : on->convert(mg->ctx, n, CMG_FP64, guess, CMG_FP64, x);
}

/*
 * Columns that have not converged back to their best iterate, if the last one has more than
 * `factor` times its residual. Where no residual is
 * finite x is the guess, and the residual that of it.
 */
static cmg_status return_to_best(cmgi_multigrid *mg, const double *guess, const double *b,
                                 double *x, double factor)
{
    cmgi_krylov *k = mg->krylov;
    int most[CMG_COLUMNS];
    bool back = false;
    for (int c = 0; c < mg->columns; ++c) {
        const cmgi_krylov_column *of = &k->column[c];
        const int best = best_iterate(of);
        const bool stays = cmg_outcome_converged(of->outcome) ||
                           (isfinite(of->residual) && best != CMGI_NONE &&
                            of->history[of->iterations] <= factor * of->history[best]);
        most[c] = stays ? of->iterations : best;
        back = back || most[c] != of->iterations || !isfinite(of->residual);
    }
    if (!back) {
        return CMG_OK;
    }
    CMGI_TRY(put_guess(mg, guess, x));
    const cmg_monitor_fn monitor = k->options.monitor;
    k->most = most;
    k->options.monitor = NULL; /* it has seen these iterations */
    cmg_status status =
        most[0] != CMGI_NONE || mg->columns > 1 ? cmgi_multigrid_solve(mg, b, x) : CMG_OK;
    if (status == CMG_OK && (most[0] == CMGI_NONE || !isfinite(k->column->residual)) &&
        mg->columns == 1) {
        most[0] = 0;
        status = put_guess(mg, guess, x);
        status = status == CMG_OK ? cmgi_krylov_solve(k, b, x) : status;
    }
    k->most = NULL;
    k->options.monitor = monitor;
    return status;
}

static cmg_status attempt(cmgi_fallback *f, cmgi_multigrid *mg, const double *b, double *x,
                          cmg_report *report)
{
    cmg_context *ctx = mg->ctx;
    const cmg_size n = mg->krylov->system.n;
    if (!f->zero) {
        CMGI_TRY(ctx->backend->convert(ctx, n, CMG_FP64, x, CMG_FP64, f->guess));
    }
    mg->krylov->zero = f->zero;
    CMGI_TRY(cmgi_multigrid_solve(mg, b, x));
    report->bytes += cmgi_multigrid_bytes(mg, &report->iteration_bytes);
    mg->krylov->zero = false;
    /* The look needs A on the host. CG follows semi-iteration, and meets the same rounding. */
    const bool goes_on = mg->options.fallback && mg->krylov->options.method == CMG_KRYLOV_SEMI &&
                         mg->krylov->column->outcome == CMG_STAGNATED;
    return goes_on ? CMG_OK : cmgi_rounding_look(mg, b, x);
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
    CMGI_TRY(return_to_best(mg, f->zero ? NULL : f->guess, b, x, NEAR));
    while (clause[0] == '\0' && (next = cmgi_ladder_next(&f->ladder, mg, end)) != CMGI_RUNG_NONE) {
        CMGI_TRY(cmgi_ladder_climb(&f->ladder, mg, next, end, clause));
    }
    if (clause[0] != '\0') {
        ++report->fallbacks;
        cmgi_append(f->text, sizeof f->text, "%s%s", f->text[0] != '\0' ? ", " : "", clause);
        cmgi_log(mg->ctx, CMG_LOG_INFO, "solve: %s", clause);
    }
    f->zero = false;
    set_limits(f, mg, mg->options.max_it - f->past); /* the limit is one over all attempts */
    return attempt(f, mg, b, x, report);
}

static void report_norms(const cmgi_krylov_column *of, cmg_report *report)
{
    report->starts = of->starts;
    report->residual = of->residual;
    report->rhs_norm = of->rhs_norm;
    report->relative_residual = cmgi_krylov_relative(of->residual, of->rhs_norm);
    report->range_residual = report->relative_residual;
}

/* How column c of the last iteration ended. */
static void report_end(const cmgi_multigrid *mg, int c, cmg_report *report)
{
    const cmgi_krylov *k = mg->krylov;
    const cmgi_krylov_column *of = &k->column[c];
    report->outcome = of->outcome;
    report->iterations = of->iterations;
    report->best = of->iterations;
    report->history = of->history;
    report->loop = k->used;
    report->krylov = k->options.method;
    report->precision = cmgi_ladder_precision(mg);
    report_norms(of, report);
}

/* After the last attempt: the norms of all, and where none converged the best x. */
static cmg_status finish(cmgi_fallback *f, cmgi_multigrid *mg, const double *b, double *x,
                         cmg_report *report)
{
    const cmgi_krylov *k = mg->krylov;
    report_end(mg, 0, report);
    const bool converged = cmg_outcome_converged(report->outcome);
    report->iterations += f->past;
    report->best = report->iterations;
    report->fallback = f->text;
    if (f->history != NULL || !converged) {
        const int best = best_iterate(k->column);
        report->best = converged ? report->best : best == CMGI_NONE ? f->past : f->past + best;
        CMGI_TRY(keep_history(f, k));
        report->history = f->history;
    }
    if (!converged) {
        CMGI_TRY(return_to_best(mg, f->zero ? NULL : f->guess, b, x, 1));
        if (!isfinite(f->history[report->best])) { /* of a start that overflows: x is the guess */
            f->history[report->best] = k->column->residual;
        }
        report_norms(k->column, report);
        report->loop = k->used;
    }
    return CMG_OK;
}

cmg_status cmgi_fallback_solve(cmgi_fallback *f, cmgi_multigrid *mg, const double *b, double *x,
                               cmg_report *report)
{
    const double *rest = b;
    cmgi_free(mg->ctx, cmgi_pass_on(&f->history));
    f->past = 0;
    f->rising = false;
    f->indefinite = 0;
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
    first_limits(f, mg);
    CMGI_TRY(attempt(f, mg, rest, x, report));
    for (;;) {
        const cmgi_ending end = ending(f, mg->krylov);
        if (end.outcome == CMG_BREAKDOWN && f->indefinite == 0) {
            f->indefinite = end.iterations + 1;
        }
        if (!mg->options.fallback || !let_down(mg) ||
            cmgi_ladder_next(&f->ladder, mg, &end) == CMGI_RUNG_NONE) {
            break;
        }
        CMGI_TRY(fall_back(f, mg, &end, rest, x, report));
    }
    CMGI_TRY(finish(f, mg, rest, x, report));
    double *norms = f->history != NULL ? f->history : mg->krylov->column->history;
    return report->nullspace > 0 ? cmgi_range_judge(mg, b, x, norms, report) : CMG_OK;
}

void cmgi_fallback_clear(cmg_context *ctx, cmgi_fallback *f)
{
    CMGI_FREE_DEVICE(ctx, f->guess, f->rest);
    cmgi_free(ctx, f->history);
}

void cmgi_columns_clear(cmg_context *ctx, cmgi_columns *s)
{
    cmgi_multigrid_clear_columns(&s->mg);
    CMGI_FREE_DEVICE(ctx, s->guess, s->b, s->x);
    CMGI_FREE(ctx, s->report, s->text);
    *s = (cmgi_columns){0};
}

static cmg_status take(cmgi_multigrid *mg, int k, cmgi_columns *s)
{
    cmg_context *ctx = mg->ctx;
    const cmg_size n = mg->levels.level[0].rows;
    CMGI_TRY(cmgi_multigrid_columns(mg, k, &s->mg));
    if (s->text != NULL) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_alloc_device(ctx, n, (size_t)k * sizeof *s->guess, &s->guess));
    CMGI_TRY(cmgi_alloc_device(ctx, n, sizeof *s->b, &s->b));
    CMGI_TRY(cmgi_alloc_device(ctx, n, sizeof *s->x, &s->x));
    CMGI_TRY(cmgi_alloc_zero(ctx, k, sizeof *s->report, &s->report));
    return cmgi_alloc_zero(ctx, k, sizeof *s->text, &s->text);
}

cmg_status cmgi_columns_take(cmgi_multigrid *mg, int k, cmgi_columns *s)
{
    const cmg_status status = take(mg, k, s);
    if (status != CMG_OK) {
        cmgi_columns_clear(mg->ctx, s);
    }
    return status;
}

/* solved[c]: CG on all columns at once has solved this one, or was stopped. */
static cmg_status solve_together(cmgi_fallback *f, cmgi_columns *s, const double *b, double *x,
                                 bool *solved, cmg_report *all)
{
    cmgi_multigrid *mg = &s->mg;
    const cmgi_krylov *k = mg->krylov;
    first_limits(f, mg);
    CMGI_TRY(cmgi_multigrid_solve(mg, b, x));
    f->stopped = k->interrupted;
    all->bytes = cmgi_multigrid_bytes(mg, &all->iteration_bytes);
    for (int c = 0; c < mg->columns; ++c) {
        const cmgi_krylov_column *of = &k->column[c];
        /* an exact guess comes back as it is, without its boundary solved */
        solved[c] = (int)of->outcome != CMGI_STOP_SCALE &&
                    (f->stopped || (cmg_outcome_converged(of->outcome) && of->iterations > 0));
        if (solved[c]) {
            s->report[c] = (cmg_report){.size = sizeof *s->report, .fallback = "", .hint = ""};
            report_end(mg, c, &s->report[c]);
        }
    }
    if (!f->stopped) {
        return CMG_OK;
    }
    CMGI_TRY(return_to_best(mg, s->guess, b, x, 1));
    for (int c = 0; c < mg->columns; ++c) {
        if (solved[c] && !cmg_outcome_converged(s->report[c].outcome)) {
            s->report[c].best = k->column[c].iterations;
            report_norms(&k->column[c], &s->report[c]);
        }
    }
    return CMG_OK;
}

/* The interval of semi-iteration does not hold for some columns: CG takes over for all of them,
 * from their guesses. */
static cmg_status give_way(cmgi_fallback *f, cmgi_multigrid *mg, cmgi_columns *s, const double *b,
                           double *x, bool *solved, cmg_report *all)
{
    const cmgi_krylov *k = s->mg.krylov;
    const cmgi_ending end = {.outcome = CMG_STAGNATED, .factor = 1};
    char clause[CMGI_CLAUSE];
    bool slow = false;
    for (int c = 0; c < s->mg.columns; ++c) {
        slow = slow || k->column[c].outcome == CMG_STAGNATED;
    }
    if (!slow || f->stopped || k->options.method != CMG_KRYLOV_SEMI || !mg->options.fallback) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_ladder_climb(&f->ladder, mg, CMGI_RUNG_CG, &end, clause));
    CMGI_TRY(cmgi_multigrid_columns(mg, s->mg.columns, &s->mg));
    CMGI_TRY(put_guess(&s->mg, s->guess, x));
    CMGI_TRY(solve_together(f, s, b, x, solved, all));
    ++all->fallbacks;
    return CMG_OK;
}

/* One column by itself, from its guess; its history goes where that of the iteration was. */
static cmg_status solve_alone(cmgi_fallback *f, cmgi_multigrid *mg, cmgi_columns *s, int c,
                              const double *b, double *x)
{
    cmg_context *ctx = mg->ctx;
    const cmgi_backend *on = ctx->backend;
    const cmgi_krylov *k = s->mg.krylov;
    const cmg_size columns = s->mg.columns;
    cmg_report *report = &s->report[c];
    cmgi_block_copy copy = {.rows = k->system.n, .columns = 1, .x_row = columns, .y_row = 1};
    *report = (cmg_report){.size = sizeof *report, .fallback = "", .hint = ""};
    copy.x = b + c;
    copy.y = s->b;
    CMGI_TRY(on->copy_block(ctx, &copy));
    copy.x = s->guess + c;
    copy.y = s->x;
    CMGI_TRY(on->copy_block(ctx, &copy));
    CMGI_TRY(cmgi_fallback_solve(f, mg, s->b, s->x, report));
    copy = (cmgi_block_copy){
        .rows = k->system.n, .columns = 1, .x = s->x, .x_row = 1, .y = x + c, .y_row = columns};
    CMGI_TRY(on->copy_block(ctx, &copy));
    const int last = report->iterations < k->longest ? report->iterations : k->longest;
    memcpy(k->column[c].history, report->history, ((size_t)last + 1) * sizeof(double));
    report->history = k->column[c].history;
    memcpy(s->text[c], report->fallback, strlen(report->fallback) + 1); /* f has the last one's */
    report->fallback = s->text[c];
    return CMG_OK;
}

static int gravity(const cmg_report *r)
{
    return cmg_outcome_converged(r->outcome) ? 0 : r->outcome == CMG_LEAST_SQUARES ? 1 : 2;
}

cmg_status cmgi_columns_solve(cmgi_fallback *f, cmgi_multigrid *mg, cmgi_columns *s,
                              const double *b, double *x, cmg_report *all)
{
    const cmg_size values = cmgi_krylov_values(s->mg.krylov);
    const cmg_krylov method = s->mg.krylov->options.method;
    const bool together = /* as many columns at once as pay */
        ((method == CMG_KRYLOV_CG && !s->mg.options.fmg) || method == CMG_KRYLOV_SEMI) &&
        s->mg.levels.nullspace.count == 0 && s->mg.columns > mg->ctx->backend->few_columns;
    bool solved[CMG_COLUMNS] = {false};
    int chosen = 0; /* the column that failed, that has no solution, or took the most iterations */
    cmg_report sum = {0};
    CMGI_TRY(mg->ctx->backend->convert(mg->ctx, values, CMG_FP64, x, CMG_FP64, s->guess));
    if (together) {
        CMGI_TRY(solve_together(f, s, b, x, solved, &sum));
        CMGI_TRY(give_way(f, mg, s, b, x, solved, &sum));
    }
    for (int c = 0; c < s->mg.columns; ++c) {
        if (!solved[c]) {
            CMGI_TRY(solve_alone(f, mg, s, c, b, x));
            f->stopped = f->stopped || s->report[c].outcome == CMG_INTERRUPTED;
            if (f->stopped && s->report[c].outcome == CMG_ITERATION_LIMIT) {
                s->report[c].outcome = CMG_INTERRUPTED;
            }
            sum.bytes += s->report[c].bytes;
            sum.fallbacks += s->report[c].fallbacks;
        }
        const int worse = gravity(&s->report[c]) - gravity(&s->report[chosen]);
        const int longer = s->report[c].iterations - s->report[chosen].iterations;
        chosen = worse > 0 || (worse == 0 && longer > 0) ? c : chosen;
    }
    const double setup = all->setup_seconds;
    *all = s->report[chosen];
    all->setup_seconds = setup;
    all->bytes = sum.bytes;
    all->iteration_bytes = sum.iteration_bytes > 0 ? sum.iteration_bytes : all->iteration_bytes;
    all->fallbacks = sum.fallbacks;
    return CMG_OK;
}
