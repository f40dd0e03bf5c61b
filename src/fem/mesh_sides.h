/* Sides of cells brought together by their nodes: by node, sorted, without hashing. */
#pragma once
#include "fem/mesh.h"

/* A side as its lowest node's list holds it. */
typedef struct cmgi_side {
    cmg_index key[3]; /* its other nodes, ascending, -1 where it has fewer */
    cmg_index cell;
    int local; /* number of the side in the cell */
} cmgi_side;

/* Lists of the sides by lowest node; scratch for one thread per thread of the context. */
typedef struct cmgi_side_lists {
    const cmgi_mesh *mesh;
    int threads;
    cmg_size *start; /* cells around each node */
    cmg_index *list;
    cmg_size capacity;  /* sides that one node can have, scratch length per thread */
    cmgi_side *scratch; /* threads x capacity */
} cmgi_side_lists;

/* For the caller to free, also where it fails. */
cmg_status cmgi_side_lists_create(const cmgi_mesh *mesh, cmgi_side_lists *s);
void cmgi_side_lists_free(cmgi_side_lists *lists);
/* Sides, or edges, of cells whose lowest node is v, sorted by key, then cell; `side` has room for
 * capacity. */
cmg_size cmgi_sides_of_node(const cmgi_side_lists *lists, bool edges, cmg_size v, cmgi_side *side);
/* Entries from `first` with the same key. */
cmg_size cmgi_sides_equal(const cmgi_side *side, cmg_size count, cmg_size first);
/* The side of a cell that has a facet's nodes, in the first thread's scratch; NULL = none. */
const cmgi_side *cmgi_side_of_facet(const cmgi_side_lists *lists, cmg_size facet);
/*
 * single[cell * facets + local] = 1 for the sides of one cell, the others are left alone. Fails
 * with a side of more than two cells and, where there is a report, with one whose cells overlap.
 */
cmg_status cmgi_sides_match(const cmgi_side_lists *lists, unsigned char *single,
                            cmgi_mesh_report *report);
/* Key of a side given by its nodes; returns the lowest one. */
cmg_index cmgi_side_key(int corners, const cmg_index *nodes, cmg_index key[3]);
/* Nodes of a cell's side, outward. */
void cmgi_side_nodes(const cmgi_mesh *mesh, cmg_index cell, int local, cmg_index nodes[4]);
