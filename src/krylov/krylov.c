/*
 * What the outer iterations share: work vectors, norms, the residual that is reported.
 *
 * The recursive residual of CG can fall below the true one. When it meets the tolerance and the
 * true one does not, the iteration starts again from the true one. If that has gained less than a
 * factor of two since the last start, rounding is reached: stagnated. In defect correction a start
 * from the true residual is the rule.
 */
#include "krylov/krylov.h"

#include "core/ranks.h"

#include <math.h>

/*
 * Squared norms of b that are as good as any: products of two squared residual norms, which
 * BiCGStab forms, stay in fp64 down to 1e-16 of them; entries of residuals stay in fp32.
 */
static const double RANGE = 1e60;
static const double RANGE_FP32 = 1e24;

static const cmgi_iteration *method_of(cmg_krylov method)
{
    static const cmgi_iteration *const methods[] = {[CMG_KRYLOV_NONE] = &cmgi_richardson,
                                                    [CMG_KRYLOV_CG] = &cmgi_cg,
                                                    [CMG_KRYLOV_FCG] = &cmgi_fcg,
                                                    [CMG_KRYLOV_DEFECT] = &cmgi_defect,
                                                    [CMG_KRYLOV_FGMRES] = &cmgi_fgmres,
                                                    [CMG_KRYLOV_BICGSTAB] = &cmgi_bicgstab,
                                                    [CMG_KRYLOV_AUTO] = &cmgi_cg,
                                                    [CMG_KRYLOV_MERGED] = &cmgi_merged,
                                                    [CMG_KRYLOV_SEMI] = &cmgi_semi_iteration};
    return methods[method];
}

/* Two vectors of n entries in fp32 in one array, both aligned: what the second begins at. */
static cmg_size second_half(cmg_size n)
{
    return (n + 3) / 4 * 4;
}

double cmgi_krylov_bytes(cmg_krylov method, cmg_precision precision, cmg_size n)
{
    const cmgi_iteration *m = method_of(method);
    const double c = (double)cmgi_precision_bytes(precision);
    const double rounded = precision != CMG_FP64 && !m->inner ? 2 * c : 0;
    return (m->vectors * (double)sizeof(double) + (m->inner ? 5 * c : 0) + rounded) * (double)n;
}

/* Histories of max_it iterations. */
static cmg_status make_room(cmgi_krylov *k, int max_it)
{
    const cmg_size length = (cmg_size)max_it + 1;
    double *norms = NULL;
    CMGI_TRY(cmgi_alloc_zero(k->system.ctx, length * k->system.columns, sizeof *norms, &norms));
    cmgi_free(k->system.ctx, k->column->history);
    for (int c = 0; c < k->system.columns; ++c) {
        k->column[c].history = norms + c * length;
    }
    k->longest = max_it;
    return CMG_OK;
}

static cmg_status allocate(cmgi_krylov *k)
{
    cmg_context *ctx = k->system.ctx;
    const cmg_size columns = k->system.columns;
    const cmg_size n = cmgi_krylov_values(k);
    const size_t size = cmgi_precision_bytes(k->system.precision);
    for (int v = 0; v < k->method->vectors; ++v) {
        CMGI_TRY(cmgi_alloc_device(ctx, n, sizeof(double), &k->work[v]));
    }
    k->rounded = k->work[0];
    k->image = k->work[1];
    if (k->method->inner) {
        cmgi_cg_vectors *inner = &k->inner;
        inner->precision = k->system.precision;
        k->image = NULL;
        CMGI_TRY(cmgi_alloc_device(ctx, n, size, &inner->x));
        CMGI_TRY(cmgi_alloc_device(ctx, n, size, &inner->r));
        CMGI_TRY(cmgi_alloc_device(ctx, n, size, &inner->p));
        CMGI_TRY(cmgi_alloc_device(ctx, n, size, &inner->q));
        k->rounded = inner->r;
        CMGI_TRY(cmgi_alloc_device(ctx, n, size, &k->image));
    } else if (k->system.precision != CMG_FP64) {
        k->rounded = NULL;
        CMGI_TRY(cmgi_alloc_device(ctx, 2 * second_half(n), size, &k->rounded));
        k->image = (char *)k->rounded + (size_t)second_half(n) * size;
    }
    if (k->method == &cmgi_fgmres) {
        CMGI_TRY(cmgi_arnoldi_create(ctx, k->options.restart, &k->arnoldi));
    }
    CMGI_TRY(cmgi_alloc_device(ctx, CMGI_KRYLOV_SCALARS * columns, sizeof(double), &k->scalars));
    CMGI_TRY(cmgi_alloc_device(ctx, columns, sizeof *k->stop, &k->stop));
    CMGI_TRY(cmgi_alloc_device(ctx, columns, sizeof *k->limits, &k->limits));
    /* the host fetches all of it, with norms that are not there yet */
    CMGI_TRY(ctx->backend->fill(
        ctx, CMG_FP64, columns * (cmg_size)(sizeof *k->stop / sizeof(double)), 0.0, k->stop));
    CMGI_TRY(cmgi_alloc_zero(ctx, columns, sizeof *k->given, &k->given));
    CMGI_TRY(cmgi_alloc_zero(ctx, columns, sizeof *k->seen, &k->seen));
    CMGI_TRY(cmgi_alloc_zero(ctx, columns, sizeof *k->column, &k->column));
    return make_room(k, k->options.max_it);
}

