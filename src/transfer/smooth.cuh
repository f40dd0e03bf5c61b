/* Smoothing of P on the device: what smooth.cu, filter.cu and power.cu have in common. */
#pragma once
#include "core/lanes.h"

extern "C" {
#include "csr/resident.h"
#include "transfer/aggregate.h"
#include "transfer/aggregate_rows.h"
}

/* The row of a thread where blocks are of `threads`. */
static __device__ __forceinline__ cmg_size cmgi_row_of_lanes(int threads)
{
    return ((cmg_size)blockIdx.x * threads + threadIdx.x) / CMGI_LANES;
}

/*
 * A_F as a view of A: which entries are kept, a bit each, and what stands on the diagonal. It takes
 * a fiftieth of a matrix of its own. Sums go by an entry's place in A_F.
 */
struct cmgi_filtered {
    static const int PIECE = 32; /* entries of a row whose bits are a word */
    cmg_csr A;
    const uint32_t *kept;   /* NULL = all are */
    const double *diagonal; /* of a view that is not A */

    /* Where the words of a row begin. */
    __device__ __forceinline__ cmg_size place(cmg_size i) const
    {
        return A.indptr[i] / PIECE + i;
    }
    /* Those of the 32 entries from `first` on, of a row that begins and ends there. */
    __device__ __forceinline__ unsigned bits(cmg_size i, cmg_size begin, cmg_size first,
                                             cmg_size end) const
    {
        if (first >= end) {
            return 0;
        }
        return kept != NULL           ? kept[begin / PIECE + i + (first - begin) / PIECE]
               : end - first >= PIECE ? ~0U
                                      : (1U << (end - first)) - 1;
    }
};

/* What a lane has of 32 entries of a row that follow each other, four times eight: all of it is
 * asked for before any is waited for. */
struct cmgi_piece {
    static const int EACH = cmgi_filtered::PIECE / CMGI_LANES;
    unsigned kept;
    cmg_index column[EACH];
    double value[EACH];

    __device__ __forceinline__ cmgi_piece(const cmgi_filtered &F, cmg_size i, cmg_size begin,
                                          cmg_size first, cmg_size end, int lane)
    {
        kept = F.bits(i, begin, first, end);
#pragma unroll
        for (int c = 0; c < EACH; ++c) {
            const cmg_size k = first + c * CMGI_LANES + lane;
            column[c] = k < end ? F.A.indices[k] : -1;
            value[c] = k < end ? F.A.values[k] : 0;
        }
#pragma unroll
        for (int c = 0; c < EACH; ++c) {
            value[c] = F.kept != NULL && column[c] == i ? F.diagonal[i] : value[c];
        }
    }
    __device__ __forceinline__ bool has(int c, int lane) const
    {
        return (kept >> (c * CMGI_LANES + lane) & 1) != 0;
    }
    /* How many kept ones come before that. */
    __device__ __forceinline__ int before(int c, int lane) const
    {
        return __popc(kept & ((1U << (c * CMGI_LANES + lane)) - 1));
    }
};

/* filter.cu: A_F; its two arrays are made. */
cmg_status cmgi_filter_there(cmg_context *ctx, const cmg_csr *A, const cmg_csr *S, uint32_t **kept,
                             double **diagonal);
/* A_F as a matrix of its own. */
cmg_status cmgi_filtered_copy(cmg_context *ctx, const cmgi_filtered *F, cmg_csr *copy);
/* power.cu: d = diagonal of F, where that is A, and the largest eigenvalue of D^-1 F. */
cmg_status cmgi_largest_there(cmg_context *ctx, const cmgi_filtered *F, double *d, double *lambda);

/* Rows whose lengths a kernel has counted into offsets: their sum, and arrays for the entries. */
static inline cmg_status cmgi_open_rows(cmg_context *ctx, cmg_csr *M, cmg_size *nnz)
{
    CMGI_TRY(cmgi_resident_kernels_of(ctx)->offsets(ctx, M->rows, (cmg_size *)M->indptr, nnz));
    CMGI_TRY(cmgi_alloc_device(ctx, *nnz, sizeof *M->indices, &M->indices));
    return cmgi_alloc_device(ctx, *nnz, sizeof *M->values, &M->values);
}
