/* What else there is besides CG around cycles: flexible CG, polynomials without a hierarchy, defect
 * correction. */
#include "solves.h"
#include "generated.h"

/* One step before the coarse correction and none after it: C is not symmetric, and CG has to pay.
 */
TEST(flexible_cg_takes_unsymmetric_cycles)
{
    scoped_hierarchy *h = poisson(32, 4, 0);
    scoped_vector *b = vector_for(h, 3);
    scoped_vector *x = vector_for(h, 4);
    cmg_solver_options o = defaults();
    int iterations[2][2];
    EACH_PAIR (post, 2, flexible, 2) {
        o.krylov = flexible ? CMG_KRYLOV_FCG : CMG_KRYLOV_CG;
        o.post = post;
        const cmg_report report = solve(h, &o, b, from_zero(x));
        iterations[post][flexible] = report.iterations;
        CHECK(!flexible || report.outcome == CMG_CONVERGED_RTOL);
        CHECK(!flexible || true_residual(h, b, x) <= 1e-8);
    }
    CHECK(iterations[0][1] < iterations[0][0]);
    CHECK(iterations[1][1] == iterations[1][0]);
}

/* Cycle "none" is a solver on level 0 alone, whatever lies below; and one-level files need nothing.
 */
TEST(smoothing_alone_needs_no_hierarchy)
{
    scoped_hierarchy *h = poisson(24, 3, POISSON_COLUMNS);
    const cmg_size n = cmg_hierarchy_rows(h, 0);
    const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
    scoped_hierarchy *one = hierarchy_alone(&A);
    scoped_vector *b = vector_of(n, 3);
    scoped_vector *x = vector_of(n, 4);
    scoped_vector *y = vector_of(n, 4);
    scoped_vector *z = vector_of(n, 4);
    cmg_solver_options o =
        solver_options("coarsen=false smoother=least-squares:degree=5 cycle=none pre=2");
    const cmg_report many = solve(h, &o, b, x);
    const cmg_report single = solve(one, &o, b, y);
    o.cycle = CMG_CYCLE_V;
    o.coarse_steps = 3;
    const cmg_report smoothed = solve(one, &o, b, z);
    scoped double *vx = values_of(x);
    scoped double *vy = values_of(y);
    scoped double *vz = values_of(z);
    CHECK(many.outcome == CMG_CONVERGED_RTOL && true_residual(h, b, x) <= 1e-8);
    CHECK(single.iterations == many.iterations && smoothed.iterations == many.iterations);
    CHECK(memcmp(vx, vy, (size_t)n * sizeof *vx) == 0);
    CHECK(memcmp(vx, vz, (size_t)n * sizeof *vx) == 0);
    size_t bytes[2];
    o.cycle = CMG_CYCLE_NONE;
    CHECK_OK(cmg_solver_memory(h, &o, &bytes[0]));
    CHECK_OK(cmg_solver_memory(one, &o, &bytes[1]));
    CHECK(bytes[0] == bytes[1]);
    o.pre = 0;
    o.post = 0;
    cmg_solver *s = NULL;
    CHECK_STATUS(cmg_solver_create(h, &o, &s), CMG_ERR_ARG);
}

/* ------------------------------------------------------------------ polynomial PCG */

/*
 * Zhang and Zhang 2013, algorithm 6 and table 3, on elasticity: P_m(A) in fp32 as preconditioner of
 * CG in fp64. A polynomial of order m takes m + 1 stages.
 */
