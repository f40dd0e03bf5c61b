/*
 * Large copies between the host and the device. Pieces pass through pinned slots: all threads of
 * the context fill one while those before travel in a stream of their own, beside what the
 * context's stream does meanwhile. Pageable memory is copied at a fraction of the link's rate.
 */
#include "core/cuda.cuh"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { SLOTS = 4, TOUCHED = 1 << 18, HUGE_PAGE = 2 << 20 };
static const size_t SLOT = (size_t)16 << 20;

struct cmgi_staging {
    char *pinned; /* SLOTS slots */
    cudaStream_t stream;
    cudaEvent_t here;        /* a place in the order of one stream for which the other waits */
    cudaEvent_t done[SLOTS]; /* the last copy from or to the slot */
    int next;                /* slot */
};

void cmgi_cuda_staging_close(cmgi_device *d)
{
    cmgi_staging *s = d->staging;
    if (s == NULL) {
        return;
    }
    if (s->stream != NULL) {
        cmgi_cuda_ignore(cudaStreamSynchronize(s->stream));
        cmgi_cuda_ignore(cudaStreamDestroy(s->stream));
    }
    for (int k = 0; k < SLOTS; ++k) {
        if (s->done[k] != NULL) {
            cmgi_cuda_ignore(cudaEventDestroy(s->done[k]));
        }
    }
    if (s->here != NULL) {
        cmgi_cuda_ignore(cudaEventDestroy(s->here));
    }
    if (s->pinned != NULL) {
        cmgi_cuda_ignore(cudaHostUnregister(s->pinned));
        free(s->pinned);
    }
    free(s);
    d->staging = NULL;
}

/* cmgi_feed.fill */
static bool touch(void *user, size_t unit, void *to)
{
    (void)user;
    (void)unit;
    memset(to, 0, TOUCHED);
    return true;
}

/* Pages that all threads have touched are pinned in a fifth of the time that cudaMallocHost takes
 * for its own, which one thread clears: 4 ms, not 23, on the host of an H200. */
static cudaError_t make(cmg_context *ctx, cmgi_staging *s)
{
    const size_t bytes = SLOTS * SLOT;
    const cmgi_feed zeros = {touch, NULL, TOUCHED};
    s->pinned = (char *)aligned_alloc(HUGE_PAGE, bytes);
    if (s->pinned == NULL) {
        return cudaErrorMemoryAllocation;
    }
#ifdef MADV_HUGEPAGE
    (void)madvise(s->pinned, bytes, MADV_HUGEPAGE);
#endif
    (void)cmgi_feed_units(ctx, &zeros, 0, bytes / TOUCHED, s->pinned);
    const cudaError_t error = cudaHostRegister(s->pinned, bytes, cudaHostRegisterDefault);
    if (error != cudaSuccess) {
        free(s->pinned);
        s->pinned = NULL;
        return error;
    }
    CMGI_CUDA_TRY(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking));
    CMGI_CUDA_TRY(cudaEventCreateWithFlags(&s->here, cudaEventDisableTiming));
    for (int k = 0; k < SLOTS; ++k) {
        CMGI_CUDA_TRY(cudaEventCreateWithFlags(&s->done[k], cudaEventDisableTiming));
    }
    return cudaSuccess;
}

