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

static bool meets_all(const cmgi_csr *S, cmg_index k, const cmg_index *members, cmg_size length)
{
    for (cmg_size m = 0; m < length; ++m) {
        if (k == members[m] || find(S, members[m], k) < 0) {
            return false;
        }
    }
    return true;
}

/* The clique around the edge (i, j), j = i for a vertex alone; returns its length. */
static cmg_size grow(const cmgi_csr *S, cmg_size i, cmg_index j, cmg_size limit, cmg_index *members)
{
    cmg_size length = 0;
    members[length++] = (cmg_index)i;
    if (j != i) {
        members[length++] = j;
    }
    for (cmg_size k = S->indptr[i]; k < S->indptr[i + 1] && length < limit; ++k) {
        if (meets_all(S, S->indices[k], members, length)) {
            members[length++] = S->indices[k];
        }
    }
    qsort(members, (size_t)length, sizeof *members, cmgi_ascending_index);
    return length;
}

static void cover(const cmgi_csr *S, const cmg_index *members, cmg_size length, bool *covered)
{
    for (cmg_size a = 0; a < length; ++a) {
        for (cmg_size b = 0; b < length; ++b) {
            covered[find(S, members[a], members[b])] = true;
        }
    }
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

static cmg_status find_all(cmg_context *ctx, const cmgi_csr *S, cmg_size limit, bool *covered,
                           cmgi_cliques *c)
{
    for (cmg_size i = 0; i < S->rows; ++i) {
        if (i % 16384 == 0) {
            CMGI_TRY(cmgi_progress(ctx, "element patches", i, S->rows));
        }
        for (cmg_size k = S->indptr[i]; k < S->indptr[i + 1]; ++k) {
            const bool alone = S->indices[k] == i && S->indptr[i + 1] - S->indptr[i] > 1;
            if (covered[k] || alone) {
                continue; /* the diagonal is covered with the first edge */
            }
            const cmg_size at = c->first[c->count];
            CMGI_TRY(enlarge(ctx, &c->members, sizeof *c->members, at + limit, &c->room[1]));
            CMGI_TRY(enlarge(ctx, &c->first, sizeof *c->first, c->count + 2, &c->room[0]));
            const cmg_size length = grow(S, i, S->indices[k], limit, c->members + at);
            cover(S, c->members + at, length, covered);
            c->first[++c->count] = at + length;
            c->largest = length > c->largest ? length : c->largest;
        }
    }
    return CMG_OK;
}

cmg_status cmgi_cliques_find(cmg_context *ctx, const cmgi_csr *S, cmg_size limit, cmgi_cliques *c)
{
    cmgi_cliques made = {0};
    CMGI_RELEASED(cmgi_cliques_free, ctx, &made);
    CMGI_SCOPED_ZERO(ctx, S->indptr[S->rows], bool, covered);
    CMGI_TRY(enlarge(ctx, &made.first, sizeof *made.first, S->rows + 2, &made.room[0]));
    made.first[0] = 0;
    CMGI_TRY(find_all(ctx, S, limit, covered, &made));
    CMGI_PASS_ON(&made, c);
    return CMG_OK;
}

void cmgi_cliques_free(cmg_context *ctx, cmgi_cliques *c)
{
    CMGI_FREE(ctx, c->first, c->members);
    *c = (cmgi_cliques){0};
}
