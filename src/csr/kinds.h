/*
 * A matrix of few kinds of rows (cmg_templates), without a CSR: row i has the entries
 * e = indptr[k] .. indptr[k + 1] - 1 of its kind k, values value[e] in the columns
 * offset[e] + reference of i.
 *
 *     [ 2 -1  .  . ]     kind 0   offset -1 0 1   value -1 2 -1   rows 1 2
 *     [-1  2 -1  . ]     kind 1   offset  0 1     value  2 -1     row  0
 *     [ . -1  2 -1 ]     kind 2   offset -1 0     value -1 2      row  3
 *     [ .  . -1  2 ]     id 1 0 0 2
 *
 * Kinds that no row has are left out, the others come by their number of rows, as templates do that
 * are found in a CSR (csr/templates.h). The reference of a row is its number in a square matrix;
 * in P and R it is the column of its first entry.
 *
 * Which row is of which kind is an array, or follows from its position in a grid:
 *
 *   stencil         rows are one stencil of up to 27 entries, of which what leaves the grid is cut
 *   interpolation   linear along every axis of more than one position, from the positions
 *                   1, 3, 5, ... of sides that are odd
 *   restriction     its transpose
 */
#pragma once
#include "core/place.h"
#include "csr/facts.h"
#include "csr/resident.h"

enum {
    CMGI_KINDS_MOST = 4096,     /* kinds */
    CMGI_KIND_ENTRIES = 32768,  /* of all of them */
    CMGI_STENCIL = 27,          /* 9 (z + 1) + 3 (y + 1) + x + 1 is the neighbour x, y, z */
    CMGI_GRID_KINDS = 4 * 4 * 4 /* by the sides of a position, one of four along every axis */
};

typedef enum cmgi_grid_form {
    CMGI_NO_GRID = 0,
    CMGI_GRID_STENCIL,
    CMGI_GRID_INTERPOLATION,
    CMGI_GRID_RESTRICTION
} cmgi_grid_form;

typedef struct cmgi_kind_grid {
    cmgi_grid_form form;
    cmg_index size[3];               /* positions of the rows, x fastest */
    cmg_index other[3];              /* and of the columns */
    uint8_t number[CMGI_GRID_KINDS]; /* kind of a position's sides */
} cmgi_kind_grid;

typedef struct cmgi_kinds {
    int users; /* matrices that have it, but for the first */
    cmg_size rows;
    cmg_size cols;
    cmg_size nnz; /* of all rows */
    bool square;  /* references are the numbers of rows */
    int count;
    cmg_size *indptr; /* count + 1 */
    cmg_index *offset;
    double *value;
    cmg_index *from;       /* place of each value among those given ... */
    cmg_size given;        /* ... their number; 0 = none, as of an interpolation */
    cmg_size *many;        /* count: rows of a kind */
    cmg_index *row;        /* count: the first of them */
    cmg_index *number;     /* count: which of the given kinds it is */
    uint16_t *id;          /* rows; NULL = by the grid */
    cmgi_place at;         /* of id */
    cmg_index *rows_there; /* `row` on the device, of kinds that were found there (repeats.c) ... */
    bool hold;             /* ... and whether the rows of a kind have equal values now */
    cmg_index *ref;        /* rows of P and R; NULL = by the grid, or square */
    cmgi_kind_grid grid;
    cmgi_csr_facts facts;      /* of a square matrix ... */
    cmgi_resident_facts there; /* ... and as one on the device has them */
    uint64_t version;          /* rises with new values */
} cmgi_kinds;

/* Rows of a kind, and the first of them. */
typedef struct cmgi_kind_count {
    int64_t rows;
    int64_t first;
} cmgi_kind_count;

/* Adds `parts` counts of all kinds. */
void cmgi_kind_counts_add(const cmgi_kind_count *part, int parts, int kinds,
                          cmgi_kind_count *count);
/* Order of counts for qsort: the most rows first, of equal ones the first row. */
int cmgi_kinds_by_rows(const void *a, const void *b);

/* Which of four sides a position is on along an axis. */
CMGI_INLINE int cmgi_grid_side(cmgi_grid_form form, cmg_index at, cmg_index size)
{
    const int rim = (at == 0 ? 1 : 0) + (at == size - 1 ? 2 : 0);
    if (form == CMGI_GRID_INTERPOLATION) { /* on a coarse position, or beside one or two */
        return size == 1 || at % 2 != 0 ? 0 : rim != 0 ? 1 : 3;
    }
    return form == CMGI_GRID_STENCIL ? rim : 0;
}

