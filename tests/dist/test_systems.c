/*
 * Systems of several unknowns a node and what else changes the levels: several ranks take the steps
 * of one, and x solves the system in the test's own arithmetic.
 */
#include "ranks.h"
#include "generated.h"

/* || b - A x || / || b || in long double. */
static double residual(const cmg_csr *A, const double *b, const double *x)
{
    long double rr = 0;
    long double bb = 0;
    for (cmg_size i = 0; i < A->rows; ++i) {
        long double r = b[i];
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            r -= (long double)A->values[k] * x[A->indices[k]];
        }
        rr += r * r;
        bb += (long double)b[i] * b[i];
    }
    return (double)sqrtl(rr / bb);
}

/* Iterations of one rank, which those of 2, 3 and 4 are, with parts of all kinds. */
static int same_counts(cmg_hierarchy *h, const double *b, const char *options)
{
    const cmg_csr A = h->level[0].A.view;
    scoped_trial one = trial_of(h, b, options);
    CHECK_OK(solve_own(h, &one, 0, A.rows, true));
    CHECK(cmg_outcome_converged(one.report.outcome));
    for (int ranks = 2; ranks <= 4; ++ranks) {
        scoped_trial many = trial_of(h, b, options);
        divide(h, ranks, ranks == 2 ? EVEN : ranks == 3 ? LAST : RANDOM);
        run_ranks(ranks, 60, solve_rank, &many, CMG_OK, "");
        CHECK(many.report.iterations == one.report.iterations);
        CHECK(residual(&A, b, many.x) <= 1.01e-8);
        if (many.report.iterations != one.report.iterations) {
            printf("  %lld rows, %s: %d iterations, on %d ranks %d\n%s--\n%s", (long long)A.rows,
                   options, one.report.iterations, ranks, many.report.iterations, one.notes,
                   many.notes);
        }
    }
    return one.report.iterations;
}

static int same_as_one(const char *problem, const char *options)
{
    scoped_hierarchy *h = generated("%s", problem);
    const cmg_size n = cmg_hierarchy_rows(h, 0);
    scoped double *b = malloc((size_t)n * sizeof *b);
    FILL(b, i, n, cmgi_random_at(3, (uint64_t)i) - 0.5);
    return same_counts(h, b, options);
}

/* A coarsest level that gets algebraic ones from block size and coordinates. */
TEST(elasticity)
{
    CHECK(same_as_one("shape=annulus element=p2 levels=2 cells=16 problem=elasticity", "") <= 20);
    CHECK(same_as_one("shape=beam dim=3 cells=8 levels=2 problem=elasticity", "") <= 25);
    CHECK(same_as_one("shape=beam cells=64 levels=2 problem=elasticity", "gather=0") <= 20);
}

TEST(without_coordinates)
{
    /* in fp32 one rank meets a mode of the body twice, and takes 6 iterations more */
    (void)same_as_one("shape=beam cells=48 levels=2 problem=elasticity no-coords",
                      "precision=fp64");
}

TEST(other_systems)
{
    (void)same_as_one("cells=64 levels=2 coefficient=jump contrast=1e3", "");
    (void)same_as_one("cells=64 levels=2 problem=convection", "");
    (void)same_as_one("element=q2 cells=32 levels=2", "");
    (void)same_as_one("cells=64 levels=2 dirichlet=identity", "");
}

/* Factors in place of levels below the coarsest, and of its dense inverse. */
TEST(factors)
{
    (void)same_as_one("cells=80 levels=3", "");
    (void)same_as_one("cells=120 levels=3", "");
}

/* Rigid body modes of the nodes of a matrix alone, given as vectors. */
static void give_modes(cmg_hierarchy *h, cmg_size nodes, const double *x)
{
    scoped double *B = calloc((size_t)nodes * 2 * 3, sizeof *B);
    for (cmg_size i = 0; i < nodes; ++i) {
        B[6 * i] = 1;
        B[6 * i + 4] = 1;
        B[6 * i + 2] = -x[2 * i + 1];
        B[6 * i + 5] = x[2 * i];
    }
    CHECK_OK(cmg_hierarchy_set_vector(h, 0, "nullspace", NULL, nodes * 6, B));
}

TEST(a_matrix_alone)
{
    scoped_hierarchy *h = generated("shape=beam cells=24 levels=1 problem=elasticity");
    const cmg_size n = cmg_hierarchy_rows(h, 0);
    scoped double *b = malloc((size_t)n * sizeof *b);
    cmg_size length = 0;
    FILL(b, i, n, cmgi_random_at(4, (uint64_t)i) - 0.5);
    const int rigid = same_counts(h, b, "coarse-limit=999");
    const double *x = vector_in(h, 0, "coords", NULL, &length);
    CHECK(length == n);
    give_modes(h, n / 2, x);
    const int given = same_counts(h, b, "coarse-limit=999");
    CHECK(abs(rigid - given) <= 1);
}

