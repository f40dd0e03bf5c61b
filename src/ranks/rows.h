/*
 * A matrix over several ranks as data: every rank has the rows of a contiguous block. What is said
 * between ranks is collective.
 *
 * `part` is where the blocks of all ranks begin: rank r has part[r] .. part[r + 1] - 1.
 */
#pragma once
#include "ranks/group.h"
#include "csr/own_rows.h"

/* Sets the flags of rows that have a column outside of first .. last - 1. */
void cmgi_rows_mark_outer(const cmg_context *ctx, const cmgi_own_rows *A, cmg_size first,
                          cmg_size last, bool *outer);

/* Sorted numbers without repetition. */
typedef struct cmgi_numbers {
    cmg_size count;
    cmg_size *number;
} cmgi_numbers;

/* The columns that occur, those from `first` to below `last` left out; `outer` flags rows that
 * have others, NULL = all may. */
cmg_status cmgi_rows_columns(cmg_context *ctx, const cmgi_own_rows *A, cmg_size first,
                             cmg_size last, const bool *outer, cmgi_numbers *columns);
/* Position of a number, or -1. */
cmg_size cmgi_numbers_find(const cmgi_numbers *numbers, cmg_size number);
/* How many of them come before each rank's: at[r] .. at[r + 1] - 1 are in block r. */
void cmgi_numbers_divide(const cmgi_numbers *wanted, const cmg_size *part, int ranks, cmg_size *at);
/* What the following make is for the caller to free, also where they fail. */
/* Entries of an array that is divided as the rows are, `size` bytes each, in the order asked for; a
 * new array. */
cmg_status cmgi_entries_fetch(cmg_context *ctx, const void *own, size_t size, const cmg_size *part,
                              const cmgi_numbers *wanted, void *entries);
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

/* dirichlet.c: Dirichlet rows, as transfer/dirichlet.h has them on one rank. */

/* The identity rows; *row NULL where there are none, or no others. */
cmg_status cmgi_rows_dirichlet(cmg_context *ctx, const cmgi_own_rows *A, bool **row,
                               cmg_size *count);
/* Those of the next level, see cmgi_dirichlet_below; `A` NULL = still to be formed. */
cmg_status cmgi_rows_dirichlet_below(cmg_context *ctx, const cmgi_own_rows *A,
                                     const cmgi_own_rows *P, const bool *fine,
                                     const cmg_size *coarse_part, bool **row, cmg_size *count);
/* Zeroes entries in marked rows, and in columns marked by the ranks that have them as rows; NULL,
 * on all ranks, = none is. */
cmg_status cmgi_rows_clean(cmg_context *ctx, const bool *rows, const bool *cols,
                           const cmg_size *col_part, cmgi_own_rows *P);
