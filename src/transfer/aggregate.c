/*
 * Aggregates: a maximal independent set of distance 2 has one root in reach of every node and none
 * within two steps of another; a root takes its neighbours, and what is left joins the neighbour it
 * is coupled to most. The set is found by rounds in which a node enters where its key is the
 * largest within two steps (Bell, Dalton, Olson 2012, algorithm 5); keys are hashes of the node's
 * number.
 */
#include "transfer/aggregate.h"

#include "core/each.h"

#include "transfer/aggregate.inc"

cmg_status cmgi_number_set(cmg_context *ctx, cmgi_place at, cmg_size n, const uint64_t *key,
                           cmg_index *number, cmg_size *count)
{
    numbering to = {.key = key, .number = number};
    CMGI_FREED(ctx, &to.offset);
    CMGI_TRY(cmgi_alloc_at(ctx, at, n + 1, sizeof *to.offset, &to.offset));
    CMGI_TRY(mark_set(ctx, at, n, &to));
    CMGI_TRY(cmgi_offsets_at(ctx, at, n, to.offset, count));
    return number_set(ctx, at, n, &to);
}

/* The nodes of an independent set found aggregates. */
static cmg_status found_around_set(cmg_context *ctx, cmgi_place at, const cmg_csr *S,
                                   cmgi_aggregates *agg)
{
    rounds r = {.S = *S};
    cmg_size open = 1;
    CMGI_FREED(ctx, &r.key, &r.one, &r.quiet);
    CMGI_TRY(cmgi_alloc_at(ctx, at, S->rows, sizeof *r.key, &r.key));
    CMGI_TRY(cmgi_alloc_at(ctx, at, S->rows, sizeof *r.one, &r.one));
    CMGI_TRY(cmgi_alloc_at(ctx, at, S->rows, sizeof *r.quiet, &r.quiet));
    CMGI_TRY(make_keys(ctx, at, S->rows, &r));
    while (open > 0) {
        CMGI_TRY(spread(ctx, at, S->rows, &r));
        CMGI_TRY(decide(ctx, at, S->rows, &r, &open));
    }
    return cmgi_number_set(ctx, at, S->rows, r.key, agg->of, &agg->count);
}

cmg_status cmgi_aggregate(cmg_context *ctx, cmgi_place at, const cmg_csr *S, cmgi_aggregates *agg)
{
    const cmg_size n = S->rows;
    cmgi_aggregates made = {.nodes = n, .at = at};
    cmg_index *spare = NULL;
    CMGI_FREED(ctx, &spare);
    CMGI_RELEASED(cmgi_aggregates_free, ctx, &made);
    CMGI_TRY(cmgi_alloc_at(ctx, at, n, sizeof *made.of, &made.of));
    CMGI_TRY(cmgi_alloc_at(ctx, at, n, sizeof *spare, &spare));
    CMGI_TRY(found_around_set(ctx, at, S, &made));
    /* neighbours of founders, then theirs; a third round only where S is not symmetric */
    for (cmg_size joined = 1; joined > 0;) {
        const joining step = {*S, made.of, spare};
        CMGI_TRY(keep_aggregates(ctx, at, n, &step));
        CMGI_TRY(join(ctx, at, n, &step, &joined));
        spare = made.of;
        made.of = step.to;
    }
    CMGI_PASS_ON(&made, agg);
    return CMG_OK;
}

void cmgi_aggregates_free(cmg_context *ctx, cmgi_aggregates *agg)
{
    CMGI_FREE_AT(ctx, agg->at, agg->of);
    *agg = (cmgi_aggregates){0};
}
