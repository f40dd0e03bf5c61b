/*
 * Rows of sparse approximate inverses by Householder QR, in parallel over rows; see spai.h.
 *
 * Source  Grote and Huckle, Parallel preconditioning with sparse approximate inverses, SIAM J. Sci.
 *         Comput. 18 (1997), section 2.
 */
#include "smoothers/spai.h"

#include "core/hash.h"
#include "core/random.h"
#include "smoothers/rows.h"

#include <math.h>
#include <string.h>

enum {
    SLOTS = 64,     /* direct-mapped */
    LARGEST = 8192, /* values in a key; larger problems are rare */
    TRIAL = 8192    /* lookups after which a cache without success is switched off */
};

/* For problems of up to `entries` values in L, `rows` rows and `columns` columns. */
static cmg_status create_cache(cmg_context *ctx, cmg_size entries, cmg_size rows, cmg_size columns,
                               cmgi_spai_cache *cache)
{
    const cmg_size room = entries + rows < LARGEST ? entries + rows : LARGEST;
    CMGI_TRY(cmgi_alloc_zero(ctx, SLOTS, sizeof *cache->slot, &cache->slot));
    CMGI_TRY(cmgi_alloc(ctx, SLOTS * (room + columns), sizeof(double), &cache->values));
    for (int k = 0; k < SLOTS; ++k) {
        cache->slot[k].key = cache->values + k * (room + columns);
        cache->slot[k].solution = cache->slot[k].key + room;
    }
    cache->room = room;
    return CMG_OK;
}

/* Four independent hashes side by side, mixed at the end. */
static uint64_t hash_values(const double *restrict values, cmg_size n, uint64_t seed)
{
    uint64_t h[4] = {seed, seed + 1, seed + 2, seed + 3};
    for (cmg_size k = 0; k < n; ++k) {
        uint64_t bits = 0;
        memcpy(&bits, &values[k], sizeof bits);
        h[k % 4] = cmgi_hash_mix(h[k % 4], bits);
    }
    return cmgi_random_mix(h[0] ^ (h[1] << 1) ^ (h[2] << 2) ^ (h[3] << 3));
}

/*
 * True when the problem is there: x has its solution. Else the slot it goes to, with the key
 * copied, whose `solution` the caller fills; NULL when the cache is off.
 */
static bool find_solution(cmgi_spai_cache *cache, cmg_size m, cmg_size n, const double *L,
                          const double *b, double *x, cmgi_spai_slot **slot)
{
    *slot = NULL;
    if (m == 0 || m * n + m > cache->room) {
        return false;
    }
    if (cache->lookups == TRIAL && cache->hits * 16 < TRIAL) {
        cache->room = 0;
        return false;
    }
    const uint64_t hash = hash_values(b, m, hash_values(L, m * n, (uint64_t)n));
    cmgi_spai_slot *s = &cache->slot[hash % SLOTS];
    ++cache->lookups;
    if (s->m == m && s->n == n && s->hash == hash &&
        memcmp(s->key, L, (size_t)(m * n) * sizeof *L) == 0 &&
        memcmp(s->key + m * n, b, (size_t)m * sizeof *b) == 0) {
        memcpy(x, s->solution, (size_t)n * sizeof *x);
        ++cache->hits;
        return true;
    }
    s->hash = hash;
    s->m = m;
    s->n = n;
    memcpy(s->key, L, (size_t)(m * n) * sizeof *L);
    memcpy(s->key + m * n, b, (size_t)m * sizeof *b);
    *slot = s;
    return false;
}

cmg_status cmgi_spai_work_create(cmg_context *ctx, cmg_size columns, cmg_size rows,
                                 cmg_size entries, cmgi_spai_work **work)
{
    cmgi_spai_work *made = NULL;
    CMGI_RELEASED(cmgi_spai_work_destroy, ctx, &made);
    CMGI_TRY(cmgi_alloc_zero(ctx, ctx->threads, sizeof *made, &made));
    for (int t = 0; t < ctx->threads; ++t) {
        CMGI_TRY(cmgi_index_map_create(ctx, rows, &made[t].map));
        CMGI_TRY(cmgi_alloc(ctx, entries, sizeof(double), &made[t].L));
        CMGI_TRY(cmgi_alloc(ctx, rows, sizeof(double), &made[t].b));
        CMGI_TRY(cmgi_alloc(ctx, rows, sizeof(double), &made[t].weight));
        CMGI_TRY(cmgi_alloc(ctx, columns, sizeof(double), &made[t].diagonal));
        CMGI_TRY(cmgi_alloc(ctx, columns, sizeof(double), &made[t].x));
        CMGI_TRY(create_cache(ctx, entries, rows, columns, &made[t].cache));
    }
    *work = cmgi_pass_on(&made);
    return CMG_OK;
}

