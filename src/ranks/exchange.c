#include "ranks/exchange.h"

#include "csr/place.h"

#include <string.h>

enum { ALIGNED = 32 }; /* entries: arrays begin where wide loads may */

/* x->from, where every peer wants one stretch of the vector and nothing is packed beside them. */
static cmg_status find_stretches(cmgi_exchange *x, const cmg_index *pack, const cmg_size *asked_at)
{
    int peers = 0;
    bool whole = cmgi_group_wired(x->ctx) && x->near == 0 && x->sends > 0;
    for (int r = 0; whole && r < cmgi_ranks(x->ctx); ++r) {
        for (cmg_size k = asked_at[r] + 1; k < asked_at[r + 1]; ++k) {
            whole = whole && pack[k] == pack[k - 1] + 1;
        }
    }
    if (!whole) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_alloc(x->ctx, cmgi_ranks(x->ctx), sizeof *x->from, &x->from));
    for (int r = 0; r < cmgi_ranks(x->ctx); ++r) {
        if (asked_at[r] < asked_at[r + 1]) {
            x->from[peers++] = pack[asked_at[r]];
        }
    }
    return CMG_OK;
}

static cmg_status place_pack(cmgi_exchange *x, const cmgi_exchange_plan *plan,
                             const cmg_size *asked, const cmg_size *asked_at)
{
    cmg_context *ctx = x->ctx;
    const cmg_size first = plan->part[cmgi_rank(ctx)];
    CMGI_SCOPED_ZERO(ctx, x->packed, cmg_index, pack);
    for (cmg_size k = 0; k < x->sends; ++k) {
        const cmg_size i = asked[k] - first;
        pack[k] = plan->position != NULL ? plan->position[i] : (cmg_index)i;
    }
    for (cmg_size k = 0; k < x->near; ++k) {
        pack[x->packed - x->near + k] = (cmg_index)plan->near->number[k];
    }
    CMGI_TRY(find_stretches(x, pack, asked_at));
    CMGI_TRY(CMGI_MOVE(ctx, &pack));
    x->pack = cmgi_pass_on(&pack);
    return CMG_OK;
}

/* The arrays that are packed and received, and where they are. */
static cmg_status place_arrays(cmgi_exchange *x, const cmg_size *asked_at, const cmg_size *at)
{
    cmg_context *ctx = x->ctx;
    const int ranks = cmgi_ranks(ctx);
    const size_t size = cmgi_precision_bytes(x->precision);
    CMGI_TRY(cmgi_alloc_device(ctx, x->packed + x->receives, size, &x->send));
    x->columns = x->send + (size_t)(x->packed - x->near) * size;
    x->halo = x->send + (size_t)x->packed * size;
    char *from = x->send;
    char *to = x->halo;
    if (!cmgi_group_wired(ctx)) {
        CMGI_TRY(cmgi_alloc_staging(ctx, x->sends + x->receives, size, &x->host));
    }
    if (x->host != NULL) {
        from = x->host;
        to = from + (size_t)x->sends * size;
    }
    cmgi_messages *m = &x->messages;
    CMGI_TRY(cmgi_alloc_zero(ctx, 2 * (cmg_size)ranks, sizeof *m->send, &m->send));
    m->receive = m->send + ranks;
    m->sends = cmgi_group_messages(ctx, asked_at, size, from, m->send);
    m->receives = cmgi_group_messages(ctx, at, size, to, m->receive);
    return CMG_OK;
}

cmg_status cmgi_exchange_create(cmg_context *ctx, const cmgi_exchange_plan *plan,
                                cmg_precision precision, cmgi_exchange **made)
{
    const int ranks = cmgi_ranks(ctx);
    cmgi_scoped_by(cmgi_exchange_destroy) cmgi_exchange *x = NULL;
    cmgi_scoped cmg_size *asked = NULL;
    CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *x, &x));
    x->ctx = ctx;
    x->precision = precision;
    CMGI_SCOPED_ZERO(ctx, 2 * ((cmg_size)ranks + 1), cmg_size, at);
    cmg_size *asked_at = at + ranks + 1;
    cmgi_numbers_divide(plan->wanted, plan->part, ranks, at);
    CMGI_TRY(cmgi_group_swap(ctx, sizeof *asked, plan->wanted->number, at, &asked, asked_at));
    x->sends = asked_at[ranks];
    x->near = plan->near->count;
    x->receives = plan->wanted->count;
    x->packed = (x->sends + ALIGNED - 1) / ALIGNED * ALIGNED + x->near;
    CMGI_TRY(place_pack(x, plan, asked, asked_at));
    CMGI_TRY(place_arrays(x, asked_at, at));
    if (cmgi_group_wired(ctx)) {
        CMGI_TRY(ctx->backend->fill(ctx, precision, x->packed + x->receives, 0, x->send));
        CMGI_TRY(cmgi_wire_prepare(ctx, &x->messages, &x->route));
        CMGI_TRY(ctx->backend->synchronize(ctx));
    }
    *made = cmgi_pass_on(&x);
    return CMG_OK;
}

