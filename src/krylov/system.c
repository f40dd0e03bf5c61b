/* What the methods ask of the linear system: a norm, C r in the precision of C. */
#include "krylov/krylov.h"

#include <math.h>

cmg_status cmgi_krylov_norm(cmgi_krylov *k, const double *v, double *norm)
{
    cmg_context *ctx = k->system.ctx;
    const int columns = k->system.columns;
    CMGI_TRY(ctx->backend->dot(ctx, CMG_FP64, k->system.n, columns, v, v, k->scalars));
    CMGI_TRY(cmgi_to_host(ctx, norm, k->scalars, (size_t)columns * sizeof *norm));
    for (int c = 0; c < columns; ++c) {
        norm[c] = sqrt(norm[c]);
    }
    return CMG_OK;
}

/* z = C r in its precision */
static cmg_status apply_C(void *user, const void *r, void *z)
{
    const cmgi_linear_system *s = &((const cmgi_krylov *)user)->system;
    return s->precondition != NULL ? s->precondition(s->user, r, z)
                                   : s->ctx->backend->convert(s->ctx, s->n * s->columns,
                                                              s->precision, r, s->precision, z);
}

cmg_status cmgi_krylov_image(cmgi_krylov *k)
{
    return apply_C(k, k->rounded, k->image);
}

cmg_status cmgi_krylov_convert(cmgi_krylov *k, cmg_status (*C)(void *user, const void *r, void *z),
                               void *user, const double *r, double *z)
{
    const cmgi_linear_system *s = &k->system;
    const cmgi_backend *on = s->ctx->backend;
    if (s->precision == CMG_FP64) {
        return C(user, r, z);
    }
    const cmg_size values = cmgi_krylov_values(k);
    CMGI_TRY(on->convert(s->ctx, values, CMG_FP64, r, s->precision, k->rounded));
    CMGI_TRY(C(user, k->rounded, k->image));
    return on->convert(s->ctx, values, s->precision, k->image, CMG_FP64, z);
}

cmg_status cmgi_krylov_precondition(cmgi_krylov *k, const double *r, double *z)
{
    return cmgi_krylov_convert(k, apply_C, k, r, z);
}
