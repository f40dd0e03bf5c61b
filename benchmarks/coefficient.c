/*
 * From a new coefficient to a solution, nothing leaving the backend: an implicit step of the heat
 * equation on the unit cube, hexahedra of first order, one number a cell. Each repeat averages the
 * coefficient over children for the coarser levels, computes the cell matrices, sums them up into
 * the values of all level matrices (with --galerkin 1 of the finest alone: the others are R A P),
 * renews hierarchy and solver, and solves. Beside the parts, timed apart, the whole in one go, and
 * floors: bytes that a part has to move over the measured copy bandwidth.
 *
 *   coefficient [--cells N] [--distort D] [--backend cpu|cuda] [--threads N] [--repeat N]
 *               [--galerkin 0|1] [--shift S] [--options TEXT]
 *
 * Two coefficients take turns, whose waves are S radians apart: with 1 numbers change by up to 2.5
 * times, with 0.1 by 12 %.
 * Verified before it is timed: with the coefficient 1 all values are those of the generator, which
 * assembles by rows. And after: a solver made anew takes as many iterations. One JSON line.
 */
#include "bench.h"
#include "q1.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEVELS = 16, STATES = 2, PARTS = 5 };
static const char *const part_names[PARTS] = {"average", "cells", "sum", "refresh", "solve"};

typedef struct settings {
    bench_problem p;
    const char *text; /* options of the solver */
    bool galerkin;
    double shift;
} settings;

typedef struct level {
    int cells; /* a side */
    cmg_fem_sum *sum;
    cmg_matrix *average; /* from the cells of the next finer level; NULL on level 0 */
    cmg_vector *k[STATES];
    cmg_vector *e;
    cmg_vector *values;   /* of A, in CSR order: the hierarchy's own */
    cmg_vector *array[3]; /* of P */
    cmg_csr A;            /* in the backend's memory */
    cmg_csr P;
} level;

typedef struct bench {
    cmg_context *ctx;
    const settings *s;
    cmg_fem_form form;
    int levels;
    int assembled; /* levels that are */
    level level[LEVELS];
    cmg_hierarchy *h;
    cmg_solver *solver;
    cmg_vector *b;
    cmg_vector *x;
    double floor_bytes[PARTS];
    double part[PARTS]; /* seconds, least of all repeats */
    double whole;
    double setup; /* of the sums */
    double error; /* of the values for k = 1, over the largest */
    int iterations;
    int fresh_iterations;
    double residual;
} bench;

static cmg_status make_sum(bench *b, const cmg_hierarchy *from, int l)
{
    level *v = &b->level[l];
    const cmg_size n = v->cells;
    cmg_fem_mesh mesh = {.element = CMG_ELEMENT_Q1,
                         .dim = 3,
                         .nodes = (n + 1) * (n + 1) * (n + 1),
                         .cells = n * n * n};
    cmg_index *nodes = malloc((size_t)(mesh.cells * 8) * sizeof *nodes);
    cmg_size rows = 0;
    if (nodes == NULL) {
        return CMG_ERR_MEMORY;
    }
    q1_corners(n, nodes);
    mesh.cell_nodes = nodes;
    cmg_status status = cmg_hierarchy_get_vector(from, l, "coords", NULL, &rows, &mesh.x);
    const double begin = bench_seconds();
    status = THEN(status, cmg_fem_sum_create(b->ctx, &mesh, 1, true, NULL, &v->sum));
    b->setup += bench_seconds() - begin;
    free(nodes);
    return status;
}

/* The mean over the eight children of each cell of level l. */
static cmg_status make_average(bench *b, int l)
{
    level *v = &b->level[l];
    const cmg_size n = v->cells;
    const cmg_size rows = n * n * n;
    cmg_size *indptr = malloc((size_t)(rows + 1) * sizeof *indptr);
    cmg_index *indices = malloc((size_t)(rows * 8) * sizeof *indices);
    double *values = malloc((size_t)(rows * 8) * sizeof *values);
    cmg_status status = CMG_ERR_MEMORY;
    if (indptr != NULL && indices != NULL && values != NULL) {
        for (cmg_size c = 0; c <= rows; ++c) {
            indptr[c] = 8 * c;
        }
        for (cmg_size i = 0; i < 8 * rows; ++i) {
            const cmg_size c = i / 8;
            const cmg_size t = i % 8;
            indices[i] = (cmg_index)(2 * (c % n) + (t & 1) +
                                     2 * n *
                                         (2 * (c / n % n) + (t >> 1 & 1) +
                                          2 * n * (2 * (c / (n * n)) + (t >> 2))));
            values[i] = 0.125;
        }
        const cmg_csr csr = {rows, 8 * rows, indptr, indices, values};
        status = cmg_matrix_create_csr(b->ctx, &csr, NULL, &v->average);
    }
    free(indptr);
    free(indices);
    free(values);
    return status;
}

