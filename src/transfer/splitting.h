/*
 * Which rows of a matrix are coarse ones.
 *
 *   strength   a row depends on those of its entries that have the other sign than the diagonal,
 *              from a share of the largest of them on (aggregate.h)
 *   splitting  coarse rows are an independent set of these, rows first that most others depend on
 *
 * Sources: De Sterck, Yang, Heys, Reducing complexity in parallel algebraic multigrid
 * preconditioners, SIAM J. Matrix Anal. Appl. 27 (2006), doi:10.1137/040615729, algorithm PMIS; for
 * flow Ruge, Stueben, Algebraic multigrid, in McCormick (ed.), Multigrid Methods, 1987,
 * doi:10.1137/1.9781611971057.ch4, first and second pass: half the levels of PMIS, whose set is
 * thin where each row depends on few.
 */
#pragma once
#include "csr/place.h"

enum { CMGI_FINE = -1 };

typedef struct cmgi_splitting {
    cmgi_place at;
    cmgi_csr S;        /* strength; values are sizes */
    cmg_index *number; /* of a coarse row among these, CMGI_FINE elsewhere */
    cmg_size coarse;
} cmgi_splitting;

/*
 * By keys - how many rows depend on a row, then its place: a row is fine where it depends on a
 * coarse one of a larger key, else coarse; of the same bits for any number of threads and at both
 * places. To be freed in any case. Places are in order, so that coarse rows are as regular as the
 * numbering: by hashes anisotropy at an angle takes half as many iterations more. With a backend of
 * a GPU they are hashes, as rows of a lattice wait for each other: by order 1 M of five points take
 * 1900 passes of 136 ms on an H200, by hash 19 of 1.2 ms.
 */
cmg_status cmgi_split(cmg_context *ctx, cmgi_place at, const cmg_csr *A, double theta,
                      cmgi_splitting *s);
/*
 * On the host, by one thread in the order of the rows; then fine rows of which one depends on the
 * other share a coarse one.
 */
cmg_status cmgi_split_in_order(cmg_context *ctx, const cmg_csr *A, double theta, cmgi_splitting *s);
void cmgi_splitting_free(cmg_context *ctx, cmgi_splitting *s);
CMGI_RELEASES(cmgi_splitting_free, cmgi_splitting)
