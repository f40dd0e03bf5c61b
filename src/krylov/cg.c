/*
 * Preconditioned conjugate gradients.
 *
 *   z = C r
 *   beta = (r,z) / (r,z)_old
 *   p = z + beta p
 *   q = A p
 *   alpha = (r,z) / (p,q)
 *   x = x + alpha p,  r = r - alpha q,  stop where ||r|| is small
 *
 * Where C works in fp32, the update writes r in fp32 besides, and (r,z) and p read z as it comes:
 * 12 of 32 bytes a row less around C. All sums are fp64. Over the hundreds of iterations of a
 * preconditioner without a coarse correction the rounding of r in (r,z) costs up to 30 % more of
 * them: there (exact_rz) the sum takes r in fp64, and z widened into q, which is free then.
 *
 * Of steps that are recorded one behind the other all but the last leave the parts of (r,r) to the
 * direction of the next, which notes them; (r,z) has one of two places in turns, and so has p where
 * the product with it forms it.
 *
 * Several columns share the products and nothing else: each has its own scalars, stopping test and
 * restarts, and rests when it is done. In exact arithmetic the iterates are those of CG on every
 * column alone.
 *
 * Source  Hestenes and Stiefel 1952; Saad 2003, algorithm 9.1; with exact_rz Zhang and Zhang 2013,
 * doi:10.1155/2013/398438, algorithm 6.
 */
#include "krylov/krylov.h"

/* Scalars of every column; RZ_OLD = 0 makes the first direction z, whatever p is. */
enum { RZ = 0, RZ_OLD = CMGI_KRYLOV_OLD, PQ, RR };

cmg_status cmgi_cg_step(cmgi_krylov *k, const cmgi_cg_vectors *v)
{
    const cmgi_linear_system *A = &k->system;
    cmg_context *ctx = A->ctx;
    const cmgi_backend *on = ctx->backend;
    const cmg_size n = A->n;
    const int columns = A->columns;
    const bool other = k->ahead > 0 && (k->recorded[CMGI_RECORD_WHOLE].steps - k->ahead) % 2 == 1;
    double *rz = cmgi_krylov_scalar(k, other ? RZ_OLD : RZ);
    double *pq = cmgi_krylov_scalar(k, PQ);
    cmgi_direction p = {.num = rz,
                        .den = cmgi_krylov_scalar(k, other ? RZ : RZ_OLD),
                        .pz = A->precision,
                        .z = k->image,
                        .pp = v->precision,
                        .p = v->p,
                        .squares = k->squares,
                        .stop = k->stop,
                        .pq = pq};
    bool formed = false;
    cmgi_cg_update update = {.rz = rz,
                             .pq = pq,
                             .precision = v->precision,
                             .p = v->p,
                             .q = v->q,
                             .x = v->x,
                             .r = v->r,
                             .single = k->rounded == v->r ? NULL : k->rounded,
                             .rr = cmgi_krylov_scalar(k, RR),
                             .squares = k->ahead > 1 && columns == 1 ? &k->squares : NULL,
                             .stop = k->stop,
                             .old = cmgi_krylov_scalar(k, RZ_OLD)};
    CMGI_TRY(cmgi_krylov_image(k)); /* z, of a rounded r */
    if (A->left != NULL && columns == 1) {
        p.parts = A->left(A->user);
    }
    if (p.parts.count > 0) {
        /* added up where p is formed */
    } else if (A->exact_rz && v->precision != A->precision) {
        CMGI_TRY(on->convert(ctx, n * columns, A->precision, k->image, v->precision, v->q));
        CMGI_TRY(on->dot(ctx, v->precision, n, columns, v->r, v->q, rz));
    } else {
        CMGI_TRY(on->dot(ctx, A->precision, n, columns, k->rounded, k->image, rz));
    }
    if (k->ahead > 0 && A->apply_formed != NULL) { /* into p at last */
        p.p = k->ahead % 2 == 1 ? v->p : k->work[1];
        p.before = k->ahead % 2 == 1 ? k->work[1] : v->p;
        CMGI_TRY(A->apply_formed(A->user, &p, v->q, pq, &update.parts, &formed));
    }
    if (!formed) {
        p.p = v->p;
        CMGI_TRY(on->direction(ctx, n, columns, &p));
        CMGI_TRY(A->apply(A->user, v->precision, v->p, v->q, pq, &update.parts));
    }
    update.p = p.p;
    k->squares = (cmgi_addends){0};
    return on->cg_update(ctx, n, columns, &update);
}

static cmgi_cg_vectors vectors(const cmgi_krylov *k)
{
    return (cmgi_cg_vectors){
        .precision = CMG_FP64, .x = k->x, .r = k->work[0], .p = k->work[2], .q = k->work[3]};
}

static cmg_status step(cmgi_krylov *k)
{
    const cmgi_cg_vectors v = vectors(k);
    return cmgi_cg_step(k, &v);
}

/* The residual at the end goes into q: r and C r may be rounded, with r to be taken over. */
const cmgi_iteration cmgi_cg = {.step = step, .vectors = 4, .scratch = 3, .rests = true};
