/*
 * Local numbering of the equations of a SPAI row by a warp: columns of A get numbers in the order
 * in which the rows of the pattern meet them, the same in every run. An open hash table, as
 * index_map.h on the host.
 */
#pragma once
#include "core/cuda.cuh"

#include <limits.h>

/* Open hash table of the columns met: `number` of the one in slot s, -1 in keys = free. */
typedef struct table {
    int *keys;
    unsigned short *number; /* NULL: only counted */
    int slots;              /* a power of two */
    int shift;              /* 32 - log2(slots) */
    int limit;              /* columns that may enter */
} table;

__device__ __forceinline__ int log2_of(int slots)
{
    int log2 = 0;
    while (1 << log2 < slots) {
        ++log2;
    }
    return log2;
}

__device__ __forceinline__ int slot_of(const table &t, cmg_index column)
{
    int s = (int)((unsigned)column * 2654435769U >> t.shift);
#pragma unroll 1
    while (t.keys[s] != column && t.keys[s] != -1) {
        s = (s + 1) & (t.slots - 1);
    }
    return s;
}

/* Numbers the warp's columns (-1: none) in the order of the lanes and returns each lane's number;
 * *length counts them, INT_MAX once they are too many. */
__device__ __forceinline__ int meet(const table &t, int lane, cmg_index column, int *length)
{
    const int s = column >= 0 ? slot_of(t, column) : -1;
    const bool fresh = s >= 0 && t.keys[s] == -1;
    const unsigned all = __ballot_sync(CMGI_ALL, fresh);
    int at = s >= 0 && !fresh && t.number != NULL ? t.number[s] : -1;
    if (*length > t.limit - __popc(all)) {
        *length = INT_MAX;
        return -1;
    }
    if (fresh) {
        at = *length + __popc(all & ((1U << lane) - 1));
        int free_slot = s;
        while (atomicCAS(&t.keys[free_slot], -1, column) != -1) {
            free_slot = (free_slot + 1) & (t.slots - 1);
        }
        if (t.number != NULL) {
            t.number[free_slot] = (unsigned short)at;
        }
    }
    *length += __popc(all);
    __syncwarp();
    return at;
}

__device__ __forceinline__ void clear(const table &t, int lane)
{
    for (int s = lane; s < t.slots; s += CMGI_WARP) {
        t.keys[s] = -1;
    }
    __syncwarp();
}

/* Doubles between the beginnings of a column of `met` equations and the next: 8 modulo 16. */
__device__ __forceinline__ int room_of(int met)
{
    return (met + 7) / 16 * 16 + 8;
}

__device__ __forceinline__ int slots_of(int equations)
{
    int slots = CMGI_WARP;
    while (slots < 2 * equations) {
        slots *= 2;
    }
    return slots;
}

/* Bytes of a row's work space before L; a multiple of 16. */
__device__ __forceinline__ long long before_matrix(int m, int n, bool counted)
{
    const long long bytes = 8LL * n + 8LL * (n + 1) + (counted ? 4LL * m : 0) + 6LL * slots_of(m);
    return (bytes + 15) / 16 * 16;
}
