/*
 * What belongs together of a mesh whose nodes all have unknowns: the pattern of its matrix, and the
 * sum matrices of matrix and load. On CUDA all of it is made on the device, to the same bits:
 *
 *   cells of a node     numbers k = cell local + a of the places of cell_nodes that have it,
 *                       ascending: counted, put down in any order, sorted
 *   pairs of a node     (k, b), b a node of k's cell: one term of the row of the node each (and of
 *                       each pair of components); sorted by the column, b's node, then by k
 *   entries of a row    runs of equal columns
 */
#pragma once
#include "csr/csr.h"
#include "fem/sum.h"

typedef struct cmgi_sum_cells {
    cmg_size nodes;
    cmg_size cells;
    int local; /* nodes of a cell */
    int components;
    cmgi_cell_layout layout;
    /* in the backend's memory */
    const cmg_index *cell_nodes; /* cells x local */
    const unsigned char *fixed;  /* nodes: not 0 = an identity row, no column elsewhere; or NULL */
} cmgi_sum_cells;

typedef struct cmgi_mesh_sums {
    cmgi_csr A;    /* on the host, with values 0; on CUDA without arrays */
    cmg_csr there; /* A in the backend's memory without values; on the host the same arrays */
    cmg_size nnz;
    cmgi_sum matrix;
    cmgi_sum vector;
} cmgi_mesh_sums;

/* *sums is written only on success. */
cmg_status cmgi_mesh_sums_create(cmg_context *ctx, const cmgi_sum_cells *in, cmgi_mesh_sums *sums);
void cmgi_mesh_sums_free(cmg_context *ctx, cmgi_mesh_sums *sums);
CMGI_RELEASES(cmgi_mesh_sums_free, cmgi_mesh_sums)
/* A has its arrays on the host from now on. */
cmg_status cmgi_mesh_sums_bring(cmg_context *ctx, cmgi_mesh_sums *sums);

/* mesh_sums.cu */
cmg_status cmgi_mesh_sums_cuda(cmg_context *ctx, const cmgi_sum_cells *in, cmgi_mesh_sums *sums);
