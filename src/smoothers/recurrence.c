/*
 * Coefficients of three-term recurrences, see recurrence.h.
 *
 * With s_k = -p_(k+1)(0) / p_k(0) the recurrence of the p_k at 0 is s_k = a_k - b_k / s_(k-1), and
 * division by p_(k+1)(0) gives omega_k = 1 / s_k, beta_k = b_k / (s_k s_(k-1)). All roots are
 * positive, so every s_k is.
 *
 * Sources  Szego, Orthogonal Polynomials, 1939, (4.5.1); Gautschi, Orthogonal Polynomials:
 *          Computation and Approximation, 2004, section 2.2; Saad 2003, section 12.3 (Chebyshev);
 *          Lottes 2023, algorithm 1 (fourth kind).
 */
#include "smoothers/recurrence.h"

#include <math.h>

void cmgi_recurrence(const cmgi_orthogonal *o, double *omega, double *beta)
{
    double before = 1;
    for (int k = 0; k < o->n; ++k) {
        const double s = o->a[k] - (k > 0 ? o->b[k] / before : 0);
        omega[k] = 1 / s;
        beta[k] = k > 0 ? o->b[k] / (s * before) : 0;
        before = s;
    }
}

void cmgi_orthogonal_roots(const cmgi_orthogonal *o, double *theta)
{
    double T[CMGI_MAX_DEGREE * CMGI_MAX_DEGREE] = {0};
    double vectors[CMGI_MAX_DEGREE * CMGI_MAX_DEGREE];
    const int n = o->n;
    for (int k = 0; k < n; ++k) {
        T[k * n + k] = o->a[k];
        if (k > 0) {
            T[k * n + k - 1] = sqrt(o->b[k]);
            T[(k - 1) * n + k] = T[k * n + k - 1];
        }
    }
    cmgi_eigen_symmetric(n, T, vectors, theta);
}

static double inner(const cmgi_measure *mu, const double *u, const double *v)
{
    double sum = 0;
    for (int k = 0; k < mu->count; ++k) {
        sum += u[k] * v[k];
    }
    return sum;
}

/*
 * The Lanczos process on diag(x) from sqrt(x w), reorthogonalised. Source: Golub and Welsch, Math.
 * Comp. 23 (1969).
 */
void cmgi_orthogonal_under(int n, const cmgi_measure *mu, cmgi_orthogonal *o)
{
    double v[CMGI_MAX_DEGREE + 1][CMGI_MEASURE_POINTS];
    for (int k = 0; k < mu->count; ++k) {
        v[0][k] = sqrt(fmax(mu->x[k] * mu->w[k], 0));
    }
    double norm = sqrt(inner(mu, v[0], v[0]));
    o->n = n;
    for (int j = 0; j < n; ++j) {
        for (int k = 0; k < mu->count; ++k) {
            v[j][k] /= norm;
            v[j + 1][k] = mu->x[k] * v[j][k];
        }
        o->b[j] = norm * norm;
        o->a[j] = inner(mu, v[j], v[j + 1]);
        for (int again = 0; again < 2; ++again) {
            for (int i = 0; i <= j; ++i) {
                const double c = inner(mu, v[i], v[j + 1]);
                for (int k = 0; k < mu->count; ++k) {
                    v[j + 1][k] -= c * v[i][k];
                }
            }
        }
        norm = sqrt(inner(mu, v[j + 1], v[j + 1]));
    }
}
