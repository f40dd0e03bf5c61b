/*
 * Mixed-precision defect correction with conjugate gradients inside: r, x and what is reported in
 * fp64, the work in the precision of the cycle.
 *
 *   d = b - A x                                 fp64
 *   A c = d  by preconditioned CG from c = 0    low precision, to ||d - A c|| <= gain ||d||
 *   x = x + c                                   fp64
 *
 * The norms of the inner iteration are estimates of ||b - A (x + c)||; a start from the true one
 * follows whenever they have fallen by the gain, or below the tolerance.
 *
 * Source  Zhang and Zhang 2013, doi:10.1155/2013/398438, algorithm 5; Goeddeke, Strzodka and Turek
 * 2007, Int. J. Parallel Emergent Distrib. Syst. 22.
 */
#include "krylov/krylov.h"

enum { RZ = 0, RZ_OLD = CMGI_CG_DENOMINATOR, PQ, RR }; /* positions in k->scalars */
enum { C = 0, R, Z, P, Q };                            /* positions in k->low */

/* c = 0, r = d in low precision, no last direction. */
static cmg_status start(cmgi_krylov *k, const double *b, double *x)
{
    const cmgi_linear_system *s = &k->system;
    cmg_context *ctx = s->ctx;
    const cmgi_backend *backend = ctx->backend;
    (void)b;
    (void)x;
    CMGI_TRY(backend->fill(ctx, s->low, s->n, 0.0, k->low[C]));
    CMGI_TRY(backend->fill(ctx, s->low, s->n, 0.0, k->low[P]));
    CMGI_TRY(backend->fill(ctx, CMG_FP64, 1, 0.0, k->scalars + RZ_OLD));
    return backend->convert(ctx, s->n, CMG_FP64, k->work[0], s->low, k->low[R]);
}

/* One iteration of CG on c and r. */
static cmg_status step(cmgi_krylov *k, const double *b, double *x)
{
    const cmgi_linear_system *s = &k->system;
    cmg_context *ctx = s->ctx;
    const cmgi_backend *backend = ctx->backend;
    double *old = k->scalars + RZ_OLD;
    void *z = k->low[Z];
    void *p = k->low[P];
    const cmgi_cg_update update = {.rz = k->scalars + RZ,
                                   .pq = k->scalars + PQ,
                                   .precision = s->low,
                                   .p = p,
                                   .q = k->low[Q],
                                   .x = k->low[C],
                                   .r = k->low[R],
                                   .rr = k->scalars + RR,
                                   .stop = k->stop,
                                   .old = old};
    (void)b;
    (void)x;
    CMGI_TRY(s->precondition_low != NULL
                 ? s->precondition_low(s->user, k->low[R], z)
                 : backend->convert(ctx, s->n, s->low, k->low[R], s->low, z));
    CMGI_TRY(backend->dot(ctx, s->low, s->n, k->low[R], z, k->scalars + RZ));
    CMGI_TRY(backend->direction(ctx, s->n, k->scalars + RZ, old, s->low, z, s->low, p));
    CMGI_TRY(s->apply_low(s->user, p, k->low[Q]));
    CMGI_TRY(backend->dot(ctx, s->low, s->n, p, k->low[Q], k->scalars + PQ));
    return backend->cg_update(ctx, s->n, &update);
}

/* x = x + c, c = 0: the inner iteration may only be pausing. */
static cmg_status finish(cmgi_krylov *k, const double *b, double *x)
{
    const cmgi_linear_system *s = &k->system;
    cmg_context *ctx = s->ctx;
    const cmgi_backend *backend = ctx->backend;
    (void)b;
    CMGI_TRY(backend->convert(ctx, s->n, s->low, k->low[C], CMG_FP64, k->work[1]));
    CMGI_TRY(backend->axpby(ctx, CMG_FP64, s->n, 1.0, k->work[1], 1.0, x));
    return backend->fill(ctx, s->low, s->n, 0.0, k->low[C]);
}

const cmgi_iteration cmgi_defect = {
    .start = start, .step = step, .finish = finish, .spare = 0, .freezes = true};
