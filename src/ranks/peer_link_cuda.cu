/*
 * How the devices of one process come together for messages between them (peer_cuda.cu), and part.
 *
 * A rank that has failed goes before the others notice: what they write into stays until all have
 * left, each after its last kernel. If ranks fail while they tell each other where that is, it
 * stays for good.
 */
#include "ranks/peer_cuda.cuh"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

using namespace peer;

enum { ALIGNED = 256 };

/* Memory of a rank for others, as the others are told of it. */
typedef struct offer {
    bool ready;
    commons *all; /* of rank 0 */
    void *memory;
    number *inbox[PEERS]; /* in it, for a rank's messages */
} offer;

static void leave(commons *c)
{
    if (c == NULL || __atomic_sub_fetch(&c->ranks, 1, __ATOMIC_ACQ_REL) > 0) {
        return;
    }
    for (int r = 0; r < PEERS; ++r) {
        if (c->memory[r] != NULL) {
            cmgi_cuda_ignore(cudaFree(c->memory[r]));
        }
    }
    if (c->stop != NULL) {
        cmgi_cuda_ignore(cudaFreeHost((void *)c->stop));
    }
    free(c);
}

static commons *make_commons(int ranks, bool stop)
{
    commons *c = (commons *)calloc(1, sizeof *c);
    if (c != NULL && stop) {
        const cudaError_t error = cudaMallocHost((void **)&c->stop, sizeof *c->stop);
        cmgi_cuda_ignore(error);
        if (error != cudaSuccess) {
            free(c);
            return NULL;
        }
        *c->stop = 0;
    }
    if (c != NULL) {
        c->ranks = ranks;
    }
    return c;
}

/* The offers of all ranks, of which `mine` says whether it is one; none is taken unless all are. */
static cmg_status share(cmg_context *ctx, offer *mine, bool stop, offer *all)
{
    const int ranks = cmgi_ranks(ctx);
    int missing = -1;
    if (cmgi_rank(ctx) == 0) {
        mine->all = make_commons(ranks, stop);
        mine->ready = mine->ready && mine->all != NULL;
    }
    CMGI_TRY(cmgi_group_gather(ctx, mine, sizeof *mine, all));
    for (int r = 0; r < ranks; ++r) {
        missing = all[r].ready || missing >= 0 ? missing : r;
        if (mine->all != NULL) {
            mine->all->memory[r] = all[r].memory;
        }
    }
    if (missing < 0) {
        return CMG_OK;
    }
    leave(all[0].all);
    return cmgi_fail(ctx, CMG_ERR_MEMORY, "rank %d has no memory for messages", missing);
}

/* Kernels that wait end, on all ranks, and nothing is sent any more. */
static void give_up(link *w)
{
    *w->all->stop = 1;
    cmgi_cuda_ignore(cudaStreamSynchronize(w->side.main));
    cmgi_cuda_ignore(cudaStreamSynchronize(w->side.side));
}

static cmg_status wait(cmg_context *ctx, void *wire)
{
    link *w = (link *)wire;
    cmg_status status = cmgi_side_wait(ctx, wire, NULL);
    if (status == CMG_OK && *w->all->stop != 0) { /* what was waited for may be wrong */
        status = cmgi_side_look(ctx);
        status = status == CMG_OK ? still_there(ctx, w) : status;
    }
    if (status != CMG_OK) {
        const cmgi_device_guard guard(ctx);
        give_up(w);
    }
    return status;
}

/* Routes are left once this rank's kernels have ended, for which nobody waits. */
static void leave_routes(link *w)
{
    cudaError_t error = w->left != NULL ? cudaStreamQuery(w->side.main) : cudaErrorNotReady;
    error = error == cudaSuccess ? cudaStreamQuery(w->side.side) : error;
    cmgi_cuda_ignore(error);
    while (error == cudaSuccess && w->left != NULL) {
        route *way = w->left;
        w->left = way->next;
        leave(way->all);
        free(way);
    }
}

static void forget(cmg_context *ctx, void *wire, void *on)
{
    const cmgi_device_guard guard(ctx);
    link *w = (link *)wire;
    route *way = (route *)on;
    if (way != NULL) {
        way->next = w->left;
        w->left = way;
        leave_routes(w);
    }
}

/* The inbox for some messages, cleared. */
static cmg_status make_inbox(cmg_context *ctx, link *w, const cmgi_messages *m, offer *mine)
{
    size_t bytes = (sizeof(counters) + ALIGNED - 1) / ALIGNED * ALIGNED;
    size_t at[PEERS];
    for (int k = 0; k < m->receives; ++k) {
        at[k] = bytes;
        bytes += 2 * sizeof(number) * (size_t)values_of(m->receive[k].bytes);
    }
    CMGI_CUDA(ctx, cudaMalloc(&mine->memory, bytes));
    CMGI_TRY(cmgi_cuda_clear(ctx, mine->memory, bytes));
    for (int k = 0; k < m->receives; ++k) {
        mine->inbox[m->receive[k].peer] = (number *)((char *)mine->memory + at[k]);
    }
    CMGI_TRY(wait(ctx, w));
    leave_routes(w);
    return CMG_OK;
}

