/*
 * How long does a solve take? Q1 Poisson made in memory, on a grid or on a distorted mesh, b = 1 or
 * (--random 1) random, to a true relative residual of rtol. One JSON line: iterations, set-up and
 * solve seconds (median), memory.
 *
 *   solve [--dim 2|3] [--cells N] [--distort D] [--backend cpu|cuda] [--threads N]
 *         [--templates 0|1] [--repeat N] [--plan 1] [--matrix 1] [--random 1]
 *         [--from csr|templates] [--check 0|1] [--KEY VALUE of any option of a solver]
 *
 * With --matrix 1 the finest matrix is all that there is: levels are algebraic. With --from
 * templates large levels never are a CSR. With --check 1, the default from templates, the residual
 * is computed once more in plain loops on the host, which takes x there.
 */
#include "bench.h"
#include "q1.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct settings {
    bench_problem p;
    bool plan;
    bool matrix; /* A alone */
    bool random; /* b */
    bool templates;
    const char *from;
    int check; /* -1 = where it is made from templates */
} settings;

static bool from_templates(const settings *s)
{
    return strcmp(s->from, "templates") == 0;
}

/* b uniform in [-1, 1) from a fixed stream. */
static cmg_status fill_random(cmg_vector *b, cmg_size n)
{
    uint64_t state = 1;
    double *values = malloc((size_t)n * sizeof *values);
    for (cmg_size i = 0; values != NULL && i < n; ++i) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        values[i] = (double)(state >> 11) * 0x1p-52 - 1;
    }
    const cmg_status status = values != NULL ? cmg_vector_set(b, values) : CMG_ERR_MEMORY;
    free(values);
    return status;
}

/* The residual by q1_residual, where that is asked for and knows the problem; else -1. */
static cmg_status check(const settings *s, const cmg_vector *b, const cmg_vector *x, cmg_size n,
                        double *residual)
{
    const bool wanted = s->check >= 0 ? s->check != 0 : from_templates(s);
    double *values[2] = {NULL, NULL};
    *residual = -1;
    if (!wanted || s->p.distort > 0) {
        return CMG_OK;
    }
    values[0] = malloc((size_t)n * sizeof **values);
    values[1] = s->random ? malloc((size_t)n * sizeof **values) : NULL;
    const bool room = values[0] != NULL && (values[1] != NULL || !s->random);
    cmg_status status = room ? cmg_vector_get(x, values[0]) : CMG_ERR_MEMORY;
    status = THEN(status, s->random ? cmg_vector_get(b, values[1]) : CMG_OK);
    if (status == CMG_OK) {
        *residual = q1_residual(s->p.dim, s->p.cells, values[1], values[0]);
    }
    free(values[0]);
    free(values[1]);
    return status;
}

/* Solves `repeat` times from zero; the median goes to *seconds. */
static cmg_status solve(cmg_context *ctx, cmg_solver *solver, cmg_size n, const settings *s,
                        cmg_report *report, double *seconds, double *checked)
{
    const int repeat = s->p.repeat;
    cmg_vector *b = NULL;
    cmg_vector *x = NULL;
    double *times = malloc((size_t)repeat * sizeof *times);
    cmg_status status = times != NULL ? CMG_OK : CMG_ERR_MEMORY;
    status = THEN(status, bench_vectors(ctx, n, &b, &x));
    status = THEN(status, s->random ? fill_random(b, n) : CMG_OK);
    for (int r = -1; status == CMG_OK && r < repeat; ++r) { /* the first one warms up */
        status = cmg_solver_solve_from_zero(solver, b, x, report);
        if (r >= 0) {
            times[r] = report->solve_seconds;
        }
    }
    if (status == CMG_OK) {
        *seconds = bench_median(times, repeat);
        status = check(s, b, x, n, checked);
    }
    free(times);
    cmg_vector_destroy(&b);
    cmg_vector_destroy(&x);
    return status;
}

