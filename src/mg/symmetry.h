/* Symmetry of the finest matrix and of the cycle, by the way they were made or by trial. */
#pragma once
#include "cmg.h"
#include "mg/setup.h"

typedef struct cmgi_symmetry {
    bool matrix; /* on unknowns without a Dirichlet condition */
    bool cycle;
} cmgi_symmetry;

/*
 * True where the cycle needs no trial, nor A in its precision: `auto` found every level matrix
 * symmetric, smooths before as after with polynomials in it, R is P^T, and the coarse inverse is
 * symmetric.
 */
bool cmgi_symmetric_by_design(const cmgi_setup *s, int total);
/*
 * Compares (A u, v) with (u, A v), and the same of the cycle, for random u and v that are 0 in
 * Dirichlet rows: the difference is that of the matrix and its transpose, in Frobenius's norm,
 * times a number of size 1. Costs two products with A, two cycles, and four vectors for the moment.
 */
cmg_status cmgi_symmetry_look(cmg_context *ctx, const cmgi_levels *levels, cmgi_cycle *cycle,
                              cmgi_symmetry *symmetry);
