/* What `cmg solve` reports of a run, as text and as JSON. */
#include "setup_times.h"
#include "solve_job.h"
#include "status.h"

#include <math.h>

static const char *note_at(const solve_job *job, int i)
{
    return !solve_is_shared(job)    ? cmg_solver_note(job->s, i)
           : i < job->several.notes ? job->several.note[i]
                                    : NULL;
}

static const char *outcome_words(cmg_outcome outcome)
{
    return cmg_outcome_converged(outcome) ? "converged"
           : outcome == CMG_LEAST_SQUARES ? "no solution"
                                          : "did not converge";
}

static void print_history(const solve_job *job, FILE *out)
{
    const char *const headings[] = {"iteration", "||b - A x||", "relative", "factor"};
    table *t = table_create(headings, 4);
    for (int k = 0; k <= job->report.iterations; ++k) {
        const double r = job->residuals[k];
        table_cell(t, "%d\t%.6e\t%.3e", k, r,
                   job->report.rhs_norm > 0 ? r / job->report.rhs_norm : 0.0);
        if (k > 0 && job->residuals[k - 1] > 0) {
            table_cell(t, "%.3f", r / job->residuals[k - 1]);
        } else {
            table_cell(t, "-");
        }
    }
    table_print(t, out, "  ");
    table_destroy(&t);
}

void solve_print_input(const solve_job *job, FILE *out)
{
    char text[128];
    char where[64];
    fprintf(out, "%s: %lld unknowns, %d levels, loaded in %s\n", job->path,
            (long long)cmg_vector_length(job->x), solve_levels(job),
            format_seconds(job->input.load_seconds));
    fprintf(out, "solver: %s, %s\n", solver_args_describe(&job->solver, text),
            device_describe(&job->device, job->ctx, where));
    fprintf(out, "right-hand side: %s\n", job->rhs_text);
    (void)fflush(out);
}

/* Most bytes of the library's arrays, of all ranks. */
static void peaks(const solve_job *job, size_t peak[2])
{
    size_t now[2];
    cmg_context_memory(job->ctx, now, peak);
    for (int k = 0; k < 2 && solve_is_shared(job); ++k) {
        peak[k] += job->several.peak[k];
    }
}

void solve_print(solve_job *job, FILE *out)
{
    const cmg_report *r = &job->report;
    size_t peak[2];
    peaks(job, peak);
    if (!job->device.line.terminal || job->h == NULL) { /* else it has been reported */
        solve_print_input(job, out);
    }
    for (int i = 0; note_at(job, i) != NULL; ++i) {
        fprintf(out, "note: %s\n", note_at(job, i));
    }
    if (cmg_vector_columns(job->x) > 1) {
        columns_print(job->s, cmg_vector_columns(job->x), out);
    }
    if (job->history) {
        print_history(job, out);
    }
    fprintf(out, "%s (%s: %s): %d iteration%s, relative residual %.3e\n", outcome_words(r->outcome),
            cmg_enum_name("outcome", (int)r->outcome), cmg_enum_text("outcome", (int)r->outcome),
            r->iterations, r->iterations == 1 ? "" : "s", r->relative_residual);
    if (job->fallbacks > 0) {
        fprintf(out, "fell back: %s\n", job->fallback);
    }
    if (r->best < r->iterations) {
        fprintf(out, "x is the best iterate, that of iteration %d\n", r->best);
    }
    if (isfinite(job->error)) {
        fprintf(out, "relative difference to the reference solution: %.3e\n", job->error);
    }
    if (r->hint[0] != '\0') {
        fprintf(out, "hint: %s\n", r->hint);
    }
    fprintf(out, "set-up %s, solve %s%s, peak memory %s", format_seconds(r->setup_seconds),
            format_seconds(job->solve_seconds), job->repeat > 1 ? " (median)" : "",
            format_bytes((double)peak[0]));
    fprintf(out, peak[1] > 0 ? " and %s on the device\n" : "\n", format_bytes((double)peak[1]));
    setup_times_print(out, r->setup_part, r->setup_seconds);
}

