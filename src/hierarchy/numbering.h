/*
 * Numberings of nodes: order[k] is the old number of the node that becomes node k.
 *
 * They work on nodes; where a node has several unknowns, rows node * block .. + block - 1 of A are
 * its unknowns.
 */
#pragma once
#include "hierarchy/hierarchy.h"

/* By key, ties by old number. */
cmg_status cmgi_order_by_key(cmg_context *ctx, cmg_size n, const uint64_t *keys, cmg_index *order);
/* Least and largest coordinates of points. */
void cmgi_box_of(int dim, cmg_size points, const double *x, double *low, double *high);
/*
 * Lexicographic by the last axis first. Coordinates count as equal within 2^-20 of the extent, so
 * that rounding does not tear lines of nodes apart.
 */
cmg_status cmgi_order_lexicographic(cmg_context *ctx, cmg_size n, int dim, const double *x,
                                    cmg_index *order);
/*
 * Breadth first through the graph of A from a node of large eccentricity, neighbours by degree.
 * Source: Cuthill and McKee 1969; start by George and Liu 1979; reverse: George 1971.
 */
cmg_status cmgi_order_cuthill_mckee(cmg_context *ctx, const cmg_csr *A, int block, bool reverse,
                                    cmg_index *order);
/*
 * The same reversed, of a matrix that is taken to have a symmetric pattern, from a start that few
 * searches find: no graph is made. Every pattern gives a permutation.
 */
cmg_status cmgi_order_narrow(cmg_context *ctx, const cmg_csr *A, cmg_index *order);
/*
 * Nodes that take over one coarse node (a row of P with the one entry 1) first, in the order that
 * the coarse nodes have after their own renumbering (`coarse`, NULL = as they are), then the
 * others. block[0] unknowns a node, block[1] a coarse one.
 */
cmg_status cmgi_order_hierarchical(cmg_context *ctx, const cmg_csr *P, const int block[2],
                                   const cmg_index *coarse, cmg_index *order);
/*
 * Coarse nodes as the rows of P, in the order `rows` (NULL = as they are), come to have them; those
 * that none has come last.
 */
cmg_status cmgi_order_by_rows(cmg_context *ctx, const cmg_csr *P, const cmg_index *rows, int block,
                              cmg_index *order);
/* A random permutation (Fisher and Yates). */
void cmgi_order_random(cmg_size n, uint64_t seed, cmg_index *order);
/* part[i], 0 .. parts - 1, of every node by METIS, with few edges between parts; of 0 parts the
 * order of nested dissection. CMG_ERR_UNSUPPORTED in a build without METIS. */
cmg_status cmgi_part_metis(cmg_context *ctx, const cmg_csr *A, int block, int parts,
                           cmg_index *part);
/* CMG_ERR_INTERNAL unless every one of 0 .. n-1 is there once. */
cmg_status cmgi_order_check(cmg_context *ctx, cmg_size n, const cmg_index *order);

/* Node order to order of the unknowns; NULL stays NULL. */
cmg_status cmgi_order_expand(cmg_context *ctx, const cmg_index *order, cmg_size nodes, int block,
                             cmg_index **perm);
/* Values of a vector whose nodes come in an order, of which order[k block] / block is node k. */
cmg_status cmgi_order_values(cmg_context *ctx, const cmgi_stored_vector *v, cmg_size nodes,
                             const cmg_index *order, int block, double **values);

/* Unknowns a node of level l: the attribute block_size where it divides the rows, else 1. */
int cmgi_hierarchy_block(const cmg_hierarchy *h, int l);
/* An order for each level; NULL = unchanged. */
typedef cmg_index *cmgi_orders[CMGI_HIERARCHY_LEVELS + 1];
void cmgi_orders_free(cmgi_orders *orders);
/*
 * The orders of a numbering, order[l] for the nodes of level l; all stay NULL for GENERATED. The
 * caller frees them, after a failure too.
 */
cmg_status cmgi_hierarchy_orders(cmg_hierarchy *h, cmg_numbering numbering, uint64_t seed,
                                 cmg_index **order);
/* Renumbers level l's nodes by order[l] (NULL = unchanged) in all that the hierarchy holds. */
cmg_status cmgi_hierarchy_reorder(cmg_hierarchy *h, cmg_index *const *order);
