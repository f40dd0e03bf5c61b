/*
 * krylov=semi: it solves what CG solves, in about as many cycles; its interval follows new values;
 * where that does not hold CG takes over and the report says so; what it is not for is refused.
 */
#include "solves.h"
#include "generated.h"

typedef struct expected {
    const char *generate;
    const char *solve;
    int more; /* cycles than CG, at most */
} expected;

/* x from a guess of that size; the residual by plain loops is what the report says. */
static cmg_report solved(const cmg_hierarchy *h, cmg_solver *s, const cmg_vector *b, double guess,
                         cmg_vector *x)
{
    CHECK_OK(cmg_vector_fill(x, guess));
    const cmg_report report = solve_with(s, b, x);
    CHECK_NEAR(true_residual(h, b, x), report.relative_residual,
               1e-3 * report.relative_residual + 1e-13);
    return report;
}

TEST(solves_what_cg_solves)
{
    static const expected cases[] = {
        {"cells=64", "", 1},
        {"cells=64 distort=0.4 coefficient=smooth", "", 1},
        {"cells=100 element=p1", "", 1},
        {"cells=32 element=q2", "", 1},
        {"cells=24 dim=3 levels=3", "", 1},
        {"cells=16 dim=3 distort=0.3", "smoother=jacobi", 2},
        {"cells=64", "smoother=spai pre=2 post=2", 1},
        {"cells=64", "smoother=fsai cycle=W", 1},
        {"cells=64 dirichlet=identity-keep", "", 1},
        {"cells=64 dirichlet=identity", "", 1},
        {"cells=32 problem=elasticity", "", 2},
        {"cells=64", "format=k2rs", 1},
        {"cells=64", "collapse=1200", 1},
        {"cells=64 problem=heat", "", 2},
    };
    for (size_t k = 0; k < 2 * sizeof cases / sizeof *cases; ++k) {
        const expected *c = &cases[k / 2];
        const int before = test_failures;
        scoped_hierarchy *h = generated("%s", c->generate);
        const cmg_size n = cmg_hierarchy_rows(h, 0);
        scoped_vector *b = vector_of(n, 3);
        scoped_vector *x = vector_of(n, 4);
        cmg_solver_options o =
            solver_options("krylov=cg precision=%s %s", k % 2 ? "mixed" : "fp64", c->solve);
        const cmg_report cg = solve(h, &o, b, x);
        o.krylov = CMG_KRYLOV_SEMI;
        scoped_solver *s = solver_new(h, &o);
        for (int guess = 0; guess < 2; ++guess) {
            const cmg_report semi = solved(h, s, b, guess, x);
            CHECK(semi.outcome == CMG_CONVERGED_RTOL && semi.krylov == CMG_KRYLOV_SEMI);
            CHECK(semi.fallbacks == 0 && semi.starts == 1);
            CHECK(semi.iterations <= cg.iterations + c->more);
            CHECK_OK(cmg_solver_set_limits(s, 1.0001e-8, -1, 0)); /* the interval stays */
            if (test_failures != before) {
                printf("  %s; %s: %d iterations, cg %d; %.3f .. %.3f; %s\n", c->generate, c->solve,
                       semi.iterations, cg.iterations, s->mg.interval.low, s->mg.interval.high,
                       semi.fallback);
            }
        }
    }
}

/* Exact in one level, b = 0, and an exact guess comes back as it is. */
TEST(the_trivial_stays_trivial)
{
    scoped_hierarchy *h = generated("cells=16 levels=1");
    const cmg_size n = cmg_hierarchy_rows(h, 0);
    scoped_vector *b = vector_of(n, 3);
    scoped_vector *x = vector_of(n, 4);
    scoped_solver *s = solver_with(h, "krylov=semi coarse=inverse");
    cmg_report report = solved(h, s, b, 1, x);
    CHECK(report.outcome == CMG_CONVERGED_RTOL && report.iterations <= 2);
    scoped double *first = values_of(x);
    report = solve_with(s, b, x);
    CHECK(report.iterations == 0);
    scoped double *second = values_of(x);
    CHECK(memcmp(first, second, (size_t)n * sizeof *first) == 0);
    CHECK_OK(cmg_vector_fill(b, 0));
    report = solve_with(s, b, x);
    CHECK(report.outcome == CMG_CONVERGED_ATOL && report.iterations == 0);
    scoped double *zeros = values_of(x);
    CHECK_EACH(i, n, zeros[i] == 0);
}

