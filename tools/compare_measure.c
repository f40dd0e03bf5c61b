/* One row of `cmg compare`: builds the solver, solves, and reads off the step list. */
#include "compare.h"
#include "status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool compare_converged(const compare_row *row)
{
    return row->status == CMG_OK && cmg_outcome_converged(row->outcome);
}

static cmg_solver_options solver_options(const compare_row *row, const compare_options *options)
{
    cmg_solver_options o = options->solver;
    o.krylov = (cmg_krylov)row->krylov;
    o.cycle = (cmg_cycle)row->cycle;
    o.pre = row->pre;
    o.post = row->post;
    o.omega = row->omega;
    (void)snprintf(o.smoother, sizeof o.smoother, "%s", row->smoother);
    o.fallback = strcmp(row->smoother, "auto") == 0; /* what is named otherwise is what it says */
    o.precision = (cmg_precision)row->precision;
    o.matrix.format = (cmg_format)row->format;
    o.matrix.values = (cmg_values)row->values;
    return o;
}

static cmg_status solve(compare_row *row, const compare_options *options, cmg_solver *s,
                        const cmg_vector *b, cmg_vector *x)
{
    cmg_report report = {.size = sizeof report};
    double *seconds = tool_alloc((size_t)options->repeat, sizeof *seconds);
    bool fell_back = false; /* then the first solve counts: later ones begin where it ended */
    cmg_status status = CMG_OK;
    for (int k = 0; k < options->repeat && status == CMG_OK && !fell_back; ++k) {
        status = cmg_solver_solve_from_zero(s, b, x, &report);
        seconds[k] = report.solve_seconds;
        fell_back = fell_back || (status == CMG_OK && report.fallbacks > 0);
    }
    if (status == CMG_OK) {
        const double first = report.history[0];
        const double last = report.history[report.iterations];
        row->outcome = report.outcome;
        row->iterations = report.iterations;
        row->starts = report.starts;
        row->iteration_bytes = report.iteration_bytes;
        row->relative_residual = report.relative_residual;
        row->setup_seconds = report.setup_seconds;
        row->solve_seconds = median(seconds, fell_back ? 1 : options->repeat);
        row->factor = report.iterations > 0 ? pow(last / first, 1.0 / report.iterations) : NAN;
        row->history = tool_alloc((size_t)report.iterations + 1, sizeof *row->history);
        for (int k = 0; k <= report.iterations; ++k) {
            row->history[k] = first > 0 ? report.history[k] / first : 0;
        }
    }
    free(seconds);
    return status;
}

/* Bytes and seconds of one cycle, step by step. */
static cmg_status read_steps(compare_row *row, cmg_solver *s)
{
    enum { REPEATS = 5 };
    cmg_status status = cmg_solver_measure(s, REPEATS);
    row->cycle_bytes = 0;
    row->cycle_seconds = 0;
    for (int i = 0; status == CMG_OK && i < cmg_solver_steps(s); ++i) {
        cmg_step_info step = {.size = sizeof step};
        status = cmg_solver_step(s, i, &step);
        row->cycle_bytes += (double)step.bytes;
        row->cycle_seconds += step.seconds;
    }
    return status;
}

static cmg_status measure(compare_row *row, const compare_options *options, cmg_context *ctx,
                          cmg_hierarchy *h, const cmg_vector *b)
{
    size_t before[2];
    size_t after[2];
    cmg_solver *s = NULL;
    cmg_vector *x = NULL;
    const cmg_solver_options o = solver_options(row, options);
    row->unknowns = cmg_hierarchy_rows(h, 0);
    cmg_context_memory(ctx, before, NULL);
    cmg_status status = cmg_solver_create(h, &o, &s);
    cmg_context_memory(ctx, after, NULL);
    row->memory_bytes = (double)(after[0] + after[1]) - (double)(before[0] + before[1]);
    status = THEN(status, cmg_vector_create(ctx, row->unknowns, CMG_FP64, &x));
    status = THEN(status, solve(row, options, s, b, x));
    status = THEN(status, read_steps(row, s));
    cmg_vector_destroy(&x);
    cmg_solver_destroy(&s);
    return status;
}

void compare_measure(compare_row *row, const compare_options *options, cmg_context *ctx,
                     cmg_hierarchy *h, const cmg_vector *b)
{
    row->setup_seconds = NAN;
    row->solve_seconds = NAN;
    row->digit_bytes = NAN;
    row->factor = NAN;
    row->break_even = NAN;
    row->status = measure(row, options, ctx, h, b);
    if (row->status != CMG_OK) {
        (void)snprintf(row->message, sizeof row->message, "%s", cmg_context_message(ctx));
        return;
    }
    const double digits = -log10(row->history[row->iterations]);
    if (digits > 0) {
        row->digit_bytes = row->iteration_bytes * row->iterations / digits / (double)row->unknowns;
    }
}

bool compare_same_group(const compare_row *a, const compare_row *b)
{
    return a->file == b->file && a->backend == b->backend && a->numbering == b->numbering;
}

static bool comparable(const compare_row *a, const compare_row *b)
{
    return compare_same_group(a, b) && compare_converged(a) && compare_converged(b);
}

void compare_break_even(compare_row *rows, int count)
{
    for (int i = 0; i < count; ++i) {
        const compare_row *cheapest = &rows[i];
        for (int k = 0; k < count; ++k) {
            if (comparable(&rows[i], &rows[k]) && rows[k].setup_seconds < cheapest->setup_seconds) {
                cheapest = &rows[k];
            }
        }
        if (!compare_converged(&rows[i])) {
            continue;
        }
        const double saved = cheapest->solve_seconds - rows[i].solve_seconds;
        const double paid = rows[i].setup_seconds - cheapest->setup_seconds;
        rows[i].break_even = paid <= 0 ? 0 : saved > 0 ? ceil(paid / saved) : INFINITY;
    }
}

double compare_cost(const compare_row *row, double solves)
{
    return solves == 0 ? row->solve_seconds : row->setup_seconds + solves * row->solve_seconds;
}

double compare_bytes(const compare_row *row)
{
    return row->iteration_bytes * row->iterations;
}

static bool is_wanted(const compare_row *row, compare_family family)
{
    const bool jacobi = strncmp(row->smoother, "jacobi", 6) == 0;
    return compare_converged(row) &&
           (family == COMPARE_ALL || jacobi == (family == COMPARE_JACOBI));
}

int compare_best(const compare_row *rows, int count, double solves, compare_family family,
                 double spread)
{
    int best = -1;
    double least = INFINITY;
    for (int i = 0; i < count; ++i) {
        least = is_wanted(&rows[i], family) ? fmin(least, compare_cost(&rows[i], solves)) : least;
    }
    for (int i = 0; i < count; ++i) {
        if (is_wanted(&rows[i], family) && compare_cost(&rows[i], solves) <= spread * least &&
            (best < 0 || compare_bytes(&rows[i]) < compare_bytes(&rows[best]))) {
            best = i;
        }
    }
    return best;
}
