/*
 * Aggregates: a maximal independent set of distance 2 has one root in reach of every node and none
 * within two steps of another; a root takes its neighbours, and what is left joins the neighbour it
 * is coupled to most. The set is found by rounds in which a node enters where its key is the
 * largest within two steps (Bell, Dalton, Olson 2012, algorithm 5); keys are hashes of the node's
 * number.
 */
#include "transfer/aggregate.h"

#include "core/each.h"
#include "csr/resident.h"
#include "transfer/aggregate_rows.h"

#include "transfer/aggregate.inc"

/* Founders on the device (aggregate.cu); *found: numberings that are one long chain are not. */
cmg_status cmgi_found_in_order_device(cmg_context *ctx, const cmg_csr *S, cmg_index *founder,
                                      bool *found);

/* The nodes of an independent set found aggregates. */
static cmg_status found_around_set(cmg_context *ctx, cmgi_place at, const cmg_csr *S, numbering *to)
{
    rounds r = {.S = *S};
    cmg_size open = 1;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alloc_at(ctx, at, S->rows, sizeof *r.key, &r.key));
    CMGI_TRY_GOTO(done, cmgi_alloc_at(ctx, at, S->rows, sizeof *r.one, &r.one));
    CMGI_TRY_GOTO(done, cmgi_alloc_at(ctx, at, S->rows, sizeof *r.quiet, &r.quiet));
    CMGI_TRY_GOTO(done, make_keys(ctx, at, S->rows, &r));
    while (open > 0) {
        CMGI_TRY_GOTO(done, spread(ctx, at, S->rows, &r));
        CMGI_TRY_GOTO(done, decide(ctx, at, S->rows, &r, &open));
    }
    to->key = r.key;
    CMGI_TRY_GOTO(done, mark_founders(ctx, at, S->rows, to));
done:
    CMGI_FREE_AT(ctx, at, r.key, r.one, r.quiet);
    return status;
}

/*
 * In the order of the nodes: one whose neighbours are all free founds an aggregate with them
 * (Vanek, Mandel, Brezina 1996, algorithm 5.1).
 */
static void found_on_host(const cmg_csr *S, cmg_index *founder)
{
    for (cmg_size i = 0; i < S->rows; ++i) {
        founder[i] = -1;
    }
    for (cmg_size i = 0; i < S->rows; ++i) {
        bool is_free = founder[i] < 0 && S->indptr[i + 1] > S->indptr[i];
        for (cmg_size k = S->indptr[i]; is_free && k < S->indptr[i + 1]; ++k) {
            is_free = founder[S->indices[k]] < 0;
        }
        for (cmg_size k = S->indptr[i]; is_free && k < S->indptr[i + 1]; ++k) {
            founder[S->indices[k]] = (cmg_index)i;
        }
        if (is_free) {
            founder[i] = (cmg_index)i;
        }
    }
}

/* The same of a graph on the device that is fetched. */
static cmg_status found_fetched(cmg_context *ctx, const cmg_csr *S, cmg_size couplings,
                                cmg_index *founder)
{
    cmgi_csr host = {0};
    cmg_index *made = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_resident_fetch(ctx, S, couplings, &host));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, S->rows, sizeof *made, &made));
    found_on_host(&host.view, made);
    CMGI_TRY_GOTO(done, cmgi_to_device(ctx, founder, made, (size_t)S->rows * sizeof *made));
done:
    cmgi_csr_free(ctx, &host);
    cmgi_free(ctx, made);
    return status;
}

static cmg_status found_in_order(cmg_context *ctx, cmgi_place at, const cmg_csr *S,
                                 cmg_size couplings, numbering *to)
{
    static cmg_status (*const on_device)(cmg_context *, const cmg_csr *, cmg_index *, bool *) =
        CMGI_CUDA_FN(cmgi_found_in_order_device);
    bool found = false;
    if (at == CMGI_HOST || on_device == NULL) {
        found_on_host(S, to->founder);
    } else {
        CMGI_TRY(on_device(ctx, S, to->founder, &found));
        if (!found) {
            CMGI_TRY(found_fetched(ctx, S, couplings, to->founder));
        }
    }
    return mark_founders(ctx, at, S->rows, to);
}

/* Neighbours of founders, then theirs; a third round only where S is not symmetric. Of *of and
 * *spare the former has them at the end. */
static cmg_status join_all(cmg_context *ctx, cmgi_place at, const cmg_csr *S, cmg_index **of,
                           cmg_index **spare)
{
    for (cmg_size joined = 1; joined > 0;) {
        const joining step = {*S, *of, *spare};
        CMGI_TRY(keep_aggregates(ctx, at, S->rows, &step));
        CMGI_TRY(join(ctx, at, S->rows, &step, &joined));
        *spare = *of;
        *of = step.to;
    }
    return CMG_OK;
}

cmg_status cmgi_aggregate(cmg_context *ctx, cmgi_place at, const cmg_csr *S, cmg_size couplings,
                          cmg_size in_order, cmgi_aggregates *agg)
{
    const cmg_size n = S->rows;
    cmgi_aggregates made = {.nodes = n, .at = at};
    numbering to = {0};
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alloc_at(ctx, at, n, sizeof *made.of, &made.of));
    CMGI_TRY_GOTO(done, cmgi_alloc_at(ctx, at, n, sizeof *to.founder, &to.founder));
    CMGI_TRY_GOTO(done, cmgi_alloc_at(ctx, at, n + 1, sizeof *to.number, &to.number));
    CMGI_TRY_GOTO(done, couplings > in_order ? found_around_set(ctx, at, S, &to)
                                             : found_in_order(ctx, at, S, couplings, &to));
    CMGI_TRY_GOTO(done, cmgi_offsets_at(ctx, at, n, to.number, &made.count));
    to.of = made.of;
    CMGI_TRY_GOTO(done, number_nodes(ctx, at, n, &to));
    CMGI_TRY_GOTO(done, join_all(ctx, at, S, &made.of, &to.founder));
    *agg = made;
    made = (cmgi_aggregates){0};
done:
    cmgi_aggregates_free(ctx, &made);
    CMGI_FREE_AT(ctx, at, to.founder, to.number);
    return status;
}

void cmgi_aggregates_free(cmg_context *ctx, cmgi_aggregates *agg)
{
    CMGI_FREE_AT(ctx, agg->at, agg->of);
    *agg = (cmgi_aggregates){0};
}
