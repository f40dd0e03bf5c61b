/*
 * Classical coarsening: some of the rows are the coarse ones, and every other is interpolated from
 * those that it is coupled to.
 *
 *   strength   which rows a row depends on: entries of a row from a share of its largest on
 *   splitting  an independent set of these, rows first that most others depend on
 *   P          extended+i interpolation: from strong coarse neighbours and those of strong fine
 *              neighbours, the largest entries of a row, row sums kept
 *
 * Sources: Ruge, Stueben, Algebraic multigrid, in McCormick (ed.), Multigrid Methods, 1987,
 * doi:10.1137/1.9781611971057.ch4 (strength, first pass of the splitting); De Sterck, Falgout,
 * Nolting, Yang, Distance-two interpolation for parallel algebraic multigrid, Numer. Linear Algebra
 * Appl. 15 (2008), doi:10.1002/nla.559, equations 18 and 19.
 *
 * On the host; the splitting in the order of the rows, by one thread, the rest in parallel and of
 * the same bits for any number of threads.
 */
#pragma once
#include "csr/csr.h"

/*
 * P of A, rows x the number of coarse rows, of entries from the share `theta` on; empty where no
 * row is coarse. Rows without couplings are rows of zeros: smoothing alone solves for them. At most
 * `most` entries a row are kept, 0 = all.
 */
cmg_status cmgi_classical(cmg_context *ctx, const cmg_csr *A, double theta, int most, cmgi_csr *P);
/*
 * Whether P of A is likely to be better than a smoothed one of aggregates, by a sample of rows: A
 * is symmetric, one in fifty of its couplings or more is weak, and two couplings reach less
 * than 3.6 times as many rows as one, as they do in the plane (3 times; on a line 2, in space 4 and
 * more).
 */
cmg_status cmgi_classical_suits(cmg_context *ctx, const cmg_csr *A, double theta, bool *suits);
