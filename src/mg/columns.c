/*
 * Several right-hand sides. CG runs on all columns over one cycle of the same step list with k
 * columns in every vector. What does not converge so - or is not CG, or needs b to be scaled - is
 * solved alone, from its guess and with all recourse, as if it had been the only one.
 */
#include "mg/columns.h"

#include <string.h>

static bool together(const cmgi_column_solver *s)
{
    const cmgi_multigrid *mg = s->mg;
    return mg->krylov->options.method == CMG_KRYLOV_CG && mg->nested == NULL &&
           mg->levels.nullspace.count == 0 && s->k > mg->ctx->backend->few_columns;
}

/* Drops what refers to the step list and its matrices. */
static void forget(cmgi_column_solver *s)
{
    cmgi_cycle_destroy(&s->cycle);
    cmgi_columns_destroy(&s->outer);
    CMGI_FREE_DEVICE(s->mg->ctx, s->rounded, s->image);
    s->rounded = NULL;
    s->image = NULL;
}

void cmgi_column_solver_destroy(cmgi_column_solver **s)
{
    if (*s == NULL) {
        return;
    }
    cmgi_column_solver *v = *s;
    cmg_context *ctx = v->mg->ctx;
    forget(v);
    CMGI_FREE_DEVICE(ctx, v->guess, v->b, v->x);
    CMGI_FREE(ctx, v->reports, v->texts, v->history, v);
    *s = NULL;
}

static cmg_size history_length(const cmgi_column_solver *s)
{
    return (cmg_size)s->mg->options.max_it + 1;
}

cmg_status cmgi_column_solver_take(cmgi_multigrid *mg, int k, cmgi_column_solver **s)
{
    cmg_context *ctx = mg->ctx;
    const cmg_size n = mg->levels.level[0].rows;
    if (*s != NULL && (*s)->k == k) {
        if ((*s)->builds != mg->builds) {
            forget(*s);
        }
        (*s)->builds = mg->builds;
        return CMG_OK;
    }
    cmgi_column_solver_destroy(s);
    cmgi_column_solver *made = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *made, &made));
    made->mg = mg;
    made->builds = mg->builds;
    made->n = n;
    made->k = k;
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, n, (size_t)k * sizeof(double), &made->guess));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, n, sizeof(double), &made->b));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, n, sizeof(double), &made->x));
    CMGI_TRY_GOTO(done, cmgi_alloc_zero(ctx, k, sizeof *made->reports, &made->reports));
    CMGI_TRY_GOTO(done, cmgi_alloc_zero(ctx, k, sizeof *made->texts, &made->texts));
    CMGI_TRY_GOTO(done, cmgi_alloc_zero(ctx, k * history_length(made), sizeof *made->history,
                                        &made->history));
    *s = made;
    made = NULL;
done:
    cmgi_column_solver_destroy(&made);
    return status;
}

static cmg_status need_cycle(cmgi_column_solver *s)
{
    return s->cycle != NULL ? CMG_OK : cmgi_multigrid_columns(s->mg, s->k, &s->cycle);
}

static cmg_status apply(void *user, const double *x, double *y)
{
    const cmgi_column_solver *s = user;
    const cmgi_writeback w = {.kind = CMGI_WB_APPLY, .y = y, .columns = s->k};
    return cmgi_matrix_spmv(s->mg->levels.A, &w, x);
}

static cmg_status residual(void *user, const double *b, const double *x, double *r)
{
    const cmgi_column_solver *s = user;
    const cmgi_writeback w = {.kind = CMGI_WB_RESIDUAL, .b = b, .y = r, .columns = s->k};
    return cmgi_matrix_spmv(cmgi_levels_rows(&s->mg->levels), &w, x);
}

static cmg_status precondition(void *user, const void *r, void *z)
{
    const cmgi_column_solver *s = user;
    return cmgi_cycle_run(s->cycle, r, z);
}

static cmg_status need_outer(cmgi_column_solver *s)
{
    CMGI_TRY(need_cycle(s));
    if (s->outer != NULL) {
        return CMG_OK;
    }
    const cmgi_column_system system = {.ctx = s->mg->ctx,
                                       .n = s->n,
                                       .k = s->k,
                                       .user = s,
                                       .apply = apply,
                                       .residual = residual,
                                       .precondition = precondition,
                                       .precision = cmgi_cycle_precision(s->cycle),
                                       .exact_rz = s->mg->levels.count == 1};
    return cmgi_columns_create(&system, s->mg->options.max_it, &s->outer);
}

