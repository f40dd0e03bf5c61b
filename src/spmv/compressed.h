/*
 * Compressed slices: what is regular in a matrix is found at conversion and stored once.
 *
 * All that follows is said of rows and entries; under options.block_rows = 2 or 3 block rows and
 * blocks (blocks.h) stand in their place: one column, one code, one template number a block or
 * block row. An entry then has b^2 values, or, where every block is a number times the identity,
 * that number. Value (i, j) of the entry at place p of slice column k is at
 * k 64 b^2 + (i b + j) 64 + p, in a template at e b^2 + i b + j.
 *
 * Rows are taken in the given order in slices of 64. Columns are counted from a reference,
 *
 *     column of entry k of row i = ref(i) + base[k] + code(k, i)
 *
 * where ref(i) = i in a square matrix, i + lead in rows of one, and the first column of the row in
 * a rectangular one. A slice is stored in one of these ways, the first that fits:
 *
 * - template: every row is one of a few row templates, each a list of offsets and values; a number
 *   a row, no entries at all;
 * - pattern: the slice has one list of offsets for all its rows; values, 4 bytes a slice column, no
 *   codes; a row that lacks an offset stores a zero there;
 * - 8, 16 bit: a base a slice column and a code of that size an entry;
 * - 32 bit: the same with codes of 4 bytes, nothing was gained.
 *
 * A matrix in fp64 and one in fp32 of the same CSR may share all but what the values in fp32 lack:
 * on a GPU the first is made beside the second, on the host the second beside the first.
 *
 * Values are kept in the precision of the matrix or, in an fp32 matrix, in 16 or 8 bits with a
 * power-of-two scale a slice (reduced.h). Then a square matrix keeps its diagonal apart in fp32,
 * recomputed so that every row sum is that of the given row: constants are seen as they were.
 * Templates are never rounded.
 *
 * Entry k of the row in lane l of packed slice p lies at (step[p] + k) 64 + place(l). On the CPU
 * place(l) = l; on a GPU lanes l and l + 32 are neighbours, 2 (l mod 32) + l / 32, so that a thread
 * loads the entries of its two rows at once. Values in 16 and 8 bits come there in pairs of slice
 * columns, entry k at (step[p] + k - k mod 2) 64 + 4 (l mod 32) + 2 (k mod 2) + l / 32, codes alike
 * and widths even, so that a thread loads four of them: two rows, two columns.
 *
 * Example, 2D Laplacian on a line of unknowns, slice of all rows, a pattern:
 *
 *     [ 2 -1  .  . ]     base -1 0 1
 *     [-1  2 -1  . ]     values  0 -1 -1 -1 | 2 2 2 2 | -1 -1 -1 0
 *     [ . -1  2 -1 ]     as templates: rows 0 1 1 2, three lists, no values a row
 *     [ .  . -1  2 ]
 */
#pragma once
#include "csr/kinds.h"
#include "spmv/matrix.h"
#include "spmv/reduced.h"

enum {
    CMGI_SLICE = 64,                  /* rows a slice */
    CMGI_TEMPLATES = CMGI_KINDS_MOST, /* most templates */
    CMGI_TEMPLATE_ROWS = 64           /* rows that make a template */
};

/* The slices all of whose rows are templates. */
typedef struct cmgi_template_slices {
    cmg_size count;
    cmg_index *slice; /* count: slice numbers, NULL = 0, 1, ... */
    uint16_t *id;     /* rows: template, only read in these slices; NULL when there are none */
    int kinds;
    bool all;          /* every row is one, as the search found (templates.h) */
    cmg_index entries; /* of all templates */
    cmg_index *begin;  /* kinds + 1 */
    cmg_index *offset; /* begin[kinds]: column minus reference */
    void *value;       /* the same number of values in the matrix's precision */
    void *pair;        /* on a GPU in place of both, without blocks: a value, then its offset, in as
                          many bytes */
    struct cmgi_stencil *stencil; /* the templates once more, NULL = no runs (stencil.h) */
    struct cmgi_box *box; /* the matrix as the stencil of a grid, NULL = it is none (box.h) */
} cmgi_template_slices;

