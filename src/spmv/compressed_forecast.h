/*
 * What the compressed format makes of a matrix and why it does not make more of it, without
 * building it. The same search and the same plan of a slice as in the build, so that the figures
 * are exact where all slices are looked at; from a sample they are counted in proportion.
 *
 * A sample is a small CSR of whole slices, their rows one after the other, with the reference
 * column of every row beside it: the offsets of its rows, and so all that is found, are those of
 * the whole.
 */
#pragma once
#include "csr/csr.h"
#include "spmv/packed_plan.h"

/* Where the rows and columns of a CSR come to lie; NULL members = as they are. */
typedef struct cmgi_renumbering {
    const cmg_index *row;    /* new row k is old row row[k] */
    const cmg_index *column; /* old column j becomes column[j] */
} cmgi_renumbering;

/* What is looked at. */
typedef struct cmgi_compression_look {
    const cmg_csr *csr;                /* on the host; not looked at where the next is there */
    const cmgi_resident *there;        /* the matrix on the device, or NULL */
    const cmg_matrix_options *options; /* precision, values, no_templates and keep_map count */
    cmgi_renumbering to;               /* predicted as if renumbered */
    cmg_size rows;                     /* most rows to look at, 0 = all */
    bool leading;                      /* row i has its diagonal in ... */
    cmg_size lead;                     /* ... column i + lead, square or not */
    bool quick; /* do not tell rows whose offsets repeat from those whose do not */
} cmgi_compression_look;

/* What kept slices from these ways. */
typedef struct cmgi_obstacles {
    cmg_size met[CMGI_OBSTACLES];     /* slices; each meets one obstacle for each way it missed */
    cmg_size example[CMGI_OBSTACLES]; /* a row that is one, -1 = none */
} cmgi_obstacles;

/* Predicts of a checked CSR; `obstacles` may be NULL, info has them as text. */
cmg_status cmgi_compression_predict(cmg_context *ctx, const cmgi_compression_look *look,
                                    cmg_compression_info *info, cmgi_obstacles *obstacles);
