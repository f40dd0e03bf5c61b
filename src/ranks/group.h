/*
 * The ranks that a context belongs to: what is summed, gathered and swapped over all of them on the
 * host, and a backend whose sums are those of all ranks.
 *
 * Without a transport there is one rank, and every function here does what that means: nothing, or
 * a copy. The context's table of the backend is then the device's own; with one it is a copy of it
 * in which inner products run over all ranks, in their order, so that Krylov methods, estimates of
 * spectra and stopping tests need not know.
 *
 * All functions but cmgi_ranks, cmgi_rank, cmgi_group_alone and cmgi_group_fail are collective.
 */
#pragma once
#include "cmg_ranks.h"
#include "core/backend.h"

enum { CMGI_SUMS = 8 }; /* most that are formed at once */

typedef struct cmgi_group {
    cmg_transport transport;
    const cmgi_backend *base; /* of this rank's device */
    cmgi_backend all;         /* the same with sums over all ranks */
    double *parts;            /* CMGI_SUMS a rank, on the host */
    void *wire;               /* between the devices; NULL = through the host */
    const cmgi_wire *way;     /* its functions */
    char link[96];            /* how, for people */
} cmgi_group;

/* Joins the group of ctx->options.transport, after the backend is open; nothing without one. */
cmg_status cmgi_group_open(cmg_context *ctx);
void cmgi_group_close(cmg_context *ctx);

int cmgi_ranks(const cmg_context *ctx);
int cmgi_rank(const cmg_context *ctx);

/* There is no group until it is called again with false: for work that every rank does by itself.
 */
void cmgi_group_alone(cmg_context *ctx, bool alone);

/* values[k] = sum, or largest (a NaN stays), over the ranks, k < count <= CMGI_SUMS; on the host.
 */
cmg_status cmgi_all_sum(cmg_context *ctx, double *values, int count);
cmg_status cmgi_all_max(cmg_context *ctx, double *values, int count);
/* The table of this rank's device, in which sums are those of this rank alone. */
const cmgi_backend *cmgi_own_backend(const cmg_context *ctx);
/* Values in the backend's memory become their sums over the ranks, CMGI_SUMS at once. */
cmg_status cmgi_sum_ranks(cmg_context *ctx, double *values, int count);
/* all[r * bytes ..] = what rank r has, `bytes` each. */
cmg_status cmgi_group_gather(cmg_context *ctx, const void *mine, size_t bytes, void *all);
/* The same with parts of different size, see cmg_transport. */
cmg_status cmgi_group_gather_parts(cmg_context *ctx, const void *mine, void *all,
                                   const size_t *offsets);
/*
 * Everyone's message to everyone: to rank r the elements send_at[r] .. send_at[r + 1] - 1 of
 * `send`, `size` bytes each. `received` is a new array of cmgi_alloc, receive_at has ranks + 1
 * offsets.
 */
cmg_status cmgi_group_swap(cmg_context *ctx, size_t size, const void *send, const cmg_size *send_at,
                           void *received, cmg_size *receive_at);
/* An exchange as in cmg_transport. */
cmg_status cmgi_group_start(cmg_context *ctx, const cmg_message *send, int sends,
                            const cmg_message *receive, int receives);
cmg_status cmgi_group_finish(cmg_context *ctx);
/* True where messages go from device to device in the stream; the functions below are for then. */
bool cmgi_group_wired(const cmg_context *ctx);
/* An exchange of arrays in the backend's memory, on a route of its own; as in cmgi_wire. */
cmg_status cmgi_wire_prepare(cmg_context *ctx, const cmg_message *send, int sends,
                             const cmg_message *receive, int receives, void **route);
cmg_status cmgi_wire_exchange(cmg_context *ctx, void *route, const cmg_message *send, int sends,
                              const cmg_message *receive, int receives);
/* Nothing without a wire. */
void cmgi_wire_forget(cmg_context *ctx, void *route);
/* As in cmgi_wire; without a wire everything is in order, and there is nothing to do. */
cmg_status cmgi_wire_aside(cmg_context *ctx);
void cmgi_wire_back(cmg_context *ctx);
cmg_status cmgi_wire_join(cmg_context *ctx);
/*
 * The end of a piece of work that may fail on one rank alone and has spoken to nobody: all ranks
 * return its status, those where it succeeded that of the first one where it did not.
 */
cmg_status cmgi_group_agree(cmg_context *ctx, cmg_status status);
/* The end of a collective piece of work: where it failed, the other ranks will not wait. Returns
 * the status. */
cmg_status cmgi_group_fail(cmg_context *ctx, cmg_status status);
