/*
 * Classical coarsening: some of the rows are the coarse ones, and every other is interpolated from
 * those that it is coupled to.
 *
 *   splitting  transfer/splitting.h
 *   P          extended+i interpolation: from strong coarse neighbours and those of strong fine
 *              neighbours, the largest entries of a row, row sums kept
 *
 * With s_ij the sizes of strong couplings, C and F strong coarse and fine neighbours, and b_k the
 * sum of s_kj over C(k), a fine row i has
 *
 *   w_ij = (s_ij + sum over k in F(i) of s_ik s_kj / (b_k + s_ki)) / d_i,
 *
 * d_i so that row i of A is 0 on what P makes of constants, weak entries being the diagonal's: rows
 * of a product P = M N before entries are left out, with N the couplings to coarse rows and M those
 * to fine ones, and a 1 for the row itself.
 *
 * Sources: De Sterck, Falgout, Nolting, Yang, Distance-two interpolation for parallel algebraic
 * multigrid, Numer. Linear Algebra Appl. 15 (2008), doi:10.1002/nla.559; Li, Sjogreen, Yang, A new
 * class of AMG interpolation methods based on matrix-matrix multiplications, SIAM J. Sci. Comput.
 * 43 (2021), doi:10.1137/20M134931X, where a neighbour k hands on to all of C(k), whatever i.
 *
 * Of the same bits on the host, for any number of threads, and on the device.
 */
#pragma once
#include "csr/resident.h"
#include "transfer/splitting.h"

/*
 * P of A, rows x the number of coarse rows, of entries from the share `theta` on; empty where no
 * row is coarse, or every one. Rows without couplings are rows of zeros: smoothing alone solves for
 * them. At most `most` entries a row are kept, 0 = all.
 */
cmg_status cmgi_classical(cmg_context *ctx, cmgi_place at, const cmg_csr *A, double theta, int most,
                          cmgi_csr *P);
/* The same of a splitting of A with some coarse rows. */
cmg_status cmgi_classical_interpolation(cmg_context *ctx, const cmg_csr *A, const cmgi_splitting *s,
                                        int most, cmgi_csr *P);

/* By a sample of rows of A, which is there = on the device, or on the host where that is NULL. */
typedef struct cmgi_suits {
    bool plane; /* two couplings reach less than 3.6 times as many rows as one: in the plane 3
                   times, on a line 2, in space 4 and more, of quadratic elements there 7 */
    /*
     * P is likely to be better than a smoothed one of aggregates: A is symmetric, and plane; or all
     * its couplings have one sign and one in 25 is a hundredth of the largest of its row, as of
     * coefficients that jump from row to row; or seven of twelve couplings are weak, as of
     * quadratic elements; half, in space of these alone, on a GPU: set-ups take more there than
     * solves save.
     */
    bool classical;
    bool weak; /* symmetric, plane or on a CPU, and one in fifty couplings or more is weak */
    /*
     * Flow rules, by a stable scheme. Of the sizes of pairs a_ij and a_ji, differences make up six
     * tenths or more and the larger ones seven: those of central differences, for which nothing can
     * be solved on fine rows alone, are alike. And six tenths of the couplings have the other sign
     * than the diagonal.
     */
    bool flow;
} cmgi_suits;
cmg_status cmgi_look_for_levels(cmg_context *ctx, const cmg_csr *A, const cmgi_resident *there,
                                double theta, cmgi_suits *suits);
