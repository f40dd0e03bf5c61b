/* The inverse of small symmetric positive definite matrices, on the host and on the device: A X = 1
 * by plain loops. */
#include "core/backend.h"
#include "core/random.h"
#include "mg/small_inverse.h"
#include "test.h"

#include <float.h>

/* B B^T / n + shift, B random. */
static double *positive(cmg_size n, double shift)
{
    uint64_t seed = (uint64_t)n + 5;
    double *B = malloc((size_t)(n * n + 1) * sizeof *B);
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
    free(B);
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
                                        : cmgi_small_inverse(ctx, n, X, definite);
}

static void inverts(void)
{
    static const cmg_size sizes[] = {1, 2, 3, 4, 5, 8, 31, 64, 65, 150};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
        const cmg_size n = sizes[s];
        double *A = positive(n, 0.5);
        double *X = malloc((size_t)(n * n) * sizeof *X);
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
        free(A);
        free(X);
    }
}

/* Singular and indefinite matrices come back as they were. */
static void refuses(void)
{
    for (cmg_size n = 1; n < 8; ++n) {
        for (int kind = 0; kind < 2; ++kind) {
            double *A = positive(n, 0.5);
            double *X = malloc((size_t)(n * n) * sizeof *X);
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
            free(A);
            free(X);
        }
    }
}

int main(int argc, char **argv)
{
    TEST_BEGIN(argc, argv);
    RUN(inverts);
    RUN(refuses);
    return TEST_END();
}
