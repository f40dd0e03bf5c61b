/*
 * Prolongation between tensor-product grids: P = P_z (x) P_y (x) P_x (x) I, where P_d interpolates
 * along one axis and I is the identity over the unknowns of a node.
 *
 * An axis map lists, for every fine position, the coarse positions that it takes values from:
 *
 *       fine  0 1 2 3 4        count  1 2 1 2 1
 *       coarse 0   1   2       column 0 0 1 1 1 2 2  (two slots a row), weight 1 .5 .5 1 ...
 *
 * A position that is not interpolated (a Dirichlet row) has count 0, and a coarse one that gives
 * nothing does not occur: both conditions are products over the axes too.
 */
#pragma once
#include "csr/csr.h"

enum { CMGI_AXIS_WIDTH = 3 }; /* most coarse positions of a fine one: quadratic interpolation */

typedef struct cmgi_axis_map {
    cmg_size rows;
    cmg_size cols;
    unsigned char *count; /* rows */
    cmg_index *column;    /* rows x CMGI_AXIS_WIDTH, ascending */
    double *weight;       /* rows x CMGI_AXIS_WIDTH */
} cmgi_axis_map;

cmg_status cmgi_axis_map_alloc(cmg_context *ctx, cmg_size rows, cmg_size cols, cmgi_axis_map *map);
void cmgi_axis_map_free(cmg_context *ctx, cmgi_axis_map *map);
CMGI_RELEASES(cmgi_axis_map_free, cmgi_axis_map)
/* P from three axes, x fastest; an axis that is not there is the 1 x 1 identity. */
cmg_status cmgi_transfer_tensor(cmg_context *ctx, const cmgi_axis_map axis[3], int block,
                                cmgi_csr *P);
