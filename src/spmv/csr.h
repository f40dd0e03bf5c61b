/*
 * Storage of the format csr, which cuSPARSE's CSR wraps; and how a GPU shares it out by entries
 * where rows differ much in length: with a fixed number of lanes a row, the lanes of short rows
 * wait for those of long ones. A tile is what a block of threads takes:
 *
 * - whole rows, rows + entries <= CMGI_TILE; threads take equal numbers of both, wherever rows end;
 * - or one row of up to CMGI_TILE_LONG entries;
 * - or CMGI_TILE_PART entries of a row that is longer; a second kernel adds the parts.
 *
 * Where tiles begin is found once, on the host, from the row pointers. Example, tiles of 6 rows and
 * entries, rows of 6 entries and more by themselves, lengths 2 1 0 7 1:
 *
 * - {row 3, entry 3, rows 1, entries 7}: long rows come first, as they take longest
 * - {row 0, entry 0, rows 3, entries 3}
 * - {row 4, entry 10, rows 1, entries 1}
 *
 * Source  Merrill and Garland 2016, doi:10.1109/SC.2016.57 (equal shares of rows and entries by a
 *         merge path; here within a block, so that most matrices need no second kernel);
 *         Greathouse and Daga 2014, doi:10.1109/SC.2014.68 (blocks of whole rows).
 */
#pragma once
#include "spmv/matrix.h"

enum {
    CMGI_TILE_THREADS = 128,
    CMGI_TILE_ITEMS = 7, /* rows and entries a thread; odd, so that threads hit different banks */
    CMGI_TILE = CMGI_TILE_THREADS * CMGI_TILE_ITEMS,
    CMGI_TILE_ROW = 256, /* entries from which on a row has a tile of its own */
    CMGI_TILE_LONG = 8192,
    CMGI_TILE_PART = 4096
};

typedef struct cmgi_tile {
    cmg_size row;   /* the first; number of the part where rows = 0 */
    cmg_size entry; /* the first */
    int rows;
    int entries;
} cmgi_tile;

/* A row in parts. */
typedef struct cmgi_split_row {
    cmg_size row;
    int first; /* part */
    int parts;
} cmgi_split_row;

typedef struct cmgi_csr_tiles {
    cmgi_tile *tile; /* ntiles, in the backend's memory */
    cmg_size ntiles;
    cmgi_split_row *split; /* nsplit, likewise */
    cmg_size nsplit;
    cmg_size nparts;
    void *parts; /* nparts: sums of the parts of split rows, in the matrix's precision */
} cmgi_csr_tiles;

/* Arrays of a CSR matrix in the backend's memory. */
typedef struct cmgi_csr_storage {
    cmg_size *indptr;      /* rows + 1 */
    cmg_index *columns;    /* nnz */
    cmgi_csr_tiles *tiles; /* how a GPU shares out uneven rows, NULL = by lanes */
} cmgi_csr_storage;

size_t cmgi_csr_bytes(const cmgi_row_statistics *s, const cmg_matrix_options *options);
cmg_status cmgi_csr_build(cmg_matrix *A, const cmgi_matrix_source *from);
void cmgi_csr_destroy(cmg_matrix *A);

/* csr.cu */
cmg_status cmgi_csr_spmv_cuda(const cmg_matrix *A, const cmgi_writeback *w, const void *x);

/* Lanes that the kernel without tiles gives a row: 1, 2, 4 ... 32. */
int cmgi_csr_lanes(cmg_size rows, cmg_size nnz);
/*
 * True where tiles are faster than lanes: the row pointers of `csr` are looked at, nothing else.
 * Also the answer to whether format csr suits uneven rows on a GPU.
 */
bool cmgi_csr_uneven(const cmg_context *ctx, const cmg_csr *csr);
/* The same from what is known of rows on the device: slices of 4 rows in place of fewer. */
bool cmgi_rows_uneven(const cmgi_row_statistics *s);
/* True where no row pointers with these statistics are uneven: they need not be looked at. */
bool cmgi_rows_even(const cmgi_row_statistics *s);
/* Tiles of a CSR on the host, in the backend's memory. */
cmg_status cmgi_csr_tiles_make(cmg_context *ctx, const cmg_csr *csr, cmg_precision precision,
                               cmgi_csr_tiles **tiles);
void cmgi_csr_tiles_destroy(cmg_context *ctx, cmgi_csr_tiles *tiles);
/* The product with tiles (csr_tiles.cu). */
cmg_status cmgi_csr_tiles_spmv_cuda(const cmg_matrix *A, const cmgi_writeback *w, const void *x);
