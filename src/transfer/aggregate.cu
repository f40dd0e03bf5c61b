/*
 * Aggregates of a graph on the device: the rounds of aggregate.inc, and the order of the nodes,
 * which the host takes one after the other: on the device a node founds its aggregate in the round
 * in which it is the first of all undecided ones that would touch any of its nodes, which comes to
 * the same.
 */
#include "core/each.h"

extern "C" {
#include "transfer/aggregate_rows.h"
}
#include "transfer/aggregate.inc"

static const unsigned BATCH = 16;
static const unsigned MOST_ROUNDS = 4096;

/* Notes of undecided nodes at the nodes that they would take. */
typedef struct claims {
    cmg_csr S;
    unsigned round; /* falls, so that notes of earlier rounds give way */
    cmg_index *founder;
    bool *waits;
    unsigned long long *first;
} claims;

CMGI_EACH_INDEX(begin_claims, claims)
{
    a.waits[i] = a.S.indptr[i + 1] > a.S.indptr[i];
    a.founder[i] = -1;
    a.first[i] = ~0ULL;
}

static __device__ __forceinline__ unsigned long long note_of(const claims &a, cmg_size i)
{
    return (unsigned long long)a.round << 32 | (unsigned long long)i;
}

/* Undecided nodes whose nodes are all free note themselves at each. */
CMGI_EACH_BUSY(claim, claims, a.waits[i])
{
    const cmg_size begin = real ? a.S.indptr[i] : 0;
    const cmg_size end = real ? a.S.indptr[i + 1] : 0;
    bool taken = real && a.founder[i] >= 0;
    for (cmg_size k = begin + lane; k < end; k += CMGI_STEP) {
        taken = taken || a.founder[a.S.indices[k]] >= 0;
    }
    taken = cmgi_row_any(taken);
    for (cmg_size k = begin + lane; !taken && k < end; k += CMGI_STEP) {
        atomicMin(&a.first[a.S.indices[k]], note_of(a, i));
    }
    if (real && lane == 0) {
        if (taken) {
            a.waits[i] = false;
        } else {
            atomicMin(&a.first[i], note_of(a, i));
        }
    }
}

/* Those that are first at all of their nodes found an aggregate with them. */
CMGI_EACH_BUSY(found, claims, a.waits[i])
{
    const cmg_size begin = real ? a.S.indptr[i] : 0;
    const cmg_size end = real ? a.S.indptr[i + 1] : 0;
    bool late = real && a.first[i] != note_of(a, i);
    for (cmg_size k = begin + lane; k < end; k += CMGI_STEP) {
        late = late || a.first[a.S.indices[k]] != note_of(a, i);
    }
    late = cmgi_row_any(late);
    for (cmg_size k = begin + lane; !late && k < end; k += CMGI_STEP) {
        a.founder[a.S.indices[k]] = (cmg_index)i;
    }
    if (real && !late && lane == 0) {
        a.founder[i] = (cmg_index)i;
        a.waits[i] = false;
    }
}

CMGI_COUNT_INDEX(count_waiting, claims)
{
    return a.waits[i];
}

/*
 * Rounds in multiples of BATCH. Grids that are numbered line by line take 13 n^(1/3) in 3D and 4
 * n^(1/2) in 2D, one line n / 3, which is more than the host's way costs.
 */
static unsigned most_rounds(cmg_size n)
{
    const unsigned wanted = (unsigned)(8 * sqrt((double)n)) / BATCH * BATCH + 4 * BATCH;
    return wanted < MOST_ROUNDS ? wanted : MOST_ROUNDS;
}

extern "C" cmg_status cmgi_found_in_order_device(cmg_context *ctx, const cmg_csr *S,
                                                 cmg_index *founder, bool *found)
{
    const cmg_size n = S->rows;
    claims c = {*S, most_rounds(n), founder, NULL, NULL};
    cmg_size waiting = 1;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, n, sizeof *c.waits, &c.waits));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, n, sizeof *c.first, &c.first));
    CMGI_TRY_GOTO(done, cmgi_begin_claims_device(ctx, n, &c));
    for (; c.round > 0 && waiting > 0; --c.round) {
        CMGI_TRY_GOTO(done, cmgi_claim_device(ctx, n, &c));
        CMGI_TRY_GOTO(done, cmgi_found_device(ctx, n, &c));
        if (c.round % BATCH == 0) {
            CMGI_TRY_GOTO(done, cmgi_count_waiting_device(ctx, n, &c, &waiting));
        }
    }
    *found = waiting == 0;
done:
    cmgi_free_device(ctx, c.waits);
    cmgi_free_device(ctx, c.first);
    return status;
}
