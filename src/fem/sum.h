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

/*
 * Takes over indptr and indices, host arrays of cmgi_alloc, also when it fails; *S is written only
 * on success.
 */
cmg_status cmgi_sum_create(cmg_context *ctx, cmg_size rows, cmg_size *indptr, cmg_index *indices,
                           cmgi_sum *S);
void cmgi_sum_free(cmgi_sum *S);
/* y = S e; y in fp64 or fp32, sums in fp64. */
cmg_status cmgi_sum_apply(const cmgi_sum *S, const double *e, cmg_precision precision, void *y);

/* sum.cu */
cmg_status cmgi_sum_apply_cuda(const cmgi_sum *S, const double *e, cmg_precision precision,
                               void *y);
