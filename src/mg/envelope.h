/*
 * A symmetric matrix factorised directly, where that is cheap: A = L L^T in the envelope of A, each
 * row of L from its first column to the diagonal, after a reverse Cuthill-McKee ordering where the
 * given one is not as good. Semidefinite matrices, too: a pivot that is zero to rounding leaves its
 * unknown at 0, and what comes out is a symmetric G with A G A = A. Rows with a negative diagonal
 * are taken times -1, which makes negative definite blocks positive ones.
 *
 * Rows are kept and worked on by pairs, which begin in the same, even column:
 *
 *     4 x 4, tridiagonal   | l00     .       |   rows 0 and 1 from column 0,
 *                          | l10 l11         |   rows 2 and 3 from column 0 (1 made even):
 *                          |  0  l21 l22     |   start = {0, 4, 12}, first = {0, 0}
 *                          |  0   0  l32 l33 |   entry (i, j): value[start[i/2] + (i%2) width + j
 *                                                - first[i/2]], width = i/2*2 + 2 - first[i/2]
 *
 * The diagonal has 1 / l_ii, 0 where the pivot was zero.
 *
 * Source  George and Liu, Computer Solution of Large Sparse Positive Definite Systems, 1981, ch. 4.
 */
#pragma once
#include "spmv/matrix.h"

typedef struct cmgi_envelope cmgi_envelope;

/*
 * *E stays NULL where the factorisation takes more than `budget` multiplications (pattern alone),
 * or where A is not symmetric, or has a pivot whose sign is not that of its diagonal.
 */
cmg_status cmgi_envelope_create(cmg_context *ctx, const cmg_csr *A, double budget,
                                cmgi_envelope **E);
/* New values on the pattern; false where E is NULL above: E is then of no use. */
bool cmgi_envelope_update(const cmg_csr *A, cmgi_envelope *E);
/*
 * As many zero pivots as A is known to have null vectors, where rounding (of R A P, say) left some
 * of them a little above what counts as zero. Without it that pivot's unknown is as large as the
 * rounding of the right-hand side over its own, which fp32 does not survive. To be asked again
 * after each update; pivots stay as they are where there are not so many small ones.
 */
cmg_status cmgi_envelope_expect(cmg_context *ctx, const cmg_csr *A, cmg_size zeros,
                                cmgi_envelope *E);
void cmgi_envelope_destroy(cmg_context *ctx, cmgi_envelope **E);
CMGI_RELEASES(cmgi_envelope_destroy, cmgi_envelope *)
/* Entries of L, and unknowns that were left at 0. */
cmg_size cmgi_envelope_entries(const cmgi_envelope *E);
cmg_size cmgi_envelope_zeros(const cmgi_envelope *E);
/* Whether a row had a negative diagonal: what CG does not take. */
bool cmgi_envelope_negative(const cmgi_envelope *E);
/*
 * Its solution as a matrix of the cycle: y = G x, in the precision of the options; E is
 * borrowed. perm: numbering of the cycle, NULL = that of A; borrowed, too. One product at a time.
 */
cmg_status cmgi_envelope_matrix(cmg_context *ctx, const cmgi_envelope *E, const cmg_index *perm,
                                const cmg_matrix_options *options, cmg_matrix **M);
