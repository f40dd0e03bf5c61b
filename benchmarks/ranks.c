/*
 * What do several ranks gain? Q1 Poisson on a grid or a distorted mesh, solved by ranks of this
 * process, each with a device of its own where there are so many. One JSON line: iterations, the
 * seconds of a set-up and of a solve (median, the slowest rank), and how messages went.
 *
 *   ranks --ranks N [--dim 2|3] [--cells N] [--distort D] [--backend cpu|cuda] [--threads N]
 *         [--repeat N] [--KEY VALUE of any option of a solver]
 */
#include "bench.h"
#include "q1.h"

#include <cmg_ranks.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct settings {
    bench_problem p;
    int ranks;
    /* results of rank 0 */
    cmg_report report;
    double made; /* seconds of the hierarchy */
    double setup;
    double median;
    double least;
    size_t device_bytes;
    cmg_link_speed speed;
    char link[96];
} settings;

/* The largest of all ranks' values. */
static cmg_status slowest(const cmg_transport *t, double *value)
{
    size_t *offsets = malloc(((size_t)t->ranks + 1) * sizeof *offsets);
    double *all = malloc((size_t)t->ranks * sizeof *all);
    cmg_status status = offsets != NULL && all != NULL ? CMG_OK : CMG_ERR_MEMORY;
    for (int r = 0; r <= t->ranks && status == CMG_OK; ++r) {
        offsets[r] = (size_t)r * sizeof *all;
    }
    status = THEN(status, t->gather(t->user, value, all, offsets));
    for (int r = 0; r < t->ranks && status == CMG_OK; ++r) {
        *value = fmax(*value, all[r]);
    }
    free(offsets);
    free(all);
    return status;
}

static cmg_status solve(settings *s, const cmg_transport *t, cmg_solver *solver, cmg_vector *b,
                        cmg_vector *x)
{
    cmg_report report = {.size = sizeof report};
    double *times = malloc((size_t)s->p.repeat * sizeof *times);
    cmg_status status = times != NULL ? CMG_OK : CMG_ERR_MEMORY;
    for (int r = -1; r < s->p.repeat && status == CMG_OK; ++r) { /* the first one warms up */
        status = cmg_vector_fill(x, 0.0);
        status = THEN(status, cmg_solver_solve(solver, b, x, &report));
        double seconds = report.solve_seconds;
        status = THEN(status, slowest(t, &seconds));
        if (r >= 0) {
            times[r] = seconds;
        }
    }
    if (status == CMG_OK && t->rank == 0) {
        s->report = report;
        s->median = bench_median(times, s->p.repeat);
        s->least = times[0];
    }
    free(times);
    return status;
}

static cmg_status work(void *user, const cmg_transport *t)
{
    settings *s = user;
    cmg_context_options options = s->p.context;
    cmg_context *ctx = NULL;
    cmg_hierarchy *h = NULL;
    cmg_solver *solver = NULL;
    cmg_vector *b = NULL;
    cmg_vector *x = NULL;
    cmg_size first = 0;
    cmg_size rows = 0;
    size_t peak[2] = {0};
    cmg_link_speed speed = {0};
    const int devices = cmg_backend_devices(options.backend);
    cmg_ranks_use(&options, t);
    options.device = devices > 0 ? t->rank % devices : 0;
    cmg_status status = cmg_context_create(&options, &ctx);
    double begin = bench_seconds();
    status = THEN(status, q1_problem(ctx, &s->p, &h));
    const double made = bench_seconds() - begin;
    status = THEN(status, cmg_hierarchy_own_rows(h, 0, &first, &rows));
    begin = bench_seconds();
    status = THEN(status, cmg_solver_create(h, &s->p.solver, &solver));
    double setup = bench_seconds() - begin;
    status = THEN(status, cmg_vector_create(ctx, rows, CMG_FP64, &b));
    status = THEN(status, cmg_vector_create(ctx, rows, CMG_FP64, &x));
    status = THEN(status, cmg_vector_fill(b, 1.0));
    status = THEN(status, cmg_context_link_speed(ctx, &speed));
    status = THEN(status, slowest(t, &setup));
    status = THEN(status, solve(s, t, solver, b, x));
    if (status != CMG_OK) {
        t->fail(t->user, status, cmg_context_message(ctx));
    } else if (t->rank == 0) {
        cmg_context_memory(ctx, NULL, peak);
        s->setup = setup;
        s->made = made;
        s->device_bytes = peak[1];
        s->speed = speed;
        (void)snprintf(s->link, sizeof s->link, "%s", cmg_context_link(ctx));
    }
    cmg_solver_destroy(&solver);
    cmg_vector_destroy(&b);
    cmg_vector_destroy(&x);
    cmg_hierarchy_destroy(&h);
    cmg_context_destroy(&ctx);
    return status;
}

