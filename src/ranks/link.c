/*
 * How fast the link between ranks is: the time of a small message to the next rank and from the one
 * before, of a large one, and of a sum. Messages go the way that those of a solve go: from device
 * to device in a graph, or by the host.
 */
#include "ranks/group.h"
#include "core/memory.h"
#include "core/order.h"
#include "core/timer.h"

#include <stdlib.h>

enum { SMALL = 256, LARGE = 4 << 20, ROUNDS = 20, SAMPLES = 5 };

/* Messages around the ring of ranks, and a value that is summed. */
typedef struct ring {
    cmg_context *ctx;
    cmg_message send;
    cmg_message receive;
    char *data; /* LARGE to be sent, LARGE to come, and a double, in the backend's memory */
    double *value;
    void *route;
    bool sums; /* what is timed */
} ring;

static cmg_status go_round(const ring *r)
{
    cmg_context *ctx = r->ctx;
    if (r->sums) {
        return ctx->backend->sum(ctx, 1, r->value, r->value);
    }
    if (cmgi_group_wired(ctx)) {
        return cmgi_wire_exchange(ctx, r->route, &r->send, 1, &r->receive, 1);
    }
    CMGI_TRY(cmgi_group_start(ctx, &r->send, 1, &r->receive, 1));
    return cmgi_group_finish(ctx);
}

static cmg_status go_rounds(const ring *r)
{
    cmg_status status = CMG_OK;
    for (int k = 0; k < ROUNDS && status == CMG_OK; ++k) {
        status = go_round(r);
    }
    return status;
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

static cmg_status measure(ring *r, cmg_link_speed *speed)
{
    double large = 0;
    r->send.bytes = LARGE;
    r->receive.bytes = LARGE;
    if (cmgi_group_wired(r->ctx)) {
        CMGI_TRY(cmgi_wire_prepare(r->ctx, &r->send, 1, &r->receive, 1, &r->route));
    }
    r->send.bytes = SMALL;
    r->receive.bytes = SMALL;
    CMGI_TRY(time_rounds(r, &speed->message_seconds));
    r->send.bytes = LARGE;
    r->receive.bytes = LARGE;
    CMGI_TRY(time_rounds(r, &large));
    large -= speed->message_seconds;
    speed->bytes_per_second = large > 0 ? (LARGE - SMALL) / large : 0;
    r->sums = true;
    return time_rounds(r, &speed->sum_seconds);
}

cmg_status cmg_context_link_speed(cmg_context *ctx, cmg_link_speed *speed)
{
    CMGI_CONTEXT(ctx);
    CMGI_CHECK(ctx, speed != NULL, CMG_ERR_ARG, "link speed: the out-pointer is NULL");
    const int ranks = cmgi_ranks(ctx);
    const int me = cmgi_rank(ctx);
    const bool wired = cmgi_group_wired(ctx);
    const size_t all = 2 * (size_t)LARGE + sizeof(double);
    cmg_link_speed made = {0};
    ring r = {.ctx = ctx};
    cmg_status status = CMG_OK;
    if (ranks > 1) {
        CMGI_TRY(cmgi_alloc_device(ctx, 1, sizeof *r.value, &r.value));
        CMGI_TRY_GOTO(done, wired ? cmgi_alloc_device(ctx, (cmg_size)all, 1, &r.data)
                                  : cmgi_alloc_zero(ctx, (cmg_size)all, 1, &r.data));
        CMGI_TRY_GOTO(done, ctx->backend->fill(ctx, CMG_FP64, 1, 0, r.value));
        r.send = (cmg_message){.peer = (me + 1) % ranks, .data = r.data};
        r.receive = (cmg_message){.peer = (me + ranks - 1) % ranks, .data = r.data + LARGE};
        CMGI_TRY_GOTO(done, measure(&r, &made));
    }
    *speed = made;
done:
    cmgi_wire_forget(ctx, r.route);
    cmgi_free_device(ctx, r.value);
    if (wired) {
        cmgi_free_device(ctx, r.data);
    } else {
        cmgi_free(ctx, r.data);
    }
    return cmgi_group_fail(ctx, status);
}
