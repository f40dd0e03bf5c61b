/*
 * The inverse of a symmetric positive definite matrix of a few hundred rows on the calling thread:
 * A = L L^T, W = L^(-1), A^(-1) = W^T W, each entry a dot product of two rows in memory, four at
 * once. Rows and columns are scaled to a diagonal of about 1 before, by powers of two, which round
 * nothing: beside identity rows A may be of any size.
 *
 * LAPACK on a threaded BLAS is faster where all processors are free. Beside other jobs its threads
 * wait for each other: 250 rows took 0.7 to 1.2 s instead of 10 ms on two cores with a load of 20.
 *
 * Source  Golub and Van Loan, Matrix Computations, 2013, section 4.2.
 */
#include "mg/small_inverse.h"

#include "core/memory.h"
#include "mg/dots.h"

#include <float.h>
#include <math.h>

/* L over A, two columns at a time; false at a pivot that is zero to rounding. */
static bool factor(double *A, cmg_size N, double tiny)
{
    double s[4];
    for (cmg_size j = 0; j < N; j += 2) {
        double *Lj = A + j * N;
        for (cmg_size i = j; i < N; i += 2) {
            double *Li = A + i * N;
            cmgi_dots(Li, N, Lj, N, j, s);
            const double a00 = Li[j] - s[0];
            const double a10 = Li[N + j] - s[2];
            const double a11 = Li[N + j + 1] - s[3];
            if (i == j) {
                if (!(a00 > tiny) || !(a11 - a10 * a10 / a00 > tiny)) {
                    return false;
                }
                Lj[j] = sqrt(a00);
                Lj[j + 1] = 0;
                Lj[N + j] = a10 / Lj[j];
                Lj[N + j + 1] = sqrt(a11 - Lj[N + j] * Lj[N + j]);
            } else {
                const double a01 = Li[j + 1] - s[1];
                Li[j] = a00 / Lj[j];
                Li[j + 1] = (a01 - Li[j] * Lj[N + j]) / Lj[N + j + 1];
                Li[N + j] = a10 / Lj[j];
                Li[N + j + 1] = (a11 - Li[N + j] * Lj[N + j]) / Lj[N + j + 1];
            }
        }
    }
    return true;
}

/* V = L^(-T): row c has column c of L^(-1). */
static void invert_factor(const double *L, cmg_size N, double *V)
{
    double s[4];
    for (cmg_size c = 0; c < N; c += 2) {
        double *v = V + c * N;
        for (cmg_size i = c; i < N; i += 2) {
            const double *Li = L + i * N;
            const double d0 = 1 / Li[i];
            const double d1 = 1 / Li[N + i + 1];
            cmgi_dots(Li + c, N, v + c, N, i - c, s);
            v[i] = i == c ? d0 : -s[0] * d0;
            v[N + i] = i == c ? 0 : -s[1] * d0;
            v[i + 1] = -(s[2] + Li[N + i] * v[i]) * d1;
            v[N + i + 1] = i == c ? d1 : -(s[3] + Li[N + i] * v[N + i]) * d1;
        }
    }
}

/* The power of two whose square times a[i, i] is in [1, 4), 0 where that is not positive. */
static double scale_of(const double *A, cmg_size n, cmg_size i)
{
    int e = 0;
    const double d = A[i * n + i];
    (void)frexp(d, &e);
    return d > 0 && isfinite(d) ? ldexp(1, -(int)floor((e - 1) / 2.0)) : 0;
}

cmg_status cmgi_small_inverse(cmg_context *ctx, cmg_size n, double *X, bool *definite)
{
    const cmg_size N = n + n % 2; /* pairs of rows; the last may be one of the identity */
    double *L = NULL;
    double *V = NULL;
    double *scale = NULL;
    double norm = 0;
    double s[4];
    cmg_status status = CMG_OK;
    *definite = false;
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, n, sizeof *scale, &scale));
    CMGI_TRY_GOTO(done, cmgi_alloc_zero(ctx, N * N, sizeof *L, &L));
    CMGI_TRY_GOTO(done, cmgi_alloc_zero(ctx, N * N, sizeof *V, &V));
    for (cmg_size i = 0; i < n; ++i) {
        scale[i] = scale_of(X, n, i);
    }
    for (cmg_size k = 0; k < n * n; ++k) {
        const double a = scale[k / n] * X[k] * scale[k % n];
        L[k / n * N + k % n] = a;
        norm = fabs(a) > norm ? fabs(a) : norm;
    }
    if (N > n) {
        L[n * N + n] = norm;
    }
    if (!factor(L, N, 16.0 * (double)n * DBL_EPSILON * norm)) {
        goto done;
    }
    invert_factor(L, N, V);
    for (cmg_size i = 0; i < N; i += 2) {
        for (cmg_size j = 0; j <= i; j += 2) {
            cmgi_dots(V + i * N + i, N, V + j * N + i, N, N - i, s);
            for (cmg_size e = 0; e < 4; ++e) {
                const cmg_size r = i + e / 2;
                const cmg_size c = j + e % 2;
                if (r < n && c < n) {
                    X[r * n + c] = scale[r] * s[e] * scale[c];
                    X[c * n + r] = X[r * n + c];
                }
            }
        }
    }
    *definite = true;
done:
    cmgi_free(ctx, L);
    cmgi_free(ctx, V);
    cmgi_free(ctx, scale);
    return status;
}
