/*
 * Preconditioned conjugate gradients.
 *
 *   z = C r;  beta = (r,z) / (r,z)_old;  p = z + beta p;  q = A p;  a = (r,z) / (p,q);  x += a p;
 * r -= a q
 *
 * Where C works in fp32, the update writes r in fp32 besides, and (r,z) and p read z as it comes:
 * 12 of 32 bytes a row less around C. All sums are fp64.
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

/* r and z in fp32: the two halves of the memory of z; NULL where C works in fp64. */
static float *single_r(const cmgi_krylov *k)
{
    return cmgi_krylov_single(k) ? (float *)k->work[1] : NULL;
}
static float *single_z(const cmgi_krylov *k)
{
    return single_r(k) + (k->system.n + 3) / 4 * 4;
}

static cmg_status start(cmgi_krylov *k, const double *b, double *x)
{
    const cmgi_linear_system *s = &k->system;
    float *r = single_r(k);
    if (r != NULL) {
        CMGI_TRY(s->ctx->backend->convert(s->ctx, s->n, CMG_FP64, k->work[0], CMG_FP32, r));
    }
    return cmgi_cg_start(k, b, x);
}

/* z = C r, (r,z), p = z + beta p */
static cmg_status new_direction(cmgi_krylov *k)
{
    const cmgi_linear_system *s = &k->system;
    cmg_context *ctx = s->ctx;
    const bool single = cmgi_krylov_single(k);
    const cmg_precision precision = single ? CMG_FP32 : CMG_FP64;
    const void *r = single ? (void *)single_r(k) : (void *)k->work[0];
    const void *z = single ? (void *)single_z(k) : (void *)k->work[1];
    double *rz = k->scalars + RZ;
    CMGI_TRY(single ? s->precondition_low(s->user, single_r(k), single_z(k))
                    : cmgi_krylov_precondition(k, k->work[0], k->work[1]));
    CMGI_TRY(ctx->backend->dot(ctx, precision, s->n, r, z, rz));
    return ctx->backend->direction(ctx, s->n, rz, k->scalars + RZ_OLD, precision, z, CMG_FP64,
                                   k->work[2]);
}

/* q = A p, (p,q) */
static cmg_status new_product(cmgi_krylov *k)
{
    const cmgi_linear_system *s = &k->system;
    const double *p = k->work[2];
    double *q = k->work[3];
    if (s->apply_dot != NULL) {
        return s->apply_dot(s->user, p, q, k->scalars + PQ);
    }
    CMGI_TRY(s->apply(s->user, p, q));
    return s->ctx->backend->dot(s->ctx, CMG_FP64, s->n, p, q, k->scalars + PQ);
}

/* One iteration: direction, new x and r, stopping test. */
static cmg_status step(cmgi_krylov *k, const double *b, double *x)
{
    const cmgi_linear_system *s = &k->system;
    const cmgi_cg_update update = {.rz = k->scalars + RZ,
                                   .pq = k->scalars + PQ,
                                   .p = k->work[2],
                                   .q = k->work[3],
                                   .x = x,
                                   .r = k->work[0],
                                   .single = single_r(k),
                                   .rr = k->scalars + RR,
                                   .stop = k->stop,
                                   .old = k->scalars + RZ_OLD};
    (void)b;
    CMGI_TRY(new_direction(k));
    CMGI_TRY(new_product(k));
    return s->ctx->backend->cg_update(s->ctx, s->n, &update);
}

/* r may be there in fp32, too, in the memory of z: q is what is free between steps. */
const cmgi_iteration cmgi_cg = {.start = start, .step = step, .freezes = true, .spare = 3};
