/*
 * The limit over all precisions; methods chosen by symmetry; residuals that say what x is; what
 * replaces a smoother that is too weak; hints.
 */
#include "solves.h"
#include "generated.h"

TEST(methods_go_by_symmetry)
{
    scoped_hierarchy *h = generated("cells=32");
    scoped_hierarchy *rows = poisson(32, 4, POISSON_IDENTITY | POISSON_COLUMNS);
    scoped_hierarchy *wind = generated("problem=convection velocity=20 cells=32");
    scoped_vector *b = vector_for(h, 3);
    scoped_vector *c = vector_for(rows, 3);
    scoped_vector *x = vector_for(h, 4);
    scoped_vector *y = vector_for(rows, 4);
    for (int low = 0; low < 2; ++low) {
        cmg_solver_options o =
            solver_options("smoother=jacobi precision=%s", low ? "mixed" : "fp64");
        CHECK(solve(h, &o, b, x).krylov == CMG_KRYLOV_CG);
        /* identity rows whose columns are kept are symmetric where it counts */
        CHECK(solve(rows, &o, c, y).krylov == CMG_KRYLOV_CG);
        cmg_report report = solve(wind, &o, b, from_zero(x));
        CHECK(report.krylov == CMG_KRYLOV_FGMRES && report.outcome == CMG_CONVERGED_RTOL);
        CHECK_NEAR(report.relative_residual, true_residual(wind, b, x), 1e-13);
        CHECK(report.iterations <= 30);
        o.krylov = CMG_KRYLOV_BICGSTAB;
        report = solve(wind, &o, b, from_zero(x));
        CHECK(report.krylov == CMG_KRYLOV_BICGSTAB && report.outcome == CMG_CONVERGED_RTOL);
        CHECK_NEAR(report.relative_residual, true_residual(wind, b, x), 1e-13);
        CHECK(report.iterations <= 20);
        o.krylov = CMG_KRYLOV_AUTO;
        o.pre = 2;
        o.post = 0;
        report = solve(h, &o, b, from_zero(x));
        CHECK(report.krylov == CMG_KRYLOV_FCG && report.outcome == CMG_CONVERGED_RTOL);
    }
}

/* Whatever ends it, x has the residual that is told, which is the least of the history. */
TEST(the_best_iterate_is_reported)
{
    scoped_hierarchy *h = poisson(32, 5, 0);
    scoped_vector *b = vector_for(h, 3);
    for (int way = 0; way < 4; ++way) {
        scoped_vector *x = vector_for(h, 4);
        scoped_solver *s =
            solver_with(h, "smoother=jacobi omega=2.5 no-fallback krylov=%s pre=%d", /* diverges */
                        way % 2 == 0 ? "none" : "cg", way < 2 ? 1 : 2);
        cmg_report report = solve_with(s, b, x);
        CHECK(!cmg_outcome_converged(report.outcome));
        CHECK_NEAR(report.relative_residual, true_residual(h, b, x), 1e-10);
        CHECK_NEAR(report.residual, report.history[report.best], 1e-9 * report.residual);
        for (int i = 0; i <= report.iterations; ++i) {
            CHECK(!(report.history[i] < report.history[report.best]));
        }
    }
}

/* A diagonal smoother that does not do is replaced, from the best iterate, and that is told. */
TEST(weak_smoothers_are_replaced)
{
    scoped_hierarchy *h = generated("cells=32 coefficient=anisotropic contrast=1000");
    scoped_vector *b = vector_for(h, 3);
    for (int low = 0; low < 2; ++low) {
        scoped_vector *x = vector_for(h, 4);
        const char *options =
            sprint("smoother=jacobi max_it=200 precision=%s", low ? "mixed" : "fp64");
        scoped_solver *s = solver_with(h, "%s", options);
        cmg_report report = solve_with(s, b, x);
        CHECK(report.outcome == CMG_CONVERGED_RTOL && report.fallbacks == 1);
        CHECK(strstr(report.fallback, "fsai from iteration ") == report.fallback);
        CHECK(strstr(report.fallback, ": jacobi ") != NULL);
        CHECK(true_residual(h, b, x) <= 1.0001e-8);
        /* it stays so */
        report = solve_with(s, b, from_zero(x));
        CHECK(report.outcome == CMG_CONVERGED_RTOL && report.fallbacks == 0);
        scoped_solver *alone = solver_with(h, "%s no-fallback", options);
        report = solve_with(alone, b, from_zero(x));
        CHECK(!cmg_outcome_converged(report.outcome) && report.fallbacks == 0);
        CHECK(report.hint[0] != '\0');
    }
}

