/*
 * Preconditioned conjugate gradients with one sum over the ranks an iteration: A is applied to z
 * instead of p, and all inner products of an iteration are formed together.
 *
 *   z = C r;  w = A z
 *   (r,z)  (z,w)  (r,r)  (r,w)  (w,w)  (w,s)                    one message
 *   beta = (r,z) / (r,z)_old;  (p,A p) = (z,w) - beta^2 (p,A p)_old;  alpha = (r,z) / (p,A p)
 *   p = z + beta p;  s = w + beta s                             s = A p
 *   x = x + alpha p;  r = r - alpha s
 *
 * The source tests the norm of r with the sums of the next iteration, after a cycle in vain; here
 * the norm follows from the sums that are there (core/backend.h, cmgi_cg_merge). As s is a
 * recurrence, r drifts further from b - A x than in cg.c; what is reported is the true residual,
 * and where that has not met the tolerance the iteration starts again from it (krylov.c).
 *
 * Source  Chronopoulos and Gear 1989, J. Comput. Appl. Math. 25, doi:10.1016/0377-0427(89)90045-9.
 */
#include "core/ranks.h"
#include "krylov/krylov.h"

/* the last two belong to loop.c */
_Static_assert(sizeof(cmgi_cg_sums) <= (CMGI_KRYLOV_SCALARS - 2) * sizeof(double), "scalars");

static cmgi_cg_sums *sums_of(const cmgi_krylov *k)
{
    return (cmgi_cg_sums *)(void *)k->scalars;
}

/* p = s = 0 and no last iteration; r . r of this rank. */
static cmg_status start(cmgi_krylov *k)
{
    const cmgi_linear_system *A = &k->system;
    cmg_context *ctx = A->ctx;
    const cmgi_backend *on = ctx->backend;
    const cmg_size count = (cmg_size)(sizeof(cmgi_cg_sums) / sizeof(double));
    CMGI_TRY(on->fill(ctx, CMG_FP64, A->n, 0.0, k->work[2]));
    CMGI_TRY(on->fill(ctx, CMG_FP64, A->n, 0.0, k->work[3]));
    CMGI_TRY(on->fill(ctx, CMG_FP64, count, 0.0, k->scalars));
    return cmgi_own_backend(ctx)->dot(ctx, CMG_FP64, A->n, 1, k->work[0], k->work[0],
                                      &sums_of(k)->rr);
}

static cmg_status step(cmgi_krylov *k)
{
    const cmgi_linear_system *A = &k->system;
    cmg_context *ctx = A->ctx;
    const cmgi_backend *own = cmgi_own_backend(ctx);
    const cmg_size n = A->n;
    double *r = k->work[0];
    double *z = k->work[1];
    double *p = k->work[2];
    double *s = k->work[3];
    double *w = k->work[4];
    cmgi_cg_sums *c = sums_of(k);
    const cmgi_cg_update update = {.rz = &c->rz,
                                   .pq = &c->pq,
                                   .p = p,
                                   .q = s,
                                   .x = k->x,
                                   .r = r,
                                   .rr = &c->rr,
                                   .old = &c->rz_old};
    cmgi_direction next = {
        .num = &c->rz, .den = &c->rz_old, .pz = CMG_FP64, .z = z, .pp = CMG_FP64, .p = p};
    const cmgi_test merge = {.what = CMGI_TEST_MERGE, .update = {.stop = k->stop}, .sums = c};
    CMGI_TRY(cmgi_krylov_precondition(k, r, z));
    CMGI_TRY(A->apply(A->user, CMG_FP64, z, w, NULL, NULL));
    CMGI_TRY(own->dot(ctx, CMG_FP64, n, 1, r, z, &c->rz));
    CMGI_TRY(own->dot(ctx, CMG_FP64, n, 1, z, w, &c->zw));
    CMGI_TRY(own->dot(ctx, CMG_FP64, n, 1, r, w, &c->rw));
    CMGI_TRY(own->dot(ctx, CMG_FP64, n, 1, w, w, &c->ww));
    CMGI_TRY(own->dot(ctx, CMG_FP64, n, 1, w, s, &c->ws));
    CMGI_TRY(cmgi_sum_ranks(ctx, &c->rz, CMGI_CG_SUMS));
    CMGI_TRY(own->test(ctx, 1, &merge));
    CMGI_TRY(own->direction(ctx, n, 1, &next));
    next.z = w;
    next.p = s;
    CMGI_TRY(own->direction(ctx, n, 1, &next));
    return own->cg_update(ctx, n, 1, &update);
}

const cmgi_iteration cmgi_merged = {.start = start, .step = step, .vectors = 5, .scratch = 1};
