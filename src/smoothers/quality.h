/* How good an approximate inverse is. */
#pragma once
#include "csr/csr.h"

/*
 * Estimate of ||I - M A||_F / ||I||_F with M = scale F_(k-1) ... F_0: the mean of |(I - M A) g|^2
 * over a few vectors g of random signs, whose expectation is the square of the norm (Hutchinson
 * 1990). Dirichlet columns are left out where that makes A symmetric. Deterministic.
 */
cmg_status cmgi_quality(cmg_context *ctx, const cmg_csr *A, const cmgi_csr *factor, int factors,
                        double scale, double *quality);
