/* The largest eigenvalue of D^-1 A by sums of the power method, at a place. */
#include "transfer/aggregate.h"

#include "core/each.h"

#include <float.h>
#include <math.h>

#include "transfer/power.inc"

enum { POWER_STEPS = 6 };

/* *to = the sum of `count` pairs in part[0], block by block until one is left. */
static cmg_status add_up(cmg_context *ctx, cmgi_place at, cmg_size count, cmgi_pair *const part[2],
                         cmgi_pair *to)
{
    cmg_size next = 0;
    for (int from = 0; next != 1; from = 1 - from, count = next) {
        next = (count + CMGI_SUM_BLOCK - 1) / CMGI_SUM_BLOCK;
        const power w = {.from = part[from], .sums = next == 1 ? to : part[1 - from]};
        CMGI_TRY(add_pairs(ctx, at, count, &w));
    }
    return CMG_OK;
}

/* x^T D x and x^T A x of all steps, and the largest row sum of |D^-1 A|, the same for any number of
 * threads and at both places. */
static cmg_status find_sums(cmg_context *ctx, cmgi_place at, const cmg_csr *A, double *d,
                            cmgi_pair *step, double *bound)
{
    const cmg_size n = A->rows;
    const cmg_size blocks = (n + CMGI_SUM_BLOCK - 1) / CMGI_SUM_BLOCK;
    power w = {.A = *A, .d = d};
    cmgi_pair *part[2] = {NULL, NULL};
    cmgi_pair *sums = NULL;
    CMGI_FREED(ctx, &w.bound, &w.x, &w.y, &part[0], &part[1], &sums);
    CMGI_TRY(cmgi_alloc_zero_at(ctx, at, 1, sizeof *w.bound, &w.bound));
    CMGI_TRY(cmgi_alloc_at(ctx, at, n, sizeof *w.x, &w.x));
    CMGI_TRY(cmgi_alloc_at(ctx, at, n, sizeof *w.y, &w.y));
    CMGI_TRY(cmgi_alloc_at(ctx, at, blocks, sizeof *part[0], &part[0]));
    CMGI_TRY(cmgi_alloc_at(ctx, at, blocks, sizeof *part[1], &part[1]));
    CMGI_TRY(cmgi_alloc_zero_at(ctx, at, POWER_STEPS, sizeof *sums, &sums));
    CMGI_TRY(look_at_diagonal(ctx, at, n, &w));
    CMGI_TRY(start_rough(ctx, at, n, &w));
    for (int k = 0; k < POWER_STEPS && n > 0; ++k) {
        w.sums = part[0];
        CMGI_TRY(power_product(ctx, at, n, &w));
        CMGI_TRY(power_terms(ctx, at, n, &w));
        CMGI_TRY(add_up(ctx, at, blocks, part, sums + k));
        w.sums = sums + k;
        CMGI_TRY(scale_power(ctx, at, n, &w));
    }
    CMGI_TRY(cmgi_bring_at(ctx, at, step, sums, POWER_STEPS * sizeof *sums));
    return cmgi_bring_at(ctx, at, bound, w.bound, sizeof *bound);
}

/* Polynomials p_(k+1)(t) = (t - a_k) p_k(t) - b_k p_(k-1)(t), which are orthogonal in the spectrum
 * that is in x_0. */
typedef struct recurrence {
    int n;
    double a[POWER_STEPS];
    double b[POWER_STEPS];
} recurrence;

/*
 * The recurrence of Lanczos's method from x_0, whose moments 2k and 2k + 1 the sums of step k are,
 * by Chebyshev's algorithm; t in units of `unit`. Six steps lose eight of sixteen digits.
 *
 * Source  Golub and Meurant, Matrices, Moments and Quadrature, 2010, section 5.3.
 */
static void recurrence_of(const cmgi_pair *step, double unit, recurrence *r)
{
    enum { MOMENTS = 2 * POWER_STEPS };
    static const double least = 1e-6; /* smaller b are rounding: x_0 has no more in it */
    double sigma[3][MOMENTS] = {{0}}; /* of k - 1, k and k + 1 */
    double *before = sigma[0];
    double *at = sigma[1];
    double *next = sigma[2];
    double scale = 1; /* x_k = scale (D^-1 A / unit)^k x_0 */
    for (int k = 0; k < POWER_STEPS; ++k) {
        at[2 * k] = step[k].v[0] / (scale * scale);
        at[2 * k + 1] = step[k].v[1] / (scale * scale * unit);
        scale *= power_scale(&step[k]) * unit;
    }
    r->a[0] = at[1] / at[0];
    r->b[0] = 0;
    for (r->n = 1; r->n < POWER_STEPS; ++r->n) {
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

cmg_status cmgi_power_largest(cmg_context *ctx, cmgi_place at, const cmg_csr *A, double *d,
                              double *lambda)
{
    cmgi_pair step[POWER_STEPS];
    double bound = 0;
    double found = 0; /* from below by these sums, with a tenth for what is missing after them */
    CMGI_TRY(find_sums(ctx, at, A, d, step, &bound));
    for (int k = 0; k < POWER_STEPS; ++k) {
        found = step[k].v[0] > 0 ? fmax(found, step[k].v[1] / step[k].v[0]) : found;
    }
    if (found > 0 && bound > found && isfinite(bound) && step[POWER_STEPS - 1].v[0] > 0) {
        recurrence r;
        recurrence_of(step, found, &r);
        found *= largest_root(&r, 1, bound / found);
    }
    *lambda = fmin(1.1 * found, bound);
    if (!(*lambda > 0 && isfinite(*lambda))) {
        *lambda = isfinite(bound) && bound > 0 ? bound : 1;
    }
    return CMG_OK;
}
