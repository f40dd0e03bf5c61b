/* How the rows of a matrix go into slices: planned from the row pointers alone. */
#pragma once
#include "core/place.h"
#include "spmv/slices.h"

/* What tells the formats apart. */
typedef struct cmgi_slices_plan {
    bool sorted;    /* by length */
    bool renumbers; /* and that is the numbering of rows and columns */
    bool split;     /* rows over the threshold take several lanes */
    bool uniform;  /* every slice as wide as the longest row, all steps of a slice `stride` apart */
    bool lengths;  /* keep row lengths */
    bool resort;   /* columns ascend in a renumbered row */
    bool blocked;  /* blocks are found where they are not given */
    int block;     /* rows a block, 0 = to be found */
    int t;         /* lanes a row where rows are not split */
    int lanes;     /* lanes a slice */
    int threshold; /* entries a lane before a row is split */
} cmgi_slices_plan;

/* What a format and its options say. */
cmgi_slices_plan cmgi_slices_plan_of(const cmg_matrix_options *o);
/* Rows by length, longest first, stable. */
cmg_status cmgi_slices_sort(cmg_context *ctx, const cmg_csr *A, cmg_index **order);
/* Length of storage row r; `order` NULL = given order. */
cmg_size cmgi_slices_length(const cmg_csr *A, const cmg_index *order, cmg_size r);
/* Fills S but for columns and lengths, for the rows of A in the order of S->rowmap; on the device,
 * where A is there, of which the statistics are known and no row is split. */
cmg_status cmgi_slices_make(cmg_context *ctx, const cmgi_slices_plan *plan, const cmg_csr *A,
                            const cmgi_row_statistics *there, cmgi_slices *S);
