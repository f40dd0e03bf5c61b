/*
 * What do many small systems cost? K systems of Q1 heat conduction, nodes of `cells` a side, each
 * with its own conductivity, whose contrast is e^4: one batch beside one solver after the other,
 * which takes over the values by a refresh. Every system's residual is computed by plain loops
 * first. One JSON line: seconds of set-up and solve (medians), floor of the solve's bytes at the
 * measured copy bandwidth and the share of it, iterations, and of single systems the seconds of a
 * refresh and a solve.
 *
 *   batch [--dim 2|3] [--cells N] [--systems K] [--shared 0|1] [--backend cpu|cuda] [--threads N]
 *         [--repeat N] [--KEY VALUE of any option of a solver]
 */
#include "bench.h"

#include <cmg_fem.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SINGLES = 8 };

typedef struct settings {
    bench_problem p;
    int systems;
    bool shared; /* all have the values of the hierarchy */
} settings;

typedef struct work {
    cmg_context *ctx;
    cmg_hierarchy *h;
    cmg_solver *solver;
    cmg_batch *batch;
    cmg_size n;
    cmg_size nnz;
    double *values;       /* systems x nnz */
    double *b;            /* systems x n */
    cmg_vector *there[3]; /* values, b, x */
    cmg_report report;
    double setup_seconds;
    double solve_seconds;
    double refresh_seconds;
    double single_seconds;
    int single_iterations;
    double worst; /* relative residual */
    int failed;
    int least;
    int most;
} work;

/* A + I of the pure Neumann problem, all nodes: 21^3 for 20 cells. */
static cmg_status generate(const settings *s, work *w)
{
    cmg_generate_options o;
    cmg_csr A;
    cmg_generate_options_default(&o);
    o.dim = s->p.dim;
    o.cells = s->p.cells;
    o.problem = CMG_PROBLEM_HEAT;
    o.time_step = 1;
    o.boundary = CMG_BOUNDARY_NEUMANN;
    o.coords = false;
    o.output_mesh = false;
    cmg_status status = cmg_hierarchy_generate(w->ctx, &o, &w->h);
    status = THEN(status, cmg_hierarchy_get_csr(w->h, 0, CMG_ROLE_A, NULL, 0, &A));
    if (status == CMG_OK) {
        w->n = A.rows;
        w->nnz = A.indptr[A.rows];
    }
    return status;
}

/* a_ij (c_i + c_j) / 2 beside the diagonal, which keeps the row's sum; random b. */
static cmg_status make_systems(const settings *s, work *w)
{
    const size_t k = (size_t)s->systems;
    uint64_t state = 88172645463325252U;
    cmg_csr A;
    cmg_status status = cmg_hierarchy_get_csr(w->h, 0, CMG_ROLE_A, NULL, 0, &A);
    w->values = malloc(k * (size_t)w->nnz * sizeof *w->values);
    w->b = malloc(k * (size_t)w->n * sizeof *w->b);
    double *c = malloc((size_t)w->n * sizeof *c); /* conductivity at the nodes */
    if (w->values == NULL || w->b == NULL || c == NULL) {
        status = CMG_ERR_MEMORY;
    }
    for (int system = 0; system < s->systems && status == CMG_OK; ++system) {
        double *v = w->values + (size_t)system * (size_t)w->nnz;
        for (cmg_size i = 0; i < w->n; ++i) {
            const double turn = 6.2831853 * (double)i / (double)w->n;
            c[i] = s->shared ? 1 : exp(2 * sin(system + turn));
        }
        for (cmg_size i = 0; i < w->n; ++i) {
            cmg_size diagonal = 0;
            double moved = 0;
            for (cmg_size j = A.indptr[i]; j < A.indptr[i + 1]; ++j) {
                const double mean = 0.5 * (c[i] + c[A.indices[j]]);
                v[j] = A.values[j] * (A.indices[j] == i ? 1 : mean);
                diagonal = A.indices[j] == i ? j : diagonal;
                moved += A.values[j] - v[j];
            }
            v[diagonal] += moved;
            state ^= state << 13; /* xorshift64, Marsaglia 2003 */
            state ^= state >> 7;
            state ^= state << 17;
            w->b[(cmg_size)system * w->n + i] = (double)(int64_t)state * 0x1p-63;
        }
    }
    free(c);
    const size_t bytes[2] = {k * (size_t)w->nnz * sizeof(double),
                             k * (size_t)w->n * sizeof(double)};
    status = THEN(status, bench_array(w->ctx, w->values, bytes[0], &w->there[0]));
    status = THEN(status, bench_array(w->ctx, w->b, bytes[1], &w->there[1]));
    return status == CMG_OK ? cmg_vector_create(w->ctx, s->systems * w->n, CMG_FP64, &w->there[2])
                            : status;
}

