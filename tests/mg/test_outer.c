/* What else there is besides CG around cycles: flexible CG, smoothing without a hierarchy. */
#include "solves.h"

/* One step before the coarse correction and none after it: C is not symmetric, and CG has to pay.
 */
static void flexible_cg_takes_unsymmetric_cycles(void)
{
    cmg_hierarchy *h = poisson(32, 4, 0);
    const cmg_size n = cmg_hierarchy_rows(h, 0);
    cmg_vector *b = vector_of(n, 3);
    cmg_vector *x = vector_of(n, 4);
    cmg_solver_options o = defaults();
    int iterations[2][2];
    for (int post = 0; post < 2; ++post) {
        for (int flexible = 0; flexible < 2; ++flexible) {
            o.krylov = flexible ? CMG_KRYLOV_FCG : CMG_KRYLOV_CG;
            o.post = post;
            CHECK_OK(cmg_vector_fill(x, 0));
            const cmg_report report = solve(h, &o, b, x);
            iterations[post][flexible] = report.iterations;
            CHECK(!flexible || report.outcome == CMG_CONVERGED_RTOL);
            CHECK(!flexible || true_residual(h, b, x) <= 1e-8);
        }
    }
    CHECK(iterations[0][1] < iterations[0][0]);
    CHECK(iterations[1][1] == iterations[1][0]);
    cmg_vector_destroy(&b);
    cmg_vector_destroy(&x);
    cmg_hierarchy_destroy(&h);
}

/* Cycle "none" is a solver on level 0 alone, whatever lies below; and one-level files need nothing.
 */
static void smoothing_alone_needs_no_hierarchy(void)
{
    cmg_hierarchy *h = poisson(24, 3, POISSON_COLUMNS);
    cmg_hierarchy *one = NULL;
    cmg_csr A;
    const cmg_size n = cmg_hierarchy_rows(h, 0);
    CHECK_OK(cmg_hierarchy_get_csr(h, 0, CMG_ROLE_A, NULL, 0, &A));
    CHECK_OK(cmg_hierarchy_create(ctx, 1, &one));
    CHECK_OK(cmg_hierarchy_set_csr(one, 0, CMG_ROLE_A, NULL, 0, &A));
    cmg_vector *b = vector_of(n, 3);
    cmg_vector *x[3] = {vector_of(n, 4), vector_of(n, 4), vector_of(n, 4)};
    cmg_solver_options o = defaults();
    o.smoother = "least-squares:degree=5";
    o.cycle = CMG_CYCLE_NONE;
    o.pre = 2;
    const cmg_report many = solve(h, &o, b, x[0]);
    const cmg_report single = solve(one, &o, b, x[1]);
    o.cycle = CMG_CYCLE_V;
    o.coarse_steps = 3;
    const cmg_report smoothed = solve(one, &o, b, x[2]);
    double *values[3];
    for (int k = 0; k < 3; ++k) {
        values[k] = malloc((size_t)n * sizeof(double));
        CHECK_OK(cmg_vector_get(x[k], values[k]));
    }
    CHECK(many.outcome == CMG_CONVERGED_RTOL && true_residual(h, b, x[0]) <= 1e-8);
    CHECK(single.iterations == many.iterations && smoothed.iterations == many.iterations);
    CHECK(memcmp(values[0], values[1], (size_t)n * sizeof(double)) == 0);
    CHECK(memcmp(values[0], values[2], (size_t)n * sizeof(double)) == 0);
    size_t bytes[2];
    o.cycle = CMG_CYCLE_NONE;
    CHECK_OK(cmg_solver_memory(h, &o, &bytes[0]));
    CHECK_OK(cmg_solver_memory(one, &o, &bytes[1]));
    CHECK(bytes[0] == bytes[1]);
    o.pre = 0;
    o.post = 0;
    cmg_solver *s = NULL;
    CHECK_STATUS(cmg_solver_create(h, &o, &s), CMG_ERR_ARG);
    for (int k = 0; k < 3; ++k) {
        free(values[k]);
        cmg_vector_destroy(&x[k]);
    }
    cmg_vector_destroy(&b);
    cmg_hierarchy_destroy(&one);
    cmg_hierarchy_destroy(&h);
}

int main(int argc, char **argv)
{
    TEST_BEGIN(argc, argv);
    RUN(flexible_cg_takes_unsymmetric_cycles);
    RUN(smoothing_alone_needs_no_hierarchy);
    return TEST_END();
}
