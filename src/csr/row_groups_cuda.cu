/* Groups of equal rows on the device: the table, and what comes after it; see row_groups.cuh. */
#include "csr/row_groups.cuh"

enum { LEAST_SLOTS = 1 << 13 };

cmg_status cmgi_row_groups_take(cmgi_scratch &scratch, cmg_size limit, cmgi_row_groups *g)
{
    g->limit = (unsigned)limit;
    g->slots = LEAST_SLOTS;
    while (g->slots / 2 < g->limit) {
        g->slots *= 2;
    }
    CMGI_TRY(scratch.take(g->slots, &g->slot));
    return scratch.take(1, &g->count);
}

cmg_status cmgi_row_groups_clear(cmg_context *ctx, const cmgi_row_groups *g)
{
    const size_t bytes = g->slots * sizeof *g->slot;
    CMGI_CUDA(ctx, cudaMemsetAsync(g->slot, 0xff, bytes, cmgi_stream(ctx)));
    return cmgi_cuda_clear(ctx, g->count, sizeof *g->count);
}

typedef struct grouping {
    const unsigned long long *slot;
    int *same;
    int *list;
    unsigned *count;
    uint16_t *kind;
} grouping;

CMGI_EACH_INDEX(group_row, grouping)
{
    a.same[i] = (int)(a.slot[a.same[i]] & 0xffffffffULL);
}

CMGI_EACH_INDEX(list_first, grouping)
{
    if (a.same[i] == i) {
        a.list[atomicAdd(a.count, 1U)] = (int)i;
    }
}

/* same[i] of the lowest row of kind k becomes -1 - k */
CMGI_EACH_INDEX(mark_kind, grouping)
{
    a.same[a.list[i]] = -1 - (int)i;
}

CMGI_EACH_INDEX(number_kind, grouping)
{
    const int r = a.same[i];
    a.kind[i] = (uint16_t)(-1 - (r < 0 ? r : a.same[r]));
}

cmg_status cmgi_row_groups_close(cmg_context *ctx, cmg_size rows, const cmgi_row_groups *g,
                                 int *same, bool *found)
{
    unsigned count = 0;
    CMGI_TRY(cmgi_to_host(ctx, &count, g->count, sizeof count));
    *found = count <= g->limit;
    const grouping a = {g->slot, same, NULL, NULL, NULL};
    return *found ? cmgi_group_row_device(ctx, rows, &a) : CMG_OK;
}

cmg_status cmgi_row_groups_list(cmg_context *ctx, cmg_size rows, const cmgi_row_groups *g,
                                const int *same, int *list, int *count)
{
    const grouping a = {NULL, (int *)same, list, g->count, NULL};
    CMGI_TRY(cmgi_cuda_clear(ctx, g->count, sizeof *g->count));
    CMGI_TRY(cmgi_list_first_device(ctx, rows, &a));
    return cmgi_to_host(ctx, count, g->count, sizeof *count);
}

cmg_status cmgi_row_groups_number(cmg_context *ctx, cmg_size rows, const int *list, int count,
                                  int *same, uint16_t *kind)
{
    const grouping a = {NULL, same, (int *)list, NULL, kind};
    CMGI_TRY(cmgi_mark_kind_device(ctx, count, &a));
    return cmgi_number_kind_device(ctx, rows, &a);
}
