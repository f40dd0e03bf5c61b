/*
 * A range of the rows of a matrix, for one who does not hold all of them: columns are numbered
 * through the whole matrix, in 64 bits; on the host, in fp64.
 */
#pragma once
#include "csr/csr.h"

typedef struct cmgi_own_rows {
    cmg_size first;    /* number of the first row */
    cmg_size rows;     /* of the range */
    cmg_size *indptr;  /* rows + 1, from 0 on; NULL = there is no matrix */
    cmg_size *indices; /* columns of the whole matrix */
    double *values;
    bool borrowed; /* the arrays belong to another */
} cmgi_own_rows;

cmg_status cmgi_rows_alloc(cmg_context *ctx, cmg_size first, cmg_size rows, cmg_size nnz,
                           cmgi_own_rows *A);
void cmgi_rows_free(cmg_context *ctx, cmgi_own_rows *A);
CMGI_RELEASES(cmgi_rows_free, cmgi_own_rows)
/* The same arrays, which stay the other's. */
static inline cmgi_own_rows cmgi_rows_borrow(const cmgi_own_rows *A)
{
    cmgi_own_rows same = *A;
    same.borrowed = true;
    return same;
}
cmg_status cmgi_rows_copy(cmg_context *ctx, const cmgi_own_rows *from, cmgi_own_rows *to);
/* Rows first .. first + rows - 1 of a whole matrix. */
cmg_status cmgi_rows_of(cmg_context *ctx, const cmg_csr *whole, cmg_size first, cmg_size rows,
                        cmgi_own_rows *A);
/* Rows from number `first` on, whose offsets and values are taken from a CSR; there is room for
 * their columns, which are still to be set. */
cmg_status cmgi_rows_take(cmg_context *ctx, cmgi_csr *from, cmg_size first, cmgi_own_rows *to);
/* CMG_ERR_ARG unless offsets rise, columns are in [0, cols) and values finite. */
cmg_status cmgi_rows_check(cmg_context *ctx, const cmgi_own_rows *A, int level, cmg_size cols);