/* The others, which hold values. */
typedef struct cmgi_packed_slices {
    cmg_size count;
    cmg_index *slice; /* count: slice numbers, NULL = 0, 1, ... */
    cmg_size *step;   /* count + 1: slice columns before this one */
    cmg_size *code;   /* count + 1: first byte of the codes */
    uint8_t *bytes;   /* count: bytes of a code: 0, 1, 2, 4 */
    cmg_index *base;  /* step[count] */
    uint8_t *codes;
    cmg_size steps;      /* step[count] */
    cmg_size code_bytes; /* code[count] */
    cmg_values kind;     /* how values are kept */
    uint16_t *place; /* on a GPU, in place of a value map: where entry k lies in its slice ... */
    cmg_size *entry; /* ... which has the entries from entry[slice] on; count + 1 */
    float *scale;    /* count: scale of reduced values, NULL in full precision */
    int *rest;     /* of an fp64 matrix whose stored values are in fp32: what they lack (rest.h) */
    bool borrowed; /* all other arrays, and the values, are those of a matrix of the same CSR in the
                      other precision */
} cmgi_packed_slices;

typedef struct cmgi_compressed {
    cmg_size rows; /* block rows, block columns where there are blocks */
    cmg_size cols;
    bool square;     /* row i has its diagonal in column i + lead, also with further columns */
    cmg_index lead;  /* 0 but for rows of a larger matrix */
    int block;       /* rows and columns of a block, 1 = entries by themselves */
    bool identity;   /* blocks are kept as one number */
    cmg_index *ref;  /* rows: reference column, NULL = the row number + lead */
    float *diagonal; /* kept apart next to reduced values of a square matrix, else NULL: a value a
                        row, of full blocks a row of a block */
    cmgi_template_slices t;
    cmgi_packed_slices p;
    struct cmgi_mirror *mirror; /* on a GPU: the matrix once more, by its upper half (mirror.h);
                                   NULL = it has none */
} cmgi_compressed;

/* On a GPU, the place in its slice of the entry in slice column e of row r, of values in pairs of
 * slice columns or not. */
CMGI_INLINE int cmgi_packed_place(bool pairs, int e, int r)
{
    const int first = r % (CMGI_SLICE / 2);
    const int second = r / (CMGI_SLICE / 2);
    return pairs ? (e - e % 2) * CMGI_SLICE + 4 * first + 2 * (e % 2) + second
                 : e * CMGI_SLICE + 2 * first + second;
}

/* Values of an entry. */
CMGI_INLINE cmg_size cmgi_compressed_each(const cmgi_compressed *C)
{
    return C->identity || C->block < 2 ? 1 : (cmg_size)C->block * C->block;
}

/* x from the entry on that belongs to the first row. */
static inline const void *cmgi_compressed_x(const cmg_matrix *A, const cmgi_writeback *w,
                                            const void *x)
{
    const cmgi_compressed *C = (const cmgi_compressed *)A->data;
    const cmg_size columns = w->columns > 1 ? w->columns : 1;
    return (const char *)x +
           (size_t)(C->lead * C->block * columns) * cmgi_precision_bytes(A->options.precision);
}

/* compressed.cu */
cmg_status cmgi_compressed_spmv_cuda(const cmg_matrix *A, const cmgi_writeback *w, const void *x);
/* packed_refresh.cu: new values on the device of a matrix without templates; *done where it could.
 */
cmg_status cmgi_packed_refresh_cuda(cmg_matrix *A, const double *values, bool *done);
cmg_status cmgi_packed_map_cuda(const cmg_matrix *A, cmg_size *map);
/* compressed_blocks.cu */
cmg_status cmgi_compressed_blocks_cuda(const cmg_matrix *A, const cmgi_writeback *w, const void *x);
/* The template slices of a product on a GPU, for templates without runs. */
cmg_status cmgi_templates_spmv_cuda(const cmg_matrix *A, const cmgi_writeback *w, const void *x);
