/*
 * The smoother `auto`: what it becomes, that it contracts on every symmetric positive definite
 * matrix, and that its estimate sees the same spectrum in every format, precision and
 * numbering.
 */
#include "smoothers/factors.h"
#include "smoothers/spectrum.h"
#include "test.h"

enum { SIDE = 9 };

/* Five-point matrix of -ax u_xx - ay u_yy + vx u_x (central differences, unit cells) + shift. */
static double *five_points(int m, double ax, double ay, double vx, double shift)
{
    const int n = m * m;
    double *A = calloc((size_t)(n * n), sizeof *A);
    for (int i = 0; i < n; ++i) {
        const int x = i % m;
        const int y = i / m;
        A[i * n + i] = 2 * ax + 2 * ay + shift;
        const double side[4] = {-ax - vx / 2, -ax + vx / 2, -ay, -ay};
        const int to[4] = {x > 0 ? i - 1 : -1, x + 1 < m ? i + 1 : -1, y > 0 ? i - m : -1,
                           y + 1 < m ? i + m : -1};
        for (int k = 0; k < 4; ++k) {
            if (to[k] >= 0) {
                A[i * n + to[k]] = side[k];
            }
        }
    }
    return A;
}

static void becomes(double ax, double ay, double vx, double shift, const char *chosen, int stages)
{
    scoped double *dense = five_points(SIDE, ax, ay, vx, shift);
    scoped_csr A = csr_of_dense(SIDE * SIDE, dense);
    scoped_factors *made = factors_make(&A, "auto");
    CHECK(strcmp(made->chosen, chosen) == 0);
    CHECK(made->stages == stages);
    if (strcmp(made->chosen, chosen) != 0 || made->stages != stages) {
        printf("  a %g %g, v %g, shift %g: %s, %d stages\n", ax, ay, vx, shift, made->chosen,
               made->stages);
    }
}

TEST(follows_the_matrix)
{
    becomes(1, 1, 0, 0, "chebyshev4", 2);
    becomes(1, 0.5, 0, 0, "chebyshev4", 2);
    becomes(1, 0.01, 0, 0, "chebyshev4", 6); /* lines */
    becomes(1, 1, 0, 4.1, "jacobi", 1);      /* eigenvalues of D^-1 A in 1 -+ 4 / 8.1 */
    becomes(1, 1, 0, 3.5, "chebyshev4", 2);  /* in 1 -+ 4 / 7.5: just not */
    becomes(1, 1, 0.4, 0, "chebyshev4", 2);  /* |A - A^T| = 0.12 |A| */
    becomes(1, 1, 0.6, 0, "spai", 1);        /* 0.18 */
    becomes(1, 1, 0.5, 0, "spai", 1);
    becomes(1, 1, 5, 0, "ainv", 1);
}

/* Jacobi there reduces every error by half at least: |1 - omega lambda| on [1 - s, 1 + s]. */
TEST(jacobi_is_enough)
{
    scoped double *dense = five_points(SIDE, 1, 1, 0, 8);
    scoped_csr A = csr_of_dense(SIDE * SIDE, dense);
    scoped_factors *made = factors_make(&A, "auto");
    const double s = 4 * cos(3.14159265358979323846 / (SIDE + 1)) / 12;
    CHECK(fabs(1 - made->stage[0] * (1 + s)) <= 0.5 && fabs(1 - made->stage[0] * (1 - s)) <= 0.5);
    CHECK_NEAR(made->stage[0], 1, 0.02);
}

/*
 * Largest eigenvalues of D^-1 A from 1.1 to n: the residual polynomial stays in (-1, 1) on all of
 * (0, lambda_max], so that a symmetric cycle is positive definite. A = I + c (ones): 1 and 1 + c n.
 */
TEST(never_indefinite)
{
    enum { N = 40 };
    for (double c = 0.01; c < 1000; c *= 3) {
        double dense[N * N];
        FILL(dense, k, N * N, (k % (N + 1) == 0 ? 1 : 0) + c);
        scoped_csr A = csr_of_dense(N, dense);
        scoped_factors *made = factors_make(&A, "auto");
        const double eigenvalue[2] = {1 / (1 + c), (1 + c * N) / (1 + c)};
        for (int e = 0; e < 2; ++e) {
            double q = 1;
            for (int j = 0; j < made->stages; ++j) {
                q *= 1 - made->stage[j] * eigenvalue[e];
            }
            CHECK(fabs(q) < 1);
        }
    }
}

/* One spectrum, whatever the storage. */
TEST(sees_the_matrix_of_the_cycle)
{
    static const cmg_format formats[] = {CMG_FORMAT_CSR, CMG_FORMAT_SELL, CMG_FORMAT_K1RS,
                                         CMG_FORMAT_COMPRESSED};
    scoped double *dense = five_points(SIDE, 1, 0.3, 0, 0);
    scoped_csr A = csr_of_dense(SIDE * SIDE, dense);
    scoped_factors *jacobi = factors_make(&A, "jacobi");
    cmgi_smoother_source source = {.ctx = ctx, .A = A.view};
    cmgi_spectrum exact;
    CHECK_OK(cmgi_spectrum_estimate(&source, jacobi->factor, 1, CMGI_LANCZOS_STEPS, &exact));
    CHECK_NEAR(exact.largest, 1 + cos(3.14159265358979323846 / (SIDE + 1)), 0.1);
    EACH_PAIR (f, sizeof formats / sizeof formats[0], p, 2) {
        cmgi_spectrum seen;
        cmg_matrix_options options = matrix_options(
            "format=%s precision=%s", WORD("format", formats[f]), p == 0 ? "fp64" : "mixed");
        scoped_matrix *matrix = matrix_new(&A.view, &options);
        source.matrix = matrix;
        CHECK_OK(cmgi_spectrum_estimate(&source, jacobi->factor, 1, CMGI_LANCZOS_STEPS, &seen));
        CHECK(seen.symmetric);
        CHECK_NEAR(seen.largest, exact.largest, 0.05 * exact.largest);
    }
}

/* Identity rows whose columns are kept make A unsymmetric; the interior is what counts. */
TEST(leaves_dirichlet_rows_out)
{
    enum { N = SIDE * SIDE };
    scoped double *dense = five_points(SIDE, 1, 1, 0, 0);
    model_dirichlet(N, 7, dense);
    scoped_csr A = csr_of_dense(N, dense);
    scoped_factors *kept = factors_make(&A, "auto");
    CHECK(strcmp(kept->chosen, "chebyshev4") == 0);
    for (int i = 0; i < N; i += 7) {
        for (int j = 0; j < N; ++j) {
            dense[j * N + i] = i == j;
        }
    }
    scoped_csr B = csr_of_dense(N, dense);
    scoped_factors *gone = factors_make(&B, "auto");
    CHECK_NEAR(kept->stage[0], gone->stage[0], 1e-10);
}
