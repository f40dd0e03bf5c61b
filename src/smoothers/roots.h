/*
 * Residual polynomials q(lambda) = prod_j (1 - lambda / theta_j), q(0) = 1, of smoothers for a
 * spectrum scaled to (0, 1].
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
