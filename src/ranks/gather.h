/*
 * Everyone's part of a vector on every rank: in the stream where devices have a wire, else through
 * the host.
 */
#pragma once
#include "ranks/group.h"

typedef struct cmgi_gathering {
    cmg_context *ctx;
    cmg_size *part;       /* where the ranks' entries begin, ranks + 1 */
    size_t size;          /* bytes of an entry */
    cmg_message *message; /* by wire: from all others, and from place `ranks` on to them */
    void *route;
    void *host; /* where messages pass the host and it is not the backend's; else NULL */
} cmgi_gathering;

/* Of vectors whose parts begin at entry part[rank], `size` bytes each. Collective. */
cmg_status cmgi_gathering_create(cmg_context *ctx, const cmg_size *part, size_t size,
                                 cmgi_gathering **g);
void cmgi_gathering_destroy(cmgi_gathering **g);
/* y has this rank's part, and gets the others'. */
cmg_status cmgi_gathering_run(const cmgi_gathering *g, void *y);
