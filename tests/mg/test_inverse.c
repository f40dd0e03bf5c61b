/* The inverse of small symmetric positive definite matrices, on the host and on the device: A X = 1
 * by plain loops. */
#include "core/backend.h"
#include "mg/coarse.h"
#include "test.h"

#include <float.h>

/* B B^T / n + shift, B random. */
static double *positive(cmg_size n, double shift)
{
    uint64_t seed = (uint64_t)n + 5;
    scoped double *B = malloc((size_t)(n * n + 1) * sizeof *B);
    double *A = calloc((size_t)(n * n + 1), sizeof *A);
    for (cmg_size k = 0; k < n * n; ++k) {
        B[k] = 2 * cmgi_random(&seed) - 1;
    }
    for (cmg_size i = 0; i < n; ++i) {
        for (cmg_size j = 0; j < n; ++j) {
            for (cmg_size k = 0; k < n; ++k) {
                A[i * n + j] += B[i * n + k] * B[j * n + k] / (double)n;
            }
        }
        A[i * n + i] += shift;
    }
    return A;
}

/* As the backend does it. */
static cmg_status invert(cmg_size n, double *X, bool *definite)
{
    double largest = 0;
    for (cmg_size k = 0; k < n * n; ++k) {
        largest = fmax(largest, fabs(X[k]));
    }
    return ctx->backend->invert != NULL ? ctx->backend->invert(ctx, n, largest, X, definite)
                                        : cmgi_small_inverse(ctx, n, false, X, definite);
}

TEST(inverts)
{
    static const cmg_size sizes[] = {1, 2, 3, 4, 5, 8, 31, 64, 65, 150};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
        const cmg_size n = sizes[s];
        scoped double *A = positive(n, 0.5);
        scoped double *X = malloc((size_t)(n * n) * sizeof *X);
        bool definite = false;
        double worst = 0;
        memcpy(X, A, (size_t)(n * n) * sizeof *X);
        CHECK_OK(invert(n, X, &definite));
        CHECK(definite);
        for (cmg_size i = 0; i < n; ++i) {
            for (cmg_size j = 0; j < n; ++j) {
                double sum = i == j ? -1 : 0;
                for (cmg_size k = 0; k < n; ++k) {
                    sum += A[i * n + k] * X[k * n + j];
                }
                worst = fmax(worst, fabs(sum));
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
            scoped double *X = malloc((size_t)(n * n) * sizeof *X);
            bool definite = true;
            for (cmg_size i = 0; i < n && kind == 0; ++i) { /* the last unknown repeats the first */
                A[i * n + n - 1] = n > 1 ? A[i * n] : 0;
            }
            for (cmg_size j = 0; j < n && kind == 0 && n > 1; ++j) {
                A[(n - 1) * n + j] = A[j];
            }
            A[n * n - 1] = kind == 1 ? -1 : (n > 1 ? A[0] : 0);
            memcpy(X, A, (size_t)(n * n) * sizeof *X);
            CHECK_OK(invert(n, X, &definite));
            CHECK(!definite && memcmp(X, A, (size_t)(n * n) * sizeof *X) == 0);
            A[n * n - 1] = 0; /* in no semidefinite matrix beside what is not 0 */
            CHECK_OK(cmgi_small_inverse(ctx, n, true, kind == 1 ? X : A, &definite));
            CHECK(definite == (kind == 0 && n == 1));
        }
    }
}

/* The largest entry of A X A - A, X - X^T and, with constants, X 1, relative to the largest of A,
 * of X, of X. */
