/*
 * Eigenvalues and eigenvectors of a small symmetric matrix by cyclic Jacobi rotations; a bound on
 * those of a large one.
 *
 * Source  Golub and Van Loan, Matrix Computations, 4th ed. 2013, algorithm 8.5.2.
 */
#include "smoothers/spectrum.h"

#include "core/ranks.h"

#include <float.h>
#include <math.h>

enum { SMALL = 4096 }; /* rows that one thread sees to */

/* n numbers of x and of y, a step apart, become c x - s y and s x + c y. */
static void turn(int n, int step, double c, double s, double *restrict x, double *restrict y)
{
    for (int k = 0; k < n * step; k += step) {
        const double a = x[k];
        const double b = y[k];
        x[k] = c * a - s * b;
        y[k] = s * a + c * b;
    }
}

/* Rotates rows and columns p and q of T so that T_pq = 0, and columns p and q of V along. */
static void rotate(int n, int p, int q, double *restrict T, double *restrict V)
{
    const double tau = (T[q * n + q] - T[p * n + p]) / (2 * T[p * n + q]);
    const double t = copysign(1, tau) / (fabs(tau) + sqrt(1 + tau * tau));
    const double c = 1 / sqrt(1 + t * t);
    const double s = t * c;
    turn(n, n, c, s, T + p, T + q);
    turn(n, 1, c, s, T + p * n, T + q * n);
    turn(n, n, c, s, V + p, V + q);
}

void cmgi_eigen_symmetric(int n, double *restrict T, double *restrict V, double *restrict values)
{
    enum { SWEEPS = 60 };
    for (int i = 0; i < n * n; ++i) {
        V[i] = i % (n + 1) == 0 ? 1 : 0;
    }
    for (int sweep = 0; sweep < SWEEPS; ++sweep) {
        bool done = true;
        for (int p = 0; p < n; ++p) {
            for (int q = p + 1; q < n; ++q) {
                const double scale = sqrt(fabs(T[p * n + p] * T[q * n + q]));
                if (fabs(T[p * n + q]) > DBL_EPSILON * scale && fabs(T[p * n + q]) > DBL_MIN) {
                    rotate(n, p, q, T, V);
                    done = false;
                }
            }
        }
        if (done) {
            break;
        }
    }
    for (int i = 0; i < n; ++i) {
        values[i] = T[i * n + i];
    }
    for (int i = 0; i < n; ++i) { /* ascending by selection, columns of V along */
        int least = i;
        for (int j = i + 1; j < n; ++j) {
            least = values[j] < values[least] ? j : least;
        }
        const double value = values[i];
        values[i] = values[least];
        values[least] = value;
        for (int k = 0; k < n; ++k) {
            const double v = V[k * n + i];
            V[k * n + i] = V[k * n + least];
            V[k * n + least] = v;
        }
    }
}

cmg_status cmgi_gershgorin(cmg_context *ctx, const cmg_csr *A, const cmgi_csr *M, double *largest)
{
    double bound = 0;
#pragma omp parallel for num_threads(ctx->threads) schedule(static)                                \
    reduction(max                                                                                  \
              : bound) if (A->rows > SMALL)
    for (cmg_size i = 0; i < A->rows; ++i) {
        bound = fmax(bound, cmgi_row_magnitude(A, i) * fabs(M->values[i]));
    }
    *largest = bound;
    return cmgi_all_max(ctx, largest, 1);
}
