/*
 * Aggregates: a maximal independent set of distance 2 has one root in reach of every node and none
 * within two steps of another; a root takes its neighbours, and what is left joins the neighbour it
 * is coupled to most. The set is found by rounds in which a node enters where its key is the
 * largest within two steps (Bell, Dalton, Olson 2012, algorithm 5); keys are hashes of the node's
 * number.
 */
#include "transfer/aggregate.h"

#include "core/memory.h"
#include "transfer/aggregate_rows.h"

/* to_i = the largest of from over i and its neighbours */
static void spread(cmg_context *ctx, const cmgi_csr *S, const uint64_t *from, uint64_t *to)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (S->rows > 1024)
    for (cmg_size i = 0; i < S->rows; ++i) {
        uint64_t largest = from[i];
        for (cmg_size k = S->indptr[i]; k < S->indptr[i + 1]; ++k) {
            const uint64_t other = from[S->indices[k]];
            largest = other > largest ? other : largest;
        }
        to[i] = largest;
    }
}

/* Sets the state of every key to IN or OUT. */
static cmg_status independent_set(cmg_context *ctx, const cmgi_csr *S, uint64_t *key)
{
    uint64_t *one = NULL;
    uint64_t *two = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, S->rows, sizeof *one, &one));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, S->rows, sizeof *two, &two));
    for (cmg_size open = 1; open > 0;) {
        spread(ctx, S, key, one);
        spread(ctx, S, one, two);
        open = 0;
#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(+ : open)
        for (cmg_size i = 0; i < S->rows; ++i) {
            if (cmgi_key_state(key[i]) == CMGI_NODE_OPEN) {
                key[i] = cmgi_key_decided(key[i], two[i]);
                open += cmgi_key_state(key[i]) == CMGI_NODE_OPEN;
            }
        }
    }
done:
    CMGI_FREE(ctx, one, two);
    return status;
}

/* Nodes of no aggregate join that of the neighbour they are coupled to most; returns how many. */
static cmg_size join(cmg_context *ctx, const cmgi_csr *S, const cmg_index *from, cmg_index *to)
{
    cmg_size joined = 0;
#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(+ : joined)
    for (cmg_size i = 0; i < S->rows; ++i) {
        double most = 0;
        to[i] = from[i];
        for (cmg_size k = S->indptr[i]; k < S->indptr[i + 1] && from[i] < 0; ++k) {
            if (from[S->indices[k]] >= 0 && S->values[k] > most) {
                most = S->values[k];
                to[i] = from[S->indices[k]];
            }
        }
        joined += from[i] < 0 && to[i] >= 0;
    }
    return joined;
}

/* Numbers the roots of an independent set; all other nodes have no aggregate yet. */
static cmg_status aggregate_around_set(cmg_context *ctx, const cmgi_csr *S, cmgi_aggregates *agg)
{
    uint64_t *key = NULL;
    CMGI_TRY(cmgi_alloc(ctx, S->rows, sizeof *key, &key));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (S->rows > 1024)
    for (cmg_size i = 0; i < S->rows; ++i) {
        key[i] = cmgi_key_of(i, S->indptr[i + 1] > S->indptr[i]);
    }
    const cmg_status status = independent_set(ctx, S, key);
    for (cmg_size i = 0; i < S->rows && status == CMG_OK; ++i) {
        agg->of[i] = cmgi_key_state(key[i]) == CMGI_NODE_IN ? (cmg_index)agg->count++ : -1;
    }
    cmgi_free(ctx, key);
    return status;
}

/*
 * In the order of the nodes: one whose neighbours are all free founds an aggregate with them
 * (Vanek, Mandel, Brezina 1996, algorithm 5.1).
 */
static void aggregate_in_order(const cmgi_csr *S, cmgi_aggregates *agg)
{
    for (cmg_size i = 0; i < S->rows; ++i) {
        agg->of[i] = -1;
    }
    for (cmg_size i = 0; i < S->rows; ++i) {
        bool is_free = agg->of[i] < 0 && S->indptr[i + 1] > S->indptr[i];
        for (cmg_size k = S->indptr[i]; is_free && k < S->indptr[i + 1]; ++k) {
            is_free = agg->of[S->indices[k]] < 0;
        }
        for (cmg_size k = S->indptr[i]; is_free && k < S->indptr[i + 1]; ++k) {
            agg->of[S->indices[k]] = (cmg_index)agg->count;
        }
        if (is_free) {
            agg->of[i] = (cmg_index)agg->count++;
        }
    }
}

cmg_status cmgi_aggregate(cmg_context *ctx, const cmgi_csr *S, cmg_size in_order,
                          cmgi_aggregates *agg)
{
    const cmg_size n = S->rows;
    cmgi_aggregates made = {.nodes = n};
    cmg_index *next = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, n, sizeof *next, &next));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, n, sizeof *made.of, &made.of));
    if (S->indptr[n] <= in_order) {
        aggregate_in_order(S, &made);
    } else {
        CMGI_TRY_GOTO(done, aggregate_around_set(ctx, S, &made));
    }
    /* neighbours of roots, then theirs; a third round only where S is not symmetric */
    while (join(ctx, S, made.of, next) > 0) {
        cmg_index *swapped = made.of;
        made.of = next;
        next = swapped;
    }
    *agg = made;
    made = (cmgi_aggregates){0};
done:
    cmgi_aggregates_free(ctx, &made);
    cmgi_free(ctx, next);
    return status;
}

void cmgi_aggregates_free(cmg_context *ctx, cmgi_aggregates *agg)
{
    cmgi_free(ctx, agg->of);
    *agg = (cmgi_aggregates){0};
}
