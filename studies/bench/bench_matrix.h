/*
 * Matrices to measure with: level 0 of what a file holds, a matrix of any shape, or a built-in one
 * by its name,
 *
 *   q1-2d:N, q1-3d:N        Q1 Poisson on N cells a side, Dirichlet unknowns eliminated: 9 or 27
 *                           entries in an inner row, explicit zeros included
 *   noisy-2d:N, noisy-3d:N  the same pattern with every value off by up to 10 %, as on a distorted
 *                           mesh: no two rows are equal
 */
#pragma once
#include "input.h"

typedef struct bench_matrix {
    char name[64]; /* of the file without its folder, or as given */
    cmg_csr csr;
    cmg_size longest; /* entries of the longest row */
    cmg_hierarchy *h; /* owner of the matrix, or NULL */
    cmg_context *ctx; /* of a matrix that no hierarchy owns, else NULL */
    double *values;   /* noisy: values of its own, else NULL */
} bench_matrix;

/* EXIT_DONE, or another exit status after one error line. */
int bench_matrix_generate(cmg_context *ctx, const char *name, bench_matrix *m);
int bench_matrix_read(device_args *d, cmg_context *ctx, const char *path, bench_matrix *m);
void bench_matrix_free(bench_matrix *m);
