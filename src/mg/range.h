/*
 * Singular systems A x = b, for a null space Q of A and of A^T: with P = I - Q Q^T, A x = P b has a
 * solution, and its x orthogonal to Q is the shortest of least squares. What was not in the range
 * of A, Q^T b, is rounding of b, or means that A x = b has no solution, which is reported, unless
 * x leaves no more of the given b than the absolute tolerance.
 *
 * Rounding is 4 n eps ||b||. What right-hand sides b = A y leave, in eps ||b||: 0.2 of random y and
 * of loads less their mean, 0.07 n of smooth y (1D to 3D, 10 to 1e6 rows); 4 leaves room for y that
 * are far from 0, and for loads that were made compatible by one subtraction.
 */
#pragma once
#include "mg/multigrid.h"

/* rest = P b and x = P x; what is no more of b than rounding leaves becomes 0. */
cmg_status cmgi_range_enter(cmgi_multigrid *mg, const double *b, double *rest, double *x,
                            double *removed);
/*
 * After A x = P b was solved: norms, outcome and the `norms` of the iterations become those of
 * b - A x. b and x are in the numbering of level 0.
 */
cmg_status cmgi_range_judge(cmgi_multigrid *mg, const double *b, double *x, double *norms,
                            cmg_report *report);
