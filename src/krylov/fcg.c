/*
 * Flexible conjugate gradients, for preconditioners C that change from call to call or are not
 * symmetric: the new direction is made orthogonal to the last one by computation instead of theory.
 *
 *   z = C r;  beta = -(z, A p) / (p, A p);  p = z + beta p;  q = A p;  a = (r,z) / (p,q);
 *   x += a p;  r -= a q
 *
 * With a p = x - x_old, r - r_old = -a A p and a = (r,z)_old / (p, A p), the ratio is that of Polak
 * and Ribiere, beta = (z, r - r_old) / (r,z)_old. As q = A p of the last iteration is still there
 * when z is known, the form above needs no copy of r: one inner product more than CG, no vector.
 *
 * Source  Notay 2000, SIAM J. Sci. Comput. 22, algorithm FCG(1), doi:10.1137/S1064827599362314;
 *         Golub and Ye 1999, SIAM J. Sci. Comput. 21 (inner-outer iteration).
 */
#include "krylov/krylov.h"

/* Positions in k->scalars; PQ_OLD = 0 makes the first direction z, whatever p and q are. */
enum { RZ = 0, PQ_OLD = CMGI_KRYLOV_OLD, PQ, RR, ZQ };

/* One iteration: direction, new x and r, stopping test. */
static cmg_status step(cmgi_krylov *k)
{
    const cmgi_linear_system *A = &k->system;
    cmg_context *ctx = A->ctx;
    const cmgi_backend *on = ctx->backend;
    const cmg_size n = A->n;
    double *r = k->work[0];
    double *z = k->work[1];
    double *p = k->work[2];
    double *q = k->work[3];
    double *rz = k->scalars + RZ;
    double *old = k->scalars + PQ_OLD; /* -(p,q) of the last iteration */
    double *pq = k->scalars + PQ;
    double *zq = k->scalars + ZQ;
    const cmgi_cg_update update = {.rz = rz,
                                   .pq = pq,
                                   .p = p,
                                   .q = q,
                                   .x = k->x,
                                   .r = r,
                                   .rr = k->scalars + RR,
                                   .stop = k->stop};
    const cmgi_direction next = {
        .num = zq, .den = old, .pz = CMG_FP64, .z = z, .pp = CMG_FP64, .p = p};
    CMGI_TRY(cmgi_krylov_precondition(k, r, z));
    CMGI_TRY(on->dot(ctx, CMG_FP64, n, 1, r, z, rz));
    CMGI_TRY(on->dot(ctx, CMG_FP64, n, 1, z, q, zq));
    CMGI_TRY(on->direction(ctx, n, 1, &next));
    CMGI_TRY(A->apply(A->user, CMG_FP64, p, q, pq, NULL));
    CMGI_TRY(on->axpby(ctx, CMG_FP64, 1, -1.0, pq, 0.0, old));
    return on->cg_update(ctx, n, 1, &update);
}

const cmgi_iteration cmgi_fcg = {.step = step, .vectors = 4, .scratch = 1, .rests = true};
