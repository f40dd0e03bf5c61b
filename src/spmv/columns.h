/*
 * Products with several columns at once, y = writeback(A x) for x of k columns (core/vector.h).
 *
 * A row's entries are put in a list, value and the row of x it meets, and the k sums are then made
 * from the list: one pass over the matrix, and every load of x a run of memory, so that it takes no
 * luck with the columns of the matrix. Formats differ in how the list is read only.
 */
#pragma once
#include "spmv/matrix.h"

/* What the kernels of the CPU read. */
typedef enum cmgi_rows {
    CMGI_ROWS_CSR = 0,   /* rows */
    CMGI_ROWS_SLICES,    /* slices, of several columns without blocks */
    CMGI_ROWS_TEMPLATES, /* compressed slices: those of templates */
    CMGI_ROWS_PACKED,    /* and those of values */
    CMGI_ROWS_DENSE,     /* rows, of one column in full values */
    CMGI_ROWS_DIAGONAL,
    CMGI_ROWS_KINDS
} cmgi_rows;

/* Rows or slices first .. last-1. */
typedef void (*cmgi_rows_fn)(const cmg_matrix *A, const cmgi_writeback *w, const void *x,
                             cmg_size first, cmg_size last);

/* All `count` rows or slices on the CPU, of several columns ... */
cmg_status cmgi_columns_cpu(const cmg_matrix *A, cmgi_rows rows, cmg_size count,
                            const cmgi_writeback *w, const void *x);
/* ... and of any number: of one, threads have equal numbers of entries, of which those of row or
 * slice r begin at ptr[r]; NULL = all have equally many. */
cmg_status cmgi_rows_cpu(const cmg_matrix *A, cmgi_rows rows, const cmg_size *ptr, cmg_size count,
                         const cmgi_writeback *w, const void *x);
/* Memory of A for products of several columns, where the format needs some: once, so that no
 * product allocates. */
cmg_status cmgi_columns_reserve(const cmg_matrix *A, int columns);
/* Frees what products of several columns alone read and cmgi_columns_reserve can make again. */
void cmgi_columns_release(cmg_matrix *A);
/* Column by column, for formats whose products serve one. */
cmg_status cmgi_columns_apart(const cmg_matrix *A, const cmgi_writeback *w, const void *x);
/* columns.cu */
cmg_status cmgi_csr_columns_cuda(const cmg_matrix *A, const cmgi_writeback *w, const void *x);
cmg_status cmgi_slices_columns_cuda(const cmg_matrix *A, const cmgi_writeback *w, const void *x);
cmg_status cmgi_compressed_columns_cuda(const cmg_matrix *A, const cmgi_writeback *w,
                                        const void *x);
/* packed_columns.cu: the slices with values */
cmg_status cmgi_packed_columns_cuda(const cmg_matrix *A, const cmgi_writeback *w, const void *x);
cmg_status cmgi_dense_columns_cuda(const cmg_matrix *A, const cmgi_writeback *w, const void *x);
cmg_status cmgi_diagonal_columns_cuda(const cmg_matrix *A, const cmgi_writeback *w, const void *x);
