/*
 * Prolongation on meshes without structure: P from a function that gives the coarse nodes and
 * weights of one fine node, the same for each of its unknowns.
 */
#pragma once
#include "csr/csr.h"

enum { CMGI_ROW_WIDTH = 27 }; /* most coarse nodes of a fine one: those of a Q2 cell in 3D */

/*
 * Writes the coarse nodes and weights of fine node `node`, at most CMGI_ROW_WIDTH, each node once;
 * returns their number. Called from several threads, twice an unknown.
 */
typedef int (*cmgi_row_fn)(const void *user, cmg_size node, cmg_index *column, double *weight);

/* P of rows x cols nodes with `block` unknowns each; weights below 1e-14 in size are left out. */
cmg_status cmgi_transfer_rows(cmg_context *ctx, cmg_size rows, cmg_size cols, int block,
                              cmgi_row_fn row, const void *user, cmgi_csr *P);
