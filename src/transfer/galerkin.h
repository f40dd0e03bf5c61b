/* The Galerkin coarse matrix A_c = R A P. */
#pragma once
#include "hierarchy/hierarchy.h"
#include "transfer/dirichlet.h"

/*
 * A_c = R A P by rows, sorted, parallel and bitwise repeatable; R NULL = P^T. A coarse row of
 * zeros, which a zero column of P leaves (a Dirichlet unknown), gets a 1 on the diagonal where
 * `unit_diagonal`.
 */
cmg_status cmgi_galerkin(cmg_context *ctx, const cmg_csr *R, const cmg_csr *A, const cmg_csr *P,
                         bool unit_diagonal, cmgi_csr *Ac);
/*
 * New values of an A_c made with unit_diagonal, of the same bits, on its pattern. The pattern of A
 * P is kept in AP from the first call on, which finds it empty.
 */
cmg_status cmgi_galerkin_values(cmg_context *ctx, const cmg_csr *R, const cmg_csr *A,
                                const cmg_csr *P, cmgi_csr *AP, cmgi_csr *Ac);

/* Matrices on the device whose product is formed there. */
typedef struct cmgi_triple {
    const cmgi_resident *R; /* NULL = P^T */
    const cmgi_resident *A;
    const cmgi_resident *P;
    cmgi_csr *PT; /* kept, for the cycle's R and for new values */
    cmgi_csr *AP; /* kept from the first new values on */
} cmgi_triple;

/* T = P^T; left alone where it is that of these values. */
cmg_status cmgi_transpose_there(cmg_context *ctx, const cmgi_resident *P, cmgi_csr *T);
/* The same of up to CMGI_LOOKS matrices, for which the host waits once. */
cmg_status cmgi_transposes_there(cmg_context *ctx, int count, const cmgi_resident *const *P,
                                 cmgi_csr *const *T);
/* cmgi_galerkin with unit_diagonal and cmgi_galerkin_values, of the same bits, on the device. */
cmg_status cmgi_galerkin_there(cmg_context *ctx, const cmgi_triple *t, cmgi_csr *Ac);
cmg_status cmgi_galerkin_values_there(cmg_context *ctx, const cmgi_triple *t, cmgi_csr *Ac);

/*
 * Forms A of levels `from` .. coarsest where it is missing or was formed before, and with `all`
 * every one; from >= 1. Dirichlet rows above are left out, and their coarse rows are those of the
 * identity. *formed counts them.
 */
cmg_status cmgi_form_levels(cmg_hierarchy *h, int from, bool all, int *formed);
/* Forms A of one level, whatever it was. */
cmg_status cmgi_form_level(cmg_hierarchy *h, int level);
/* Gives the formed ones the values that follow from those above, patterns kept. */
cmg_status cmgi_form_values(cmg_hierarchy *h);
/* Dirichlet rows of levels 0 .. last, found as the cycle finds them; cleared by the caller. */
cmg_status cmgi_form_dirichlet(const cmg_hierarchy *h, int last, cmgi_dirichlet *found);
