/*
 * Whether a residual is as small as fp64 allows: || b - A x || <= c eps || |A| |x| + |b| ||. The
 * right side is what rounding the entries of x and b, and the sums of b - A x, makes of it; factors
 * of A leave residuals of about that size, too. Only under || b || / 100 is x worth that name.
 *
 * Source  Oettli and Prager 1964, doi:10.1007/BF01386090; Higham, Accuracy and Stability of
 *         Numerical Algorithms, 2002, section 7.1.
 */
#pragma once
#include "mg/multigrid.h"

/*
 * Looks at x after an iteration that has not converged; where its residual is at that level the
 * outcome becomes CMG_ROUNDING. b and x are in the numbering of level 0. Costs a pass over A on the
 * host, in a case that is rare.
 */
cmg_status cmgi_rounding_look(cmgi_multigrid *mg, const double *b, const double *x);
