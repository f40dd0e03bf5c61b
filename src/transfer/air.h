/*
 * Levels for flow: coarse rows in order (splitting.h), P as in classical coarsening, and R by local
 * approximate ideal restriction: the identity on coarse rows, and what it takes from the fine ones
 * that are near to a coarse one makes R A vanish there (csr/ideal.h).
 *
 *   near    fine rows that the coarse one is coupled to, by entries of the share `near` of its
 *           largest on; at distance 2 also those that these are coupled to
 *
 * The errors that R cannot see are those of fine rows, for which relaxation of these solves
 * (smoothers/fc_jacobi.c).
 *
 * Source: Manteuffel, Ruge, Southworth, Nonsymmetric algebraic multigrid based on local approximate
 * ideal restriction (lAIR), SIAM J. Sci. Comput. 40 (2018), doi:10.1137/17M1144350, section 3. The
 * source interpolates from one coarse row; extended+i of classical coarsening takes a third of its
 * iterations where diffusion is as large as the flow, and no more elsewhere.
 *
 * On the host, of the same bits for any number of threads.
 */
#pragma once
#include "cmg_expert.h"
#include "csr/csr.h"

/* P and R of A; empty where no row is coarse, or every one. */
cmg_status cmgi_air(cmg_context *ctx, const cmg_csr *A, double strength,
                    const cmg_coarsen_options *o, cmgi_csr *P, cmgi_csr *R);
/* New values of an R of cmgi_air, on its pattern. */
cmg_status cmgi_air_values(cmg_context *ctx, const cmg_csr *A, cmgi_csr *R);
