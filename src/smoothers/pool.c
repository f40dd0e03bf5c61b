/* Blocks of powers of two for rows that grow; pool.h has the layout. */
#include "smoothers/pool.h"

#include <string.h>

enum { CHUNK = 1 << 20, FIRST = 64 };

/* A block of 16 << class bytes. */
static cmg_status take(cmgi_pool *pool, int class, void **block)
{
    const size_t bytes = (size_t)16 << class;
    if (pool->spare[class] != NULL) {
        *block = pool->spare[class];
        memcpy(&pool->spare[class], *block, sizeof(void *));
        return CMG_OK;
    }
    if (pool->left < bytes) {
        const size_t chunk = bytes > CHUNK ? bytes : CHUNK;
        char *made = NULL;
        CMGI_TRY(cmgi_alloc(pool->ctx, (cmg_size)(chunk + FIRST), 1, &made));
        memcpy(made, &pool->chunks, sizeof pool->chunks);
        pool->chunks = made;
        pool->at = made + FIRST;
        pool->left = chunk;
    }
    *block = pool->at;
    pool->at += bytes;
    pool->left -= bytes;
    return CMG_OK;
}

cmg_status cmgi_list_append(cmgi_pool *pool, cmgi_list *list, size_t size, void *element)
{
    const size_t used = (size_t)list->length * size;
    if (list->class == 0 || used + size > (size_t)16 << (list->class - 1)) {
        cmgi_list grown = {.length = list->length, .class = list->class + 1};
        CMGI_CHECK(pool->ctx, grown.class <= CMGI_POOL_CLASSES, CMG_ERR_MEMORY,
                   "a list of %d elements cannot grow", list->length);
        CMGI_TRY(take(pool, grown.class - 1, &grown.data));
        if (used > 0) {
            memcpy(grown.data, list->data, used);
        }
        if (list->class > 0) { /* its block goes back to the pool */
            memcpy(list->data, &pool->spare[list->class - 1], sizeof(void *));
            pool->spare[list->class - 1] = list->data;
        }
        *list = grown;
    }
    void *place = (char *)list->data + used;
    memcpy(element, &place, sizeof place);
    ++list->length;
    return CMG_OK;
}

void cmgi_pool_destroy(cmgi_pool *pool)
{
    while (pool->chunks != NULL) {
        void *next = NULL;
        memcpy(&next, pool->chunks, sizeof next);
        cmgi_free(pool->ctx, pool->chunks);
        pool->chunks = next;
    }
}
