/*
 * A matrix on a lattice whose rows are all alike but near the rim has every kind of its rows on a
 * small lattice, too. Levels are made there, and their rows copied to where they belong: no product
 * of the large matrices is formed.
 *
 *     large      0 1 2 | 3 4 5 ...           ... n-4 | n-3 n-2 n-1    alike from 3 to n - 4
 *     miniature  0 1 2 3 4 5 | 6 7 (8) |     ...       s-3 s-2 s-1    n - s is even
 *
 * Rows of P and of P^T A P at a distance of 6 or more from the rim depend on inner rows of A alone;
 * a coarse row is at half the distance, so that all further levels are alike from 3 on again. Where
 * all rows are an inner one, cut off at the rim, 2 points do for 6.
 */
#pragma once
#include "csr/place.h"
#include "csr/resident.h"
#include "transfer/points.h"

typedef struct cmgi_miniature {
    cmgi_points points;
    cmgi_csr A; /* on the host; empty: the large matrix has other rows, or is as small */
} cmgi_miniature;

/* That of a matrix at a place; one pass over it where rows of the miniature are alike. */
cmg_status cmgi_miniature_find(cmg_context *ctx, cmgi_place at, const cmg_csr *A,
                               const cmgi_resident *there, const cmgi_points *points,
                               cmgi_miniature *mini);
/*
 * P of black box multigrid and A of the next level of a large lattice, at that place, with the bits
 * of cmgi_blackbox and cmgi_galerkin; the miniature becomes that of the next level. P stays empty
 * where no point can be left out.
 */
cmg_status cmgi_miniature_level(cmg_context *ctx, cmgi_place at, const cmgi_points *points,
                                cmgi_miniature *mini, cmgi_csr *P, cmgi_csr *coarse,
                                cmgi_halving *halving);
void cmgi_miniature_clear(cmg_context *ctx, cmgi_miniature *mini);
CMGI_RELEASES(cmgi_miniature_clear, cmgi_miniature)
