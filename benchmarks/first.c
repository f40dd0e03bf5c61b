/*
 * Time to the first solution, and to each further one when values change: Q1 Poisson generated in
 * memory. In one run the set-up from a CSR on the backend (its check apart), the set-up from a CSR
 * on the host, a solve, and new values of all level matrices from the backend's memory (hierarchy
 * and solver), all of which differ from those before. Beside them the floors: the bytes of the
 * matrices, read once, over the measured copy bandwidth. Both set-ups and the new values have to
 * take the same iterations to a true relative residual of 1e-8. Values in 16 or 8 bits do not take
 * new ones. One JSON line.
 *
 *   first [--dim 2|3] [--cells N] [--distort D] [--backend cpu|cuda] [--threads N] [--repeat N]
 *         [--options TEXT] [--matrix 1] [--element q1|p1|q2|p2]
 *         [--dirichlet eliminate|identity|identity-keep] [--whole 1]
 *
 * With --matrix 1 the finest matrix is all that there is: levels are algebraic. Elements but Q1
 * have levels down to 16 cells a side.
 * With --whole 1 the transfer of identity rows has entries at fixed nodes.
 */
#include "bench.h"
#include "q1.h"

#include <cmg.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEVELS = 64, ROLES = 2, ARRAYS = LEVELS * ROLES * 3 };
static const cmg_role roles[ROLES] = {CMG_ROLE_A, CMG_ROLE_P};

typedef struct settings {
    bench_problem p;
    const char *text; /* options of the solver */
    bool matrix;      /* A alone */
    int element;      /* cmg_element */
    int boundary;     /* cmg_boundary */
    bool whole;
} settings;

/* Level matrices in the backend's memory; the arrays are the data of vectors. */
typedef struct copies {
    cmg_csr csr[LEVELS][ROLES];
    cmg_vector *array[ARRAYS];
    cmg_vector *values[LEVELS]; /* of the A among them */
    int arrays;
    double bytes;       /* of all matrices */
    double value_bytes; /* of the values of all A */
} copies;

typedef struct result {
    double check; /* seconds, least of all repeats */
    double setup;
    double first;    /* the first set-up of the process, its check included */
    double solution; /* check, set-up and the first solve, which records what others replay */
    double host;
    double solve;
    double refresh; /* new values of all A, and the solver after them */
    int iterations;
    int host_iterations;
    int refresh_iterations;
    double residual;
    double part[CMG_SETUP_PARTS];
    double host_part[CMG_SETUP_PARTS];
    size_t device_peak; /* beyond the input, of the set-up from the backend's memory */
    size_t host_peak;
} result;

static cmg_status copy_matrices(cmg_context *ctx, const cmg_hierarchy *h, copies *c)
{
    cmg_status status = CMG_OK;
    for (int l = 0; l < cmg_hierarchy_levels(h); ++l) {
        for (int r = 0; r < ROLES - (l + 1 == cmg_hierarchy_levels(h)); ++r) {
            cmg_csr A = {0};
            status = THEN(status, cmg_hierarchy_get_csr(h, l, roles[r], NULL, 0, &A));
            status = THEN(status, bench_csr(ctx, &A, &c->array[c->arrays], &c->csr[l][r]));
            if (status != CMG_OK) {
                return status;
            }
            const double nnz = (double)A.indptr[A.rows];
            c->arrays += 3;
            c->bytes += (double)(A.rows + 1) * sizeof *A.indptr +
                        nnz * (sizeof *A.indices + sizeof *A.values);
            c->values[l] = r == 0 ? c->array[c->arrays - 1] : c->values[l];
            c->value_bytes += r == 0 ? nnz * sizeof *A.values : 0;
        }
    }
    return CMG_OK;
}

static cmg_status wrap(cmg_context *ctx, const copies *c, int levels, cmg_hierarchy **h)
{
    cmg_status status = cmg_hierarchy_create(ctx, levels, h);
    for (int l = 0; l < levels; ++l) {
        for (int r = 0; status == CMG_OK && r < ROLES - (l + 1 == levels); ++r) {
            status = cmg_hierarchy_wrap_csr(*h, l, roles[r], NULL, 0, &c->csr[l][r]);
        }
    }
    return status;
}

static void keep_least(double *least, double seconds)
{
    *least = *least == 0 || seconds < *least ? seconds : *least;
}

