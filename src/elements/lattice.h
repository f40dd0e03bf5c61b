/*
 * Cells of a lattice that are multiples of one template, on a GPU: no node numbers are read at all,
 * and the reflections of the cell save most of the arithmetic.
 *
 * Node (i, j, k) has number i + nx (j + ny k). Cell (i, j, k), i from -1 to nx - 1, has the nodes
 * (i, j, k) + bits of its corner; those outside the lattice are fixed, as eliminated boundaries
 * are. What is stored is a factor a cell, 0 where there is none:
 *
 *     factor of cell (i, j, k)    factor[(i + 1) + (nx + 1) ((j + 1) + (ny + 1) (k + 1))]
 *
 * Let H be the Hadamard matrix of the corners, H_pa = (-1)^(bits that p and a share); H H = 8. A
 * reflection of the cell negates the rows of H that have its bit, and the displacement along its
 * axis. If K commutes with the reflections, M = H K H couples (p, c) with (q, d) only where the
 * bits of p, with bit c turned over, are those of q with bit d turned over (for one unknown a node:
 * p = q alone): 8 blocks of 3 x 3 in place of 24 x 24,
 *
 *     K = H M H / 64,    blocks[9 l + 3 c + d] = M[(l ^ 1 << c, c), (l ^ 1 << d, d)] / 64,
 *
 * or blocks[l] = M[l, l] / 64. H costs additions, and that of a layer of nodes serves the cells on
 * both sides of it.
 *
 * Source  the symmetry: Bossavit, Comput. Methods Appl. Mech. Engrg. 56, 1986, section 2; walking
 * up in layers: Micikevicius, GPGPU-2, 2009.
 */
#pragma once
#include "csr/elements.h"

enum { CMGI_LATTICE_THREADS = 256 };

typedef struct cmgi_lattice {
    cmg_index n[3];    /* nodes along x, y, z */
    int tile[2];       /* cells of a block along x and y; it has rows of one node fewer */
    double blocks[72]; /* of M / 64; 8 where a node has one unknown */
    uint8_t *fixed;    /* nodes: 1 = in no cell; NULL = all are in cells */
    cmg_index *order;  /* cells, on the host: the element, -1 = none */
} cmgi_lattice;

/* Places for cells; blocks of a product, at most. */
cmg_size cmgi_lattice_cells(const cmgi_lattice *L);
cmg_size cmgi_lattice_blocks(const cmgi_lattice *L);
/*
 * The lattice whose cells the elements are, node[e nodes + a] on the host, -1 = fixed; *made stays
 * NULL where they are not those of one, or K has not its reflections.
 */
cmg_status cmgi_lattice_make(cmg_context *ctx, const cmg_elements *E, const cmg_index *node,
                             int block, cmgi_lattice **made);
void cmgi_lattice_free(cmg_context *ctx, cmgi_lattice *L);
