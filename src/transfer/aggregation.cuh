/* Parts of the table of aggregation on the device (aggregate_there.h). */
#pragma once
#include "core/cuda.cuh"

extern "C" {
#include "transfer/aggregate_rows.h"
#include "transfer/aggregate_there.h"
}

/* strength_there.cu */
cmg_status cmgi_strength_there(cmg_context *ctx, const cmg_csr *A, int block, double theta,
                               cmg_csr *S, cmg_size *couplings);
/* tentative_there.cu */
cmg_status cmgi_tentative_there(cmg_context *ctx, const cmgi_aggregates *agg, int block,
                                int vectors, const double *B, cmg_csr *P, double **coarse);
/* smooth_there.cu */
cmg_status cmgi_smooth_there(cmg_context *ctx, const cmg_csr *A, const cmg_csr *S, double omega,
                             cmg_csr *P0, cmgi_resident *P);

/* Rows whose lengths a kernel has counted into offsets: their sum, and arrays for the entries. */
static inline cmg_status cmgi_open_rows(cmg_context *ctx, cmg_csr *M, cmg_size *nnz)
{
    CMGI_TRY(cmgi_resident_kernels_of(ctx)->offsets(ctx, M->rows, (cmg_size *)M->indptr, nnz));
    CMGI_TRY(cmgi_alloc_device(ctx, *nnz, sizeof *M->indices, &M->indices));
    return cmgi_alloc_device(ctx, *nnz, sizeof *M->values, &M->values);
}
