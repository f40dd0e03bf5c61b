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
    int dim;
    int cells;
    int columns;
    int repeat;
    double distort;
    cmg_context_options context;
    cmg_solver_options solver;
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

static bool set_option(settings *s, const char *name, const char *text)
{
    char setting[600];
    const struct {
        const char *name;
        int *value;
    } numbers[] = {{"--dim", &s->dim},
                   {"--cells", &s->cells},
                   {"--columns", &s->columns},
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
        return true;
    }
    (void)snprintf(setting, sizeof setting, "%.64s=\"%.512s\"", name + 2, text);
    return strncmp(name, "--", 2) == 0 && cmg_solver_options_set(&s->solver, setting) == CMG_OK;
}

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
    status = status == CMG_OK ? cmg_vector_create_columns(w->ctx, n, k, CMG_FP64, &w->b) : status;
    status = status == CMG_OK ? cmg_vector_create_columns(w->ctx, n, k, CMG_FP64, &w->x) : status;
    status = status == CMG_OK ? cmg_vector_create(w->ctx, n, CMG_FP64, &w->one_x) : status;
    status = status == CMG_OK ? cmg_vector_set(w->b, block) : status;
    for (int c = 0; c < k && status == CMG_OK; ++c) {
        for (cmg_size i = 0; i < n; ++i) {
            one[i] = block[i * k + c];
        }
        status = cmg_vector_create(w->ctx, n, CMG_FP64, &w->one_b[c]);
        status = status == CMG_OK ? cmg_vector_set(w->one_b[c], one) : status;
    }
    free(block);
    free(one);
    return status;
}

static cmg_status solve_together(const settings *s, work *w, double *seconds)
{
    cmg_status status = cmg_vector_fill(w->x, 0);
    status = status == CMG_OK ? cmg_solver_solve(w->solver, w->b, w->x, &w->report) : status;
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
        status = status == CMG_OK ? cmg_solver_solve(w->solver, w->one_b[c], w->one_x, &r) : status;
        w->alone[c] = cmg_outcome_converged(r.outcome) ? r.iterations : -1;
        *seconds += r.solve_seconds;
    }
    return status;
}

/* In turn, so that both meet the same machine. */
static cmg_status measure(const settings *s, work *w)
{
    double *times = malloc(2 * (size_t)s->repeat * sizeof *times);
    cmg_status status = times != NULL ? CMG_OK : CMG_ERR_MEMORY;
    for (int r = -1; r < s->repeat && status == CMG_OK; ++r) { /* the first warms up */
        double together = 0;
        double alone = 0;
        status = solve_together(s, w, &together);
        status = status == CMG_OK ? solve_alone(s, w, &alone) : status;
        if (r >= 0) {
            times[r] = together;
            times[s->repeat + r] = alone;
        }
    }
    if (status == CMG_OK) {
        w->together_seconds = bench_median(times, s->repeat);
        w->alone_seconds = bench_median(times + s->repeat, s->repeat);
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
           s->dim, s->cells, s->distort, (long long)cmg_hierarchy_rows(w->h, 0),
           cmg_enum_name("backend", (int)s->context.backend), s->solver.smoother,
           cmg_enum_name("precision", (int)s->solver.precision), s->columns, w->together_seconds,
           w->alone_seconds, w->together_seconds / w->alone_seconds, w->report.bytes, copy,
           s->repeat);
    bench_machine(stdout, cmg_context_threads(w->ctx));
    print_counts("iterations", w->together, s->columns);
    print_counts("single_iterations", w->alone, s->columns);
    printf("}\n");
}

int main(int argc, char **argv)
{
    settings s = {.dim = 3, .cells = 64, .columns = 8, .repeat = 5, .distort = 0.4};
    work w = {.report = {.size = sizeof w.report}};
    cmg_context_options_default(&s.context);
    cmg_solver_options_default(&s.solver);
    for (int a = 1; a < argc; a += 2) {
        if (a + 1 == argc || !set_option(&s, argv[a], argv[a + 1])) {
            (void)fprintf(stderr, "columns: option %s is unknown or its value is wrong\n", argv[a]);
            return 1;
        }
    }
    if (s.repeat < 1 || s.columns < 1 || s.columns > CMG_COLUMNS || (s.dim != 2 && s.dim != 3) ||
        cmg_context_create(&s.context, &w.ctx) != CMG_OK) {
        (void)fprintf(stderr, "columns: no context, or an option is out of range\n");
        return 4;
    }
    cmg_status status = s.distort > 0 ? q1_distorted(w.ctx, s.dim, s.cells, s.distort, &w.h)
                                      : q1_hierarchy(w.ctx, s.dim, s.cells, &w.h);
    status = status == CMG_OK ? cmg_solver_create(w.h, &s.solver, &w.solver) : status;
    status = status == CMG_OK ? make_vectors(&s, &w) : status;
    status = status == CMG_OK ? measure(&s, &w) : status;
    if (status != CMG_OK) {
        (void)fprintf(stderr, "columns: %s: %s\n", cmg_status_name(status),
                      cmg_context_message(w.ctx));
        return 4;
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
