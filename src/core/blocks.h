/* Loops and sums on the CPU: what is worth a team of threads, and the blocks that sums are made of.
 */
#pragma once
#include "cmg.h"

/* Shorter loops run on one thread: starting a team costs about as much as this many values. */
enum { CMGI_PARALLEL_FROM = 16384 };

/* Blocks of `size` in n values; sums are made block by block, whatever the number of threads. */
static inline cmg_size cmgi_block_count(cmg_size n, cmg_size size)
{
    return (n + size - 1) / size;
}

/* Where block k ends. */
static inline cmg_size cmgi_block_end(cmg_size k, cmg_size n, cmg_size size)
{
    return (k + 1) * size < n ? (k + 1) * size : n;
}
