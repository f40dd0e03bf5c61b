/*
 * Black box multigrid: a lattice is seen in a matrix, and its coarse points are every second one.
 *
 *   lattice   offsets of columns are sums of one step at most in each of two or three directions
 *   points    every second in the directions in which A couples well, all of them in the others
 *   P         at a point between coarse ones, the values for which A x = 0 there if x changes in
 *             these directions alone: linear where coefficients are constant, and it follows jumps
 *
 * R A P couples neighbours on the coarse lattice again, so that a level is as sparse as one of a
 * mesh. Sources: Dendy, Black box multigrid, J. Comput. Phys. 48 (1982),
 * doi:10.1016/0021-9991(82)90057-2, section II; for the directions Ashby, Falgout, A parallel
 * multigrid preconditioned conjugate gradient algorithm for groundwater flow simulations, Nucl.
 * Sci. Eng. 124 (1996).
 *
 * On the host and on the device, of the same bits and for any number of threads.
 */
#pragma once
#include "csr/place.h"
#include "csr/resident.h"
#include "transfer/points.h"

/*
 * Guesses the lattice of a square matrix by a sample of its rows; `there` is A on the device, NULL
 * where it is on the host. points->dim is 0 where there is none.
 */
cmg_status cmgi_points_find(cmg_context *ctx, const cmg_csr *A, const cmgi_resident *there,
                            cmgi_points *points);
/* points->dim becomes 0 unless every entry that is not 0 lies on a neighbour, diagonal ones among
 * them; one pass over A. */
cmg_status cmgi_points_confirm(cmg_context *ctx, cmgi_place at, const cmg_csr *A,
                               cmgi_points *points);
/*
 * Whether P of them is likely to be better than one of aggregates, by a sample of rows: A is
 * symmetric, or flow hardly rules, and most of its rows couple alike in the directions that are
 * coarsened.
 */
cmg_status cmgi_points_suit(cmg_context *ctx, const cmg_csr *A, const cmgi_resident *there,
                            const cmgi_points *points, bool *suit);
/* Whether all rows are the one in the middle, cut off where neighbours were eliminated, which
 * mirrors itself in some directions (NULL: in none is asked); up to rounding. One pass over A where
 * that one does. */
cmg_status cmgi_rows_are_cut(cmg_context *ctx, cmgi_place at, const cmg_csr *A,
                             const cmgi_resident *there, const cmgi_points *p,
                             const bool mirrors[3], bool *cut);
/*
 * P of A on points, at that place, and how it halves them; *P stays empty where none can be left
 * out. A row without couplings is one of zeros: smoothing alone solves for it.
 */
cmg_status cmgi_blackbox(cmg_context *ctx, cmgi_place at, const cmg_csr *A,
                         const cmgi_resident *there, const cmgi_points *points, cmgi_csr *P,
                         cmgi_halving *halving);
