/* Patches of elements: grown, coloured, numbered; see patches.h. */
#include "elements/patches.h"

#include "core/memory.h"
#include "core/order.h"

#include <stdlib.h>
#include <string.h>

enum { COLOURS = 64, EIGHT = 8 };

/* What patches are made of. */
typedef struct maker {
    cmg_context *ctx;
    const cmg_elements *E;
    const cmg_index *node; /* elements x nodes */
    int nodes;
    int block;
    cmg_index *first; /* elements of a node */
    cmg_index *item;
    cmg_index *patch;   /* elements: the patch, -1 = none yet */
    cmg_index *offered; /* elements: the last patch that could have it */
    cmg_index *reached; /* nodes: the last patch that has it */
    cmg_index *member;  /* elements in the order of the patches */
    cmg_index *begin;   /* patches + 1: of a patch in `member` */
    cmg_size taken;
    cmg_size patches;
} maker;

int cmgi_patches_rounds(int nodes, int block)
{
    const int rounds = (nodes + 3) / 4;
    return rounds == 1 || (rounds == 2 && block != 2) ? rounds : 0;
}

/* Adds an element to patch p; returns how many nodes are new to it. */
static cmg_size take(maker *m, cmg_index e, cmg_index p)
{
    cmg_size added = 0;
    m->patch[e] = p;
    m->member[m->taken++] = e;
    for (int a = 0; a < m->nodes; ++a) {
        const cmg_index n = m->node[(cmg_size)e * m->nodes + a];
        if (n >= 0 && m->reached[n] != p) {
            m->reached[n] = p;
            ++added;
        }
    }
    return added;
}

/* Elements that meet those of member[from .. to - 1] and no other patch has, behind `to`. */
static cmg_size next_shell(maker *m, cmg_size from, cmg_size to, cmg_index p, cmg_index *shell)
{
    cmg_size count = 0;
    for (cmg_size k = from; k < to; ++k) {
        for (int a = 0; a < m->nodes; ++a) {
            const cmg_index n = m->node[(cmg_size)m->member[k] * m->nodes + a];
            for (cmg_index i = n >= 0 ? m->first[n] : 0; n >= 0 && i < m->first[n + 1]; ++i) {
                const cmg_index e = m->item[i] / m->nodes;
                if (m->patch[e] < 0 && m->offered[e] != p) {
                    m->offered[e] = p;
                    shell[count++] = e;
                }
            }
        }
    }
    return count;
}

/*
 * Shell by shell around an element: cubes of a lattice, where the element is the corner of what is
 * left. A shell that does not fit ends a patch, or is cut where the patch is small still.
 */
static void grow(maker *m, cmg_index seed, cmg_index p, cmg_index *shell)
{
    const cmg_size room = CMGI_PATCH_VALUES / m->block;
    const cmg_size begin = m->taken;
    cmg_size nodes = take(m, seed, p);
    cmg_size from = begin;
    for (;;) {
        const cmg_size to = m->taken;
        const cmg_size count = next_shell(m, from, to, p, shell);
        const cmg_size size = to - begin;
        const bool fits = size + count <= CMGI_PATCH_ELEMENTS;
        if (count == 0 || (!fits && 2 * size >= CMGI_PATCH_ELEMENTS)) {
            return;
        }
        qsort(shell, (size_t)count, sizeof *shell, cmgi_ascending_index);
        for (cmg_size k = 0; k < count; ++k) {
            if (m->taken - begin == CMGI_PATCH_ELEMENTS || nodes + m->nodes > room) {
                return;
            }
            nodes += take(m, shell[k], p);
        }
        from = to;
    }
}

static cmg_status grow_all(maker *m)
{
    const cmg_size count = m->E->count;
    CMGI_SCOPED(m->ctx, count, cmg_index, shell);
    for (cmg_size e = 0; e < count; ++e) {
        m->patch[e] = -1;
        m->offered[e] = -1;
    }
    memset(m->reached, 0xff, (size_t)(m->E->rows / m->block) * sizeof *m->reached);
    m->begin[0] = 0;
    for (cmg_size e = 0; e < count; ++e) {
        if (m->patch[e] < 0) {
            grow(m, (cmg_index)e, (cmg_index)m->patches, shell);
            m->begin[++m->patches] = (cmg_index)m->taken;
        }
    }
    return CMG_OK;
}

/* Of an element in its patch. */
typedef struct place {
    int colour;
    cmg_index number;
    cmg_index element;
} place;

static int by_colour(const void *a, const void *b)
{
    const place *p = a;
    const place *q = b;
    const int by = p->colour != q->colour ? p->colour - q->colour : p->number - q->number;
    return by != 0 ? by : p->element - q->element;
}

