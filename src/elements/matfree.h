/*
 * Matrices that are multiplied by their elements: A x = sum over e of Z_e^T K_e Z_e x, with A never
 * assembled. Four formats of one storage (csr/elements.h says what element data are):
 *
 *   NBN     node by node: a thread gathers the rows of a node from its elements (eq. 4)
 *   DBD     the same, a thread a row (eq. 5)
 *   EBE     element by element: y_e = K_e x_e, then sums (eq. 7)
 *   EBESYM  the same with the upper triangles of K_e, every entry used for both its rows
 *
 * Unknowns come in nodes of `block` = 1, 2 or 3. Elements are kept in groups of `lanes`, element
 * number g lanes + l is lane l of group g; lanes behind the last element have no nodes and zeros.
 *
 *     node a of it           node[(g nodes + a) lanes + l], -1 = none
 *     entry (i, j) of K_e    values[(g size + i local + j) lanes + l], size = local^2; EBESYM has
 *                            j >= i alone, at i local - i (i - 1) / 2 + j - i
 *     template t             values[t local^2 + i local + j], K_e = factor times it
 *
 * so that neighbouring threads, which have neighbouring elements, read neighbouring numbers.
 *
 * Where there is no need for colours: EBE adds up within a group first, in shared memory. What a
 * group leaves at one node is a part; a second pass adds the parts of a node, in the order of the
 * groups, and ends the row in its write-back. So nothing is written by two threads, and the fewer
 * nodes groups share, the less is written at all: elements are grouped by growing each group around
 * an element, always by the one that shares most nodes with it.
 *
 *     parts of group g    part_first[g] .. part_first[g + 1] - 1
 *
 *     part p              sum of y_e at pick[k] = a lanes + l,
 *                         k = pick_first[p] .. pick_first[p + 1] - 1
 *
 *     node n              sum of the parts list[k], k = first[n] .. first[n + 1] - 1
 *
 * In NBN and DBD, first and list are the elements of a node, list[k] = element nodes + a.
 *
 * On a GPU EBE and EBESYM keep repeated elements as cells of a lattice (lattice.h) where they are,
 * else in patches (patches.h) where they fit: then groups are cells, or batches of 8 lanes, that
 * have factors and an order, and none of the arrays above.
 *
 * Source  Algorithms 1 to 3 and equations 4 to 10 of the EbEsym paper (docs/formats/matfree.md);
 *         the grouping in place of colours is this library's.
 */
#pragma once
#include "elements/cliques.h"
#include "elements/lattice.h"
#include "elements/patches.h"
#include "spmv/matrix.h"

/* Unknowns of the elements of a group together, at most: 24 kB in fp64. */
enum { CMGI_MATFREE_PLACES = 3072 };

typedef struct cmgi_matfree {
    int nodes;         /* of an element */
    int block;         /* unknowns a node */
    int local;         /* nodes x block */
    int lanes;         /* elements a group */
    bool gathers;      /* NBN, DBD */
    bool half;         /* upper triangles alone */
    bool repeats;      /* values are templates */
    cmg_size count;    /* elements */
    cmg_size groups;   /* of `lanes` elements */
    cmg_size all;      /* nodes of the matrix */
    cmg_index *node;   /* groups x nodes x lanes */
    cmg_index *number; /* groups x lanes: template; NULL = 0 everywhere */
    void *factor;      /* groups x lanes in the matrix's precision; NULL = 1 everywhere */
    void *lone;        /* rows in the matrix's precision: a_ii of rows without elements */
    cmg_index *first;  /* all + 1 */
    cmg_index *list;
    cmg_size parts;        /* the rest: EBE */
    cmg_index *part_first; /* groups + 1 */
    cmg_index *pick_first; /* parts + 1 */
    uint16_t *pick;
    void *part;            /* parts x block in the matrix's precision */
    cmgi_lattice *lattice; /* in place of groups and what hangs on them; NULL = none */
    cmgi_patches *patches; /* likewise */
    /* on the host, under keep_map */
    cmg_index *order;           /* groups x lanes: the element, -1 = none */
    cmgi_element_origin origin; /* of a CSR's entries */
    cmgi_elements shape;        /* elements without matrices */
} cmgi_matfree;

/* Entries kept of an element matrix. */
CMGI_INLINE cmg_size cmgi_matfree_size(const cmgi_matfree *S)
{
    const cmg_size n = S->local;
    return S->half ? n * (n + 1) / 2 : n * n;
}

cmg_status cmgi_matfree_build(cmg_matrix *A, const cmgi_matrix_source *from);
cmg_status cmgi_matfree_update(cmg_matrix *A, const double *values);
void cmgi_matfree_destroy(cmg_matrix *A);

/* Elements in the order in which groups take them: order[g lanes + l]. */
cmg_status cmgi_matfree_group(cmg_context *ctx, const cmgi_matfree *S, const cmg_index *node,
                              cmg_index *order);
/* part_first, pick_first, pick, first and list of EBE from the nodes in place. */
cmg_status cmgi_matfree_parts(cmg_context *ctx, cmgi_matfree *S);

/* matfree.cu, lattice.cu, patches.cu */
cmg_status cmgi_matfree_spmv_cuda(const cmg_matrix *A, const cmgi_writeback *w, const void *x);
cmg_status cmgi_lattice_spmv_cuda(const cmg_matrix *A, const cmgi_writeback *w, const void *x);
cmg_status cmgi_patches_spmv_cuda(const cmg_matrix *A, const cmgi_writeback *w, const void *x);