/* A of level 0 alone times D A D with entries 1 and `jump` by turns of `turn` rows. */
static void jump(cmg_hierarchy *h, double size, int turn)
{
    const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
    scoped double *values = scaled_copy(A.values, A.indptr[A.rows], 1);
    EACH_ENTRY (&A, i, k) {
        values[k] *= (i / turn % 2 ? size : 1) * (A.indices[k] / turn % 2 ? size : 1);
    }
    CHECK_OK(cmg_hierarchy_update(h, 0, CMG_ROLE_A, values));
}

/* After a refresh it is a new solver; before it, values that are no longer those of the cycle are
 * not taken. */
TEST(new_values_bring_a_new_interval)
{
    for (int way = 0; way < 4; ++way) {
        scoped_hierarchy *h = generated("cells=64");
        const cmg_solver_options o =
            solver_options("krylov=semi keep-map smoother=jacobi galerkin=missing precision=%s",
                           way % 2 ? "mixed" : "fp64");
        scoped_vector *b = vector_for(h, 3);
        scoped_vector *x = vector_for(h, 4);
        scoped_vector *y = vector_for(h, 4);
        scoped_solver *s = solver_new(h, &o);
        const cmgi_interval before = s->mg.interval;
        CHECK(solved(h, s, b, 0, x).fallbacks == 0);
        if (way / 2) {
            jump(h, 1.5, 1);
        } else {
            scale(h, 3);
        }
        CHECK_OK(cmg_solver_refresh(s));
        CHECK(way / 2 ? s->mg.interval.low < before.low - 0.01
                      : fabs(s->mg.interval.low - before.low) < 1e-4);
        const cmg_report report = solved(h, s, b, 0, x);
        const cmg_report other = solve(h, &o, b, from_zero(y));
        CHECK(report.outcome == CMG_CONVERGED_RTOL && report.iterations == other.iterations);
        CHECK(report.residual == other.residual && report.krylov == other.krylov);
    }
}

static void take_interval(cmg_solver *s, double low, double high)
{
    s->mg.krylov->options.low = low;
    s->mg.krylov->options.high = high;
}

/* A wrong interval, put there: CG takes over within two steps of where it shows and stays until the
 * next refresh; alone semi-iteration fails. */
TEST(cg_takes_over)
{
    static const double wrong[4][2] = {{0.01, 0.3}, {1.9, 1.9001}, {0.05, 0.6}, {0.9999, 1}};
    for (int way = 0; way < 8; ++way) {
        const bool fast = way / 2 == 3; /* two steps gain a factor of 100 all the same */
        const cmg_krylov ends = fast ? CMG_KRYLOV_SEMI : CMG_KRYLOV_CG;
        scoped_hierarchy *h = generated("cells=64 distort=0.4");
        const char *options =
            sprint("krylov=semi keep-map precision=%s", way % 2 ? "mixed" : "fp64");
        scoped_vector *b = vector_for(h, 3);
        scoped_vector *x = vector_for(h, 4);
        scoped_solver *s = solver_with(h, "%s", options);
        take_interval(s, wrong[way / 2][0], wrong[way / 2][1]);
        cmg_report report = solved(h, s, b, 0, x);
        CHECK(report.outcome == CMG_CONVERGED_RTOL && report.krylov == ends);
        CHECK(report.fallbacks == !fast && report.iterations < 16);
        CHECK(fast || (strncmp(report.fallback, "cg from iteration ", 18) == 0 &&
                       strstr(report.fallback, "semi") != NULL));
        report = solved(h, s, b, 0, x);
        CHECK(report.fallbacks == 0 && report.krylov == ends);
        CHECK_OK(cmg_solver_refresh(s));
        report = solved(h, s, b, 0, x);
        CHECK(report.fallbacks == 0 && report.krylov == CMG_KRYLOV_SEMI);
        CHECK(report.outcome == CMG_CONVERGED_RTOL);
        scoped_solver *alone = solver_with(h, "%s no-fallback", options);
        take_interval(alone, 0.01, 0.3);
        report = solved(h, alone, b, 0, x);
        CHECK(!cmg_outcome_converged(report.outcome) && report.fallbacks == 0);
    }
}