/* -laplace u - k^2 u, as far as the finest matrix goes; the others stay those of the Laplacian. */
static cmg_hierarchy *helmholtz(double k)
{
    cmg_hierarchy *h = generated("cells=32");
    change_level(h, 0, 1, -k * k / (32.0 * 32.0));
    return h;
}

/* Solves with `auto`, and what is told of the ladder. */
static void climbs(cmg_hierarchy *h, const char *rung, int most)
{
    scoped_vector *b = vector_for(h, 3);
    scoped_vector *x = vector_for(h, 4);
    scoped_solver *s = solver_new(h, NULL);
    CHECK_OK(cmg_vector_fill(b, 1));
    for (int again = 0; again < 2; ++again) {
        const cmg_report report = solve_with(s, b, from_zero(x));
        CHECK(report.outcome == CMG_CONVERGED_RTOL && report.iterations <= most);
        CHECK(again == 1 ? report.fallbacks == 0 : strstr(report.fallback, rung) != NULL);
        CHECK(true_residual(h, b, x) <= 1.0001e-8);
    }
}

/* Rungs of the ladder by what is the matter; new values later find the solver as it became. */
TEST(rungs_follow_what_is_the_matter)
{
    scoped_hierarchy *h = helmholtz(9);
    climbs(h, "fgmres from iteration 0: cg ended as ", 20);
    scoped_hierarchy *cut = /* by coarse cells */
        generated("element=p2 cells=48 coefficient=random contrast=1e6 angle=0");
    climbs(cut, "algebraic levels from iteration ", 45);
    scoped_hierarchy *turned =
        generated("element=q2 cells=48 coefficient=anisotropic contrast=1e4 angle=45");
    climbs(turned, "chebyshev4:degree=16 from iteration ", 40);
}

/* Strong lines get levels that follow them at once, and not where nothing is to be replaced. */
TEST(lines_get_their_levels)
{
    scoped_hierarchy *h =
        generated("element=q1 cells=96 coefficient=anisotropic contrast=1e4 angle=0");
    scoped_vector *b = vector_for(h, 3);
    for (int replaced = 0; replaced < 2; ++replaced) {
        scoped_vector *x = vector_for(h, 4);
        scoped_solver *s = solver_with(h, "fallback=%d", replaced == 1);
        /* a GPU goes on with the given levels unless these fail */
        const bool follows = replaced == 1 && !cmgi_on_cuda(ctx);
        CHECK(s->mg.from_matrix == follows);
        cmg_report report = solve_with(s, b, x);
        CHECK(report.outcome == CMG_CONVERGED_RTOL && (report.fallbacks == 0 || cmgi_on_cuda(ctx)));
        CHECK(follows ? report.iterations <= 11 : report.iterations > 15);
        CHECK(true_residual(h, b, x) <= 1.0001e-8);
    }
}

/* In one dimension there is nothing beside the lines: the hierarchy's levels are right. */
TEST(one_dimension_keeps_its_levels)
{
    enum { N = 255 };
    triplet_list p = triplets(N, N / 2);
    for (int i = 1; i < N; i += 2) {
        for (int near = -1; near <= 1; ++near) {
            triplet_add(&p, i + near, i / 2, near == 0 ? 1 : 0.5);
        }
    }
    scoped_csr fine = csr_line(N, 2, 1);
    scoped_csr transfer = triplet_csr(&p);
    scoped_hierarchy *h = hierarchy_new(2);
    CHECK_OK(cmg_hierarchy_set_csr(h, 0, CMG_ROLE_A, NULL, 0, &fine.view));
    CHECK_OK(cmg_hierarchy_set_csr(h, 0, CMG_ROLE_P, NULL, 0, &transfer.view));
    scoped_solver *s = solver_new(h, NULL);
    CHECK(!s->mg.from_matrix && s->mg.levels.count == 2);
}

/* What is symmetric by the way it was made is so by trial, too. */
TEST(symmetry_by_design_holds)
{
    static const struct {
        const char *problem;
        const char *options;
        bool design;
    } cases[] = {{"poisson", "", true},
                 {"poisson", "cycle=W", true},
                 {"poisson", "cycle=F", false},
                 {"poisson", "pre=2 post=0", false},
                 {"poisson", "smoother=spai", false},
                 {"poisson", "precision=mixed", true},
                 {"poisson", "precision=mixed format=compressed values=fp16", false},
                 {"poisson", "precision=mixed format=compressed precision_schedule=P:fp16", false},
                 {"elasticity", "", true},
                 {"convection", "", false}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        scoped_hierarchy *h = generated("problem=%s velocity=20 cells=32", cases[c].problem);
        cmgi_symmetry seen;
        scoped_solver *s = solver_with(h, "%s", cases[c].options);
        CHECK(s->mg.levels.symmetric == cases[c].design);
        s->mg.levels.symmetric = false;
        CHECK_OK(cmgi_symmetry_look(ctx, &s->mg.levels, s->mg.cycle, &seen));
        CHECK(!cases[c].design || (seen.matrix && seen.cycle));
    }
}

