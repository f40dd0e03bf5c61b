/* Storage of the format csr, which cuSPARSE's CSR wraps. */
#pragma once
#include "spmv/matrix.h"

/* Arrays of a CSR matrix in the backend's memory. */
typedef struct cmgi_csr_storage {
    cmg_size *indptr;             /* rows + 1 */
    cmg_index *columns;           /* nnz */
    struct cmgi_csr_tiles *tiles; /* how a GPU shares out uneven rows, NULL = by lanes */
} cmgi_csr_storage;

size_t cmgi_csr_bytes(const cmgi_row_statistics *s, const cmg_matrix_options *options);
cmg_status cmgi_csr_build(cmg_matrix *A, const cmgi_matrix_source *from);
void cmgi_csr_destroy(cmg_matrix *A);

/* csr.cu */
cmg_status cmgi_csr_spmv_cuda(const cmg_matrix *A, const cmgi_writeback *w, const void *x);
