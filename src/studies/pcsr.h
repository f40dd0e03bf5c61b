/*
 * PCSR: CSR whose rows are padded to multiples of n entries, cut into partitions of 256 wherever
 * rows end, so that a block of 256 threads loads, multiplies and adds in step. The split vector
 * says which rows a partition has; within it a row is told by where it begins, in two bytes.
 *
 * Row i begins at ptr_i = sum of the padded lengths before it, and belongs to partition
 * q = ptr_i / 256 (empty rows after the last entry: to the last), which has
 *
 *     split[q].row, .rows   its rows, the first of which begin there
 *     start[i]              ptr_i - 256 q
 *     split[q].behind       partitions after q that its last row goes on in
 *
 * What comes before start[split[q].row] belongs to a row from before. Sums of a row over several
 * partitions are left in `parts`, the row's own at 2 q, what partition k > q adds at 2 k + 1, and a
 * second pass adds them in this order.
 *
 * Example, partitions of 4 in place of 256, n = 2, rows of 1, 3 and 5 entries ('*' padding):
 *
 *     a * b b | b * c c | c c c *     ptr 0 2 6, split (row 0, rows 2, behind 1)
 *                                     (row 2, rows 1, behind 1) (row 3, rows 0, behind 0)
 *
 * Source  Dehnavi, Fernandez and Giannacopoulos, IEEE Trans. Magn. 46, 2010,
 *         doi:10.1109/TMAG.2010.2043511, section IV, which leaves open who adds up a row of two
 *         blocks, and stores row pointers in full.
 */
#pragma once
#include "spmv/matrix.h"

enum { CMGI_PARTITION = 256 };

typedef struct cmgi_partition {
    cmg_index row;
    cmg_index rows;
    cmg_index behind;
} cmgi_partition;

typedef struct cmgi_pcsr {
    cmg_size partitions;
    bool splits;           /* some row goes over partitions */
    cmgi_partition *split; /* partitions */
    uint16_t *start;       /* rows */
    cmg_index *columns;    /* stored */
    void *parts;           /* 2 a partition, in the matrix's precision */
} cmgi_pcsr;

/* Entries of a partition. */
CMGI_INLINE int cmgi_partition_entries(cmg_size stored, cmg_size q)
{
    const cmg_size left = stored - q * CMGI_PARTITION;
    return left < CMGI_PARTITION ? (int)left : CMGI_PARTITION;
}

/* pcsr.cu */
cmg_status cmgi_pcsr_spmv_cuda(const cmg_matrix *A, const cmgi_writeback *w, const void *x);
