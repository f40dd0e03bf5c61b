/*
 * Life and memory of the CUDA backend: device, stream, a memory pool of its own, accounted arrays,
 * copies.
 */
#include "core/cuda.cuh"

#include <stdlib.h>
#include <string.h>

/*
 * Freed memory that the pool keeps for the next allocation, at least, and as a share of the
 * device's. More is given back, which takes as long as taking it, 1 to 2 ms a GB: on an H200 a
 * second solver of 256^3, distorted, has solved after 51 ms, and after 67 where nothing is kept.
 */
static const uint64_t POOL_KEEPS = (uint64_t)256 << 20;
static const uint64_t POOL_SHARE = 16;
/* What the host reads of less comes through pinned memory at once: to pageable memory CUDA copies
 * in pieces that it waits for. */
static const size_t LETTER = (size_t)2 << 20;

static const size_t SPARE_LEAST = 256;

static cmg_status remember(cmg_context *ctx, void *p, size_t bytes)
{
    cmgi_device *d = cmgi_device_of(ctx);
    if (d->nblocks == d->capacity) {
        const size_t larger = d->capacity > 0 ? 2 * d->capacity : 256;
        cmgi_device_block *blocks =
            (cmgi_device_block *)realloc(d->blocks, larger * sizeof *blocks);
        CMGI_CHECK(ctx, blocks != NULL, CMG_ERR_MEMORY, "no host memory to list %zu device arrays",
                   larger);
        d->blocks = blocks;
        d->capacity = larger;
    }
    d->blocks[d->nblocks].p = p;
    d->blocks[d->nblocks].bytes = bytes;
    ++d->nblocks;
    return CMG_OK;
}

static cudaError_t take(const cmgi_device *d, size_t bytes, void **p)
{
    return d->pool != NULL ? cudaMallocFromPoolAsync(p, bytes, d->pool, d->stream)
                           : cudaMalloc(p, bytes);
}

/* The sizes of small arrays are powers of two; NULL where an array is large. */
static cmgi_spares *spares_of(cmgi_device *d, size_t bytes, size_t *size)
{
    *size = SPARE_LEAST;
    for (int k = 0; k < CMGI_SPARE_SIZES; ++k) {
        if (bytes <= *size) {
            return &d->spare[k];
        }
        *size *= 2;
    }
    return NULL;
}

static void give_back(const cmgi_device *d, void *p)
{
    cmgi_cuda_ignore(d->pool != NULL ? cudaFreeAsync(p, d->stream) : cudaFree(p));
}

static void drop_spares(cmgi_device *d)
{
    for (int k = 0; k < CMGI_SPARE_SIZES; ++k) {
        while (d->spare[k].count > 0) {
            give_back(d, d->spare[k].p[--d->spare[k].count]);
        }
    }
}

static cmg_status alloc(cmg_context *ctx, size_t bytes, void *p)
{
    CMGI_ON_DEVICE(ctx);
    cmgi_device *d = cmgi_device_of(ctx);
    CMGI_TRY(cmgi_account(ctx, 1, bytes));
    size_t rounded = 0;
    cmgi_spares *spares = spares_of(d, bytes, &rounded);
    const size_t wanted = spares != NULL ? rounded : bytes;
    void *made = spares != NULL && spares->count > 0 ? spares->p[--spares->count] : NULL;
    cudaError_t error = made != NULL ? cudaSuccess : take(d, wanted, &made);
    if (error == cudaErrorMemoryAllocation && d->held) { /* in pieces of other sizes, perhaps */
        cmgi_cuda_ignore(error);
        drop_spares(d);
        cmgi_cuda_ignore(cudaStreamSynchronize(d->stream));
        cmgi_cuda_ignore(cudaMemPoolTrimTo(d->pool, 0));
        error = take(d, wanted, &made);
    }
    if (error != cudaSuccess) {
        cmgi_cuda_ignore(error);
        cmgi_unaccount(ctx, 1, bytes);
        size_t free_bytes = 0;
        size_t total = 0;
        cmgi_cuda_ignore(cudaMemGetInfo(&free_bytes, &total));
        if (error != cudaErrorMemoryAllocation) {
            return cmgi_cuda_failed(ctx, error, "allocation");
        }
        return cmgi_fail(
            ctx, CMG_ERR_MEMORY,
            "%zu bytes of device memory are needed, %zu of %zu are free; this context holds %zu",
            bytes, free_bytes, total, ctx->bytes_now[1]);
    }
    const cmg_status status = remember(ctx, made, bytes);
    if (status != CMG_OK) {
        give_back(d, made);
        cmgi_unaccount(ctx, 1, bytes);
        return status;
    }
    *(void **)p = made;
    return CMG_OK;
}

