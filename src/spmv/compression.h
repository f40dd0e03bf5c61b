/*
 * What the compressed format makes of a matrix and why it does not make more of it, without
 * building it. The same search and the same plan of a slice as in the build, so that the figures
 * are exact where all slices are looked at; from a sample they are counted in proportion.
 *
 * A sample is a small CSR of whole slices, their rows one behind the other, with the reference
 * column of every row beside it: the offsets of its rows, and so all that is found, are those of
 * the whole.
 */
#pragma once
#include "core/context.h"

/* Where the rows and columns of a CSR come to lie; NULL members = as they are. */
typedef struct cmgi_renumbering {
    const cmg_index *row;    /* new row k is old row row[k] */
    const cmg_index *column; /* old column j becomes column[j] */
} cmgi_renumbering;

/* What is looked at. */
typedef struct cmgi_compression_look {
    const cmg_csr *csr;    /* row pointers on the host */
    const cmg_csr *device; /* columns and values of the same matrix on the device, NULL = in csr */
    const cmg_matrix_options *options; /* as for cmg_matrix_predict */
    cmgi_renumbering to;               /* predicted as if renumbered */
    cmg_size rows;                     /* most rows to look at, 0 = all */
    bool quick; /* do not tell rows whose offsets repeat from those whose do not */
} cmgi_compression_look;

/* As cmg_matrix_predict, of checked arguments. */
cmg_status cmgi_compression_predict(cmg_context *ctx, const cmgi_compression_look *look,
                                    cmg_compression_info *info);
