/*
 * What the kernels of approximate inverses on the device share: eight lanes a row, and places in
 * sorted rows.
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

/*
 * Place of entry (j,i) in sorted rows, -1 where there is none, to (i,j) at k. Where neighbours have
 * the same pattern around them, it is as far from the end of its row as k from the beginning.
 */
__device__ __forceinline__ cmg_size find_partner(const cmgi_device_csr &A, cmg_size i, cmg_index j,
                                                 cmg_size k)
{
    cmg_size low = A.indptr[j];
    cmg_size high = A.indptr[j + 1];
    const cmg_size end = high;
    const cmg_size guess = end - 1 - (k - A.indptr[i]);
    if (guess >= low && A.indices[guess] == i) {
        return guess;
    }
    while (low < high) {
        const cmg_size middle = (low + high) / 2;
        if (A.indices[middle] < i) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < end && A.indices[low] == i ? low : -1;
}
