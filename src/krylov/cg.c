/*
 * Preconditioned conjugate gradients.
 *
 *   z = C r;  beta = (r,z) / (r,z)_old;  p = z + beta p;  q = A p;  a = (r,z) / (p,q);  x += a p;
 * r -= a q
 *
 * Source  Hestenes and Stiefel 1952; Saad 2003, algorithm 9.1.
 */
#include "krylov/krylov.h"

enum { RZ = 0, RZ_OLD = CMGI_CG_DENOMINATOR, PQ, RR }; /* positions in k->scalars */

/* p = 0 and a ratio with the denominator 0, so that the first direction is p = z. */
cmg_status cmgi_cg_start(cmgi_krylov *k, const double *b, double *x)
{
    const cmgi_linear_system *s = &k->system;
    const cmgi_backend *backend = s->ctx->backend;
    (void)b;
    (void)x;
    CMGI_TRY(backend->fill(s->ctx, CMG_FP64, s->n, 0.0, k->work[2]));
    return backend->fill(s->ctx, CMG_FP64, 1, 0.0, k->scalars + CMGI_CG_DENOMINATOR);
}

/* One iteration: direction, new x and r, stopping test. */
static cmg_status step(cmgi_krylov *k, const double *b, double *x)
{
    const cmgi_linear_system *s = &k->system;
    cmg_context *ctx = s->ctx;
    const cmgi_backend *backend = ctx->backend;
    double *r = k->work[0];
    double *z = k->work[1];
    double *p = k->work[2];
    double *q = k->work[3];
    double *rz = k->scalars + RZ;
    double *old = k->scalars + RZ_OLD;
    double *pq = k->scalars + PQ;
    double *rr = k->scalars + RR;
    (void)b;
    CMGI_TRY(cmgi_krylov_precondition(k, r, z));
    CMGI_TRY(backend->dot(ctx, CMG_FP64, s->n, r, z, rz));
    CMGI_TRY(backend->direction(ctx, s->n, rz, old, z, p));
    CMGI_TRY(backend->convert(ctx, 1, CMG_FP64, rz, CMG_FP64, old));
    CMGI_TRY(s->apply(s->user, p, q));
    CMGI_TRY(backend->dot(ctx, CMG_FP64, s->n, p, q, pq));
    CMGI_TRY(backend->cg_update(ctx, s->n, rz, pq, p, q, x, r, rr, &k->stop->running));
    return backend->stop_note(ctx, k->stop, rz, pq, rr);
}

const cmgi_iteration cmgi_cg = {.start = cmgi_cg_start, .step = step, .freezes = true};