/* False where it cannot be had, which only costs speed. */
static bool has_staging(cmg_context *ctx)
{
    cmgi_device *d = cmgi_device_of(ctx);
    if (d->staging != NULL) {
        return true;
    }
    d->staging = (cmgi_staging *)calloc(1, sizeof *d->staging);
    if (d->staging == NULL) {
        return false;
    }
    const cudaError_t error = make(ctx, d->staging);
    if (error != cudaSuccess) {
        cmgi_cuda_ignore(error);
        cmgi_cuda_staging_close(d);
    }
    return error == cudaSuccess;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static cmg_status send_pieces(cmg_context *ctx, char *dst, size_t bytes, const cmgi_feed *from,
                              bool *fed)
{
    cmgi_staging *s = cmgi_device_of(ctx)->staging;
    const size_t most = SLOT / from->unit;
    const size_t units = (bytes + from->unit - 1) / from->unit;
    for (size_t first = 0; first < units; first += most) {
        const size_t count = least(most, units - first);
        const size_t at = first * from->unit;
        const size_t length = least(count * from->unit, bytes - at);
        const int slot = s->next;
        char *piece = s->pinned + (size_t)slot * SLOT;
        CMGI_CUDA(ctx, cudaEventSynchronize(s->done[slot]));
        if (!cmgi_feed_units(ctx, from, first, count, piece)) {
            return CMG_OK;
        }
        CMGI_CUDA(ctx, cudaMemcpyAsync(dst + at, piece, length, cudaMemcpyHostToDevice, s->stream));
        CMGI_CUDA(ctx, cudaEventRecord(s->done[slot], s->stream));
        s->next = (slot + 1) % SLOTS;
    }
    *fed = true;
    return CMG_OK;
}

cmg_status cmgi_cuda_feed(cmg_context *ctx, void *dst, size_t bytes, const cmgi_feed *from,
                          bool *fed)
{
    CMGI_ON_DEVICE(ctx);
    cmgi_device *d = cmgi_device_of(ctx);
    *fed = bytes == 0;
    if (bytes == 0 || from->unit > SLOT || !has_staging(ctx)) {
        return CMG_OK;
    }
    const cmg_status status = send_pieces(ctx, (char *)dst, bytes, from, fed);
    if (!*fed) { /* nothing is written there from here on */
        cmgi_cuda_ignore(cudaStreamSynchronize(d->staging->stream));
    }
    return status;
}

/* Events of both streams: arrays are taken and freed in the order of the context's. */
cmg_status cmgi_cuda_feed_order(cmg_context *ctx, bool done)
{
    CMGI_ON_DEVICE(ctx);
    cmgi_device *d = cmgi_device_of(ctx);
    if (!has_staging(ctx)) {
        return CMG_OK;
    }
    const cudaStream_t first = done ? d->staging->stream : d->stream;
    const cudaStream_t second = done ? d->stream : d->staging->stream;
    cudaError_t error = cudaEventRecord(d->staging->here, first);
    if (error == cudaSuccess) {
        error = cudaStreamWaitEvent(second, d->staging->here, 0);
    }
    if (error != cudaSuccess && done) { /* nothing is under way behind this */
        cmgi_cuda_ignore(cudaStreamSynchronize(d->staging->stream));
    }
    return error == cudaSuccess ? CMG_OK : cmgi_cuda_failed(ctx, error, "order of copies");
}

cmg_status cmgi_cuda_wait(cmg_context *ctx)
{
    CMGI_ON_DEVICE(ctx);
    const cudaStream_t stream = cmgi_stream(ctx);
    ++ctx->waits;
    while (cmgi_send_waits(ctx)) {
        const cudaError_t answer = cudaStreamQuery(stream);
        if (answer != cudaErrorNotReady) {
            CMGI_CUDA(ctx, answer);
            break;
        }
        cmgi_cuda_ignore(answer); /* it is kept like an error */
        CMGI_TRY(cmgi_send_piece(ctx));
    }
    CMGI_CUDA(ctx, cudaStreamSynchronize(stream));
    return CMG_OK;
}

static cmg_status fetch_pieces(cmg_context *ctx, char *dst, const char *src, size_t bytes)
{
    cmgi_device *d = cmgi_device_of(ctx);
    cmgi_staging *s = d->staging;
    const size_t parts = (bytes + SLOT - 1) / SLOT;
    for (size_t k = 0; k <= parts; ++k) {
        if (k < parts) {
            const size_t at = k * SLOT;
            CMGI_CUDA(ctx,
                      cudaMemcpyAsync(s->pinned + (k % SLOTS) * SLOT, src + at,
                                      least(SLOT, bytes - at), cudaMemcpyDeviceToHost, d->stream));
            CMGI_CUDA(ctx, cudaEventRecord(s->done[k % SLOTS], d->stream));
        }
        if (k > 0) {
            const size_t at = (k - 1) * SLOT;
            CMGI_CUDA(ctx, cudaEventSynchronize(s->done[(k - 1) % SLOTS]));
            cmgi_copy(ctx, dst + at, s->pinned + ((k - 1) % SLOTS) * SLOT, least(SLOT, bytes - at));
        }
    }
    return CMG_OK;
}

cmg_status cmgi_cuda_fetch(cmg_context *ctx, char *dst, const char *src, size_t bytes,
                           bool *fetched)
{
    cmgi_device *d = cmgi_device_of(ctx);
    *fetched = has_staging(ctx);
    if (!*fetched) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_cuda_feed_order(ctx, true)); /* the slots are free in the stream's order */
    const cmg_status status = fetch_pieces(ctx, dst, src, bytes);
    if (status != CMG_OK) { /* nothing is written to the slots from here on */
        cmgi_cuda_ignore(cudaStreamSynchronize(d->stream));
    }
    return status;
}