/* Kind of the row at a place in the grid, and, but of a stencil, its reference. */
CMGI_INLINE int cmgi_grid_kind_at(const cmgi_kind_grid *g, const cmg_index *at, cmg_index *ref)
{
    int sides = 0;
    cmg_index first = 0;
    for (int d = 2; d >= 0; --d) {
        const cmg_index begin = g->other[d] == 1                   ? 0
                                : g->form == CMGI_GRID_RESTRICTION ? 2 * at[d]
                                : at[d] > 0                        ? (at[d] - 1) / 2
                                                                   : 0;
        sides = 4 * sides + cmgi_grid_side(g->form, at[d], g->size[d]);
        first = first * g->other[d] + begin;
    }
    *ref = first;
    return g->number[sides];
}

/* The same of row i. */
CMGI_INLINE int cmgi_grid_kind(const cmgi_kind_grid *g, cmg_size i, cmg_index *ref)
{
    const cmg_index row = (cmg_index)i;
    const cmg_index at[3] = {row % g->size[0], row / g->size[0] % g->size[1],
                             row / g->size[0] / g->size[1]};
    const int kind = cmgi_grid_kind_at(g, at, ref);
    *ref = g->form == CMGI_GRID_STENCIL ? row : *ref;
    return kind;
}

/* Entries of the rows on these sides of the grid, of a stencil or, where that is NULL, of a
 * transfer, from number e on; returns the next. */
cmg_size cmgi_grid_kind_entries(const cmgi_kind_grid *g, const double *stencil, const int *side,
                                cmg_size e, cmg_index *offset, double *value, cmg_index *from);

/*
 * Checks what a caller gives for a square matrix (A) or another, and makes M->kinds of it; `name`
 * begins the messages, as in cmgi_csr_check.
 *
 * Cost  a pass over the ids, and over the positions along each axis of a grid.
 */
cmg_status cmgi_kinds_create(cmg_context *ctx, const char *name, bool square,
                             const cmg_templates *given, cmgi_csr *M);
/* P^T of an interpolation on a grid. */
cmg_status cmgi_kinds_transpose(cmg_context *ctx, const cmgi_kinds *P, cmgi_kinds **R);
/* One user less: the last one frees it. NULL is none. */
void cmgi_kinds_destroy(cmg_context *ctx, cmgi_kinds **K);
CMGI_RELEASES(cmgi_kinds_destroy, cmgi_kinds *)
/* New values, in the order in which they were given; the old ones stay where they are refused. */
cmg_status cmgi_kinds_update(cmg_context *ctx, const char *name, const double *values, cmgi_csr *M);
/* M has CSR arrays from now on; CMG_ERR_UNSUPPORTED where ctx->expand_to are fewer entries. */
cmg_status cmgi_kinds_expand(cmg_context *ctx, const char *name, cmgi_csr *M);
/* Arrays of A, or, where it has them, new values in them. */
cmg_status cmgi_kinds_fill(cmg_context *ctx, const cmgi_kinds *K, cmgi_csr *A);
/* Takes the facts of the values. */
cmg_status cmgi_kinds_look(cmg_context *ctx, cmgi_kinds *K);
/* A row of each kind, number row[k] of the matrix. */
cmg_status cmgi_kinds_rows(cmg_context *ctx, const cmgi_kinds *K, cmgi_csr *rows);
/* Kind and, unless NULL, reference of every row, in arrays at a place. */
cmg_status cmgi_kinds_place(cmg_context *ctx, cmgi_place at, const cmgi_kinds *K, uint16_t *id,
                            cmg_index *ref);
/* The diagonal of a square matrix, at a place. */
cmg_status cmgi_kinds_diagonal(cmg_context *ctx, cmgi_place at, const cmgi_kinds *K, double *d);
/* What a smoother asks of a matrix on the device: facts and the diagonal, without a CSR. */
cmg_status cmgi_kinds_resident(cmg_context *ctx, const cmgi_kinds *K, cmgi_resident *R);

/* R->repeats = the kinds of its rows, where all rows repeat; looked for once. */
cmg_status cmgi_repeats_find(cmg_context *ctx, cmgi_resident *R);
/* Whether they do so with new values; then *known: R has its facts and diagonal from the kinds. */
cmg_status cmgi_repeats_look(cmg_context *ctx, cmgi_resident *R, bool *known);

/* A matrix of kinds that is not to be expanded; NULL = there is a CSR, or may be. */
const cmgi_kinds *cmgi_csr_kinds(const cmg_context *ctx, const cmgi_csr *A);
