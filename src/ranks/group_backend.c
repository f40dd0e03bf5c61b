/* The backend with sums over all ranks, and the way from device to device. */
#include "ranks/group.h"

#include "core/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
