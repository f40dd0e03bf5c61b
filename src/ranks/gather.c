#include "ranks/gather.h"

#include "core/memory.h"

#include <string.h>

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
