/*
 * Blocks of b x b entries in slices: rows and columns that belong to one node of a mesh. A slice
 * has block rows in place of rows, a block one column number, and its values lie entry by entry,
 *
 *     entry (i,j) of block k of block row r in slice s:
 *         (start[s] + k stride) b^2 + (i b + j) lanes + r - first_row[s]
 *
 * What a block lacks is stored as zero. Prolongations of systems are those of one component, times
 * the identity: where every block is a number times the identity, that number alone is stored, at
 * start[s] + k stride + r - first_row[s].
 *
 * Example, b = 2, lanes = 1:
 *
 *     [ 1 2 . . ]     block columns 0 | 0 1      values 1 2 3 4 | 5 0 0 6  7 8 9 10
 *     [ 3 4 . . ]
 *     [ 5 . 7 8 ]
 *     [ . 6 9 10]
 *
 * Source  Zhang and Zhang 2013, section 3 (BELL, SBELL).
 */
#pragma once
#include "spmv/matrix.h"

/* What the blocks of a matrix are. */
typedef struct cmgi_blocks {
    int size;      /* b, 1 = there are none */
    bool identity; /* every block is a number times the identity */
} cmgi_blocks;

enum { CMGI_BLOCK_MOST = 3 };

/*
 * The blocks of a CSR: those of `wanted` rows, which have to divide its size, or, for 0, the
 * largest whose blocks are mostly full or all multiples of the identity. `numbers`: blocks may be
 * kept as one number.
 */
cmg_status cmgi_blocks_find(cmg_context *ctx, const cmg_csr *A, int wanted, bool numbers,
                            cmgi_blocks *found);
