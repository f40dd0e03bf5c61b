/* Matrices from CSR: checks, the choice of a format, and the way to the device. */
#pragma once
#include "spmv/choose.h"

/*
 * As cmg_matrix_create_csr, for a use: what is asked for is taken as the use allows (choose.h).
 */
cmg_status cmgi_matrix_create(cmg_context *ctx, const cmg_csr *csr, cmgi_use use,
                              const cmg_matrix_options *options, cmg_matrix **A);

/* convert.cu: *good = every one of the columns on the device is in [0, cols). */
cmg_status cmgi_columns_in_range_cuda(cmg_context *ctx, cmg_size nnz, cmg_size cols,
                                      const cmg_index *columns, bool *good);