static cmg_status solve(work *w)
{
    const cmg_status status = cmg_vector_fill(w->there[2], 0);
    return status == CMG_OK ? cmg_batch_solve(w->batch, w->there[1], w->there[2], &w->report)
                            : status;
}

/* Residuals by plain loops. */
static cmg_status verify(const settings *s, work *w)
{
    double *x = malloc((size_t)(s->systems * w->n) * sizeof *x);
    cmg_csr A;
    cmg_status status = x == NULL ? CMG_ERR_MEMORY : cmg_vector_get(w->there[2], x);
    status = THEN(status, cmg_hierarchy_get_csr(w->h, 0, CMG_ROLE_A, NULL, 0, &A));
    w->least = s->p.solver.max_it;
    for (int system = 0; system < s->systems && status == CMG_OK; ++system) {
        const double *v = w->values + (size_t)system * (size_t)w->nnz;
        const double *b = w->b + (size_t)system * (size_t)w->n;
        const double *own = x + (size_t)system * (size_t)w->n;
        cmg_report r = {.size = sizeof r};
        double left = 0;
        double whole = 0;
        for (cmg_size i = 0; i < w->n; ++i) {
            double sum = b[i];
            for (cmg_size k = A.indptr[i]; k < A.indptr[i + 1]; ++k) {
                sum -= v[k] * own[A.indices[k]];
            }
            left += sum * sum;
            whole += b[i] * b[i];
        }
        w->worst = fmax(w->worst, sqrt(left / whole));
        status = cmg_batch_system(w->batch, system, &r);
        w->failed += !cmg_outcome_converged(r.outcome);
        w->least = r.iterations < w->least ? r.iterations : w->least;
        w->most = r.iterations > w->most ? r.iterations : w->most;
    }
    free(x);
    return status;
}

/* Medians of the batch's set-up and solve. */
static cmg_status measure(const settings *s, work *w)
{
    double *times = malloc(2 * (size_t)s->p.repeat * sizeof *times);
    cmg_status status = times != NULL ? CMG_OK : CMG_ERR_MEMORY;
    for (int r = 0; r < s->p.repeat && status == CMG_OK; ++r) {
        const double start = bench_seconds();
        status = s->shared ? CMG_OK : cmg_batch_update(w->batch, w->there[0]);
        times[r] = bench_seconds() - start;
        status = THEN(status, solve(w));
        times[s->p.repeat + r] = w->report.solve_seconds;
    }
    if (status == CMG_OK) {
        w->setup_seconds = bench_median(times, s->p.repeat);
        w->solve_seconds = bench_median(times + s->p.repeat, s->p.repeat);
    }
    free(times);
    return status;
}

/* Some of the systems one by one, by a solver that is refreshed. */
static cmg_status measure_singles(const settings *s, work *w)
{
    const int count = s->systems < SINGLES ? s->systems : SINGLES;
    double times[2][SINGLES];
    cmg_vector *b = NULL;
    cmg_vector *x = NULL;
    cmg_status status = cmg_vector_create(w->ctx, w->n, CMG_FP64, &b);
    status = THEN(status, cmg_vector_create(w->ctx, w->n, CMG_FP64, &x));
    for (int system = -1; system < count && status == CMG_OK; ++system) { /* the first warms up */
        const cmg_size k = system < 0 ? 0 : system;
        cmg_report r = {.size = sizeof r};
        const double start = bench_seconds();
        status = cmg_hierarchy_update(w->h, 0, CMG_ROLE_A, w->values + k * w->nnz);
        status = THEN(status, cmg_solver_refresh(w->solver));
        const double refreshed = bench_seconds();
        status = THEN(status, cmg_vector_set(b, w->b + k * w->n));
        status = THEN(status, cmg_solver_solve_from_zero(w->solver, b, x, &r));
        times[0][k] = refreshed - start;
        times[1][k] = r.solve_seconds;
        w->single_iterations =
            r.iterations > w->single_iterations ? r.iterations : w->single_iterations;
    }
    w->refresh_seconds = bench_median(times[0], count);
    w->single_seconds = bench_median(times[1], count);
    cmg_vector_destroy(&b);
    cmg_vector_destroy(&x);
    return status;
}

