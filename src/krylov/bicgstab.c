/*
 * Stabilised biconjugate gradients for any A and C, C from the right, so that r is b - A x. With
 * s a fixed vector, here the first residual,
 *
 *   rho = (s,r);  beta = (rho / rho_old) (alpha / omega);  p = r + beta (p - omega v)
 *   z = C p;  v = A z;  alpha = rho / (s,v);  x += alpha z;  r -= alpha v
 *   z = C r;  t = A z;  omega = (t,r) / (t,t);  x += omega z;  r -= omega t
 *
 * As alpha_old = rho_old / (s,v)_old, beta = rho (t,t)_old / ((s,v)_old (t,r)_old), and no scalar
 * leaves the backend. One iteration has two cycles and two products with A. Where a denominator is
 * 0 its term is left out.
 *
 * Source  van der Vorst 1992, SIAM J. Sci. Stat. Comput. 13, doi:10.1137/0913035; Saad 2003,
 *         algorithm 7.7.
 */
#include "krylov/krylov.h"

enum { RHO = 0, SV, TR, TT, UP, DOWN, RR }; /* positions in k->scalars */

/* s = r, p = v = 0, and (t,r) = (t,t) = (s,v) = 0: the first direction is r. */
static cmg_status start(cmgi_krylov *k)
{
    const cmgi_linear_system *A = &k->system;
    cmg_context *ctx = A->ctx;
    const cmgi_backend *on = ctx->backend;
    CMGI_TRY(on->fill(ctx, CMG_FP64, A->n, 0.0, k->work[2]));
    CMGI_TRY(on->fill(ctx, CMG_FP64, A->n, 0.0, k->work[3]));
    CMGI_TRY(on->fill(ctx, CMG_FP64, RR, 0.0, k->scalars));
    return on->convert(ctx, A->n, CMG_FP64, k->work[0], CMG_FP64, k->work[4]);
}

static cmg_status step(cmgi_krylov *k)
{
    const cmgi_linear_system *A = &k->system;
    cmg_context *ctx = A->ctx;
    const cmgi_backend *on = ctx->backend;
    const cmg_size n = A->n;
    double *r = k->work[0];
    double *z = k->work[1];
    double *p = k->work[2];
    double *v = k->work[3];
    const double *s = k->work[4];
    double *t = k->work[5];
    double *c = k->scalars;
    const cmgi_direction next = {
        .num = c + UP, .den = c + DOWN, .pz = CMG_FP64, .z = r, .pp = CMG_FP64, .p = p};
    CMGI_TRY(on->dot(ctx, CMG_FP64, n, 1, s, r, c + RHO));
    CMGI_TRY(on->add_ratio(ctx, CMG_FP64, n, -1, c + TR, c + TT, v, p));
    CMGI_TRY(on->dot(ctx, CMG_FP64, 1, 1, c + RHO, c + TT, c + UP));
    CMGI_TRY(on->dot(ctx, CMG_FP64, 1, 1, c + SV, c + TR, c + DOWN));
    CMGI_TRY(on->direction(ctx, n, 1, &next));

    CMGI_TRY(cmgi_krylov_precondition(k, p, z));
    CMGI_TRY(A->apply(A->user, CMG_FP64, z, v, NULL, NULL));
    CMGI_TRY(on->dot(ctx, CMG_FP64, n, 1, s, v, c + SV));
    CMGI_TRY(on->add_ratio(ctx, CMG_FP64, n, 1, c + RHO, c + SV, z, k->x));
    CMGI_TRY(on->add_ratio(ctx, CMG_FP64, n, -1, c + RHO, c + SV, v, r));

    CMGI_TRY(cmgi_krylov_precondition(k, r, z));
    CMGI_TRY(A->apply(A->user, CMG_FP64, z, t, NULL, NULL));
    CMGI_TRY(on->dot(ctx, CMG_FP64, n, 1, t, r, c + TR));
    CMGI_TRY(on->dot(ctx, CMG_FP64, n, 1, t, t, c + TT));
    CMGI_TRY(on->add_ratio(ctx, CMG_FP64, n, 1, c + TR, c + TT, z, k->x));
    CMGI_TRY(on->add_ratio(ctx, CMG_FP64, n, -1, c + TR, c + TT, t, r));
    const cmgi_cg_update norm = {
        .kind = CMGI_CG_NORM, .precision = CMG_FP64, .r = r, .rr = c + RR, .stop = k->stop};
    return on->cg_update(ctx, n, 1, &norm);
}

const cmgi_iteration cmgi_bicgstab = {.start = start, .step = step, .vectors = 6, .scratch = 1};
