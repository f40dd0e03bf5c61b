/* Products with the matrix of a box (box.h) on a GPU: march.cuh says how. */
#pragma once
#include "spmv/compressed.h"

/* y = writeback(A x) of one column. */
cmg_status cmgi_march_spmv_cuda(const cmg_matrix *A, const cmgi_writeback *w, const void *x);
/* In fp64: r = b - A x, stored in fp32, and parts of (r, r). */
cmg_status cmgi_march_residual_cuda(const cmg_matrix *A, const double *b, const double *x, float *r,
                                    double *dots);
/* Numbers that either leaves in the array of inner products. */
cmg_size cmgi_march_sums(const cmg_matrix *A);
