/*
 * The null space of the finest matrix in the backend's memory, and v - Q (Q^T v). With it taken out
 * of b and x, a singular system has one solution, the shortest: so of a pure Neumann problem, or of
 * a body that nothing holds.
 *
 * Source  Bochev and Lehoucq, On the finite element solution of the pure Neumann problem, SIAM Rev.
 *         47 (2005), doi:10.1137/S0036144503426074.
 */
#include "mg/setup.h"

#include <math.h>

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

cmg_status cmgi_project_measured(cmg_context *ctx, const cmgi_projection *P, double *v,
                                 double *removed)
{
    double scalars[CMGI_NULL_VECTORS + 1] = {0};
    *removed = 0;
    CMGI_TRY(cmgi_project(ctx, P, v));
    CMGI_TRY(cmgi_to_host(ctx, scalars, P->scalars, (size_t)(P->count + 1) * sizeof *scalars));
    for (int k = 1; k <= P->count; ++k) {
        *removed = hypot(*removed, scalars[k]);
    }
    return cmgi_project(ctx, P, v); /* twice: what rounding left of a large part */
}
