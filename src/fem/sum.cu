/*
 * Sum matrices on the device, made and renumbered by plain passes, and the product with them. There
 * a block of threads loads the terms of its rows, neighbours next to
 * each other, into shared memory; then a thread adds up a row, in the stored order.
 */
#include "core/cuda.cuh"

extern "C" {
#include "csr/resident.h"
#include "fem/sum.h"

extern const cmgi_sum_kernels cmgi_sum_cuda;
}

enum { AT_ONCE = 4 }; /* loads of a thread that are under way together */
enum { THREADS = 128 };

/* A thread a chunk of rows, at[c] = its blocks; or, where at[c] is what comes before, their rows.
 */
__global__ void sum_cut_kernel(cmgi_sum S, const cmg_size *indptr, const cmg_size *at,
                               cmg_size *count)
{
    const cmg_size c = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    const cmg_size from = c * CMGI_SUM_CHUNK;
    const cmg_size to = min(S.rows, from + CMGI_SUM_CHUNK);
    cmg_size blocks = 0;
    for (cmg_size r = from; r < to; r = cmgi_sum_block_end(indptr, r, to)) {
        if (at != NULL) {
            S.first_row[at[c] + blocks] = r;
        }
        ++blocks;
    }
    if (count != NULL && from < S.rows) {
        count[c] = blocks;
    }
    if (at != NULL && c == 0) {
        S.first_row[S.blocks] = S.rows;
    }
}

static cmg_status launch_cut(const cmgi_sum *S, const cmg_size *indptr, const cmg_size *at,
                             cmg_size *count)
{
    CMGI_ON_DEVICE(S->ctx);
    const unsigned grid = cmgi_grid(cmgi_sum_chunks(S) + 1, THREADS);
    sum_cut_kernel<<<grid, THREADS, 0, cmgi_stream(S->ctx)>>>(*S, indptr, at, count);
    return CMGI_LAUNCHED(S->ctx);
}

static cmg_status count(const cmgi_sum *S, const cmg_size *indptr, cmg_size *at)
{
    return launch_cut(S, indptr, NULL, at);
}

static cmg_status cut(const cmgi_sum *S, const cmg_size *indptr, const cmg_size *at)
{
    return launch_cut(S, indptr, at, NULL);
}

static cmg_status offsets(cmg_context *ctx, cmg_size n, cmg_size *count, cmg_size *total)
{
    return cmgi_resident_kernels_of(ctx)->offsets(ctx, n, count, total);
}

/* A block of threads a block of rows; one more for the end. */
__global__ void __launch_bounds__(CMGI_SUM_ROWS) sum_fill_kernel(cmgi_sum S, const cmg_size *indptr)
{
    const cmg_size b = blockIdx.x;
    const cmg_size first = S.first_row[b];
    const cmg_size start = indptr[first];
    if (threadIdx.x == 0) {
        S.start[b] = start;
    }
    if (b < S.blocks && first + threadIdx.x < S.first_row[b + 1]) {
        const cmg_size end = indptr[first + threadIdx.x + 1] - start;
        S.end[first + threadIdx.x] = end <= CMGI_SUM_TERMS ? (uint16_t)end : 0;
    }
}

static cmg_status fill(const cmgi_sum *S, const cmg_size *indptr)
{
    CMGI_ON_DEVICE(S->ctx);
    sum_fill_kernel<<<(unsigned)(S->blocks + 1), CMGI_SUM_ROWS, 0, cmgi_stream(S->ctx)>>>(*S,
                                                                                          indptr);
    return CMGI_LAUNCHED(S->ctx);
}

__global__ void __launch_bounds__(CMGI_SUM_ROWS)
    sum_length_kernel(cmgi_sum S, const cmg_size *map, cmg_size *count)
{
    const cmg_size b = blockIdx.x;
    const cmg_size r = S.first_row[b] + threadIdx.x;
    if (r < S.first_row[b + 1]) {
        count[map[r]] = cmgi_sum_end(&S, b, r) - cmgi_sum_begin(&S, b, r);
    }
}

static cmg_status lengths(const cmgi_sum *S, const cmg_size *map, cmg_size rows, cmg_size *count)
{
    CMGI_ON_DEVICE(S->ctx);
    CMGI_TRY(cmgi_cuda_clear(S->ctx, count, (size_t)rows * sizeof *count));
    if (S->blocks == 0) {
        return CMG_OK;
    }
    sum_length_kernel<<<(unsigned)S->blocks, CMGI_SUM_ROWS, 0, cmgi_stream(S->ctx)>>>(*S, map,
                                                                                      count);
    return CMGI_LAUNCHED(S->ctx);
}

