/*
 * A cycle in few bits that fails is noticed and replaced: what fp64 solves is solved, the report
 * says how, and nothing is called converged that is not.
 */
#include "solves.h"
#include "generated.h"

/* No condition on the boundary but a reaction: constants are nearly in the kernel. */
static void add_reaction(cmg_hierarchy *h, double reaction)
{
    for (int l = 0; l < cmg_hierarchy_levels(h); ++l) {
        change_level(h, l, 1, reaction / (double)cmg_hierarchy_rows(h, l));
    }
}

enum { PROBLEMS = 9 };
static cmg_hierarchy *problem(int k)
{
    static const char *const texts[5] = {
        "coefficient=jump contrast=1e6 cells=32 levels=3",
        "coefficient=checkerboard contrast=1e8 cells=32 levels=3",
        "coefficient=anisotropic contrast=1e3 angle=30 cells=32 levels=3",
        "problem=elasticity coefficient=random contrast=1e4 cells=32 levels=3",
        "problem=elasticity dim=3 cells=8 levels=2"};
    if (k < 5) {
        return generated("distort=0.2 %s", texts[k]);
    }
    cmg_hierarchy *h = poisson(16, 4, k == 5 ? POISSON_NEUMANN : 0);
    if (k == 5) {
        add_reaction(h, 1e-5);
    } else {
        scale(h, k == 6 ? 1e-30 : k == 7 ? 1e30 : 1e200);
    }
    return h;
}

static const char *const storages[] = {"precision=mixed", "precision=mixed values=fp16",
                                       "precision=mixed values=fp8",
                                       "precision=fp64 precision_schedule=fp8"};
enum { STORAGES = sizeof storages / sizeof storages[0] };

static cmg_solver_options options_of(const char *storage)
{
    return solver_options("smoother=jacobi format=compressed no_templates max_it=300 %s", storage);
}

TEST(what_fp64_solves_is_solved)
{
    int failed = 0;
    int fell = 0;
    for (int p = 0; p < PROBLEMS; ++p) {
        scoped_hierarchy *h = problem(p);
        const cmg_size n = cmg_hierarchy_rows(h, 0);
        scoped_vector *b = vector_of(n, 3);
        scoped_vector *x = vector_new(n, CMG_FP64);
        cmg_solver_options o = solver_options("smoother=jacobi max_it=300");
        const cmg_report plain = solve(h, &o, b, x);
        printf("   problem %d: fp64 %d", p, plain.iterations);
        CHECK(plain.outcome == CMG_CONVERGED_RTOL);
        /* a GPU records graphs for every solver: fp32 and fp8 will do there */
        const int stride = cmg_context_backend(ctx) == CMG_BACKEND_CUDA ? 3 : 1;
        for (int k = 0; k < STORAGES; k += stride) {
            o = options_of(storages[k]);
            cmg_report report = solve(h, &o, b, from_zero(x));
            const double residual = true_residual(h, b, x);
            CHECK(report.outcome == CMG_CONVERGED_RTOL);
            CHECK(residual <= 1.0001e-8);
            fell += report.fallbacks > 0;
            printf(", %s %d", report.precision, report.iterations);
            o.fallback = false;
            report = solve(h, &o, b, from_zero(x));
            failed += !cmg_outcome_converged(report.outcome);
            CHECK(report.fallbacks == 0);
            CHECK(!cmg_outcome_converged(report.outcome) || true_residual(h, b, x) <= 1.0001e-8);
        }
        printf("\n");
    }
    CHECK(failed > 0); /* the problems are hard enough to show something */
    CHECK(fell >= failed);
}

/* A hierarchy whose fp32 cycle overflows at once. */
enum { OVERFLOWS = 8 };

TEST(report_says_what_happened)
{
    scoped_hierarchy *h = problem(OVERFLOWS);
    scoped_vector *b = vector_for(h, 3);
    scoped_vector *x = vector_for(h, 4);
    double norm = 0;
    CHECK_OK(cmg_vector_norm(b, &norm));
    const cmg_solver_options o = options_of(storages[3]);
    scoped_solver *s = solver_new(h, &o);
    cmg_report report = solve_with(s, b, from_zero(x));
    CHECK(report.fallbacks == 3 && strcmp(report.precision, "fp64") == 0);
    CHECK(strstr(report.fallback, "fp8 to fp16 after ") == report.fallback);
    CHECK(strstr(report.fallback, "fp16 to fp32") != NULL);
    CHECK(strstr(report.fallback, "fp32 to fp64") != NULL);
    CHECK(report.history[0] > 0 && report.history[0] <= norm); /* identity rows are solved before */
    CHECK_NEAR(report.history[report.iterations] / norm, report.relative_residual, 1e-12);
    for (int k = 0; k <= report.iterations; ++k) {
        CHECK(isfinite(report.history[k]));
    }
    /* the solver stays with what has worked */
    report = solve_with(s, b, from_zero(x));
    CHECK(report.outcome == CMG_CONVERGED_RTOL && report.fallbacks == 0);
    CHECK(report.fallback[0] == '\0' && strcmp(report.precision, "fp64") == 0);
    CHECK_NEAR(report.relative_residual, true_residual(h, b, x), 1e-12);
}

