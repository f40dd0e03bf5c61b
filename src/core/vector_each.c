#include "core/each.h"
#include "core/random.h"

#include "core/vector_each.inc"

cmg_status cmgi_draw(cmg_context *ctx, cmg_precision p, cmg_size n, uint64_t seed, cmg_size first,
                     void *x)
{
    return draw_each(ctx, (cmgi_place)cmgi_column(ctx), n, &(drawing){p, seed, (uint64_t)first, x});
}

cmg_status cmgi_copy_block(cmg_context *ctx, const cmgi_block_copy *b)
{
    return copy_each(ctx, (cmgi_place)cmgi_column(ctx), b->rows * b->columns, b);
}
