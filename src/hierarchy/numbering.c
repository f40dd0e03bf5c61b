/* Node numberings from keys, coordinates, graphs and transfers. */
#include "hierarchy/numbering.h"
#include "core/memory.h"
#include "core/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef CMGI_HAVE_METIS
#include <metis.h>
#endif

cmg_status cmgi_order_by_key(cmg_context *ctx, cmg_size n, uint64_t *keys, cmg_index *order)
{
    enum { BITS = 16, BUCKETS = 1 << BITS };
    uint64_t *other_keys = NULL;
    cmg_index *other = NULL;
    cmg_size *start = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, n, sizeof *other_keys, &other_keys));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, n, sizeof *other, &other));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, BUCKETS + 1, sizeof *start, &start));
    for (cmg_size i = 0; i < n; ++i) {
        order[i] = (cmg_index)i;
    }
    /* an even number of passes, so that the result ends up in `order` */
    for (int shift = 0; shift < 64; shift += BITS) {
        memset(start, 0, (BUCKETS + 1) * sizeof *start);
        for (cmg_size i = 0; i < n; ++i) {
            ++start[(keys[i] >> shift & (BUCKETS - 1)) + 1];
        }
        for (int b = 0; b < BUCKETS; ++b) {
            start[b + 1] += start[b];
        }
        for (cmg_size i = 0; i < n; ++i) {
            const cmg_size to = start[keys[i] >> shift & (BUCKETS - 1)]++;
            other_keys[to] = keys[i];
            other[to] = order[i];
        }
        memcpy(keys, other_keys, (size_t)n * sizeof *keys);
        memcpy(order, other, (size_t)n * sizeof *order);
    }
done:
    cmgi_free(ctx, other_keys);
    cmgi_free(ctx, other);
    cmgi_free(ctx, start);
    return status;
}

cmg_status cmgi_order_lexicographic(cmg_context *ctx, cmg_size n, int dim, const double *x,
                                    cmg_index *order)
{
    double low[3] = {INFINITY, INFINITY, INFINITY};
    double high[3] = {-INFINITY, -INFINITY, -INFINITY};
    uint64_t *keys = NULL;
    for (cmg_size i = 0; i < n * dim; ++i) {
        low[i % dim] = fmin(low[i % dim], x[i]);
        high[i % dim] = fmax(high[i % dim], x[i]);
    }
    CMGI_TRY(cmgi_alloc(ctx, n, sizeof *keys, &keys));
    for (cmg_size i = 0; i < n; ++i) {
        keys[i] = 0;
        for (int d = dim - 1; d >= 0; --d) {
            const double extent = high[d] > low[d] ? high[d] - low[d] : 1;
            keys[i] = keys[i] << 21 | (uint64_t)((x[i * dim + d] - low[d]) / extent * 0x1p20 + 0.5);
        }
    }
    const cmg_status status = cmgi_order_by_key(ctx, n, keys, order);
    cmgi_free(ctx, keys);
    return status;
}

/* State of a breadth-first search over nodes. */
typedef struct search {
    const cmg_csr *A;
    int block;
    cmg_index *queue; /* nodes in the order they were reached */
    unsigned char *seen;
    int64_t *sorted; /* neighbours of one node: degree and number */
} search;

static cmg_size degree_of(const search *s, cmg_size node)
{
    return s->A->indptr[node * s->block + 1] - s->A->indptr[node * s->block];
}

static int ascending(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a;
    const int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/*
 * Searches from `root`, writing the nodes to queue[begin ..]; returns the end. *depth is the number
 * of layers and *last where the last one begins.
 */
static cmg_size sweep(search *s, cmg_index root, cmg_size begin, cmg_size *depth, cmg_size *last)
{
    cmg_size end = begin;
    s->queue[end++] = root;
    s->seen[root] = 1;
    *depth = 0;
    for (cmg_size layer = begin; layer < end; ++*depth) {
        const cmg_size layer_end = end;
        *last = layer;
        for (; layer < layer_end; ++layer) {
            const cmg_size row = (cmg_size)s->queue[layer] * s->block;
            size_t found = 0;
            for (cmg_size k = s->A->indptr[row]; k < s->A->indptr[row + 1]; ++k) {
                const cmg_size j = s->A->indices[k] / s->block;
                if (!s->seen[j]) {
                    s->seen[j] = 1;
                    s->sorted[found++] = degree_of(s, j) << 32 | j;
                }
            }
            qsort(s->sorted, found, sizeof *s->sorted, ascending);
            for (size_t f = 0; f < found; ++f) {
                s->queue[end++] = (cmg_index)(s->sorted[f] & INT32_MAX);
            }
        }
    }
    return end;
}

/* Appends the component of `root` to the queue, from a node of large eccentricity in it. */
static cmg_size search_component(search *s, cmg_index root, cmg_size begin)
{
    cmg_size depth = 0;
    cmg_size last = begin;
    cmg_size end = sweep(s, root, begin, &depth, &last);
    for (;;) {
        cmg_index best = s->queue[last];
        for (cmg_size k = last; k < end; ++k) {
            best = degree_of(s, s->queue[k]) < degree_of(s, best) ? s->queue[k] : best;
        }
        for (cmg_size k = begin; k < end; ++k) {
            s->seen[s->queue[k]] = 0;
        }
        const cmg_size before = depth;
        end = sweep(s, best, begin, &depth, &last);
        if (depth <= before) {
            return end;
        }
    }
}

cmg_status cmgi_order_cuthill_mckee(cmg_context *ctx, const cmg_csr *A, int block, bool reverse,
                                    cmg_index *order)
{
    const cmg_size n = A->rows / block;
    search s = {.A = A, .block = block, .queue = order};
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alloc_zero(ctx, n, sizeof *s.seen, &s.seen));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, n, sizeof *s.sorted, &s.sorted));
    cmg_size end = 0;
    for (cmg_size i = 0; i < n; ++i) {
        if (!s.seen[i]) {
            end = search_component(&s, (cmg_index)i, end);
        }
    }
    for (cmg_size k = 0; k < n / 2 && reverse; ++k) {
        const cmg_index first = order[k];
        order[k] = order[n - 1 - k];
        order[n - 1 - k] = first;
    }
