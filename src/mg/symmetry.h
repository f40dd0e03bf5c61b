/* Symmetry of the finest matrix and of the cycle, by trial. */
#pragma once
#include "mg/setup.h"

typedef struct cmgi_symmetry {
    bool matrix; /* on unknowns without a Dirichlet condition */
    bool cycle;
} cmgi_symmetry;

/*
 * Compares (A u, v) with (u, A v), and the same of the cycle, for random u and v that are 0 in
 * Dirichlet rows: the difference is that of the matrix and its transpose, in Frobenius's norm,
 * times a number of size 1. Costs two products with A, two cycles, and four vectors for the moment.
 */
cmg_status cmgi_symmetry_look(cmg_context *ctx, const cmgi_levels *levels, cmgi_cycle *cycle,
                              cmgi_symmetry *symmetry);
