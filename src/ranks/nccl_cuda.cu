/*
 * Messages and sums from device to device, in the stream: NCCL, one communicator a context.
 *
 * The library is looked for at run time, so that one build serves machines with and without it;
 * what is used of it has not changed since NCCL 2.7. The transport of the host brings the ranks
 * together, carries the number of the communicator, and says when a rank has failed.
 *
 * A sum over ranks is a gathering and a kernel that adds in the order of the ranks: the result does
 * not depend on which of its ways NCCL takes.
 *
 * Source  NCCL user guide: communicators; grouped point-to-point calls; use with CUDA graphs.
 */
#include "ranks/side_cuda.cuh"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As nccl.h has them. */
enum { NCCL_SUCCESS = 0, NCCL_IN_PROGRESS = 7, NCCL_CHAR = 0, NCCL_DOUBLE = 8 };
typedef struct nccl_id {
    char bytes[128];
} nccl_id;
typedef void *nccl_comm;

typedef struct nccl_functions {
    void *library;
    int (*version)(int *number);
    const char *(*text)(int result);
    int (*make_id)(nccl_id *id);
    int (*open)(nccl_comm *comm, int ranks, nccl_id id, int rank);
    int (*close)(nccl_comm comm);
    int (*abort)(nccl_comm comm);
    int (*look)(nccl_comm comm, int *result);
    int (*begin)(void);
    int (*end)(void);
    int (*send)(const void *data, size_t count, int type, int peer, nccl_comm comm,
                cudaStream_t stream);
    int (*receive)(void *data, size_t count, int type, int peer, nccl_comm comm,
                   cudaStream_t stream);
    int (*gather)(const void *mine, void *all, size_t count, int type, nccl_comm comm,
                  cudaStream_t stream);
} nccl_functions;

typedef struct link {
    cmgi_side side; /* first: side_cuda.cu knows it as that */
    nccl_functions nccl;
    nccl_comm comm; /* NULL after a failure */
    double *parts;  /* CMGI_SUMS a rank, on the device */
} link;

/* The number of a communicator, of rank 0. */
typedef struct invitation {
    int result;
    nccl_id id;
} invitation;

/* The function of a name; false where the library lacks it. */
template <typename F>
static bool find(const nccl_functions *n, const char *name, F *function)
{
    *function = (F)dlsym(n->library, name);
    return *function != NULL;
}

static bool load(nccl_functions *n)
{
    n->library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    return n->library != NULL && find(n, "ncclGetVersion", &n->version) &&
           find(n, "ncclGetErrorString", &n->text) && find(n, "ncclGetUniqueId", &n->make_id) &&
           find(n, "ncclCommInitRank", &n->open) && find(n, "ncclCommDestroy", &n->close) &&
           find(n, "ncclCommAbort", &n->abort) && find(n, "ncclCommGetAsyncError", &n->look) &&
           find(n, "ncclGroupStart", &n->begin) && find(n, "ncclGroupEnd", &n->end) &&
           find(n, "ncclSend", &n->send) && find(n, "ncclRecv", &n->receive) &&
           find(n, "ncclAllGather", &n->gather);
}

/* A failure of NCCL; while a graph is recorded, there may be another way. */
static cmg_status failed(cmg_context *ctx, const link *w, int result, const char *what)
{
    cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    cmgi_cuda_ignore(cudaStreamIsCapturing(w->side.main, &capturing));
    return cmgi_fail(
        ctx, capturing == cudaStreamCaptureStatusNone ? CMG_ERR_DEVICE : CMG_ERR_UNSUPPORTED,
        "NCCL: %s in %s", w->nccl.text(result), what);
}

#define NCCL(ctx, w, call, what)                                                                   \
    do {                                                                                           \
        const int result_ = (call);                                                                \
        if (result_ != NCCL_SUCCESS) {                                                             \
            return failed((ctx), (w), result_, (what));                                            \
        }                                                                                          \
    } while (0)

static cmg_status still_there(cmg_context *ctx, const link *w)
{
    CMGI_CHECK(ctx, w->comm != NULL, CMG_ERR_STATE,
               "the ranks have lost each other in an earlier failure");
    return CMG_OK;
}

static cmg_status exchange(cmg_context *ctx, void *wire, void *, const cmgi_messages *m)
{
    CMGI_ON_DEVICE(ctx);
    const link *w = (const link *)wire;
    const cudaStream_t stream = cmgi_stream(ctx);
    int result = NCCL_SUCCESS;
    CMGI_TRY(still_there(ctx, w));
    if (m->sends + m->receives == 0) {
        return CMG_OK;
    }
    NCCL(ctx, w, w->nccl.begin(), "an exchange");
    for (int k = 0; k < m->sends && result == NCCL_SUCCESS; ++k) {
        const cmg_message *to = &m->send[k];
        result = w->nccl.send(to->data, to->bytes, NCCL_CHAR, to->peer, w->comm, stream);
    }
    for (int k = 0; k < m->receives && result == NCCL_SUCCESS; ++k) {
        const cmg_message *from = &m->receive[k];
        result = w->nccl.receive(from->data, from->bytes, NCCL_CHAR, from->peer, w->comm, stream);
    }
    const int ended = w->nccl.end();
    NCCL(ctx, w, result != NCCL_SUCCESS ? result : ended, "an exchange");
    return CMG_OK;
}

/* A first message makes the connections, which no graph should. */
static cmg_status prepare(cmg_context *ctx, void *wire, const cmgi_messages *m, void **)
{
    const bool there =
        (m->sends == 0 || m->send->data != NULL) && (m->receives == 0 || m->receive->data != NULL);
    return there ? exchange(ctx, wire, NULL, m) : CMG_OK;
}

