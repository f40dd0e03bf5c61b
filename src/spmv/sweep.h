/*
 * The inverse of a triangular matrix L as a matrix: y = L^-1 x by substitution,
 *
 *     y_i = (x_i - sum_(j != i) l_ij y_j) / l_ii .
 *
 * L need not be triangular in its numbering: any order will do in which a row comes after those
 * that it refers to. Rows go into stages; those of a stage refer to earlier ones alone and are
 * solved in parallel (level scheduling). Row i of stage s > 0 refers to at least one row of stage s
 * - 1:
 *
 *     [ 2 . . . ]      stages  {0, 1} {2} {3}
 *     [ . 2 . . ]      row     0 1 2 3
 *     [ 1 1 2 . ]      ptr     0 1 2 5 7
 *     [ . . 1 2 ]      columns 0 | 1 | 0 1 2 | 2 3      the diagonal comes last
 *
 * It is no format that people choose: only smoothers make it. Values in one of the two precisions.
 *
 * Source  Anderson and Saad, Solving sparse triangular linear systems on parallel computers, Int.
 * J. High Speed Comput. 1 (1989), doi:10.1142/S0129053389000056.
 */
#pragma once
#include "spmv/matrix.h"

/* On the CPU and, but for `stage`, in the backend's memory. */
typedef struct cmgi_sweep {
    int stages;
    cmg_index *stage;       /* stages + 1: first places, on the host */
    cmg_index *stage_there; /* the same in the backend's memory */
    cmg_index *row;         /* of each place */
    cmg_size *ptr;          /* places + 1: entries */
    cmg_index *columns;
    void *y; /* solution before the write-back */
} cmgi_sweep;

/*
 * @return CMG_OK, CMG_ERR_MEMORY, CMG_ERR_SHAPE (not square), CMG_ERR_SINGULAR (a row without a
 *         nonzero diagonal), CMG_ERR_ARG (rows refer to each other in a circle)
 */
cmg_status cmgi_sweep_create(cmg_context *ctx, const cmg_csr *L, const cmg_matrix_options *options,
                             cmg_matrix **M);

/* sweep.cu */
cmg_status cmgi_sweep_spmv_cuda(const cmg_matrix *A, const cmgi_writeback *w, const void *x);