/* Two smooth coefficients between 1/e and e on the cells of level 0. */
static cmg_status make_coefficients(bench *b)
{
    const double pi = acos(-1);
    const cmg_size n = b->level[0].cells;
    const cmg_size cells = n * n * n;
    double *k = malloc((size_t)cells * sizeof *k);
    cmg_status status = k == NULL ? CMG_ERR_MEMORY : CMG_OK;
    for (int state = 0; state < STATES && status == CMG_OK; ++state) {
        double wave[3][4096];
        for (int d = 0; d < 3; ++d) {
            for (cmg_size i = 0; i < n; ++i) {
                wave[d][i] =
                    sin(2 * pi * ((double)i + 0.5) / (double)n + 0.5 + d + b->s->shift * state);
            }
        }
        for (cmg_size c = 0; c < cells; ++c) {
            k[c] = exp(wave[0][c % n] * wave[1][c / n % n] * wave[2][c / (n * n)]);
        }
        status = cmg_vector_set(b->level[0].k[state], k);
    }
    free(k);
    return status;
}

/* Distance of the values from the generator's, over its largest. */
static cmg_status verify(bench *b, const cmg_hierarchy *from, int l)
{
    const level *v = &b->level[l];
    cmg_csr A;
    cmg_status status = cmg_fem_sum_cells(v->sum, &b->form, NULL, v->e);
    status = THEN(status, cmg_fem_sum_matrix(v->sum, v->e, v->values));
    status = THEN(status, cmg_hierarchy_get_csr(from, l, CMG_ROLE_A, NULL, 0, &A));
    const cmg_size nnz = cmg_vector_length(v->values);
    if (status != CMG_OK || A.indptr[A.rows] != nnz) {
        return status != CMG_OK ? status : CMG_ERR_SHAPE;
    }
    double *values = malloc((size_t)nnz * sizeof *values);
    status = values == NULL ? CMG_ERR_MEMORY : cmg_vector_get(v->values, values);
    double largest = 0;
    double error = 0;
    const cmg_index *column = cmg_fem_sum_csr(v->sum).indices;
    for (cmg_size i = 0; i < nnz && status == CMG_OK; ++i) {
        largest = fmax(largest, fabs(A.values[i]));
        error = fmax(error, column[i] != A.indices[i] ? INFINITY : fabs(values[i] - A.values[i]));
    }
    b->error = fmax(b->error, error / largest);
    free(values);
    return status;
}

static cmg_status make_level(bench *b, const cmg_hierarchy *from, int l)
{
    level *v = &b->level[l];
    v->cells = b->s->p.cells >> l;
    const cmg_size cells = (cmg_size)v->cells * v->cells * v->cells;
    cmg_status status = make_sum(b, from, l);
    if (status != CMG_OK) {
        return status;
    }
    cmg_size nnz = 0;
    v->A = cmg_fem_sum_pattern(v->sum, &nnz);
    const cmg_size numbers = cells * cmg_fem_sum_entries(v->sum);
    for (int k = 0; k < STATES && status == CMG_OK; ++k) {
        status = cmg_vector_create(b->ctx, cells, CMG_FP64, &v->k[k]);
    }
    status = THEN(status, cmg_vector_create(b->ctx, numbers, CMG_FP64, &v->e));
    status = THEN(status, cmg_vector_create(b->ctx, nnz, CMG_FP64, &v->values));
    v->A.values = cmg_vector_data(v->values);
    status = status || l == 0 ? status : make_average(b, l);
    const double terms = (double)cells * 64;
    b->floor_bytes[0] += l > 0 ? 9.0 * (double)cells * sizeof(double) : 0;
    b->floor_bytes[1] += 8.0 * (double)(numbers + cells + 3 * v->A.rows) + 32.0 * (double)cells;
    b->floor_bytes[2] += 4 * terms + 2 * (double)nnz + 8 * (double)(numbers + nnz);
    b->floor_bytes[3] += 8 * (double)nnz;
    return status ? status : verify(b, from, l);
}