/* The least colours that no element at the same nodes has, in the order of the elements; false when
 * they do not suffice. `used`: colours at a node. */
static bool colour(const maker *m, cmg_size p, uint64_t *used, place *places)
{
    cmg_index *member = m->member + m->begin[p];
    const cmg_size count = m->begin[p + 1] - m->begin[p];
    qsort(member, (size_t)count, sizeof *member, cmgi_ascending_index);
    for (cmg_size k = 0; k < count; ++k) {
        const cmg_index *node = m->node + (cmg_size)member[k] * m->nodes;
        uint64_t taken = 0;
        for (int a = 0; a < m->nodes; ++a) {
            taken |= node[a] >= 0 ? used[node[a]] : 0;
        }
        int c = 0;
        while (c < COLOURS && (taken >> c & 1) != 0) {
            ++c;
        }
        if (c == COLOURS) {
            return false;
        }
        for (int a = 0; a < m->nodes; ++a) {
            if (node[a] >= 0) {
                used[node[a]] |= (uint64_t)1 << c;
            }
        }
        places[k] = (place){c, m->E->number != NULL ? m->E->number[member[k]] : 0, member[k]};
    }
    for (cmg_size k = 0; k < count; ++k) { /* for the next patch */
        for (int a = 0; a < m->nodes; ++a) {
            const cmg_index n = m->node[(cmg_size)member[k] * m->nodes + a];
            if (n >= 0) {
                used[n] = 0;
            }
        }
    }
    qsort(places, (size_t)count, sizeof *places, by_colour);
    return true;
}

/* Batches of patch p from places in order; counted where P->order is NULL. */
static void cut_batches(const maker *m, cmg_size p, const place *places, cmgi_patches *P)
{
    const cmg_size count = m->begin[p + 1] - m->begin[p];
    cmg_size in = EIGHT; /* elements of the batch */
    for (cmg_size k = 0; k < count; ++k) {
        const bool other = k == 0 || places[k].colour != places[k - 1].colour;
        if (other && P->order != NULL) {
            P->first_batch[P->colours] = (cmg_index)P->batches;
        }
        P->colours += other;
        if (in == EIGHT || other || places[k].number != places[k - 1].number) {
            if (P->number != NULL) {
                P->number[P->batches] = places[k].number;
            }
            ++P->batches;
            in = 0;
        }
        if (P->order != NULL) {
            P->order[(P->batches - 1) * EIGHT + in] = places[k].element;
        }
        ++in;
    }
}

/* Twice: counts, then fills. *fits = false: too few colours. */
static cmg_status order_elements(const maker *m, cmgi_patches *P, bool *fits)
{
    cmg_context *ctx = m->ctx;
    *fits = true;
    CMGI_SCOPED_ZERO(ctx, m->E->rows / m->block, uint64_t, used);
    CMGI_SCOPED(ctx, m->E->count, place, places);
    for (cmg_size p = 0; p < m->patches && *fits; ++p) {
        *fits = colour(m, p, used, places + m->begin[p]);
        P->first_colour[p] = (cmg_index)P->colours;
        if (*fits) {
            cut_batches(m, p, places + m->begin[p], P);
        }
    }
    if (!*fits) {
        return CMG_OK;
    }
    P->first_colour[m->patches] = (cmg_index)P->colours;
    CMGI_TRY(cmgi_alloc(ctx, P->colours + 1, sizeof *P->first_batch, &P->first_batch));
    CMGI_TRY(cmgi_alloc(ctx, P->batches * EIGHT, sizeof *P->order, &P->order));
    if (m->E->number != NULL && m->E->templates > 1) {
        CMGI_TRY(cmgi_alloc(ctx, P->batches, sizeof *P->number, &P->number));
    }
    memset(P->order, 0xff, (size_t)(P->batches * EIGHT) * sizeof *P->order);
    P->colours = 0;
    P->batches = 0;
    for (cmg_size p = 0; p < m->patches; ++p) {
        cut_batches(m, p, places + m->begin[p], P);
    }
    P->first_batch[P->colours] = (cmg_index)P->batches;
    return CMG_OK;
}

/* The nodes of patch p, ascending: own ones first; how many of each. */
static void list_nodes(maker *m, cmg_size p, cmg_index *list, cmg_size *own, cmg_size *shared)
{
    cmg_size count = 0;
    for (cmg_index k = m->begin[p]; k < m->begin[p + 1]; ++k) {
        for (int a = 0; a < m->nodes; ++a) {
            const cmg_index n = m->node[(cmg_size)m->member[k] * m->nodes + a];
            if (n >= 0 && m->reached[n] != (cmg_index)p) {
                m->reached[n] = (cmg_index)p;
                list[count++] = n;
            }
        }
    }
    qsort(list, (size_t)count, sizeof *list, cmgi_ascending_index);
    cmg_index *other = list + count; /* room for twice as many */
    *own = 0;
    *shared = 0;
    for (cmg_size k = 0; k < count; ++k) {
        cmg_index i = m->first[list[k]];
        while (i < m->first[list[k] + 1] && m->patch[m->item[i] / m->nodes] == (cmg_index)p) {
            ++i;
        }
        if (i == m->first[list[k] + 1]) { /* all its elements are in the patch */
            list[(*own)++] = list[k];
        } else {
            other[(*shared)++] = list[k];
        }
    }
    memmove(list + *own, other, (size_t)*shared * sizeof *list);
}

