/* Solves by elements against solves by the assembled matrix. */
#include "../spmv/suite.h"

/* A line of springs with stiffness `factor`, both ends fixed. */
static cmg_elements springs(cmg_size n, cmg_index *dofs, const double *factor)
{
    static const double K[] = {1, -1, -1, 1};
    for (cmg_size e = 0; e <= n; ++e) {
        dofs[2 * e] = (cmg_index)(e - 1);
        dofs[2 * e + 1] = e < n ? (cmg_index)e : -1;
    }
    return (cmg_elements){.rows = n,
                          .count = n + 1,
                          .local = 2,
                          .templates = 1,
                          .dofs = dofs,
                          .matrices = K,
                          .factor = factor};
}

/* The solver goes to *keep where that is not NULL. */
static int iterations(cmg_hierarchy *h, cmg_format format, cmg_precision precision, const double *b,
                      cmg_solver **keep)
{
    cmg_report report = {.size = sizeof report};
    scoped_solver *solver = solver_with(h, "format=%s keep_map precision=%s",
                                        WORD("format", format), WORD("precision", precision));
    scoped_vector *vb = vector_from(999, CMG_FP64, b);
    scoped_vector *vx = vector_new(999, CMG_FP64);
    CHECK_OK(cmg_vector_fill(vx, 0));
    CHECK_OK(cmg_solver_solve(solver, vb, vx, &report));
    CHECK(report.outcome == CMG_CONVERGED_RTOL);
    if (keep != NULL) {
        *keep = solver;
        solver = NULL;
    }
    return report.iterations;
}

/* The hierarchy assembles A, a solve by elements takes as many iterations, and new factors reach
 * it; elements that do not add up to an A that is given are refused. */
TEST(solves_by_elements)
{
    enum { N = 999 };
    cmg_index dofs[2 * (N + 1)];
    double factor[N + 1];
    uint64_t seed = 3;
    for (int e = 0; e <= N; ++e) {
        factor[e] = 1 + cmgi_random(&seed);
    }
    cmg_elements E = springs(N, dofs, factor);
    scoped double *b = random_values(N, 8);
    scoped_hierarchy *h = hierarchy_new(1);
    CHECK_OK(cmg_hierarchy_set_elements(h, 0, &E));
    cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
    CHECK(A.indptr[N] == 3 * N - 2 && A.values[0] == factor[0] + factor[1]);
    scoped_solver *solver = NULL;
    const int plain = iterations(h, CMG_FORMAT_SELL, CMG_FP64, b, NULL);
    CHECK(abs(iterations(h, CMG_FORMAT_EBE, CMG_FP64, b, NULL) - plain) <= 1);
    CHECK(abs(iterations(h, CMG_FORMAT_DBD, CMG_FP32, b, NULL) - plain) <= 1);
    (void)iterations(h, CMG_FORMAT_EBESYM, CMG_FP64, b, &solver);
    for (int e = 0; e <= N; ++e) {
        factor[e] *= 1 + 0.5 * cmgi_random(&seed);
    }
    CHECK_OK(cmg_hierarchy_set_elements(h, 0, &E));
    CHECK_OK(cmg_solver_refresh(solver));
    cmg_report report = {.size = sizeof report};
    scoped_vector *vb = vector_from(N, CMG_FP64, b);
    scoped_vector *vx = vector_new(N, CMG_FP64);
    CHECK_OK(cmg_vector_fill(vx, 0));
    CHECK_OK(cmg_solver_solve(solver, vb, vx, &report));
    scoped double *x = values_of(vx);
    double worst = 0;
    for (int i = 0; i < N; ++i) { /* the rows of the springs themselves */
        const double left = i > 0 ? x[i - 1] : 0;
        const double right = i + 1 < N ? x[i + 1] : 0;
        worst =
            fmax(worst, fabs(b[i] - factor[i] * (x[i] - left) - factor[i + 1] * (x[i] - right)));
    }
    CHECK(worst < 1e-6);
    cmg_solver_destroy(&solver);
    CHECK_STATUS(cmg_hierarchy_update(h, 0, CMG_ROLE_A, A.values), CMG_ERR_STATE);
    A = csr_of(h, 0, CMG_ROLE_A);
    scoped_hierarchy *given = hierarchy_alone(&A);
    CHECK_OK(cmg_hierarchy_set_elements(given, 0, &E));
    factor[17] += 1e-3;
    CHECK_STATUS(cmg_hierarchy_set_elements(given, 0, &E), CMG_ERR_ARG);
}

/* Any entry of A that is off by more than rounding shows, the first column's too. */
TEST(elements_of_another_matrix_are_refused)
{
    enum { N = 40, NNZ = 3 * N - 2 };
    cmg_index dofs[2 * (N + 1)];
    double factor[N + 1];
    uint64_t seed = 9;
    for (int e = 0; e <= N; ++e) {
        factor[e] = pow(10, 6 * cmgi_random(&seed)); /* jumps */
    }
    const cmg_elements E = springs(N, dofs, factor);
    scoped_csr A = csr_line(N, 2, 1);
    EACH_ENTRY (&A, i, k) {
        const cmg_size j = A.indices[k];
        A.values[k] = j == i ? factor[i] + factor[i + 1] : -factor[j > i ? j : i];
    }
    for (cmg_size k = -1; k < NNZ; ++k) {
        double *value = &A.values[k >= 0 ? k : 0];
        const double kept = *value;
        const cmg_size i = k <= 0 ? 0 : (k + 1) / 3;
        *value += k >= 0 ? 1e-10 * (factor[i] + factor[i + 1]) : 0;
        scoped_hierarchy *h = hierarchy_alone(&A.view);
        CHECK_STATUS(cmg_hierarchy_set_elements(h, 0, &E), k < 0 ? CMG_OK : CMG_ERR_ARG);
        *value = kept;
    }
}
