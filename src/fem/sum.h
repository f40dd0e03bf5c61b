/*
 * Sum matrices: y = S e where S holds ones alone. What is stored of it is where the ones are.
 *
 * Row k of S lists the numbers of e that make up y_k, in the order in which they are added, on the
 * CPU and on CUDA alike, so that both give the same bits. The number -1 stands for a term of 1,
 * which identity rows of a matrix are made of. Rows are grouped into blocks of at most
 * CMGI_SUM_ROWS rows and CMGI_SUM_TERMS terms, which a block of threads on a GPU loads together; a
 * longer row has a block to itself. Nothing is padded: a diagonal entry of A has as many terms as
 * there are cells around its node, its neighbours have a few, so that slices would be mostly
 * padding, and sorting would scatter y.
 *
 *   [ 1 . 1 . ]      indices 0 2 3 -1, end 2 3 3 4, one block: first_row 0 4, start 0 4
 *   [ . . . 1 ]
 *   [ . . . . ]
 *   [ . . . . ] + 1
 *
 * Source: Wong, Kuhl and Darve, Int. J. Numer. Meth. Engng 102 (2015), arXiv 1501.00324, section 4.
 */
#pragma once
#include "core/context.h"
#include "core/search.h"

/* How cell matrices of rows x rows numbers lie in e, cell after cell. */
typedef struct cmgi_cell_layout {
    int rows;
    bool symmetric; /* the upper triangle alone, row by row */
} cmgi_cell_layout;

/* Numbers of a cell. */
CMGI_INLINE int cmgi_cell_entries(cmgi_cell_layout layout)
{
    return layout.symmetric ? layout.rows * (layout.rows + 1) / 2 : layout.rows * layout.rows;
}

/* Place of (r, s), r <= s, in an upper triangle stored row by row. */
CMGI_INLINE int cmgi_upper_place(int rows, int r, int s)
{
    return r * (2 * rows - r - 1) / 2 + s;
}

/* Place of (i, j) of a cell matrix among its numbers. */
CMGI_INLINE int cmgi_cell_place(cmgi_cell_layout layout, int i, int j)
{
    return layout.symmetric ? cmgi_upper_place(layout.rows, i < j ? i : j, i < j ? j : i)
                            : i * layout.rows + j;
}

enum { CMGI_SUM_ROWS = 256, CMGI_SUM_TERMS = 2048 };

typedef struct cmgi_sum {
    cmg_context *ctx;
    cmg_size rows;
    cmg_size terms;
    cmg_size blocks;
    /* in the backend's memory */
    cmg_size *first_row; /* blocks + 1 */
    cmg_size *start;     /* blocks + 1: first term of a block */
    uint16_t *end;       /* rows: end of a row, from its block's start; nothing in a long row */
    cmg_index *indices;  /* terms: position in e, -1 = the number 1 */
} cmgi_sum;

/* End of the block that begins at row r, in a chunk of rows that ends at `to`. */
CMGI_INLINE cmg_size cmgi_sum_block_end(const cmg_size *indptr, cmg_size r, cmg_size to)
{
    const cmg_size most = to - r < CMGI_SUM_ROWS ? to : r + CMGI_SUM_ROWS;
    const cmg_size full = indptr[r] + CMGI_SUM_TERMS + 1;
    return indptr[most] < full ? most : cmgi_search_size(indptr, r + 2, most + 1, full) - 1;
}

/* First term of row r of block b, and of the next one. */
CMGI_INLINE cmg_size cmgi_sum_begin(const cmgi_sum *S, cmg_size b, cmg_size r)
{
    return S->start[b] + (r > S->first_row[b] ? S->end[r - 1] : 0);
}
CMGI_INLINE cmg_size cmgi_sum_end(const cmgi_sum *S, cmg_size b, cmg_size r)
{
    return r + 1 == S->first_row[b + 1] ? S->start[b + 1] : S->start[b] + S->end[r];
}

/*
 * Takes over indptr and indices, arrays in the backend's memory, also when it fails; *S is written
 * only on success.
 */
cmg_status cmgi_sum_create(cmg_context *ctx, cmg_size rows, cmg_size *indptr, cmg_index *indices,
                           cmgi_sum *S);
void cmgi_sum_free(cmgi_sum *S);
/* T has row k of S as row map[k] of `rows` rows, the others are empty; map, with different numbers,
 * in the backend's memory. */
cmg_status cmgi_sum_permute(const cmgi_sum *S, cmg_size rows, const cmg_size *map, cmgi_sum *T);
/* A matrix of so many entries can have them as rows. */
cmg_status cmgi_sum_check(cmg_context *ctx, cmg_size nnz);
/* y = S e; y in fp64 or fp32, sums in fp64. */
cmg_status cmgi_sum_apply(const cmgi_sum *S, const double *e, cmg_precision precision, void *y);

/* Blocks do not reach over a multiple of so many rows. */
enum { CMGI_SUM_CHUNK = 8192 };

/* sum.cu */
cmg_status cmgi_sum_apply_cuda(const cmgi_sum *S, const double *e, cmg_precision precision,
                               void *y);
