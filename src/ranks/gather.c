#include "ranks/gather.h"

#include "core/memory.h"

/* The messages for y, which may be NULL before there is one; how many to and from the others. */
static void fill_messages(const cmgi_gathering *g, char *y, int *sends, int *receives)
{
    const int ranks = cmgi_ranks(g->ctx);
    const int me = cmgi_rank(g->ctx);
    const size_t *at = g->offset;
    *sends = 0;
    *receives = 0;
    for (int r = 0; r < ranks; ++r) {
        if (r != me && at[me + 1] > at[me]) {
            g->message[(*sends)++] =
                (cmg_message){r, y != NULL ? y + at[me] : NULL, at[me + 1] - at[me]};
        }
        if (r != me && at[r + 1] > at[r]) {
            g->message[ranks + (*receives)++] =
                (cmg_message){r, y != NULL ? y + at[r] : NULL, at[r + 1] - at[r]};
        }
    }
}

static cmg_status fill_in(cmgi_gathering *g, const cmg_size *part, size_t size)
{
    cmg_context *ctx = g->ctx;
    const int ranks = cmgi_ranks(ctx);
    int sends = 0;
    int receives = 0;
    CMGI_TRY(cmgi_alloc(ctx, ranks + 1, sizeof *g->offset, &g->offset));
    for (int r = 0; r <= ranks; ++r) {
        g->offset[r] = (size_t)part[r] * size;
    }
    if (!cmgi_group_wired(ctx)) {
        return cmgi_alloc_staging(ctx, part[ranks], size, &g->host);
    }
    CMGI_TRY(cmgi_alloc(ctx, 2 * (cmg_size)ranks, sizeof *g->message, &g->message));
    fill_messages(g, NULL, &sends, &receives);
    return cmgi_wire_prepare(ctx, g->message, sends, g->message + ranks, receives, &g->route);
}

cmg_status cmgi_gathering_create(cmg_context *ctx, const cmg_size *part, size_t size,
                                 cmgi_gathering **g)
{
    cmgi_gathering *made = NULL;
    CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *made, &made));
    made->ctx = ctx;
    const cmg_status status = fill_in(made, part, size);
    if (status != CMG_OK) {
        cmgi_gathering_destroy(&made);
    }
    *g = made;
    return status;
}

void cmgi_gathering_destroy(cmgi_gathering **g)
{
    if (*g == NULL) {
        return;
    }
    cmg_context *ctx = (*g)->ctx;
    cmgi_wire_forget(ctx, (*g)->route);
    CMGI_FREE(ctx, (*g)->offset, (*g)->message, (*g)->host, *g);
    *g = NULL;
}

cmg_status cmgi_gathering_run(const cmgi_gathering *g, void *y)
{
    cmg_context *ctx = g->ctx;
    const int me = cmgi_rank(ctx);
    const int ranks = cmgi_ranks(ctx);
    const size_t *at = g->offset;
    char *own = (char *)y + at[me];
    if (cmgi_group_wired(ctx)) {
        int sends = 0;
        int receives = 0;
        fill_messages(g, y, &sends, &receives);
        return cmgi_wire_exchange(ctx, g->route, g->message, sends, g->message + ranks, receives);
    }
    if (g->host == NULL) {
        return cmgi_group_gather_parts(ctx, own, y, at);
    }
    char *mine = (char *)g->host + at[me];
    CMGI_TRY(cmgi_to_host(ctx, mine, own, at[me + 1] - at[me]));
    CMGI_TRY(cmgi_group_gather_parts(ctx, mine, g->host, at));
    return cmgi_to_device(ctx, y, g->host, at[ranks]);
}
