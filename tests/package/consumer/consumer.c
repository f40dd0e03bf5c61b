/* Two levels of -u'' = 1 on (0, 1), u(0) = u(1) = 0, solved and compared with u = x (1 - x) / 2,
 * which linear elements meet at the nodes. Compiled as C and as C++. */
#include <cmg.h>

#include <stdio.h>

enum { FINE = 31, COARSE = 15 };

typedef struct csr_arrays {
    cmg_size indptr[FINE + 1];
    cmg_index indices[3 * FINE];
    double values[3 * FINE];
} csr_arrays;

/* Stiffness matrix of n inner nodes, tridiag(-1, 2, -1) / h. */
static cmg_csr laplacian(int n, csr_arrays *a)
{
    int k = 0;
    a->indptr[0] = 0;
    for (int i = 0; i < n; ++i) {
        for (int j = i > 0 ? i - 1 : 0; j <= i + 1 && j < n; ++j) {
            a->indices[k] = j;
            a->values[k++] = (i == j ? 2.0 : -1.0) * (n + 1);
        }
        a->indptr[i + 1] = k;
    }
    const cmg_csr csr = {n, n, a->indptr, a->indices, a->values};
    return csr;
}

/* Linear interpolation: coarse node j is fine node 2 j + 1. */
static cmg_csr interpolation(csr_arrays *a)
{
    int k = 0;
    a->indptr[0] = 0;
    for (int i = 0; i < FINE; ++i) {
        for (int j = (i + 1) / 2 - 1; j <= i / 2; ++j) {
            if (j >= 0 && j < COARSE) {
                a->indices[k] = j;
                a->values[k++] = i % 2 == 1 ? 1.0 : 0.5;
            }
        }
        a->indptr[i + 1] = k;
    }
    const cmg_csr csr = {FINE, COARSE, a->indptr, a->indices, a->values};
    return csr;
}

int main(void)
{
    csr_arrays fine;
    csr_arrays coarse;
    csr_arrays between;
    const cmg_csr A0 = laplacian(FINE, &fine);
    const cmg_csr A1 = laplacian(COARSE, &coarse);
    const cmg_csr P0 = interpolation(&between);
    double rhs[FINE];
    for (int i = 0; i < FINE; ++i) {
        rhs[i] = 1.0 / (FINE + 1);
    }
    double solution[FINE] = {0};

    cmg_context *ctx = NULL;
    cmg_hierarchy *h = NULL;
    cmg_solver *s = NULL;
    cmg_vector *b = NULL;
    cmg_vector *x = NULL;
    cmg_report report;
    cmg_report_default(&report);
    const int done =
        cmg_context_create(NULL, &ctx) == CMG_OK && cmg_hierarchy_create(ctx, 2, &h) == CMG_OK &&
        cmg_hierarchy_set_csr(h, 0, CMG_ROLE_A, NULL, 0, &A0) == CMG_OK &&
        cmg_hierarchy_set_csr(h, 1, CMG_ROLE_A, NULL, 0, &A1) == CMG_OK &&
        cmg_hierarchy_set_csr(h, 0, CMG_ROLE_P, NULL, 0, &P0) == CMG_OK &&
        cmg_vector_wrap(ctx, FINE, CMG_FP64, rhs, &b) == CMG_OK &&
        cmg_vector_wrap(ctx, FINE, CMG_FP64, solution, &x) == CMG_OK &&
        cmg_solver_create(h, NULL, &s) == CMG_OK && cmg_solver_solve(s, b, x, &report) == CMG_OK &&
        cmg_outcome_converged(report.outcome);
    if (!done) {
        printf("failed: %s\n", ctx != NULL ? cmg_context_message(ctx) : "no context");
    }
    double worst = 0;
    for (int i = 0; i < FINE; ++i) {
        const double at = (i + 1.0) / (FINE + 1);
        const double error = solution[i] - 0.5 * at * (1 - at);
        worst = error > worst ? error : -error > worst ? -error : worst;
    }
    cmg_vector_destroy(&x);
    cmg_vector_destroy(&b);
    cmg_solver_destroy(&s);
    cmg_hierarchy_destroy(&h);
    cmg_context_destroy(&ctx);
    if (done && worst < 1e-7) {
        printf("solved with CascadeMG %s, error %.1e\n", cmg_version(), worst);
    }
    return done && worst < 1e-7 ? 0 : 1;
}
