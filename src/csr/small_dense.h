/* Direct solution of small dense systems, matrices n x n by rows and overwritten. */
#pragma once
#include "csr/csr.h"
#include "csr/index_map.h"

#include <math.h>

static inline double cmgi_dot(cmg_size n, const double *restrict x, const double *restrict y)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (cmg_size i = 0; i < n; ++i) {
        sum += x[i] * y[i];
    }
    return sum;
}

/* y -= a x */
static inline void cmgi_subtract(cmg_size n, double a, const double *restrict x, double *restrict y)
{
#pragma omp simd
    for (cmg_size i = 0; i < n; ++i) {
        y[i] -= a * x[i];
    }
}

static inline void cmgi_swap(cmg_size n, double *restrict x, double *restrict y)
{
    for (cmg_size i = 0; i < n; ++i) {
        const double t = x[i];
        x[i] = y[i];
        y[i] = t;
    }
}

/* The largest |x_i|, past NaN; four by four, as fmax is a call. */
static inline double cmgi_largest(cmg_size n, const double *x)
{
    double part[4] = {0};
    for (cmg_size i = 0; i + 4 <= n; i += 4) {
        for (int p = 0; p < 4; ++p) {
            part[p] = fabs(x[i + p]) > part[p] ? fabs(x[i + p]) : part[p];
        }
    }
    for (cmg_size i = n / 4 * 4; i < n; ++i) {
        part[0] = fabs(x[i]) > part[0] ? fabs(x[i]) : part[0];
    }
    return fmax(fmax(part[0], part[1]), fmax(part[2], part[3]));
}

/*
 * x = H^-1 x for `count` right-hand sides, x_i^(k) at x[i count + k], by LU with row exchanges.
 * Returns false when a pivot is zero to rounding.
 */
bool cmgi_small_lu(cmg_size n, double *restrict H, cmg_size count, double *restrict x);
/* Up to a share of the largest entry. */
bool cmgi_small_is_symmetric(cmg_size n, const double *H, double share);
/* X = H^-1, made symmetric where asked to: rounding is not. */
bool cmgi_small_invert(cmg_size n, double *restrict H, bool symmetric, double *restrict X);
/* H = A(J, J) by rows; `map` has room for J and is left holding it. */
void cmgi_small_gather(const cmg_csr *A, const cmg_index *J, cmg_size length, cmgi_index_map *map,
                       double *restrict H);
