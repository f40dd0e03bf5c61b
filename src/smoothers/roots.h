/*
 * Residual polynomials q(lambda) = prod_j (1 - lambda / theta_j), q(0) = 1, of smoothers for a
 * spectrum scaled to (0, 1]: each function fills the n roots theta_j, all in (0, 1], in an order in
 * which the partial products stay small.
 */
#pragma once
#include "smoothers/spectrum.h"

enum { CMGI_MAX_DEGREE = 32 };

/* Least max |q| on [1/ratio, 1]: Chebyshev polynomials of the first kind. */
void cmgi_roots_chebyshev(int n, double ratio, double *theta);
/* Least max |lambda^(1/2) q| on [0, 1]: Chebyshev polynomials of the fourth kind (Lottes 2023). */
void cmgi_roots_chebyshev4(int n, double *theta);
/* Least max lambda q^2 / (1 - q^2) on [0, 1], which bounds the V-cycle (Lottes 2023, section 5). */
void cmgi_roots_optimal(int n, double *theta);
/* Least integral of q^2 over [0, 1] (Saad 1985). */
void cmgi_roots_least_squares(int n, double *theta);
/*
 * Least sum of w_k q(lambda_k)^2 over the Ritz values of `spectrum`, mixed with the weight of
 * cmgi_roots_least_squares as far as needed for |q| <= 1 on [0, 1].
 */
void cmgi_roots_gls(int n, const cmgi_spectrum *spectrum, double *theta);
