/*
 * Right-hand sides whose squares leave fp64, or the precision of C: A (s x) = s b is solved
 * instead, with s a power of two that takes the largest |b_i| near 1, so that nothing is rounded.
 * Only a b of zeros has the solution 0, and an x that fp64 does not hold is none.
 */
#include "krylov/krylov.h"

#include "core/ranks.h"

#include <float.h>
#include <math.h>

double cmgi_to_one(double size)
{
    const int limit = -DBL_MIN_EXP; /* 2^-limit is normal, too */
    const int exponent = size > 0 ? ilogb(size) : 0;
    return ldexp(1, exponent < -limit ? limit : exponent > limit ? -limit : -exponent);
}

double cmgi_host_norm(cmg_size n, const double *v)
{
    double largest = 0;
    double sum = 0;
    for (cmg_size i = 0; i < n; ++i) {
        largest = isnan(v[i]) ? NAN : fmax(largest, fabs(v[i]));
        if (isnan(largest)) {
            return NAN;
        }
    }
    const double scale = cmgi_to_one(largest);
    for (cmg_size i = 0; i < n; ++i) {
        sum += scale * v[i] * (scale * v[i]);
    }
    return sqrt(sum) / scale;
}

cmg_status cmgi_krylov_look(cmgi_krylov *k, const double *b, bool *in_range)
{
    double norm[CMG_COLUMNS];
    CMGI_TRY(cmgi_krylov_norm(k, b, norm));
    for (int c = 0; c < k->system.columns; ++c) {
        const double bb = norm[c] * norm[c];
        k->column[c].rhs_norm = norm[c];
        in_range[c] = k->range == 0 || (bb * k->range >= 1 && bb <= k->range);
    }
    return CMG_OK;
}

/* Largest |b_i|, not a number where one of them is none. On the host: this is rare. */
static cmg_status largest_entry(cmgi_krylov *k, const double *b, double *largest)
{
    cmg_context *ctx = k->system.ctx;
    const cmg_size n = k->system.n;
    *largest = 0;
    CMGI_SCOPED(ctx, n, double, host);
    CMGI_TRY(cmgi_to_host(ctx, host, b, (size_t)n * sizeof *host));
    for (cmg_size i = 0; i < n; ++i) {
        const double entry = fabs(host[i]);
        *largest = entry > *largest || isnan(entry) ? entry : *largest;
        if (isnan(entry)) {
            break;
        }
    }
    return cmgi_all_max(ctx, largest, 1);
}

/* Ends without an iteration. */
static cmg_status end_at_once(cmgi_krylov *k, cmg_outcome outcome, double rhs_norm, double residual)
{
    k->column->outcome = outcome;
    k->column->iterations = 0;
    k->column->rhs_norm = rhs_norm;
    k->column->residual = residual;
    k->column->history[0] = residual;
    return CMG_OK;
}

double cmgi_krylov_relative(double residual, double rhs_norm)
{
    return rhs_norm == 0 ? 0 : isinf(rhs_norm) ? NAN : residual / rhs_norm;
}

/*
 * After x has been scaled back: what fp64 holds of it is looked at once more. Where that is no
 * solution the outcome says so; where it is infinite, x is the guess again.
 */
static cmg_status look_back(cmgi_krylov *k, double scale, const double *b, const double *guess,
                            double *x)
{
    cmg_context *ctx = k->system.ctx;
    const cmgi_backend *on = ctx->backend;
    const cmg_size n = k->system.n;
    double *r = k->work[0];
    double *again = k->work[1];
    double residual = 0;
    if (!isfinite(k->column->residual)) {
        return CMG_OK;
    }
    CMGI_TRY(on->axpby(ctx, CMG_FP64, n, scale, x, 0.0, again));
    CMGI_TRY(k->system.residual(k->system.user, b, again, r));
    CMGI_TRY(cmgi_krylov_norm(k, r, &residual));
    const bool solved = cmg_outcome_converged(k->column->outcome);
    if (!isfinite(residual)) { /* the guess, which nested iteration may have improved since */
        CMGI_TRY(on->convert(ctx, n, CMG_FP64, guess, CMG_FP64, x));
        CMGI_TRY(on->axpby(ctx, CMG_FP64, n, scale, x, 0.0, again));
        CMGI_TRY(k->system.residual(k->system.user, b, again, r));
        CMGI_TRY(cmgi_krylov_norm(k, r, &residual));
        return end_at_once(k, CMG_OUT_OF_RANGE, k->column->rhs_norm, residual);
    }
    if (isinf(k->column->rhs_norm / scale) || (solved && residual > cmgi_krylov_tolerance(k, 0))) {
        k->column->outcome = CMG_OUT_OF_RANGE;
        k->column->history[k->column->iterations] = residual;
    }
    k->column->residual = residual;
    return CMG_OK;
}

