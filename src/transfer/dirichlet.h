/*
 * Dirichlet conditions kept as identity rows, and what they mean for P and R.
 *
 * The defect in such rows is restricted by a plain P^T into coarse rows where it means nothing.
 * With the rows of P at fine and its columns at coarse Dirichlet rows zeroed (R alike), boundary
 * and interior decouple.
 */
#pragma once
#include "hierarchy/hierarchy.h"

/* Rows of a level, `rows` of them; NULL = none is a Dirichlet row. */
typedef struct cmgi_dirichlet {
    bool *row;
    cmg_size count;
} cmgi_dirichlet;

/* Whether it is known that the finest matrix has none, or nothing else. */
bool cmgi_dirichlet_none(const cmg_hierarchy *h);
/*
 * The identity rows of the finest matrix. In a diagonal matrix every row looks like one: none is
 * marked.
 */
cmg_status cmgi_dirichlet_find(cmg_context *ctx, const cmg_csr *A, cmgi_dirichlet *found);
/*
 * Those of a coarse matrix: identity rows that carry the unknown of a fine Dirichlet row, which is
 * where the largest entry of such a row of P lies. An identity row without one below it (a coarse
 * node whose neighbours all lie on an eliminated boundary) is an unknown like any other. Where P is
 * zero in a fine Dirichlet row already and does not tell, every identity row counts. Without A,
 * which is still to be formed, P alone decides.
 */
cmg_status cmgi_dirichlet_below(cmg_context *ctx, const cmg_csr *A, const cmg_csr *P,
                                const cmgi_dirichlet *fine, cmgi_dirichlet *found);
void cmgi_dirichlet_clear(cmg_context *ctx, cmgi_dirichlet *d);
/* Zeroes the entries of a transfer matrix in marked rows and columns. */
void cmgi_dirichlet_clean(cmg_context *ctx, const cmgi_dirichlet *rows, const cmgi_dirichlet *cols,
                          cmgi_csr *P);