/* Nodes and parts of all patches; of[part]: the node. */
static cmg_status number_nodes(maker *m, cmgi_patches *P, cmg_index **of)
{
    cmg_context *ctx = m->ctx;
    const cmg_size all = m->E->rows / m->block;
    const cmg_size room = m->E->count * m->nodes;
    memset(m->reached, 0xff, (size_t)all * sizeof *m->reached);
    CMGI_SCOPED(ctx, 2 * CMGI_PATCH_VALUES, cmg_index, list);
    CMGI_SCOPED(ctx, all, cmg_index, at);
    CMGI_TRY(cmgi_alloc(ctx, room, sizeof *P->node, &P->node));
    CMGI_TRY(cmgi_alloc(ctx, room, sizeof **of, of));
    CMGI_TRY(cmgi_alloc(ctx, P->batches * 32 * P->rounds, sizeof *P->local, &P->local));
    for (cmg_size p = 0; p < P->count; ++p) {
        cmg_size own = 0;
        cmg_size shared = 0;
        list_nodes(m, p, list, &own, &shared);
        P->first_node[p] = (cmg_index)P->nodes;
        P->first_part[p] = (cmg_index)P->parts;
        for (cmg_size k = 0; k < own + shared; ++k) {
            at[list[k]] = (cmg_index)k;
            P->node[P->nodes++] = list[k];
            if (k >= own) {
                (*of)[P->parts++] = list[k];
            }
        }
        P->most = own + shared > P->most ? (cmg_index)(own + shared) : P->most;
        const cmg_size first = P->first_batch[P->first_colour[p]];
        const cmg_size end = P->first_batch[P->first_colour[p + 1]];
        for (cmg_size k = first * EIGHT; k < end * EIGHT; ++k) {
            for (int a = 0; a < 4 * P->rounds; ++a) {
                const cmg_index n = P->order[k] >= 0 && a < m->nodes
                                        ? m->node[(cmg_size)P->order[k] * m->nodes + a]
                                        : -1;
                P->local[(k * 4 + a % 4) * P->rounds + a / 4] =
                    n >= 0 ? (uint16_t)at[n] : (uint16_t)CMGI_PATCH_NONE;
            }
        }
    }
    P->first_node[P->count] = (cmg_index)P->nodes;
    P->first_part[P->count] = (cmg_index)P->parts;
    return CMG_OK;
}

/* The nodes that the second kernel writes, and their parts in the order of the patches. */
static cmg_status list_shared(const maker *m, cmgi_patches *P, const cmg_index *of)
{
    cmg_context *ctx = m->ctx;
    const cmg_size all = m->E->rows / m->block;
    cmgi_scoped cmg_index *start = NULL;
    CMGI_TRY(cmgi_incidence_make(ctx, all, P->parts, of, &start, &P->shared_part));
    for (cmg_size n = 0; n < all; ++n) {
        P->shared += start[n + 1] > start[n] || m->first[n + 1] == m->first[n];
    }
    cmg_size count = 0;
    CMGI_TRY(cmgi_alloc(ctx, P->shared, sizeof *P->shared_node, &P->shared_node));
    CMGI_TRY(cmgi_alloc(ctx, P->shared + 1, sizeof *P->shared_first, &P->shared_first));
    for (cmg_size n = 0; n < all; ++n) {
        if (start[n + 1] > start[n] || m->first[n + 1] == m->first[n]) {
            P->shared_first[count] = start[n];
            P->shared_node[count++] = (cmg_index)n;
        }
    }
    P->shared_first[count] = start[all];
    return CMG_OK;
}

/* u(t, s); -1 = there is none. */
static int unknown(const maker *m, int rounds, int t, int s)
{
    const int a = t + 4 * (s / m->block);
    return s < rounds * m->block && a < m->nodes ? a * m->block + s % m->block : -1;
}

