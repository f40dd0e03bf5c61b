/*
 * Least squares problems that were solved already. On regular meshes almost all rows of SPAI are
 * the same small problem; looking one up costs one pass over its matrix, a tenth of the
 * factorisation. A problem is recognised by all its values, so that results do not change by a bit.
 */
#pragma once
#include "core/memory.h"

typedef struct cmgi_spai_slot {
    uint64_t hash;
    cmg_size m;       /* rows, 0 = empty slot */
    cmg_size n;       /* columns */
    double *key;      /* m n entries of L, then m of b */
    double *solution; /* n */
} cmgi_spai_slot;

/* The cache of one thread. */
typedef struct cmgi_spai_cache {
    cmg_size room; /* values in a key, 0 = switched off */
    cmgi_spai_slot *slot;
    double *values; /* of all slots */
    long lookups;
    long hits;
} cmgi_spai_cache;

/* For problems of up to `entries` values in L, `rows` rows and `columns` columns. */
cmg_status cmgi_spai_cache_create(cmg_context *ctx, cmg_size entries, cmg_size rows,
                                  cmg_size columns, cmgi_spai_cache *cache);
void cmgi_spai_cache_destroy(cmg_context *ctx, cmgi_spai_cache *cache);
/*
 * True when the problem is there: x has its solution. Else the slot it goes to, with the key
 * copied, whose `solution` the caller fills; NULL when the cache is off.
 */
bool cmgi_spai_cache_find(cmgi_spai_cache *cache, cmg_size m, cmg_size n, const double *L,
                          const double *b, double *x, cmgi_spai_slot **slot);
