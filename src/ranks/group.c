/* Collective operations over a transport. */
#include "ranks/group.h"

#include "core/memory.h"
#include "core/search.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The status of a function of the transport, with its message. */
static cmg_status reported(cmg_context *ctx, cmg_status status)
{
    const cmg_transport *t = &ctx->group->transport;
    return status == CMG_OK ? CMG_OK : cmgi_fail(ctx, status, "%s", t->message(t->user));
}

cmg_status cmgi_group_gather_parts(cmg_context *ctx, const void *mine, const cmg_size *part,
                                   size_t size, void *all)
{
    const int ranks = cmgi_ranks(ctx);
    CMGI_SCOPED(ctx, ranks + 1, size_t, offsets);
    for (int r = 0; r <= ranks; ++r) {
        offsets[r] = (size_t)(part != NULL ? part[r] : r) * size;
    }
    const cmg_transport *t = &ctx->group->transport;
    return reported(ctx, t->gather(t->user, mine, all, offsets));
}

cmg_status cmgi_group_gather(cmg_context *ctx, const void *mine, size_t bytes, void *all)
{
    return cmgi_group_gather_parts(ctx, mine, NULL, bytes, all);
}

cmg_status cmgi_group_offsets(cmg_context *ctx, cmg_size mine, cmg_size *at)
{
    at[0] = 0;
    CMGI_TRY(cmgi_group_gather(ctx, &mine, sizeof mine, at + 1));
    cmgi_add_up(at, cmgi_ranks(ctx));
    return CMG_OK;
}

cmg_status cmgi_group_reduce(cmg_context *ctx, double *values, int count, bool largest)
{
    const int ranks = cmgi_ranks(ctx);
    const int now = count < CMGI_SUMS ? count : CMGI_SUMS;
    const double *all = ctx->group->parts;
    CMGI_TRY(cmgi_group_gather(ctx, values, (size_t)now * sizeof *values, ctx->group->parts));
    for (int k = 0; k < now; ++k) {
        values[k] = all[k];
        for (int r = 1; r < ranks; ++r) {
            const double other = all[r * now + k];
            const bool larger = other > values[k] || isnan(other);
            values[k] = !largest ? values[k] + other : larger ? other : values[k];
        }
    }
    return now < count ? cmgi_group_reduce(ctx, values + now, count - now, largest) : CMG_OK;
}

cmg_status cmgi_group_start(cmg_context *ctx, const cmgi_messages *m)
{
    const cmg_transport *t = &ctx->group->transport;
    return reported(ctx, t->start(t->user, m->send, m->sends, m->receive, m->receives));
}

cmg_status cmgi_group_finish(cmg_context *ctx)
{
    const cmg_transport *t = &ctx->group->transport;
    return reported(ctx, t->finish(t->user));
}

cmg_status cmgi_group_exchange(cmg_context *ctx, const cmgi_messages *m)
{
    CMGI_TRY(cmgi_group_start(ctx, m));
    return cmgi_group_finish(ctx);
}

int cmgi_group_messages(const cmg_context *ctx, const cmg_size *at, size_t size, const void *array,
                        cmg_message *message)
{
    char *base = (char *)(uintptr_t)array;
    int count = 0;
    for (int r = 0; r < cmgi_ranks(ctx); ++r) {
        const size_t bytes = (size_t)(at[r + 1] - at[r]) * size;
        if (r != cmgi_rank(ctx) && bytes > 0) { /* there may be no array yet */
            char *part = base != NULL ? base + (size_t)at[r] * size : NULL;
            message[count++] = (cmg_message){r, part, bytes};
        }
    }
    return count;
}

cmg_status cmgi_group_swap(cmg_context *ctx, size_t size, const void *send, const cmg_size *send_at,
                           void *received, cmg_size *receive_at)
{
    const int ranks = cmgi_ranks(ctx);
    const int me = cmgi_rank(ctx);
    const size_t own = (size_t)(send_at[me + 1] - send_at[me]) * size;
    cmgi_scoped char *made = NULL;
    CMGI_SCOPED(ctx, (cmg_size)ranks * (ranks + 1), cmg_size, counts);
    CMGI_SCOPED(ctx, 2 * (cmg_size)ranks, cmg_message, messages);
    CMGI_TRY(cmgi_group_gather(ctx, send_at, ((size_t)ranks + 1) * sizeof *send_at, counts));
    receive_at[0] = 0;
    for (int r = 0; r < ranks; ++r) {
        const cmg_size *at = counts + (cmg_size)r * (ranks + 1);
        receive_at[r + 1] = receive_at[r] + at[me + 1] - at[me];
    }
    CMGI_TRY(cmgi_alloc(ctx, receive_at[ranks], size, &made));
    if (own > 0) { /* the part that stays here */
        memcpy(made + (size_t)receive_at[me] * size,
               (const char *)send + (size_t)send_at[me] * size, own);
    }
    cmgi_messages m = {.send = messages, .receive = messages + ranks};
    m.sends = cmgi_group_messages(ctx, send_at, size, send, m.send);
    m.receives = cmgi_group_messages(ctx, receive_at, size, made, m.receive);
    CMGI_TRY(cmgi_group_exchange(ctx, &m));
    *(void **)received = cmgi_pass_on(&made);
    return CMG_OK;
}

typedef struct outcome {
    int status;
    char message[CMG_MESSAGE];
} outcome;

cmg_status cmgi_group_outcome(cmg_context *ctx, cmg_status status)
{
    const int ranks = cmgi_ranks(ctx);
    outcome mine = {.status = (int)status};
    cmgi_scoped outcome *all = NULL;
    if (status != CMG_OK) {
        (void)snprintf(mine.message, sizeof mine.message, "%.*s", CMG_MESSAGE - 1, ctx->message);
    }
    CMGI_TRY(cmgi_group_fail(ctx, cmgi_alloc(ctx, ranks, sizeof *all, &all)));
    cmg_status common = cmgi_group_gather(ctx, &mine, sizeof mine, all);
    for (int r = 0; r < ranks && common == CMG_OK; ++r) {
        if (all[r].status != CMG_OK) {
            common = status != CMG_OK ? status
                                      : cmgi_fail(ctx, (cmg_status)all[r].status, "rank %d: %s", r,
                                                  all[r].message);
        }
    }
    return common;
}

cmg_status cmgi_group_sum_there(cmg_context *ctx, double *values, int count)
{
    double sums[CMGI_SUMS];
    for (int from = 0; from < count; from += CMGI_SUMS) {
        const int now = count - from < CMGI_SUMS ? count - from : CMGI_SUMS;
        const size_t bytes = (size_t)now * sizeof *sums;
        if (ctx->group->wire != NULL) {
            CMGI_TRY(ctx->group->way->sum(ctx, ctx->group->wire, values + from, now));
            continue;
        }
        CMGI_TRY(cmgi_to_host(ctx, sums, values + from, bytes));
        CMGI_TRY(cmgi_all_sum(ctx, sums, now));
        CMGI_TRY(cmgi_to_device(ctx, values + from, sums, bytes));
    }
    return CMG_OK;
}