static cmg_status prepare(cmg_context *ctx, void *wire, const cmgi_messages *m, void **on)
{
    CMGI_ON_DEVICE(ctx);
    link *w = (link *)wire;
    const int me = cmgi_rank(ctx);
    offer mine = {};
    offer all[PEERS];
    CMGI_TRY(still_there(ctx, w));
    route *way = (route *)calloc(1, sizeof *way);
    const cmg_status made = way == NULL
                                ? cmgi_fail(ctx, CMG_ERR_MEMORY, "no host memory for messages")
                                : make_inbox(ctx, w, m, &mine);
    mine.ready = made == CMG_OK;
    const cmg_status shared = share(ctx, &mine, false, all);
    if (shared != CMG_OK) {
        free(way);
        return made != CMG_OK ? made : shared;
    }
    way->all = all[0].all;
    way->mine = (counters *)mine.memory;
    memcpy(way->inbox, mine.inbox, sizeof way->inbox);
    for (int r = 0; r < cmgi_ranks(ctx); ++r) {
        way->at[r] = (counters *)all[r].memory;
        way->theirs[r] = all[r].inbox[me];
    }
    for (int k = 0; k < m->sends; ++k) {
        way->sends[m->send[k].peer] = values_of(m->send[k].bytes);
    }
    for (int k = 0; k < m->receives; ++k) {
        way->receives[m->receive[k].peer] = values_of(m->receive[k].bytes);
    }
    *on = way;
    return CMG_OK;
}

static void close_link(cmg_context *ctx, void *wire)
{
    const cmgi_device_guard guard(ctx);
    link *w = (link *)wire;
    if (w->all != NULL && (wait(ctx, w) != CMG_OK || cmgi_side_look(ctx) != CMG_OK)) {
        give_up(w);
    }
    leave_routes(w);
    cmgi_side_close(&w->side);
    leave(w->all);
    cmgi_free(ctx, w);
}

/* The memory of every other device, for this one. */
static cmg_status reach(cmg_context *ctx, const cmgi_presence *all, int ranks)
{
    const int mine = cmgi_device_of(ctx)->number;
    for (int r = 0; r < ranks; ++r) {
        if (all[r].number == mine) {
            continue;
        }
        int can = 0;
        CMGI_CUDA(ctx, cudaDeviceCanAccessPeer(&can, mine, all[r].number));
        const cudaError_t error =
            can != 0 ? cudaDeviceEnablePeerAccess(all[r].number, 0) : cudaErrorNotSupported;
        cmgi_cuda_ignore(error);
        CMGI_CHECK(ctx, error == cudaSuccess || error == cudaErrorPeerAccessAlreadyEnabled,
                   CMG_ERR_DEVICE, "device %d does not reach the memory of device %d", mine,
                   all[r].number);
    }
    return CMG_OK;
}

/* This rank's part of what is needed. */
static cmg_status make_link(cmg_context *ctx, link *w, const cmgi_presence *all, offer *mine)
{
    CMGI_TRY(reach(ctx, all, cmgi_ranks(ctx)));
    CMGI_TRY(cmgi_side_open(ctx, true, &w->side));
    CMGI_CUDA(ctx, cudaMalloc(&mine->memory, sizeof(sums)));
    CMGI_TRY(cmgi_cuda_clear(ctx, mine->memory, sizeof(sums)));
    CMGI_CUDA(ctx, cudaStreamSynchronize(cmgi_stream(ctx)));
    return CMG_OK;
}

static cmg_status open_link(cmg_context *ctx, void **wire, char *text, size_t size)
{
    CMGI_ON_DEVICE(ctx);
    const int ranks = cmgi_ranks(ctx);
    cmgi_presence all[PEERS];
    offer mine = {};
    offer offers[PEERS];
    link *w = NULL;
    const char *why = "host (too many ranks)";
    if (ranks <= PEERS) {
        CMGI_TRY(cmgi_side_meet(ctx, ctx->group->transport.together,
                                "host (ranks of several processes)", all, &why));
    }
    if (why != NULL) {
        (void)snprintf(text, size, "%s", why);
        return CMG_OK;
    }
    CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *w, &w));
    mine.ready = make_link(ctx, w, all, &mine) == CMG_OK;
    const cmg_status status = share(ctx, &mine, true, offers);
    if (status != CMG_OK) {
        close_link(ctx, w);
        (void)snprintf(text, size, "host (devices do not reach each other)");
        return status == CMG_ERR_MEMORY ? CMG_OK : status;
    }
    w->all = offers[0].all;
    (void)snprintf(text, size, "peer");
    *wire = w;
    return CMG_OK;
}

/* In the order of its fields. */
extern "C" constexpr cmgi_wire cmgi_peers = {
    "peer",          open_link,      close_link,         NULL, prepare, forget, exchange, sum,
    cmgi_side_aside, cmgi_side_back, cmgi_side_together, wait};
