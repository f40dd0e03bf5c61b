/* Boxes as box.h defines them, by plain loops. */
#pragma once
#include "spmv/box.h"
#include "suite.h"

/* The values of a box of 27 points, equal on both sides of every axis where it is even. */
static inline void box_values(bool even, int from, bool single, double value[27])
{
    for (int d = 0; d < 27; ++d) {
        const int turned = d / 9 % 2 * 9 + d / 3 % 3 % 2 * 3 + d % 3 % 2;
        const double v = 1.0 / (from + (even ? turned : d));
        value[d] = single ? (double)(float)v : v;
    }
}

/* (A x)_i, and the sum of the absolute values. */
static inline double box_row(const cmgi_box *box, const double *x, cmg_size i, double *size)
{
    const cmg_size L = box->size[0];
    const cmg_size P = L * box->size[1];
    double s = 0;
    *size = 0;
    for (int d = 0; d < 27; ++d) {
        const cmg_size at[3] = {i % L + d % 3 - 1, i / L % box->size[1] + d / 3 % 3 - 1,
                                i / P + d / 9 - 1};
        if (at[0] >= 0 && at[0] < L && at[1] >= 0 && at[1] < box->size[1] && at[2] >= 0 &&
            at[2] < box->size[2]) {
            const double term = box->value[d] * x[at[2] * P + at[1] * L + at[0]];
            s += term;
            *size += fabs(term);
        }
    }
    return s;
}
