/*
 * The functions of a group of ranks (core/ranks.h): what is gathered and swapped over all of them
 * on the host, and messages from device to device. There is a group, of one rank or of several.
 *
 * All are collective but those that say otherwise.
 */
#pragma once
#include "core/ranks.h"

/* Messages to other ranks and from them. */
typedef struct cmgi_messages {
    cmg_message *send;
    int sends;
    cmg_message *receive;
    int receives;
} cmgi_messages;

/*
 * How the devices of several ranks speak to each other in the stream, without the host. open,
 * prepare, exchange and sum are collective; the last two, aside, back and join are in the stream of
 * the context and may be recorded. What is put between aside and back runs beside what follows,
 * until join.
 */
typedef struct cmgi_wire {
    const char *name;
    /* *wire stays NULL, with the reason in `text`, where the devices cannot; else the text says how
     */
    cmg_status (*open)(cmg_context *ctx, void **wire, char *text, size_t size);
    void (*close)(cmg_context *ctx, void *wire);
    /* whether iterations are recorded alone unless it is asked for; NULL = they need not be */
    bool (*no_loop)(void);
    /* for exchanges of at most so many bytes: *route is what they take; what is sent where there is
     * data is not looked at */
    cmg_status (*prepare)(cmg_context *ctx, void *wire, const cmgi_messages *m, void **route);
    void (*forget)(cmg_context *ctx, void *wire, void *route);
    cmg_status (*exchange)(cmg_context *ctx, void *wire, void *route, const cmgi_messages *m);
    /* values[k] = sum over the ranks in their order, k < count <= CMGI_SUMS */
    cmg_status (*sum)(cmg_context *ctx, void *wire, double *values, int count);
    cmg_status (*aside)(cmg_context *ctx, void *wire);
    void (*back)(cmg_context *ctx, void *wire);
    cmg_status (*join)(cmg_context *ctx, void *wire);
    /* waits for the stream, or for the end of the group */
    cmg_status (*wait)(cmg_context *ctx, void *wire);
} cmgi_wire;

/* Between peers, who write to each other's memory (peer_cuda.cu), and by NCCL (nccl_cuda.cu). */
extern const cmgi_wire cmgi_peers;
extern const cmgi_wire cmgi_nccl;

/* The functions of struct cmg_ranks that are the group's. */
cmg_status cmgi_group_open(cmg_context *ctx);
void cmgi_group_close(cmg_context *ctx);
cmg_status cmgi_group_reduce(cmg_context *ctx, double *values, int count, bool largest);
cmg_status cmgi_group_sum_there(cmg_context *ctx, double *values, int count);
cmg_status cmgi_group_outcome(cmg_context *ctx, cmg_status status);

/* all[r * bytes ..] = what rank r has, `bytes` each. */
cmg_status cmgi_group_gather(cmg_context *ctx, const void *mine, size_t bytes, void *all);
/* at[r] = how many the ranks before r have, at[ranks] = all. */
cmg_status cmgi_group_offsets(cmg_context *ctx, cmg_size mine, cmg_size *at);
/* The same with parts of different size: part[r] .. part[r + 1] - 1 are the elements of rank r, of
 * `size` bytes each; NULL = one of each rank. `mine` may be its place in `all`. */
cmg_status cmgi_group_gather_parts(cmg_context *ctx, const void *mine, const cmg_size *part,
                                   size_t size, void *all);
/*
 * Everyone's message to everyone: to rank r the elements send_at[r] .. send_at[r + 1] - 1 of
 * `send`, `size` bytes each. `received` is a new array of cmgi_alloc, receive_at has ranks + 1
 * offsets.
 */
cmg_status cmgi_group_swap(cmg_context *ctx, size_t size, const void *send, const cmg_size *send_at,
                           void *received, cmg_size *receive_at);
/* The messages to or from the other ranks of parts of an array, in elements of `size` bytes: rank
 * r's from at[r] to at[r + 1], none where that is empty. Returns how many. */
int cmgi_group_messages(const cmg_context *ctx, const cmg_size *at, size_t size, const void *array,
                        cmg_message *message);
/* An exchange as in cmg_transport, and both at once. */
cmg_status cmgi_group_start(cmg_context *ctx, const cmgi_messages *m);
cmg_status cmgi_group_finish(cmg_context *ctx);
cmg_status cmgi_group_exchange(cmg_context *ctx, const cmgi_messages *m);
/* An exchange of arrays in the backend's memory, on a route of its own; as in cmgi_wire. */
static inline cmg_status cmgi_wire_prepare(cmg_context *ctx, const cmgi_messages *m, void **route)
{
    return ctx->group->way->prepare(ctx, ctx->group->wire, m, route);
}
static inline cmg_status cmgi_wire_exchange(cmg_context *ctx, void *route, const cmgi_messages *m)
{
    return ctx->group->way->exchange(ctx, ctx->group->wire, route, m);
}
/* As in cmgi_wire; without a wire everything is in order, and there is nothing to do. */
static inline void cmgi_wire_forget(cmg_context *ctx, void *route)
{
    if (cmgi_group_wired(ctx)) {
        ctx->group->way->forget(ctx, ctx->group->wire, route);
    }
}