/* What is not in the list of device arrays is a host array that was not moved yet. */
static void release(cmg_context *ctx, void *p)
{
    cmgi_device *d = cmgi_device_of(ctx);
    size_t k = d->nblocks;
    while (k > 0 && d->blocks[k - 1].p != p) {
        --k;
    }
    if (k == 0) {
        cmgi_free(ctx, p);
        return;
    }
    const cmgi_device_guard guard(ctx);
    size_t rounded = 0;
    cmgi_spares *spares = spares_of(d, d->blocks[k - 1].bytes, &rounded);
    cmgi_unaccount(ctx, 1, d->blocks[k - 1].bytes);
    d->blocks[k - 1] = d->blocks[--d->nblocks];
    /* stream order: kernels that still read it come first */
    if (spares != NULL && spares->count < CMGI_SPARES) {
        spares->p[spares->count++] = p;
    } else {
        give_back(d, p);
    }
}

/* What the device has, and what the pool keeps for the next allocation. */
static cmg_status memory_free(cmg_context *ctx, size_t *bytes)
{
    CMGI_ON_DEVICE(ctx);
    const cmgi_device *d = cmgi_device_of(ctx);
    size_t total = 0;
    uint64_t reserved = 0;
    uint64_t used = 0;
    CMGI_CUDA(ctx, cudaMemGetInfo(bytes, &total));
    if (d->pool != NULL) {
        CMGI_CUDA(ctx,
                  cudaMemPoolGetAttribute(d->pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
        CMGI_CUDA(ctx, cudaMemPoolGetAttribute(d->pool, cudaMemPoolAttrUsedMemCurrent, &used));
        *bytes += (size_t)(reserved - used);
    }
    return CMG_OK;
}

/*
 * Else the pool maps and unmaps the large arrays of a set-up at each of its waits. Its threshold
 * counts what is in use, too.
 */
static void hold_memory(cmg_context *ctx, bool hold)
{
    cmgi_device *d = cmgi_device_of(ctx);
    const cmgi_device_guard guard(ctx);
    if (d->pool != NULL) {
        uint64_t used = 0;
        cmgi_cuda_ignore(cudaMemPoolGetAttribute(d->pool, cudaMemPoolAttrUsedMemCurrent, &used));
        uint64_t keeps = hold ? UINT64_MAX : used + d->pool_keeps;
        cmgi_cuda_ignore(cudaMemPoolSetAttribute(d->pool, cudaMemPoolAttrReleaseThreshold, &keeps));
        d->held = hold;
    }
}

static cmg_status where_is(cmg_context *ctx, const void *p, bool *device, bool *reachable)
{
    CMGI_ON_DEVICE(ctx);
    cudaPointerAttributes of = {};
    CMGI_CUDA(ctx, cudaPointerGetAttributes(&of, p));
    const bool managed = of.type == cudaMemoryTypeManaged;
    *device = managed || of.type == cudaMemoryTypeDevice;
    *reachable = managed || (*device && of.device == cmgi_device_of(ctx)->number);
    return CMG_OK;
}

/*
 * The source may change when this returns. Pageable memory has then been copied to a buffer of
 * CUDA's (CUDA runtime API, "API synchronization behavior"), and nobody waits; other memory is read
 * later.
 */
static cmg_status to_device(cmg_context *ctx, void *dst, const void *src, size_t bytes)
{
    if (bytes == 0) {
        return CMG_OK;
    }
    CMGI_ON_DEVICE(ctx);
    cudaPointerAttributes from = {};
    CMGI_CUDA(ctx, cudaPointerGetAttributes(&from, src));
    const bool there = from.type == cudaMemoryTypeDevice || from.type == cudaMemoryTypeManaged;
    bool sent = false;
    if (bytes >= CMGI_FEED_FROM && !there) {
        CMGI_TRY(cmgi_feed_copy(ctx, dst, src, bytes, &sent));
    }
    if (sent) {
        return CMG_OK;
    }
    CMGI_CUDA(ctx, cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDefault, cmgi_stream(ctx)));
    return from.type == cudaMemoryTypeUnregistered ? CMG_OK : cmgi_cuda_wait(ctx);
}

/* Room of a read in the letter. */
static size_t in_letter(size_t bytes)
{
    return (bytes + 15) / 16 * 16;
}

static cmg_status read_each(cmg_context *ctx, const cmgi_read *reads, int count);

static cmg_status to_host(cmg_context *ctx, void *dst, const void *src, size_t bytes)
{
    const cmgi_read one = {dst, src, bytes};
    if (bytes == 0) {
        return CMG_OK;
    }
    if (bytes <= LETTER && cmgi_device_of(ctx)->letter != NULL) {
        return read_each(ctx, &one, 1);
    }
    CMGI_ON_DEVICE(ctx);
    bool fetched = false;
    if (bytes >= CMGI_FEED_FROM) {
        CMGI_TRY(cmgi_cuda_fetch(ctx, (char *)dst, (const char *)src, bytes, &fetched));
    }
    if (!fetched) {
        CMGI_CUDA(ctx, cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDeviceToHost, cmgi_stream(ctx)));
    }
    return cmgi_cuda_wait(ctx);
}