/* Part of the way from coefficient `state`: averages, cell matrices, sums, refresh, solve. */
static cmg_status part(bench *b, int which, int state, cmg_report *report)
{
    cmg_status status = CMG_OK;
    for (int l = 0; l < b->assembled && which < 4 && status == CMG_OK; ++l) {
        level *v = &b->level[l];
        if (which == 0 && l > 0) {
            status = cmg_matrix_apply(v->average, b->level[l - 1].k[state], v->k[state]);
        } else if (which == 1) {
            status = cmg_fem_sum_cells(v->sum, &b->form, v->k[state], v->e);
        } else if (which == 2) {
            status = cmg_fem_sum_matrix(v->sum, v->e, v->values);
        } else if (which == 3) {
            status = cmg_hierarchy_update(b->h, l, CMG_ROLE_A, cmg_vector_data(v->values));
        }
    }
    if (which == 3) {
        return status ? status : cmg_solver_refresh(b->solver);
    }
    status = status || which < 4 ? status : cmg_vector_fill(b->x, 0);
    return status || which < 4 ? status : cmg_solver_solve(b->solver, b->b, b->x, report);
}

static cmg_status make(bench *b)
{
    cmg_generate_options o;
    cmg_hierarchy *from = NULL;
    cmg_generate_options_default(&o);
    o.dim = 3;
    o.cells = b->s->p.cells;
    o.distort = b->s->p.distort;
    o.problem = CMG_PROBLEM_HEAT;
    o.time_step = b->form.time_step;
    o.boundary = CMG_BOUNDARY_NEUMANN;
    o.output_mesh = false;
    for (o.levels = 1; (o.cells >> o.levels) << o.levels == o.cells && o.cells >> o.levels >= 2;) {
        ++o.levels;
    }
    cmg_status status = cmg_hierarchy_generate(b->ctx, &o, &from);
    b->levels = o.levels;
    b->assembled = b->s->galerkin ? 1 : o.levels;
    status = THEN(status, cmg_hierarchy_create(b->ctx, b->levels, &b->h));
    for (int l = 0; l < b->levels && status == CMG_OK; ++l) {
        level *v = &b->level[l];
        cmg_csr P;
        status = l < b->assembled ? make_level(b, from, l) : CMG_OK;
        if (l + 1 < b->levels && status == CMG_OK) {
            status = cmg_hierarchy_get_csr(from, l, CMG_ROLE_P, NULL, 0, &P);
            status = THEN(status, bench_csr(b->ctx, &P, v->array, &v->P));
            status = THEN(status, cmg_hierarchy_wrap_csr(b->h, l, CMG_ROLE_P, NULL, 0, &v->P));
        }
    }
    cmg_hierarchy_destroy(&from);
    status = THEN(status, make_coefficients(b));
    for (int which = 0; which < 3 && status == CMG_OK; ++which) {
        status = part(b, which, 0, NULL);
    }
    for (int l = 0; l < b->assembled && status == CMG_OK; ++l) {
        status = cmg_hierarchy_wrap_csr(b->h, l, CMG_ROLE_A, NULL, 0, &b->level[l].A);
    }
    status = THEN(status, cmg_solver_create(b->h, &b->s->p.solver, &b->solver));
    return THEN(status, bench_vectors(b->ctx, b->level[0].A.rows, &b->b, &b->x));
}

static void keep_least(double *least, double seconds)
{
    *least = *least == 0 || seconds < *least ? seconds : *least;
}

/* The parts apart, with the backend idle between them, then all in one go. */
static cmg_status measure(bench *b)
{
    cmg_report report;
    cmg_status status = CMG_OK;
    cmg_report_default(&report);
    for (int k = 0; k < 2 * b->s->p.repeat + 1 && status == CMG_OK; ++k) {
        const bool apart = k % 2 == 0;
        const double begin = bench_seconds();
        for (int which = 0; which < PARTS && status == CMG_OK; ++which) {
            const double start = bench_seconds();
            status = part(b, which, k % STATES, &report);
            status = status || !apart ? status : cmg_context_synchronize(b->ctx);
            if (apart && k > 0) {
                keep_least(&b->part[which], bench_seconds() - start);
            }
        }
        status = THEN(status, cmg_context_synchronize(b->ctx));
        if (!apart) {
            keep_least(&b->whole, bench_seconds() - begin);
        }
        if (status == CMG_OK && !cmg_outcome_converged(report.outcome)) {
            (void)fprintf(stderr, "coefficient: the solve did not converge\n");
            return CMG_ERR_STATE;
        }
    }
    b->iterations = report.iterations;
    b->residual = report.relative_residual;
    b->floor_bytes[4] = report.bytes;
    return status;
}

