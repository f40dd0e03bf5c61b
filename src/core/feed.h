/*
 * Large arrays on their way to the backend's memory: through pinned memory in pieces, one being
 * filled while those before travel; and later, whenever the host would wait for the backend.
 */
#pragma once
#include "core/memory.h"

/*
 * An array in units of so many bytes, each of which one of several threads writes to where it is
 * to go, where there is room for the whole of the last one.
 */
typedef struct cmgi_feed {
    bool (*fill)(void *user, size_t unit, void *to); /* false: the unit cannot be had */
    void *user;
    size_t unit;
} cmgi_feed;
/* `count` units from number `first` on, one behind the other. */
bool cmgi_feed_units(cmg_context *ctx, const cmgi_feed *from, size_t first, size_t count, void *to);
/*
 * `bytes` of a feed to the backend's memory. *fed = false where that cannot be: a unit cannot be
 * had or is too large, there is no pinned memory. What follows in the backend's order finds the
 * bytes there; nothing waits.
 */
cmg_status cmgi_feed_device(cmg_context *ctx, void *dst, size_t bytes, const cmgi_feed *from,
                            bool *fed);
/* The same of an array on the host; worth it from so many bytes on. */
enum { CMGI_FEED_FROM = 8 << 20 };
cmg_status cmgi_feed_copy(cmg_context *ctx, void *dst, const void *src, size_t bytes, bool *fed);

/* ------------------------------------------------------------------ later */

/*
 * Arrays on the host are sent in the order of these calls, a piece at each time that the host would
 * wait for the backend: src stays as it is until then, and nothing looks at dst.
 */
cmg_status cmgi_send_later(cmg_context *ctx, void *dst, const void *src, size_t bytes);
/* All up to the array dst is sent; what follows in the backend's order finds it there. */
cmg_status cmgi_send_until(cmg_context *ctx, const void *dst);
/* Whether something is left, and a piece of it. */
bool cmgi_send_waits(const cmg_context *ctx);
cmg_status cmgi_send_piece(cmg_context *ctx);
/* What was not sent is not: its place may be freed. */
void cmgi_send_drop(cmg_context *ctx);