cmg_status cmgi_krylov_create(const cmgi_linear_system *system,
                              const cmgi_iteration_options *options, cmgi_krylov **k)
{
    cmgi_scoped_by(cmgi_krylov_destroy) cmgi_krylov *made = NULL;
    CMGI_TRY(cmgi_alloc_zero(system->ctx, 1, sizeof *made, &made));
    made->system = *system;
    made->system.columns = system->columns > 1 ? system->columns : 1;
    made->options = *options;
    made->method = method_of(options->method);
    made->range = system->precision == CMG_FP64 ? RANGE : RANGE_FP32;
    CMGI_TRY(allocate(made));
    *k = cmgi_pass_on(&made);
    return CMG_OK;
}

void cmgi_krylov_destroy(cmgi_krylov **k)
{
    if (*k == NULL) {
        return;
    }
    cmgi_krylov *v = *k;
    cmg_context *ctx = v->system.ctx;
    cmgi_krylov_drop_graphs(v);
    if (v->method->inner) {
        CMGI_FREE_DEVICE(ctx, v->inner.x, v->inner.r, v->inner.p, v->inner.q, v->image);
    } else if (v->rounded != v->work[0]) {
        cmgi_free_device(ctx, v->rounded);
    }
    for (int w = 0; w < CMGI_KRYLOV_VECTORS; ++w) {
        cmgi_free_device(ctx, v->work[w]);
    }
    cmgi_arnoldi_clear(ctx, v->options.restart, &v->arnoldi);
    CMGI_FREE_DEVICE(ctx, v->scalars, v->stop, v->limits);
    if (v->column != NULL) {
        cmgi_free(ctx, v->column->history);
    }
    CMGI_FREE(ctx, v->given, v->seen, v->column, v);
    *k = NULL;
}

cmg_status cmgi_krylov_limit(cmgi_krylov *k, const cmgi_iteration_options *limits)
{
    CMGI_TRY(limits->max_it > k->longest ? make_room(k, limits->max_it) : CMG_OK);
    const cmg_krylov method = k->options.method;
    k->options = *limits;
    k->options.method = method;
    return CMG_OK;
}

double cmgi_krylov_tolerance(const cmgi_krylov *k, int c)
{
    return fmax(k->options.rtol * k->column[c].rhs_norm, k->options.atol);
}

/* Whether column c starts again: its recursive residual has met the tolerance and its true one has
 * not. */
static bool starts_again(cmgi_krylov *k, int c)
{
    cmgi_krylov_column *end = &k->column[c];
    const int most = k->given[c].most;
    if (cmg_outcome_converged(end->outcome) && !isfinite(end->residual)) { /* x overflows */
        end->outcome = CMG_NOT_A_NUMBER;
        end->history[end->iterations] = end->residual;
    }
    if (!cmg_outcome_converged(end->outcome) || end->residual <= cmgi_krylov_tolerance(k, c)) {
        return false;
    }
    if (!(end->residual < 0.5 * end->before) || end->iterations >= most) {
        end->outcome = end->iterations < most ? CMG_STAGNATED : CMG_ITERATION_LIMIT;
        return false;
    }
    end->before = end->residual;
    return true;
}

cmg_status cmgi_krylov_iterate(cmgi_krylov *k, const double *b, double *x)
{
    bool some = true;
    for (int c = 0; c < k->system.columns; ++c) {
        k->column[c].iterations = 0;
        k->column[c].starts = 0;
        k->column[c].before = INFINITY;
        k->column[c].goes_on = true;
    }
    while (some) {
        for (int c = 0; c < k->system.columns; ++c) {
            k->column[c].starts += k->column[c].goes_on;
        }
        CMGI_TRY(cmgi_krylov_loop(k, b, x));
        some = false;
        for (int c = 0; c < k->system.columns; ++c) {
            cmgi_krylov_column *now = &k->column[c];
            now->goes_on = now->goes_on && starts_again(k, c);
            if (now->goes_on && k->interrupted) {
                now->outcome = CMG_INTERRUPTED;
                now->goes_on = false;
            }
            some = some || now->goes_on;
        }
    }
    return CMG_OK;
}
