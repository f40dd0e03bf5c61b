/*
 * Conversion on the device: entries of a CSR there are put into the places that the host has
 * planned from the row pointers (slices.c). One thread a lane writes its entries, so that the
 * writes of a warp are neighbours; padding is as on the host: value 0, the last column of the row
 * again.
 */
#include "spmv/spmv.cuh"

extern "C" {
#include "csr/resident.h"
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

/* A slice a thread, its rows in their order; `start` gets its entries, or in a table its place. */
__global__ void plan_kernel(const cmgi_slices S, const cmg_size *indptr, cmg_index width)
{
    const cmg_size s = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    const cmg_size room = S.lanes >> S.uniform_shift;
    const cmg_size first = s * room;
    const cmg_size end = first + room < S.rows ? first + room : S.rows;
    if (s >= S.nslices) {
        return;
    }
    cmg_size longest = 0;
    for (cmg_size i = first; i < end && !S.table; ++i) {
        const cmg_size length = indptr[i + 1] - indptr[i];
        longest = length > longest ? length : longest;
    }
    const cmg_index own = (cmg_index)longest; /* t = 1 where this is no table */
    S.first_row[s] = (cmg_index)first;
    S.width[s] = S.table ? width : own;
    S.start[s] = S.table ? s * S.lanes : (cmg_size)own * S.lanes;
    if (s + 1 == S.nslices) {
        S.first_row[s + 1] = (cmg_index)S.rows;
        S.start[s + 1] = S.places;
    }
}

extern "C" cmg_status cmgi_slices_plan_cuda(cmg_context *ctx, const cmg_csr *device, cmgi_slices *S)
{
    CMGI_ON_DEVICE(ctx);
    const cmg_index width = S->table ? (cmg_index)(S->places / S->stride) : 0;
    plan_kernel<<<cmgi_grid(S->nslices, THREADS), THREADS, 0, cmgi_stream(ctx)>>>(
        *S, device->indptr, width);
    CMGI_TRY(CMGI_LAUNCHED(ctx));
    return S->table ? CMG_OK
                    : cmgi_resident_kernels_of(ctx)->offsets(ctx, S->nslices, S->start, NULL);
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
