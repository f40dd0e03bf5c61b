/*
 * Singular systems A x = b, for a null space Q of A and of A^T: with P = I - Q Q^T, A x = P b has a
 * solution, and its x orthogonal to Q is the shortest of least squares. What was not in the range
 * of A, Q^T b, is rounding of b, or means that A x = b has no solution, which is reported, unless
 * x leaves no more of the given b than the absolute tolerance.
 *
 * Rounding is 4 n eps ||b||. What right-hand sides b = A y leave, in eps ||b||: 0.2 of random y and
 * of loads less their mean, 0.07 n of smooth y (1D to 3D, 10 to 1e6 rows); 4 leaves room for y that
 * are far from 0, and for loads that were made compatible by one subtraction.
 *
 * Q is in the backend's memory: of a pure Neumann problem, or of a body that nothing holds.
 *
 * Source  Bochev and Lehoucq, On the finite element solution of the pure Neumann problem, SIAM Rev.
 *         47 (2005), doi:10.1137/S0036144503426074.
 */
#include "mg/multigrid.h"

#include <float.h>
#include <math.h>

static const double ROUNDINGS = 4; /* times n eps ||b|| */

cmg_status cmgi_projection_take(cmg_context *ctx, const cmgi_null_space *space, cmg_size n,
                                cmg_size total, cmgi_projection *P)
{
    const double one = 1;
    cmgi_projection_clear(ctx, P);
    if (space->count == 0) {
        return CMG_OK;
    }
    const cmg_size entries = n * space->count;
    CMGI_TRY(cmgi_alloc_device(ctx, entries, sizeof *P->q, &P->q));
    CMGI_TRY(cmgi_alloc_device(ctx, space->count + 1, sizeof *P->scalars, &P->scalars));
    CMGI_TRY(cmgi_to_device(ctx, P->scalars, &one, sizeof one));
    CMGI_TRY(cmgi_to_device(ctx, P->q, space->q, (size_t)entries * sizeof *P->q));
    P->n = n;
    P->total = total;
    P->count = space->count; /* from here on it counts */
    return CMG_OK;
}

cmg_status cmgi_projection_build(const cmg_hierarchy *h, const cmg_index *perm, cmgi_projection *P)
{
    cmg_context *ctx = h->ctx;
    const cmg_size n = cmg_hierarchy_rows(h, 0);
    cmgi_null_space space = {0};
    double *renumbered = NULL;
    CMGI_RELEASED(cmgi_null_space_free, ctx, &space);
    CMGI_TRY(cmgi_null_space_find(h, 0, &space));
    if (perm != NULL && space.count > 0) {
        CMGI_TRY(cmgi_alloc(ctx, n * space.count, sizeof *renumbered, &renumbered));
        for (cmg_size k = 0; k < n * space.count; ++k) {
            renumbered[k] = space.q[k / n * n + perm[k % n]];
        }
        cmgi_free(ctx, space.q);
        space.q = renumbered;
    }
    CMGI_TRY(cmgi_projection_take(ctx, &space, n, n, P));
    P->exact = P->count > 0 && h->level[0].exact_nullspace;
    return CMG_OK;
}

void cmgi_projection_clear(cmg_context *ctx, cmgi_projection *P)
{
    CMGI_FREE_DEVICE(ctx, P->q, P->scalars);
    *P = (cmgi_projection){0};
}

cmg_status cmgi_project(cmg_context *ctx, const cmgi_projection *P, double *v)
{
    const cmgi_backend *on = ctx->backend;
    for (int k = 0; k < P->count; ++k) {
        const double *q = P->q + k * P->n;
        CMGI_TRY(on->dot(ctx, CMG_FP64, P->n, 1, q, v, P->scalars + 1 + k));
        CMGI_TRY(on->add_ratio(ctx, CMG_FP64, P->n, -1, P->scalars + 1 + k, P->scalars, q, v));
    }
    return CMG_OK;
}

cmg_status cmgi_range_enter(cmgi_multigrid *mg, const double *b, double *rest, double *x,
                            double *removed)
{
    cmg_context *ctx = mg->ctx;
    const cmgi_backend *on = ctx->backend;
    const cmgi_projection *P = &mg->levels.nullspace;
    double *d = mg->krylov->work[0];
    double scalars[CMGI_NULL_VECTORS + 1] = {0};
    double left = 0;
    *removed = 0; /* ||Q^T b|| */
    CMGI_TRY(on->convert(ctx, P->n, CMG_FP64, b, CMG_FP64, rest));
    CMGI_TRY(cmgi_project(ctx, P, rest));
    CMGI_TRY(cmgi_to_host(ctx, scalars, P->scalars, (size_t)(P->count + 1) * sizeof *scalars));
    for (int k = 1; k <= P->count; ++k) {
        *removed = hypot(*removed, scalars[k]);
    }
    CMGI_TRY(cmgi_project(ctx, P, rest)); /* twice: what rounding left of a large part */
    CMGI_TRY(cmgi_project(ctx, P, x));
    const double scale = cmgi_to_one(*removed);
    CMGI_TRY(on->axpby(ctx, CMG_FP64, P->n, scale, rest, 0.0, d));
    CMGI_TRY(cmgi_krylov_norm(mg->krylov, d, &left));
    return *removed > 0 && left <= 16 * DBL_EPSILON * (scale * *removed)
               ? on->fill(ctx, CMG_FP64, P->n, 0.0, rest)
               : CMG_OK;
}

cmg_status cmgi_range_judge(cmgi_multigrid *mg, const double *b, double *x, double *norms,
                            cmg_report *report)
{
    const cmgi_projection *P = &mg->levels.nullspace;
    cmgi_krylov *k = mg->krylov;
    double *d = k->work[0];
    double within = 0;
    CMGI_TRY(cmgi_project(mg->ctx, P, x));
    report->rhs_norm = hypot(report->rhs_norm, report->removed);
    for (int i = 0; i <= report->iterations; ++i) {
        norms[i] = hypot(norms[i], report->removed);
    }
    const double scale =
        cmgi_to_one(report->rhs_norm); /* of the residual, whole and in the range */
    CMGI_TRY(k->system.residual(k->system.user, b, x, d));
    CMGI_TRY(mg->ctx->backend->axpby(mg->ctx, CMG_FP64, k->system.n, scale, d, 0.0, d));
    CMGI_TRY(cmgi_krylov_norm(k, d, &report->residual));
    CMGI_TRY(cmgi_project(mg->ctx, P, d));
    CMGI_TRY(cmgi_krylov_norm(k, d, &within));
    report->residual /= scale;
    report->relative_residual = cmgi_krylov_relative(report->residual, report->rhs_norm);
    report->range_residual = cmgi_krylov_relative(within / scale, report->rhs_norm);
    const double rounding = ROUNDINGS * (double)P->total * DBL_EPSILON * report->rhs_norm;
    if (cmg_outcome_converged(report->outcome) && !P->exact && !mg->options.least_squares &&
        report->removed > rounding) { /* it has no solution */
        report->outcome =
            report->residual <= mg->options.atol ? CMG_CONVERGED_ATOL : CMG_LEAST_SQUARES;
    }
    return CMG_OK;
}
