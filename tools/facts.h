/* Facts about CSR matrices and vectors that `cmg info` shows and judges. */
#pragma once
#include "cmg.h"

/* max |b_ij - a_ji| / max |a_ij|: B = A measures asymmetry, B = R with A = P how far R is from P^T.
 * B has to have the shape of A^T. */
double transposed_difference(const cmg_csr *B, const cmg_csr *A);
/* Marks the rows that hold one nonzero, on the diagonal; returns their number. */
cmg_size mark_identity_rows(const cmg_csr *A, bool *identity);
/* Rows without a nonzero, those in `skip` (may be NULL) left out. */
cmg_size count_zero_rows(const cmg_csr *A, const bool *skip);
/* Columns without a nonzero, those in `skip` (may be NULL) left out. */
cmg_size count_zero_columns(const cmg_csr *A, const bool *skip);
/* Rows in `marked` that have a nonzero. */
cmg_size count_marked_rows(const cmg_csr *A, const bool *marked);
/* max_i |sum_j a_ij| / max |a_ij|: 0 means that constants are in the null space. */
double largest_row_sum(const cmg_csr *A);
/* ||b - A x|| / ||b||, or ||b - A x|| when b = 0. */
double relative_residual(const cmg_csr *A, const double *x, const double *b);
