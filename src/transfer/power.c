/*
 * What the sums of a power method tell of the largest eigenvalue, on the host and on the device
 * (power.cu).
 */
#include "transfer/aggregate.h"

#include "transfer/aggregate_rows.h"

#include <float.h>

/* Polynomials p_(k+1)(t) = (t - a_k) p_k(t) - b_k p_(k-1)(t), which are orthogonal in the spectrum
 * that is in x_0. */
typedef struct recurrence {
    int n;
    double a[CMGI_POWER_STEPS];
    double b[CMGI_POWER_STEPS];
} recurrence;

/*
 * The recurrence of Lanczos's method from x_0, whose moments 2k and 2k + 1 the sums of step k are,
 * by Chebyshev's algorithm; t in units of `unit`. Six steps lose eight of sixteen digits.
 *
 * Source  Golub and Meurant, Matrices, Moments and Quadrature, 2010, section 5.3.
 */
static void recurrence_of(const cmgi_power_sums *step, double unit, recurrence *r)
{
    enum { MOMENTS = 2 * CMGI_POWER_STEPS };
    static const double least = 1e-6; /* smaller b are rounding: x_0 has no more in it */
    double sigma[3][MOMENTS] = {{0}}; /* of k - 1, k and k + 1 */
    double *before = sigma[0];
    double *at = sigma[1];
    double *next = sigma[2];
    double scale = 1; /* x_k = scale (D^-1 A / unit)^k x_0 */
    for (int k = 0; k < CMGI_POWER_STEPS; ++k) {
        at[2 * k] = step[k].v[0] / (scale * scale);
        at[2 * k + 1] = step[k].v[1] / (scale * scale * unit);
        scale *= cmgi_power_scale(&step[k]) * unit;
    }
    r->a[0] = at[1] / at[0];
    r->b[0] = 0;
    for (r->n = 1; r->n < CMGI_POWER_STEPS; ++r->n) {
        const int k = r->n;
        for (int l = k; l < MOMENTS - k; ++l) {
            next[l] = at[l + 1] - r->a[k - 1] * at[l] - r->b[k - 1] * before[l];
        }
        r->b[k] = next[k] / at[k - 1];
        r->a[k] = next[k + 1] / next[k] - at[k] / at[k - 1];
        if (!(r->b[k] > least) || !isfinite(r->a[k])) {
            return;
        }
        double *const spare = before;
        before = at;
        at = next;
        next = spare;
    }
}

/* The largest root of p_n in low .. high, by bisection and Sturm's sequence. */
static double largest_root(const recurrence *r, double low, double high)
{
    for (int halving = 0; halving < 40; ++halving) {
        const double t = 0.5 * (low + high);
        double q = r->a[0] - t;
        bool above = q > 0;
        for (int k = 1; k < r->n; ++k) {
            q = r->a[k] - t - r->b[k] / (q != 0 ? q : DBL_MIN);
            above = above || q > 0;
        }
        *(above ? &low : &high) = t;
    }
    return low;
}

double cmgi_power_result(const cmgi_power_sums *step, double bound)
{
    double found = 0;
    for (int k = 0; k < CMGI_POWER_STEPS; ++k) {
        found = step[k].v[0] > 0 ? fmax(found, step[k].v[1] / step[k].v[0]) : found;
    }
    if (found > 0 && bound > found && isfinite(bound) && step[CMGI_POWER_STEPS - 1].v[0] > 0) {
        recurrence r;
        recurrence_of(step, found, &r);
        found *= largest_root(&r, 1, bound / found);
    }
    const double lambda = fmin(1.1 * found, bound);
    if (lambda > 0 && isfinite(lambda)) {
        return lambda;
    }
    return isfinite(bound) && bound > 0 ? bound : 1;
}
