/*
 * How long does a solve take? Q1 Poisson made in memory, on a grid or on a distorted mesh, b = 1,
 * to a true relative residual of rtol. One JSON line: iterations, set-up and solve seconds
 * (median), memory.
 *
 *   solve [--dim 2|3] [--cells N] [--distort D] [--backend cpu|cuda] [--threads N]
 *         [--templates 0|1] [--repeat N] [--plan 1] [--KEY VALUE of any option of a solver]
 */
#include "bench.h"
#include "q1.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct settings {
    int dim;
    int cells;
    int repeat;
    double distort;
    bool plan;
    cmg_context_options context;
    cmg_solver_options solver;
} settings;

static bool set_option(settings *s, const char *name, const char *text)
{
    cmg_solver_options *o = &s->solver;
    char setting[600];
    const struct {
        const char *name;
        int *value;
    } numbers[] = {{"--dim", &s->dim},
                   {"--cells", &s->cells},
                   {"--threads", &s->context.threads},
                   {"--repeat", &s->repeat}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i) {
        if (strcmp(name, numbers[i].name) == 0) {
            *numbers[i].value = atoi(text);
            return true;
        }
    }
    if (strcmp(name, "--backend") == 0) {
        return bench_enum("backend", text, &s->context.backend);
    }
    if (strcmp(name, "--distort") == 0) {
        s->distort = atof(text);
    } else if (strcmp(name, "--templates") == 0) {
        o->matrix.no_templates = atoi(text) == 0;
    } else if (strcmp(name, "--plan") == 0) {
        s->plan = atoi(text) != 0;
    } else { /* every other one is an option of the solver */
        (void)snprintf(setting, sizeof setting, "%.64s=\"%.512s\"", name + 2, text);
        return strncmp(name, "--", 2) == 0 && cmg_solver_options_set(o, setting) == CMG_OK;
    }
    return true;
}

/* Solves `repeat` times from zero; the median goes to *seconds. */
static cmg_status solve(cmg_context *ctx, cmg_solver *solver, cmg_size n, int repeat,
                        cmg_report *report, double *seconds)
{
    cmg_vector *b = NULL;
    cmg_vector *x = NULL;
    double *times = malloc((size_t)repeat * sizeof *times);
    cmg_status status = times != NULL ? CMG_OK : CMG_ERR_MEMORY;
    if (status == CMG_OK) {
        status = cmg_vector_create(ctx, n, CMG_FP64, &b);
    }
    if (status == CMG_OK) {
        status = cmg_vector_create(ctx, n, CMG_FP64, &x);
    }
    if (status == CMG_OK) {
        status = cmg_vector_fill(b, 1.0);
    }
    for (int r = -1; status == CMG_OK && r < repeat; ++r) { /* the first one warms up */
        status = cmg_vector_fill(x, 0.0);
        if (status == CMG_OK) {
            status = cmg_solver_solve(solver, b, x, report);
        }
        if (r >= 0) {
            times[r] = report->solve_seconds;
        }
    }
    if (status == CMG_OK) {
        *seconds = bench_median(times, repeat);
    }
    free(times);
    cmg_vector_destroy(&b);
    cmg_vector_destroy(&x);
    return status;
}

static void print_plan(cmg_context *ctx, cmg_solver *solver)
{
    double copy = 0;
    if (cmg_context_bandwidth(ctx, &copy) != CMG_OK || cmg_solver_measure(solver, 5) != CMG_OK) {
        return;
    }
    for (int i = 0; i < cmg_solver_steps(solver); ++i) {
        cmg_step_info info = {.size = sizeof info};
        if (cmg_solver_step(solver, i, &info) == CMG_OK) {
            (void)fprintf(
                stderr,
                "%3d %-40s %-10s %9lld rows %11lld nnz %11zu bytes %9.2f us, at copy %9.2f us\n", i,
                info.text, info.format, (long long)info.rows, (long long)info.nnz, info.bytes,
                1e6 * info.seconds, 1e-3 * (double)info.bytes / copy);
        }
    }
}

