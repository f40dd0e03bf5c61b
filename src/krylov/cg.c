/*
 * Preconditioned conjugate gradients.
 *
 *   z = C r;  beta = (r,z) / (r,z)_old;  p = z + beta p;  q = A p;  a = (r,z) / (p,q);  x += a p;
 * r -= a q
 *
 * The recursive residual can fall below the true one. When it meets the tolerance the true residual
 * is computed; if that is too large the iteration starts again from it. An iteration that has
 * converged by the recursion and gains less than a factor of two by starting again has reached
 * rounding: stagnated.
 *
 * Source  Hestenes and Stiefel 1952; Saad 2003, algorithm 9.1.
 */
#include "krylov/krylov.h"

#include <math.h>

enum { RZ = 0, RZ_OLD = CMGI_CG_DENOMINATOR, PQ, RR }; /* positions in k->scalars */

/* p = 0 and a ratio with the denominator 0, so that the first direction is p = z. */
static cmg_status start(cmgi_krylov *k)
{
    const cmgi_linear_system *s = &k->system;
    const cmgi_backend *backend = s->ctx->backend;
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

cmg_status cmgi_cg(cmgi_krylov *k, const double *b, double *x)
{
    return cmgi_cg_repeat(k, step, b, x);
}

cmg_status cmgi_cg_repeat(cmgi_krylov *k, cmgi_step_fn one, const double *b, double *x)
{
    const cmgi_linear_system *s = &k->system;
    const cmgi_iteration iteration = {.step = one, .freezes = true};
    double before = INFINITY;
    for (;;) {
        CMGI_TRY(start(k));
        CMGI_TRY(cmgi_krylov_repeat(k, &iteration, b, x));
        if (!cmg_outcome_converged(k->outcome)) {
            return CMG_OK;
        }
        double norm = 0;
        CMGI_TRY(s->residual(s->user, b, x, k->work[0]));
        CMGI_TRY(cmgi_krylov_norm(k, k->work[0], &norm));
        k->residual = norm;
        k->exact = true;
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
        k->exact = false;
    }
}
