/*
 * Factored and direct approximate inverses against what defines them: SAINV and AINV without
 * dropping are exact, FSAI and ISAI satisfy their equations on the pattern.
 */
#include "smoothers/pattern.h"
#include "smoothers/factors.h"
#include "test.h"

/* Without dropping the factors are exact, in every form. */
TEST(exact_without_dropping)
{
    static const char *const names[] = {
        "sainv:drop=0", "sainv:drop=0:form=three", "sainv:drop=0:form=product",
        "ainv:drop=0",  "ainv:drop=0:form=three",  "ainv:drop=0:form=product"};
    static const cmg_size sizes[] = {1, 2, 5, 31, 33, 64};
    EACH_PAIR (v, sizeof names / sizeof names[0], s, sizeof sizes / sizeof sizes[0]) {
        const cmg_size n = sizes[s];
        scoped double *dense = model_unsymmetric(n);
        if (v < 3) { /* N^T N is symmetric positive definite */
            double *transposed = malloc((size_t)(n * n) * sizeof *transposed);
            FILL(transposed, k, n * n, dense[k % n * n + k / n]);
            double *square = model_multiply(n, transposed, dense);
            free_all(transposed, dense);
            dense = square;
        }
        scoped_csr A = csr_of_dense(n, dense);
        scoped_factors *made = factors_make(&A, names[v]);
        scoped double *M = factors_dense(made);
        CHECK_NEAR(model_distance_to_identity(n, M, dense), 0, 1e-11);
    }
}

/* The three forms are the same operator also with dropping. */
TEST(forms_agree)
{
    enum { M = 9, N = M * M };
    static const char *const methods[] = {"sainv", "ainv"};
    scoped double *dense = model_q1(M, 2, 2);
    model_rescale(N, dense);
    scoped_csr A = csr_of_dense(N, dense);
    for (int v = 0; v < 2; ++v) {
        double *forms[3];
        static const char *const words[] = {"two", "three", "product"};
        for (int f = 0; f < 3; ++f) {
            const char *name = sprint("%s:drop=0.1:form=%s", methods[v], words[f]);
            scoped_factors *made = factors_make(&A, name);
            CHECK(made->factors == (f == 0 ? 2 : f == 1 ? 3 : 1));
            forms[f] = factors_dense(made);
        }
        for (int k = 0; k < N * N; ++k) {
            const double scale = sqrt(fabs(forms[0][k / N * (N + 1)] * forms[0][k % N * (N + 1)]));
            CHECK_NEAR(forms[1][k], forms[0][k], 1e-13 * scale);
            CHECK_NEAR(forms[2][k], forms[0][k], 1e-13 * scale);
        }
        for (int f = 0; f < 3; ++f) {
            free(forms[f]);
        }
    }
}

/* The stored entries a column depend on the drop tolerance, not on the size; caps hold. */
TEST(columns_stay_short)
{
    double per_column[2];
    for (int s = 0; s < 2; ++s) {
        const int m = s == 0 ? 15 : 29;
        const cmg_size n = (cmg_size)m * m;
        scoped double *dense = model_q1(m, 2, 1);
        scoped_csr A = csr_of_dense(n, dense);
        scoped_factors *made = factors_make(&A, "sainv:drop=0.1");
        per_column[s] = (double)made->factor[0].indptr[n] / (double)n;
        factors_discard(&made);
        made = factors_make(&A, "sainv:drop=0:cap=4");
        CHECK_EACH(i, n, made->factor[0].indptr[i + 1] - made->factor[0].indptr[i] <= 4);
    }
    CHECK(per_column[1] < 1.25 * per_column[0]);
}