/* Several reads by one wait, through the letter; each by itself where they do not fit into it. */
static cmg_status read_each(cmg_context *ctx, const cmgi_read *reads, int count)
{
    char *letter = cmgi_device_of(ctx)->letter;
    size_t bytes = 0;
    for (int k = 0; k < count; ++k) {
        bytes += in_letter(reads[k].bytes);
    }
    if (letter == NULL || bytes > LETTER) {
        for (int k = 0; k < count; ++k) {
            CMGI_TRY(to_host(ctx, reads[k].to, reads[k].from, reads[k].bytes));
        }
        return CMG_OK;
    }
    CMGI_ON_DEVICE(ctx);
    char *at = letter;
    for (int k = 0; k < count; ++k) {
        if (reads[k].bytes > 0) {
            CMGI_CUDA(ctx, cudaMemcpyAsync(at, reads[k].from, reads[k].bytes,
                                           cudaMemcpyDeviceToHost, cmgi_stream(ctx)));
        }
        at += in_letter(reads[k].bytes);
    }
    CMGI_TRY(cmgi_cuda_wait(ctx));
    at = letter;
    for (int k = 0; k < count; ++k) {
        if (reads[k].bytes > 0) {
            memcpy(reads[k].to, at, reads[k].bytes);
        }
        at += in_letter(reads[k].bytes);
    }
    return CMG_OK;
}

