/* A direct-mapped cache of least-squares problems and their solutions. */
#include "smoothers/spai.h"

#include "core/hash.h"
#include "core/random.h"

#include <string.h>

enum {
    SLOTS = 64,     /* direct-mapped */
    LARGEST = 8192, /* values in a key; larger problems are rare */
    TRIAL = 8192    /* lookups after which a cache without success is switched off */
};

cmg_status cmgi_spai_cache_create(cmg_context *ctx, cmg_size entries, cmg_size rows,
                                  cmg_size columns, cmgi_spai_cache *cache)
{
    *cache = (cmgi_spai_cache){0};
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

void cmgi_spai_cache_destroy(cmg_context *ctx, cmgi_spai_cache *cache)
{
    CMGI_FREE(ctx, cache->values, cache->slot);
    *cache = (cmgi_spai_cache){0};
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

bool cmgi_spai_cache_find(cmgi_spai_cache *cache, cmg_size m, cmg_size n, const double *L,
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
