/*
 * Chebyshev semi-iteration: with the eigenvalues of C A in an interval that is known, the factors
 * of all steps are known numbers, and no inner product is needed but the norm that stops.
 *
 *   z = F r,  x = x + z                     once: nested iteration, where there is one
 *   r = b - A x
 *   z = C r
 *   d = momentum d + step z,  x = x + d     (core/backend.h, cmgi_semi)
 *   r = b - A x,  stop where ||r|| is small
 *
 * In place of most b - A x, r - A d with the finest matrix of C in fp32 or fp16 loses nothing at
 * 96^3 and 1 and 2 of 6 iterations at 256^3: beside A d of a smooth d its rounding grows with h^-2.
 *
 * Of steps that are recorded one behind the other all but the last leave the parts of (r, r) to the
 * cycle of the next, which notes them.
 *
 * In the norm of A the error falls by q = (1 - s) / (1 + s) a step, s = sqrt(low / high), as CG
 * promises for the same interval. d is kept in the precision of C: rounding it bends a step a
 * little, and r is computed from b, A and x in fp64 whatever the step was. An eigenvalue outside of
 * the interval is reduced less, or grows: the norms tell (mg/fallback.c).
 *
 * Source  Golub and Varga 1961, doi:10.1007/BF01386013; Saad 2003, algorithm 12.1.
 */
#include "krylov/krylov.h"

#include <math.h>

static cmgi_semi *semi_of(const cmgi_krylov *k)
{
    return (cmgi_semi *)(void *)k->scalars;
}

double cmgi_semi_rate(double low, double high)
{
    const double s = sqrt(low / high);
    return (1 - s) / (1 + s);
}

/* x from C r or F r (nested), where it was 0 (fresh) without reading it; then r, its norm and the
 * factors of the next step. */
static cmg_status advance(cmgi_krylov *k, bool nested, bool fresh)
{
    const cmgi_linear_system *s = &k->system;
    const cmgi_backend *on = s->ctx->backend;
    double *r = k->work[0];
    const cmgi_semi_update step = {.semi = semi_of(k),
                                   .stop = k->stop,
                                   .precision = s->precision,
                                   .fresh = fresh,
                                   .z = k->image,
                                   .d = k->work[2],
                                   .x = k->x,
                                   .squares = k->squares};
    cmgi_cg_update norm = {.kind = CMGI_CG_SEMI,
                           .precision = CMG_FP64,
                           .r = r,
                           .single = k->rounded == r ? NULL : k->rounded,
                           .rr = cmgi_krylov_scalar(k, CMGI_KRYLOV_SCALARS - 2),
                           .stop = k->stop,
                           .post = k->ahead == 1 ? cmgi_krylov_post(k) : NULL,
                           .semi = semi_of(k)};
    bool taken = false;
    bool notes = false;
    CMGI_TRY(s->stepped != NULL && s->columns == 1
                 ? s->stepped(s->user, nested, k->rounded, &step, &taken, &notes)
                 : CMG_OK);
    if (!taken) {
        CMGI_TRY(nested ? s->nested(s->user, k->rounded, k->image) : cmgi_krylov_image(k));
        CMGI_TRY(on->semi_update(s->ctx, s->n, s->columns, &step));
    }
    if (norm.single != NULL && s->columns == 1 && s->residual_rounded != NULL) {
        CMGI_TRY(s->residual_rounded(s->user, k->b, k->x, norm.single, &norm.parts));
    }
    k->squares = (cmgi_addends){0};
    if (notes && norm.parts.count > 0 && k->ahead > 1) {
        k->squares = norm.parts;
        return CMG_OK;
    }
    CMGI_TRY(norm.parts.count == 0 ? s->residual(s->user, k->b, k->x, r) : CMG_OK);
    return on->cg_update(s->ctx, s->n, s->columns, &norm);
}

static cmg_status step(cmgi_krylov *k)
{
    return advance(k, false, false);
}

static cmg_status first(cmgi_krylov *k)
{
    return advance(k, k->system.nested != NULL, cmgi_krylov_from_zero(k));
}

const cmgi_iteration cmgi_semi_iteration = {
    .first = first, .step = step, .exact = true, .vectors = 3, .rounds = true, .rests = true};
