/* What factorisations by rows consist of. */
#pragma once
#include "cmg_types.h"

/* s = products of two rows with two rows: a, a + wa by b, b + wb. */
static inline void cmgi_dots(const double *a, cmg_size wa, const double *b, cmg_size wb,
                             cmg_size length, double s[4])
{
    const double *restrict a1 = a + wa;
    const double *restrict b1 = b + wb;
    double s00 = 0;
    double s01 = 0;
    double s10 = 0;
    double s11 = 0;
#pragma omp simd reduction(+ : s00, s01, s10, s11)
    for (cmg_size k = 0; k < length; ++k) {
        s00 += a[k] * b[k];
        s01 += a[k] * b1[k];
        s10 += a1[k] * b[k];
        s11 += a1[k] * b1[k];
    }
    s[0] = s00;
    s[1] = s01;
    s[2] = s10;
    s[3] = s11;
}