/* Also stand-alone cycles, nested iteration, renumbered levels, flexible CG, defect correction. */
TEST(every_kind_of_solve_falls_back)
{
    scoped_hierarchy *h = problem(OVERFLOWS);
    scoped_vector *b = vector_for(h, 3);
    scoped_vector *x = zero_for(h);
    for (int way = 0; way < 16; ++way) {
        cmg_solver_options o = solver_options(
            "smoother=jacobi precision=mixed krylov=%s fmg=%d format=%s pre=2 post=2",
            WORD("krylov", way % 4), way / 4 % 2, way / 8 ? "k1rs" : "auto");
        const cmg_report report = solve(h, &o, b, from_zero(x));
        CHECK(report.outcome == CMG_CONVERGED_RTOL && report.fallbacks == 1);
        CHECK_NEAR(report.relative_residual, true_residual(h, b, x), 1e-12);
    }
}

/* Dampings that make the cycle diverge in every precision: x comes back no worse than it went. */
TEST(where_nothing_helps_the_best_iterate_is_returned)
{
    scoped_hierarchy *h = poisson(32, 5, 0);
    scoped_vector *b = vector_for(h, 3);
    for (int krylov = CMG_KRYLOV_NONE; krylov <= CMG_KRYLOV_CG; ++krylov) {
        scoped_vector *x = vector_for(h, 4);
        cmg_solver_options o = options_of(storages[3]);
        /* block-jacobi is nobody's weak choice, which would be replaced */
        solver_set(&o, "krylov=%s smoother=block-jacobi omega=2.5 pre=%d post=1",
                   WORD("krylov", krylov), krylov == CMG_KRYLOV_CG ? 2 : 1);
        const double before = true_residual(h, b, x);
        const cmg_report report = solve(h, &o, b, x);
        CHECK(!cmg_outcome_converged(report.outcome) && report.fallbacks == 3);
        CHECK(report.relative_residual <= before * (1 + 1e-12));
        CHECK_NEAR(report.relative_residual, true_residual(h, b, x), 1e-10);
    }
}

/* A good guess is not lost to a cycle that spoils it. */
TEST(the_guess_survives)
{
    scoped_hierarchy *h = problem(OVERFLOWS);
    scoped_vector *b = vector_for(h, 3);
    scoped_vector *x = zero_for(h);
    cmg_solver_options o = options_of(storages[0]);
    const int whole = solve(h, &o, b, x).iterations;
    o.rtol = 1e-4;
    CHECK(solve(h, &o, b, from_zero(x)).outcome == CMG_CONVERGED_RTOL);
    o.rtol = 1e-8;
    const cmg_report rest = solve(h, &o, b, x);
    CHECK(rest.outcome == CMG_CONVERGED_RTOL && rest.fallbacks == 1);
    CHECK(rest.iterations < whole);
}

/* A limit that a healthy iteration meets is the caller's wish, and so are other outcomes of fp64.
 */
TEST(healthy_iterations_keep_their_limit)
{
    scoped_hierarchy *h = poisson(32, 5, 0);
    scoped_vector *b = vector_for(h, 3);
    for (int k = 0; k < STORAGES; ++k) {
        scoped_vector *x = vector_for(h, 4);
        cmg_solver_options o = options_of(storages[k]);
        o.max_it = 3;
        cmg_report report = solve(h, &o, b, x);
        CHECK(report.outcome == CMG_ITERATION_LIMIT && report.iterations == 3);
        CHECK(report.fallbacks == 0);
        o.max_it = 0;
        report = solve(h, &o, b, x);
        CHECK(report.outcome == CMG_ITERATION_LIMIT && report.fallbacks == 0);
        CHECK_OK(cmg_vector_fill(x, NAN)); /* no precision cures that */
        o.max_it = 100;
        report = solve(h, &o, b, x);
        CHECK(report.outcome == CMG_NOT_A_NUMBER && report.fallbacks == 0);
    }
}

/*
 * Memory that runs out while the cycle is built again: what does not fit beside the one before is
 * made in its place, and else the solver says so, and lets go of all.
 */
TEST(failing_memory_leaves_nothing)
{
    NEEDS(cmg_context_backend(ctx) != CMG_BACKEND_CUDA,
          "a solver for every allocation: on the CPU alone");
    scoped_hierarchy *h = problem(OVERFLOWS);
    scoped_vector *b = vector_for(h, 3);
    scoped_vector *x = zero_for(h);
    bool reached = true;
    int refused = 0;
    int solved = 0;
    for (int allocations = 0; reached && allocations < 10000; ++allocations) {
        const cmg_solver_options o = options_of(storages[0]);
        scoped_solver *s = solver_new(h, &o);
        CHECK_OK(cmg_vector_fill(x, 0));
        cmgi_context_fail_after(ctx, allocations);
        const cmg_status status = cmg_solver_solve(s, b, x, NULL);
        reached = ctx->fail_after < 0;
        cmgi_context_fail_after(ctx, -1);
        CHECK(status == CMG_OK || (reached && status == CMG_ERR_MEMORY));
        refused += status == CMG_ERR_MEMORY;
        solved += reached && status == CMG_OK;
    }
    CHECK(!reached && refused > 0 && solved > 10);
}
