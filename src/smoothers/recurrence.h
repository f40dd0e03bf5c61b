/*
 * Residual polynomials by three-term recurrences. Monic polynomials that are orthogonal on (0, 1]
 * under some measure satisfy
 *
 *     p_0 = 1,   p_(k+1) = (t - a_k) p_k - b_k p_(k-1),
 *
 * and q_k = p_k / p_k(0), the residual polynomial, satisfies
 *
 *     q_(k+1) = q_k + beta_k (q_k - q_(k-1)) - omega_k t q_k.
 *
 * Every step thus adds omega_k times the preconditioned residual and beta_k times the last
 * correction. The last q_n has the roots of roots.h; those on the way are the family's own lower
 * degrees, all of them small, where the products of a schedule are only kept from growing.
 */
#pragma once
#include "smoothers/roots.h"

typedef struct cmgi_orthogonal {
    int n;                     /* degree */
    double a[CMGI_MAX_DEGREE]; /* a_0 .. a_(n-1) */
    double b[CMGI_MAX_DEGREE]; /* b_1 .. b_(n-1), b[0] is not used */
} cmgi_orthogonal;

/* The polynomials whose last one has the roots of cmgi_roots. */
void cmgi_orthogonal_of(const cmgi_polynomial *p, cmgi_orthogonal *o);

/* omega_k > 0 and beta_k >= 0 of the steps k = 0 .. n-1; beta_0 = 0. */
void cmgi_recurrence(const cmgi_orthogonal *o, double *omega, double *beta);
/* The roots of p_n, ascending: eigenvalues of the tridiagonal matrix of a and sqrt(b). */
void cmgi_orthogonal_roots(const cmgi_orthogonal *o, double *theta);

enum { CMGI_MEASURE_GRID = 64, CMGI_MEASURE_POINTS = CMGI_MEASURE_GRID + CMGI_LANCZOS_STEPS };

/* A discrete measure: weights w >= 0 at the points x. */
typedef struct cmgi_measure {
    int count;
    double x[CMGI_MEASURE_POINTS];
    double w[CMGI_MEASURE_POINTS];
} cmgi_measure;

/* Polynomials up to degree n <= count that are orthogonal under x times the measure. */
void cmgi_orthogonal_under(int n, const cmgi_measure *mu, cmgi_orthogonal *o);
