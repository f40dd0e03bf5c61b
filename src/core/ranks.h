/*
 * The ranks that a context belongs to, as libcmg sees them: sums and agreement over all of them, by
 * the functions of libcmgranks that the context was given (cmg_ranks_use).
 *
 * Without a transport there is one rank, and every function here does what that means: nothing.
 * With one the context's table of the backend is a copy of the device's own in which inner products
 * run over all ranks, in their order, so that Krylov methods, estimates of spectra and stopping
 * tests need not know.
 *
 * All functions but cmgi_ranks, cmgi_rank, cmgi_group_alone, cmgi_group_fail, cmgi_group_wired and
 * cmgi_own_backend are collective.
 */
#pragma once
#include "cmg_ranks.h"
#include "core/backend.h"

enum { CMGI_SUMS = 8 }; /* most that are formed at once */

/* What libcmg asks of libcmgranks. */
struct cmg_ranks {
    /* joins the group of ctx->options.transport, after the backend is open */
    cmg_status (*open)(cmg_context *ctx);
    void (*close)(cmg_context *ctx);
    /* values[k] = sum, or largest (a NaN stays), over the ranks, k < count */
    cmg_status (*reduce)(cmg_context *ctx, double *values, int count, bool largest);
    /* values in the backend's memory become their sums over the ranks */
    cmg_status (*sum)(cmg_context *ctx, double *values, int count);
    /* all[r * bytes ..] = what rank r has, `bytes` each */
    cmg_status (*gather)(cmg_context *ctx, const void *mine, size_t bytes, void *all);
    cmg_status (*agree)(cmg_context *ctx, cmg_status status);
    /* this rank's rows of a hierarchy that it has as a whole */
    cmg_status (*take_rows)(cmg_context *ctx, const cmg_hierarchy *whole, cmg_hierarchy **h);
    const struct cmgi_divided_functions *levels; /* mg/divided.h */
};

typedef struct cmgi_group {
    cmg_transport transport;
    const cmgi_backend *base;    /* of this rank's device */
    cmgi_backend all;            /* the same with sums over all ranks */
    double *parts;               /* CMGI_SUMS a rank, on the host */
    void *wire;                  /* between the devices; NULL = through the host */
    const struct cmgi_wire *way; /* its functions */
    char link[96];               /* how, for people */
} cmgi_group;

static inline int cmgi_ranks(const cmg_context *ctx)
{
    return ctx->group != NULL ? ctx->group->transport.ranks : 1;
}

static inline int cmgi_rank(const cmg_context *ctx)
{
    return ctx->group != NULL ? ctx->group->transport.rank : 0;
}

/* There is no group until it is called again with false: for work that every rank does by itself.
 */
static inline void cmgi_group_alone(cmg_context *ctx, bool alone)
{
    cmgi_group *group = alone ? ctx->group : ctx->away;
    if (group != NULL) {
        ctx->group = alone ? NULL : group;
        ctx->away = alone ? group : NULL;
        ctx->backend = alone ? group->base : &group->all;
    }
}

/* values[k] = sum over the ranks, k < count; on the host. */
static inline cmg_status cmgi_all_sum(cmg_context *ctx, double *values, int count)
{
    return ctx->group == NULL ? CMG_OK : ctx->options.ranks->reduce(ctx, values, count, false);
}

/* The largest in place of the sum. */
static inline cmg_status cmgi_all_max(cmg_context *ctx, double *values, int count)
{
    return ctx->group == NULL ? CMG_OK : ctx->options.ranks->reduce(ctx, values, count, true);
}

/* Values in the backend's memory become their sums over the ranks, CMGI_SUMS at once. */
static inline cmg_status cmgi_sum_ranks(cmg_context *ctx, double *values, int count)
{
    return cmgi_ranks(ctx) == 1 ? CMG_OK : ctx->options.ranks->sum(ctx, values, count);
}

/* The table of this rank's device, in which sums are those of this rank alone. */
static inline const cmgi_backend *cmgi_own_backend(const cmg_context *ctx)
{
    return ctx->group != NULL ? ctx->group->base : ctx->backend;
}

/* True where messages go from device to device in the stream. */
static inline bool cmgi_group_wired(const cmg_context *ctx)
{
    return ctx->group != NULL && ctx->group->wire != NULL;
}

/*
 * The end of a piece of work that may fail on one rank alone and has spoken to nobody: all ranks
 * return its status, those where it succeeded that of the first one where it did not.
 */
static inline cmg_status cmgi_group_agree(cmg_context *ctx, cmg_status status)
{
    return ctx->group == NULL ? status : ctx->options.ranks->agree(ctx, status);
}

/* The end of a collective piece of work: where it failed, the other ranks will not wait. Returns
 * the status. */
static inline cmg_status cmgi_group_fail(cmg_context *ctx, cmg_status status)
{
    if (ctx->group != NULL && status != CMG_OK) {
        const cmg_transport *t = &ctx->group->transport;
        t->fail(t->user, status, ctx->message);
    }
    return status;
}
