/* Cliques of a matrix graph: sets of unknowns that all meet each other, which is what elements
 * leave. */
#pragma once
#include "csr/csr.h"

typedef struct cmgi_cliques {
    cmg_size count;
    cmg_size *first;    /* count + 1 offsets into `members` */
    cmg_index *members; /* ascending in each clique */
    cmg_size largest;   /* members of the largest one */
    cmg_size room[2];   /* allocated lengths of first and members */
} cmgi_cliques;

/*
 * Cliques of at most `limit` members that cover every entry of S, each of which could not be
 * enlarged when it was found. S has sorted rows, a symmetric pattern and a full diagonal. On meshes
 * of quadrilaterals, hexahedra and simplices with Lagrange elements these are the elements.
 */
cmg_status cmgi_cliques_find(cmg_context *ctx, const cmgi_csr *S, cmg_size limit, cmgi_cliques *c);
void cmgi_cliques_free(cmg_context *ctx, cmgi_cliques *c);
CMGI_RELEASES(cmgi_cliques_free, cmgi_cliques)
