/*
 * Greedy cover of the edges of a graph by cliques: an edge that is not covered yet is enlarged,
 * neighbour by neighbour in ascending order, to a clique, whose edges are all covered then. In the
 * graph of a mesh every element has an edge (a diagonal, or one to an inner node) that no other
 * element has; the clique around that edge is the element.
 */
#include "csr/cliques.h"

#include "core/memory.h"
#include "core/order.h"
#include "core/search.h"

#include <stdlib.h>
#include <string.h>

/* Position of column j in row i, -1 if it is not there. */
static cmg_size find(const cmgi_csr *S, cmg_size i, cmg_index j)
{
    return cmgi_find_index(S->indices, S->indptr[i], S->indptr[i + 1], j);
}

/* The clique around the edge (i, j), j = i for a vertex alone, whose edges are covered then;
 * returns its length. */
static cmg_size grow(const cmgi_csr *S, cmg_size i, cmg_index j, cmg_size limit, cmg_index *members,
                     bool *covered)
{
    cmg_size length = 0;
    members[length++] = (cmg_index)i;
    if (j != i) {
        members[length++] = j;
    }
    for (cmg_size k = S->indptr[i]; k < S->indptr[i + 1] && length < limit; ++k) {
        const cmg_index next = S->indices[k];
        cmg_size met = 0;
        while (met < length && next != members[met] && find(S, members[met], next) >= 0) {
            ++met;
        }
        if (met == length) {
            members[length++] = next;
        }
    }
    qsort(members, (size_t)length, sizeof *members, cmgi_ascending_index);
    for (cmg_size e = 0; e < length * length; ++e) {
        covered[find(S, members[e / length], members[e % length])] = true;
    }
    return length;
}

/* *array of `size`-byte elements gets room for `wanted`, at least twice what it had. */
static cmg_status enlarge(cmg_context *ctx, void *array, size_t size, cmg_size wanted,
                          cmg_size *room)
{
    if (wanted <= *room) {
        return CMG_OK;
    }
    void *old = NULL;
    void *made = NULL;
    const cmg_size twice = 2 * *room > wanted ? 2 * *room : wanted;
    memcpy(&old, array, sizeof old);
    CMGI_TRY(cmgi_alloc(ctx, twice, size, &made));
    if (*room > 0) {
        memcpy(made, old, (size_t)*room * size);
    }
    cmgi_free(ctx, old);
    memcpy(array, &made, sizeof made);
    *room = twice;
    return CMG_OK;
}

cmg_status cmgi_cliques_find(cmg_context *ctx, const cmgi_csr *S, cmg_size limit, cmgi_cliques *c)
{
    cmgi_cliques made = {0};
    CMGI_RELEASED(cmgi_cliques_free, ctx, &made);
    CMGI_SCOPED_ZERO(ctx, S->indptr[S->rows], bool, covered);
    CMGI_TRY(enlarge(ctx, &made.first, sizeof *made.first, S->rows + 2, &made.room[0]));
    made.first[0] = 0;
    for (cmg_size i = 0; i < S->rows; ++i) {
        if (i % 16384 == 0) {
            CMGI_TRY(cmgi_progress(ctx, "element patches", i, S->rows));
        }
        for (cmg_size k = S->indptr[i]; k < S->indptr[i + 1]; ++k) {
            const bool alone = S->indices[k] == i && S->indptr[i + 1] - S->indptr[i] > 1;
            if (covered[k] || alone) {
                continue; /* the diagonal is covered with the first edge */
            }
            const cmg_size at = made.first[made.count];
            CMGI_TRY(enlarge(ctx, &made.members, sizeof *made.members, at + limit, &made.room[1]));
            CMGI_TRY(enlarge(ctx, &made.first, sizeof *made.first, made.count + 2, &made.room[0]));
            const cmg_size length = grow(S, i, S->indices[k], limit, made.members + at, covered);
            made.first[++made.count] = at + length;
            made.largest = length > made.largest ? length : made.largest;
        }
    }
    CMGI_PASS_ON(&made, c);
    return CMG_OK;
}

void cmgi_cliques_free(cmg_context *ctx, cmgi_cliques *c)
{
    CMGI_FREE(ctx, c->first, c->members);
    *c = (cmgi_cliques){0};
}
