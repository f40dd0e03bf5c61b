/* The inverse of small symmetric positive definite matrices, on the host and on the device: A X = 1
 * by plain loops. */
#include "core/backend.h"
#include "mg/coarse.h"
#include "test.h"

#include <float.h>

/* B B^T / n + shift, B random. */
static double *positive(cmg_size n, double shift)
{
    scoped double *B = random_values(n * n, (uint64_t)n + 5);
    double *A = malloc((size_t)(n * n + 1) * sizeof *A);
    for (cmg_size i = 0; i < n; ++i) {
        for (cmg_size j = 0; j < n; ++j) {
            A[i * n + j] = dot(B + i * n, B + j * n, n) / (double)n;
        }
        A[i * n + i] += shift;
    }
    return A;
}

/* As the backend does it. */
static cmg_status invert(cmg_size n, double *X, bool *definite)
{
    return ctx->backend->invert != NULL
               ? ctx->backend->invert(ctx, n, largest(X, n * n), X, definite)
               : cmgi_small_inverse(ctx, n, false, X, definite);
}

TEST(inverts)
{
    static const cmg_size sizes[] = {1, 2, 3, 4, 5, 8, 31, 64, 65, 150};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
        const cmg_size n = sizes[s];
        scoped double *A = positive(n, 0.5);
        scoped double *X = scaled_copy(A, n * n, 1);
        bool definite = false;
        double worst = 0;
        CHECK_OK(invert(n, X, &definite));
        CHECK(definite);
        for (cmg_size i = 0; i < n; ++i) {
            for (cmg_size j = 0; j < n; ++j) { /* X is symmetric: row j is column j */
                worst = worst_of(worst, fabs(dot(A + i * n, X + j * n, n) - (i == j)));
                CHECK(X[i * n + j] == X[j * n + i]);
            }
        }
        CHECK(worst <= 100 * (double)n * DBL_EPSILON); /* of condition 10 */
    }
}

/* Singular and indefinite matrices come back as they were. */
TEST(refuses)
{
    for (cmg_size n = 1; n < 8; ++n) {
        for (int kind = 0; kind < 2; ++kind) {
            scoped double *A = positive(n, 0.5);
            bool definite = true;
            for (cmg_size i = 0; i < n && kind == 0; ++i) { /* the last unknown repeats the first */
                A[i * n + n - 1] = n > 1 ? A[i * n] : 0;
            }
            for (cmg_size j = 0; j < n && kind == 0 && n > 1; ++j) {
                A[(n - 1) * n + j] = A[j];
            }
            A[n * n - 1] = kind == 1 ? -1 : (n > 1 ? A[0] : 0);
            scoped double *X = scaled_copy(A, n * n, 1);
            CHECK_OK(invert(n, X, &definite));
            CHECK(!definite && memcmp(X, A, (size_t)(n * n) * sizeof *X) == 0);
            A[n * n - 1] = 0; /* in no semidefinite matrix beside what is not 0 */
            CHECK_OK(cmgi_small_inverse(ctx, n, true, kind == 1 ? X : A, &definite));
            CHECK(definite == (kind == 0 && n == 1));
        }
    }
}

/* A B of dense matrices */
static double *product(const double *A, const double *B, cmg_size n)
{
    double *C = calloc((size_t)(n * n), sizeof *C);
    EACH_PAIR (i, n, k, n) {
        add_scaled(C + i * n, A[i * n + k], B + k * n, n);
    }
    return C;
}

/* The largest entry of A X A - A, X - X^T and, with constants, X 1, relative to the largest of A,
 * of X, of X. */
static double pseudo_defect(const double *A, const double *X, cmg_size n, bool constants)
{
    scoped double *AX = product(A, X, n);
    scoped double *AXA = product(AX, A, n);
    double asymmetry = 0;
    double sums = 0;
    for (cmg_size i = 0; i < n; ++i) {
        double sum = 0;
        for (cmg_size j = 0; j < n; ++j) {
            sum += X[i * n + j];
            asymmetry = worst_of(asymmetry, fabs(X[i * n + j] - X[j * n + i]));
        }
        sums = worst_of(sums, constants ? fabs(sum) : 0);
    }
    return fmax(relative_difference(AXA, A, n * n), fmax(asymmetry, sums) / largest(X, n * n));
}

/* A ring of n nodes with random weights, from 0.5 to 1.5, in so many parts: every row sums to 0. */
static void ring(cmg_size n, cmg_size parts, double *A)
{
    uint64_t seed = (uint64_t)n;
    memset(A, 0, (size_t)(n * n) * sizeof *A);
    for (cmg_size i = 0; i < n; ++i) {
        const cmg_size part = n / parts;
        const cmg_size j = i / part * part + (i + 1) % part;
        const double weight = cmgi_random(&seed) + 0.5;
        A[i * n + i] += weight;
        A[j * n + j] += weight;
        A[i * n + j] -= weight;
        A[j * n + i] -= weight;
    }
}

/* A wheel that turns one way takes constants to 0: what it gives is solved for, A X A = A. */
TEST(singular_and_unsymmetric)
{
    for (cmg_size n = 2; n < 200; n = 2 * n + 1) {
        scoped double *X = malloc((size_t)(n * n) * sizeof *X);
        scoped double *A = calloc((size_t)(n * n), sizeof *A);
        scoped_csr M = csr_new(n, n, 2 * n);
        cmgi_inverse_kind kind = CMGI_INVERSE_CHOLESKY;
        uint64_t seed = 3;
        for (cmg_size i = 0; i < n; ++i) {
            const cmg_size next = (i + 1) % n;
            const double weight = 1 + cmgi_random(&seed);
            A[i * n + i] = weight;
            A[i * n + next] = -weight;
            csr_put(&M, i, i < next ? i : next, i < next ? weight : -weight);
            csr_put(&M, i, i < next ? next : i, i < next ? -weight : weight);
        }
        csr_end(&M);
        CHECK_OK(cmgi_dense_inverse(ctx, &M.view, X, &kind));
        CHECK(kind == CMGI_INVERSE_LU);
        scoped double *AX = product(A, X, n);
        scoped double *AXA = product(AX, A, n);
        CHECK_NEAR(largest_difference(AXA, A, n * n), 0, 1e-12 * (double)n);
    }
}

/* A X A = A, and the Moore-Penrose inverse where constants alone go to 0. */
TEST(singular_graphs)
{
    static const cmg_size sizes[] = {4, 6, 32, 64, 130, 320, 350};
    for (size_t s = 0; s < 2 * (sizeof sizes / sizeof *sizes); ++s) {
        const cmg_size n = sizes[s / 2];
        const cmg_size parts = 1 + (cmg_size)(s % 2);
        scoped double *A = malloc((size_t)(n * n) * sizeof *A);
        scoped double *X = malloc((size_t)(n * n) * sizeof *X);
        scoped_csr M = csr_new(n, n, n * n);
        ring(n, parts, A);
        for (cmg_size k = 0; k < n * n; ++k) {
            csr_put(&M, k / n, k % n, A[k]);
        }
        csr_end(&M);
        cmgi_inverse_kind kind = CMGI_INVERSE_LU;
        CHECK_OK(cmgi_dense_inverse(ctx, &M.view, X, &kind));
        CHECK(kind == CMGI_INVERSE_PSEUDO);
        CHECK(pseudo_defect(A, X, n, parts == 1) <= 100 * (double)(n * n) * DBL_EPSILON);
    }
}
