/*
 * Residual polynomials q(lambda) = prod_j (1 - lambda / theta_j), q(0) = 1, of smoothers for a
 * spectrum scaled to (0, 1], as products over their roots or by three-term recurrences.
 *
 * Monic polynomials that are orthogonal on (0, 1] under some measure satisfy
 *
 *     p_0 = 1,   p_(k+1) = (t - a_k) p_k - b_k p_(k-1),
 *
 * and q_k = p_k / p_k(0), the residual polynomial, satisfies
 *
 *     q_(k+1) = q_k + beta_k (q_k - q_(k-1)) - omega_k t q_k.
 *
 * Every step thus adds omega_k times the preconditioned residual and beta_k times the last
 * correction. The last q_n has the roots of cmgi_roots; those on the way are the family's own lower
 * degrees, all of them small, where the products of a schedule are only kept from growing.
 */
#pragma once
#include "smoothers/spectrum.h"

enum { CMGI_MAX_DEGREE = 32 };

typedef enum cmgi_family {
    /* least max |q| on [1/ratio, 1]: Chebyshev polynomials of the first kind */
    CMGI_CHEBYSHEV,
    /* least max |lambda^(1/2) q| on [0, 1]: Chebyshev polynomials of the fourth kind (Lottes 2023)
     */
    CMGI_CHEBYSHEV4,
    /* least max lambda q^2 / (1 - q^2) on [0, 1], which bounds the V-cycle (Lottes 2023, section 5)
     */
    CMGI_OPTIMAL,
    /* least integral of q^2 over [0, 1] (Saad 1985) */
    CMGI_LEAST_SQUARES,
    /* least sum of w_k q(lambda_k)^2 over the Ritz values of `spectrum`, mixed with the weight of
     * the last one as far as needed for |q| <= 1 on [0, 1] */
    CMGI_GLS,
    /* (1 - 4/3 lambda)^n: the Neumann series */
    CMGI_NEUMANN
} cmgi_family;

typedef struct cmgi_polynomial {
    cmgi_family family;
    int n;                         /* degree */
    double ratio;                  /* CHEBYSHEV */
    const cmgi_spectrum *spectrum; /* GLS */
} cmgi_polynomial;

/* The n roots theta_j, all in (0, 1], in an order in which the partial products stay small. */
void cmgi_roots(const cmgi_polynomial *p, double *theta);

typedef struct cmgi_orthogonal {
    int n;                     /* degree */
    double a[CMGI_MAX_DEGREE]; /* a_0 .. a_(n-1) */
    double b[CMGI_MAX_DEGREE]; /* b_1 .. b_(n-1), b[0] is not used */
} cmgi_orthogonal;

/* The polynomials whose last one has the roots of cmgi_roots. */
void cmgi_orthogonal_of(const cmgi_polynomial *p, cmgi_orthogonal *o);

/* omega_k > 0 and beta_k >= 0 of the steps k = 0 .. n-1; beta_0 = 0. */
void cmgi_recurrence(const cmgi_orthogonal *o, double *omega, double *beta);

enum { CMGI_MEASURE_GRID = 64, CMGI_MEASURE_POINTS = CMGI_MEASURE_GRID + CMGI_LANCZOS_STEPS };

/* A discrete measure: weights w >= 0 at the points x. */
typedef struct cmgi_measure {
    int count;
    double x[CMGI_MEASURE_POINTS];
    double w[CMGI_MEASURE_POINTS];
} cmgi_measure;

/* Polynomials up to degree n <= count that are orthogonal under x times the measure. */
void cmgi_orthogonal_under(int n, const cmgi_measure *mu, cmgi_orthogonal *o);
