/*
 * Which rows of a matrix are coarse ones.
 *
 *   strength   a row depends on those of its entries that have the other sign than the diagonal,
 *              from a share of the largest of them on
 *   splitting  coarse rows are an independent set of these, rows first that most others depend on;
 *              on demand, fine rows of which one depends on the other share a coarse one
 *
 * Source: Ruge, Stueben, Algebraic multigrid, in McCormick (ed.), Multigrid Methods, 1987,
 * doi:10.1137/1.9781611971057.ch4, first and second pass of the splitting.
 *
 * On the host; the splitting in the order of the rows, by one thread.
 */
#pragma once
#include "csr/csr.h"

/* Strength of A, for rows of S. */
typedef struct cmgi_strong {
    const cmg_csr *A;
    double theta;
} cmgi_strong;

/* A row function (csr/by_rows.h) of a cmgi_strong: the sizes of entries that count. */
cmg_size cmgi_strong_entries(const void *user, cmg_size i, cmg_index *columns, double *values);

enum { CMGI_FINE = -2 };

typedef struct cmgi_splitting {
    cmgi_csr S;
    cmg_index *number; /* of a coarse row among these, CMGI_FINE elsewhere */
    cmg_size coarse;
} cmgi_splitting;

/* `shared`: with the second pass. To be freed in any case. */
cmg_status cmgi_split(cmg_context *ctx, const cmg_csr *A, double theta, bool shared,
                      cmgi_splitting *s);
void cmgi_splitting_free(cmg_context *ctx, cmgi_splitting *s);
