/* Whether the ranks of a context were given the same options. */
#include "core/ranks.h"
#include "core/memory.h"
#include "core/options.h"

#include <string.h>

static bool same_field(const cmg_option *row, const char *a, const char *b)
{
    switch (row->type) {
    case CMG_OPTION_TEXT:
        return strcmp(a + row->offset, b + row->offset) == 0;
    case CMG_OPTION_REALS:
        return memcmp(a + row->offset, b + row->offset, row->bytes) == 0;
    default:
        return cmgi_option_number(row, a) == cmgi_option_number(row, b);
    }
}

cmg_status cmgi_options_agree(cmg_context *ctx, const cmgi_option_table *table, const void *own)
{
    const int ranks = cmgi_ranks(ctx);
    cmgi_scoped char *all = NULL;
    if (ranks == 1) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_group_fail(ctx, cmgi_alloc(ctx, ranks, table->bytes, &all)));
    CMGI_TRY(ctx->options.ranks->gather(ctx, own, table->bytes, all));
    for (int k = 0; k < (ranks - 1) * table->count; ++k) {
        const cmg_option *row = &table->rows[k % table->count];
        const int rank = 1 + k / table->count;
        const char *other = all + (size_t)rank * table->bytes;
        char value[2][64];
        if (!same_field(row, all, other)) {
            cmg_option_get(row, all, value[0], sizeof value[0]);
            cmg_option_get(row, other, value[1], sizeof value[1]);
            return cmgi_fail(ctx, CMG_ERR_ARG, "%s is '%s' on rank 0 and '%s' on rank %d", row->key,
                             value[0], value[1], rank);
        }
    }
    return CMG_OK;
}
