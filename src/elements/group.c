/* Groups of elements, and the parts that they leave at nodes; see matfree.h. */
#include "elements/matfree.h"

#include <string.h>

typedef struct grower {
    const cmgi_matfree *S;
    const cmg_index *node; /* count x nodes */
    cmg_index *first;      /* elements of a node */
    cmg_index *item;
    cmg_index *reached; /* all: the last group that has the node, counted from 1 */
    cmg_index *seen;    /* count: the last group whose candidate the element was; -1 = taken */
    cmg_index *shared;  /* count: its nodes in that group */
    cmg_index *depth;   /* count: steps from the first element of the group, from node to node */
    cmg_index *candidate;
    cmg_size candidates;
} grower;

static void take(grower *w, cmg_index e, cmg_index group)
{
    const int nn = w->S->nodes;
    w->seen[e] = -1;
    for (int a = 0; a < nn; ++a) {
        const cmg_index n = w->node[(cmg_size)e * nn + a];
        if (n < 0 || w->reached[n] == group) {
            continue;
        }
        w->reached[n] = group;
        for (cmg_index k = w->first[n]; k < w->first[n + 1]; ++k) {
            const cmg_index other = w->item[k] / nn;
            if (w->seen[other] < 0) {
                continue;
            }
            if (w->seen[other] != group) {
                w->seen[other] = group;
                w->shared[other] = 0;
                w->depth[other] = w->depth[e] + 1;
                w->candidate[w->candidates++] = other;
            }
            ++w->shared[other];
            w->depth[other] = w->depth[e] + 1 < w->depth[other] ? w->depth[e] + 1 : w->depth[other];
        }
    }
}

/* The candidate with most nodes in the group, of several the one nearest to where it began, then
 * the lowest number: boxes, not rods. -1 = there is none. */
static cmg_index best_of(grower *w)
{
    cmg_index best = -1;
    cmg_index most = -1; /* of its nodes are in the group */
    cmg_index depth = 0;
    cmg_size kept = 0;
    for (cmg_size k = 0; k < w->candidates; ++k) {
        const cmg_index e = w->candidate[k];
        if (w->seen[e] < 0) {
            continue;
        }
        w->candidate[kept++] = e;
        const cmg_index shared = w->shared[e];
        const bool nearer = w->depth[e] < depth || (e < best && w->depth[e] == depth);
        if (shared > most || (shared == most && nearer)) {
            best = e;
            most = shared;
            depth = w->depth[e];
        }
    }
    w->candidates = kept;
    return best;
}

static void grow_all(grower *w, cmg_index *order)
{
    const cmg_size places = w->S->groups * w->S->lanes;
    cmg_index next = 0; /* every element before it is taken */
    for (cmg_size at = 0; at < places; ++at) {
        const cmg_index group = (cmg_index)(at / w->S->lanes + 1);
        if (at % w->S->lanes == 0) {
            w->candidates = 0;
        }
        cmg_index e = best_of(w);
        while (e < 0 && next < w->S->count) {
            e = w->seen[next] >= 0 ? next : -1;
            w->depth[next] = 0;
            ++next;
        }
        order[at] = e;
        if (e >= 0) {
            take(w, e, group);
        }
    }
}

cmg_status cmgi_matfree_group(cmg_context *ctx, const cmgi_matfree *S, const cmg_index *node,
                              cmg_index *order)
{
    grower w = {.S = S, .node = node};
    CMGI_FREED(ctx, &w.first, &w.item, &w.reached, &w.seen, &w.shared, &w.depth, &w.candidate);
    CMGI_TRY(cmgi_incidence_make(ctx, S->all, S->count * S->nodes, node, &w.first, &w.item));
    CMGI_TRY(cmgi_alloc_zero(ctx, S->all, sizeof *w.reached, &w.reached));
    CMGI_TRY(cmgi_alloc_zero(ctx, S->count, sizeof *w.seen, &w.seen));
    CMGI_TRY(cmgi_alloc(ctx, S->count, sizeof *w.shared, &w.shared));
    CMGI_TRY(cmgi_alloc_zero(ctx, S->count, sizeof *w.depth, &w.depth));
    CMGI_TRY(cmgi_alloc(ctx, S->count, sizeof *w.candidate, &w.candidate));
    grow_all(&w, order);
    return CMG_OK;
}

