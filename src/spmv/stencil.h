/*
 * Templates of a grid: rows whose neighbours lie in the same few runs of columns, on the boundary
 * some of them missing. All templates are spread over one list of runs of three columns,
 *
 *     (A x)_i = sum over runs r and m = 0, 1, 2 of  value[id(i)][r][m]  x[i + run[r] + m],
 *
 * with zeros where a template has no entry. Neighbouring rows read overlapping windows of x, so
 * that a thread which takes four rows loads a run's six values in packs in place of twelve one by
 * one.
 *
 * Example, 5-point stencil on lines of n unknowns: entries -n, -1, 0, 1, n;
 * runs (-n, -n+1, -n+2), (-1, 0, 1), (n, n+1, n+2), 9 values of which 4 are zero.
 */
#pragma once
#include "spmv/compressed.h"

enum { CMGI_RUN = 3, CMGI_RUN_STORED = 4, CMGI_RUNS = 64 };

typedef struct cmgi_stencil {
    int runs;
    cmg_index run[CMGI_RUNS];                 /* runs: first column minus the row, ascending */
    void *value;                              /* templates x runs x 4 values, the fourth 0 */
    double first[CMGI_RUNS][CMGI_RUN_STORED]; /* those of the first template, on the host */
} cmgi_stencil;

/* Finds the runs of a matrix's templates, for a GPU; leaves C->t.stencil NULL where they would be
 * too many. */
cmg_status cmgi_stencil_build(cmg_context *ctx, cmg_precision precision, cmgi_compressed *C);
/* *done = the template slices were multiplied; false where alignment forbids it. */
cmg_status cmgi_stencil_spmv_cuda(const cmg_matrix *A, const cmgi_writeback *w, const void *x,
                                  bool *done);
