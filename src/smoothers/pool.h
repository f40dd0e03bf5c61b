/*
 * Many short growing lists in a few large allocations: blocks come in sizes 16, 32, 64, ... bytes
 * from chunks of a megabyte, and blocks that a list has outgrown serve the next one.
 */
#pragma once
#include "core/memory.h"

enum { CMGI_POOL_CLASSES = 40 };

typedef struct cmgi_pool {
    cmg_context *ctx;
    void *chunks;                   /* chain of chunks, the first bytes of each point to the next */
    char *at;                       /* free part of the newest chunk */
    size_t left;                    /* its bytes */
    void *spare[CMGI_POOL_CLASSES]; /* chains of returned blocks of 16 << class bytes */
} cmgi_pool;

/* A list of equal elements; {0} is an empty one. */
typedef struct cmgi_list {
    void *data;
    int32_t length;
    int32_t class; /* the block has 16 << (class - 1) bytes, 0 = no block */
} cmgi_list;

/* Room for one more element of `size` bytes at the end of the list; *element points to it. */
cmg_status cmgi_list_append(cmgi_pool *pool, cmgi_list *list, size_t size, void *element);
/* Frees all chunks. */
void cmgi_pool_destroy(cmgi_pool *pool);
