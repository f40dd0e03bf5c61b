/*
 * Numberings of matrices on the device. Rows that come one after the other claim the columns that
 * no earlier one has; each is numbered by the first that claims it, and by its place there. Of a
 * matrix in fronts, its own columns as the next, that is the search of Cuthill and McKee (1969), of
 * P the order of the coarse unknowns.
 */
#include "core/each.h"

extern "C" {
#include "csr/resident.h"
#include "hierarchy/numbered.h"
}

#include <climits>

/* Rows that claim columns. */
typedef struct claiming {
    cmg_csr A;
    const cmg_index *row; /* the rows, in order; as nodes, or, where `unknowns`, as they are */
    bool unknowns;
    int block;      /* unknowns a node of the columns, and of the rows if these are nodes */
    bool by_degree; /* of the columns of one row, else by entry */
    int begin;      /* number of the first row */
    int *first;     /* the first row that has each column's node; INT_MAX none */
    cmg_index *place;
    cmg_index *order; /* of the columns' nodes, from the end of what is numbered */
    cmg_size end;
    cmg_size *count; /* columns of each row, then where they begin */
} claiming;

static __device__ __forceinline__ cmg_size row_of(const claiming &a, cmg_size i)
{
    const cmg_size row = a.row != NULL ? a.row[i] : i;
    return a.unknowns ? row : row * a.block;
}

static __device__ __forceinline__ cmg_index node_of(const claiming &a, cmg_size e)
{
    return a.A.indices[e] / a.block;
}

/* Whether entry e of a row from `begin` on is the first of a node that this row, number `own`, has
 * claimed. */
static __device__ __forceinline__ bool is_child(const claiming &a, cmg_size begin, cmg_size e,
                                                int own)
{
    const cmg_index node = node_of(a, e);
    bool mine = a.first[node] == own;
    for (cmg_size k = begin; mine && a.block > 1 && k < e; ++k) {
        mine = node_of(a, k) != node;
    }
    return mine;
}

static __device__ __forceinline__ cmg_size key_of(const claiming &a, cmg_size e)
{
    const cmg_size node = node_of(a, e);
    const cmg_size row = node * a.block;
    return a.by_degree ? (a.A.indptr[row + 1] - a.A.indptr[row]) << 32 | node : e;
}

CMGI_EACH_INDEX(numbered_clear, claiming)
{
    a.first[i] = INT_MAX;
    a.place[i] = -1;
}

CMGI_EACH_ROW(numbered_claim, claiming)
{
    const cmg_size row = real ? row_of(a, i) : 0;
    const cmg_size end = real ? a.A.indptr[row + 1] : 0;
    for (cmg_size e = (real ? a.A.indptr[row] : 0) + lane; e < end; e += CMGI_STEP) {
        const cmg_index node = node_of(a, e);
        if (a.place[node] < 0) {
            atomicMin(&a.first[node], a.begin + (int)i);
        }
    }
}

CMGI_EACH_ROW(numbered_count, claiming)
{
    const cmg_size row = real ? row_of(a, i) : 0;
    const cmg_size begin = real ? a.A.indptr[row] : 0;
    const cmg_size end = real ? a.A.indptr[row + 1] : 0;
    double found = 0;
    for (cmg_size e = begin + lane; e < end; e += CMGI_STEP) {
        found += is_child(a, begin, e, a.begin + (int)i);
    }
    found = cmgi_lanes_sum(found);
    if (real && lane == 0) {
        a.count[i] = (cmg_size)found;
    }
}

CMGI_EACH_ROW(numbered_place, claiming)
{
    const cmg_size row = real ? row_of(a, i) : 0;
    const cmg_size begin = real ? a.A.indptr[row] : 0;
    const cmg_size end = real ? a.A.indptr[row + 1] : 0;
    const int own = a.begin + (int)i;
    for (cmg_size e = begin + lane; e < end; e += CMGI_STEP) {
        if (!is_child(a, begin, e, own)) {
            continue;
        }
        const cmg_size key = key_of(a, e);
        cmg_size at = a.end + a.count[i];
        for (cmg_size k = begin; k < end; ++k) {
            at += key_of(a, k) < key && is_child(a, begin, k, own);
        }
        a.order[at] = node_of(a, e);
        a.place[node_of(a, e)] = (cmg_index)at;
    }
}

/* What no row has claimed comes last. */
CMGI_EACH_INDEX(numbered_left, claiming)
{
    a.count[i] = a.place[i] < 0;
}

CMGI_EACH_INDEX(numbered_append, claiming)
{
    if (a.place[i] < 0) {
        a.order[a.end + a.count[i]] = (cmg_index)i;
    }
}

static cmg_status append_rest(cmg_context *ctx, cmg_size n, const claiming *c)
{
    cmg_size rest = 0;
    CMGI_TRY(cmgi_numbered_left_device(ctx, n, c));
    CMGI_TRY(cmgi_resident_kernels_of(ctx)->offsets(ctx, n, c->count, &rest));
    return cmgi_numbered_append_device(ctx, n, c);
}

/* The rows from c->row on claim, count and number; c->end moves on. */
static cmg_status claim_rows(cmg_context *ctx, cmg_size rows, claiming *c)
{
    cmg_size found = 0;
    CMGI_TRY(cmgi_numbered_claim_device(ctx, rows, c));
    CMGI_TRY(cmgi_numbered_count_device(ctx, rows, c));
    CMGI_TRY(cmgi_resident_kernels_of(ctx)->offsets(ctx, rows, c->count, &found));
    if (found > 0) {
        CMGI_TRY(cmgi_numbered_place_device(ctx, rows, c));
    }
    c->end += found;
    return CMG_OK;
}

