/*
 * The rows of a node: which nodes they couple with, and which numbers of the cells around it are
 * added up where. On a mesh a stencil is made when it is asked for, on a grid once for all nodes of
 * a class.
 */
#pragma once
#include "fem/space.h"

typedef struct cmgi_stencil {
    int cells;         /* around the node, ascending */
    int columns;       /* nodes that its rows have columns of */
    int lost;          /* coupled nodes without columns; of a grid */
    cmg_index *cell;   /* cells: their numbers, on a grid from the first one on */
    cmg_index *local;  /* cells: number of the node in each */
    cmg_index *window; /* columns, then lost: the nodes, counted from the node, ascending */
    cmg_index *offset; /* columns x components: columns, counted from the node's first row */
    cmg_index *place;  /* cells x local nodes: position in the window, -1 = not in it */
} cmgi_stencil;

typedef struct cmgi_stencils {
    const cmgi_space *space;
    cmg_size room;      /* most coupled nodes, each counted from every cell */
    cmg_size count;     /* of a grid: classes; of a mesh: threads, each with a stencil of its own */
    cmgi_stencil *list; /* count */
    cmg_index *numbers; /* what they consist of */
} cmgi_stencils;

/* For the caller to free, also where it fails. */
cmg_status cmgi_stencils_create(const cmgi_space *space, cmgi_stencils *s);
void cmgi_stencils_free(cmg_context *ctx, cmgi_stencils *stencils);
CMGI_RELEASES(cmgi_stencils_free, cmgi_stencils)
/* Stencil of the node of an unknown, on a mesh until the thread asks again; NULL = it is fixed. */
const cmgi_stencil *cmgi_stencil_of(const cmgi_stencils *stencils, cmg_size unknown);
/* A matrix with row pointers, and room for columns and values. */
cmg_status cmgi_stencils_count(const cmgi_stencils *stencils, cmgi_csr *A);
