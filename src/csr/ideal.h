/*
 * Ideal restrictions: R has the identity on some of the rows of A, the coarse ones c, and takes
 * from the fine ones what makes R A vanish there. With z for the fine columns of a row of R, N
 * their set,
 *
 *     z A(N, N) = -a_(c, N),   thus   (R A)_(c, j) = 0 for j in N .
 *
 * Source: Manteuffel, Ruge, Southworth, Nonsymmetric algebraic multigrid based on local approximate
 * ideal restriction (lAIR), SIAM J. Sci. Comput. 40 (2018), doi:10.1137/17M1144350, section 2.
 */
#pragma once
#include "csr/csr.h"

enum { CMGI_IDEAL_MOST = 48 }; /* entries of a row of R */

/*
 * The row of R of coarse row c from its n columns N, c among them, ascending. Where A(N, N) is
 * singular, as if it had its diagonal alone. No other entry is 1: so is c found again.
 */
void cmgi_ideal_solve(const cmg_csr *A, cmg_index c, int n, const cmg_index *N, double *z);
/*
 * row[r] = the coarse row of row r of R: its first column of value 1 in which no other row has an
 * entry. *all is false where a row has none.
 */
cmg_status cmgi_ideal_rows(cmg_context *ctx, const cmg_csr *R, cmg_index *row, bool *all);
/* Whether R A vanishes at the fine columns of R, by a sample of rows. */
bool cmgi_ideal_holds(const cmg_csr *A, const cmg_csr *R, const cmg_index *row);