/* Needs what is there only in part: also the clean-up of a failed open. */
static void close(cmg_context *ctx)
{
    cmgi_device *d = cmgi_device_of(ctx);
    if (d == NULL) {
        return;
    }
    {
        const cmgi_device_guard guard(ctx);
        if (d->stream != NULL) {
            cmgi_cuda_ignore(cudaStreamSynchronize(d->stream));
        }
        cmgi_cuda_marks_free(ctx);
        drop_spares(d);
        cmgi_cuda_staging_close(d);
        if (d->letter != NULL) {
            cmgi_cuda_ignore(cudaFreeHost(d->letter));
        }
        if (d->pool != NULL) {
            cmgi_cuda_ignore(cudaMemPoolDestroy(d->pool));
        }
        if (d->own_stream) {
            cmgi_cuda_ignore(cudaStreamDestroy(d->stream));
        }
        cmgi_side_close(&d->side);
    }
    free(d->blocks);
    free(d);
    ctx->device = NULL;
}

static cmg_status make_pool(cmg_context *ctx)
{
    cmgi_device *d = cmgi_device_of(ctx);
    int supported = 0;
    CMGI_CUDA(ctx, cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, d->number));
    if (!supported) {
        return CMG_OK;
    }
    cudaMemPoolProps props = {};
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = d->number;
    CMGI_CUDA(ctx, cudaMemPoolCreate(&d->pool, &props));
    size_t available = 0;
    size_t total = 0;
    CMGI_CUDA(ctx, cudaMemGetInfo(&available, &total));
    d->pool_keeps = total / POOL_SHARE > POOL_KEEPS ? total / POOL_SHARE : POOL_KEEPS;
    uint64_t keeps = d->pool_keeps;
    CMGI_CUDA(ctx, cudaMemPoolSetAttribute(d->pool, cudaMemPoolAttrReleaseThreshold, &keeps));
    return CMG_OK;
}

cmg_status cmgi_side_open(cmg_context *ctx, bool urgent, cmgi_side *s)
{
    int least = 0;
    int most = 0;
    CMGI_CUDA(ctx, cudaDeviceGetStreamPriorityRange(&least, &most));
    CMGI_CUDA(ctx,
              cudaStreamCreateWithPriority(&s->side, cudaStreamNonBlocking, urgent ? most : least));
    CMGI_CUDA(ctx, cudaEventCreateWithFlags(&s->forked, cudaEventDisableTiming));
    CMGI_CUDA(ctx, cudaEventCreateWithFlags(&s->joined, cudaEventDisableTiming));
    s->main = cmgi_stream(ctx);
    return CMG_OK;
}

void cmgi_side_close(cmgi_side *s)
{
    for (cudaEvent_t event : {s->forked, s->joined}) {
        if (event != NULL) {
            cmgi_cuda_ignore(cudaEventDestroy(event));
        }
    }
    if (s->side != NULL) {
        cmgi_cuda_ignore(cudaStreamDestroy(s->side));
    }
}

cmg_status cmgi_side_fork(cmg_context *ctx, cmgi_side *s)
{
    s->main = cmgi_stream(ctx);
    CMGI_CUDA(ctx, cudaEventRecord(s->forked, s->main));
    CMGI_CUDA(ctx, cudaStreamWaitEvent(s->side, s->forked, 0));
    return CMG_OK;
}

cmg_status cmgi_side_join(cmg_context *ctx, cmgi_side *s)
{
    CMGI_CUDA(ctx, cudaEventRecord(s->joined, s->side));
    CMGI_CUDA(ctx, cudaStreamWaitEvent(s->main, s->joined, 0));
    return CMG_OK;
}

