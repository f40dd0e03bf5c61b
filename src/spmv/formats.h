/* The formats' functions, named in the table of matrix.c, and what their builders share. */
#pragma once
#include "spmv/matrix.h"

/* Products with fewer entries run on one thread: starting a team costs more than they do. */
enum { CMGI_PARALLEL_ENTRIES = 20000 };

/* Allocates A->values, and A->value_map where it is wanted, on the host for A->stored entries. */
cmg_status cmgi_matrix_alloc_values(cmg_matrix *A);

/* Stores the value of CSR entry k at a storage position, and remembers the position. */
static inline void cmgi_matrix_put(cmg_matrix *A, cmg_size k, cmg_size position, double value)
{
    if (A->options.precision == CMG_FP64) {
        ((double *)A->values)[position] = value;
    } else {
        ((float *)A->values)[position] = (float)value;
    }
    if (A->value_map != NULL) {
        A->value_map[k] = position;
    }
}

cmg_status cmgi_csr_build(cmg_matrix *A, const cmg_csr *csr);
cmg_status cmgi_csr_spmv_cpu(const cmg_matrix *A, const cmgi_writeback *w, const void *x);
cmg_status cmgi_csr_spmv_cuda(const cmg_matrix *A, const cmgi_writeback *w, const void *x);
void cmgi_csr_destroy(cmg_matrix *A);

cmg_status cmgi_slices_build(cmg_matrix *A, const cmg_csr *csr);
cmg_status cmgi_slices_spmv_cpu(const cmg_matrix *A, const cmgi_writeback *w, const void *x);
cmg_status cmgi_slices_spmv_cuda(const cmg_matrix *A, const cmgi_writeback *w, const void *x);
void cmgi_slices_destroy(cmg_matrix *A);

/* Conversion on the device (convert.cu). */
cmg_status cmgi_csr_fill_cuda(cmg_matrix *A);
cmg_status cmgi_slices_fill_cuda(cmg_matrix *A);
/* *good = every one of the columns on the device is in [0, cols). */
cmg_status cmgi_columns_in_range_cuda(cmg_context *ctx, cmg_size nnz, cmg_size cols,
                                      const cmg_index *columns, bool *good);

/* cuSPARSE (vendor.cu): only in builds that have it. */
#ifdef CMGI_HAVE_CUSPARSE
#define CMGI_CUSPARSE_FN(f) f
#else
#define CMGI_CUSPARSE_FN(f) NULL
#endif
cmg_status cmgi_vendor_csr_build(cmg_matrix *A, const cmg_csr *csr);
cmg_status cmgi_vendor_sell_build(cmg_matrix *A, const cmg_csr *csr);
cmg_status cmgi_vendor_csr_finish(cmg_matrix *A);
cmg_status cmgi_vendor_sell_finish(cmg_matrix *A);
cmg_status cmgi_vendor_spmv_cuda(const cmg_matrix *A, const cmgi_writeback *w, const void *x);
void cmgi_vendor_csr_destroy(cmg_matrix *A);
void cmgi_vendor_sell_destroy(cmg_matrix *A);

cmg_status cmgi_diagonal_build(cmg_matrix *A, const cmg_csr *csr);
cmg_status cmgi_diagonal_spmv_cpu(const cmg_matrix *A, const cmgi_writeback *w, const void *x);
cmg_status cmgi_diagonal_spmv_cuda(const cmg_matrix *A, const cmgi_writeback *w, const void *x);

cmg_status cmgi_dense_build(cmg_matrix *A, const cmg_csr *csr);
cmg_status cmgi_dense_spmv_cpu(const cmg_matrix *A, const cmgi_writeback *w, const void *x);
cmg_status cmgi_dense_spmv_cuda(const cmg_matrix *A, const cmgi_writeback *w, const void *x);
void cmgi_dense_destroy(cmg_matrix *A);

cmg_status cmgi_compressed_build(cmg_matrix *A, const cmg_csr *csr);
cmg_status cmgi_compressed_spmv_cpu(const cmg_matrix *A, const cmgi_writeback *w, const void *x);
cmg_status cmgi_compressed_spmv_cuda(const cmg_matrix *A, const cmgi_writeback *w, const void *x);
void cmgi_compressed_destroy(cmg_matrix *A);
