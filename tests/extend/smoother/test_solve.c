/* A smoother that was added by its file and its line is known by its name and solves. */
#include "mg/solves.h"

TEST(is_listed)
{
    int i = 0;
    while (cmg_smoother_name(i) != NULL && strcmp(cmg_smoother_name(i), "row-jacobi") != 0) {
        ++i;
    }
    CHECK(cmg_smoother_name(i) != NULL);
    const cmg_smoother_key *key = cmg_smoother_argument(i, 0);
    CHECK(key != NULL && strcmp(key->key, "part") == 0);
}

TEST(solves)
{
    scoped_hierarchy *h = poisson(16, 3, 0);
    const cmg_size n = cmg_hierarchy_rows(h, 0);
    scoped_vector *b = vector_of(n, 1);
    scoped_vector *x = vector_of(n, 2);
    cmg_solver_options options = solver_options("smoother=row-jacobi:part=0.8");
    const cmg_report report = solve(h, &options, b, x);
    CHECK(cmg_outcome_converged(report.outcome) && report.iterations < 20);
    CHECK(true_residual(h, b, x) < 1e-7);
}
