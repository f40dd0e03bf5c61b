/*
 * Conversion on the device: entries of a CSR there are put into the places that the host has
 * planned from the row pointers (slices.c). One thread a lane writes its entries, so that the
 * writes of a warp are neighbours; padding is as on the host: value 0, the last column of the row
 * again.
 */
#include "spmv/spmv.cuh"

extern "C" {
#include "spmv/csr.h"
}

enum { THREADS = 256 };

__global__ void count_kernel(cmg_size n, cmg_size *map)
{
    const cmg_size k = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    if (k < n) {
        map[k] = k;
    }
}

extern "C" cmg_status cmgi_csr_fill_cuda(cmg_matrix *A, const cmg_csr *device)
{
    cmg_context *ctx = A->ctx;
    CMGI_ON_DEVICE(ctx);
    CMGI_TRY(ctx->backend->convert(ctx, A->nnz, CMG_FP64, device->values, A->options.precision,
                                   A->values));
    if (A->value_map != NULL && A->nnz > 0) {
        count_kernel<<<cmgi_grid(A->nnz, THREADS), THREADS, 0, cmgi_stream(ctx)>>>(A->nnz,
                                                                                   A->value_map);
        CMGI_TRY(CMGI_LAUNCHED(ctx));
    }
    return CMG_OK;
}

template <typename T>
__global__ void slices_kernel(const cmgi_slices S, const cmg_size *indptr, const cmg_index *indices,
                              const double *given, T *values, cmg_size *map)
{
    const cmg_size g = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    const cmg_size s = g / S.lanes;
    if (s >= S.nslices) {
        return;
    }
    const int lane = (int)(g % S.lanes);
    const int shift = S.shift != NULL ? S.shift[s] : S.uniform_shift;
    const cmg_size t = (cmg_size)1 << shift;
    const cmg_size row = S.first_row[s] + (lane >> shift);
    const bool real = row < S.first_row[s + 1];
    const cmg_size i = real && S.rowmap != NULL ? S.rowmap[row] : row;
    const cmg_size begin = real ? indptr[i] : 0;
    const cmg_size length = real ? indptr[i + 1] - begin : 0;
    const cmg_index pad = length > 0 ? indices[begin + length - 1] : 0;
    cmg_size at = S.start[s] + lane;
    for (cmg_size e = lane & (t - 1); e < S.width[s] * t; e += t, at += S.stride) {
        const bool inside = e < length;
        S.columns[at] = inside ? indices[begin + e] : pad;
        values[at] = inside ? (T)given[begin + e] : T(0);
        if (inside && map != NULL) {
            map[begin + e] = at;
        }
    }
}

extern "C" cmg_status cmgi_slices_fill_cuda(cmg_matrix *A, const cmg_csr *device)
{
    cmg_context *ctx = A->ctx;
    CMGI_ON_DEVICE(ctx);
    const cmgi_slices *S = (const cmgi_slices *)A->data;
    const unsigned grid = cmgi_grid(S->nslices * S->lanes, THREADS);
    const cudaStream_t stream = cmgi_stream(ctx);
    if (S->nslices == 0) {
        return CMG_OK;
    }
    if (A->options.precision == CMG_FP64) {
        slices_kernel<<<grid, THREADS, 0, stream>>>(
            *S, device->indptr, device->indices, device->values, (double *)A->values, A->value_map);
    } else {
        slices_kernel<<<grid, THREADS, 0, stream>>>(
            *S, device->indptr, device->indices, device->values, (float *)A->values, A->value_map);
    }
    return CMGI_LAUNCHED(ctx);
}
