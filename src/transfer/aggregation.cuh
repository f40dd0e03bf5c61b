/* Parts of the table of aggregation on the device (aggregate_there.h). */
#pragma once
#include "core/cuda.cuh"

extern "C" {
#include "transfer/aggregate_rows.h"
#include "transfer/aggregate_there.h"
}

static const unsigned CMGI_ALL = 0xffffffffU;

/*
 * Eight neighbours of a warp share a row. All 32 lanes exchange together, to the end of the longest
 * of their rows: masks of parts are searched for at every exchange.
 */
struct cmgi_lanes {
    static const int COUNT = CMGI_ROW_LANES;
    int lane;
    unsigned mask; /* of the eight */

    __device__ __forceinline__ cmgi_lanes()
        : lane((int)threadIdx.x % COUNT), mask(0xffU << (threadIdx.x % 32 / COUNT * COUNT))
    {
    }
    /* Sum of the lanes' parts, as cmgi_add_lanes adds them up, in all of them. */
    __device__ __forceinline__ double sum(double s) const
    {
#pragma unroll
        for (int d = COUNT / 2; d > 0; d >>= 1) {
            s += __shfl_xor_sync(CMGI_ALL, s, d);
        }
        return s;
    }
    __device__ __forceinline__ double largest(double s) const
    {
#pragma unroll
        for (int d = COUNT / 2; d > 0; d >>= 1) {
            s = fmax(s, __shfl_xor_sync(CMGI_ALL, s, d));
        }
        return s;
    }
    /* How many lanes say yes, and how many of them come before this one. */
    __device__ __forceinline__ int count(bool yes, int *before) const
    {
        const unsigned all = __ballot_sync(CMGI_ALL, yes) & mask;
        *before = __popc(all & ((1U << (threadIdx.x % 32)) - 1));
        return __popc(all);
    }
};

/* The row of a thread where blocks are of `threads`. */
static __device__ __forceinline__ cmg_size cmgi_row_of_lanes(int threads)
{
    return ((cmg_size)blockIdx.x * threads + threadIdx.x) / CMGI_ROW_LANES;
}

/* strength_there.cu */
cmg_status cmgi_strength_there(cmg_context *ctx, const cmg_csr *A, int block, double theta,
                               cmg_csr *S, cmg_size *couplings);
/* tentative_there.cu */
cmg_status cmgi_tentative_there(cmg_context *ctx, const cmgi_aggregates *agg, int block,
                                int vectors, const double *B, cmg_csr *P, double **coarse);
/* power_there.cu: d = diagonal of A, and the largest eigenvalue of D^-1 A. */
cmg_status cmgi_largest_there(cmg_context *ctx, const cmg_csr *A, double *d, double *lambda);
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
