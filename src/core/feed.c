/* Large arrays to the backend's memory; see feed.h. */
#include "core/feed.h"

#include "core/backend.h"

#include <string.h>

bool cmgi_feed_units(cmg_context *ctx, const cmgi_feed *from, size_t first, size_t count, void *to)
{
    const cmg_size n = (cmg_size)count;
    bool good = true;
#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(&& : good) if (n > 1)
    for (cmg_size k = 0; k < n; ++k) {
        char *unit = (char *)to + (size_t)k * from->unit;
        good = from->fill(from->user, first + (size_t)k, unit) && good;
    }
    (void)ctx;
    return good;
}

cmg_status cmgi_feed_device(cmg_context *ctx, void *dst, size_t bytes, const cmgi_feed *from,
                            bool *fed)
{
    const cmgi_backend *on = ctx->backend;
    *fed = false;
    if (on->feed == NULL) {
        return CMG_OK;
    }
    CMGI_TRY(on->feed_order(ctx, false));
    CMGI_TRY(on->feed(ctx, dst, bytes, from, fed));
    return on->feed_order(ctx, true);
}

enum { COPY_UNIT = 1 << 18 };

typedef struct copied {
    const char *from;
    size_t bytes;
} copied;

static bool copy_unit(void *user, size_t unit, void *to)
{
    const copied *c = user;
    const size_t at = unit * COPY_UNIT;
    memcpy(to, c->from + at, c->bytes - at < COPY_UNIT ? c->bytes - at : COPY_UNIT);
    return true;
}

cmg_status cmgi_feed_copy(cmg_context *ctx, void *dst, const void *src, size_t bytes, bool *fed)
{
    copied c = {src, bytes};
    const cmgi_feed from = {copy_unit, &c, COPY_UNIT};
    return cmgi_feed_device(ctx, dst, bytes, &from, fed);
}

/* ------------------------------------------------------------------ later */

enum { PIECE = 32 * COPY_UNIT, MOST = 640 }; /* three arrays of three matrices of 64 levels */

typedef struct array {
    char *dst;
    const char *src;
    size_t bytes;
} array;

struct cmgi_queue {
    array of[MOST];
    int count;
    int next;    /* the first that is not sent whole */
    size_t sent; /* bytes of that */
    bool busy;   /* with a piece: what that waits for brings no other */
};

cmg_status cmgi_send_later(cmg_context *ctx, void *dst, const void *src, size_t bytes)
{
    if (bytes == 0) {
        return CMG_OK;
    }
    if (ctx->queue == NULL) {
        CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *ctx->queue, &ctx->queue));
    }
    struct cmgi_queue *q = ctx->queue;
    if (ctx->backend->feed == NULL || q->count == MOST) {
        return cmgi_to_device(ctx, dst, src, bytes);
    }
    CMGI_TRY(ctx->backend->feed_order(ctx, false)); /* after what has taken dst */
    q->of[q->count++] = (array){dst, src, bytes};
    return CMG_OK;
}

bool cmgi_send_waits(const cmg_context *ctx)
{
    const struct cmgi_queue *q = ctx->queue;
    return q != NULL && !q->busy && q->next < q->count;
}

cmg_status cmgi_send_piece(cmg_context *ctx)
{
    struct cmgi_queue *q = ctx->queue;
    const array *a = &q->of[q->next];
    const size_t rest = a->bytes - q->sent;
    const size_t length = rest < PIECE ? rest : PIECE;
    copied c = {a->src + q->sent, length};
    const cmgi_feed from = {copy_unit, &c, COPY_UNIT};
    bool fed = false;
    q->busy = true;
    cmg_status status = ctx->backend->feed(ctx, a->dst + q->sent, length, &from, &fed);
    if (status == CMG_OK && !fed) {
        status = cmgi_to_device(ctx, a->dst + q->sent, c.from, length);
    }
    q->busy = false;
    CMGI_TRY(status);
    q->sent = length < rest ? q->sent + length : 0;
    q->next += length == rest;
    return CMG_OK;
}

cmg_status cmgi_send_until(cmg_context *ctx, const void *dst)
{
    struct cmgi_queue *q = ctx->queue;
    int last = q != NULL ? q->count - 1 : -1;
    while (last >= 0 && q->of[last].dst != dst) {
        --last;
    }
    while (last >= 0 && q->next <= last) {
        CMGI_TRY(cmgi_send_piece(ctx));
    }
    return last >= 0 ? ctx->backend->feed_order(ctx, true) : CMG_OK;
}

void cmgi_send_drop(cmg_context *ctx)
{
    if (ctx->queue != NULL && ctx->queue->count > 0) {
        (void)ctx->backend->feed_order(ctx, true); /* what frees dst comes after what was sent */
    }
    cmgi_free(ctx, cmgi_pass_on(&ctx->queue));
}