cmg_status cmgi_column_solver_precondition(cmgi_column_solver *s, const double *r, double *z)
{
    cmg_context *ctx = s->mg->ctx;
    CMGI_TRY(need_cycle(s));
    const cmg_precision p = cmgi_cycle_precision(s->cycle);
    if (p == CMG_FP64) {
        return cmgi_cycle_run(s->cycle, r, z);
    }
    const size_t row = (size_t)s->k * cmgi_precision_bytes(p);
    if (s->rounded == NULL) {
        CMGI_TRY(cmgi_alloc_device(ctx, s->n, row, &s->rounded));
    }
    if (s->image == NULL) {
        CMGI_TRY(cmgi_alloc_device(ctx, s->n, row, &s->image));
    }
    CMGI_TRY(ctx->backend->convert(ctx, s->n * s->k, CMG_FP64, r, p, s->rounded));
    CMGI_TRY(cmgi_cycle_run(s->cycle, s->rounded, s->image));
    return ctx->backend->convert(ctx, s->n * s->k, p, s->image, CMG_FP64, z);
}

/* Dirichlet rows solved exactly, as for one column (multigrid.c). */
static cmg_status solve_boundary(cmgi_column_solver *s, const double *b, double *x)
{
    const cmg_matrix *boundary = s->mg->levels.boundary;
    const cmgi_writeback w = {
        .kind = CMGI_WB_AXPBY, .alpha = 1, .beta = 1, .c = x, .y = x, .columns = s->k};
    if (boundary == NULL) {
        return CMG_OK;
    }
    CMGI_TRY(residual(s, b, x, s->outer->r));
    return cmgi_matrix_spmv(boundary, &w, s->outer->r);
}

/* What a column's test says, as a report. */
static void report_of(cmgi_column_solver *s, int c)
{
    const cmgi_stop *stop = &s->outer->stop[c];
    double *history = s->history + c * history_length(s);
    memcpy(history, s->outer->history + c * history_length(s),
           (size_t)(stop->done + 1) * sizeof *history);
    s->reports[c] =
        (cmg_report){.size = sizeof(cmg_report),
                     .outcome = (cmg_outcome)stop->outcome,
                     .iterations = stop->done,
                     .best = stop->done,
                     .relative_residual = cmgi_krylov_relative(stop->exact, stop->rhs_norm),
                     .range_residual = cmgi_krylov_relative(stop->exact, stop->rhs_norm),
                     .residual = stop->exact,
                     .rhs_norm = stop->rhs_norm,
                     .loop = CMG_LOOP_HOST,
                     .krylov = CMG_KRYLOV_CG,
                     .starts = s->outer->starts[c],
                     .history = history,
                     .fallback = "",
                     .precision = cmgi_ladder_precision(s->mg),
                     .hint = ""};
}

/* One column by itself, from its guess. */
static cmg_status solve_alone(cmgi_column_solver *s, cmgi_fallback *f, int c, const double *b,
                              double *x)
{
    cmg_context *ctx = s->mg->ctx;
    const cmgi_backend *on = ctx->backend;
    const cmgi_block at = {.n = s->n, .k = s->k, .column = c};
    cmg_report *report = &s->reports[c];
    double *history = s->history + c * history_length(s);
    *report = (cmg_report){.size = sizeof *report, .fallback = "", .hint = ""};
    CMGI_TRY(on->column_move(ctx, CMG_FP64, at, false, b, s->b));
    CMGI_TRY(on->column_move(ctx, CMG_FP64, at, false, s->guess, s->x));
    CMGI_TRY(cmgi_fallback_solve(f, s->mg, s->b, s->x, report));
    CMGI_TRY(on->column_move(ctx, CMG_FP64, at, true, s->x, x));
    const cmg_size norms =
        report->iterations + 1 < history_length(s) ? report->iterations + 1 : history_length(s);
    memcpy(history, report->history, (size_t)norms * sizeof *history);
    report->history = history;
    memcpy(s->texts[c], report->fallback, strlen(report->fallback) + 1); /* f has the last one's */
    report->fallback = s->texts[c];
    return CMG_OK;
}

/* Where the monitor has stopped: x back to the best iterate of each column, by repeating the
 * iteration, which is reproducible, up to there. */