/* R A P with a 0 on its diagonal is named by its level, not by the first that ranks hold whole. */
TEST(levels_are_numbered_through)
{
    scoped_hierarchy *h = generated("cells=16 levels=2");
    const cmg_csr A = h->level[0].A.view;
    const cmg_csr P = h->level[0].P.view;
    scoped_csr R = csr_new(P.cols, P.rows, P.cols);
    for (cmg_size i = 0; i < P.cols; ++i) { /* each row far from where P is */
        csr_put(&R, i, i < P.cols / 2 ? P.rows - 1 - i : i - P.cols / 2, 1);
    }
    csr_end(&R);
    scoped_hierarchy *bad = hierarchy_new(2);
    CHECK_OK(cmg_hierarchy_set_csr(bad, 0, CMG_ROLE_A, NULL, 0, &A));
    CHECK_OK(cmg_hierarchy_set_csr(bad, 0, CMG_ROLE_P, NULL, 0, &P));
    CHECK_OK(cmg_hierarchy_set_csr(bad, 0, CMG_ROLE_R, NULL, 0, &R.view));
    trial t = {.whole = bad, .options = ""};
    run_ranks(3, 20, solve_rank, &t, CMG_ERR_ARG, "level 1: A: row 0");
}

/* b = A y */
static void in_range(const cmg_csr *A, double *b)
{
    for (cmg_size i = 0; i < A->rows; ++i) {
        long double sum = 0;
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            sum += (long double)A->values[k] * (cmgi_random_at(6, (uint64_t)A->indices[k]) - 0.5);
        }
        b[i] = (double)sum;
    }
}

/* Nothing holds the body: translations and rotations are found on ranks as on one. */
TEST(free_bodies)
{
    static const char *const bodies[] = {
        "cells=32 problem=elasticity dirichlet=neumann distort=0.3",
        "dim=3 cells=8 problem=elasticity dirichlet=neumann shape=beam"};
    for (int k = 0; k < 2; ++k) {
        scoped_hierarchy *h = generated("%s", bodies[k]);
        const cmg_csr A = h->level[0].A.view;
        scoped double *b = malloc((size_t)A.rows * sizeof *b);
        in_range(&A, b);
        CHECK(same_counts(h, b, "") <= 20);
    }
}

enum { WIDE = 16, HIGH = 12, TRUSS = 2 * WIDE * HIGH };

/* Springs between neighbours in a net of nodes that lie anyhow, at x: k n n^T each, n their
 * direction. */
static cmgi_csr make_truss(double *x)
{
    scoped double *dense = calloc((size_t)TRUSS * TRUSS, sizeof *dense);
    FILL(x, i, TRUSS, (i % 2 ? i / 2 / WIDE : i / 2 % WIDE) + 0.6 * cmgi_random_at(8, (uint64_t)i));
    for (int p = 0; p < TRUSS / 2; ++p) {
        for (int q = p + 1; q < TRUSS / 2; ++q) {
            const double n[2] = {x[2 * q] - x[2 * p], x[2 * q + 1] - x[2 * p + 1]};
            const bool near = abs(p % WIDE - q % WIDE) <= 1 && abs(p / WIDE - q / WIDE) <= 1;
            for (int e = 0; e < 4 && near; ++e) {
                const int a = e / 2;
                const int c = e % 2;
                const double k = n[a] * n[c] / (n[0] * n[0] + n[1] * n[1]);
                dense[(2 * p + a) * TRUSS + 2 * p + c] += k;
                dense[(2 * q + a) * TRUSS + 2 * q + c] += k;
                dense[(2 * p + a) * TRUSS + 2 * q + c] -= k;
                dense[(2 * q + a) * TRUSS + 2 * p + c] -= k;
            }
        }
    }
    return csr_of_dense(TRUSS, dense);
}

/* By arrays of the test's own: parts that cut nodes, a row each, all on the last rank. */
TEST(free_trusses)
{
    static const int kinds[] = {EVEN, RANDOM, ONE_ROW, LAST};
    double b[TRUSS];
    double x[TRUSS];
    scoped_csr A = make_truss(x);
    in_range(&A.view, b);
    for (int k = 0; k < 4 * 2; ++k) {
        const bool places = k % 2 == 0;
        const int ranks = k / 2 == 0 ? 5 : 3;
        scoped_hierarchy *h = hierarchy_alone(&A.view);
        CHECK_OK(cmg_hierarchy_set_attribute(h, "block_size", "2"));
        if (places) {
            CHECK_OK(cmg_hierarchy_set_vector(h, 0, "coords", NULL, TRUSS, x));
        }
        divide(h, ranks, kinds[k / 2]);
        scoped_trial many = trial_of(h, b, "");
        run_ranks(ranks, 60, solve_rank, &many, CMG_OK, "");
        CHECK(strstr(many.notes, places ? "null space of 3 vectors" : "null space of 2 vectors") !=
              NULL);
        const double relative = residual(&A.view, b, many.x);
        CHECK_NEAR(many.report.relative_residual, relative, 1e-6 * relative + 1e-14);
        CHECK(!places || relative <= 1.01e-8);
    }
}

/* The rank's rows, with an attribute of its own. */
static cmg_status give_other_facts(void *user, const cmg_transport *transport)
{
    const trial *t = user;
    scoped_context *own = NULL;
    scoped_hierarchy *h = NULL;
    scoped_solver *s = NULL;
    CMGI_TRY(open_rank(transport, &own));
    cmg_status status = cmg_hierarchy_take_rows(own, t->whole, &h);
    if (status == CMG_OK && transport->rank == 1) {
        status = cmg_hierarchy_set_attribute(h, "block_size", "3");
    }
    status = status != CMG_OK ? status : cmg_solver_create(h, NULL, &s);
    return status;
}

TEST(facts_that_differ_are_named)
{
    scoped_hierarchy *h = generated("shape=beam cells=24 levels=1 problem=elasticity");
    trial t = {.whole = h};
    run_ranks(3, 60, give_other_facts, &t, CMG_ERR_ARG, "block_size is 2 on one rank and 3");
}
