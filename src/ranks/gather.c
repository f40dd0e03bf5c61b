#include "ranks/gather.h"

#include "core/memory.h"

#include <string.h>

/* The messages for y, which may be NULL before there is one: from the others, and from place
 * `ranks` on to them. */
static void fill_messages(const cmgi_gathering *g, const char *y, int *sends, int *receives)
{
    const int ranks = cmgi_ranks(g->ctx);
    const int me = cmgi_rank(g->ctx);
    const size_t own = (size_t)(g->part[me + 1] - g->part[me]) * g->size;
    char *mine = y != NULL ? (char *)(uintptr_t)y + (size_t)g->part[me] * g->size : NULL;
    *receives = cmgi_group_messages(g->ctx, g->part, g->size, y, g->message);
    *sends = 0;
    for (int r = 0; r < ranks && own > 0; ++r) {
        if (r != me) {
            g->message[ranks + (*sends)++] = (cmg_message){r, mine, own};
        }
    }
}

static cmg_status fill_in(cmgi_gathering *g, const cmg_size *part)
{
    cmg_context *ctx = g->ctx;
    const int ranks = cmgi_ranks(ctx);
    int sends = 0;
    int receives = 0;
    CMGI_TRY(cmgi_alloc(ctx, ranks + 1, sizeof *g->part, &g->part));
    memcpy(g->part, part, ((size_t)ranks + 1) * sizeof *part);
    if (!cmgi_group_wired(ctx)) {
        return cmgi_alloc_staging(ctx, part[ranks], g->size, &g->host);
    }
    CMGI_TRY(cmgi_alloc(ctx, 2 * (cmg_size)ranks, sizeof *g->message, &g->message));
    fill_messages(g, NULL, &sends, &receives);
    return cmgi_wire_prepare(ctx, g->message + ranks, sends, g->message, receives, &g->route);
}

cmg_status cmgi_gathering_create(cmg_context *ctx, const cmg_size *part, size_t size,
                                 cmgi_gathering **g)
{
    cmgi_scoped_by(cmgi_gathering_destroy) cmgi_gathering *made = NULL;
    CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *made, &made));
    made->ctx = ctx;
    made->size = size;
    CMGI_TRY(fill_in(made, part));
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
        int sends = 0;
        int receives = 0;
        fill_messages(g, y, &sends, &receives);
        return cmgi_wire_exchange(ctx, g->route, g->message + ranks, sends, g->message, receives);
    }
    char *all = g->host != NULL ? g->host : y;
    if (g->host != NULL) {
        CMGI_TRY(cmgi_to_host(ctx, all + first, (char *)y + first,
                              (size_t)g->part[me + 1] * g->size - first));
    }
    CMGI_TRY(cmgi_group_gather_parts(ctx, all + first, g->part, g->size, all));
    return g->host != NULL ? cmgi_to_device(ctx, y, all, (size_t)g->part[ranks] * g->size) : CMG_OK;
}