/* Where it ran and, beside all options in an object, those that name a row of a table. */
static void json_settings(json *j, const solve_job *job)
{
    const cmg_solver_options *o = &job->solver.options;
    json_text(j, "backend", cmg_enum_name("backend", (int)job->device.options.backend));
    json_integer(j, "threads", cmg_context_threads(job->ctx));
    json_text(j, "krylov", cmg_enum_name("krylov", (int)o->krylov));
    json_text(j, "cycle", cmg_enum_name("cycle", (int)o->cycle));
    json_text(j, "smoother", o->smoother);
    json_text(j, "precision", cmg_enum_name("precision", (int)o->precision));
    json_text(j, "format", cmg_enum_name("format", (int)o->matrix.format));
    json_text(j, "values", cmg_enum_name("values", (int)o->matrix.values));
    json_options(j, cmg_solver_option, &job->solver.options);
}

static void json_result(json *j, const solve_job *job)
{
    const cmg_report *r = &job->report;
    json_text(j, "reason", cmg_enum_name("outcome", (int)r->outcome));
    json_bool(j, "converged", cmg_outcome_converged(r->outcome));
    json_integer(j, "iterations", r->iterations);
    json_real(j, "relative_residual", r->relative_residual);
    json_real(j, "residual", r->residual);
    json_real(j, "rhs_norm", r->rhs_norm);
    json_integer(j, "best_iteration", r->best);
    json_real(j, "best_relative_residual", r->relative_residual);
    json_real(j, "reference_error", job->error);
    json_integer(j, "starts", r->starts);
    json_real(j, "bytes", r->bytes);
    json_text(j, "loop", cmg_enum_name("loop", (int)r->loop));
    json_integer(j, "graph_launches", r->graph_launches);
    json_integer(j, "synchronisations", r->synchronisations);
    json_integer(j, "fallbacks", job->fallbacks);
    json_text(j, "fallback", job->fallback);
    json_integer(j, "nullspace", r->nullspace);
    json_real(j, "removed", r->removed);
    json_real(j, "range_residual", r->range_residual);
    json_text(j, "precision_used", r->precision);
    json_text(j, "krylov_used", cmg_enum_name("krylov", (int)r->krylov));
    json_integer(j, "unknowns", cmg_vector_length(job->x));
    json_integer(j, "levels", solve_levels(job));
}

int solve_write_json(const solve_job *job)
{
    size_t peak[2];
    json j;
    if (!report_open(&j, job->json, "solve", &job->device)) {
        return EXIT_FILE;
    }
    peaks(job, peak);
    json_text(&j, "file", job->path);
    json_text(&j, "rhs", job->rhs_text);
    json_text(&j, "x0", job->x0);
    json_result(&j, job);
    columns_json(&j, job->s, cmg_vector_columns(job->x));
    json_settings(&j, job);
    json_integer(&j, "ranks", job->ranks * job->processes);
    json_text(&j, "link", solve_is_shared(job) ? job->several.link : "none");
    json_real(&j, "load_seconds", job->input.load_seconds);
    json_real(&j, "setup_seconds", job->report.setup_seconds);
    setup_times_json(&j, job->report.setup_part);
    json_real(&j, "solve_seconds", job->solve_seconds);
    json_integer(&j, "repeat", job->repeat);
    json_reals(&j, "solve_seconds_samples", job->seconds, job->repeat);
    json_integer(&j, "memory_peak_bytes", (cmg_size)peak[0]);
    json_integer(&j, "device_memory_peak_bytes", (cmg_size)peak[1]);
    json_array(&j, "hints");
    if (job->report.hint[0] != '\0') {
        json_text(&j, NULL, job->report.hint);
    }
    json_end(&j);
    json_array(&j, "notes");
    for (int i = 0; note_at(job, i) != NULL; ++i) {
        json_text(&j, NULL, note_at(job, i));
    }
    json_end(&j);
    json_reals(&j, "history", job->residuals, (cmg_size)job->report.iterations + 1);
    return json_close(&j) ? EXIT_DONE : EXIT_FILE;
}
