/*
 * Residuals as small as fp64 allows count as solved and are named; the level is measured here with
 * sums in long double. A residual above it is not called so.
 */
#include "own.h"
#include "solves.h"
#include "generated.h"

#include <float.h>

static cmg_hierarchy *jump(double contrast)
{
    return generated("cells=48 coefficient=jump contrast=%.17g", contrast);
}

/* || b - A x || over eps || |A| |x| + |b| ||, and over || b || in *relative. */
static double backward_error(const cmg_hierarchy *h, const cmg_vector *b, const cmg_vector *x,
                             double *relative)
{
    scoped double *vb = values_of(b);
    scoped double *vx = values_of(x);
    const oracle_norms norms = oracle_measure(h, vb, vx);
    *relative = norms.residual / norms.rhs;
    return norms.residual / (DBL_EPSILON * norms.magnitude);
}

TEST(jumps_are_solved_to_rounding)
{
    for (int way = 0; way < 8; ++way) {
        scoped_hierarchy *h = jump(way < 4 ? 1e6 : 1e9);
        scoped_vector *b = vector_for(h, 3);
        scoped_vector *x = vector_for(h, 4);
        double relative = 0;
        cmg_solver_options o = solver_options("rtol=1e-11 fallback=%d krylov=%s", way % 4 != 1,
                                              way % 4 == 2 ? "fgmres" : "auto");
        CHECK_OK(cmg_vector_fill(b, 1));
        o.matrix.format = way % 4 == 3 ? CMG_FORMAT_K2RS : CMG_FORMAT_AUTO; /* renumbered */
        const cmg_report report = solve(h, &o, b, from_zero(x));
        const double error = backward_error(h, b, x, &relative);
        CHECK(report.outcome == CMG_ROUNDING && cmg_outcome_converged(report.outcome));
        CHECK(error <= 4.1 && relative > 1e-11);
        /* two sums of the same terms in other orders */
        CHECK_NEAR(report.relative_residual, relative, 4 * relative / error);
    }
}

/* Scales that leave the range of squares change nothing. */
TEST(b_of_any_size)
{
    for (int sign = -1; sign <= 1; sign += 2) {
        scoped_hierarchy *h = jump(1e6);
        scoped_vector *b = vector_for(h, 3);
        scoped_vector *x = vector_for(h, 4);
        cmg_solver_options o = solver_options("rtol=1e-11");
        CHECK_OK(cmg_vector_fill(b, ldexp(1, sign * 800)));
        CHECK(solve(h, &o, b, from_zero(x)).outcome == CMG_ROUNDING);
    }
}

TEST(rounding_is_not_reported_too_early)
{
    scoped_hierarchy *h = jump(1e6);
    scoped_vector *b = vector_for(h, 3);
    scoped_vector *x = vector_for(h, 4);
    double relative = 0;
    cmg_solver_options o = solver_options("max_it=4");
    const cmg_report report = solve(h, &o, b, from_zero(x));
    CHECK(report.outcome == CMG_ITERATION_LIMIT);
    CHECK(backward_error(h, b, x, &relative) > 4);
}

/*
 * Formats that sum up elements or cliques: what is told of x is the residual by the rows of A,
 * within the rounding of these, where x is so large that rounding is all there is.
 */
TEST(formats_by_elements_report_the_rows)
{
    static const char *const formats[] = {"nbn", "dbd", "ebe", "ebesym"};
    enum { M = 17, N = M * M };
    double b[N];
    double x[N];
    if (cmgi_on_cuda(ctx)) {
        return; /* A is not on the device then, which is what these formats are for */
    }
    for (int k = 0; k < 4 * 6; ++k) {
        scoped_own A = own_free_grid(M, pow(10, -10.0 - k / 4 % 6), -1);
        const cmg_csr view = own_view(&A);
        scoped_vector *vb = vector_of(N, (uint64_t)k);
        scoped_vector *vx = vector_of(N, 4);
        double rounding = 0;
        const cmg_solver_options o = solver_options("format=%s", formats[k % 4]);
        scoped_hierarchy *h = hierarchy_alone(&view);
        const cmg_report report = solve(h, &o, vb, from_zero(vx));
        CHECK_OK(cmg_vector_get(vb, b));
        CHECK_OK(cmg_vector_get(vx, x));
        const double relative = own_residual(&A, b, x, 1, 0, &rounding);
        CHECK_NEAR(report.relative_residual, relative, 1e-6 * relative + rounding);
    }
}

/*
 * A hierarchy with values a million times as large, and no refresh: the size of A x is that of the
 * A that was solved with.
 */
TEST(rounding_is_that_of_the_values_taken)
{
    enum { M = 31, N = M * M };
    own_system system = own_make(OWN_LAPLACE, M, 3);
    scoped double *larger = scaled_copy(system.A.values, system.A.indptr[N], 1e6);
    double b[N];
    double x[N];
    for (int most = 6; most <= 60; most *= 10) {
        scoped_vector *vb = vector_of(N, 3);
        scoped_vector *vx = vector_of(N, 4);
        scoped_hierarchy *h = NULL;
        double rounding = 0;
        CHECK_OK(own_hierarchy(ctx, &system, &h));
        scoped_solver *s = solver_with(h, "keep_map=true max_it=%d rtol=1e-17 fallback=no", most);
        CHECK_OK(cmg_hierarchy_update(h, 0, CMG_ROLE_A, larger));
        cmg_report report = {.size = sizeof report};
        CHECK_OK((cmg_solver_solve)(s, vb, from_zero(vx), &report)); /* the newer A is no judge */
        CHECK_OK(cmg_vector_get(vb, b));
        CHECK_OK(cmg_vector_get(vx, x));
        const double relative = own_residual(&system.A, b, x, 1, 0, &rounding);
        CHECK_NEAR(report.relative_residual, relative, 1e-6 * relative + rounding);
        CHECK(report.outcome == (most == 6 ? CMG_ITERATION_LIMIT : CMG_ROUNDING));
        CHECK(report.outcome != CMG_ROUNDING || relative <= rounding);
    }
    own_free(&system);
}
