#include "core/each.h"
#include "core/random.h"

#include "core/vector_each.inc"

cmg_status cmgi_draw(cmg_context *ctx, cmg_precision p, cmg_size n, uint64_t seed, void *x)
{
    return cmgi_draw_from(ctx, p, n, seed, 0, NULL, x);
}

cmg_status cmgi_draw_from(cmg_context *ctx, cmg_precision p, cmg_size n, uint64_t seed,
                          cmg_size first, const cmg_index *perm, void *x)
{
    cmgi_scoped double *host = NULL;
    cmgi_scoped_by(cmg_vector_destroy) cmg_vector *view = NULL;
    if (perm == NULL) {
        return draw_each(ctx, (cmgi_place)cmgi_column(ctx), n,
                         &(drawing){p, seed, (uint64_t)first, x});
    }
    CMGI_TRY(cmgi_alloc(ctx, n, sizeof *host, &host));
    for (cmg_size k = 0; k < n; ++k) {
        host[k] = cmgi_random_at(seed, (uint64_t)(first + perm[k]));
    }
    CMGI_TRY(cmg_vector_wrap(ctx, n, p, x, &view));
    return cmg_vector_set(view, host);
}

cmg_status cmgi_copy_block(cmg_context *ctx, const cmgi_block_copy *b)
{
    return copy_each(ctx, (cmgi_place)cmgi_column(ctx), b->rows * b->columns, b);
}