/* Arrays while parts are counted. */
typedef struct parter {
    cmg_index *place; /* all: part of a node in the group at hand, valid below `end` */
    cmg_index *owner; /* nodes x lanes at most: node of a part */
} parter;

/* Numbers the parts of group g from `begin` on, by the first lane that has them; returns the end.
 */
static cmg_index number_parts(const cmgi_matfree *S, const parter *w, cmg_size g, cmg_index begin,
                              cmg_index *length)
{
    const cmg_size places = (cmg_size)S->nodes * S->lanes;
    const cmg_index *node = S->node + g * places;
    cmg_index end = begin;
    for (cmg_size k = 0; k < places; ++k) {
        const cmg_index n = node[k];
        if (n < 0) {
            continue;
        }
        const cmg_index p = w->place[n];
        if (p < begin || p >= end || w->owner[p - begin] != n) {
            w->place[n] = end;
            w->owner[end - begin] = n;
            length[end - begin] = 0;
            ++end;
        }
        ++length[w->place[n] - begin];
    }
    return end;
}

/* The parts of all groups, and their nodes into `of`. */
static void make_parts(cmgi_matfree *S, const parter *w, cmg_index *length, cmg_index *of)
{
    const cmg_size places = (cmg_size)S->nodes * S->lanes;
    cmg_index parts = 0;
    cmg_index picks = 0;
    for (cmg_size g = 0; g < S->groups; ++g) {
        const cmg_index begin = parts;
        S->part_first[g] = begin;
        parts = number_parts(S, w, g, begin, length);
        for (cmg_index p = begin; p < parts; ++p) {
            of[p] = w->owner[p - begin];
            S->pick_first[p] = picks;
            picks += length[p - begin];
            length[p - begin] = S->pick_first[p];
        }
        for (cmg_size k = 0; k < places; ++k) {
            const cmg_index n = S->node[g * places + k];
            if (n >= 0) {
                S->pick[length[w->place[n] - begin]++] = (uint16_t)k;
            }
        }
    }
    S->part_first[S->groups] = parts;
    S->parts = parts;
    S->pick_first[parts] = picks;
}

cmg_status cmgi_matfree_parts(cmg_context *ctx, cmgi_matfree *S)
{
    const cmg_size places = (cmg_size)S->nodes * S->lanes;
    parter w = {0};
    cmg_size picks = 0;
    CMGI_FREED(ctx, &w.place, &w.owner);
    for (cmg_size k = 0; k < S->groups * places; ++k) {
        picks += S->node[k] >= 0;
    }
    CMGI_TRY(cmgi_alloc(ctx, S->groups + 1, sizeof *S->part_first, &S->part_first));
    CMGI_TRY(cmgi_alloc(ctx, picks, sizeof *S->pick, &S->pick));
    CMGI_TRY(cmgi_alloc(ctx, S->all, sizeof *w.place, &w.place));
    CMGI_TRY(cmgi_alloc(ctx, places, sizeof *w.owner, &w.owner));
    CMGI_SCOPED(ctx, places, cmg_index, length);
    CMGI_TRY(cmgi_alloc(ctx, picks + 1, sizeof *S->pick_first, &S->pick_first)); /* at most */
    CMGI_SCOPED(ctx, picks, cmg_index, of);
    memset(w.place, 0xff, (size_t)S->all * sizeof *w.place);
    make_parts(S, &w, length, of);
    return cmgi_incidence_make(ctx, S->all, S->parts, of, &S->first, &S->list);
}
