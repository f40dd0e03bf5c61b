/* Small least squares by QR against LAPACK, and where columns depend on each other. */
#include "smoothers/spai.h"
#include "test.h"

#ifdef CMGI_HAVE_LAPACK
extern void dgels_(const char *trans, const int *m, const int *n, const int *nrhs, double *a,
                   const int *lda, double *b, const int *ldb, double *work, const int *lwork,
                   int *info);
#endif

TEST(qr_matches_lapack)
{
#ifdef CMGI_HAVE_LAPACK
    static const int shapes[][2] = {{1, 1}, {2, 1}, {5, 5}, {9, 4}, {33, 9}, {125, 27}, {64, 63}};
    uint64_t seed = 1;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; ++s) {
        const int m = shapes[s][0];
        const int n = shapes[s][1];
        const int one = 1;
        const int lwork = 64 * 64 * 4;
        int info = -1;
        scoped double *L = malloc((size_t)(m * n) * sizeof *L);
        scoped double *K = malloc((size_t)(m * n) * sizeof *K);
        scoped double *b = malloc((size_t)m * sizeof *b);
        scoped double *c = malloc((size_t)m * sizeof *c);
        scoped double *x = malloc((size_t)n * sizeof *x);
        scoped double *diagonal = malloc((size_t)n * sizeof *diagonal);
        scoped double *work = malloc((size_t)lwork * sizeof *work);
        for (int k = 0; k < m * n; ++k) {
            L[k] = 2 * cmgi_random(&seed) - 1;
            K[k] = L[k];
        }
        for (int k = 0; k < m; ++k) {
            b[k] = 2 * cmgi_random(&seed) - 1;
            c[k] = b[k];
        }
        dgels_("N", &m, &n, &one, K, &m, c, &m, work, &lwork, &info);
        CHECK(info == 0);
        cmgi_qr_solve(m, n, L, b, diagonal, x);
        for (int k = 0; k < n; ++k) {
            /* condition numbers of these random matrices stay below 1e4 */
            CHECK_NEAR(x[k], c[k], 1e-11 * (1 + fabs(c[k])));
        }
    }
#else
    SKIP("no LAPACK in this build");
#endif
}

TEST(qr_solves_deficient_systems)
{
    /* second column twice the first, then more columns than rows, then zero */
    double L[] = {1, 2, 2, 2, 4, 4};
    double b[] = {9, 0, 0};
    double diagonal[3];
    double x[3];
    cmgi_qr_solve(3, 2, L, b, diagonal, x);
    CHECK_NEAR(x[0], 1, 1e-14);
    CHECK_NEAR(x[1], 0, 0);
    double wide[] = {2, 1, 1};
    double c[] = {4};
    cmgi_qr_solve(1, 3, wide, c, diagonal, x);
    CHECK_NEAR(x[0] * 2 + x[1] + x[2], 4, 1e-14);
    double zeros[] = {0, 0};
    double d[] = {1, 1};
    cmgi_qr_solve(2, 1, zeros, d, diagonal, x);
    CHECK_NEAR(x[0], 0, 0);
}

/* Columns that depend on earlier ones, first, in the middle and last, take nothing away from the
 * others: the residual is orthogonal to all of them. */
TEST(qr_reaches_the_minimum_of_deficient_systems)
{
    enum { M = 23, N = 8 };
    uint64_t seed = 3;
    double L[M * N];
    double K[M * N];
    double b[M];
    double r[M];
    double diagonal[N];
    double x[N];
    FILL(L, k, M * N, 2 * cmgi_random(&seed) - 1);
    for (int i = 0; i < M; ++i) {
        L[i] = 0;
        L[3 * M + i] = 1e6 * (L[M + i] - L[2 * M + i] / 3);
        L[7 * M + i] = L[4 * M + i] / 7 + 5 * L[6 * M + i];
        b[i] = 2 * cmgi_random(&seed) - 1;
    }
    memcpy(K, L, sizeof K);
    memcpy(r, b, sizeof r);
    cmgi_qr_solve(M, N, L, b, diagonal, x);
    CHECK(x[0] == 0 && x[3] == 0 && x[7] == 0);
    for (int k = 0; k < M * N; ++k) {
        r[k % M] -= K[k] * x[k / M];
    }
    for (int j = 0; j < N; ++j) {
        double sum = 0;
        double norm2 = 0;
        for (int i = 0; i < M; ++i) {
            sum += K[j * M + i] * r[i];
            norm2 += K[j * M + i] * K[j * M + i];
        }
        CHECK_NEAR(sum, 0, 1e-13 * (1 + sqrt(norm2)));
    }
}
