/*
 * What do several right-hand sides cost together? K random ones of Q1 Poisson, distorted meshes
 * with a smooth coefficient, solved at once and one after the other. One JSON line: seconds of both
 * (medians), their ratio, iterations of every column both ways, bytes by the model.
 *
 *   columns [--dim 2|3] [--cells N] [--distort D] [--columns K] [--backend cpu|cuda] [--threads N]
 *           [--repeat N] [--KEY VALUE of any option of a solver]
 */
#include "bench.h"
#include "q1.h"

#include <stdlib.h>
#include <string.h>

typedef struct settings {
    bench_problem p;
    int columns;
} settings;

/* What is measured: blocks and single columns in the context's memory. */
typedef struct work {
    cmg_context *ctx;
    cmg_hierarchy *h;
    cmg_solver *solver;
    cmg_vector *b;
    cmg_vector *x;
    cmg_vector *one_b[CMG_COLUMNS];
    cmg_vector *one_x;
    int together[CMG_COLUMNS]; /* iterations */
    int alone[CMG_COLUMNS];
    double together_seconds;
    double alone_seconds;
    cmg_report report;
} work;

/* Random columns, as a block and one by one. */
static cmg_status make_vectors(const settings *s, work *w)
{
    const cmg_size n = cmg_hierarchy_rows(w->h, 0);
    const int k = s->columns;
    double *block = malloc((size_t)(n * k) * sizeof *block);
    double *one = malloc((size_t)n * sizeof *one);
    uint64_t state = 88172645463325252U;
    cmg_status status = block != NULL && one != NULL ? CMG_OK : CMG_ERR_MEMORY;
    for (cmg_size i = 0; status == CMG_OK && i < n * k; ++i) { /* xorshift64, Marsaglia 2003 */
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        block[i] = (double)(int64_t)state * 0x1p-63;
    }
    status = THEN(status, cmg_vector_create_columns(w->ctx, n, k, CMG_FP64, &w->b));
    status = THEN(status, cmg_vector_create_columns(w->ctx, n, k, CMG_FP64, &w->x));
    status = THEN(status, cmg_vector_create(w->ctx, n, CMG_FP64, &w->one_x));
    status = THEN(status, cmg_vector_set(w->b, block));
    for (int c = 0; c < k && status == CMG_OK; ++c) {
        for (cmg_size i = 0; i < n; ++i) {
            one[i] = block[i * k + c];
        }
        status = cmg_vector_create(w->ctx, n, CMG_FP64, &w->one_b[c]);
        status = THEN(status, cmg_vector_set(w->one_b[c], one));
    }
    free(block);
    free(one);
    return status;
}

static cmg_status solve_together(const settings *s, work *w, double *seconds)
{
    cmg_status status = cmg_vector_fill(w->x, 0);
    status = THEN(status, cmg_solver_solve(w->solver, w->b, w->x, &w->report));
    *seconds = w->report.solve_seconds;
    for (int c = 0; c < s->columns && status == CMG_OK; ++c) {
        cmg_report r = {.size = sizeof r};
        status = cmg_solver_column(w->solver, c, &r);
        w->together[c] = cmg_outcome_converged(r.outcome) ? r.iterations : -1;
    }
    return status;
}

static cmg_status solve_alone(const settings *s, work *w, double *seconds)
{
    cmg_status status = CMG_OK;
    *seconds = 0;
    for (int c = 0; c < s->columns && status == CMG_OK; ++c) {
        cmg_report r = {.size = sizeof r};
        status = cmg_vector_fill(w->one_x, 0);
        status = THEN(status, cmg_solver_solve(w->solver, w->one_b[c], w->one_x, &r));
        w->alone[c] = cmg_outcome_converged(r.outcome) ? r.iterations : -1;
        *seconds += r.solve_seconds;
    }
    return status;
}

/* In turn, so that both meet the same machine. */
static cmg_status measure(const settings *s, work *w)
{
    double *times = malloc(2 * (size_t)s->p.repeat * sizeof *times);
    cmg_status status = times != NULL ? CMG_OK : CMG_ERR_MEMORY;
    for (int r = -1; r < s->p.repeat && status == CMG_OK; ++r) { /* the first warms up */
        double together = 0;
        double alone = 0;
        status = solve_together(s, w, &together);
        status = THEN(status, solve_alone(s, w, &alone));
        if (r >= 0) {
            times[r] = together;
            times[s->p.repeat + r] = alone;
        }
    }
    if (status == CMG_OK) {
        w->together_seconds = bench_median(times, s->p.repeat);
        w->alone_seconds = bench_median(times + s->p.repeat, s->p.repeat);
    }
    free(times);
    return status;
}

static void print_counts(const char *name, const int *counts, int k)
{
    printf(", \"%s\": [", name);
    for (int c = 0; c < k; ++c) {
        printf("%s%d", c > 0 ? ", " : "", counts[c]);
    }
    printf("]");
}

static void print_line(const settings *s, const work *w)
{
    double copy = 0;
    (void)cmg_context_bandwidth(w->ctx, &copy);
    printf("{\"benchmark\": \"columns\", \"problem\": \"q1-%dd-%d\", \"distort\": %g, "
           "\"unknowns\": %lld, \"backend\": \"%s\", \"smoother\": \"%s\", \"precision\": \"%s\", "
           "\"columns\": %d, \"seconds\": %.5g, \"single_seconds\": %.5g, \"ratio\": %.4f, "
           "\"bytes\": %.0f, \"copy_gb_per_second\": %.1f, \"repeats\": %d, ",
           s->p.dim, s->p.cells, s->p.distort, (long long)cmg_hierarchy_rows(w->h, 0),
           cmg_enum_name("backend", (int)s->p.context.backend), s->p.solver.smoother,
           cmg_enum_name("precision", (int)s->p.solver.precision), s->columns, w->together_seconds,
           w->alone_seconds, w->together_seconds / w->alone_seconds, w->report.bytes, copy,
           s->p.repeat);
    bench_machine(stdout, cmg_context_threads(w->ctx));
    print_counts("iterations", w->together, s->columns);
    print_counts("single_iterations", w->alone, s->columns);
    printf("}\n");
}

int main(int argc, char **argv)
{
    settings s = {.p = {.dim = 3, .cells = 64, .repeat = 5, .distort = 0.4}, .columns = 8};
    work w = {.report = {.size = sizeof w.report}};
    const bench_option own[] = {{"--columns", BENCH_INT, &s.columns}, {0}};
    if (!bench_parse("columns", argc, argv, &s.p, own) || s.columns < 1 ||
        s.columns > CMG_COLUMNS) {
        return 1;
    }
    cmg_status status = cmg_context_create(&s.p.context, &w.ctx);
    status = THEN(status, q1_problem(w.ctx, &s.p, &w.h));
    status = THEN(status, cmg_solver_create(w.h, &s.p.solver, &w.solver));
    status = THEN(status, make_vectors(&s, &w));
    status = THEN(status, measure(&s, &w));
    if (status != CMG_OK) {
        return bench_failed("columns", w.ctx, status);
    }
    print_line(&s, &w);
    for (int c = 0; c < s.columns; ++c) {
        cmg_vector_destroy(&w.one_b[c]);
    }
    cmg_vector_destroy(&w.one_x);
    cmg_vector_destroy(&w.b);
    cmg_vector_destroy(&w.x);
    cmg_solver_destroy(&w.solver);
    cmg_hierarchy_destroy(&w.h);
    cmg_context_destroy(&w.ctx);
    return 0;
}
