/*
 * The Lanczos process for M A by conjugate gradients with the preconditioner M: its coefficients
 * stay in the backend's memory until all steps are done, so that a device is waited for once.
 */
#pragma once
#include "smoothers/spectrum.h"

/* What is applied, and its vectors, in the backend's memory and in A's numbering. */
typedef struct cmgi_pencil {
    cmg_context *ctx;
    const cmg_matrix *A;
    cmg_matrix *M[CMGI_MAX_FACTORS]; /* of M, the first is applied first */
    int factors;
    cmg_status (*apply)(void *user, const void *r, void *z); /* M itself, NULL = by its factors */
    void *user;
    cmg_precision precision;
    cmg_size n;
    cmg_size total; /* rows of all ranks */
    int steps;      /* most of Lanczos */
    double *scalar; /* CMGI_LANCZOS_SCALARS */
    void *r;        /* n each, in `precision` */
    void *z;
    void *p;
    void *q;
    void *t;
} cmgi_pencil;

enum { CMGI_LANCZOS_SCALARS = 2 * CMGI_LANCZOS_STEPS + 5 };

/* Room for the scalars and the first `count` of r, z, p, q, t; to be closed, on failure, too. */
cmg_status cmgi_pencil_open(cmgi_pencil *P, int count);
void cmgi_pencil_close(cmg_context *ctx, cmgi_pencil *P);
CMGI_RELEASES(cmgi_pencil_close, cmgi_pencil)

/* M = D^-1 alone. */
static inline bool cmgi_pencil_is_jacobi(const cmgi_pencil *P)
{
    return P->factors == 1 && P->M[0]->format->id == CMG_FORMAT_DIAGONAL;
}
/* The scalar of that place becomes x . y. */
cmg_status cmgi_pencil_dot(const cmgi_pencil *P, const void *x, const void *y, int place);
cmg_status cmgi_pencil_multiply(const cmg_matrix *A, const void *x, void *y);
/* z = M r; r and z are not t, which is used in between. */
cmg_status cmgi_pencil_precondition(const cmgi_pencil *P, const void *r, void *z);

/*
 * Steps from the start vector in r; with an `apply` T->next is 0. With D^-1 alone the symmetry of A
 * is looked at on the way: A is symmetric where p_0 . A p_1 = p_1 . A p_0 for the first two
 * directions up to `allowed` of its size, 0 = it is known; otherwise T is not definite.
 *
 * `before` has the coefficients from the same start vector with other values, or those of the next
 * level, NULL = none: where the first three steps come out nearly as they did, the later ones are
 * taken from it.
 */
cmg_status cmgi_lanczos(const cmgi_pencil *P, double allowed, const cmgi_tridiagonal *before,
                        cmgi_tridiagonal *T);
void cmgi_ritz_values(const cmgi_tridiagonal *T, cmgi_spectrum *spectrum);