/* A permutation on a small diagonal: no smoother and no level does anything for it. */
TEST(what_is_small_is_solved_directly)
{
    for (int n = 300; n <= 600; n += 300) {
        scoped cmg_index *order = malloc((size_t)n * sizeof *order);
        scoped_csr A = csr_new(n, n, 2 * n);
        random_order(order, n, 7);
        for (cmg_size i = 0; i < n; ++i) {
            const cmg_size next = order[i] == i ? (i + 1) % n : order[i];
            csr_put(&A, i, next < i ? next : i, next < i ? 1 : 0.01);
            csr_put(&A, i, next < i ? i : next, next < i ? 0.01 : 1);
        }
        csr_end(&A);
        scoped_hierarchy *h = hierarchy_alone(&A.view);
        const bool at_once = !cmgi_on_cuda(ctx); /* a device has no factorisation */
        climbs(h, at_once ? "" : "direct solve from iteration ", at_once ? 2 : 60);
    }
}

/* Two rings, each of which has constants of its own: no inverse, and levels as of others. */
TEST(what_is_small_and_singular_gets_levels)
{
    enum { N = 300 };
    scoped_csr A = csr_new(N, N, 3 * N);
    for (int i = 0; i < N; ++i) {
        const int ring = i / (N / 2) * (N / 2);
        for (int e = 0; e < 3; ++e) {
            csr_put(&A, i, ring + (i - ring + N / 2 + e - 1) % (N / 2),
                    e == 1   ? 2
                    : e == 0 ? -1.5
                             : -0.5);
        }
    }
    csr_end(&A);
    scoped_hierarchy *h = hierarchy_alone(&A.view);
    scoped_solver *s = solver_new(h, NULL);
    for (int k = 0; cmg_solver_note(s, k) != NULL; ++k) {
        CHECK(strstr(cmg_solver_note(s, k), "direct solve") == NULL);
    }
}

/* The hint of a solve that fails, with the smoother jacobi; b is filled unless that is 0. */
static void hint_holds(cmg_hierarchy *h, const char *options, double fill, const char *part)
{
    scoped_vector *b = vector_for(h, 3);
    scoped_vector *x = vector_for(h, 4);
    if (fill != 0) {
        CHECK_OK(cmg_vector_fill(b, fill));
    }
    scoped_solver *s = solver_with(h, "smoother=jacobi %s", options);
    const cmg_report report = solve_with(s, b, x);
    CHECK(!cmg_outcome_converged(report.outcome));
    CHECK_SAY(strstr(report.hint, part) != NULL, "hint: %s", report.hint);
}

/* Every solve that fails says what to try, by what is the matter. */
TEST(hints_name_what_is_the_matter)
{
    scoped_hierarchy *h = generated("cells=32");
    scoped_hierarchy *wind = generated("problem=convection velocity=200 cells=32");
    scoped_csr line = csr_line(2000, 0.5, 1); /* eigenvalues from -3/2 to 5/2 */
    scoped_hierarchy *both = hierarchy_alone(&line.view);
    hint_holds(both, "max_it=3 cycle=none", 0, "A is not positive definite");
    hint_holds(both, "max_it=3 cycle=none no-fallback", 0, "A is not positive definite");
    hint_holds(h, "max_it=3", 0, "raise max-it");
    hint_holds(h, "max_it=3", NAN, "no finite number");
    hint_holds(wind, "max_it=3 krylov=cg", 0, "A is not symmetric");
    hint_holds(h, "max_it=3 krylov=cg pre=3 post=0", 0, "krylov=fcg");
    hint_holds(h, "max_it=3 cycle=none", 0, "coarser levels");
    hint_holds(h, "omega=2.5 krylov=none no-fallback", 0,
               "does not suit this matrix with this omega");
}

/* Nested iteration that overflows is left out: what is told is the residual of the guess. */
TEST(nested_iteration_may_overflow)
{
    scoped_hierarchy *h = poisson(8, 3, POISSON_COLUMNS);
    scoped_vector *b = vector_for(h, 1);
    scoped_vector *x = vector_for(h, 2);
    cmg_solver_options o =
        solver_options("fmg smoother=jacobi omega=1e300 krylov=none no-fallback");
    const double before = true_residual(h, b, x);
    const cmg_report report = solve(h, &o, b, x);
    CHECK(report.outcome == CMG_NOT_A_NUMBER || report.outcome == CMG_DIVERGED);
    CHECK_NEAR(true_residual(h, b, x), before, 1e-12 * before);
    CHECK_NEAR(report.relative_residual, before, 1e-12 * before);
}