TEST(polynomial_cg_in_two_precisions)
{
    static const char *const families[] = {"least-squares", "neumann"};
    for (int dim = 2; dim <= 3; ++dim) {
        scoped_hierarchy *h =
            generated("problem=elasticity dim=%d cells=%d levels=1", dim, dim == 2 ? 32 : 8);
        scoped_vector *b = vector_for(h, 3);
        scoped_vector *x = vector_for(h, 4);
        int iterations[2][2][3];
        EACH_PAIR (f, 2, m, 3) {
            for (int p = 0; p < 2; ++p) {
                const cmg_solver_options o = solver_options(
                    "smoother=%s:degree=%d cycle=none post=0 max_it=1000 precision=%s", families[f],
                    2 * m + 3, p ? "mixed" : "fp64");
                const cmg_report report = solve(h, &o, b, from_zero(x));
                CHECK(report.outcome == CMG_CONVERGED_RTOL);
                CHECK(true_residual(h, b, x) <= 1e-8);
                iterations[f][p][m] = report.iterations;
            }
            CHECK(10 * iterations[f][1][m] <= 13 * iterations[f][0][m]);
            CHECK(m == 0 || iterations[f][0][m] < iterations[f][0][m - 1]);
            CHECK(f == 0 || iterations[0][0][m] < iterations[1][0][m]);
        }
    }
}

/* Hundreds of iterations are what a smoother alone needs: no reason to give up its precision. */
TEST(slow_is_not_stalled)
{
    scoped_hierarchy *h = generated("cells=128 levels=1");
    scoped_vector *b = vector_for(h, 3);
    scoped_vector *x = vector_for(h, 4);
    for (int k = 0; k < 2; ++k) {
        cmg_solver_options o = solver_options(
            "smoother=jacobi krylov=%s cycle=none post=0 precision=mixed max_it=2000",
            k ? "defect" : "cg");
        CHECK_OK(cmg_vector_fill(b, 1));
        const cmg_report report = solve(h, &o, b, from_zero(x));
        CHECK(report.outcome == CMG_CONVERGED_RTOL && report.iterations > 60);
        CHECK(report.fallbacks == 0);
    }
}

/* Corrections in fp32 reach what fp64 allows: no more bits are taken. */
TEST(defect_correction_reaches_rounding)
{
    scoped_hierarchy *h = poisson(32, 4, 0);
    scoped_vector *b = vector_for(h, 3);
    scoped_vector *x = vector_for(h, 4);
    cmg_solver_options o = solver_options("smoother=jacobi krylov=defect precision=mixed");
    o.rtol = 0; /* never reached */
    scoped_solver *s = solver_new(h, &o);
    for (int again = 0; again < 2; ++again) {
        const cmg_report report = solve_with(s, b, from_zero(x));
        CHECK(report.outcome == CMG_ROUNDING);
        CHECK(true_residual(h, b, x) <= 1e-13);
        CHECK(strcmp(report.precision, "fp32") == 0 && report.fallbacks == 0);
    }
}

/* Algorithm 5: residuals of fp64 from solves in fp32, around cycles and around polynomials alone.
 */
TEST(defect_correction_reaches_fp64)
{
    scoped_hierarchy *h = poisson(32, 4, POISSON_IDENTITY | POISSON_COLUMNS);
    scoped_vector *b = vector_for(h, 3);
    scoped_vector *x = vector_for(h, 4);
    for (int way = 0; way < 8; ++way) {
        cmg_solver_options o = solver_options(
            "cycle=%s smoother=%s precision=%s format=%s rtol=1e-12", way % 2 ? "none" : "V",
            way % 2 ? "chebyshev4:degree=6:form=recurrence" : "jacobi",
            way / 2 % 2 ? "mixed" : "fp64", way / 4 ? "k1rs" : "auto");
        const cmg_report cg = solve(h, &o, b, from_zero(x));
        o.krylov = CMG_KRYLOV_DEFECT;
        const cmg_report report = solve(h, &o, b, from_zero(x));
        CHECK(report.outcome == CMG_CONVERGED_RTOL && true_residual(h, b, x) <= 1.01e-12);
        CHECK(report.starts >= 3 && cg.starts <= 2);
        CHECK(report.iterations <= 3 * cg.iterations);
        size_t bytes[2];
        CHECK_OK(cmg_solver_memory(h, &o, &bytes[0]));
        CHECK(bytes[0] > 0);
    }
    cmg_solver_options o = defaults();
    cmg_solver *s = NULL;
    o.inner_rtol = 1;
    CHECK_STATUS(cmg_solver_create(h, &o, &s), CMG_ERR_ARG);
    o.inner_rtol = 0;
    CHECK_STATUS(cmg_solver_create(h, &o, &s), CMG_ERR_ARG);
}

