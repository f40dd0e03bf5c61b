/* Where the arrays of a set-up are, and its loops run (each.h): one text serves both. */
#pragma once
#include "core/memory.h"

typedef enum cmgi_place {
    CMGI_HOST,
    CMGI_DEVICE /* of a context whose backend has memory of its own */
} cmgi_place;

/* As cmgi_alloc, in the memory of a place. */
cmg_status cmgi_alloc_at(cmg_context *ctx, cmgi_place at, cmg_size count, size_t size, void *p);
/* The same, filled with zeros. */
cmg_status cmgi_alloc_zero_at(cmg_context *ctx, cmgi_place at, cmg_size count, size_t size,
                              void *p);
/* Frees several arrays, the first first. */
#define CMGI_FREE_AT(ctx, at, ...)                                                                 \
    cmgi_free_each((at) == CMGI_DEVICE ? cmgi_free_device : cmgi_free, ctx,                        \
                   (void *const[]){__VA_ARGS__},                                                   \
                   sizeof((void *const[]){__VA_ARGS__}) / sizeof(void *))
/* Copies between arrays of a place. */
cmg_status cmgi_copy_at(cmg_context *ctx, cmgi_place at, void *to, const void *from, size_t bytes);
/* Copies an array of a place to the host, which waits for the device. */
cmg_status cmgi_bring_at(cmg_context *ctx, cmgi_place at, void *to, const void *from, size_t bytes);
