/* Gauss-Jacobi rules on [0,1] for the weight (1 - t)^alpha, and their products. */
#include "fem/quadrature.h"

#include <math.h>

/*
 * Jacobi polynomial P_n^(alpha,0) and its derivative at x by the three-term recurrence.
 * Source: Abramowitz and Stegun 1964, 22.7.1 and 22.8.1.
 */
static double jacobi(int n, double alpha, double x, double *derivative)
{
    double previous = 1;
    double value = 0.5 * (alpha + (alpha + 2) * x);
    for (int k = 2; k <= n; ++k) {
        const double s = 2.0 * k + alpha;
        const double a = 2 * k * (k + alpha) * (s - 2);
        const double b = (s - 1) * (s * (s - 2) * x + alpha * alpha);
        const double c = 2 * (k + alpha - 1) * (k - 1) * s;
        const double next = (b * value - c * previous) / a;
        previous = value;
        value = next;
    }
    const double s = 2.0 * n + alpha;
    *derivative =
        (n * (alpha - s * x) * value + 2 * (n + alpha) * n * previous) / (s * (1 - x * x));
    return value;
}

/*
 * Points and weights on [0,1]: roots by Newton's method with the found ones divided out; weight of
 * root x on [-1,1]: 2^(alpha+1) / ((1 - x^2) P_n'(x)^2), which the map to [0,1] divides by
 * 2^(alpha+1).
 */
static void gauss_jacobi(int n, double alpha, double *t, double *w)
{
    double root[CMGI_MAX_AXIS_POINTS];
    for (int i = 0; i < n; ++i) {
        double x = -cos((2.0 * i + 1) / (2.0 * n) * acos(-1.0));
        if (i > 0) {
            x = 0.5 * (x + root[i - 1]);
        }
        for (int it = 0; it < 100; ++it) {
            double derivative = 0;
            const double value = jacobi(n, alpha, x, &derivative);
            double deflation = 0;
            for (int j = 0; j < i; ++j) {
                deflation += 1 / (x - root[j]);
            }
            const double step = value / (derivative - deflation * value);
            x -= step;
            if (fabs(step) < 1e-16) {
                break;
            }
        }
        root[i] = x;
        double derivative = 0;
        (void)jacobi(n, alpha, x, &derivative);
        t[i] = 0.5 * (1 + x);
        w[i] = 1 / ((1 - x * x) * derivative * derivative);
    }
}

int cmgi_quadrature_points(int dim, int n)
{
    return dim == 3 ? n * n * n : dim == 2 ? n * n : n;
}

void cmgi_quadrature(bool simplex, int dim, int n, double *position, double *weight)
{
    double t[3][CMGI_MAX_AXIS_POINTS];
    double w[3][CMGI_MAX_AXIS_POINTS];
    for (int d = 0; d < dim; ++d) {
        gauss_jacobi(n, simplex ? dim - 1 - d : 0, t[d], w[d]);
    }
    const int points = cmgi_quadrature_points(dim, n);
    for (int q = 0; q < points; ++q) {
        double product = 1;
        double left = 1;
        for (int d = 0, rest = q; d < dim; ++d, rest /= n) {
            product *= w[d][rest % n];
            position[q * dim + d] = left * t[d][rest % n];
            left *= simplex ? 1 - t[d][rest % n] : 1;
        }
        weight[q] = product;
    }
}
