/* Parts of the table of matrices on the device (resident.h) that have a file of their own. */
#pragma once
#include "core/cuda.cuh"

extern "C" {
#include "csr/resident.h"
}

/* arrange_cuda.cu */
cmg_status cmgi_resident_offsets(cmg_context *ctx, cmg_size n, cmg_size *count, cmg_size *total);
cmg_status cmgi_resident_gather(cmg_context *ctx, const cmg_csr *A, const cmg_index *row,
                                cmg_size count, cmgi_csr *host);
cmg_status cmgi_resident_transpose(cmg_context *ctx, const cmg_csr *A, cmg_csr *T);