static cmg_status arrange_matrices(const maker *m, cmgi_patches *P)
{
    const int steps = P->rounds * m->block;
    const int eights = (steps + 1) / 2;
    const int n = m->E->local;
    CMGI_TRY(
        cmgi_alloc(m->ctx, m->E->templates * steps * eights * 32, sizeof *P->matrix, &P->matrix));
    double *to = P->matrix;
    for (cmg_size t = 0; t < m->E->templates; ++t) {
        const double *K = m->E->matrices + t * n * n;
        for (int g = 0; g < steps; ++g) {
            for (int f = 0; f < eights; ++f) {
                for (int lane = 0; lane < 32; ++lane) {
                    const int row = unknown(m, P->rounds, lane / 8, 2 * f + lane / 4 % 2);
                    const int column = unknown(m, P->rounds, lane % 4, g);
                    *to++ = row >= 0 && column >= 0 ? K[row * n + column] : 0;
                }
            }
        }
    }
    return CMG_OK;
}

static cmg_status make(maker *m, cmgi_patches *P, bool *fits)
{
    cmg_context *ctx = m->ctx;
    cmgi_scoped cmg_index *of = NULL;
    CMGI_TRY(grow_all(m));
    P->count = m->patches;
    CMGI_TRY(cmgi_alloc(ctx, P->count + 1, sizeof *P->first_colour, &P->first_colour));
    CMGI_TRY(cmgi_alloc(ctx, P->count + 1, sizeof *P->first_node, &P->first_node));
    CMGI_TRY(cmgi_alloc(ctx, P->count + 1, sizeof *P->first_part, &P->first_part));
    CMGI_TRY(order_elements(m, P, fits));
    if (!*fits) {
        return CMG_OK;
    }
    CMGI_TRY(number_nodes(m, P, &of));
    CMGI_TRY(list_shared(m, P, of));
    return arrange_matrices(m, P);
}

cmg_status cmgi_patches_make(cmg_context *ctx, const cmg_elements *E, const cmg_index *node,
                             int block, cmgi_patches **made)
{
    maker m = {.ctx = ctx, .E = E, .node = node, .nodes = E->local / block, .block = block};
    const cmg_size all = E->rows / block;
    cmgi_patches *P = NULL;
    bool fits = false;
    CMGI_FREED(ctx, &m.first, &m.item, &m.patch, &m.offered, &m.member, &m.begin, &m.reached);
    CMGI_TRY(cmgi_incidence_make(ctx, all, E->count * m.nodes, node, &m.first, &m.item));
    CMGI_TRY(cmgi_alloc(ctx, E->count, sizeof *m.patch, &m.patch));
    CMGI_TRY(cmgi_alloc(ctx, E->count, sizeof *m.offered, &m.offered));
    CMGI_TRY(cmgi_alloc(ctx, E->count, sizeof *m.member, &m.member));
    CMGI_TRY(cmgi_alloc(ctx, E->count + 1, sizeof *m.begin, &m.begin));
    CMGI_TRY(cmgi_alloc(ctx, all, sizeof *m.reached, &m.reached));
    CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *P, &P));
    P->rounds = cmgi_patches_rounds(m.nodes, block);
    const cmg_status status = make(&m, P, &fits);
    if (status == CMG_OK && fits) {
        *made = P;
    } else {
        cmgi_patches_free(ctx, P);
    }
    return status;
}

cmg_status cmgi_patches_move(cmg_context *ctx, cmgi_patches *P)
{
    CMGI_TRY(cmgi_move_to_device(ctx, &P->node, P->nodes, sizeof *P->node)); /* of room for more */
    return CMGI_MOVE(ctx, &P->first_colour, &P->first_batch, &P->first_node, &P->first_part,
                     &P->local, &P->number, &P->shared_node, &P->shared_first, &P->shared_part,
                     &P->matrix);
}

size_t cmgi_patches_bytes(const cmgi_patches *P, cmg_size templates, int block, size_t value)
{
    const cmg_size steps = (cmg_size)P->rounds * block;
    const cmg_size matrix = steps * ((steps + 1) / 2) * 32;
    const cmg_size indices = 3 * (P->count + 1) + P->colours + 1 + P->nodes + 2 * P->shared + 1 +
                             P->parts + (P->number != NULL ? P->batches : 0);
    return (size_t)indices * sizeof(cmg_index) +
           (size_t)(P->batches * 32 * P->rounds) * sizeof *P->local +
           (size_t)(templates * matrix) * sizeof *P->matrix +
           2 * (size_t)P->parts * (size_t)block * value; /* parts are written and read again */
}

void cmgi_patches_free(cmg_context *ctx, cmgi_patches *P)
{
    if (P == NULL) {
        return;
    }
    CMGI_FREE_DEVICE(ctx, P->first_colour, P->first_batch, P->first_node, P->first_part, P->node,
                     P->local, P->number, P->shared_node, P->shared_first, P->shared_part,
                     P->matrix);
    cmgi_free(ctx, P->order);
    cmgi_free(ctx, P);
}
