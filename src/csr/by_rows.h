/* Matrices whose rows a function tells. */
#pragma once
#include "csr/csr.h"

/* The length of row i; where columns is not NULL, its entries are written as well. */
typedef cmg_size (*cmgi_csr_row_fn)(const void *user, cmg_size i, cmg_index *columns,
                                    double *values);
/* Asks for every row twice, in parallel: to count its entries and to write them. */
cmg_status cmgi_csr_by_rows(cmg_context *ctx, cmg_size rows, cmg_size cols, cmgi_csr_row_fn row,
                            const void *user, cmgi_csr *M);
/*
 * The same of a function that notes columns: note[j] of each is 0 at first, and keeps what rows
 * have left there; a thread has notes of its own. M has values where it is `valued`.
 */
typedef cmg_size (*cmgi_csr_noting_fn)(const void *user, cmg_size i, cmg_size *note,
                                       cmg_index *columns, double *values);
cmg_status cmgi_csr_by_notes(cmg_context *ctx, cmg_size rows, cmg_size cols, cmgi_csr_noting_fn row,
                             const void *user, bool valued, cmgi_csr *M);

/*
 * The blocks of `size` columns that a block row of A has entries in, each once, ascending. Of a
 * square A with its transpose B, unless that is NULL: those of either, as they come, without the
 * row's own. The pattern has no values.
 */
cmg_status cmgi_csr_block_columns(cmg_context *ctx, const cmg_csr *A, const cmg_csr *B, int size,
                                  cmgi_csr *pattern);

/* Rows of M whose lengths are not known before they are there. */
typedef struct cmgi_slab {
    cmg_size room;      /* places a row */
    cmg_index *columns; /* of row i from i room on */
    double *values;
    cmg_size *length;
} cmgi_slab;
cmg_status cmgi_slab_create(cmg_context *ctx, cmg_size rows, cmg_size room, cmgi_slab *slab);
void cmgi_slab_free(cmg_context *ctx, cmgi_slab *slab);
CMGI_RELEASES(cmgi_slab_free, cmgi_slab)
/* The rows as a matrix, columns ascending. */
cmg_status cmgi_slab_compact(cmg_context *ctx, cmg_size rows, cmg_size cols, const cmgi_slab *slab,
                             cmgi_csr *M);