static cmg_status open_claims(cmg_context *ctx, cmgi_scratch &scratch, cmg_size nodes,
                              cmg_size rows, claiming *c)
{
    const cmg_size most = nodes > rows ? nodes : rows;
    CMGI_TRY(scratch.take(nodes, &c->first));
    CMGI_TRY(scratch.take(nodes, &c->place));
    CMGI_TRY(scratch.take(nodes, &c->order));
    CMGI_TRY(scratch.take(most + 1, &c->count));
    return cmgi_numbered_clear_device(ctx, nodes, c);
}

/* The least degree of a node without a number that has neighbours, and the least number with it;
 * in SLOTS parts, as all nodes at one place would wait for each other. */
enum { SLOTS = 1024 };
typedef struct rooting {
    claiming c;
    unsigned long long *slot;
} rooting;

CMGI_EACH_INDEX(numbered_slots, rooting)
{
    a.slot[i] = ~0ULL;
}

CMGI_EACH_INDEX(numbered_root, rooting)
{
    const cmg_size degree = a.c.A.indptr[i * a.c.block + 1] - a.c.A.indptr[i * a.c.block];
    if (a.c.place[i] < 0 && degree > a.c.block) {
        atomicMin(&a.slot[i % SLOTS], (unsigned long long)degree << 32 | (unsigned long long)i);
    }
}

/* *root: -1 where there is none. */
static cmg_status find_root(cmg_context *ctx, cmg_size nodes, const rooting *r, cmg_index *root)
{
    unsigned long long slot[SLOTS];
    unsigned long long least = ~0ULL;
    CMGI_TRY(cmgi_numbered_slots_device(ctx, SLOTS, r));
    CMGI_TRY(cmgi_numbered_root_device(ctx, nodes, r));
    CMGI_TRY(cmgi_to_host(ctx, slot, r->slot, sizeof slot));
    for (int k = 0; k < SLOTS; ++k) {
        least = slot[k] < least ? slot[k] : least;
    }
    *root = least == ~0ULL ? -1 : (cmg_index)(least & INT_MAX);
    return CMG_OK;
}

typedef struct expanding {
    cmg_size nodes;
    int block;
    bool reverse;
    const cmg_index *order;
    cmg_index *perm;
} expanding;

CMGI_EACH_INDEX(numbered_expand, expanding)
{
    const cmg_size k = i / a.block;
    const cmg_size at = a.reverse ? a.nodes - 1 - k : k;
    a.perm[i] = (cmg_index)(a.order[at] * a.block + i % a.block);
}

/* Front after front from a root; the host waits for the size of each. */
static cmg_status search(cmg_context *ctx, claiming *c, cmg_index root, int *fronts)
{
    const cmg_index place = (cmg_index)c->end;
    cmg_size begin = c->end;
    CMGI_TRY(cmgi_to_device(ctx, c->order + begin, &root, sizeof root));
    CMGI_TRY(cmgi_to_device(ctx, c->place + root, &place, sizeof place));
    ++c->end;
    for (; begin<c->end && * fronts> 0; --*fronts) {
        const cmg_size rows = c->end - begin;
        c->row = c->order + begin;
        c->begin = (int)begin;
        begin = c->end;
        CMGI_TRY(claim_rows(ctx, rows, c));
    }
    return CMG_OK;
}

extern "C" cmg_status cmgi_order_breadth_device(cmg_context *ctx, const cmg_csr *A, int block,
                                                cmg_index *perm)
{
    enum { MOST_COMPONENTS = 64, MOST_FRONTS = 4096 };
    const cmg_size nodes = A->rows / block;
    rooting r = {};
    claiming *c = &r.c;
    cmg_index root = 0;
    int fronts = MOST_FRONTS;
    cmgi_scratch scratch(ctx);
    c->A = *A;
    c->block = block;
    c->by_degree = true;
    CMGI_TRY(open_claims(ctx, scratch, nodes, nodes, c));
    CMGI_TRY(scratch.take(SLOTS, &r.slot));
    for (int k = 0; k < MOST_COMPONENTS && fronts > 0 && root >= 0; ++k) {
        CMGI_TRY(find_root(ctx, nodes, &r, &root));
        CMGI_TRY(root >= 0 ? search(ctx, c, root, &fronts) : CMG_OK);
    }
    CMGI_TRY(append_rest(ctx, nodes, c));
    const expanding e = {nodes, block, true, c->order, perm};
    return cmgi_numbered_expand_device(ctx, A->rows, &e);
}

extern "C" cmg_status cmgi_order_by_rows_device(cmg_context *ctx, const cmg_csr *P,
                                                const cmg_index *rows, int block, cmg_index *perm)
{
    const cmg_size nodes = P->cols / block;
    claiming c = {};
    cmgi_scratch scratch(ctx);
    c.A = *P;
    c.row = rows;
    c.unknowns = true;
    c.block = block;
    CMGI_TRY(open_claims(ctx, scratch, nodes, P->rows, &c));
    CMGI_TRY(claim_rows(ctx, P->rows, &c));
    CMGI_TRY(append_rest(ctx, nodes, &c));
    const expanding e = {nodes, block, false, c.order, perm};
    return cmgi_numbered_expand_device(ctx, P->cols, &e);
}
