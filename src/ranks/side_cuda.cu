/*
 * The stream beside that of a context, in which messages between devices run: forked off and joined
 * by events, which a recording takes for branches; and waiting that ends where a rank has failed.
 */
#include "ranks/side_cuda.cuh"

#include <sched.h>
#include <string.h>

cmg_status cmgi_side_aside(cmg_context *ctx, void *wire)
{
    CMGI_ON_DEVICE(ctx);
    cmgi_side *s = (cmgi_side *)wire;
    CMGI_TRY(cmgi_side_fork(ctx, s));
    cmgi_device_of(ctx)->stream = s->side;
    return CMG_OK;
}

void cmgi_side_back(cmg_context *ctx, void *wire)
{
    cmgi_device_of(ctx)->stream = ((cmgi_side *)wire)->main;
}

cmg_status cmgi_side_together(cmg_context *ctx, void *wire)
{
    CMGI_ON_DEVICE(ctx);
    return cmgi_side_join(ctx, (cmgi_side *)wire);
}

cmg_status cmgi_side_look(cmg_context *ctx)
{
    const cmg_transport *t = &ctx->group->transport;
    const cmg_status status = t->check(t->user);
    return status == CMG_OK ? CMG_OK : cmgi_fail(ctx, status, "%s", t->message(t->user));
}

cmg_status cmgi_side_wait(cmg_context *ctx, void *wire, cmg_status (*also)(cmg_context *, void *))
{
    enum { LOOKS = 256 };
    CMGI_ON_DEVICE(ctx);
    const cmgi_side *s = (const cmgi_side *)wire;
    double begin = 0;
    for (long spins = 1;; ++spins) {
        const cudaError_t state = cudaStreamQuery(s->main);
        if (state == cudaSuccess) {
            return CMG_OK;
        }
        if (state != cudaErrorNotReady) {
            return cmgi_cuda_failed(ctx, state, "work of several ranks");
        }
        cmgi_cuda_ignore(state);
        if (spins % LOOKS != 0) {
            continue;
        }
        CMGI_TRY(cmgi_side_look(ctx));
        CMGI_TRY(also != NULL ? also(ctx, wire) : CMG_OK);
        begin = begin > 0 ? begin : cmgi_seconds();
        CMGI_CHECK(ctx, cmgi_seconds() - begin <= ctx->group->transport.seconds, CMG_ERR_STATE,
                   "waited %.3g s in vain for the others", ctx->group->transport.seconds);
        (void)sched_yield();
    }
}

cmg_status cmgi_side_meet(cmg_context *ctx, bool able, const char *lack, cmgi_presence *all,
                          const char **why)
{
    cmgi_presence mine = {};
    cudaDeviceProp properties;
    mine.able = able;
    mine.number = cmgi_device_of(ctx)->number;
    CMGI_CUDA(ctx, cudaGetDeviceProperties(&properties, mine.number));
    mine.device = properties.uuid;
    CMGI_TRY(cmgi_group_gather(ctx, &mine, sizeof mine, all));
    *why = NULL;
    for (int r = 0; r < cmgi_ranks(ctx) && *why == NULL; ++r) {
        *why = all[r].able ? NULL : lack;
        for (int q = 0; q < r && *why == NULL; ++q) {
            const bool same = memcmp(&all[q].device, &all[r].device, sizeof mine.device) == 0;
            *why = same ? "host (ranks share a GPU)" : NULL;
        }
    }
    return CMG_OK;
}
