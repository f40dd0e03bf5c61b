/*
 * Preconditioned conjugate gradients.
 *
 *   q = A p;  a = (r,z) / (p,q);  x += a p;  r -= a q;  z = C r;  beta = (r,z)_new / (r,z);  p = z + beta p
 *
 * The recursive residual can fall below the true one. When it meets the tolerance the true residual is
 * computed; if that is too large the iteration starts again from it. An iteration that has converged by
 * the recursion and gains less than a factor of two by starting again has reached rounding: stagnated.
 *
 * Source  Hestenes and Stiefel 1952; Saad 2003, algorithm 9.1.
 */
#include "krylov/krylov.h"

#include <math.h>

enum { RZ = 0, RZ_NEXT, PQ, RR }; /* positions in k->scalars */

/* z = C r, p = z, rz = (r,z) */
static cmg_status start(cmgi_krylov *k)
{
    const cmgi_linear_system *s = &k->system;
    cmg_context *ctx = s->ctx;
    CMGI_TRY(cmgi_krylov_precondition(k, k->work[0], k->work[1]));
    CMGI_TRY(ctx->backend->convert(ctx, s->n, CMG_FP64, k->work[1], CMG_FP64, k->work[2]));
    return ctx->backend->dot(ctx, CMG_FP64, s->n, k->work[0], k->work[1], k->scalars + RZ);
}

/* New x and r; their norm. */
static cmg_status advance(cmgi_krylov *k, double *x)
{
    const cmgi_linear_system *s = &k->system;
    cmg_context *ctx = s->ctx;
    double *r = k->work[0];
    double *p = k->work[2];
    double *q = k->work[3];
    double *scalars = k->scalars;
    CMGI_TRY(s->apply(s->user, p, q));
    CMGI_TRY(ctx->backend->dot(ctx, CMG_FP64, s->n, p, q, scalars + PQ));
    return ctx->backend->cg_update(ctx, s->n, scalars + RZ, scalars + PQ, p, q, x, r, scalars + RR);
}

/* New z and direction p. */
static cmg_status redirect(cmgi_krylov *k)
{
    const cmgi_linear_system *s = &k->system;
    cmg_context *ctx = s->ctx;
    double *scalars = k->scalars;
    CMGI_TRY(cmgi_krylov_precondition(k, k->work[0], k->work[1]));
    CMGI_TRY(ctx->backend->dot(ctx, CMG_FP64, s->n, k->work[0], k->work[1], scalars + RZ_NEXT));
    CMGI_TRY(ctx->backend->direction(ctx, s->n, scalars + RZ_NEXT, scalars + RZ, k->work[1], k->work[2]));
    return ctx->backend->convert(ctx, 1, CMG_FP64, scalars + RZ_NEXT, CMG_FP64, scalars + RZ);
}

/* Iterates until the recursive residual stops the iteration or the method breaks down. */
static cmg_status iterate(cmgi_krylov *k, double *x)
{
    for (;;) {
        double scalars[4];
        CMGI_TRY(advance(k, x));
        CMGI_TRY(cmgi_to_host(k->system.ctx, scalars, k->scalars, sizeof scalars));
        if (scalars[RZ] < 0) {
            k->outcome = CMG_INDEFINITE_PRECONDITIONER;
            return CMG_OK;
        }
        if (scalars[PQ] <= 0) {
            k->outcome = CMG_BREAKDOWN;
            return CMG_OK;
        }
        ++k->iterations;
        if (cmgi_krylov_stops(k, sqrt(scalars[RR]))) {
            return CMG_OK;
        }
        CMGI_TRY(redirect(k));
    }
}

cmg_status cmgi_cg(cmgi_krylov *k, const double *b, double *x)
{
    const cmgi_linear_system *s = &k->system;
    double before = INFINITY;
    for (;;) {
        CMGI_TRY(start(k));
        CMGI_TRY(iterate(k, x));
        if (!cmg_outcome_converged(k->outcome)) {
            return CMG_OK;
        }
        double norm = 0;
        CMGI_TRY(s->residual(s->user, b, x, k->work[0]));
        CMGI_TRY(cmgi_krylov_norm(k, k->work[0], &norm));
        if (norm <= cmgi_krylov_tolerance(k)) {
            return CMG_OK;
        }
        if (!(norm < 0.5 * before)) {
            k->outcome = CMG_STAGNATED;
            return CMG_OK;
        }
        if (k->iterations >= k->max_it) {
            k->outcome = CMG_ITERATION_LIMIT;
            return CMG_OK;
        }
        before = norm;
    }
}
