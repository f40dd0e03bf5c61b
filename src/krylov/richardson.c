/*
 * Stand-alone cycles, x <- x + C (b - A x): with an fp32 cycle this is mixed-precision defect
 * correction. The residual is computed from b, A and x in fp64 in every iteration.
 *
 * Source  Saad 2003, section 4.1; Goeddeke, Strzodka and Turek 2007 (mixed precision).
 */
#include "krylov/krylov.h"

static cmg_status step(cmgi_krylov *k)
{
    const cmgi_linear_system *s = &k->system;
    cmg_context *ctx = s->ctx;
    double *r = k->work[0];
    double *z = k->work[1];
    CMGI_TRY(cmgi_krylov_precondition(k, r, z));
    CMGI_TRY(ctx->backend->axpby(ctx, CMG_FP64, s->n, 1.0, z, 1.0, k->x));
    CMGI_TRY(s->residual(s->user, k->b, k->x, r));
    const cmgi_cg_update norm = {
        .kind = CMGI_CG_NORM, .precision = CMG_FP64, .r = r, .rr = k->scalars, .stop = k->stop};
    return ctx->backend->cg_update(ctx, s->n, 1, &norm);
}

const cmgi_iteration cmgi_richardson = {.step = step, .exact = true, .vectors = 2};