/* A solver made anew from the values at the end. */
static cmg_status solve_fresh(bench *b)
{
    cmg_solver *fresh = NULL;
    cmg_report report;
    cmg_report_default(&report);
    cmg_status status = cmg_solver_create(b->h, &b->s->p.solver, &fresh);
    status = THEN(status, cmg_vector_fill(b->x, 0));
    status = THEN(status, cmg_solver_solve(fresh, b->b, b->x, &report));
    b->fresh_iterations = report.iterations;
    cmg_solver_destroy(&fresh);
    return status;
}

static void print_line(const bench *b)
{
    double copy = 0;
    double floor = 0;
    size_t peak[2] = {0};
    cmg_context_memory(b->ctx, NULL, peak); /* the copies below need buffers */
    (void)cmg_context_bandwidth(b->ctx, &copy);
    printf(
        "{\"benchmark\": \"coefficient\", \"problem\": \"heat-q1-3d-%d\", \"distort\": %g, "
        "\"shift\": %g, \"time_step\": %g, \"unknowns\": %lld, \"levels\": %d, \"galerkin\": %s, "
        "\"backend\": \"%s\", \"options\": \"%s\", ",
        b->s->p.cells, b->s->p.distort, b->s->shift, b->form.time_step,
        (long long)b->level[0].A.rows, b->levels, b->s->galerkin ? "true" : "false",
        cmg_enum_name("backend", (int)b->s->p.context.backend), b->s->text);
    for (int p = 0; p < PARTS; ++p) {
        const double least = b->floor_bytes[p] / (copy * 1e9);
        printf("\"%s_seconds\": %.5g, \"%s_floor_seconds\": %.5g, ", part_names[p], b->part[p],
               part_names[p], least);
        floor += least;
    }
    printf("\"whole_seconds\": %.5g, \"floor_seconds\": %.5g, \"sum_setup_seconds\": %.4g, "
           "\"iterations\": %d, \"fresh_iterations\": %d, \"relative_residual\": %.3g, "
           "\"value_error\": %.3g, \"copy_gb_per_second\": %.1f, \"peak_device_bytes\": %zu, "
           "\"repeats\": %d, ",
           b->whole, floor, b->setup, b->iterations, b->fresh_iterations, b->residual, b->error,
           copy, peak[1], b->s->p.repeat);
    bench_machine(stdout, cmg_context_threads(b->ctx));
    printf("}\n");
}

static void drop(bench *b)
{
    cmg_solver_destroy(&b->solver);
    cmg_hierarchy_destroy(&b->h);
    cmg_vector_destroy(&b->b);
    cmg_vector_destroy(&b->x);
    for (int l = 0; l < b->levels; ++l) {
        level *v = &b->level[l];
        cmg_matrix_destroy(&v->average);
        cmg_vector_destroy(&v->e);
        cmg_vector_destroy(&v->values);
        for (int k = 0; k < STATES; ++k) {
            cmg_vector_destroy(&v->k[k]);
        }
        for (int a = 0; a < 3; ++a) {
            cmg_vector_destroy(&v->array[a]);
        }
        cmg_fem_sum_destroy(&v->sum);
    }
    cmg_context_destroy(&b->ctx);
}

int main(int argc, char **argv)
{
    settings s = {
        .p = {.dim = 3, .cells = 128, .repeat = 5}, .text = "precision=mixed", .shift = 1};
    bench b = {.s = &s, .form = {.problem = CMG_PROBLEM_HEAT, .time_step = 1}};
    const bench_option own[] = {{"--galerkin", BENCH_FLAG, &s.galerkin},
                                {"--shift", BENCH_REAL, &s.shift},
                                {"--options", BENCH_TEXT, &s.text},
                                {0}};
    if (!bench_parse("coefficient", argc, argv, &s.p, own) || s.p.cells > 1024 ||
        cmg_solver_options_set(&s.p.solver, s.text) != CMG_OK) {
        return 1;
    }
    s.p.solver.matrix.keep_map = true;
    cmg_status status = cmg_context_create(&s.p.context, &b.ctx);
    status = THEN(status, make(&b));
    if (status == CMG_OK && !(b.error <= 1e-12)) {
        (void)fprintf(stderr, "coefficient: values are %.3g off the generator's\n", b.error);
        status = CMG_ERR_INTERNAL;
    }
    status = THEN(status, measure(&b));
    status = THEN(status, solve_fresh(&b));
    if (status != CMG_OK) {
        (void)bench_failed("coefficient", b.ctx, status);
    } else {
        print_line(&b);
    }
    const bool same = b.iterations == b.fresh_iterations;
    drop(&b);
    return status != CMG_OK ? 4 : same ? 0 : 3;
}
