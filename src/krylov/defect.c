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

/* c = 0, r = d in low precision, no last direction. */
static cmg_status start(cmgi_krylov *k)
{
    const cmgi_linear_system *s = &k->system;
    const cmgi_backend *on = s->ctx->backend;
    const cmgi_cg_vectors *inner = &k->inner;
    CMGI_TRY(on->fill(s->ctx, s->precision, s->n, 0.0, inner->x));
    return s->precision == CMG_FP32 /* r is there in that */
               ? CMG_OK
               : on->convert(s->ctx, s->n, CMG_FP64, k->work[0], s->precision, inner->r);
}

static cmg_status step(cmgi_krylov *k)
{
    return cmgi_cg_step(k, &k->inner);
}

/* x = x + c, c = 0: the inner iteration may only be pausing. */
static cmg_status finish(cmgi_krylov *k)
{
    const cmgi_linear_system *s = &k->system;
    const cmgi_backend *on = s->ctx->backend;
    void *c = k->inner.x;
    double *wide = k->work[1];
    CMGI_TRY(on->convert(s->ctx, s->n, s->precision, c, CMG_FP64, wide));
    CMGI_TRY(on->axpby(s->ctx, CMG_FP64, s->n, 1.0, wide, 1.0, k->x));
    return on->fill(s->ctx, s->precision, s->n, 0.0, c);
}

const cmgi_iteration cmgi_defect = {.start = start,
                                    .step = step,
                                    .finish = finish,
                                    .vectors = 2,
                                    .scratch = 0,
                                    .inner = true,
                                    .rests = true};
