/* The finest mesh as a hierarchy carries it for output. */
#pragma once
#include "fem/grid.h"
#include "fem/problem.h"
#include "fem/space.h"
#include "hierarchy/hierarchy.h"

cmg_status cmgi_space_store_mesh(const cmgi_space *space, const cmgi_problem *problem,
                                 cmg_hierarchy *h);
/* Bytes that it takes of a grid. */
size_t cmgi_grid_mesh_bytes(const cmgi_grid *grid);
/* This rank's share of a grid's: nodes and cells in their order, numbered through all ranks. */
cmg_status cmgi_grid_store_part(cmg_context *ctx, const cmgi_grid *grid,
                                const cmgi_problem *problem, cmg_hierarchy *h);