/* A solve of b = 1, and where its seconds of set-up went. */
static cmg_status solve(cmg_context *ctx, cmg_solver *s, cmg_size n, double *seconds,
                        int *iterations, double *residual, double part[CMG_SETUP_PARTS])
{
    cmg_vector *b = NULL;
    cmg_vector *x = NULL;
    cmg_report report;
    cmg_report_default(&report);
    cmg_status status = bench_vectors(ctx, n, &b, &x);
    for (int k = 0; status == CMG_OK && k < 3; ++k) {
        status = cmg_solver_solve_from_zero(s, b, x, &report);
        keep_least(seconds, report.solve_seconds);
    }
    if (status == CMG_OK && !cmg_outcome_converged(report.outcome)) {
        (void)fprintf(stderr, "first: the solve did not converge\n");
        status = CMG_ERR_STATE;
    }
    *iterations = report.iterations;
    *residual = report.relative_residual;
    memcpy(part, report.setup_part, CMG_SETUP_PARTS * sizeof *part);
    cmg_vector_destroy(&b);
    cmg_vector_destroy(&x);
    return status;
}

static cmg_status from_backend(cmg_context *ctx, const settings *s, const copies *c, int levels,
                               result *r)
{
    cmg_vector *b = NULL;
    cmg_vector *x = NULL;
    size_t before[2];
    size_t peak[2];
    cmg_status status = bench_vectors(ctx, c->csr[0][0].rows, &b, &x);
    for (int k = 0; status == CMG_OK && k < s->p.repeat; ++k) {
        cmg_hierarchy *h = NULL;
        cmg_solver *solver = NULL;
        cmg_context_memory(ctx, before, NULL);
        const double begin = bench_seconds();
        status = wrap(ctx, c, levels, &h);
        const double wrapped = bench_seconds();
        status = THEN(status, cmg_solver_create(h, &s->p.solver, &solver));
        const double made = bench_seconds();
        r->first = k == 0 ? made - begin : r->first;
        keep_least(&r->check, wrapped - begin);
        keep_least(&r->setup, made - wrapped);
        cmg_context_memory(ctx, NULL, peak);
        r->device_peak = peak[1] - before[1];
        r->host_peak = peak[0] > before[0] ? peak[0] - before[0] : 0;
        status = THEN(status, cmg_solver_solve_from_zero(solver, b, x, NULL));
        keep_least(&r->solution, bench_seconds() - begin);
        if (status == CMG_OK && k + 1 == s->p.repeat) {
            status = solve(ctx, solver, cmg_hierarchy_rows(h, 0), &r->solve, &r->iterations,
                           &r->residual, r->part);
        }
        cmg_solver_destroy(&solver);
        cmg_hierarchy_destroy(&h);
    }
    cmg_vector_destroy(&b);
    cmg_vector_destroy(&x);
    return status;
}

static cmg_status refresh(cmg_context *ctx, const settings *s, const copies *c, int levels,
                          result *r)
{
    cmg_hierarchy *h = NULL;
    cmg_solver *solver = NULL;
    cmg_solver_options o = s->p.solver;
    o.matrix.keep_map = true;
    cmg_status status = wrap(ctx, c, levels, &h);
    status = THEN(status, cmg_solver_create(h, &o, &solver));
    for (int k = 0; status == CMG_OK && k < s->p.repeat; ++k) {
        for (int l = 0; status == CMG_OK && l < levels; ++l) { /* every value is another one */
            status = cmg_vector_axpby(0.1, c->values[l], 1, c->values[l]);
        }
        status = THEN(status, cmg_context_synchronize(ctx));
        const double begin = bench_seconds();
        for (int l = 0; status == CMG_OK && l < levels; ++l) {
            status = cmg_hierarchy_update(h, l, CMG_ROLE_A, c->csr[l][0].values);
        }
        status = THEN(status, cmg_solver_refresh(solver));
        status = THEN(status, cmg_context_synchronize(ctx));
        keep_least(&r->refresh, bench_seconds() - begin);
    }
    if (status == CMG_OK) {
        double seconds = 0;
        double residual = 0;
        double part[CMG_SETUP_PARTS];
        status = solve(ctx, solver, cmg_hierarchy_rows(h, 0), &seconds, &r->refresh_iterations,
                       &residual, part);
    }
    cmg_solver_destroy(&solver);
    cmg_hierarchy_destroy(&h);
    return status;
}

static cmg_status from_host(cmg_context *ctx, const settings *s, cmg_hierarchy *h, result *r)
{
    cmg_status status = CMG_OK;
    for (int k = 0; status == CMG_OK && k < s->p.repeat; ++k) {
        cmg_solver *solver = NULL;
        double seconds = 0;
        double residual = 0;
        const double begin = bench_seconds();
        status = cmg_solver_create(h, &s->p.solver, &solver);
        keep_least(&r->host, bench_seconds() - begin);
        if (status == CMG_OK && k == 0) {
            status = solve(ctx, solver, cmg_hierarchy_rows(h, 0), &seconds, &r->host_iterations,
                           &residual, r->host_part);
        }
        cmg_solver_destroy(&solver);
    }
    return status;
}