static void print_line(const settings *s, const work *w, double create_seconds)
{
    double copy = 0;
    (void)cmg_context_bandwidth(w->ctx, &copy);
    const double floor = copy > 0 ? w->report.bytes / (copy * 1e9) : 0;
    printf("{\"benchmark\": \"batch\", \"problem\": \"q1-heat-%dd-%d\", \"unknowns\": %lld, "
           "\"entries\": %lld, \"systems\": %d, \"values\": \"%s\", \"backend\": \"%s\", "
           "\"smoother\": \"%s\", \"precision\": \"%s\", \"create_seconds\": %.5g, "
           "\"setup_seconds\": %.5g, \"solve_seconds\": %.5g, \"bytes\": %.0f, "
           "\"copy_gb_per_second\": %.1f, \"floor_seconds\": %.5g, \"share\": %.3f, "
           "\"iterations\": [%d, %d], \"starts\": %d, \"failed\": %d, \"worst_residual\": %.3e, "
           "\"single_refresh_seconds\": %.5g, \"single_seconds\": %.5g, \"single_iterations\": %d, "
           "\"ratio\": %.4f, \"repeats\": %d, ",
           s->p.dim, s->p.cells, (long long)w->n, (long long)w->nnz, s->systems,
           s->shared ? "shared" : "own", cmg_enum_name("backend", (int)s->p.context.backend),
           s->p.solver.smoother, w->report.precision, create_seconds, w->setup_seconds,
           w->solve_seconds, w->report.bytes, copy, floor, floor / w->solve_seconds, w->least,
           w->most, w->report.starts, w->failed, w->worst, w->refresh_seconds, w->single_seconds,
           w->single_iterations, w->solve_seconds / (s->systems * w->single_seconds), s->p.repeat);
    bench_machine(stdout, cmg_context_threads(w->ctx));
    printf("}\n");
}

int main(int argc, char **argv)
{
    settings s = {.p = {.dim = 3, .cells = 20, .repeat = 10}, .systems = 1000};
    work w = {.report = {.size = sizeof w.report}};
    const bench_option own[] = {
        {"--systems", BENCH_INT, &s.systems}, {"--shared", BENCH_FLAG, &s.shared}, {0}};
    if (!bench_parse("batch", argc, argv, &s.p, own) || s.systems < 1) {
        return 1;
    }
    s.p.solver.matrix.keep_map = true;
    s.p.solver.galerkin = CMG_GALERKIN_ALWAYS; /* coarse levels follow, as they do in a batch */
    cmg_status status = cmg_context_create(&s.p.context, &w.ctx);
    status = THEN(status, generate(&s, &w));
    status = THEN(status, cmg_solver_create(w.h, &s.p.solver, &w.solver));
    status = THEN(status, make_systems(&s, &w));
    const double start = bench_seconds();
    status =
        THEN(status, cmg_batch_create(w.solver, s.systems, s.shared ? NULL : w.there[0], &w.batch));
    const double created = bench_seconds() - start;
    status = THEN(status, solve(&w));
    status = THEN(status, verify(&s, &w));
    status = THEN(status, measure(&s, &w));
    status = THEN(status, measure_singles(&s, &w));
    if (status != CMG_OK) {
        return bench_failed("batch", w.ctx, status);
    }
    print_line(&s, &w, created);
    free(w.values);
    free(w.b);
    for (int k = 0; k < 3; ++k) {
        cmg_vector_destroy(&w.there[k]);
    }
    cmg_batch_destroy(&w.batch);
    cmg_solver_destroy(&w.solver);
    cmg_hierarchy_destroy(&w.h);
    cmg_context_destroy(&w.ctx);
    return w.failed > 0;
}
