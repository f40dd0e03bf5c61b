/*
 * What the outer iterations share: work vectors, norms, the residual that is reported.
 *
 * The recursive residual of CG can fall below the true one. When it meets the tolerance and the
 * true one does not, the iteration starts again from the true one. If that has gained less than a
 * factor of two since the last start, rounding is reached: stagnated. In defect correction a start
 * from the true residual is the rule.
 */
#include "krylov/krylov.h"

#include <math.h>

enum { PAD = 4 }; /* doubles behind z: room for two aligned vectors in fp32 */

static cmg_status allocate_low(cmgi_krylov *k)
{
    cmg_context *ctx = k->system.ctx;
    const size_t bytes = cmgi_precision_bytes(k->system.low);
    for (int v = 0; v < CMGI_LOW_VECTORS; ++v) {
        if (k->low[v] == NULL) {
            CMGI_TRY(cmgi_alloc_device(ctx, k->system.n, bytes, &k->low[v]));
        }
    }
    return CMG_OK;
}

static void free_low(cmgi_krylov *k)
{
    for (int v = 0; v < CMGI_LOW_VECTORS; ++v) {
        cmgi_free_device(k->system.ctx, k->low[v]);
        k->low[v] = NULL;
    }
}

bool cmgi_krylov_single(const cmgi_krylov *k)
{
    return k->system.low == CMG_FP32 && k->system.precondition_low != NULL;
}

void cmgi_krylov_raise(cmgi_krylov *k)
{
    cmgi_krylov_forget(k);
    free_low(k); /* the next solve has new ones */
    k->system.low = CMG_FP64;
}

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
    made->gain = options->inner_rtol;
    made->max_it = options->max_it;
    made->loop = options->loop;
    cmg_status status = CMG_OK;
    const bool defect = options->krylov == CMG_KRYLOV_DEFECT;
    for (int v = 0; v < (defect ? CMGI_DEFECT_VECTORS : CMGI_KRYLOV_VECTORS); ++v) {
        CMGI_TRY_GOTO(done,
                      cmgi_alloc_device(ctx, system->n + PAD, sizeof(double), &made->work[v]));
    }
    if (defect) {
        CMGI_TRY_GOTO(done, allocate_low(made));
    }
    CMGI_TRY_GOTO(done,
                  cmgi_alloc_device(ctx, CMGI_KRYLOV_SCALARS, sizeof(double), &made->scalars));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, 1, sizeof *made->stop, &made->stop));
    /* the host fetches all of it, with norms that are not there yet */
    CMGI_TRY_GOTO(done, ctx->backend->fill(ctx, CMG_FP64, sizeof *made->stop / sizeof(double), 0.0,
                                           made->stop));
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
    free_low(*k);
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

cmg_status cmgi_krylov_solve(cmgi_krylov *k, cmg_krylov method, const double *b, double *x)
{
    cmg_context *ctx = k->system.ctx;
    double before = INFINITY;
    static const cmgi_iteration *const methods[] = {[CMG_KRYLOV_NONE] = &cmgi_richardson,
                                                    [CMG_KRYLOV_CG] = &cmgi_cg,
                                                    [CMG_KRYLOV_FCG] = &cmgi_fcg,
                                                    [CMG_KRYLOV_DEFECT] = &cmgi_defect};
    k->method = methods[method];
    k->iterations = 0;
    k->starts = 0;
    if (method == CMG_KRYLOV_DEFECT) {
        CMGI_TRY(allocate_low(k));
    }
    for (;;) {
        ++k->starts;
        CMGI_TRY(cmgi_krylov_repeat(k, b, x));
        if (k->rhs_norm == 0) {
            k->residual = 0;
            k->history[0] = 0;
            return ctx->backend->fill(ctx, CMG_FP64, k->system.n, 0.0, x);
        }
        if (!cmg_outcome_converged(k->outcome) || k->residual <= cmgi_krylov_tolerance(k)) {
            return CMG_OK;
        }
        if (!(k->residual < 0.5 * before) || k->iterations >= k->max_it) {
            k->outcome = k->iterations < k->max_it ? CMG_STAGNATED : CMG_ITERATION_LIMIT;
            return CMG_OK;
        }
        before = k->residual;
    }
}