void cmgi_spai_work_destroy(cmg_context *ctx, cmgi_spai_work **work)
{
    for (int t = 0; *work != NULL && t < ctx->threads; ++t) {
        cmgi_spai_work *w = &(*work)[t];
        cmgi_index_map_destroy(ctx, &w->map);
        CMGI_FREE(ctx, w->L, w->b, w->weight, w->diagonal, w->x, w->cache.values, w->cache.slot);
    }
    cmgi_free(ctx, *work);
    *work = NULL;
}

/* Multiplies every equation by the square root of its number of entries, its weight. */
static void weigh(cmg_size m, cmg_size n, cmgi_spai_work *work)
{
    for (cmg_size l = 0; l < m; ++l) {
        work->weight[l] = sqrt(work->weight[l]);
        work->b[l] *= work->weight[l];
    }
    for (cmg_size k = 0; k < m * n; ++k) {
        work->L[k] *= work->weight[k % m];
    }
}

void cmgi_spai_row(const cmg_csr *A, cmg_size i, const cmg_index *J, cmg_size length, bool counted,
                   cmgi_spai_work *work)
{
    cmgi_index_map *map = &work->map;
    cmgi_index_map_clear(map);
    for (cmg_size p = 0; p < length; ++p) {
        for (cmg_size k = A->indptr[J[p]]; k < A->indptr[J[p] + 1]; ++k) {
            (void)cmgi_index_map_add(map, A->indices[k]);
        }
    }
    const cmg_size m = map->length;
    memset(work->L, 0, (size_t)(m * length) * sizeof *work->L);
    memset(work->b, 0, (size_t)m * sizeof *work->b);
    memset(work->weight, 0, (size_t)m * sizeof *work->weight);
    for (cmg_size p = 0; p < length; ++p) {
        for (cmg_size k = A->indptr[J[p]]; k < A->indptr[J[p] + 1]; ++k) {
            const cmg_index at = cmgi_index_map_find(map, A->indices[k]);
            work->L[p * m + at] += A->values[k];
            work->weight[at] += 1;
        }
    }
    const cmg_index own = cmgi_index_map_find(map, (cmg_index)i);
    if (own >= 0) {
        work->b[own] = 1;
    }
    if (counted) {
        weigh(m, length, work);
    }
    cmgi_spai_slot *slot = NULL;
    if (find_solution(&work->cache, m, length, work->L, work->b, work->x, &slot)) {
        return;
    }
    cmgi_qr_solve(m, length, work->L, work->b, work->diagonal, work->x);
    if (slot != NULL) {
        memcpy(slot->solution, work->x, (size_t)length * sizeof *work->x);
    }
}

/* Largest numbers of columns, local rows and local entries over all rows of S; 0 at first. */
static void find_sizes(const cmg_csr *A, const cmgi_csr *S, cmg_size sizes[3])
{
    for (cmg_size i = 0; i < S->rows; ++i) {
        const cmg_size columns = S->indptr[i + 1] - S->indptr[i];
        cmg_size rows = 0;
        for (cmg_size k = S->indptr[i]; k < S->indptr[i + 1]; ++k) {
            rows += A->indptr[S->indices[k] + 1] - A->indptr[S->indices[k]];
        }
        rows = rows < A->cols ? rows : A->cols;
        sizes[0] = columns > sizes[0] ? columns : sizes[0];
        sizes[1] = rows > sizes[1] ? rows : sizes[1];
        sizes[2] = rows * columns > sizes[2] ? rows * columns : sizes[2];
    }
}

typedef struct rows {
    const cmg_csr *A;
    bool counted;
    cmgi_spai_work *work;
    cmgi_csr *S;
} rows;

static bool make_row(const void *user, cmg_size i, int thread)
{
    const rows *r = user;
    cmgi_spai_work *mine = &r->work[thread];
    const cmg_size begin = r->S->indptr[i];
    const cmg_size length = r->S->indptr[i + 1] - begin;
    cmgi_spai_row(r->A, i, r->S->indices + begin, length, r->counted, mine);
    memcpy(r->S->values + begin, mine->x, (size_t)length * sizeof *mine->x);
    return true;
}

cmg_status cmgi_spai_static(cmg_context *ctx, const cmg_csr *A, bool counted, cmgi_csr *S)
{
    cmg_size sizes[3] = {0};
    cmg_size bad = 0;
    rows r = {.A = A, .counted = counted, .S = S};
    CMGI_RELEASED(cmgi_spai_work_destroy, ctx, &r.work);
    find_sizes(A, S, sizes);
    CMGI_TRY(cmgi_spai_work_create(ctx, sizes[0], sizes[1], sizes[2], &r.work));
    return cmgi_each_row(ctx, "SPAI", S->rows, make_row, &r, &bad);
}
