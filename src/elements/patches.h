/*
 * Elements that are multiples of a few templates, on a GPU: what is left to move are vectors, node
 * numbers and factors, so that the products with K_e have to be cheap.
 *
 * A block of threads takes a patch: elements that lie close together, up to CMGI_PATCH_ELEMENTS.
 * It loads x of the patch's nodes into shared memory, multiplies, adds up there, writes the rows
 * of nodes that no other patch has, and leaves parts of the others, which a second kernel adds in
 * the order of the patches. Elements of a patch are coloured; those of one colour share no node and
 * add at once, colour after colour: sums have a fixed order.
 *
 * A warp takes 8 elements of one colour and one template, a batch. y_e = K x_e for all of them is a
 * product of matrices of 8 x n by n x n, for which the tensor cores have instructions of 8 x 4 by
 * 4 x 8 in fp64. Four threads share an element: thread t has its nodes t, t + 4, .., `rounds` of
 * them, of `block` unknowns each, D = rounds block in all, in K as in y:
 *
 *     unknown s of thread t    u(t, s) = (t + 4 (s / block)) block + s mod block
 *     step g of K              columns u(0, g) .. u(3, g)
 *     eight rows f of K        rows u(n / 2, 2 f + n mod 2), n = 0 .. 7
 *     matrix of a template     ((g ceil(D / 2) + f) 32 + 4 n + t): K[u(n / 2, 2 f + n mod 2)][u(t,
 * g)]
 *
 * zeros where an element has no such node. Lane 4 e + t of a batch has element e's.
 */
#pragma once
#include "csr/elements.h"

enum {
    CMGI_PATCH_ELEMENTS = 512,
    CMGI_PATCH_VALUES = 3072, /* unknowns of a patch at most: x and y take 48 kB in fp64 */
    CMGI_PATCH_NONE = 0xffff
};

typedef struct cmgi_patches {
    int rounds;              /* nodes of an element that a thread takes */
    cmg_size count;          /* patches */
    cmg_size colours;        /* of all patches together */
    cmg_size batches;        /* of 8 elements */
    cmg_size nodes;          /* of all patches together */
    cmg_size parts;          /* of nodes that several patches have */
    cmg_size shared;         /* nodes of several patches, or of none */
    cmg_index most;          /* nodes of the largest patch */
    cmg_index *first_colour; /* count + 1 */
    cmg_index *first_batch;  /* colours + 1 */
    cmg_index *first_node;   /* count + 1 */
    cmg_index *first_part;   /* count + 1 */
    cmg_index *node;         /* nodes: those of one patch alone first, then those with parts */
    uint16_t *local;         /* batches x 32 x rounds: place of a lane's node in its patch */
    cmg_index *number;       /* batches: template; NULL = 0 everywhere */
    cmg_index *shared_node;  /* shared */
    cmg_index *shared_first; /* shared + 1 */
    cmg_index *shared_part;  /* parts */
    double *matrix;          /* templates x D ceil(D / 2) x 32 */
    cmg_index *order;        /* batches x 8, on the host: the element, -1 = none */
} cmgi_patches;

/* Nodes of `nodes` that a thread takes; 0 = such elements have no kernel. */
int cmgi_patches_rounds(int nodes, int block);
/*
 * Patches of elements whose nodes are node[e nodes + a], -1 = fixed, on the host. *made stays NULL
 * where a node has more elements than there are colours.
 */
cmg_status cmgi_patches_make(cmg_context *ctx, const cmg_elements *E, const cmg_index *node,
                             int block, cmgi_patches **made);
cmg_status cmgi_patches_move(cmg_context *ctx, cmgi_patches *P);
/* Bytes that a product reads and writes but for factors and vectors. */
size_t cmgi_patches_bytes(const cmgi_patches *P, cmg_size templates, int block, size_t value);
void cmgi_patches_free(cmg_context *ctx, cmgi_patches *P);
