/*
 * Entries of a vector that other ranks have: which of mine they want, which of theirs I want, and
 * one packed message to and from each of them. Own entries that go with those wanted are packed
 * beside them, so that one array has what a product reads.
 *
 *     start    pack what others want and what goes with theirs; send; receive
 *     finish   x->columns has the own entries, then those wanted in the order of their numbers
 *
 * Between devices that have a wire, both are in the stream.
 */
#pragma once
#include "ranks/rows.h"

typedef struct cmgi_exchange {
    cmg_context *ctx;
    cmg_precision precision;
    cmg_size sends;    /* entries that others want */
    cmg_size near;     /* own entries that go with those wanted */
    cmg_size receives; /* entries wanted */
    cmg_size packed;   /* entries that are packed: sends, up to a multiple of ALIGNED, and near */
    cmg_index *pack;   /* their positions in the vector, in the backend's memory */
    cmg_size *from;    /* where what each peer wants begins in the vector, of stretches by wire that
                          are sent as they are; else NULL */
    char *send;        /* packed, then what is received, in the backend's memory */
    void *columns;     /* in it, the own entries and behind them the received ones */
    char *halo;        /* these */
    void *host;        /* sent and received on the host, where messages pass there; else NULL */
    void *route;       /* of a wire */
    cmgi_messages messages; /* with their addresses; in one array, those that are sent first */
} cmgi_exchange;

/*
 * For the entries `wanted`, none of this rank, of vectors divided as `part` says; position[i] is
 * where entry part[rank] + i is in a vector of this rank, NULL = at i. `near` are positions.
 * Collective.
 */
typedef struct cmgi_exchange_plan {
    const cmg_size *part;
    const cmgi_numbers *wanted;
    const cmgi_numbers *near;
    const cmg_index *position;
} cmgi_exchange_plan;

cmg_status cmgi_exchange_create(cmg_context *ctx, const cmgi_exchange_plan *plan,
                                cmg_precision precision, cmgi_exchange **x);
void cmgi_exchange_destroy(cmgi_exchange **x);
/* An array in the backend's memory. */
cmg_status cmgi_exchange_start(cmgi_exchange *x, const void *vector);
/* Without a wire; with one its join does it. */
cmg_status cmgi_exchange_finish(cmgi_exchange *x);

/*
 * Everyone's part of a vector on every rank: in the stream where devices have a wire, else through
 * the host.
 */
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
