/*
 * What the compressed format makes of a matrix, without building it: the search for templates and
 * the planner of slices run on all slices, or on a sample from which the figures are counted in
 * proportion.
 *
 * A sample is a small CSR of whole slices, their rows one after the other, with the reference
 * column of every row beside it: the offsets of its rows, and so all that is found, are those of
 * the whole.
 */
#pragma once
#include "csr/csr.h"
#include "spmv/packed_plan.h"

/* What is looked at. */
typedef struct cmgi_compression_look {
    const cmg_csr *csr;                 /* on the host; not read where the next is given */
    const cmgi_resident *there;         /* the matrix on the device, or NULL */
    const cmgi_row_statistics *lengths; /* of its rows; NULL = to be counted, on the host */
    const cmg_matrix_options *options;  /* precision, values, no_templates and keep_map count */
    cmg_size rows;                      /* most rows to look at, 0 = all */
    bool leading;                       /* row i has its diagonal in ... */
    cmg_size lead;                      /* ... column i + lead, square or not */
    bool *halves;                       /* gets whether 16 bits do for the values; or NULL */
} cmgi_compression_look;

/* Predicts of a checked CSR. */
cmg_status cmgi_compression_predict(cmg_context *ctx, const cmgi_compression_look *look,
                                    cmg_compression_info *info);