static void print_line(const settings *s, int threads)
{
    const double n = pow(s->p.cells - 1, s->p.dim);
    printf(
        "{\"benchmark\": \"ranks\", \"ranks\": %d, \"link\": \"%s\", \"problem\": \"q1-%dd-%d\", "
        "\"distort\": %g, \"unknowns\": %.0f, \"backend\": \"%s\", \"smoother\": \"%s\", "
        "\"precision\": \"%s\", \"format\": \"%s\", \"krylov\": \"%s\", \"loop\": \"%s\", "
        "\"graph_launches\": %lld, \"outcome\": \"%s\", \"iterations\": %d, "
        "\"relative_residual\": %.3g, \"setup_seconds\": %.4g, \"solve_seconds\": %.5g, "
        "\"least_seconds\": %.5g, \"repeats\": %d, \"hierarchy_seconds\": %.3g, "
        "\"device_bytes\": %zu, "
        "\"message_seconds\": %.3g, \"link_bytes_per_second\": %.3g, "
        "\"sum_seconds\": %.3g, ",
        s->ranks, s->link, s->p.dim, s->p.cells, s->p.distort, n,
        cmg_enum_name("backend", (int)s->p.context.backend), s->p.solver.smoother,
        s->report.precision, cmg_enum_name("format", (int)s->p.solver.matrix.format),
        cmg_enum_name("krylov", (int)s->report.krylov), cmg_enum_name("loop", (int)s->report.loop),
        s->report.graph_launches, cmg_enum_name("outcome", (int)s->report.outcome),
        s->report.iterations, s->report.relative_residual, s->setup, s->median, s->least,
        s->p.repeat, s->made, s->device_bytes, s->speed.message_seconds, s->speed.bytes_per_second,
        s->speed.sum_seconds);
    bench_machine(stdout, threads);
    printf("}\n");
}

int main(int argc, char **argv)
{
    settings s = {.p = {.dim = 3, .cells = 64, .repeat = 5}, .ranks = 2};
    char why[CMG_MESSAGE] = "";
    cmg_context *ctx = NULL;
    const bench_option own[] = {{"--ranks", BENCH_INT, &s.ranks}, {0}};
    if (!bench_parse("ranks", argc, argv, &s.p, own) || s.ranks < 1) {
        return 1;
    }
    cmg_context_options host = s.p.context;
    host.backend = CMG_BACKEND_CPU;
    if (cmg_context_create(&host, &ctx) != CMG_OK) {
        return 2;
    }
    const int all = cmg_context_threads(ctx);
    cmg_context_destroy(&ctx);
    s.p.context.threads = all > s.ranks ? all / s.ranks : 1;
    if (cmg_loopback_run(s.ranks, 0, work, &s, why) != CMG_OK) {
        (void)fprintf(stderr, "ranks: %s\n", why);
        return 2;
    }
    print_line(&s, s.p.context.threads);
    return cmg_outcome_converged(s.report.outcome) ? 0 : 3;
}
