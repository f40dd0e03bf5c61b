/* Matrices from CSR: the choice of a format, and the way to the device. */
#pragma once
#include "spmv/choose.h"

/*
 * As cmg_matrix_create_csr, for a use: what is asked for is taken as the use allows (choose.h). The
 * CSR is from->csr, on the host and checked, or else from->there, on the device and looked at, or
 * there are from->kinds in its place,
 * which nobody waits for; a matrix from->like outlives one that is made beside it on a device,
 * which may not store a second time what that one has in fp32.
 */
cmg_status cmgi_matrix_create(cmg_context *ctx, const cmgi_matrix_source *from, cmgi_use use,
                              const cmg_matrix_options *options, cmg_matrix **A);