/* Single eigenvalues below the interval, of coefficients that jump from cell to cell: the digits a
 * step tell, and what CG takes from there on are not more than its own from the start. */
TEST(cg_takes_over_where_eigenvalues_are_missed)
{
    static const char *const cases[] = {"dim=3 cells=32 coefficient=random contrast=1000",
                                        "cells=256 coefficient=random contrast=1000"};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        scoped_hierarchy *h = generated("%s", cases[k]);
        cmg_solver_options o = solver_options("krylov=cg");
        scoped_vector *b = vector_for(h, 3);
        scoped_vector *x = vector_for(h, 4);
        scoped_vector *y = vector_for(h, 4);
        const cmg_report cg = solve(h, &o, b, x);
        o.krylov = CMG_KRYLOV_SEMI;
        const cmg_report semi = solve(h, &o, b, y);
        CHECK(semi.outcome == CMG_CONVERGED_RTOL && semi.krylov == CMG_KRYLOV_CG);
        CHECK(semi.fallbacks == 1 && semi.iterations <= cg.iterations + 2);
    }
}

/* Columns that meet missed eigenvalues: all are CG's, and so are later ones. */
TEST(cg_takes_over_for_columns)
{
    enum { COLUMNS = 8 };
    scoped_hierarchy *h = generated("cells=64 coefficient=random contrast=1000");
    const cmg_size n = cmg_hierarchy_rows(h, 0);
    scoped_solver *s = solver_with(h, "krylov=semi");
    scoped double *values = random_values(n * COLUMNS, 5);
    scoped_vector *b = columns_from(n, COLUMNS, values);
    scoped_vector *x = columns_new(n, COLUMNS);
    const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
    for (int turn = 0; turn < 2; ++turn) {
        const cmg_report report = solve_with(s, b, from_zero(x));
        CHECK(cmg_outcome_converged(report.outcome) && report.krylov == CMG_KRYLOV_CG);
        CHECK(report.fallbacks == (turn == 0));
        scoped double *last = values_of(x);
        CHECK_EACH(c, COLUMNS, column_residual(&A, values, last, COLUMNS, c) <= 1.001e-8);
    }
}

/* Automatically: where a level has as many rows as the backend says, CG would do, and there is a
 * way back to it; once that was taken CG stays. */
TEST(auto_takes_it_on_large_levels)
{
    const cmgi_backend *before = ctx->backend;
    cmgi_backend small = *before;
    static const struct {
        const char *generate;
        const char *options;
        bool semi;
    } cases[] = {{"cells=256 levels=6", "", true},
                 {"cells=256 levels=6", "precision=fp64", true},
                 {"cells=256 levels=6 distort=0.3", "smoother=jacobi", true},
                 {"cells=256 levels=6", "no-fallback", false},
                 {"cells=256 levels=6", "fmg", false},
                 {"cells=128 levels=3", "", false},
                 {"cells=32 levels=4", "", false},
                 {"cells=256 levels=6 problem=convection velocity=50", "", false},
                 {"cells=256 levels=6", "smoother=jacobi pre=2 post=1 precision=fp64", false},
                 {"cells=256 levels=6 dirichlet=identity", "", false},
                 {"cells=256 levels=1", "", true}, /* a lattice, and aggregates */
                 {"dim=3 cells=24 levels=1 element=p1 distort=0.3", "", false}};
    small.semi_rows = 10000;
    ctx->backend = &small;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        scoped_hierarchy *h = generated("%s", cases[k].generate);
        const cmg_solver_options o = solver_options("keep-map %s", cases[k].options);
        scoped_vector *b = vector_for(h, 3);
        scoped_vector *x = vector_for(h, 4);
        scoped_solver *s = solver_new(h, &o);
        cmg_report report = solved(h, s, b, 0, x);
        CHECK(cmg_outcome_converged(report.outcome) && report.fallbacks == 0);
        CHECK((report.krylov == CMG_KRYLOV_SEMI) == cases[k].semi);
        CHECK((s->mg.nested != NULL) == (cases[k].semi || o.fmg));
        CHECK_OK(cmg_solver_refresh(s));
        report = solved(h, s, b, 0, x);
        CHECK((report.krylov == CMG_KRYLOV_SEMI) == cases[k].semi);
        if (cases[k].semi) { /* a wrong interval */
            take_interval(s, 0.01, 0.3);
            report = solved(h, s, b, 0, x);
            CHECK(cmg_outcome_converged(report.outcome) && report.krylov == CMG_KRYLOV_CG);
            CHECK_OK(cmg_solver_refresh(s));
            report = solved(h, s, b, 0, x);
            CHECK(cmg_outcome_converged(report.outcome) && report.krylov == CMG_KRYLOV_CG);
        }
    }
    ctx->backend = before;
}

