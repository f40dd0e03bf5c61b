/* What the outer iterations share: work vectors, stopping tests, the residual that is reported. */
#include "krylov/krylov.h"

#include <math.h>

cmg_status cmgi_krylov_create(const cmgi_linear_system *system, const cmg_solver_options *options,
                              cmgi_krylov **k)
{
    cmg_context *ctx = system->ctx;
    cmgi_krylov *made = NULL;
    CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *made, &made));
    made->system = *system;
    made->rtol = options->rtol;
    made->atol = options->atol;
    made->dtol = options->dtol;
    made->max_it = options->max_it;
    cmg_status status = CMG_OK;
    for (int v = 0; v < CMGI_KRYLOV_VECTORS; ++v) {
        CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, system->n, sizeof(double), &made->work[v]));
    }
    CMGI_TRY_GOTO(done,
                  cmgi_alloc_device(ctx, CMGI_KRYLOV_SCALARS, sizeof(double), &made->scalars));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, 1, sizeof *made->stop, &made->stop));
    CMGI_TRY_GOTO(
        done, cmgi_alloc_zero(ctx, (cmg_size)options->max_it + 1, sizeof(double), &made->history));
    *k = made;
    made = NULL;
done:
    cmgi_krylov_destroy(&made);
    return status;
}

void cmgi_krylov_destroy(cmgi_krylov **k)
{
    if (*k == NULL) {
        return;
    }
    cmg_context *ctx = (*k)->system.ctx;
    for (int v = 0; v < CMGI_KRYLOV_VECTORS; ++v) {
        cmgi_free_device(ctx, (*k)->work[v]);
    }
    cmgi_krylov_forget(*k);
    cmgi_free_device(ctx, (*k)->scalars);
    cmgi_free_device(ctx, (*k)->stop);
    cmgi_free(ctx, (*k)->history);
    cmgi_free(ctx, *k);
    *k = NULL;
}

cmg_status cmgi_krylov_norm(cmgi_krylov *k, const double *v, double *norm)
{
    cmg_context *ctx = k->system.ctx;
    double square = 0;
    CMGI_TRY(ctx->backend->dot(ctx, CMG_FP64, k->system.n, v, v, k->scalars));
    CMGI_TRY(cmgi_to_host(ctx, &square, k->scalars, sizeof square));
    *norm = sqrt(square);
    return CMG_OK;
}

cmg_status cmgi_krylov_precondition(cmgi_krylov *k, const double *r, double *z)
{
    const cmgi_linear_system *s = &k->system;
    if (s->precondition == NULL) {
        return s->ctx->backend->convert(s->ctx, s->n, CMG_FP64, r, CMG_FP64, z);
    }
    return s->precondition(s->user, r, z);
}

double cmgi_krylov_tolerance(const cmgi_krylov *k)
{
    return fmax(k->rtol * k->rhs_norm, k->atol);
}

void cmgi_krylov_limits(const cmgi_krylov *k, cmgi_stop *stop)
{
    *stop = (cmgi_stop){.relative = k->rtol * k->rhs_norm,
                        .absolute = k->atol,
                        .diverged = k->dtol * k->rhs_norm,
                        .most = k->max_it,
                        .done = k->iterations,
                        .base = k->iterations,
                        .outcome = CMGI_STOP_NONE,
                        .running = 1};
}

bool cmgi_krylov_stops(cmgi_krylov *k, double residual)
{
    cmgi_stop stop;
    cmgi_krylov_limits(k, &stop);
    k->history[k->iterations] = residual;
    k->residual = residual;
    const int outcome = cmgi_stop_outcome(&stop, residual, k->iterations);
    if (outcome != CMGI_STOP_NONE) {
        k->outcome = (cmg_outcome)outcome;
    }
    return outcome != CMGI_STOP_NONE;
}

static cmg_status iterate(cmgi_krylov *k, cmg_krylov method, const double *b, double *x)
{
    switch (method) {
    case CMG_KRYLOV_CG:
        return cmgi_cg(k, b, x);
    case CMG_KRYLOV_FCG:
        return cmgi_fcg(k, b, x);
    default:
        return cmgi_richardson(k, b, x);
    }
}

cmg_status cmgi_krylov_solve(cmgi_krylov *k, cmg_krylov method, const double *b, double *x)
{
    const cmgi_linear_system *s = &k->system;
    double *r = k->work[0];
    k->iterations = 0;
    k->exact = false;
    CMGI_TRY(cmgi_krylov_norm(k, b, &k->rhs_norm));
    if (k->rhs_norm == 0) {
        k->history[0] = 0;
        k->residual = 0;
        k->outcome = CMG_CONVERGED_ATOL;
        return s->ctx->backend->fill(s->ctx, CMG_FP64, s->n, 0.0, x);
    }
    CMGI_TRY(s->residual(s->user, b, x, r));
    double norm = 0;
    CMGI_TRY(cmgi_krylov_norm(k, r, &norm));
    if (cmgi_krylov_stops(k, norm)) {
        return CMG_OK;
    }
    CMGI_TRY(iterate(k, method, b, x));
    if (k->exact) {
        return CMG_OK;
    }
    /* what is reported is recomputed from b, A and the x that is returned */
    CMGI_TRY(s->residual(s->user, b, x, r));
    return cmgi_krylov_norm(k, r, &k->residual);
}