static void print_line(const settings *s, cmg_context *ctx, const cmg_report *report,
                       double seconds, double made)
{
    size_t peak[2];
    double copy = 0;
    cmg_context_memory(ctx, NULL, peak);
    (void)cmg_context_bandwidth(ctx, &copy);
    const double floor = copy > 0 ? 1e-9 * report->bytes / copy : 0;
    const double n = (double)pow(s->cells - 1, s->dim);
    printf("{\"benchmark\": \"solve\", \"solver\": \"cascademg\", \"problem\": \"q1-%dd-%d\", "
           "\"distort\": %g, "
           "\"unknowns\": %.0f, "
           "\"backend\": \"%s\", \"krylov\": \"%s\", \"cycle\": \"%s(%d,%d)\", \"smoother\": "
           "\"%s\", \"loop\": \"%s\", \"graph_launches\": %lld, \"synchronisations\": %lld, "
           "\"precision\": "
           "\"%s\", \"format\": \"%s\", \"outcome\": \"%s\", \"iterations\": %d, "
           "\"relative_residual\": %.3g, "
           "\"setup_seconds\": %.4g, \"solve_seconds\": %.5g, \"repeats\": %d, "
           "\"hierarchy_seconds\": %.3g, "
           "\"bytes\": %.0f, \"copy_gb_per_second\": %.1f, \"floor_seconds\": %.5g, "
           "\"host_bytes\": %zu, \"device_bytes\": %zu, \"resident_bytes\": %.0f, ",
           s->dim, s->cells, s->distort, n, cmg_enum_name("backend", (int)s->context.backend),
           cmg_enum_name("krylov", (int)s->solver.krylov),
           cmg_enum_name("cycle", (int)s->solver.cycle), s->solver.pre, s->solver.post,
           s->solver.smoother, cmg_enum_name("loop", (int)report->loop), report->graph_launches,
           report->synchronisations, cmg_enum_name("precision", (int)s->solver.precision),
           cmg_enum_name("format", (int)s->solver.matrix.format),
           cmg_enum_name("outcome", (int)report->outcome), report->iterations,
           report->relative_residual, report->setup_seconds, seconds, s->repeat, made,
           report->bytes, copy, floor, peak[0], peak[1], bench_peak_memory());
    bench_machine(stdout, cmg_context_threads(ctx));
    printf(", \"precision_used\": \"%s\", \"fallbacks\": %d", report->precision, report->fallbacks);
    printf("}\n");
}

int main(int argc, char **argv)
{
    settings s = {.dim = 3, .cells = 128, .repeat = 5};
    cmg_context_options_default(&s.context);
    cmg_solver_options_default(&s.solver);
    for (int a = 1; a < argc; a += 2) {
        if (a + 1 == argc || !set_option(&s, argv[a], argv[a + 1])) {
            (void)fprintf(stderr, "solve: option %s is unknown or its value is wrong\n", argv[a]);
            return 1;
        }
    }
    cmg_context *ctx = NULL;
    cmg_hierarchy *h = NULL;
    cmg_solver *solver = NULL;
    cmg_report report = {.size = sizeof report, .outcome = CMG_BREAKDOWN};
    double seconds = 0;
    if (s.repeat < 1 || (s.dim != 2 && s.dim != 3) ||
        cmg_context_create(&s.context, &ctx) != CMG_OK) {
        (void)fprintf(stderr, "solve: no context, or an option is out of range\n");
        return 4;
    }
    const double begin = bench_seconds();
    cmg_status status = s.distort > 0 ? q1_distorted(ctx, s.dim, s.cells, s.distort, &h)
                                      : q1_hierarchy(ctx, s.dim, s.cells, &h);
    const double made = bench_seconds() - begin;
    if (status == CMG_OK) {
        status = cmg_solver_create(h, &s.solver, &solver);
    }
    if (status == CMG_OK) {
        status = solve(ctx, solver, cmg_hierarchy_rows(h, 0), s.repeat, &report, &seconds);
    }
    if (status != CMG_OK) {
        (void)fprintf(stderr, "solve: %s: %s\n", cmg_status_name(status), cmg_context_message(ctx));
        return 4;
    }
    print_line(&s, ctx, &report, seconds, made);
    if (s.plan) {
        print_plan(ctx, solver);
    }
    cmg_solver_destroy(&solver);
    cmg_hierarchy_destroy(&h);
    cmg_context_destroy(&ctx);
    return cmg_outcome_converged(report.outcome) ? 0 : 3;
}
