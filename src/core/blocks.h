/* Loops and sums on the CPU: what is worth a team of threads, and the blocks that sums are made of.
 */
#pragma once
#include "cmg_types.h"

/* Shorter loops run on one thread: starting a team costs about as much as this many values. */
enum { CMGI_PARALLEL_FROM = 16384 };

/* Parts of a loop of n values on so many threads. */
static inline int cmgi_part_count(int threads, cmg_size n)
{
    return n > CMGI_PARALLEL_FROM ? threads : 1;
}

/* The statement `run` for p = 0 .. parts - 1, a thread each. A single part needs no team, which
 * takes a third of a microsecond even so: on small levels that is longer than what is run. */
#define CMGI_PARTS(parts, p, run)                                                                  \
    do {                                                                                           \
        if ((parts) == 1) {                                                                        \
            const int p = 0;                                                                       \
            run;                                                                                   \
        } else {                                                                                   \
            _Pragma("omp parallel for num_threads(parts) schedule(static, 1)") for (int p = 0;     \
                                                                                    p < (parts);   \
                                                                                    ++p)           \
            {                                                                                      \
                run;                                                                               \
            }                                                                                      \
        }                                                                                          \
    } while (0)

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
