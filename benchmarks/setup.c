/*
 * How many solves does computing a smoother cost? Q1 Poisson generated in memory, on a regular or a
 * distorted mesh (then no two rows are equal); the smoother of the finest level is computed
 * `repeat` times, from the level's matrix on the host to the factors there, then b = 1 is solved
 * with it to a true relative residual of 1e-8. One JSON line.
 *
 *   setup [--dim 2|3] [--cells N] [--distort D] [--backend cpu|cuda] [--threads N] [--smoother S]
 *         [--format F] [--repeat N] [--solve 0|1]
 */
#include "cmg_fem.h"

#include "bench.h"

#include <cmg.h>
#include <stdlib.h>
#include <string.h>

typedef struct settings {
    bench_problem p;
    const char *smoother;
    bool solve;
} settings;

typedef struct result {
    cmg_smoother_info info;
    double first;   /* seconds of the first set-up: starts the device's parts */
    double minimum; /* of all set-ups */
    double solve;   /* least seconds of a solve */
    int iterations;
} result;

static cmg_status set_up(cmg_hierarchy *h, const settings *s, result *r)
{
    for (int k = 0; k < s->p.repeat; ++k) {
        r->info.size = sizeof r->info;
        const cmg_status status = cmg_hierarchy_smooth(h, 0, s->smoother, "kept", &r->info);
        if (status != CMG_OK) {
            return status;
        }
        r->first = k == 0 ? r->info.seconds : r->first;
        r->minimum = k == 0 || r->info.seconds < r->minimum ? r->info.seconds : r->minimum;
    }
    return CMG_OK;
}

/* The kept smoother on the finest level; the levels below compute theirs. */
static cmg_status solve(cmg_context *ctx, cmg_hierarchy *h, const settings *s, result *r)
{
    cmg_solver *solver = NULL;
    cmg_vector *b = NULL;
    cmg_vector *x = NULL;
    cmg_status status = CMG_OK;
    for (int l = 1; status == CMG_OK && l + 1 < cmg_hierarchy_levels(h); ++l) {
        status = cmg_hierarchy_smooth(h, l, s->smoother, "kept", NULL);
    }
    status = THEN(status, cmg_solver_create(h, &s->p.solver, &solver));
    status = THEN(status, bench_vectors(ctx, cmg_hierarchy_rows(h, 0), &b, &x));
    for (int k = 0; status == CMG_OK && k < 5; ++k) {
        cmg_report report = {.size = sizeof report, .outcome = CMG_BREAKDOWN};
        status = cmg_vector_fill(x, 0.0);
        status = THEN(status, cmg_solver_solve(solver, b, x, &report));
        if (status == CMG_OK && !cmg_outcome_converged(report.outcome)) {
            (void)fprintf(stderr, "setup: the solve did not converge\n");
            status = CMG_ERR_STATE;
        }
        r->solve = k == 0 || report.solve_seconds < r->solve ? report.solve_seconds : r->solve;
        r->iterations = report.iterations;
    }
    cmg_vector_destroy(&b);
    cmg_vector_destroy(&x);
    cmg_solver_destroy(&solver);
    return status;
}

static void print_line(const settings *s, cmg_context *ctx, cmg_size rows, const result *r)
{
    size_t peak[2];
    cmg_context_memory(ctx, NULL, peak);
    printf("{\"benchmark\": \"setup\", \"problem\": \"q1-%dd-%lld\", \"distort\": %g, "
           "\"unknowns\": %lld, \"backend\": \"%s\", \"smoother\": \"%s\", \"entries\": %lld, "
           "\"quality\": %.4f, \"repeats\": %d, \"first_seconds\": %.4g, \"setup_seconds\": %.4g, ",
           s->p.dim, (long long)s->p.cells, s->p.distort, (long long)rows,
           cmg_enum_name("backend", (int)s->p.context.backend), s->smoother, (long long)r->info.nnz,
           r->info.quality, s->p.repeat, r->first, r->minimum);
    if (s->solve) {
        printf(
            "\"format\": \"%s\", \"iterations\": %d, \"solve_seconds\": %.5g, \"solves\": %.2f, ",
            cmg_enum_name("format", (int)s->p.solver.matrix.format), r->iterations, r->solve,
            r->minimum / r->solve);
    }
    printf("\"host_bytes\": %zu, \"device_bytes\": %zu, ", peak[0], peak[1]);
    bench_machine(stdout, cmg_context_threads(ctx));
    printf("}\n");
}

int main(int argc, char **argv)
{
    settings s = {
        .p = {.dim = 3, .cells = 128, .repeat = 3}, .smoother = "spai:tau=0", .solve = true};
    cmg_generate_options mesh;
    const bench_option own[] = {
        {"--smoother", BENCH_TEXT, &s.smoother}, {"--solve", BENCH_FLAG, &s.solve}, {0}};
    if (!bench_parse("setup", argc, argv, &s.p, own)) {
        return 1;
    }
    (void)cmg_solver_options_set(&s.p.solver, "smoother=file:kept");
    cmg_generate_options_default(&mesh);
    mesh.dim = s.p.dim;
    mesh.cells = s.p.cells;
    mesh.distort = s.p.distort;
    mesh.coords = false;
    mesh.output_mesh = false;
    if (mesh.distort > 0) { /* bend every cell in its own way */
        mesh.coefficient = CMG_COEFFICIENT_SMOOTH;
        mesh.levels = mesh.cells >= 16 ? 4 : 0;
    }
    cmg_context *ctx = NULL;
    cmg_hierarchy *h = NULL;
    result r = {.iterations = 0};
    cmg_status status = cmg_context_create(&s.p.context, &ctx);
    status = THEN(status, cmg_hierarchy_generate(ctx, &mesh, &h));
    status = THEN(status, set_up(h, &s, &r));
    if (status == CMG_OK && s.solve) {
        status = solve(ctx, h, &s, &r);
    }
    if (status != CMG_OK) {
        (void)bench_failed("setup", ctx, status);
    } else {
        print_line(&s, ctx, cmg_hierarchy_rows(h, 0), &r);
    }
    cmg_hierarchy_destroy(&h);
    cmg_context_destroy(&ctx);
    return status == CMG_OK ? 0 : 4;
}