/* What is not symmetric or not positive definite is refused by name; from new values CG is left. */
TEST(refuses_what_it_is_not_for)
{
    static const char *const refused[][2] = {
        {"cells=32 problem=convection velocity=50", "krylov=semi"},
        {"cells=32", "krylov=semi smoother=jacobi pre=2 post=1"},
        {"cells=32", "krylov=semi smoother=jacobi:omega=3"},
    };
    for (size_t k = 0; k < sizeof refused / sizeof *refused; ++k) {
        scoped_hierarchy *h = generated("%s", refused[k][0]);
        refuse(h, refused[k][1], CMG_ERR_UNSUPPORTED, "krylov=semi");
    }
    scoped_hierarchy *h = generated("cells=32");
    const cmg_size n = cmg_hierarchy_rows(h, 0);
    scoped_vector *b = vector_of(n, 3);
    scoped_vector *x = vector_of(n, 4);
    scoped_solver *s = solver_with(h, "krylov=semi keep-map smoother=jacobi galerkin=missing");
    scale(h, -1); /* negative definite: so is the cycle, and C A is as it was */
    CHECK_OK(cmg_solver_refresh(s));
    cmg_report report = solved(h, s, b, 0, x);
    CHECK(report.outcome == CMG_CONVERGED_RTOL);
    const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
    scoped double *values = scaled_copy(A.values, A.indptr[A.rows], -1);
    EACH_ENTRY (&A, i, e) { /* not symmetric any more */
        values[e] *= A.indices[e] > i ? 1.2 : 1;
    }
    CHECK_OK(cmg_hierarchy_update(h, 0, CMG_ROLE_A, values));
    CHECK_OK(cmg_solver_refresh(s));
    report = solve_with(s, b, from_zero(x));
    CHECK(report.krylov != CMG_KRYLOV_SEMI);
    const cmg_solver_options cg = solver_options("krylov=semi");
    cmg_cg_solver *user = NULL;
    const cmg_csr now = csr_of(h, 0, CMG_ROLE_A);
    scoped_matrix *M = matrix_new(&now, NULL);
    const cmg_operator op = cmg_matrix_operator(M);
    CHECK_STATUS(cmg_cg_create(ctx, &op, NULL, &cg, &user), CMG_ERR_UNSUPPORTED);
}

