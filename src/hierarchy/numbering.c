/* Node numberings from keys, coordinates, graphs and transfers. */
#include "hierarchy/numbering.h"
#include "core/memory.h"
#include "csr/by_rows.h"
#include "core/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef CMGI_HAVE_METIS
#include <metis.h>
#endif

typedef struct keyed {
    uint64_t key;
    cmg_index node;
} keyed;

static int compare_keys(const void *a, const void *b)
{
    const keyed *x = a;
    const keyed *y = b;
    const int by_key = (x->key > y->key) - (x->key < y->key);
    return by_key != 0 ? by_key : (x->node > y->node) - (x->node < y->node);
}

cmg_status cmgi_order_by_key(cmg_context *ctx, cmg_size n, const uint64_t *keys, cmg_index *order)
{
    CMGI_SCOPED(ctx, n, keyed, list);
    for (cmg_size i = 0; i < n; ++i) {
        list[i] = (keyed){keys[i], (cmg_index)i};
    }
    qsort(list, (size_t)n, sizeof *list, compare_keys);
    for (cmg_size i = 0; i < n; ++i) {
        order[i] = list[i].node;
    }
    return CMG_OK;
}

void cmgi_box_of(int dim, cmg_size points, const double *x, double *low, double *high)
{
    for (int d = 0; d < dim; ++d) {
        low[d] = HUGE_VAL;
        high[d] = -HUGE_VAL;
        for (cmg_size n = 0; n < points; ++n) {
            low[d] = fmin(low[d], x[n * dim + d]);
            high[d] = fmax(high[d], x[n * dim + d]);
        }
    }
}

cmg_status cmgi_order_lexicographic(cmg_context *ctx, cmg_size n, int dim, const double *x,
                                    cmg_index *order)
{
    double low[3];
    double high[3];
    cmgi_box_of(dim, n, x, low, high);
    CMGI_SCOPED(ctx, n, uint64_t, keys);
    for (cmg_size i = 0; i < n; ++i) {
        keys[i] = 0;
        for (int d = dim - 1; d >= 0; --d) {
            const double extent = high[d] > low[d] ? high[d] - low[d] : 1;
            keys[i] = keys[i] << 21 | (uint64_t)((x[i * dim + d] - low[d]) / extent * 0x1p20 + 0.5);
        }
    }
    return cmgi_order_by_key(ctx, n, keys, order);
}

cmg_status cmgi_order_hierarchical(cmg_context *ctx, const cmg_csr *P, const int block[2],
                                   const cmg_index *coarse, cmg_index *order)
{
    const cmg_size n = P->rows / block[0];
    const cmg_size m = P->cols / block[1];
    CMGI_SCOPED(ctx, m, cmg_index, fine_of);
    CMGI_SCOPED_ZERO(ctx, n, unsigned char, placed);
    memset(fine_of, 0xff, (size_t)m * sizeof *fine_of);
    for (cmg_size i = n - 1; i >= 0; --i) {
        const cmg_size k = P->indptr[i * block[0]];
        if (P->indptr[i * block[0] + 1] == k + 1 && fabs(P->values[k] - 1) < 1e-14) {
            fine_of[P->indices[k] / block[1]] = (cmg_index)i;
        }
    }
    cmg_size end = 0;
    for (cmg_size j = 0; j < m; ++j) {
        const cmg_index i = fine_of[coarse != NULL ? coarse[j] : j];
        if (i >= 0) {
            placed[i] = 1;
            order[end++] = i;
        }
    }
    for (cmg_size i = 0; i < n; ++i) {
        if (!placed[i]) {
            order[end++] = (cmg_index)i;
        }
    }
    return CMG_OK;
}

cmg_status cmgi_order_by_rows(cmg_context *ctx, const cmg_csr *P, const cmg_index *rows, int block,
                              cmg_index *order)
{
    const cmg_size n = P->cols / block;
    cmg_size end = 0;
    CMGI_SCOPED_ZERO(ctx, n, unsigned char, placed);
    for (cmg_size i = 0; i < P->rows; ++i) {
        const cmg_size row = rows != NULL ? rows[i] : i;
        for (cmg_size k = P->indptr[row]; k < P->indptr[row + 1]; ++k) {
            const cmg_index j = P->indices[k] / block;
            if (!placed[j]) {
                placed[j] = 1;
                order[end++] = j;
            }
        }
    }
    for (cmg_size j = 0; j < n; ++j) {
        if (!placed[j]) {
            order[end++] = (cmg_index)j;
        }
    }
    return CMG_OK;
}

