/*
 * Whole solves with element templates as A beside assembled storage: Q1 elasticity in 3D with a
 * random coefficient, generated in memory, CG around V(1,1) from x = 0. One JSON line a variant, as
 * it is done; the hierarchy is made once.
 *
 *   elements [--cells N] [--backend cpu|cuda] [--threads N] [--repeat N] [--seconds S] [--plan 1]
 *            [--variants TEXT]
 *
 * TEXT has options of a solver, variants apart by semicolons; none begins after S seconds. --plan 1
 * writes the steps of each cycle with their bytes and measured times to standard error.
 */
#include "bench.h"

#include <cmg_expert.h>
#include <cmg_fem.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 256 };

typedef struct settings {
    bench_problem p;
    const char *variants;
    double most; /* seconds */
    bool plan;
} settings;

/* What is solved, and what its making took. */
typedef struct problem {
    cmg_hierarchy *h;
    cmg_vector *b;
    cmg_vector *x;
    double seconds;
    double copy; /* GB/s */
} problem;

static cmg_status generate(cmg_context *ctx, int cells, problem *of)
{
    cmg_generate_options o;
    const double begin = bench_seconds();
    const double *b = NULL;
    cmg_size n = 0;
    cmg_generate_options_default(&o);
    o.problem = CMG_PROBLEM_ELASTICITY;
    o.dim = 3;
    o.cells = cells;
    o.coefficient = CMG_COEFFICIENT_RANDOM;
    o.elements = true;
    o.coords = false;
    o.output_mesh = false;
    cmg_status status = cmg_hierarchy_generate(ctx, &o, &of->h);
    status = THEN(status, cmg_hierarchy_get_vector(of->h, 0, "rhs", "b", &n, &b));
    status = THEN(status, bench_vectors(ctx, n, &of->b, &of->x));
    status = THEN(status, cmg_vector_set(of->b, b));
    of->seconds = bench_seconds() - begin;
    return status == CMG_OK ? cmg_context_bandwidth(ctx, &of->copy) : status;
}

static void print_line(const settings *s, cmg_context *ctx, const problem *of, const char *options,
                       const cmg_report *r, double seconds)
{
    size_t peak[2];
    cmg_context_memory(ctx, NULL, peak);
    printf("{\"paper\": \"solves\", \"benchmark\": \"elements\", \"case\": \"elastic-q1-3d-%d\", "
           "\"options\": \"%s\", \"unknowns\": %lld, \"backend\": \"%s\", \"outcome\": \"%s\", "
           "\"iterations\": %d, \"relative_residual\": %.3g, \"solve_seconds\": %.5g, "
           "\"setup_seconds\": %.4g, \"generate_seconds\": %.4g, \"bytes\": %.0f, "
           "\"copy_gb_per_second\": %.1f, \"precision_used\": \"%s\", \"fallbacks\": %d, "
           "\"device_bytes\": %zu, \"repeats\": %d, ",
           s->p.cells, options, (long long)cmg_hierarchy_rows(of->h, 0),
           cmg_enum_name("backend", (int)s->p.context.backend),
           cmg_enum_name("outcome", (int)r->outcome), r->iterations, r->relative_residual, seconds,
           r->setup_seconds, of->seconds, r->bytes, of->copy, r->precision, r->fallbacks, peak[1],
           s->p.repeat);
    bench_print_parts("setup", r->setup_part);
    bench_machine(stdout, cmg_context_threads(ctx));
    printf("}\n");
    (void)fflush(stdout);
}

/* Solves with one variant, its first solve not timed. */
static cmg_status measure(const settings *s, cmg_context *ctx, const problem *of, const char *text)
{
    cmg_solver_options o = s->p.solver;
    cmg_solver *solver = NULL;
    cmg_report report = {.size = sizeof report, .outcome = CMG_BREAKDOWN};
    double *times = calloc((size_t)s->p.repeat, sizeof *times);
    if (times == NULL) {
        return CMG_ERR_MEMORY;
    }
    cmg_status status = cmg_solver_options_set(&o, text);
    status = THEN(status, cmg_solver_create(of->h, &o, &solver));
    for (int r = -1; status == CMG_OK && r < s->p.repeat; ++r) {
        status = cmg_vector_fill(of->x, 0);
        status = THEN(status, cmg_solver_solve(solver, of->b, of->x, &report));
        if (r >= 0) {
            times[r] = report.solve_seconds;
        }
    }
    if (status == CMG_OK) {
        print_line(s, ctx, of, text, &report, bench_median(times, s->p.repeat));
    }
    if (status == CMG_OK && s->plan) {
        bench_print_steps(solver, 11, of->copy);
    }
    cmg_solver_destroy(&solver);
    free(times);
    return status;
}

/* The next variant of a list into `text`, and what is behind it; NULL past the last. */
static const char *next_variant(const char *list, char *text)
{
    const size_t length = strcspn(list, ";");
    const size_t taken = length < TEXT ? length : TEXT - 1;
    memcpy(text, list, taken);
    text[taken] = '\0';
    return list[length] == ';' ? list + length + 1 : NULL;
}

int main(int argc, char **argv)
{
    settings s = {.p = {.dim = 3, .cells = 64, .repeat = 5},
                  .variants = "format=ebe precision=mixed smoother=jacobi:omega=auto;"
                              "format=compressed block-rows=3 precision=mixed "
                              "smoother=jacobi:omega=auto",
                  .most = 600};
    const double begin = bench_seconds();
    problem of = {.h = NULL};
    cmg_context *ctx = NULL;
    char text[TEXT];
    const bench_option own[] = {{"--variants", BENCH_TEXT, &s.variants},
                                {"--seconds", BENCH_REAL, &s.most},
                                {"--plan", BENCH_FLAG, &s.plan},
                                {0}};
    if (!bench_parse("elements", argc, argv, &s.p, own)) {
        return 1;
    }
    cmg_status status = cmg_context_create(&s.p.context, &ctx);
    status = THEN(status, generate(ctx, s.p.cells, &of));
    for (const char *v = s.variants; status == CMG_OK && v != NULL;) {
        v = next_variant(v, text);
        status = bench_seconds() - begin < s.most ? measure(&s, ctx, &of, text) : CMG_OK;
    }
    if (status != CMG_OK) {
        (void)bench_failed("elements", ctx, status);
    }
    cmg_vector_destroy(&of.b);
    cmg_vector_destroy(&of.x);
    cmg_hierarchy_destroy(&of.h);
    cmg_context_destroy(&ctx);
    return status == CMG_OK ? 0 : 4;
}