void cmgi_exchange_destroy(cmgi_exchange **x)
{
    if (*x == NULL) {
        return;
    }
    cmg_context *ctx = (*x)->ctx;
    cmgi_wire_forget(ctx, (*x)->route);
    CMGI_FREE_DEVICE(ctx, (*x)->pack, (*x)->send);
    CMGI_FREE(ctx, (*x)->from, (*x)->host, (*x)->messages.send, *x);
    *x = NULL;
}

cmg_status cmgi_exchange_start(cmgi_exchange *x, const void *vector)
{
    cmg_context *ctx = x->ctx;
    const size_t size = cmgi_precision_bytes(x->precision);
    for (int k = 0; x->from != NULL && k < x->messages.sends; ++k) {
        x->messages.send[k].data = (char *)(uintptr_t)vector + (size_t)x->from[k] * size;
    }
    if (x->packed > 0 && x->from == NULL) {
        CMGI_TRY(cmgi_permute(ctx, x->precision, x->packed, x->pack, false, vector, x->send));
    }
    if (cmgi_group_wired(ctx)) {
        return cmgi_wire_exchange(ctx, x->route, &x->messages);
    }
    if (x->host != NULL) {
        CMGI_TRY(cmgi_to_host(ctx, x->host, x->send, (size_t)x->sends * size));
    }
    return cmgi_group_start(ctx, &x->messages);
}

cmg_status cmgi_exchange_finish(cmgi_exchange *x)
{
    cmg_context *ctx = x->ctx;
    const size_t size = cmgi_precision_bytes(x->precision);
    CMGI_TRY(cmgi_group_finish(ctx));
    if (x->host == NULL || x->receives == 0) {
        return CMG_OK;
    }
    return cmgi_to_device(ctx, x->halo, (char *)x->host + (size_t)x->sends * size,
                          (size_t)x->receives * size);
}

/* ------------------------------------------------------------------ gathering */

/* The messages for y, which may be NULL before there is one. */
static cmgi_messages messages_for(const cmgi_gathering *g, const char *y)
{
    const int ranks = cmgi_ranks(g->ctx);
    const int me = cmgi_rank(g->ctx);
    const size_t own = (size_t)(g->part[me + 1] - g->part[me]) * g->size;
    char *mine = y != NULL ? (char *)(uintptr_t)y + (size_t)g->part[me] * g->size : NULL;
    cmgi_messages m = {.send = g->message + ranks, .receive = g->message};
    m.receives = cmgi_group_messages(g->ctx, g->part, g->size, y, m.receive);
    for (int r = 0; r < ranks && own > 0; ++r) {
        if (r != me) {
            m.send[m.sends++] = (cmg_message){r, mine, own};
        }
    }
    return m;
}

cmg_status cmgi_gathering_create(cmg_context *ctx, const cmg_size *part, size_t size,
                                 cmgi_gathering **g)
{
    const int ranks = cmgi_ranks(ctx);
    cmgi_scoped_by(cmgi_gathering_destroy) cmgi_gathering *made = NULL;
    CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *made, &made));
    made->ctx = ctx;
    made->size = size;
    CMGI_TRY(cmgi_alloc(ctx, ranks + 1, sizeof *part, &made->part));
    memcpy(made->part, part, ((size_t)ranks + 1) * sizeof *part);
    if (cmgi_group_wired(ctx)) {
        CMGI_TRY(cmgi_alloc(ctx, 2 * (cmg_size)ranks, sizeof *made->message, &made->message));
        const cmgi_messages m = messages_for(made, NULL);
        CMGI_TRY(cmgi_wire_prepare(ctx, &m, &made->route));
    } else {
        CMGI_TRY(cmgi_alloc_staging(ctx, part[ranks], size, &made->host));
    }
    *g = cmgi_pass_on(&made);
    return CMG_OK;
}

void cmgi_gathering_destroy(cmgi_gathering **g)
{
    if (*g == NULL) {
        return;
    }
    cmg_context *ctx = (*g)->ctx;
    cmgi_wire_forget(ctx, (*g)->route);
    CMGI_FREE(ctx, (*g)->part, (*g)->message, (*g)->host, *g);
    *g = NULL;
}

cmg_status cmgi_gathering_run(const cmgi_gathering *g, void *y)
{
    cmg_context *ctx = g->ctx;
    const int me = cmgi_rank(ctx);
    const int ranks = cmgi_ranks(ctx);
    const size_t first = (size_t)g->part[me] * g->size;
    if (cmgi_group_wired(ctx)) {
        const cmgi_messages m = messages_for(g, y);
        return cmgi_wire_exchange(ctx, g->route, &m);
    }
    char *all = g->host != NULL ? g->host : y;
    if (g->host != NULL) {
        CMGI_TRY(cmgi_to_host(ctx, all + first, (char *)y + first,
                              (size_t)g->part[me + 1] * g->size - first));
    }
    CMGI_TRY(cmgi_group_gather_parts(ctx, all + first, g->part, g->size, all));
    return g->host != NULL ? cmgi_to_device(ctx, y, all, (size_t)g->part[ranks] * g->size) : CMG_OK;
}
