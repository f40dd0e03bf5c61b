#include "core/place.h"

#include "core/backend.h"

#include <string.h>

cmg_status cmgi_alloc_at(cmg_context *ctx, cmgi_place at, cmg_size count, size_t size, void *p)
{
    return at == CMGI_DEVICE ? cmgi_alloc_device(ctx, count, size, p)
                             : cmgi_alloc(ctx, count, size, p);
}

cmg_status cmgi_alloc_zero_at(cmg_context *ctx, cmgi_place at, cmg_size count, size_t size, void *p)
{
    if (at == CMGI_HOST) {
        return cmgi_alloc_zero(ctx, count, size, p);
    }
    void *made = NULL;
    CMGI_FREED(ctx, &made);
    const cmg_size words = (count * (cmg_size)size + 7) / 8;
    CMGI_TRY(cmgi_alloc_device(ctx, words, 8, &made));
    CMGI_TRY(ctx->backend->fill(ctx, CMG_FP64, words, 0, made));
    *(void **)p = cmgi_pass_on(&made);
    return CMG_OK;
}

cmg_status cmgi_copy_at(cmg_context *ctx, cmgi_place at, void *to, const void *from, size_t bytes)
{
    if (at == CMGI_DEVICE) {
        return cmgi_to_device(ctx, to, from, bytes);
    }
    cmgi_copy(ctx, to, from, bytes);
    return CMG_OK;
}

cmg_status cmgi_bring_at(cmg_context *ctx, cmgi_place at, void *to, const void *from, size_t bytes)
{
    if (at == CMGI_DEVICE) {
        return cmgi_to_host(ctx, to, from, bytes);
    }
    memcpy(to, from, bytes);
    return CMG_OK;
}
