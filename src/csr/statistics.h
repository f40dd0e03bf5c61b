/*
 * What the row pointers alone tell of a matrix: lengths of rows, and entries in slices of rows
 * padded to their longest. The storage of most formats follows from it.
 */
#pragma once
#include "csr/csr.h"

enum { CMGI_SLICE_SIZES = 8 }; /* 4, 8, 16 .. 512 rows */

typedef struct cmgi_row_statistics {
    cmg_size rows;
    cmg_size cols;
    cmg_size nnz;
    cmg_size longest;
    cmg_size filled;                   /* rows with entries */
    cmg_size sliced[CMGI_SLICE_SIZES]; /* entries in slices of 4 << k rows, padding included */
    cmg_size *count;                   /* longest + 1: rows of each length */
} cmgi_row_statistics;

/* Only the row pointers of A are looked at; parallel. */
cmg_status cmgi_row_statistics_take(cmg_context *ctx, const cmg_csr *A, cmgi_row_statistics *s);
void cmgi_row_statistics_free(cmg_context *ctx, cmgi_row_statistics *s);
CMGI_RELEASES(cmgi_row_statistics_free, cmgi_row_statistics)
/* The same of A^T, from the columns of A. */
cmg_status cmgi_column_statistics_take(cmg_context *ctx, const cmg_csr *A, cmgi_row_statistics *s);
/* Number k with 4 << k = size. */
static inline int cmgi_slice_size(int size)
{
    int k = 0;
    while (k < CMGI_SLICE_SIZES - 1 && 4 << k < size) {
        ++k;
    }
    return k;
}
/* Mean length of the rows that have entries, at least 1. */
static inline cmg_size cmgi_mean_length(const cmgi_row_statistics *s)
{
    return s->filled > 0 ? (s->nnz + s->filled - 1) / s->filled : 1;
}