/* The outcome and the x of a guess of zeros, bit for bit, whatever x holds; norms to rounding. */
static void same_from_zero(const cmg_hierarchy *h, cmg_solver *s[2], const cmg_vector *b,
                           const char *options)
{
    const int before = test_failures;
    const cmg_size n = cmg_vector_length(b);
    scoped_vector *x = vector_of(n, 4);
    for (int again = 0; again < 2; ++again) { /* a second time with a solver that fell back */
        cmg_report other = {.size = sizeof other};
        const cmg_report zeros = solve_with(s[0], b, from_zero(x));
        scoped double *values = values_of(x);
        CHECK_OK(cmg_vector_fill(x, NAN));
        CHECK_OK(cmg_solver_solve_from_zero(s[1], b, x, &other));
        scoped double *others = values_of(x);
        CHECK(memcmp(values, others, (size_t)n * sizeof *values) == 0);
        CHECK(zeros.outcome == other.outcome && zeros.iterations == other.iterations);
        CHECK(zeros.fallbacks == other.fallbacks && zeros.krylov == other.krylov);
        CHECK(zeros.best == other.best);
        CHECK_NEAR(zeros.residual, other.residual, 1e-14 * zeros.residual);
        CHECK(other.rhs_norm == 0 || fabs(true_residual(h, b, x) - other.relative_residual) <=
                                         1e-3 * other.relative_residual + 1e-13);
        if (other.iterations > 0 && other.fallbacks == 0) {
            const bool improved = s[0]->mg.levels.boundary != NULL || s[0]->mg.options.fmg;
            CHECK(improved ? other.bytes == zeros.bytes : other.bytes < zeros.bytes);
        }
        for (int i = 0; i <= zeros.iterations; ++i) {
            CHECK_NEAR(zeros.history[i], other.history[i], 1e-14 * zeros.history[i]);
        }
        for (int k = 0; k < 2; ++k) { /* and from another guess after it */
            CHECK_OK(cmg_vector_fill(x, 1));
            CHECK_OK(cmg_solver_solve(s[k], b, x, &other));
        }
    }
    if (test_failures != before) {
        printf("  %s\n", options);
    }
}

TEST(zero_is_a_guess_like_any_other)
{
    static const char *const ways[] = {"krylov=cg",
                                       "krylov=cg fmg",
                                       "krylov=semi",
                                       "krylov=semi no-fallback max_it=3",
                                       "krylov=none",
                                       "krylov=fcg",
                                       "krylov=merged",
                                       "krylov=fgmres",
                                       "krylov=bicgstab",
                                       "krylov=defect precision=mixed",
                                       "krylov=cg dirichlet=keep",
                                       "smoother=jacobi:omega=2.2", /* falls back */
                                       "krylov=semi renumber=rcm"};
    for (size_t k = 0; k < 2 * sizeof ways / sizeof *ways; ++k) {
        const bool kept = strstr(ways[k / 2], "keep") != NULL;
        scoped_hierarchy *h = generated(kept ? "cells=32 dirichlet=identity-keep" : "cells=32");
        scoped_vector *b = vector_for(h, 3);
        cmg_solver_options o = solver_options("%s", ways[k / 2]);
        o.precision = k % 2 ? CMG_FP32 : CMG_FP64;
        cmg_solver *s[2] = {solver_new(h, &o), solver_new(h, &o)};
        same_from_zero(h, s, b, ways[k / 2]);
        CHECK_OK(cmg_vector_axpby(0, b, 1e-100, b)); /* its squares leave the range */
        same_from_zero(h, s, b, ways[k / 2]);
        CHECK_OK(cmg_vector_fill(b, 0));
        same_from_zero(h, s, b, ways[k / 2]);
        cmg_solver_destroy(&s[0]);
        cmg_solver_destroy(&s[1]);
    }
}

static int seen;
static double seen_last;

static int watch(void *user, int iteration, double residual, double rhs_norm)
{
    CHECK(iteration == seen && rhs_norm > 0);
    seen_last = residual;
    return ++seen > *(const int *)user;
}

/* A monitor sees the guess and every iteration, and stops it. */
TEST(a_monitor_sees_every_iteration)
{
    scoped_hierarchy *h = generated("cells=64");
    cmg_solver_options o = solver_options("krylov=semi");
    int most = 100;
    o.monitor = watch;
    o.monitor_user = &most;
    scoped_vector *b = vector_for(h, 3);
    scoped_vector *x = vector_for(h, 4);
    scoped_solver *s = solver_new(h, &o);
    seen = 0;
    cmg_report report = solved(h, s, b, 0, x);
    CHECK(seen == report.iterations + 1 && seen_last == report.residual);
    seen = 0;
    most = 2;
    report = solved(h, s, b, 0, x);
    CHECK(report.outcome == CMG_INTERRUPTED && report.iterations == 2);
}