static void print_line(const settings *s, cmg_context *ctx, cmg_size n, const copies *c,
                       const result *r)
{
    double copy = 0;
    (void)cmg_context_bandwidth(ctx, &copy);
    printf("{\"benchmark\": \"first\", \"problem\": \"%s-%dd-%d\", \"distort\": %g, \"unknowns\": "
           "%lld, \"matrix_alone\": %s, \"dirichlet\": \"%s\", \"whole_transfer\": %s, "
           "\"backend\": \"%s\", \"options\": \"%s\", ",
           cmg_fem_enum_name("element", s->element), s->p.dim, s->p.cells, s->p.distort,
           (long long)n, s->matrix ? "true" : "false", cmg_fem_enum_name("boundary", s->boundary),
           s->whole ? "true" : "false", cmg_enum_name("backend", (int)s->p.context.backend),
           s->text);
    printf("\"check_seconds\": %.5g, \"setup_seconds\": %.5g, \"first_setup_seconds\": %.5g, "
           "\"solve_seconds\": %.5g, \"first_solution_seconds\": %.5g, "
           "\"host_setup_seconds\": %.5g, \"refresh_seconds\": %.5g, \"iterations\": %d, "
           "\"host_iterations\": %d, \"refresh_iterations\": %d, \"relative_residual\": %.3g, ",
           r->check, r->setup, r->first, r->solve, r->solution, r->host, r->refresh, r->iterations,
           r->host_iterations, r->refresh_iterations, r->residual);
    bench_print_parts("setup", r->part);
    bench_print_parts("host_setup", r->host_part);
    printf("\"copy_gb_per_second\": %.1f, \"input_bytes\": %.0f, \"pass_seconds\": %.5g, "
           "\"values_pass_seconds\": %.5g, \"setup_device_bytes\": %zu, \"setup_host_bytes\": %zu, "
           "\"repeats\": %d, ",
           copy, c->bytes, c->bytes / (copy * 1e9), c->value_bytes / (copy * 1e9), r->device_peak,
           r->host_peak, s->p.repeat);
    bench_machine(stdout, cmg_context_threads(ctx));
    printf("}\n");
}

static cmg_status measure(cmg_context *ctx, const settings *s, copies *c, result *r, cmg_size *n)
{
    cmg_hierarchy *h = NULL;
    const cmg_element element = (cmg_element)s->element;
    cmg_status status =
        s->matrix || s->element != CMG_ELEMENT_Q1 ? q1_element(ctx, &s->p, element, s->matrix, &h)
        : s->boundary ? q1_bounded(ctx, &s->p, (cmg_boundary)s->boundary, s->whole, &h)
                      : q1_problem(ctx, &s->p, &h);
    *n = cmg_hierarchy_rows(h, 0);
    const int levels = cmg_hierarchy_levels(h);
    status = THEN(status, copy_matrices(ctx, h, c));
    status = THEN(status, from_backend(ctx, s, c, levels, r));
    if (status == CMG_OK && s->p.solver.matrix.values == CMG_VALUES_FULL) {
        status = refresh(ctx, s, c, levels, r);
    } else {
        r->refresh_iterations = r->iterations;
    }
    status = THEN(status, from_host(ctx, s, h, r));
    cmg_hierarchy_destroy(&h);
    return status;
}

int main(int argc, char **argv)
{
    settings s = {.p = {.dim = 3, .cells = 128, .repeat = 5},
                  .text = "format=compressed precision=mixed"};
    const char *dirichlet = cmg_fem_enum_name("boundary", 0);
    const char *element = cmg_fem_enum_name("element", 0);
    const bench_option own[] = {
        {"--matrix", BENCH_FLAG, &s.matrix}, {"--whole", BENCH_FLAG, &s.whole},
        {"--options", BENCH_TEXT, &s.text},  {"--dirichlet", BENCH_TEXT, &dirichlet},
        {"--element", BENCH_TEXT, &element}, {0}};
    if (!bench_parse("first", argc, argv, &s.p, own) ||
        cmg_solver_options_set(&s.p.solver, s.text) != CMG_OK ||
        cmg_fem_enum_parse("boundary", dirichlet, &s.boundary) != CMG_OK ||
        cmg_fem_enum_parse("element", element, &s.element) != CMG_OK) {
        return 1;
    }
    cmg_context *ctx = NULL;
    copies c = {.arrays = 0};
    result r = {.iterations = 0};
    cmg_size n = 0;
    cmg_status status = cmg_context_create(&s.p.context, &ctx);
    status = THEN(status, measure(ctx, &s, &c, &r, &n));
    if (status != CMG_OK) {
        (void)bench_failed("first", ctx, status);
    } else {
        print_line(&s, ctx, n, &c, &r);
    }
    for (int a = 0; a < c.arrays; ++a) {
        cmg_vector_destroy(&c.array[a]);
    }
    cmg_context_destroy(&ctx);
    return status != CMG_OK                                                            ? 4
           : r.iterations == r.host_iterations && r.iterations == r.refresh_iterations ? 0
                                                                                       : 3;
}