static void print_line(const settings *s, cmg_context *ctx, const cmg_report *report,
                       double seconds, double made, double checked)
{
    size_t peak[2];
    double copy = 0;
    cmg_context_memory(ctx, NULL, peak);
    (void)cmg_context_bandwidth(ctx, &copy);
    const double floor = copy > 0 ? 1e-9 * report->bytes / copy : 0;
    const double n = (double)pow(s->p.cells - 1, s->p.dim);
    printf("{\"benchmark\": \"solve\", \"solver\": \"cascademg\", \"problem\": \"q1-%dd-%d\", "
           "\"distort\": %g, \"matrix_alone\": %s, "
           "\"unknowns\": %.0f, \"right_hand_side\": \"%s\", "
           "\"backend\": \"%s\", \"krylov\": \"%s\", \"cycle\": \"%s(%d,%d)\", \"smoother\": "
           "\"%s\", \"loop\": \"%s\", \"graph_launches\": %lld, \"synchronisations\": %lld, "
           "\"precision\": "
           "\"%s\", \"format\": \"%s\", \"outcome\": \"%s\", \"iterations\": %d, "
           "\"relative_residual\": %.3g, \"checked_residual\": %.3g, \"from\": \"%s\", "
           "\"setup_seconds\": %.4g, \"solve_seconds\": %.5g, \"repeats\": %d, "
           "\"hierarchy_seconds\": %.3g, "
           "\"bytes\": %.0f, \"copy_gb_per_second\": %.1f, \"floor_seconds\": %.5g, "
           "\"host_bytes\": %zu, \"device_bytes\": %zu, \"resident_bytes\": %.0f, ",
           s->p.dim, s->p.cells, s->p.distort, s->matrix ? "true" : "false", n,
           s->random ? "random" : "ones", cmg_enum_name("backend", (int)s->p.context.backend),
           cmg_enum_name("krylov", (int)s->p.solver.krylov),
           cmg_enum_name("cycle", (int)s->p.solver.cycle), s->p.solver.pre, s->p.solver.post,
           s->p.solver.smoother, cmg_enum_name("loop", (int)report->loop), report->graph_launches,
           report->synchronisations, cmg_enum_name("precision", (int)s->p.solver.precision),
           cmg_enum_name("format", (int)s->p.solver.matrix.format),
           cmg_enum_name("outcome", (int)report->outcome), report->iterations,
           report->relative_residual, checked, s->from, report->setup_seconds, seconds, s->p.repeat,
           made, report->bytes, copy, floor, peak[0], peak[1], bench_peak_memory());
    bench_machine(stdout, cmg_context_threads(ctx));
    printf(", ");
    bench_print_parts("setup", report->setup_part);
    printf("\"precision_used\": \"%s\", \"fallbacks\": %d", report->precision, report->fallbacks);
    printf("}\n");
}

int main(int argc, char **argv)
{
    settings s = {
        .p = {.dim = 3, .cells = 128, .repeat = 5}, .templates = true, .from = "csr", .check = -1};
    const bench_option own[] = {{"--templates", BENCH_FLAG, &s.templates},
                                {"--plan", BENCH_FLAG, &s.plan},
                                {"--matrix", BENCH_FLAG, &s.matrix},
                                {"--random", BENCH_FLAG, &s.random},
                                {"--from", BENCH_TEXT, &s.from},
                                {"--check", BENCH_INT, &s.check},
                                {0}};
    if (!bench_parse("solve", argc, argv, &s.p, own) ||
        (!from_templates(&s) && strcmp(s.from, "csr") != 0)) {
        return 1;
    }
    s.p.solver.matrix.no_templates |= !s.templates;
    cmg_context *ctx = NULL;
    cmg_hierarchy *h = NULL;
    cmg_solver *solver = NULL;
    cmg_report report = {.size = sizeof report, .outcome = CMG_BREAKDOWN};
    double seconds = 0;
    double checked = -1;
    cmg_status status = cmg_context_create(&s.p.context, &ctx);
    const double begin = bench_seconds();
    status = THEN(status, from_templates(&s) ? q1_templates(ctx, s.p.dim, s.p.cells, &h)
                          : s.matrix         ? q1_element(ctx, &s.p, CMG_ELEMENT_Q1, true, &h)
                                             : q1_problem(ctx, &s.p, &h));
    const double made = bench_seconds() - begin;
    status = THEN(status, cmg_solver_create(h, &s.p.solver, &solver));
    status =
        THEN(status, solve(ctx, solver, cmg_hierarchy_rows(h, 0), &s, &report, &seconds, &checked));
    if (status != CMG_OK) {
        return bench_failed("solve", ctx, status);
    }
    print_line(&s, ctx, &report, seconds, made, checked);
    double copy = 0;
    if (s.plan && cmg_context_bandwidth(ctx, &copy) == CMG_OK) {
        bench_print_steps(solver, 5, copy);
    }
    cmg_solver_destroy(&solver);
    cmg_hierarchy_destroy(&h);
    cmg_context_destroy(&ctx);
    return cmg_outcome_converged(report.outcome) ? 0 : 3;
}