static cmg_status return_to_best(cmgi_column_solver *s, const cmgi_limits *limits, const double *b,
                                 double *x)
{
    cmgi_columns *outer = s->outer;
    int best[CMG_COLUMNS];
    bool stopped[CMG_COLUMNS];
    bool back = false;
    for (int c = 0; c < s->k; ++c) {
        const double *norms = outer->history + c * history_length(s);
        best[c] = outer->stop[c].done;
        stopped[c] = outer->stop[c].outcome == CMG_INTERRUPTED;
        for (int i = outer->stop[c].done; i >= 0 && stopped[c]; --i) {
            best[c] = norms[i] <= norms[best[c]] ? i : best[c];
        }
        back = back || best[c] < outer->stop[c].done;
    }
    if (!back) {
        return CMG_OK;
    }
    CMGI_TRY(
        s->mg->ctx->backend->convert(s->mg->ctx, s->n * s->k, CMG_FP64, s->guess, CMG_FP64, x));
    CMGI_TRY(solve_boundary(s, b, x));
    outer->monitor = NULL; /* it has seen these iterations */
    outer->most = best;
    const cmg_status status = cmgi_columns_iterate(outer, limits, b, x);
    outer->most = NULL;
    for (int c = 0; c < s->k && status == CMG_OK; ++c) {
        cmg_report *report = &s->reports[c];
        if (stopped[c]) {
            report->best = best[c];
            report->residual = outer->stop[c].exact;
            report->relative_residual = cmgi_krylov_relative(report->residual, report->rhs_norm);
            report->range_residual = report->relative_residual;
        }
    }
    return status;
}

/* Columns that CG on all of them has solved; their bytes by the model. */
static cmg_status solve_together(cmgi_column_solver *s, const double *b, double *x,
                                 bool solved[CMG_COLUMNS], cmg_report *all)
{
    const cmgi_krylov *k = s->mg->krylov;
    int most = 0;
    CMGI_TRY(need_outer(s));
    CMGI_TRY(solve_boundary(s, b, x));
    const cmgi_limits limits = {.rtol = k->options.rtol,
                                .atol = k->options.atol,
                                .dtol = k->options.dtol,
                                .most = k->options.max_it,
                                .patience = k->patience,
                                .pace = k->pace,
                                .range = k->range};
    s->outer->monitor = k->options.monitor;
    s->outer->monitor_user = k->options.monitor_user;
    CMGI_TRY(cmgi_columns_iterate(s->outer, &limits, b, x));
    for (int c = 0; c < s->k; ++c) {
        const cmgi_stop *stop = &s->outer->stop[c];
        /* a guess that was exact comes back as it is, without its boundary solved */
        solved[c] = stop->outcome != CMGI_STOP_SCALE &&
                    (s->outer->interrupted ||
                     (cmg_outcome_converged((cmg_outcome)stop->outcome) && stop->done > 0));
        most = stop->done > most ? stop->done : most;
        if (solved[c]) {
            report_of(s, c);
        }
    }
    all->bytes =
        cmgi_column_bytes(s->mg, s->cycle, most, s->outer->from_zero, &all->iteration_bytes);
    return s->outer->interrupted ? return_to_best(s, &limits, b, x) : CMG_OK;
}

static int gravity(const cmg_report *r)
{
    return cmg_outcome_converged(r->outcome) ? 0 : r->outcome == CMG_LEAST_SQUARES ? 1 : 2;
}

/* The column to tell of: one that failed, that has no solution, or took the most iterations. */
static int slowest(const cmgi_column_solver *s)
{
    int chosen = 0;
    for (int c = 1; c < s->k; ++c) {
        const int worse = gravity(&s->reports[c]) - gravity(&s->reports[chosen]);
        const int longer = s->reports[c].iterations - s->reports[chosen].iterations;
        chosen = worse > 0 || (worse == 0 && longer > 0) ? c : chosen;
    }
    return chosen;
}

cmg_status cmgi_column_solver_solve(cmgi_column_solver *s, cmgi_fallback *f, const double *b,
                                    double *x, cmg_report *all)
{
    cmg_context *ctx = s->mg->ctx;
    bool solved[CMG_COLUMNS] = {false};
    cmg_report sum = {0};
    CMGI_TRY(ctx->backend->convert(ctx, s->n * s->k, CMG_FP64, x, CMG_FP64, s->guess));
    if (together(s)) {
        cmgi_fallback_limits(f, s->mg);
        CMGI_TRY(solve_together(s, b, x, solved, &sum));
    }
    for (int c = 0; c < s->k; ++c) {
        if (!solved[c]) {
            CMGI_TRY(solve_alone(s, f, c, b, x));
            sum.bytes += s->reports[c].bytes;
            sum.fallbacks += s->reports[c].fallbacks;
        }
    }
    const double setup = all->setup_seconds;
    *all = s->reports[slowest(s)];
    all->setup_seconds = setup;
    all->bytes = sum.bytes;
    all->iteration_bytes = sum.iteration_bytes > 0 ? sum.iteration_bytes : all->iteration_bytes;
    all->fallbacks = sum.fallbacks;
    return CMG_OK;
}
