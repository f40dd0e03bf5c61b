/*
 * A matrix over several ranks as data: every rank has the rows of a contiguous block, with columns
 * numbered through all ranks in 64 bits; on the host, in fp64. All functions but alloc and free are
 * collective.
 *
 * `part` is where the blocks of all ranks begin: rank r has part[r] .. part[r + 1] - 1.
 */
#pragma once
#include "core/group.h"
#include "csr/csr.h"

typedef struct cmgi_own_rows {
    cmg_size first;    /* number of the first row */
    cmg_size rows;     /* of this rank */
    cmg_size *indptr;  /* rows + 1; NULL = there is no matrix */
    cmg_size *indices; /* columns of the whole matrix */
    double *values;
    bool borrowed; /* the arrays belong to another */
} cmgi_own_rows;

/* Clears the flags of rows that have a column outside of first .. last - 1. */
void cmgi_rows_inside(const cmg_context *ctx, const cmgi_own_rows *A, cmg_size first, cmg_size last,
                      bool *inner);

/* Sorted numbers without repetition. */
typedef struct cmgi_numbers {
    cmg_size count;
    cmg_size *number;
} cmgi_numbers;

cmg_status cmgi_rows_alloc(cmg_context *ctx, cmg_size first, cmg_size rows, cmg_size nnz,
                           cmgi_own_rows *A);
void cmgi_rows_free(cmg_context *ctx, cmgi_own_rows *A);
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

/* The columns that occur, those from `first` to below `last` left out. */
cmg_status cmgi_rows_columns(cmg_context *ctx, const cmgi_own_rows *A, cmg_size first,
                             cmg_size last, cmgi_numbers *columns);
/* Position of a number, or -1. */
cmg_size cmgi_numbers_find(const cmgi_numbers *numbers, cmg_size number);
/* How many of them come before each rank's: at[r] .. at[r + 1] - 1 are in block r. */
void cmgi_numbers_divide(const cmgi_numbers *wanted, const cmg_size *part, int ranks, cmg_size *at);
/* The rows of any ranks, in the order asked for; `first` of the result means nothing. */
cmg_status cmgi_rows_fetch(cmg_context *ctx, const cmgi_own_rows *A, const cmg_size *part,
                           const cmgi_numbers *wanted, cmgi_own_rows *rows);
/* All rows, on every rank. */
cmg_status cmgi_rows_gather(cmg_context *ctx, const cmgi_own_rows *A, const cmg_size *part,
                            cmg_size cols, cmgi_csr *whole);
/* A^T with the rows that `col_part` says. */
cmg_status cmgi_rows_transpose(cmg_context *ctx, const cmgi_own_rows *A, const cmg_size *col_part,
                               cmgi_own_rows *T);
/* C = A B; the rows of B are divided as `part` says. */
cmg_status cmgi_rows_multiply(cmg_context *ctx, const cmgi_own_rows *A, const cmgi_own_rows *B,
                              const cmg_size *part, cmgi_own_rows *C);
/* numbers first .. last - 1 and, sorted in, the others */
cmg_status cmgi_numbers_with(cmg_context *ctx, const cmgi_numbers *others, cmg_size first,
                             cmg_size last, cmgi_numbers *all);