static double pseudo_defect(const double *A, const double *X, cmg_size n, bool constants)
{
    scoped double *AX = calloc((size_t)(n * n), sizeof *AX);
    double worst[3] = {0, 0, 0};
    double size[2] = {0, 0};
    for (cmg_size i = 0; i < n; ++i) {
        double sum = 0;
        for (cmg_size k = 0; k < n; ++k) {
            for (cmg_size j = 0; j < n; ++j) {
                AX[i * n + j] += A[i * n + k] * X[k * n + j];
            }
        }
        for (cmg_size j = 0; j < n; ++j) {
            sum += X[i * n + j];
            size[0] = fmax(size[0], fabs(A[i * n + j]));
            size[1] = fmax(size[1], fabs(X[i * n + j]));
            worst[1] = fmax(worst[1], fabs(X[i * n + j] - X[j * n + i]));
        }
        worst[2] = fmax(worst[2], constants ? fabs(sum) : 0);
    }
    for (cmg_size i = 0; i < n; ++i) {
        for (cmg_size j = 0; j < n; ++j) {
            double sum = -A[i * n + j];
            for (cmg_size k = 0; k < n; ++k) {
                sum += AX[i * n + k] * A[k * n + j];
            }
            worst[0] = fmax(worst[0], fabs(sum));
        }
    }
    return fmax(worst[0] / size[0], fmax(worst[1], worst[2]) / size[1]);
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
        scoped cmg_index *indices = malloc((size_t)(3 * n) * sizeof *indices);
        scoped double *values = malloc((size_t)(3 * n) * sizeof *values);
        scoped cmg_size *indptr = malloc((size_t)(n + 1) * sizeof *indptr);
        cmgi_inverse_kind kind = CMGI_INVERSE_CHOLESKY;
        double worst = 0;
        uint64_t seed = 3;
        indptr[0] = 0;
        for (cmg_size i = 0; i < n; ++i) {
            const cmg_size next = (i + 1) % n;
            const double weight = 1 + cmgi_random(&seed);
            indptr[i + 1] = 2 * i + 2;
            indices[2 * i] = (cmg_index)(i < next ? i : next);
            indices[2 * i + 1] = (cmg_index)(i < next ? next : i);
            values[2 * i] = i < next ? weight : -weight;
            values[2 * i + 1] = -values[2 * i];
            A[i * n + i] = weight;
            A[i * n + next] = -weight;
        }
        const cmg_csr view = {
            .rows = n, .cols = n, .indptr = indptr, .indices = indices, .values = values};
        CHECK_OK(cmgi_dense_inverse(ctx, &view, X, &kind));
        CHECK(kind == CMGI_INVERSE_LU);
        scoped double *XA = calloc((size_t)(n * n), sizeof *XA);
        for (cmg_size i = 0; i < n; ++i) {
            for (cmg_size k = 0; k < n; ++k) {
                add_scaled(XA + i * n, X[i * n + k], A + k * n, n);
            }
        }
        for (cmg_size i = 0; i < n; ++i) {
            for (cmg_size j = 0; j < n; ++j) {
                const double sum = A[i * n + i] * (XA[i * n + j] - XA[(i + 1) % n * n + j]);
                worst = fmax(worst, fabs(sum - A[i * n + j]));
            }
        }
        CHECK_NEAR(worst, 0, 1e-12 * (double)n);
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
        scoped cmg_index *indices = malloc((size_t)(n * n) * sizeof *indices);
        scoped cmg_size *indptr = malloc((size_t)(n + 1) * sizeof *indptr);
        for (cmg_size k = 0; k < n * n; ++k) {
            indices[k] = (cmg_index)(k % n);
        }
        for (cmg_size i = 0; i <= n; ++i) {
            indptr[i] = i * n;
        }
        ring(n, parts, A);
        const cmg_csr view = {
            .rows = n, .cols = n, .indptr = indptr, .indices = indices, .values = A};
        cmgi_inverse_kind kind = CMGI_INVERSE_LU;
        const cmg_status status = cmgi_dense_inverse(ctx, &view, X, &kind);
        CHECK_OK(status);
        CHECK(kind == CMGI_INVERSE_PSEUDO);
        CHECK(pseudo_defect(A, X, n, parts == 1) <= 100 * (double)(n * n) * DBL_EPSILON);
    }
}
