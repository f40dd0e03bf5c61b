/* CG for the caller's own operators: what it is given is looked at, what a callback says is
 * believed only if it is a status.
 */
#include "test.h"

enum { N = 12 };

static int answer; /* of the callback */

static cmg_status apply(void *user, const cmg_vector *x, cmg_vector *y)
{
    double values[N];
    (void)user;
    if (answer != CMG_OK) {
        return (cmg_status)answer;
    }
    CHECK_OK(cmg_vector_get(x, values));
    for (int i = 0; i < N; ++i) {
        values[i] *= 1 + i % 3;
    }
    return cmg_vector_set(y, values);
}

static cmg_status solve(const cmg_operator *A, const cmg_operator *C, const cmg_vector *b,
                        cmg_vector *x, const cmg_solver_options *o)
{
    cmg_report report;
    cmg_report_default(&report);
    return cmg_cg(ctx, A, C, b, x, o, &report);
}

TEST(wrong_arguments_are_refused)
{
    const cmg_operator A = {N, N, apply, NULL};
    const cmg_operator none = {N, N, NULL, NULL};
    double memory[2 * N] = {0};
    scoped_vector *b = vector_new(N, CMG_FP64);
    scoped_vector *x = vector_new(N, CMG_FP64);
    scoped_vector *first = NULL;
    scoped_vector *overlapping = NULL;
    answer = CMG_OK;
    CHECK_OK(cmg_vector_wrap(ctx, N, CMG_FP64, memory, &first));
    CHECK_OK(cmg_vector_wrap(ctx, N, CMG_FP64, memory + N - 1, &overlapping));
    CHECK_OK(cmg_vector_fill(b, 1));
    CHECK_OK(solve(&A, NULL, b, x, NULL));
    CHECK_STATUS(solve(&none, NULL, b, x, NULL), CMG_ERR_ARG);
    CHECK_STATUS(solve(&A, &none, b, x, NULL), CMG_ERR_ARG);
    CHECK_STATUS(solve(&A, NULL, b, b, NULL), CMG_ERR_ARG);
    CHECK_STATUS(solve(&A, NULL, first, overlapping, NULL), CMG_ERR_ARG);
    static const double rtols[] = {-1, 1, INFINITY, NAN, 1e-8, 1e-8, 1e-8};
    static const int limits[] = {100, 100, 100, 100, -1, -5, 2000000000};
    for (int k = 0; k < 7; ++k) {
        cmg_solver_options o = solver_defaults();
        o.rtol = rtols[k];
        o.max_it = limits[k];
        CHECK_STATUS(solve(&A, NULL, b, x, &o), CMG_ERR_ARG);
    }
}

/* The status comes back, with a sentence of this failure and not of an older one. */
TEST(failures_of_callbacks_come_back)
{
    const cmg_operator A = {N, N, apply, NULL};
    scoped_vector *b = vector_new(N, CMG_FP64);
    scoped_vector *x = vector_new(N, CMG_FP64);
    CHECK_OK(cmg_vector_fill(b, 1));
    (void)cmgi_fail(ctx, CMG_ERR_STATE, "an older sentence");
    answer = CMG_ERR_DEVICE;
    CHECK_REFUSED(solve(&A, NULL, b, x, NULL), CMG_ERR_DEVICE, "CMG_ERR_DEVICE");
    answer = 1234;
    CHECK_REFUSED(solve(&A, NULL, b, x, NULL), CMG_ERR_ARG, "1234");
}

/* A kept solver, one graph on CUDA, follows values that change in place: A to 2 A. */
TEST(kept_solver_follows_new_values)
{
    enum { ROWS = 300 };
    double u[2][ROWS];
    scoped_csr csr = csr_line(ROWS, 2.5, 1);
    const cmg_solver_options o = solver_options("loop=graph rtol=1e-12");
    cmg_cg_solver *cg = NULL;
    cmg_report report;
    cmg_report_default(&report);
    scoped_matrix *M = matrix_with(&csr.view, "keep_map");
    const cmg_operator A = cmg_matrix_operator(M);
    CHECK_STATUS(cmg_cg_create(ctx, &A, NULL, &o, NULL), CMG_ERR_ARG);
    CHECK_OK(cmg_cg_create(ctx, &A, NULL, &o, &cg));
    scoped_vector *b = vector_new(ROWS, CMG_FP64);
    scoped_vector *x = vector_new(ROWS, CMG_FP64);
    CHECK_OK(cmg_vector_fill(b, 1));
    for (int k = 0; k < 2; ++k) {
        CHECK_OK(cmg_vector_fill(x, 0));
        CHECK_OK(cmg_cg_solve(cg, b, x, &report));
        CHECK(cmg_outcome_converged(report.outcome) && report.iterations > 5);
        CHECK(report.loop == CMG_LOOP_HOST || cmg_context_backend(ctx) == CMG_BACKEND_CUDA);
        CHECK_OK(cmg_vector_get(x, u[k]));
        for (int e = 0; e < csr.indptr[ROWS]; ++e) {
            csr.values[e] *= 2;
        }
        CHECK_OK(cmg_matrix_update(M, csr.values));
    }
    CHECK_NEAR_EACH(i, ROWS, u[0][i], 2 * u[1][i], 1e-10);
    CHECK_STATUS(cmg_cg_solve(cg, b, b, &report), CMG_ERR_ARG);
    /* limits for the next solves: fewer iterations, none where |b| is small enough, one at most */
    const int full = report.iterations;
    CHECK_OK(cmg_cg_set_limits(cg, 1e-2, -1, 0));
    CHECK_OK(cmg_vector_fill(x, 0));
    CHECK_OK(cmg_cg_solve(cg, b, x, &report));
    CHECK(report.outcome == CMG_CONVERGED_RTOL && report.iterations < full);
    CHECK(report.relative_residual <= 1e-2 && report.relative_residual > 1e-12);
    CHECK_OK(cmg_cg_set_limits(cg, -1, 1.01 * report.rhs_norm, 0));
    CHECK_OK(cmg_vector_fill(x, 0));
    CHECK_OK(cmg_cg_solve(cg, b, x, &report));
    CHECK(report.outcome == CMG_CONVERGED_ATOL && report.iterations == 0);
    CHECK_NEAR(report.rhs_norm, sqrt(ROWS), 1e-12);
    CHECK_OK(cmg_cg_set_limits(cg, 1e-12, 0, 1));
    CHECK_OK(cmg_cg_solve(cg, b, x, &report));
    CHECK(report.outcome == CMG_ITERATION_LIMIT && report.iterations == 1);
    CHECK_STATUS(cmg_cg_set_limits(cg, 2, -1, 0), CMG_ERR_ARG);
    CHECK_STATUS(cmg_cg_set_limits(NULL, -1, -1, 0), CMG_ERR_ARG);
    cmg_cg_destroy(&cg);
}
