/* Parts of the table of matrices on the device (resident.h) that have a file of their own. */
#pragma once
#include "core/cuda.cuh"

extern "C" {
#include "csr/resident.h"
}

/* arrange_cuda.cu */
cmg_status cmgi_resident_offsets(cmg_context *ctx, cmg_size n, cmg_size *count, cmg_size *total);
cmg_status cmgi_resident_gather(cmg_context *ctx, const cmgi_resident *R, const cmg_index *row,
                                cmg_size count, cmgi_csr *host);
/* Rows of A by a list on the device, there, with room for *nnz entries; *nnz = 0: they are counted,
 * for which the host waits. */
cmg_status cmgi_resident_pick(cmg_context *ctx, const cmg_csr *A, const cmg_index *row,
                              cmg_size count, cmg_csr *part, cmg_size *nnz);
cmg_status cmgi_resident_transpose(cmg_context *ctx, const cmg_csr *A, cmg_size nnz, cmg_csr *T);
/* The columns of every row ascending in `to`, which has the offsets, and values with them where it
 * has any; the columns of a row differ. */
cmg_status cmgi_resident_sort(cmg_context *ctx, const cmg_csr *from, const cmg_csr *to);
/* rows_cuda.cu */
cmg_status cmgi_resident_rows(cmg_context *ctx, const cmg_csr *A, cmgi_resident *R);
cmg_status cmgi_resident_rows_each(cmg_context *ctx, int count, cmgi_resident *const *R);
/* dense_cuda.cu */
cmg_status cmgi_resident_expand(cmg_context *ctx, const cmg_csr *A, double *X,
                                cmgi_dense_look *look);
/* product_cuda.cu */
cmg_status cmgi_resident_multiply(cmg_context *ctx, const cmgi_resident *A, const cmgi_resident *B,
                                  bool filled, cmgi_resident *C);
/* product_values_cuda.cu */
cmg_status cmgi_resident_multiply_values(cmg_context *ctx, const cmg_csr *A, const cmgi_resident *B,
                                         const cmgi_resident *C, cmgi_product_rows rows);
