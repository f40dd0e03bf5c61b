/*
 * A matrix over several ranks as a cmg_matrix, for vectors that hold a rank's own entries.
 *
 * A stretch of rows [begin, end) needs nobody else's entries, so that a product is
 *
 *     exchange-start   pack and send what others want of x
 *     inner rows       y[begin .. end) = writeback(A_inner x)
 *     exchange-finish  the halo is there
 *     outer rows       y[0 .. begin), y[end .. rows) = writeback(A_outer (x_near, halo))
 *
 * where x_near are the few own entries that outer rows read, copied beside the halo. Where a rank
 * has a slab of a grid the stretch is nearly all of its rows as they are; where rows that need
 * others lie in between, these come last in the numbering of the level (layout.c). All parts are in
 * the format that the choice finds for them. A matrix whose result every rank needs as a whole
 * (the restriction to the first level that is solved by all) gathers it behind that; one that
 * multiplies such a vector is an ordinary matrix.
 */
#pragma once
#include "ranks/exchange.h"
#include "spmv/create.h"

/* Numbering of the vectors of a level. */
typedef struct cmgi_owners {
    cmg_size total;      /* entries over all ranks */
    cmg_size first;      /* number of the first own entry */
    cmg_size rows;       /* own entries */
    cmg_size *part;      /* ranks + 1 */
    bool whole;          /* every rank holds all entries of a vector */
    cmg_index *perm;     /* position k has own entry perm[k]; NULL = k, as where whole */
    cmg_index *position; /* the inverse of perm, NULL = no perm */
} cmgi_owners;

/* Entries that a vector of the space has on this rank. */
static inline cmg_size cmgi_owners_length(const cmgi_owners *s)
{
    return s->whole ? s->total : s->rows;
}

/* Own entry at a position. */
static inline cmg_size cmgi_owners_entry(const cmgi_owners *s, cmg_size position)
{
    return s->perm != NULL ? s->perm[position] : position;
}

/* Own rows before and after those that need nobody else's entries, and these. */
enum { CMGI_BEFORE, CMGI_AFTER, CMGI_SIDES, CMGI_INNER = CMGI_SIDES, CMGI_STRETCHES };

/* The rows of a matrix as its product takes them. */
typedef struct cmgi_stretches {
    const cmgi_own_rows *A; /* in the numbering of the hierarchy */
    const cmgi_owners *rows;
    const cmgi_owners *cols;
    const bool *outer;            /* rows with a column of another rank; NULL = not known */
    bool found;                   /* what follows */
    cmg_size begin;               /* rows from here on ... */
    cmg_size end;                 /* ... to here have no column of another rank */
    cmgi_numbers halo;            /* columns of other ranks */
    cmgi_numbers near;            /* positions of own entries that outer rows read */
    cmgi_csr csr[CMGI_STRETCHES]; /* columns are positions, of outer rows in near and halo */
    bool lent[CMGI_STRETCHES];    /* values are those of A, in its order */
    /* On the device, where they are (send.c): all rows, columns of the halo behind own ones, and of
     * these the inner ones, which have no csr then. */
    bool there;
    cmgi_resident own;
    cmgi_resident inner;
    cmg_size *inner_indptr; /* where not all rows are inner ones; on the device */
} cmgi_stretches;

/* Finds them once. */
cmg_status cmgi_stretches_find(cmg_context *ctx, cmgi_stretches *S);
void cmgi_stretches_free(cmg_context *ctx, cmgi_stretches *S);
/* Sends the rows to the device, where there is one and it has room; and frees them there. */
cmg_status cmgi_stretches_send(cmg_context *ctx, cmgi_stretches *S);
void cmgi_stretches_leave_device(cmg_context *ctx, cmgi_stretches *S);
/* Whether all ranks have sent the rows of a square matrix, and nothing is wrong with one of them:
 * the facts are those of all ranks then. Collective. */
cmg_status cmgi_stretches_agree(cmg_context *ctx, cmgi_stretches *S, bool *there);
CMGI_RELEASES(cmgi_stretches_free, cmgi_stretches)
/* Own rows as a matrix; collective. The stretches are found. */
cmg_status cmgi_ranks_matrix_create(cmg_context *ctx, cmgi_stretches *S, cmgi_use use,
                                    const cmg_matrix_options *options, cmg_matrix **M);
/* An exchange alone as a matrix that has no product: after it the wanted entries of a vector are at
 * `halo`, NULL = there are none. Collective. */
cmg_status cmgi_ranks_ghosts_create(cmg_context *ctx, const cmgi_owners *space,
                                    const cmgi_numbers *wanted, cmg_precision precision,
                                    cmg_matrix **M, void **halo);
