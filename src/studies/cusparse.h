/* cuSPARSE behind the interface of the formats (cusparse.cu). */
#pragma once
#include "spmv/csr.h"
#include "spmv/slices.h"

/*
 * CSR of the blocks in the storage of csr: values block by block, row by row in a block.
 * A->options.block_rows says how large they are, 0 = the largest that are mostly full.
 */
cmg_status cmgi_bsr_build(cmg_matrix *A, const cmgi_matrix_source *from);

/* By the format of A. */
cmg_status cmgi_cusparse_build(cmg_matrix *A, const cmgi_matrix_source *from);
cmg_status cmgi_cusparse_finish(cmg_matrix *A);
cmg_status cmgi_cusparse_spmv(const cmg_matrix *A, const cmgi_writeback *w, const void *x);
void cmgi_cusparse_destroy(cmg_matrix *A);
