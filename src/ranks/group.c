/* Collective operations over a transport, and the backend with sums over all ranks. */
#include "ranks/group.h"

#include "core/memory.h"
#include "core/search.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
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
    cmgi_scoped size_t *offsets = NULL;
    CMGI_TRY(cmgi_alloc(ctx, ranks + 1, sizeof *offsets, &offsets));
    for (int r = 0; r <= ranks; ++r) {
        offsets[r] = (size_t)(part != NULL ? part[r] : r) * size;
    }
    if (ctx->group != NULL) {
        const cmg_transport *t = &ctx->group->transport;
        return reported(ctx, t->gather(t->user, mine, all, offsets));
    }
    if (mine != all && offsets[1] > 0) {
        memcpy(all, mine, offsets[1]);
    }
    return CMG_OK;
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
    if (ctx->group == NULL) {
        return CMG_OK;
    }
    const cmg_transport *t = &ctx->group->transport;
    return reported(ctx, t->start(t->user, m->send, m->sends, m->receive, m->receives));
}

cmg_status cmgi_group_finish(cmg_context *ctx)
{
    if (ctx->group == NULL) {
        return CMG_OK;
    }
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
    cmgi_scoped cmg_size *counts = NULL;
    cmgi_scoped cmg_message *messages = NULL;
    cmgi_scoped char *made = NULL;
    CMGI_TRY(cmgi_alloc(ctx, (cmg_size)ranks * (ranks + 1), sizeof *counts, &counts));
    CMGI_TRY(cmgi_alloc(ctx, 2 * (cmg_size)ranks, sizeof *messages, &messages));
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

static cmg_status all_dot(cmg_context *ctx, cmg_precision p, cmg_size n, int k, const void *x,
                          const void *y, double *result)
{
    CMGI_TRY(ctx->group->base->dot(ctx, p, n, k, x, y, result));
    return cmgi_sum_ranks(ctx, result, k);
}

static cmg_status all_sum(cmg_context *ctx, cmg_size n, const double *x, double *result)
{
    CMGI_TRY(ctx->group->base->sum(ctx, n, x, result));
    return cmgi_sum_ranks(ctx, result, 1);
}

/* The update with this rank's r . r, which is then summed before the iteration is noted. */
static cmg_status all_cg_update(cmg_context *ctx, cmg_size n, int k, const cmgi_cg_update *u)
{
    const cmgi_backend *base = ctx->group->base;
    const cmgi_test note = {.what = CMGI_TEST_NOTE, .update = *u};
    cmgi_cg_update own = *u;
    own.stop = NULL;
    own.old = NULL;
    CMGI_TRY(base->cg_update(ctx, n, k, &own));
    CMGI_TRY(cmgi_sum_ranks(ctx, u->rr, k));
    return base->test(ctx, k, &note);
}

/* With a wire the device may wait for a rank that is gone: the host looks before it waits for the
 * device. */
static cmg_status wait_for_ranks(cmg_context *ctx)
{
    return ctx->group->way->wait(ctx, ctx->group->wire);
}

static cmg_status patient_synchronize(cmg_context *ctx)
{
    CMGI_TRY(wait_for_ranks(ctx));
    return ctx->group->base->synchronize(ctx);
}

static cmg_status patient_to_device(cmg_context *ctx, void *dst, const void *src, size_t bytes)
{
    CMGI_TRY(wait_for_ranks(ctx));
    return ctx->group->base->to_device(ctx, dst, src, bytes);
}

static cmg_status patient_to_host(cmg_context *ctx, void *dst, const void *src, size_t bytes)
{
    CMGI_TRY(wait_for_ranks(ctx));
    return ctx->group->base->to_host(ctx, dst, src, bytes);
}

static cmg_status patient_elapsed(cmg_context *ctx, int from, int to, double *seconds)
{
    CMGI_TRY(wait_for_ranks(ctx));
    return ctx->group->base->elapsed(ctx, from, to, seconds);
}

/* The backend of one rank among several; one that is alone has the device's own. */
static void fill_table(cmgi_group *group)
{
    cmgi_backend *all = &group->all;
    *all = *group->base;
    if (group->transport.ranks == 1) {
        return;
    }
    all->dot = all_dot;
    all->jacobi_step = NULL; /* its sums are a rank's */
    all->sum = all_sum;
    all->cg_update = all_cg_update;
    if (group->wire == NULL) { /* messages pass through the host, which no graph waits for */
        all->graph_begin = NULL;
        all->mark_reserve = NULL;
        return;
    }
    all->no_loop = group->way->no_loop != NULL && group->way->no_loop();
    all->synchronize = patient_synchronize;
    all->to_device = patient_to_device;
    all->to_host = patient_to_host;
    all->read_each = NULL;
    all->elapsed = patient_elapsed;
}

/* To be tried in this order. */
static const cmgi_wire *const wires[] = {CMGI_CUDA_FN(&cmgi_peers), CMGI_CUDA_FN(&cmgi_nccl), NULL};

/* Looks for a way from device to device; all ranks find the same. CMG_LINK in the environment names
 * the only one to be tried. */
static cmg_status open_wire(cmg_context *ctx)
{
    cmgi_group *group = ctx->group;
    const char *link = group->transport.ranks == 1 ? "none" : "host";
    const char *only = getenv("CMG_LINK");
    (void)snprintf(group->link, sizeof group->link, "%s", link);
    if (group->transport.ranks == 1 || group->base->alloc == NULL) {
        return CMG_OK;
    }
    for (const cmgi_wire *const *way = wires; *way != NULL && group->wire == NULL; ++way) {
        if (only == NULL || strcmp(only, (*way)->name) == 0) {
            group->way = *way;
            CMGI_TRY(group->way->open(ctx, &group->wire, group->link, sizeof group->link));
        }
    }
    return CMG_OK;
}

cmg_status cmgi_group_open(cmg_context *ctx)
{
    const cmg_transport *t = ctx->options.transport;
    cmgi_group *group = NULL;
    CMGI_CHECK(ctx, t->size >= sizeof *t && t->ranks >= 1 && t->rank >= 0 && t->rank < t->ranks,
               CMG_ERR_ARG, "transport: rank %d of %d, size %zu", t->rank, t->ranks, t->size);
    CMGI_CHECK(ctx, t->start && t->finish && t->gather && t->fail && t->message && t->check,
               CMG_ERR_ARG, "transport: a function is NULL");
    CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *group, &group));
    group->transport = *t;
    group->base = ctx->backend;
    ctx->group = group;
    cmg_status status =
        cmgi_alloc(ctx, (cmg_size)CMGI_SUMS * t->ranks, sizeof *group->parts, &group->parts);
    status = status == CMG_OK ? open_wire(ctx) : status;
    if (status != CMG_OK) {
        cmgi_group_close(ctx);
        return status;
    }
    fill_table(group);
    ctx->backend = &group->all;
    return CMG_OK;
}

void cmgi_group_close(cmg_context *ctx)
{
    cmgi_group *group = ctx->group;
    ctx->backend = group->base;
    if (group->wire != NULL) {
        group->way->close(ctx, group->wire);
    }
    ctx->group = NULL;
    CMGI_FREE(ctx, group->parts, group);
}

const char *cmg_context_link(const cmg_context *ctx)
{
    return ctx != NULL && ctx->group != NULL ? ctx->group->link : "none";
}
