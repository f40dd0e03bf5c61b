/* Q1 Poisson on the unit square or cube, `cells` a side, Dirichlet unknowns eliminated. */
#pragma once
#include "bench.h"

#include <cmg_fem.h>

/* Levels down to 2 cells a side. */
cmg_status q1_hierarchy(cmg_context *ctx, int dim, int cells, cmg_hierarchy **h);
/* The finest level alone, or levels down to 16 cells a side, of this or another element, distorted
 * or not: of Q1 (cells-1)^dim rows, 9 or 27 entries in an inner row. */
cmg_status q1_element(cmg_context *ctx, const bench_problem *p, cmg_element element, bool alone,
                      cmg_hierarchy **h);
/* A mesh without two equal cells: coarse nodes shifted by up to half of `distort` cells, smooth
 * coefficient, levels down to 16 cells a side. */
cmg_status q1_distorted(cmg_context *ctx, int dim, int cells, double distort, cmg_hierarchy **h);
/* The same levels as templates, whose finest ones never are a CSR; no vectors. */
cmg_status q1_templates(cmg_context *ctx, int dim, int cells, cmg_hierarchy **h);
/* ||b - A x|| / ||b|| of the finest level of equal cells, of a stencil made here by tensor products
 * and in plain loops; b NULL = 1. */
double q1_residual(int dim, int cells, const double *b, const double *x);
/* The hierarchy of a problem: distorted, or not. */
cmg_status q1_problem(cmg_context *ctx, const bench_problem *p, cmg_hierarchy **h);
/* With other Dirichlet rows; `whole`: P has entries at fixed nodes, too. */
cmg_status q1_bounded(cmg_context *ctx, const bench_problem *p, cmg_boundary boundary, bool whole,
                      cmg_hierarchy **h);
/* Corners, in VTK's order, of the n^3 cells of a cube whose nodes are numbered x fastest. */
void q1_corners(cmg_size n, cmg_index *corners);
