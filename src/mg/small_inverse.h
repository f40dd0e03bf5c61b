/* Inverses of small symmetric positive definite matrices without a library's threads. */
#pragma once
#include "core/context.h"

enum { CMGI_SMALL_INVERSE = 320 }; /* most rows: 14 ms on one core */

/*
 * X, n x n and symmetric, becomes its inverse; *definite = false, and X is as it was, where a pivot
 * is not positive beyond rounding.
 */
cmg_status cmgi_small_inverse(cmg_context *ctx, cmg_size n, double *X, bool *definite);
