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

static int iterations(cmg_hierarchy *h, cmg_format format, cmg_precision precision, const double *b,
                      cmg_solver **keep)
{
    cmg_report report = {.size = sizeof report};
    double *x = calloc(999, sizeof *x);
    cmg_solver *solver = solver_with(h, "format=%s keep_map precision=%s", WORD("format", format),
                                     WORD("precision", precision));
    cmg_vector *vb = vector_new(999, CMG_FP64);
    cmg_vector *vx = vector_new(999, CMG_FP64);
    CHECK_OK(cmg_vector_set(vb, b));
    CHECK_OK(cmg_vector_set(vx, x));
    CHECK_OK(cmg_solver_solve(solver, vb, vx, &report));
    CHECK(report.outcome == CMG_CONVERGED_RTOL);
    vectors_destroy(&vb, &vx);
    free(x);
    if (keep != NULL) {
        *keep = solver;
    } else {
        cmg_solver_destroy(&solver);
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
    cmg_solver *solver = NULL;
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
    scoped double *x = calloc(N, sizeof *x);
    cmg_vector *vb = vector_new(N, CMG_FP64);
    cmg_vector *vx = vector_new(N, CMG_FP64);
    CHECK_OK(cmg_vector_set(vb, b));
    CHECK_OK(cmg_vector_fill(vx, 0));
    CHECK_OK(cmg_solver_solve(solver, vb, vx, &report));
    CHECK_OK(cmg_vector_get(vx, x));
    double worst = 0;
    for (int i = 0; i < N; ++i) { /* the rows of the springs themselves */
        const double left = i > 0 ? x[i - 1] : 0;
        const double right = i + 1 < N ? x[i + 1] : 0;
        worst =
            fmax(worst, fabs(b[i] - factor[i] * (x[i] - left) - factor[i + 1] * (x[i] - right)));
    }
    CHECK(worst < 1e-6);
    vectors_destroy(&vb, &vx);
    cmg_solver_destroy(&solver);
    CHECK_STATUS(cmg_hierarchy_update(h, 0, CMG_ROLE_A, A.values), CMG_ERR_STATE);
    A = csr_of(h, 0, CMG_ROLE_A);
    scoped_hierarchy *given = hierarchy_new(1);
    CHECK_OK(cmg_hierarchy_set_csr(given, 0, CMG_ROLE_A, NULL, 0, &A));
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
    cmg_size indptr[N + 1] = {0};
    cmg_index indices[NNZ];
    double values[NNZ];
    uint64_t seed = 9;
    for (int e = 0; e <= N; ++e) {
        factor[e] = pow(10, 6 * cmgi_random(&seed)); /* jumps */
    }
    const cmg_elements E = springs(N, dofs, factor);
    cmg_size nnz = 0;
    for (int i = 0; i < N; ++i) {
        for (int j = i > 0 ? i - 1 : 0; j <= i + 1 && j < N; ++j, ++nnz) {
            indices[nnz] = j;
            values[nnz] = j == i ? factor[i] + factor[i + 1] : -factor[j > i ? j : i];
        }
        indptr[i + 1] = nnz;
    }
    const cmg_csr A = {
        .rows = N, .cols = N, .indptr = indptr, .indices = indices, .values = values};
    for (cmg_size k = -1; k < NNZ; ++k) {
        const double kept = k >= 0 ? values[k] : 0;
        if (k >= 0) {
            const cmg_size i = k == 0 ? 0 : (k + 1) / 3;
            values[k] += 1e-10 * (factor[i] + factor[i + 1]);
        }
        cmg_hierarchy *h = hierarchy_new(1);
        CHECK_OK(cmg_hierarchy_set_csr(h, 0, CMG_ROLE_A, NULL, 0, &A));
        CHECK_STATUS(cmg_hierarchy_set_elements(h, 0, &E), k < 0 ? CMG_OK : CMG_ERR_ARG);
        cmg_hierarchy_destroy(&h);
        values[k >= 0 ? k : 0] = k >= 0 ? kept : values[0];
    }
}
