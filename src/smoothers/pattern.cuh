/*
 * What the kernels of approximate inverses on the device share: eight lanes a row.
 */
#pragma once
#include "smoothers/spai.cuh"

enum { THREADS = 256, LANES = 8 };

#define ROWS(n) cmgi_grid((n), THREADS), THREADS, 0, cmgi_stream(ctx)

__device__ __forceinline__ cmg_size thread_row()
{
    return (cmg_size)blockIdx.x * THREADS + threadIdx.x;
}

/* Where eight lanes share a row: its number, and this lane's first entry of it. */
__device__ __forceinline__ cmg_size shared_row(const cmgi_device_csr &A, cmg_size *first)
{
    const cmg_size i = thread_row() / LANES;
    *first = i < A.rows ? A.indptr[i] + threadIdx.x % LANES : 0;
    return i;
}