/* New values, and starts that need nothing, through the cycle in fp32. */
TEST(defect_correction_is_refreshed)
{
    scoped_hierarchy *h = poisson(16, 3, POISSON_COLUMNS);
    scoped_vector *b = vector_for(h, 3);
    scoped_vector *x = vector_for(h, 4);
    cmg_solver_options o =
        solver_options("krylov=defect precision=mixed smoother=chebyshev keep_map=true fmg=true");
    scoped_solver *s = solver_new(h, &o);
    cmg_report report = solve_with(s, b, x);
    CHECK(report.outcome == CMG_CONVERGED_RTOL && true_residual(h, b, x) <= 1e-8);
    CHECK_OK(cmg_solver_solve(s, b, x, &report));
    CHECK(report.iterations == 0 && report.outcome == CMG_CONVERGED_RTOL);
    scale(h, 5);
    CHECK_OK(cmg_solver_refresh(s));
    CHECK_OK(cmg_solver_solve(s, b, x, &report));
    CHECK(report.outcome == CMG_CONVERGED_RTOL && true_residual(h, b, x) <= 1e-8);
    CHECK_OK(cmg_vector_fill(b, 0));
    CHECK_OK(cmg_solver_solve(s, b, x, &report));
    CHECK(report.outcome == CMG_CONVERGED_ATOL && report.residual == 0);
}

TEST(allocation_failures_leave_nothing)
{
    scoped_hierarchy *h = poisson(4, 2, 0);
    scoped_vector *b = vector_for(h, 1);
    scoped_vector *x = vector_for(h, 2);
    cmg_solver_options o =
        solver_options("krylov=defect precision=mixed smoother=gls:form=recurrence");
    o.rtol = 0; /* falls back to fp64 */
    for (failing f = {.most = 2000}; failing_next(&f);) {
        scoped_solver *s = NULL;
        CHECK_OK(cmg_vector_fill(x, 0));
        const cmg_status status = cmg_solver_create(h, &o, &s);
        failing_done(&f, status != CMG_OK ? status : cmg_solver_solve(s, b, x, NULL));
    }
}

typedef struct seen {
    int count;
    int stop_at; /* iteration, -1 = never */
    double residual[64];
    double rhs_norm;
} seen;

static int note_norm(void *user, int iteration, double residual, double rhs_norm)
{
    seen *s = user;
    CHECK(iteration == s->count && s->count < 64);
    s->residual[s->count++] = residual;
    s->rhs_norm = rhs_norm;
    return iteration == s->stop_at;
}

/* The monitor sees the history while it is made, and ends the iteration where it asks to. */
TEST(monitors_see_every_iteration)
{
    scoped_hierarchy *h = poisson(32, 4, POISSON_COLUMNS);
    scoped_vector *b = vector_for(h, 3);
    scoped_vector *x = vector_for(h, 4);
    for (int k = 0; k < 4; ++k) {
        cmg_solver_options o = solver_options("smoother=jacobi krylov=%s", k / 2 ? "none" : "cg");
        seen all = {.stop_at = k % 2 ? 3 : -1};
        o.monitor = note_norm;
        o.monitor_user = &all;
        CHECK_OK(cmg_vector_fill(x, 0));
        scoped_solver *s = solver_new(h, &o);
        cmg_report report = solve_with(s, b, x);
        CHECK(report.outcome == (k % 2 ? CMG_INTERRUPTED : CMG_CONVERGED_RTOL));
        CHECK(report.iterations == all.count - 1 && all.rhs_norm == report.rhs_norm);
        CHECK(k % 2 == 0 || report.iterations == 3);
        CHECK_EACH(i, all.count, all.residual[i] == report.history[i]);
        CHECK_NEAR(report.relative_residual, true_residual(h, b, x), 1e-12);
    }
}
