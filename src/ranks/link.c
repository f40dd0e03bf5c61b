/*
 * How fast the link between ranks is: the time of a small message to the next rank and from the one
 * before, of a large one, and of a sum. Messages go the way that those of a solve go: from device
 * to device in a graph, or by the host.
 */
#include "ranks/group.h"
#include "core/memory.h"
#include "core/order.h"

#include <stdlib.h>

enum { SMALL = 256, LARGE = 4 << 20, ROUNDS = 20, SAMPLES = 5 };

/* Messages around the ring of ranks, and a value that is summed. */
typedef struct ring {
    cmg_context *ctx;
    cmg_message send;
    cmg_message receive;
    cmgi_messages both;
    char *data; /* LARGE to be sent and LARGE to come, in the memory that messages pass */
    double *value;
    void *route;
    bool sums; /* what is timed */
} ring;

static cmg_status go_rounds(const ring *r)
{
    cmg_context *ctx = r->ctx;
    for (int k = 0; k < ROUNDS; ++k) {
        CMGI_TRY(r->sums                 ? ctx->backend->sum(ctx, 1, r->value, r->value)
                 : cmgi_group_wired(ctx) ? cmgi_wire_exchange(ctx, r->route, &r->both)
                                         : cmgi_group_exchange(ctx, &r->both));
    }
    return CMG_OK;
}

/* Seconds of one round, the median of a few samples; recorded where it can be. */
static cmg_status time_rounds(const ring *r, double *seconds)
{
    cmg_context *ctx = r->ctx;
    const cmgi_backend *on = ctx->backend;
    double sample[SAMPLES];
    void *graph = NULL;
    cmg_status status = go_rounds(r);
    if (status == CMG_OK && cmgi_group_wired(ctx)) {
        CMGI_TRY(on->graph_begin(ctx, NULL, 0));
        status = go_rounds(r);
        const cmg_status ended = on->graph_end(ctx, status == CMG_OK ? &graph : NULL);
        status = status == CMG_OK ? ended : status;
    }
    for (int k = -1; k < SAMPLES && status == CMG_OK; ++k) { /* the first one warms up */
        status = cmg_context_synchronize(ctx);
        const double begin = cmgi_seconds();
        status = status == CMG_OK && graph != NULL ? on->graph_launch(ctx, graph) : status;
        status = status == CMG_OK && graph == NULL ? go_rounds(r) : status;
        status = status == CMG_OK ? cmg_context_synchronize(ctx) : status;
        if (k >= 0) {
            sample[k] = (cmgi_seconds() - begin) / ROUNDS;
        }
    }
    if (graph != NULL) {
        on->graph_destroy(ctx, graph);
    }
    CMGI_TRY(status);
    qsort(sample, SAMPLES, sizeof *sample, cmgi_ascending_double);
    *seconds = sample[SAMPLES / 2];
    return cmgi_all_max(ctx, seconds, 1);
}

static void release(ring *r)
{
    cmgi_wire_forget(r->ctx, r->route);
    CMGI_FREE_DEVICE(r->ctx, r->value, r->data);
}

static cmg_status measure(cmg_context *ctx, cmg_link_speed *speed)
{
    const int ranks = cmgi_ranks(ctx);
    const int me = cmgi_rank(ctx);
    const bool wired = cmgi_group_wired(ctx);
    cmgi_scoped_by(release) ring r = {.ctx = ctx};
    double large = 0;
    CMGI_TRY(cmgi_alloc_device(ctx, 1, sizeof *r.value, &r.value));
    CMGI_TRY(wired ? cmgi_alloc_device(ctx, 2, LARGE, &r.data)
                   : cmgi_alloc_zero(ctx, 2, LARGE, &r.data));
    CMGI_TRY(ctx->backend->fill(ctx, CMG_FP64, 1, 0, r.value));
    r.send = (cmg_message){(me + 1) % ranks, r.data, LARGE};
    r.receive = (cmg_message){(me + ranks - 1) % ranks, r.data + LARGE, LARGE};
    r.both = (cmgi_messages){&r.send, 1, &r.receive, 1};
    CMGI_TRY(wired ? cmgi_wire_prepare(ctx, &r.both, &r.route) : CMG_OK);
    r.send.bytes = r.receive.bytes = SMALL;
    CMGI_TRY(time_rounds(&r, &speed->message_seconds));
    r.send.bytes = r.receive.bytes = LARGE;
    CMGI_TRY(time_rounds(&r, &large));
    large -= speed->message_seconds;
    speed->bytes_per_second = large > 0 ? (LARGE - SMALL) / large : 0;
    r.sums = true;
    return time_rounds(&r, &speed->sum_seconds);
}

cmg_status cmg_context_link_speed(cmg_context *ctx, cmg_link_speed *speed)
{
    CMGI_CONTEXT(ctx);
    CMGI_CHECK(ctx, speed != NULL, CMG_ERR_ARG, "link speed: the out-pointer is NULL");
    cmg_link_speed made = {0};
    if (cmgi_ranks(ctx) > 1) {
        CMGI_TRY(cmgi_group_fail(ctx, measure(ctx, &made)));
    }
    *speed = made;
    return CMG_OK;
}
