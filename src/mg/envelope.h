/*
 * A matrix factorised directly, where that is cheap. Symmetric: A = L L^T in the envelope of A,
 * each row of L from its first column to the diagonal, after a reverse Cuthill-McKee ordering where
 * the given one is not as good. Semidefinite matrices, too: a pivot that is zero to rounding leaves
 * its unknown at 0, and what comes out is a symmetric G with A G A = A. Rows with a negative
 * diagonal are taken times -1, which makes negative definite blocks positive ones.
 *
 * Rows are kept and worked on by pairs, which begin in the same, even column:
 *
 *     4 x 4, tridiagonal   | l00     .       |   rows 0 and 1 from column 0,
 *                          | l10 l11         |   rows 2 and 3 from column 0 (1 made even):
 *                          |  0  l21 l22     |   start = {0, 4, 12}, first = {0, 0}
 *                          |  0   0  l32 l33 |   entry (i, j): value[start[i/2] + (i%2) width + j
 *                                                - first[i/2]], width = i/2*2 + 2 - first[i/2]
 *
 * The diagonal has 1 / l_ii, 0 where the pivot was zero. Of any other A L and U with exchanges
 * of rows (band.c), in the same order and the band of A: row p from column p - below to p + above,
 * and `below` more for the exchanges, which leave rows of L where they were; entry (p, q):
 * value[p (2 below + above) + below + q].
 *
 * Source  George and Liu, Computer Solution of Large Sparse Positive Definite Systems, 1981, ch. 4.
 */
#pragma once
#include "spmv/matrix.h"

typedef struct cmgi_envelope {
    cmg_size rows;
    cmg_size pairs;
    cmg_index *place; /* of row i, rows */
    cmg_index *first; /* column of a pair, pairs */
    cmg_size *start;  /* of its entries, pairs + 1; the last one is the number of all, of LU too */
    double *value;
    int8_t *sign;     /* of a_ii, rows */
    bool negative;    /* one of them is: what CG does not take */
    cmg_size zeros;   /* unknowns that were left at 0 */
    double roundings; /* of an entry a column, below which a pivot is zero */
    cmg_index *swap;  /* row that row p of an LU changed places with, rows; NULL = A = L L^T */
    cmg_size below;   /* entries of its L beside the diagonal, and of A above it */
    cmg_size above;
} cmgi_envelope;

/*
 * *E stays NULL where the factorisation takes more than `budget` multiplications (pattern alone),
 * or a pivot is zero to rounding and A not semidefinite.
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
/*
 * Its solution as a matrix of the cycle: y = G x, in the precision of the options; E is
 * borrowed. perm: numbering of the cycle, NULL = that of A; borrowed, too. One product at a time.
 */
cmg_status cmgi_envelope_matrix(cmg_context *ctx, const cmgi_envelope *E, const cmg_index *perm,
                                const cmg_matrix_options *options, cmg_matrix **M);
/* band.c. Room for L and U in the order of E, and E->swap, unless they take more than the budget;
 * then what they are, false where a pivot is zero to rounding; y <- U^-1 L^-1 y. */
cmg_status cmgi_band_create(cmg_context *ctx, const cmg_csr *A, double budget, cmgi_envelope *E);
bool cmgi_band_factor(const cmg_csr *A, cmgi_envelope *E);
void cmgi_band_solve(const cmgi_envelope *E, double *y);
