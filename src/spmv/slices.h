/*
 * Slices: the one layout behind ELLPACK, ELLPACK-R, ELLPACK-T, SELL, ELL-WARP K1 and K2 with their
 * renumbered kin, and BELL and SBELL.
 *
 * Storage rows are packed into slices of `lanes` lanes. In slice s every row takes
 * t = 2^shift[s] neighbouring lanes, and every lane takes width[s] steps. Entry number
 * e = k t + q of a row (step k, lane q of the row) is stored at
 *
 *     start[s] + k stride + (row - first_row[s]) t + q
 *
 * so that the lanes of a warp read neighbouring values. Padding has value 0 and repeats the last
 * column of its row (column 0 in an empty row), so that it reads no new part of x. Storage row r
 * is row rowmap[r] of the matrix (NULL: the same).
 *
 *   format    stride         t      rows                  extra
 *   ELLPACK   padded rows    1      given order           all widths equal
 *   ELLR      padded rows    1      given order           row_length: a lane stops early
 *   ELLT      padded rows t  t      given order           all widths equal
 *   SELL      lanes          1      given order
 *   K1        lanes          1      sorted by length      rowmap
 *   K2        lanes          2^s_s  sorted by length      rowmap, rows over the threshold split
 *   BELL      padded rows    1      given order           blocks, all widths equal
 *   SBELL     lanes          1      sorted by length      blocks, rowmap
 *
 * Example, SELL with lanes = 2 ('.' is no entry, '*' padding):
 *
 *     [ 1 . 2 . ]     slice 0: width 2, values 1 3 2 *    columns 0 1 2 1
 *     [ . 3 . . ]     slice 1: width 2, values * 4 * 5    columns 0 0 0 3
 *     [ . . . . ]     start 0 4 8, first_row 0 2 4
 *     [ 4 . . 5 ]
 *
 * Sources: Bell and Garland 2009 (ELLPACK); Vazquez, Fernandez and Garzon 2011 (ELLPACK-R, -T);
 * Monakov, Lokhmotov and Avetisyan 2010 (sliced ELL); Wong, Kuhl and Darve 2015 (ELL-WARP).
 */
#pragma once
#include "core/place.h"
#include "spmv/blocks.h"

enum { CMGI_LANES_MOST = 512 };

typedef struct cmgi_slices {
    int block;     /* rows and columns of a block (blocks.h), 1 = entries by themselves */
    bool identity; /* blocks are kept as one number */
    cmg_size rows; /* storage rows, block rows where there are blocks */
    cmg_size nslices;
    bool table;           /* ELLPACK and its relatives: one padded table, every width the same */
    int lanes;            /* lanes a slice */
    cmg_size stride;      /* entries from one step to the next */
    cmg_size places;      /* of all slices: start[nslices] */
    cmg_size *start;      /* nslices + 1: first entry of a slice */
    cmg_index *width;     /* nslices: steps */
    cmg_index *first_row; /* nslices + 1: first storage row */
    unsigned char *shift; /* nslices: log2 of the lanes a row; NULL = uniform_shift everywhere */
    int uniform_shift;
    cmg_index *row_length; /* rows: entries of a storage row, NULL except in ELLR */
    cmg_index *rowmap;     /* rows: row of y that a storage row is, NULL = the same */
    cmg_index *columns;    /* stored entries, or blocks */
} cmgi_slices;

size_t cmgi_slices_bytes(const cmgi_row_statistics *s, const cmg_matrix_options *options);
cmg_status cmgi_slices_build(cmg_matrix *A, const cmgi_matrix_source *from);
void cmgi_slices_destroy(cmg_matrix *A);

/* slices.cu, convert.cu */
cmg_status cmgi_slices_spmv_cuda(const cmg_matrix *A, const cmgi_writeback *w, const void *x);
/* cmgi_slices_sort of rows of at most CMGI_LONGEST_SORTED entries on the device. */
enum { CMGI_LONGEST_SORTED = 1023 };
cmg_status cmgi_slices_sort_cuda(cmg_context *ctx, const cmg_csr *device, cmg_size longest,
                                 cmg_index *order);

/* ------------------------------------------------------------------ plans */

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
/* log2 of the lanes that a row of this length takes. */
int cmgi_slices_shift(const cmgi_slices_plan *plan, cmg_size length);
/* Rows by length, longest first, stable. */
cmg_status cmgi_slices_sort(cmg_context *ctx, const cmg_csr *A, cmg_index **order);
/* Length of storage row r; `order` NULL = given order. */
cmg_size cmgi_slices_length(const cmg_csr *A, const cmg_index *order, cmg_size r);
/* Fills S but for columns and lengths, for the rows of A in the order of S->rowmap; on the device,
 * where A is there, of which the statistics are known and no row is split. */
cmg_status cmgi_slices_make(cmg_context *ctx, const cmgi_slices_plan *plan, const cmg_csr *A,
                            const cmgi_row_statistics *there, cmgi_slices *S);