void cmgi_order_random(cmg_size n, uint64_t seed, cmg_index *order)
{
    uint64_t state = seed;
    for (cmg_size i = 0; i < n; ++i) {
        const cmg_size j = (cmg_size)(cmgi_random_bits(&state) % (uint64_t)(i + 1));
        order[i] = order[j];
        order[j] = (cmg_index)i;
    }
}
cmg_status cmgi_order_check(cmg_context *ctx, cmg_size n, const cmg_index *order)
{
    CMGI_SCOPED_ZERO(ctx, n, unsigned char, seen);
    cmg_size k = 0;
    while (k < n && order[k] >= 0 && order[k] < n && !seen[order[k]]) {
        seen[order[k++]] = 1;
    }
    CMGI_CHECK(ctx, k == n, CMG_ERR_INTERNAL,
               "numbering: place %lld of %lld has no node, or one that has a place already",
               (long long)k, (long long)n);
    return CMG_OK;
}

/*
 * The undirected graph of nodes: i and j are neighbours where any unknown of one is coupled to any
 * of the other, either way. Matrices with boundary rows kept as identities have one-way couplings,
 * which searches and METIS do not expect.
 */
static cmg_status make_graph(cmg_context *ctx, const cmg_csr *A, int block, cmgi_csr *g)
{
    cmgi_scoped_csr T = {0};
    CMGI_TRY(cmgi_csr_transpose(ctx, A, &T));
    return cmgi_csr_block_columns(ctx, A, &T.view, block, g);
}

/* State of a breadth-first search over nodes. */
typedef struct search {
    const cmg_csr *g;
    cmg_index *queue; /* nodes in the order they were reached */
    unsigned char *seen;
    int64_t *sorted; /* neighbours of one node: degree and number */
    int sweeps;      /* at most, for a start */
} search;

static cmg_size degree_of(const search *s, cmg_size node)
{
    return s->g->indptr[node + 1] - s->g->indptr[node];
}

