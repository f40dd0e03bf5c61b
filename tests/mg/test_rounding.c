/*
 * Residuals as small as fp64 allows count as solved and are named; the level is measured here with
 * sums in long double. What is not there yet is not called so.
 */
#include "cmg_fem.h"

#include "solves.h"

#include <float.h>

static cmg_hierarchy *jump(double contrast)
{
    cmg_generate_options g;
    cmg_hierarchy *h = NULL;
    cmg_generate_options_default(&g);
    g.cells = 48;
    g.coefficient = CMG_COEFFICIENT_JUMP;
    g.contrast = contrast;
    CHECK_OK(cmg_hierarchy_generate(ctx, &g, &h));
    return h;
}

/* || b - A x || over eps || |A| |x| + |b| ||, and over || b || in *relative. */
static double backward_error(const cmg_hierarchy *h, const cmg_vector *b, const cmg_vector *x,
                             double *relative)
{
    const size_t n = (size_t)cmg_hierarchy_rows(h, 0);
    double *vb = malloc(2 * n * sizeof *vb);
    CHECK_OK(cmg_vector_get(b, vb));
    CHECK_OK(cmg_vector_get(x, vb + n));
    const oracle_norms norms = oracle_measure(h, vb, vb + n);
    free(vb);
    *relative = norms.residual / norms.rhs;
    return norms.residual / (DBL_EPSILON * norms.magnitude);
}

static void jumps_are_solved_to_rounding(void)
{
    for (int way = 0; way < 8; ++way) {
        cmg_hierarchy *h = jump(way < 4 ? 1e6 : 1e9);
        cmg_vector *b = vector_of(cmg_hierarchy_rows(h, 0), 3);
        cmg_vector *x = vector_of(cmg_hierarchy_rows(h, 0), 4);
        cmg_solver_options o;
        double relative = 0;
        cmg_solver_options_default(&o);
        CHECK_OK(cmg_vector_fill(b, 1));
        CHECK_OK(cmg_vector_fill(x, 0));
        o.rtol = 1e-11;
        o.fallback = way % 4 != 1;
        o.krylov = way % 4 == 2 ? CMG_KRYLOV_FGMRES : CMG_KRYLOV_AUTO;
        o.matrix.format = way % 4 == 3 ? CMG_FORMAT_K2RS : CMG_FORMAT_AUTO; /* renumbered */
        const cmg_report report = solve(h, &o, b, x);
        const double error = backward_error(h, b, x, &relative);
        CHECK(report.outcome == CMG_ROUNDING && cmg_outcome_converged(report.outcome));
        CHECK(error <= 4.1 && relative > 1e-11);
        /* two sums of the same terms in other orders */
        CHECK_NEAR(report.relative_residual, relative, 4 * relative / error);
        cmg_vector_destroy(&b);
        cmg_vector_destroy(&x);
        cmg_hierarchy_destroy(&h);
    }
}

/* Scales that leave the range of squares change nothing. */
static void b_of_any_size(void)
{
    for (int sign = -1; sign <= 1; sign += 2) {
        cmg_hierarchy *h = jump(1e6);
        cmg_vector *b = vector_of(cmg_hierarchy_rows(h, 0), 3);
        cmg_vector *x = vector_of(cmg_hierarchy_rows(h, 0), 4);
        cmg_solver_options o;
        cmg_solver_options_default(&o);
        o.rtol = 1e-11;
        CHECK_OK(cmg_vector_fill(b, ldexp(1, sign * 800)));
        CHECK_OK(cmg_vector_fill(x, 0));
        CHECK(solve(h, &o, b, x).outcome == CMG_ROUNDING);
        cmg_vector_destroy(&b);
        cmg_vector_destroy(&x);
        cmg_hierarchy_destroy(&h);
    }
}

static void what_is_not_there_yet_is_not_called_so(void)
{
    cmg_hierarchy *h = jump(1e6);
    cmg_vector *b = vector_of(cmg_hierarchy_rows(h, 0), 3);
    cmg_vector *x = vector_of(cmg_hierarchy_rows(h, 0), 4);
    double relative = 0;
    cmg_solver_options o;
    cmg_solver_options_default(&o);
    o.max_it = 4;
    CHECK_OK(cmg_vector_fill(x, 0));
    const cmg_report report = solve(h, &o, b, x);
    CHECK(report.outcome == CMG_ITERATION_LIMIT);
    CHECK(backward_error(h, b, x, &relative) > 4);
    cmg_vector_destroy(&b);
    cmg_vector_destroy(&x);
    cmg_hierarchy_destroy(&h);
}

int main(int argc, char **argv)
{
    TEST_BEGIN(argc, argv);
    RUN(jumps_are_solved_to_rounding);
    RUN(b_of_any_size);
    RUN(what_is_not_there_yet_is_not_called_so);
    return TEST_END();
}
