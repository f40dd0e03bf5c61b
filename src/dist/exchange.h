/*
 * Entries of a vector that other ranks have: which of mine they want, which of theirs I want, and
 * one packed message to and from each of them.
 *
 *     start    pack what others want, send it; receive behind it
 *     finish   the entries wanted are in the halo, in the order of their numbers
 */
#pragma once
#include "dist/rows.h"

typedef struct cmgi_exchange {
    cmg_context *ctx;
    cmg_precision precision;
    cmg_size sends;    /* entries that others want */
    cmg_size receives; /* entries wanted */
    int send_peers;
    int receive_peers;
    cmg_index *pack;      /* their positions in the vector, in the backend's memory */
    void *send;           /* packed, in the backend's memory */
    void *host;           /* both on the host, where the backend's memory is not; else NULL */
    void *halo;           /* of the exchange that has begun */
    cmg_message *message; /* to send_peers, then from receive_peers; data are offsets */
    cmg_message *now;     /* the same with addresses */
} cmgi_exchange;

/*
 * For the entries `wanted`, none of this rank, of vectors divided as `part` says. position[i] is
 * where entry part[rank] + i is in a vector of this rank; NULL = at i. Collective.
 */
cmg_status cmgi_exchange_create(cmg_context *ctx, const cmg_size *part, const cmgi_numbers *wanted,
                                const cmg_index *position, cmg_precision precision,
                                cmgi_exchange **x);
void cmgi_exchange_destroy(cmgi_exchange **x);
/* Arrays in the backend's memory. */
cmg_status cmgi_exchange_start(cmgi_exchange *x, const void *vector, void *halo);
cmg_status cmgi_exchange_finish(cmgi_exchange *x);