static int ascending(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a;
    const int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* By insertion where there are few, which most nodes have. */
static void sort_found(int64_t *list, size_t n)
{
    enum { FEW = 32 };
    if (n > FEW) {
        qsort(list, n, sizeof *list, ascending);
        return;
    }
    for (size_t k = 1; k < n; ++k) {
        const int64_t moved = list[k];
        size_t to = k;
        for (; to > 0 && list[to - 1] > moved; --to) {
            list[to] = list[to - 1];
        }
        list[to] = moved;
    }
}

/*
 * Searches from `root`, writing the nodes to queue[begin ..]; returns the end. *depth is the number
 * of layers and *last where the last one begins.
 */
static cmg_size sweep(search *s, cmg_index root, cmg_size begin, cmg_size *depth, cmg_size *last)
{
    const cmg_csr *g = s->g;
    cmg_size end = begin;
    s->queue[end++] = root;
    s->seen[root] = 1;
    *depth = 0;
    for (cmg_size layer = begin; layer < end; ++*depth) {
        const cmg_size layer_end = end;
        *last = layer;
        for (; layer < layer_end; ++layer) {
            const cmg_size node = s->queue[layer];
            size_t found = 0;
            for (cmg_size k = g->indptr[node]; k < g->indptr[node + 1]; ++k) {
                const cmg_size j = g->indices[k];
                if (!s->seen[j]) {
                    s->seen[j] = 1;
                    s->sorted[found++] = degree_of(s, j) << 32 | j;
                }
            }
            sort_found(s->sorted, found);
            for (size_t f = 0; f < found; ++f) {
                s->queue[end++] = (cmg_index)(s->sorted[f] & INT32_MAX);
            }
        }
    }
    return end;
}

/*
 * Appends the component of `root` to the queue, from a node of large eccentricity in it. Few sweeps
 * find one in practice; their number is bounded so that no graph takes longer than linear time.
 */
static cmg_size search_component(search *s, cmg_index root, cmg_size begin)
{
    cmg_size depth = 0;
    cmg_size before = -1;
    cmg_size last = begin;
    cmg_size end = sweep(s, root, begin, &depth, &last);
    for (int sweeps = 1; depth > before && sweeps < s->sweeps; ++sweeps) {
        cmg_index best = s->queue[last];
        for (cmg_size k = last; k < end; ++k) {
            best = degree_of(s, s->queue[k]) < degree_of(s, best) ? s->queue[k] : best;
        }
        for (cmg_size k = begin; k < end; ++k) {
            s->seen[s->queue[k]] = 0;
        }
        before = depth;
        end = sweep(s, best, begin, &depth, &last);
    }
    return end;
}

/* Components one after the other, then the whole from the end. */
static cmg_status search_all(cmg_context *ctx, search *s, bool reverse)
{
    const cmg_size n = s->g->rows;
    cmg_size end = 0;
    CMGI_FREED(ctx, &s->seen, &s->sorted);
    CMGI_TRY(cmgi_alloc_zero(ctx, n, sizeof *s->seen, &s->seen));
    CMGI_TRY(cmgi_alloc(ctx, n, sizeof *s->sorted, &s->sorted));
    for (cmg_size i = 0; i < n; ++i) {
        if (!s->seen[i]) {
            end = search_component(s, (cmg_index)i, end);
        }
        if (!s->seen[i]) { /* couplings one way: the better start does not lead back here */
            cmg_size depth = 0;
            cmg_size last = 0;
            end = sweep(s, (cmg_index)i, end, &depth, &last);
        }
    }
    for (cmg_size k = 0; k < n / 2 && reverse; ++k) {
        const cmg_index first = s->queue[k];
        s->queue[k] = s->queue[n - 1 - k];
        s->queue[n - 1 - k] = first;
    }
    return CMG_OK;
}

cmg_status cmgi_order_cuthill_mckee(cmg_context *ctx, const cmg_csr *A, int block, bool reverse,
                                    cmg_index *order)
{
    enum { MOST_SWEEPS = 16 };
    cmgi_scoped_csr g = {0};
    search s = {.g = &g.view, .queue = order, .sweeps = MOST_SWEEPS};
    CMGI_TRY(make_graph(ctx, A, block, &g));
    return search_all(ctx, &s, reverse);
}

cmg_status cmgi_order_narrow(cmg_context *ctx, const cmg_csr *A, cmg_index *order)
{
    enum { FEW_SWEEPS = 3 };
    search s = {.g = A, .queue = order, .sweeps = FEW_SWEEPS};
    return search_all(ctx, &s, true);
}

#ifdef CMGI_HAVE_METIS
/* The order of nested dissection, or the parts that nodes come into where there are some. */
static cmg_status metis(cmg_context *ctx, const cmg_csr *g, idx_t parts, cmg_index *out)
{
    enum { RECURSIVE = 8 }; /* parts up to which METIS advises bisection */
    idx_t n = (idx_t)g->rows;
    const cmg_size edges = g->indptr[g->rows];
    idx_t one = 1;
    idx_t cut = 0;
    int outcome = METIS_OK;
    CMGI_CHECK(ctx, edges <= IDX_MAX, CMG_ERR_UNSUPPORTED,
               "METIS: %lld edges; this build of it takes %lld", (long long)edges,
               (long long)IDX_MAX);
    CMGI_SCOPED(ctx, g->rows + 1, idx_t, start); /* METIS's integers may have 32 bits */
    CMGI_SCOPED(ctx, edges, idx_t, to);
    CMGI_SCOPED_ZERO(ctx, n, idx_t, made);
    CMGI_SCOPED(ctx, n, idx_t, inverse);
    for (cmg_size i = 0; i <= g->rows; ++i) {
        start[i] = (idx_t)g->indptr[i];
    }
    for (cmg_size k = 0; k < edges; ++k) {
        to[k] = g->indices[k];
    }
    if (parts == 0) {
        outcome = METIS_NodeND(&n, start, to, NULL, NULL, made, inverse);
    } else if (parts > 1) {
        outcome = (parts <= RECURSIVE ? METIS_PartGraphRecursive : METIS_PartGraphKway)(
            &n, &one, start, to, NULL, NULL, NULL, &parts, NULL, NULL, NULL, &cut, made);
    }
    /* it catches SIGTERM, which its own errors raise, and calls both METIS_ERROR */
    CMGI_CHECK(ctx, outcome != METIS_ERROR, CMG_ERR_INTERNAL,
               "METIS gave up on %lld nodes, as it does when the process is told to end",
               (long long)n);
    CMGI_CHECK(ctx, outcome == METIS_OK,
               outcome == METIS_ERROR_MEMORY ? CMG_ERR_MEMORY : CMG_ERR_INTERNAL,
               "METIS failed with %d on %lld nodes", outcome, (long long)n);
    for (cmg_size i = 0; i < n; ++i) {
        out[i] = (cmg_index)made[i];
    }
    return CMG_OK;
}
#endif

cmg_status cmgi_part_metis(cmg_context *ctx, const cmg_csr *A, int block, int parts,
                           cmg_index *part)
{
#ifdef CMGI_HAVE_METIS
    cmgi_scoped_csr g = {0};
    CMGI_TRY(make_graph(ctx, A, block, &g));
    return metis(ctx, &g.view, parts, part);
#else
    (void)A, (void)block, (void)parts, (void)part;
    return cmgi_fail(ctx, CMG_ERR_UNSUPPORTED, "this build has no METIS");
#endif
}
