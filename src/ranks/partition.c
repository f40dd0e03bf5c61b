/*
 * A hierarchy numbered for several ranks: nodes of level 0 in parts that METIS finds, those of the
 * levels below where the fine node is that takes most from them, so that transfer stays within a
 * rank; parts follow each other, and the old order is kept inside of them.
 */
#include "cmg_ranks.h"
#include "hierarchy/numbering.h"

#include <math.h>

typedef struct division {
    cmg_hierarchy *h;
    int ranks;
    cmg_index **part; /* of the nodes, by levels */
    cmg_index **order;
} division;

static cmg_size nodes_of(const division *d, int l)
{
    return d->h->level[l].A.rows / cmgi_hierarchy_block(d->h, l);
}

/* Parts of level l + 1 from those of level l, by the first unknown of a node. */
static cmg_status divide_next(division *d, int l)
{
    cmg_context *ctx = d->h->ctx;
    const cmg_csr P = d->h->level[l].P.view;
    const int fine = cmgi_hierarchy_block(d->h, l);
    const int coarse = cmgi_hierarchy_block(d->h, l + 1);
    const cmg_size nodes = nodes_of(d, l + 1);
    CMGI_SCOPED_ZERO(ctx, nodes, double, most);
    CMGI_TRY(cmgi_alloc_zero(ctx, nodes, sizeof *d->part[l + 1], &d->part[l + 1]));
    for (cmg_size i = 0; i < P.rows; ++i) {
        for (cmg_size k = P.indptr[i]; k < P.indptr[i + 1]; ++k) {
            const cmg_size c = P.indices[k] / coarse;
            if (fabs(P.values[k]) > most[c]) {
                most[c] = fabs(P.values[k]);
                d->part[l + 1][c] = d->part[l][i / fine];
            }
        }
    }
    return CMG_OK;
}

/* The order of a level's nodes by part, and where every part begins. */
static cmg_status order_level(division *d, int l)
{
    cmg_context *ctx = d->h->ctx;
    const cmg_size nodes = nodes_of(d, l);
    const int block = cmgi_hierarchy_block(d->h, l);
    CMGI_SCOPED(ctx, nodes, uint64_t, keys);
    CMGI_SCOPED_ZERO(ctx, d->ranks + 1, double, begin);
    CMGI_TRY(cmgi_alloc(ctx, nodes, sizeof *d->order[l], &d->order[l]));
    for (cmg_size i = 0; i < nodes; ++i) {
        keys[i] = (uint64_t)d->part[l][i];
        begin[d->part[l][i] + 1] += block;
    }
    for (int r = 0; r < d->ranks; ++r) {
        begin[r + 1] += begin[r];
    }
    CMGI_TRY(cmgi_order_by_key(ctx, nodes, keys, d->order[l]));
    return cmgi_hierarchy_take_vector(d->h, l, "partition", NULL, d->ranks + 1,
                                      cmgi_pass_on(&begin));
}

cmg_status cmg_hierarchy_partition(cmg_hierarchy *h, int ranks)
{
    CMGI_GIVEN(h);
    CMGI_CHECK(h->ctx, ranks >= 1 && h->own == NULL, CMG_ERR_ARG,
               "partition: %d ranks, or the hierarchy is one rank's", ranks);
    cmgi_scoped_by(cmgi_orders_free) cmgi_orders part = {NULL};
    cmgi_scoped_by(cmgi_orders_free) cmgi_orders order = {NULL};
    division d = {.h = h, .ranks = ranks, .part = part, .order = order};
    CMGI_TRY(cmgi_hierarchy_ensure_checked(h, false));
    CMGI_TRY(cmgi_hierarchy_bring(h));
    cmgi_hierarchy_leave_device(h, true);
    const cmg_csr A = h->level[0].A.view;
    const cmg_size nodes = nodes_of(&d, 0);
    CMGI_TRY(cmgi_alloc_zero(h->ctx, nodes, sizeof *part[0], &part[0]));
    for (cmg_size i = 0; i < nodes && ranks >= nodes; ++i) {
        part[0][i] = (cmg_index)i; /* METIS would print that there are too many parts */
    }
    CMGI_TRY(ranks < nodes ? cmgi_part_metis(h->ctx, &A, cmgi_hierarchy_block(h, 0), ranks, part[0])
                           : CMG_OK);
    for (int l = 0; l + 1 < h->levels; ++l) {
        CMGI_TRY(divide_next(&d, l));
    }
    for (int l = 0; l < h->levels; ++l) {
        CMGI_TRY(order_level(&d, l));
    }
    CMGI_TRY(cmgi_hierarchy_reorder(h, d.order));
    return cmg_hierarchy_set_attribute(h, "numbering",
                                       cmg_enum_name("numbering", CMG_NUMBERING_METIS));
}
