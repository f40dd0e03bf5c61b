#include "mg/project.h"

#include "core/memory.h"
#include "transfer/null_space.h"

#include <math.h>

cmg_status cmgi_projection_build(const cmg_hierarchy *h, const cmg_index *perm, cmgi_projection *P)
{
    cmg_context *ctx = h->ctx;
    const double one = 1;
    cmgi_null_space space = {0};
    double *renumbered = NULL;
    cmg_status status = CMG_OK;
    cmgi_projection_clear(ctx, P);
    CMGI_TRY(cmgi_null_space_find(h, 0, &space));
    if (space.count == 0) {
        return CMG_OK;
    }
    P->n = cmg_hierarchy_rows(h, 0);
    P->total = P->n;
    P->count = space.count;
    P->exact = h->level[0].exact_nullspace;
    const cmg_size total = P->n * P->count;
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, total, sizeof *P->q, &P->q));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, P->count + 1, sizeof *P->scalars, &P->scalars));
    CMGI_TRY_GOTO(done, cmgi_to_device(ctx, P->scalars, &one, sizeof one));
    const double *from = space.q;
    if (perm != NULL) {
        CMGI_TRY_GOTO(done, cmgi_alloc(ctx, total, sizeof *renumbered, &renumbered));
        for (cmg_size k = 0; k < total; ++k) {
            renumbered[k] = space.q[k / P->n * P->n + perm[k % P->n]];
        }
        from = renumbered;
    }
    CMGI_TRY_GOTO(done, cmgi_to_device(ctx, P->q, from, (size_t)total * sizeof *from));
done:
    cmgi_free(ctx, renumbered);
    cmgi_null_space_free(ctx, &space);
    if (status != CMG_OK) {
        cmgi_projection_clear(ctx, P);
    }
    return status;
}

cmg_status cmgi_projection_constant(cmg_context *ctx, cmg_size n, cmg_size total,
                                    cmgi_projection *P)
{
    const double one = 1;
    cmgi_projection_clear(ctx, P);
    P->n = n;
    P->total = total;
    P->count = 1;
    CMGI_TRY(cmgi_alloc_device(ctx, n, sizeof *P->q, &P->q));
    CMGI_TRY(cmgi_alloc_device(ctx, 2, sizeof *P->scalars, &P->scalars));
    CMGI_TRY(cmgi_to_device(ctx, P->scalars, &one, sizeof one));
    return ctx->backend->fill(ctx, CMG_FP64, n, 1 / sqrt((double)total), P->q);
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
        CMGI_TRY(on->dot(ctx, CMG_FP64, P->n, q, v, P->scalars + 1 + k));
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
