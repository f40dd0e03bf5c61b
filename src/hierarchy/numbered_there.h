/*
 * Numberings of matrices on the device (numbered.cu). Rows that come one after the other claim the
 * columns that no earlier one has; each is numbered by the first that claims it, and by its place
 * there. Of a matrix in fronts, its own columns as the next, that is the search of Cuthill and
 * McKee (1969), of P the order of the coarse unknowns.
 */
#pragma once
#include "csr/csr.h"

/* Rows longer than this are left to the host: their entries are ordered by counting. */
enum { CMGI_NUMBERED_LONGEST = 1024 };

/*
 * The unknowns in reverse order of a search through the graph of A from a node of least degree,
 * those of equal parents by degree, then by number; nodes that are alone, or in more than some
 * dozens of components or fronts, come last as they are. `block` unknowns a node.
 */
cmg_status cmgi_order_breadth_device(cmg_context *ctx, const cmg_csr *A, int block,
                                     cmg_index *perm);
/* As cmgi_order_by_rows, of all unknowns. */
cmg_status cmgi_order_by_rows_device(cmg_context *ctx, const cmg_csr *P, const cmg_index *rows,
                                     int block, cmg_index *perm);
/* B = A in the orders of its two sides, columns ascending; to[e], unless NULL, is where entry e is
 * now. */
cmg_status cmgi_permute_device(cmg_context *ctx, const cmg_csr *A, cmg_size nnz,
                               const cmg_index *rows, const cmg_index *cols, cmg_size *to,
                               cmg_csr *B);