static void forget(cmg_context *, void *, void *)
{
}

__global__ void rank_sum_kernel(int ranks, int count, const double *parts, double *values)
{
    const int k = (int)threadIdx.x;
    if (k < count) {
        double sum = parts[k];
        for (int r = 1; r < ranks; ++r) {
            sum += parts[r * count + k];
        }
        values[k] = sum;
    }
}

static cmg_status sum(cmg_context *ctx, void *wire, double *values, int count)
{
    CMGI_ON_DEVICE(ctx);
    const link *w = (const link *)wire;
    const cudaStream_t stream = cmgi_stream(ctx);
    CMGI_TRY(still_there(ctx, w));
    NCCL(ctx, w, w->nccl.gather(values, w->parts, (size_t)count, NCCL_DOUBLE, w->comm, stream),
         "a sum");
    return CMGI_RUN(ctx, 1, CMGI_SUMS, 0, rank_sum_kernel, cmgi_ranks(ctx), count, w->parts,
                    values);
}

/* An earlier failure of NCCL's own. */
static cmg_status look(cmg_context *ctx, void *wire)
{
    const link *w = (const link *)wire;
    int result = NCCL_SUCCESS;
    if (w->comm != NULL) {
        NCCL(ctx, w, w->nccl.look(w->comm, &result), "a look at the communicator");
        if (result != NCCL_SUCCESS && result != NCCL_IN_PROGRESS) {
            return failed(ctx, w, result, "an earlier call");
        }
    }
    return CMG_OK;
}

/* Kernels of NCCL that wait for a rank end with the communicator. */
static cmg_status wait(cmg_context *ctx, void *wire)
{
    link *w = (link *)wire;
    const cmg_status status = cmgi_side_wait(ctx, wire, look);
    if (status != CMG_OK && w->comm != NULL) {
        const cmgi_device_guard guard(ctx);
        (void)w->nccl.abort(w->comm);
        w->comm = NULL;
    }
    return status;
}

static void close_link(cmg_context *ctx, void *wire)
{
    const cmgi_device_guard guard(ctx);
    link *w = (link *)wire;
    const cmg_transport *t = &ctx->group->transport;
    if (w->comm != NULL) {
        (void)(t->check(t->user) == CMG_OK ? w->nccl.close(w->comm) : w->nccl.abort(w->comm));
    }
    cmgi_free_device(ctx, w->parts);
    cmgi_side_close(&w->side);
    if (w->nccl.library != NULL) {
        (void)dlclose(w->nccl.library);
    }
    cmgi_free(ctx, w);
}

/* The communicator and what goes with it, tried once so that its connections are there. */
static cmg_status connect(cmg_context *ctx, link *w)
{
    const int ranks = cmgi_ranks(ctx);
    invitation mine = {};
    invitation *all = NULL;
    const cmgi_at_end freed{[&] { cmgi_free(ctx, all); }};
    CMGI_TRY(cmgi_alloc(ctx, ranks, sizeof *all, &all));
    if (cmgi_rank(ctx) == 0) {
        mine.result = w->nccl.make_id(&mine.id);
    }
    CMGI_TRY(cmgi_group_gather(ctx, &mine, sizeof mine, all));
    NCCL(ctx, w, all[0].result, "a new communicator");
    NCCL(ctx, w, w->nccl.open(&w->comm, ranks, all[0].id, cmgi_rank(ctx)), "a new communicator");
    CMGI_TRY(cmgi_side_open(ctx, true, &w->side));
    CMGI_TRY(
        cmgi_alloc_device(ctx, (cmg_size)CMGI_SUMS * (ranks + 1), sizeof *w->parts, &w->parts));
    CMGI_TRY(cmgi_cuda_clear(ctx, w->parts, sizeof(double) * CMGI_SUMS * (size_t)(ranks + 1)));
    CMGI_TRY(sum(ctx, w, w->parts + CMGI_SUMS * ranks, 1));
    return wait(ctx, w);
}

static cmg_status open_link(cmg_context *ctx, void **wire, char *text, size_t size)
{
    CMGI_ON_DEVICE(ctx);
    link *w = NULL;
    cmgi_presence *all = NULL;
    const char *why = NULL;
    int version = 0;
    const cmgi_at_end freed{[&] { cmgi_free(ctx, all); }};
    CMGI_TRY(cmgi_alloc(ctx, cmgi_ranks(ctx), sizeof *all, &all));
    CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *w, &w));
    w->side.main = cmgi_stream(ctx);
    cmg_status status =
        cmgi_side_meet(ctx, load(&w->nccl), "host (libnccl.so.2 is not found)", all, &why);
    if (status == CMG_OK && why == NULL) {
        status = cmgi_group_agree(ctx, connect(ctx, w));
    }
    if (status != CMG_OK || why != NULL) {
        (void)snprintf(text, size, "%s", why != NULL ? why : "host");
        close_link(ctx, w);
        return status;
    }
    (void)w->nccl.version(&version);
    (void)snprintf(text, size, "nccl %d.%d.%d", version / 10000, version / 100 % 100,
                   version % 100);
    *wire = w;
    return CMG_OK;
}

/* NCCL's default puts nodes into a graph that the body of a loop may not have. */
static bool no_loop(void)
{
    const char *mixing = getenv("NCCL_GRAPH_MIXING_SUPPORT");
    return mixing == NULL || strcmp(mixing, "0") != 0;
}

/* In the order of its fields. */
extern "C" constexpr cmgi_wire cmgi_nccl = {
    "nccl",          open_link,      close_link,         no_loop, prepare, forget, exchange, sum,
    cmgi_side_aside, cmgi_side_back, cmgi_side_together, wait};