static cmg_status start(cmg_context *ctx)
{
    CMGI_ON_DEVICE(ctx);
    cmgi_device *d = cmgi_device_of(ctx);
    CMGI_CUDA(ctx,
              cudaDeviceGetAttribute(&d->processors, cudaDevAttrMultiProcessorCount, d->number));
    const cudaError_t code = cmgi_cuda_probe(&d->early);
    if (code != cudaSuccess) {
        int major = 0;
        int minor = 0;
        cmgi_cuda_ignore(code);
        cmgi_cuda_ignore(
            cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, d->number));
        cmgi_cuda_ignore(
            cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, d->number));
        return cmgi_fail(
            ctx, CMG_ERR_DEVICE,
            "device %d of compute capability %d.%d cannot run this build's kernels: %s", d->number,
            major, minor, cudaGetErrorString(code));
    }
    if (ctx->options.stream != NULL) {
        d->stream = (cudaStream_t)ctx->options.stream;
    } else {
        CMGI_CUDA(ctx, cudaStreamCreateWithFlags(&d->stream, cudaStreamNonBlocking));
        d->own_stream = true;
    }
    CMGI_TRY(cmgi_side_open(ctx, false, &d->side));
    const cudaError_t pinned = cudaMallocHost((void **)&d->letter, LETTER);
    if (pinned != cudaSuccess) { /* which only costs time */
        cmgi_cuda_ignore(pinned);
        d->letter = NULL;
    }
    CMGI_TRY(make_pool(ctx));
    const size_t partials = CMGI_CUDA_SUMS * sizeof(double);
    CMGI_TRY(alloc(ctx, partials, &ctx->partials));
    CMGI_CUDA(ctx, cudaMemsetAsync(ctx->partials, 0, partials, d->stream));
    ctx->partials_length = CMGI_CUDA_SUMS;
    ctx->post = d->letter;
    return CMG_OK;
}

static cmg_status open(cmg_context *ctx)
{
    int devices = 0;
    const cudaError_t error = cudaGetDeviceCount(&devices);
    if (error != cudaSuccess) {
        cmgi_cuda_ignore(error);
        return cmgi_fail(ctx, CMG_ERR_DEVICE, "no CUDA device: %s", cudaGetErrorString(error));
    }
    CMGI_CHECK(ctx, ctx->options.device < devices, CMG_ERR_DEVICE,
               "CUDA device %d was asked for, there are %d", ctx->options.device, devices);
    cmgi_device *d = (cmgi_device *)calloc(1, sizeof *d);
    CMGI_CHECK(ctx, d != NULL, CMG_ERR_MEMORY, "no host memory for the state of the device");
    d->number = ctx->options.device;
    ctx->device = d;
    const cmg_status status = start(ctx);
    if (status != CMG_OK) {
        release(ctx, ctx->partials);
        ctx->partials = NULL;
        close(ctx);
    }
    return status;
}

static int devices(void)
{
    int count = 0;
    const cudaError_t error = cudaGetDeviceCount(&count);
    cmgi_cuda_ignore(error);
    return error == cudaSuccess ? count : 0;
}

static constexpr cmgi_backend make_table()
{
    cmgi_backend table = {};
    table.name = "cuda";
    table.collapse_rows = 1024;
    table.coarsen_rows = 1000;
    /* an H200, Q1, auto: 2.9 ms for 4.8 with 16.6 M rows in 3D, 24.7 for 29.7 distorted; as long
     * with 0.25 M */
    table.semi_rows = 1000000;
    /* an H200, Q1 in 3D, distorted, 2 M rows: 0.6 ms of 3.9 a solve, for which set-up takes 0.8 */
    table.halves_rows = 1 << 20;
    table.memory = "device";
    table.unit_columns = 256;
    table.fold_rows = 1 << 17; /* formed in milliseconds */
    table.open = open;
    table.close = close;
    table.synchronize = cmgi_cuda_wait;
    table.alloc = alloc;
    table.free = release;
    table.where_is = where_is;
    table.memory_free = memory_free;
    table.hold_memory = hold_memory;
    table.to_device = to_device;
    table.to_host = to_host;
    table.read_each = read_each;
    table.random = cmgi_draw;
    table.copy_block = cmgi_copy_block;
    table.devices = devices;
#define PUT(name) table.name = cmgi_cuda_##name;
    CMGI_CUDA_FUNCTIONS(PUT)
    return table;
}

extern "C" constexpr cmgi_backend cmgi_backend_cuda = make_table();
