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

enum { THREADS = 256, WARP = 32, CHUNK = 1024 };

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

/*
 * Rows by length, the longest first, those of one length in their order. A warp takes a chunk of
 * rows: first it counts its rows of each length, in the order of lengths and chunks; once these
 * counts are added up (`order` given), its rows go to their places.
 */
__global__ void sort_kernel(cmg_size rows, const cmg_size *indptr, int longest, cmg_size *count,
                            cmg_index *order)
{
    __shared__ int next[CMGI_LONGEST_SORTED + 1];
    const int lane = threadIdx.x;
    for (int d = lane; d <= longest; d += WARP) {
        next[d] = order != NULL ? (int)count[(cmg_size)d * gridDim.x + blockIdx.x] : 0;
    }
    __syncwarp();
    for (int k = lane; k < CHUNK; k += WARP) {
        const cmg_size i = (cmg_size)blockIdx.x * CHUNK + k;
        const bool there = i < rows;
        const int d = there ? longest - (int)(indptr[i + 1] - indptr[i]) : -1;
        const unsigned same = __match_any_sync(~0U, d);
        const int rank = __popc(same & ((1U << lane) - 1));
        if (there && order != NULL) {
            order[next[d] + rank] = (cmg_index)i;
        }
        __syncwarp();
        if (there && rank == 0) {
            next[d] += __popc(same);
        }
        __syncwarp();
    }
    for (int d = lane; d <= longest && order == NULL; d += WARP) {
        count[(cmg_size)d * gridDim.x + blockIdx.x] = next[d];
    }
}

extern "C" cmg_status cmgi_slices_sort_cuda(cmg_context *ctx, const cmg_csr *device,
                                            cmg_size longest, cmg_index *order)
{
    CMGI_ON_DEVICE(ctx);
    const unsigned chunks = cmgi_grid(device->rows, CHUNK);
    const cmg_size counts = (longest + 1) * (cmg_size)chunks;
    const cudaStream_t stream = cmgi_stream(ctx);
    cmg_size *count = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY(cmgi_alloc_device(ctx, counts + 1, sizeof *count, &count));
    sort_kernel<<<chunks, WARP, 0, stream>>>(device->rows, device->indptr, (int)longest, count,
                                             NULL);
    CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
    CMGI_TRY_GOTO(done, cmgi_resident_kernels_of(ctx)->offsets(ctx, counts, count, NULL));
    sort_kernel<<<chunks, WARP, 0, stream>>>(device->rows, device->indptr, (int)longest, count,
                                             order);
    CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
done:
    cmgi_free_device(ctx, count);
    return status;
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
    for (cmg_size r = first; r < end && !S.table; ++r) {
        const cmg_size i = S.rowmap != NULL ? S.rowmap[r] : r;
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
