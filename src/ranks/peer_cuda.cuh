/*
 * What peers have in each other's memory: see peer_cuda.cu for how messages pass, peer_link_cuda.cu
 * for how they come together and part.
 */
#pragma once
#include "ranks/side_cuda.cuh"

namespace peer
{

typedef unsigned long long number;

enum { PEERS = 16 }; /* most ranks */

/* On the device, of one set of messages. */
typedef struct counters {
    number pushed; /* messages so far */
    number pulled;
    unsigned pushing; /* blocks that are done with the present one */
    unsigned pulling;
    number taken[PEERS]; /* by a rank, which writes here */
} counters;

/* Memory of all ranks that others write into: the last one that leaves frees it. */
typedef struct commons {
    int ranks;          /* that have not left */
    volatile int *stop; /* pinned; kernels that wait shall end: a rank has failed. Or NULL */
    void *memory[PEERS];
} commons;

/* The same messages again and again: where they go. */
typedef struct route {
    struct route *next; /* of those that are not left yet */
    commons *all;
    counters *mine;       /* and behind them the inbox */
    number *inbox[PEERS]; /* from a rank, on this device: two halves */
    number *theirs[PEERS];
    counters *at[PEERS];      /* a rank's own */
    cmg_size sends[PEERS];    /* room for values to a rank, in half its inbox */
    cmg_size receives[PEERS]; /* from a rank */
} route;

/* On the device: two sets of sums in words, from every rank. */
typedef struct sums {
    number done;
    number word[2][PEERS][CMGI_SUMS][2];
} sums;

typedef struct link {
    cmgi_side side; /* first: side_cuda.cu knows it as that */
    commons *all;   /* sums; NULL after a failure to open */
    route *left;    /* routes that nobody needs */
} link;

/* Values of 4 bytes of a message. */
static inline cmg_size values_of(size_t bytes)
{
    return (cmg_size)(bytes / sizeof(unsigned));
}
/* The functions of the wire that messages go through. */
cmg_status exchange(cmg_context *ctx, void *wire, void *on, const cmgi_messages *m);
cmg_status sum(cmg_context *ctx, void *wire, double *values, int count);
cmg_status still_there(cmg_context *ctx, const link *w);

} // namespace peer