static cmg_status solve_scaled(cmgi_krylov *k, cmgi_solve_fn solve, void *user, double scale,
                               const double *b, double *x)
{
    cmg_context *ctx = k->system.ctx;
    const cmgi_backend *on = ctx->backend;
    const cmg_size n = k->system.n;
    const double atol = k->options.atol;
    const double range = k->range;
    cmg_status status = CMG_OK;
    CMGI_SCOPED_DEVICE(ctx, n, double, scaled);
    CMGI_SCOPED_DEVICE(ctx, n, double, guess);
    CMGI_TRY(on->convert(ctx, n, CMG_FP64, x, CMG_FP64, guess));
    k->options.atol *= scale;
    k->range = 0;
    CMGI_TRY_GOTO(restore, on->axpby(ctx, CMG_FP64, n, scale, b, 0.0, scaled));
    CMGI_TRY_GOTO(restore, on->axpby(ctx, CMG_FP64, n, scale, x, 0.0, x));
    CMGI_TRY_GOTO(restore, solve(user, scaled, x));
    CMGI_TRY_GOTO(restore, on->axpby(ctx, CMG_FP64, n, 1 / scale, x, 0.0, x));
    CMGI_TRY_GOTO(restore, look_back(k, scale, scaled, guess, x));
    k->column->rhs_norm *= 1 / scale;
    k->column->residual *= 1 / scale;
    for (int i = 0; i <= k->column->iterations; ++i) {
        k->column->history[i] *= 1 / scale;
    }
restore:
    cmgi_krylov_drop_graphs(k); /* with an array in them that is about to go */
    k->options.atol = atol;
    k->range = range;
    return status;
}

/* All ranks have the same limits, and know whether one of them watches or has a guess; one message.
 */
static cmg_status agree(cmgi_krylov *k, double *x)
{
    const cmgi_iteration_options *o = &k->options;
    double v[] = {o->monitor != NULL, o->rtol,   -o->rtol,   o->atol,
                  -o->atol,           o->max_it, -o->max_it, !k->zero};
    CMGI_TRY(cmgi_all_max(k->system.ctx, v, (int)(sizeof v / sizeof *v)));
    k->watched = v[0] > 0;
    CMGI_TRY(v[7] > 0 ? cmgi_krylov_take_zero(k, x) : CMG_OK);
    CMGI_CHECK(k->system.ctx, v[1] == -v[2] && v[3] == -v[4] && v[5] == -v[6], CMG_ERR_ARG,
               "ranks have different limits: rtol %g to %g, atol %g to %g, max_it %g to %g", -v[2],
               v[1], -v[4], v[3], -v[6], v[5]);
    return CMG_OK;
}

cmg_status cmgi_krylov_scaled(cmgi_krylov *k, cmgi_solve_fn solve, void *user, const double *b,
                              double *x)
{
    cmg_context *ctx = k->system.ctx;
    double largest = 0;
    CMGI_TRY(agree(k, x));
    CMGI_TRY(solve(user, b, x));
    if ((int)k->column->outcome != CMGI_STOP_SCALE || k->system.columns > 1) {
        return CMG_OK;
    }
    CMGI_TRY(largest_entry(k, b, &largest));
    if (largest == 0) {
        CMGI_TRY(ctx->backend->fill(ctx, CMG_FP64, k->system.n, 0.0, x));
        return end_at_once(k, CMG_CONVERGED_ATOL, 0, 0);
    }
    return largest <= DBL_MAX ? solve_scaled(k, solve, user, cmgi_to_one(largest), b, x)
                              : end_at_once(k, CMG_NOT_A_NUMBER, largest, NAN);
}

static cmg_status iterate(void *user, const double *b, double *x)
{
    return cmgi_krylov_iterate(user, b, x);
}

cmg_status cmgi_krylov_solve(cmgi_krylov *k, const double *b, double *x)
{
    return cmgi_krylov_scaled(k, iterate, k, b, x);
}
