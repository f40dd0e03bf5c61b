/*
 * Dirichlet conditions kept as identity rows, and what they mean for P and R.
 *
 * The defect in such rows is restricted by a plain P^T into coarse rows where it means nothing.
 * With the rows of P at fine and its columns at coarse Dirichlet rows zeroed (R alike), boundary
 * and interior decouple.
 */
#pragma once
#include "core/place.h"
#include "hierarchy/hierarchy.h"

/* Which rows of a level are, where any is: marks on the host, on the device, or both. */
typedef struct cmgi_dirichlet {
    bool *row;   /* NULL = not here; where `there` is NULL, too, no row is one */
    bool *there; /* the same on the device */
    cmg_size rows;
    cmg_size count;
    uint64_t version; /* rises where cmgi_dirichlet_take finds other rows */
} cmgi_dirichlet;

static inline bool cmgi_dirichlet_any(const cmgi_dirichlet *d)
{
    return d->row != NULL || d->there != NULL;
}

/* Identity rows of a matrix that are still to be counted. */
enum { CMGI_UNKNOWN = -1 };
/*
 * The identity rows of the finest matrix, `known` of them. In a diagonal matrix every row looks
 * like one: none is marked.
 */
cmg_status cmgi_dirichlet_find(cmg_context *ctx, cmgi_place at, const cmg_csr *A, cmg_size known,
                               cmgi_dirichlet *found);
/*
 * Those of a coarse matrix: identity rows that carry the unknown of a fine Dirichlet row, which is
 * where the largest entry of such a row of P lies. An identity row without one below it (a coarse
 * node whose neighbours all lie on an eliminated boundary) is an unknown like any other. Where P is
 * zero in a fine Dirichlet row already and does not tell, every identity row counts. Without A,
 * which is still to be formed, P alone decides. Matrices and marks are at one place.
 */
cmg_status cmgi_dirichlet_below(cmg_context *ctx, cmgi_place at, const cmg_csr *A, cmg_size known,
                                const cmg_csr *P, const cmgi_dirichlet *fine,
                                cmgi_dirichlet *found);
/*
 * Those of level l, from those of the level above (NULL for l = 0), found where its matrices are.
 */
cmg_status cmgi_dirichlet_of_level(const cmg_hierarchy *h, int l, cmgi_dirichlet *above,
                                   cmgi_dirichlet *found);
void cmgi_dirichlet_clear(cmg_context *ctx, cmgi_dirichlet *d);
CMGI_RELEASES(cmgi_dirichlet_clear, cmgi_dirichlet)
/* `d` becomes `found`, which is cleared. */
cmg_status cmgi_dirichlet_take(cmg_context *ctx, cmgi_dirichlet *found, cmgi_dirichlet *d);
/* The marks of two levels, or of one, are at that place, too, from now on. */
cmg_status cmgi_dirichlet_at(cmg_context *ctx, cmgi_place at, cmgi_dirichlet *fine,
                             cmgi_dirichlet *coarse);

/* ------------------------------------------------------------------ matrices on the device */

/*
 * A view of M, which outlives it, with values of its own where marked rows and columns have any
 * that are not zero; freed with cmgi_resident_free, on failure, too.
 */
cmg_status cmgi_dirichlet_clean_there(cmg_context *ctx, const cmgi_resident *M,
                                      cmgi_dirichlet *rows, cmgi_dirichlet *cols,
                                      cmgi_resident *cleaned);
/* inverse[i] = 1 / a_ii in Dirichlet rows, 0 in the others; all on the device. */
cmg_status cmgi_dirichlet_invert_there(cmg_context *ctx, const cmgi_dirichlet *d,
                                       const double *diagonal, double *inverse);

/* ------------------------------------------------------------------ P and R on the host */

/*
 * P without what Dirichlet conditions forbid. Where there are none it borrows the arrays of
 * `stored`: free it before them.
 */
cmg_status cmgi_prolongation(cmg_context *ctx, const cmg_csr *stored, const cmgi_dirichlet *fine,
                             const cmgi_dirichlet *coarse, cmgi_csr *P);
/* R likewise: `stored`, or, where that is NULL, the transpose of P. */
cmg_status cmgi_restriction(cmg_context *ctx, const cmg_csr *stored, const cmgi_csr *P,
                            const cmgi_dirichlet *fine, const cmgi_dirichlet *coarse, cmgi_csr *R);
/*
 * Defect and restriction in one matrix: R A, and with scale = omega / a_ii, which is one step of
 * Jacobi from a zero guess before them, R (I - A omega D^-1) on the pattern of R A. *fits is false
 * where that pattern lacks an entry of R; the product is then of no use.
 */
cmg_status cmgi_restriction_fold(cmg_context *ctx, const cmgi_csr *R, const cmg_csr *A,
                                 const double *scale, cmgi_csr *product, bool *fits);