TEST(indefinite_and_unsymmetric_are_named)
{
    enum { N = 12 };
    static const char *const names[] = {"sainv", "fsai:tau=0"};
    for (int v = 0; v < 2; ++v) {
        scoped double *dense = model_q1(4, 2, 1);
        double small[N * N];
        FILL(small, k, N * N, dense[k / N * 16 + k % N]);
        small[7 * N + 7] = -1;
        scoped_factors *made = factors_new();
        scoped_csr A = csr_of_dense(N, small);
        cmgi_smoother_source source = {.ctx = ctx, .A = A.view};
        CHECK_REFUSED(cmgi_smoother_make(&source, names[v], 0, made), CMG_ERR_SINGULAR,
                      "not positive definite");
        cmgi_smoother_factors_clear(ctx, made);
        cmgi_csr_free(ctx, &A);
        small[7 * N + 7] = 3;
        small[7 * N + 2] += 0.5;
        A = csr_of_dense(N, small);
        source.A = A.view;
        CHECK_STATUS(cmgi_smoother_make(&source, names[v], 0, made), CMG_ERR_UNSUPPORTED);
    }
}

/* ------------------------------------------------------------------ FSAI, ISAI */

/* diag(G A G^T) = 1, and (G A)_ij = 0 for j < i in the pattern of row i of G. */
TEST(fsai_equations)
{
    static const char *const names[] = {"fsai", "fsai:tau=0:adaptive=0", "fsai:tau=0.1:power=2",
                                        "fsai:power=0:adaptive=3:epsilon=0"};
    enum { M = 4, N = M * M * M };
    scoped double *dense = model_q1(M, 3, 3);
    model_rescale(N, dense);
    scoped_csr A = csr_of_dense(N, dense);
    for (size_t v = 0; v < sizeof names / sizeof names[0]; ++v) {
        scoped_factors *made = factors_make(&A, names[v]);
        CHECK(made->factors == 2);
        scoped double *G = dense_of(&made->factor[0].view);
        scoped double *T = dense_of(&made->factor[1].view);
        scoped double *GA = model_multiply(N, G, dense);
        scoped double *GAGt = model_multiply(N, GA, T);
        for (int i = 0; i < N; ++i) {
            CHECK_NEAR(GAGt[i * N + i], 1, 1e-12);
            for (int j = 0; j < N; ++j) {
                CHECK(j <= i || G[i * N + j] == 0);
                CHECK_NEAR(T[j * N + i], G[i * N + j], 0);
                const double scale = sqrt(dense[j * N + j]);
                CHECK(j >= i || G[i * N + j] == 0 || fabs(GA[i * N + j]) < 1e-12 * scale);
            }
        }
    }
}

/* log of the Kaporin number grows with sum log(diag(G A G^T)) - 2 log det G; here sum log g_ii
 * counts. */
TEST(adaptive_fsai_lowers_kaporin_number)
{
    enum { M = 8, N = M * M };
    scoped double *dense = model_q1(M, 2, 3);
    scoped_csr A = csr_of_dense(N, dense);
    double before = -INFINITY;
    for (int steps = 0; steps <= 6; steps += 2) {
        const char *name = sprint("fsai:power=0:epsilon=0:add=1:adaptive=%d", steps);
        scoped_factors *made = factors_make(&A, name);
        scoped double *G = dense_of(&made->factor[0].view);
        double log_determinant = 0;
        for (int i = 0; i < N; ++i) {
            log_determinant += log(G[i * N + i]);
        }
        CHECK(log_determinant > before);
        CHECK(made->factor[0].indptr[N] <= (cmg_size)N * (1 + steps));
        before = log_determinant;
    }
}

/* (M A)_ij = I_ij on the pattern of M, for a matrix without symmetry. */
TEST(isai_equations)
{
    enum { N = 65 };
    static const char *const names[] = {"isai", "isai:tau=0", "isai:tau=0.05:power=2"};
    scoped double *dense = model_unsymmetric(N);
    scoped_csr A = csr_of_dense(N, dense);
    for (size_t v = 0; v < sizeof names / sizeof names[0]; ++v) {
        scoped_factors *made = factors_make(&A, names[v]);
        const cmgi_csr *M = &made->factor[0];
        scoped double *dense_m = dense_of(&M->view);
        scoped double *MA = model_multiply(N, dense_m, dense);
        for (cmg_size i = 0; i < N; ++i) {
            for (cmg_size k = M->indptr[i]; k < M->indptr[i + 1]; ++k) {
                const cmg_size j = M->indices[k];
                CHECK_NEAR(MA[i * N + j], i == j ? 1 : 0, 1e-12);
            }
        }
    }
}

/* ------------------------------------------------------------------ blocks and colours */
