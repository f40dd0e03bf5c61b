/*
 * Small dense least squares min ||b - L x||_2 by Householder QR without pivoting.
 *
 * L is m x n by columns, entry (i,j) at L[i + j m]. Columns that depend on earlier ones, to
 * rounding, get the coefficient 0 and reflect nothing, so that the minimum is reached for every
 * finite L.
 *
 * Source  Golub and Van Loan, Matrix Computations, 4th ed. 2013, algorithms 5.1.1 and 5.3.2.
 */
#pragma once
#include "cmg_types.h"

/* x = argmin ||b - L x||; L and b (m values) are overwritten; `diagonal` has room for n values. */
void cmgi_qr_solve(cmg_size m, cmg_size n, double *restrict L, double *restrict b,
                   double *restrict diagonal, double *restrict x);
