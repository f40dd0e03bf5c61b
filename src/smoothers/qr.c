#include "smoothers/qr.h"

#include <float.h>
#include <math.h>

static double dot(cmg_size n, const double *restrict x, const double *restrict y)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (cmg_size i = 0; i < n; ++i) {
        sum += x[i] * y[i];
    }
    return sum;
}

/* y -= a v */
static void subtract(cmg_size n, double a, const double *restrict v, double *restrict y)
{
#pragma omp simd
    for (cmg_size i = 0; i < n; ++i) {
        y[i] -= a * v[i];
    }
}

/*
 * Turns x into the Householder vector v with (I - 2 v v^T / v^T v) x = r e_1, scaled so that
 * 2 / v^T v = 1 / (r (r - x_1)) needs no division later: *scale gets it, 0 for x = 0.
 */
static double reflect(cmg_size n, double *restrict x, double *scale)
{
    const double norm = sqrt(dot(n, x, x));
    if (norm == 0) {
        *scale = 0;
        return 0;
    }
    const double r = x[0] > 0 ? -norm : norm;
    *scale = 1 / (r * (r - x[0]));
    x[0] -= r;
    return r;
}

void cmgi_qr_solve(cmg_size m, cmg_size n, double *restrict L, double *restrict b,
                   double *restrict diagonal, double *restrict x)
{
    const cmg_size steps = m < n ? m : n;
    double largest = 0;
    for (cmg_size k = 0; k < steps; ++k) {
        double *v = L + k * m + k;
        double scale = 0;
        diagonal[k] = reflect(m - k, v, &scale);
        largest = fmax(largest, fabs(diagonal[k]));
        for (cmg_size j = k + 1; j < n && scale != 0; ++j) {
            double *y = L + j * m + k;
            subtract(m - k, scale * dot(m - k, v, y), v, y);
        }
        if (scale != 0) {
            subtract(m - k, scale * dot(m - k, v, b + k), v, b + k);
        }
    }
    const double zero = largest * DBL_EPSILON * (double)(m + n);
    for (cmg_size k = n - 1; k >= 0; --k) {
        if (k >= steps || fabs(diagonal[k]) <= zero) {
            x[k] = 0;
            continue;
        }
        double sum = b[k];
        for (cmg_size j = k + 1; j < n; ++j) {
            sum -= L[j * m + k] * x[j];
        }
        x[k] = sum / diagonal[k];
    }
}
