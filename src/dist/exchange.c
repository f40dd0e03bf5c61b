#include "dist/exchange.h"

#include "core/memory.h"

/* One message a rank that has or wants something, its data at an offset in entries. */
static int add_messages(int ranks, int me, const cmg_size *at, size_t size, cmg_message *message)
{
    int count = 0;
    for (int r = 0; r < ranks; ++r) {
        if (r != me && at[r + 1] > at[r]) {
            message[count++] = (cmg_message){.peer = r,
                                             .data = (void *)((uintptr_t)at[r] * size),
                                             .bytes = (size_t)(at[r + 1] - at[r]) * size};
        }
    }
    return count;
}

static cmg_status place_pack(cmgi_exchange *x, const cmg_size *asked, cmg_size first,
                             const cmg_index *position)
{
    cmg_context *ctx = x->ctx;
    cmg_index *pack = NULL;
    CMGI_TRY(cmgi_alloc(ctx, x->sends, sizeof *pack, &pack));
    for (cmg_size k = 0; k < x->sends; ++k) {
        const cmg_size i = asked[k] - first;
        pack[k] = position != NULL ? position[i] : (cmg_index)i;
    }
    const cmg_status status = cmgi_move_to_device(ctx, &pack, x->sends, sizeof *pack);
    x->pack = pack;
    return status;
}

static cmg_status fill_in(cmgi_exchange *x, const cmg_size *part, const cmgi_numbers *wanted,
                          const cmg_index *position)
{
    cmg_context *ctx = x->ctx;
    const int ranks = cmgi_ranks(ctx);
    const int me = cmgi_rank(ctx);
    const size_t size = cmgi_precision_bytes(x->precision);
    cmg_size *at = NULL;
    cmg_size *asked = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alloc_zero(ctx, 2 * ((cmg_size)ranks + 1), sizeof *at, &at));
    cmg_size *asked_at = at + ranks + 1;
    cmgi_numbers_divide(wanted, part, ranks, at);
    CMGI_TRY_GOTO(done, cmgi_group_swap(ctx, sizeof *asked, wanted->number, at, &asked, asked_at));
    x->sends = asked_at[ranks];
    x->receives = wanted->count;
    CMGI_TRY_GOTO(done, cmgi_alloc_zero(ctx, 4 * (cmg_size)ranks, sizeof *x->message, &x->message));
    x->now = x->message + 2 * ranks;
    x->send_peers = add_messages(ranks, me, asked_at, size, x->message);
    x->receive_peers = add_messages(ranks, me, at, size, x->message + x->send_peers);
    CMGI_TRY_GOTO(done, place_pack(x, asked, part[me], position));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, x->sends, size, &x->send));
    CMGI_TRY_GOTO(done, cmgi_alloc_staging(ctx, x->sends + x->receives, size, &x->host));
done:
    CMGI_FREE(ctx, asked, at);
    return status;
}

cmg_status cmgi_exchange_create(cmg_context *ctx, const cmg_size *part, const cmgi_numbers *wanted,
                                const cmg_index *position, cmg_precision precision,
                                cmgi_exchange **x)
{
    cmgi_exchange *made = NULL;
    CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *made, &made));
    made->ctx = ctx;
    made->precision = precision;
    const cmg_status status = fill_in(made, part, wanted, position);
    if (status != CMG_OK) {
        cmgi_exchange_destroy(&made);
    }
    *x = made;
    return status;
}

void cmgi_exchange_destroy(cmgi_exchange **x)
{
    if (*x == NULL) {
        return;
    }
    cmg_context *ctx = (*x)->ctx;
    CMGI_FREE_DEVICE(ctx, (*x)->pack, (*x)->send);
    CMGI_FREE(ctx, (*x)->host, (*x)->message, *x);
    *x = NULL;
}

cmg_status cmgi_exchange_start(cmgi_exchange *x, const void *vector, void *halo)
{
    cmg_context *ctx = x->ctx;
    const size_t size = cmgi_precision_bytes(x->precision);
    const size_t bytes = (size_t)x->sends * size;
    char *to = halo;
    char *from = x->send;
    x->halo = halo;
    if (x->sends > 0) {
        CMGI_TRY(
            ctx->backend->permute(ctx, x->precision, x->sends, x->pack, false, vector, x->send));
    }
    if (x->host != NULL) {
        from = x->host;
        to = from + bytes;
        CMGI_TRY(cmgi_to_host(ctx, from, x->send, bytes));
    }
    for (int k = 0; k < x->send_peers + x->receive_peers; ++k) {
        char *base = k < x->send_peers ? from : to;
        x->now[k] = x->message[k];
        x->now[k].data = base + (uintptr_t)x->message[k].data;
    }
    return cmgi_group_start(ctx, x->now, x->send_peers, x->now + x->send_peers, x->receive_peers);
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
