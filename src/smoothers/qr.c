#include "smoothers/spai.h"

#include "csr/small_dense.h"

#include <float.h>
#include <math.h>

/*
 * Turns x into the Householder vector v with (I - 2 v v^T / v^T v) x = r e_1, scaled so that
 * 2 / v^T v = 1 / (r (r - x_1)) needs no division later: *scale gets it. Returns r, or 0, and x
 * stays, when x is to rounding nothing beside the part of its column above, of squared norm above2.
 */
static double reflect(cmg_size n, double *restrict x, double tolerance, double above2,
                      double *scale)
{
    const double norm2 = cmgi_dot(n, x, x);
    if (!(norm2 > tolerance * tolerance * (above2 + norm2))) {
        return 0;
    }
    const double r = x[0] > 0 ? -sqrt(norm2) : sqrt(norm2);
    *scale = 1 / (r * (r - x[0]));
    x[0] -= r;
    return r;
}

void cmgi_qr_solve(cmg_size m, cmg_size n, double *restrict L, double *restrict b,
                   double *restrict diagonal, double *restrict x)
{
    const double tolerance = DBL_EPSILON * (double)(m + n);
    cmg_size row =
        0; /* rank of the columns before k, and the row of R that column k is to end in */
    for (cmg_size k = 0; k < n; ++k) {
        double *v = L + k * m + row;
        const double above2 = cmgi_dot(row, L + k * m, L + k * m);
        double scale = 0;
        diagonal[k] = reflect(m - row, v, tolerance, above2, &scale);
        if (diagonal[k] == 0) {
            continue;
        }
        for (cmg_size j = k + 1; j < n; ++j) {
            double *y = L + j * m + row;
            cmgi_subtract(m - row, scale * cmgi_dot(m - row, v, y), v, y);
        }
        cmgi_subtract(m - row, scale * cmgi_dot(m - row, v, b + row), v, b + row);
        ++row;
    }
    for (cmg_size k = n - 1; k >= 0; --k) {
        x[k] = 0;
        if (diagonal[k] != 0) {
            --row;
            x[k] = b[row] / diagonal[k];
            cmgi_subtract(row, x[k], L + k * m, b);
        }
    }
}
