/* The iterations around a cycle that are not CG: flexible CG. */
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

int main(int argc, char **argv)
{
    TEST_BEGIN(argc, argv);
    RUN(flexible_cg_takes_unsymmetric_cycles);
    return TEST_END();
}