/* A thread a row; a row that is a block by itself is moved by all threads. */
__global__ void __launch_bounds__(CMGI_SUM_ROWS)
    sum_move_kernel(cmgi_sum S, const cmg_size *map, const cmg_size *indptr, cmg_index *indices)
{
    const cmg_size b = blockIdx.x;
    const cmg_size rows = S.first_row[b + 1] - S.first_row[b];
    const int step = rows == 1 ? CMGI_SUM_ROWS : 1;
    const cmg_size r = S.first_row[b] + (rows == 1 ? 0 : threadIdx.x);
    if (r >= S.first_row[b + 1]) {
        return;
    }
    const cmg_size begin = cmgi_sum_begin(&S, b, r);
    const cmg_size terms = cmgi_sum_end(&S, b, r) - begin;
    cmg_index *to = indices + indptr[map[r]];
    for (cmg_size k = rows == 1 ? threadIdx.x : 0; k < terms; k += step) {
        to[k] = S.indices[begin + k];
    }
}

static cmg_status move(const cmgi_sum *S, const cmg_size *map, const cmg_size *indptr,
                       cmg_index *indices)
{
    if (S->blocks == 0) {
        return CMG_OK;
    }
    CMGI_ON_DEVICE(S->ctx);
    sum_move_kernel<<<(unsigned)S->blocks, CMGI_SUM_ROWS, 0, cmgi_stream(S->ctx)>>>(*S, map, indptr,
                                                                                    indices);
    return CMGI_LAUNCHED(S->ctx);
}

template <typename T>
__global__ void __launch_bounds__(CMGI_SUM_ROWS, 8) sum_kernel(cmgi_sum S, const double *e, T *y)
{
    __shared__ double term[CMGI_SUM_TERMS];
    const cmg_size first = S.first_row[blockIdx.x];
    const cmg_size rows = S.first_row[blockIdx.x + 1] - first;
    const cmg_size start = S.start[blockIdx.x];
    const cmg_size terms = S.start[blockIdx.x + 1] - start;
    const bool one = terms > CMGI_SUM_TERMS; /* a long row, in pieces */
    const bool mine = threadIdx.x < rows;
    const int from = mine && threadIdx.x > 0 ? S.end[first + threadIdx.x - 1] : 0;
    const int end = mine && !one ? S.end[first + threadIdx.x] : 0;
    double sum = 0;
    for (cmg_size done = 0; done == 0 || done < terms; done += CMGI_SUM_TERMS) {
        const int n = (int)min(terms - done, (cmg_size)CMGI_SUM_TERMS);
        for (int i = threadIdx.x; i < n; i += AT_ONCE * CMGI_SUM_ROWS) {
            cmg_index at[AT_ONCE];
#pragma unroll
            for (int k = 0; k < AT_ONCE; ++k) {
                const int j = i + k * CMGI_SUM_ROWS;
                at[k] = j < n ? cmgi_load_once(S.indices + start + done + j) : -1;
            }
            double value[AT_ONCE];
#pragma unroll
            for (int k = 0; k < AT_ONCE; ++k) {
                value[k] = at[k] < 0 ? 1.0 : e[at[k]];
            }
#pragma unroll
            for (int k = 0; k < AT_ONCE; ++k) {
                if (i + k * CMGI_SUM_ROWS < n) {
                    term[i + k * CMGI_SUM_ROWS] = value[k];
                }
            }
        }
        __syncthreads();
        if (mine) {
            for (int i = from; i < (one ? n : end); ++i) {
                sum += term[i];
            }
        }
        __syncthreads();
    }
    if (mine) {
        y[first + threadIdx.x] = (T)sum;
    }
}

static cmg_status apply(const cmgi_sum *S, const double *e, cmg_precision precision, void *y)
{
    if (S->blocks == 0) {
        return CMG_OK;
    }
    CMGI_ON_DEVICE(S->ctx);
    const unsigned blocks = (unsigned)S->blocks;
    cudaStream_t stream = cmgi_stream(S->ctx);
    if (precision == CMG_FP64) {
        sum_kernel<<<blocks, CMGI_SUM_ROWS, 0, stream>>>(*S, e, (double *)y);
    } else {
        sum_kernel<<<blocks, CMGI_SUM_ROWS, 0, stream>>>(*S, e, (float *)y);
    }
    return CMGI_LAUNCHED(S->ctx);
}

extern "C" const cmgi_sum_kernels cmgi_sum_cuda = {count, cut, offsets, fill, lengths, move, apply};