done:
    cmgi_free(ctx, s.seen);
    cmgi_free(ctx, s.sorted);
    return status;
}

cmg_status cmgi_order_hierarchical(cmg_context *ctx, const cmg_csr *P, int block,
                                   const cmg_index *coarse, cmg_index *order)
{
    const cmg_size n = P->rows / block;
    const cmg_size m = P->cols / block;
    cmg_index *fine_of = NULL;
    unsigned char *placed = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, m, sizeof *fine_of, &fine_of));
    CMGI_TRY_GOTO(done, cmgi_alloc_zero(ctx, n, sizeof *placed, &placed));
    for (cmg_size j = 0; j < m; ++j) {
        fine_of[j] = -1;
    }
    for (cmg_size i = n - 1; i >= 0; --i) {
        const cmg_size k = P->indptr[i * block];
        if (P->indptr[i * block + 1] == k + 1 && fabs(P->values[k] - 1) < 1e-14) {
            fine_of[P->indices[k] / block] = (cmg_index)i;
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
done:
    cmgi_free(ctx, fine_of);
    cmgi_free(ctx, placed);
    return status;
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

#ifdef CMGI_HAVE_METIS
/* The node graph without loops, in METIS's integers. */
static cmg_status metis_graph(cmg_context *ctx, const cmg_csr *A, int block, idx_t **start,
                              idx_t **neighbour)
{
    const cmg_size n = A->rows / block;
    cmg_size edges = 0;
    CMGI_TRY(cmgi_alloc(ctx, n + 1, sizeof **start, start));
    CMGI_TRY(cmgi_alloc(ctx, A->indptr[A->rows] / block, sizeof **neighbour, neighbour));
    for (cmg_size i = 0; i < n; ++i) {
        (*start)[i] = (idx_t)edges;
        for (cmg_size k = A->indptr[i * block]; k < A->indptr[i * block + 1]; ++k) {
            if (A->indices[k] % block == 0 && A->indices[k] / block != i) {
                (*neighbour)[edges++] = A->indices[k] / block;
            }
        }
    }
    (*start)[n] = (idx_t)edges;
    return CMG_OK;
}

cmg_status cmgi_order_metis(cmg_context *ctx, const cmg_csr *A, int block, cmg_index *order)
{
    idx_t n = (idx_t)(A->rows / block);
    idx_t *start = NULL;
    idx_t *neighbour = NULL;
    idx_t *perm = NULL;
    idx_t *inverse = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, metis_graph(ctx, A, block, &start, &neighbour));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, n, sizeof *perm, &perm));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, n, sizeof *inverse, &inverse));
    const int outcome = METIS_NodeND(&n, start, neighbour, NULL, NULL, perm, inverse);
    if (outcome != METIS_OK) {
        status = cmgi_fail(ctx, outcome == METIS_ERROR_MEMORY ? CMG_ERR_MEMORY : CMG_ERR_INTERNAL,
                           "METIS_NodeND failed with %d on %lld nodes", outcome, (long long)n);
        goto done;
    }
    for (cmg_size i = 0; i < n; ++i) {
        order[i] = (cmg_index)perm[i];
    }
done:
    cmgi_free(ctx, start);
    cmgi_free(ctx, neighbour);
    cmgi_free(ctx, perm);
    cmgi_free(ctx, inverse);
    return status;
}
#else
cmg_status cmgi_order_metis(cmg_context *ctx, const cmg_csr *A, int block, cmg_index *order)
{
    (void)A;
    (void)block;
    (void)order;
    return cmgi_fail(ctx, CMG_ERR_UNSUPPORTED, "this build has no METIS");
}
#endif
