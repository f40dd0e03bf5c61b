/*
 * Host memory. Every block has a 64-byte header with its size, so that frees can be accounted
 * for, and the bytes that are there. Large blocks are aligned to and advised for 2 MiB pages:
 * gathers over x otherwise miss the TLB.
 *
 * What a set-up frees is kept for it: a page that the system gives is cleared first, which takes
 * longer than most passes over it. A kept block that is larger than what is asked for is split; its
 * parts meet again when both are kept, and the block goes back to the system with the last of them,
 * its pages before that.
 */
#define _DEFAULT_SOURCE
#include "core/memory.h"

#include "core/backend.h"
#include "core/blocks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/mman.h>
#endif
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ /* as gcc has it */
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif
#ifndef ASAN_POISON_MEMORY_REGION
#define ASAN_POISON_MEMORY_REGION(from, bytes) ((void)(from), (void)(bytes))
#define ASAN_UNPOISON_MEMORY_REGION(from, bytes) ((void)(from), (void)(bytes))
#endif

enum { HEADER = 64, ALIGN = 64 };
static const size_t HUGE_PAGE = (size_t)1 << 21;
static const size_t GRAIN = (size_t)1 << 16; /* of parts, a multiple of every system's pages */
static const size_t LEAST = (size_t)1 << 17; /* that is kept: malloc maps what is larger */
#ifdef MADV_DONTNEED
static const bool splits = true; /* pages of a part can go back before the block */
#else
static const bool splits = false;
#endif

/* A block that has been split. */
typedef struct whole {
    char *begin;
    int parts; /* not yet back */
} whole;

/* What stands before an array. */
typedef struct header {
    size_t bytes; /* asked for */
    size_t room;  /* of the block or part, the header included */
    whole *of;    /* what it is a part of, NULL = a block by itself */
    cmg_context *ctx;
} header;

static header header_of(const void *block)
{
    header h;
    memcpy(&h, block, sizeof h);
    return h;
}

static void write_header(char *block, header h)
{
    memcpy(block, &h, sizeof h);
}

/* Gives a block back, or the pages of a part. */
static void give_back(char *block)
{
    const header h = header_of(block);
    ASAN_UNPOISON_MEMORY_REGION(block, h.room);
    if (h.of == NULL) {
        free(block);
    } else if (--h.of->parts == 0) {
        free(h.of->begin);
        free(h.of);
    } else {
#ifdef MADV_DONTNEED
        (void)madvise(block, h.room, MADV_DONTNEED);
#endif
    }
}

/* Keeps what a block has after its first `total` bytes, or gives the pages of it back. */
static void split(cmg_context *ctx, char *block, size_t total)
{
#ifdef MADV_DONTNEED
    header h = header_of(block);
    const size_t rest = h.room - total;
    whole *of = h.of;
    if (rest >= LEAST && of == NULL && (of = malloc(sizeof *of)) != NULL) {
        *of = (whole){block, 1};
    }
    if (rest >= LEAST && of != NULL) {
        ++of->parts;
        write_header(block, (header){h.bytes, total, of, ctx});
        write_header(block + total, (header){0, rest, of, ctx});
        ASAN_POISON_MEMORY_REGION(block + total + HEADER, rest - HEADER);
        ctx->keep[ctx->kept++] = block + total;
    } else if (rest > 0) {
        (void)madvise(block + total, rest, MADV_DONTNEED);
    }
#else
    (void)ctx;
    (void)block;
    (void)total;
#endif
}

/* The least of the kept blocks that has room, split; else NULL. */
static char *take_kept(cmg_context *ctx, size_t total)
{
    int least = -1;
    size_t room = splits ? SIZE_MAX : 4 * total + 1;
    for (int k = 0; k < ctx->kept; ++k) {
        const header h = header_of(ctx->keep[k]);
        if (h.room >= total && h.room < room) {
            least = k;
            room = h.room;
        }
    }
    if (least < 0) {
        return NULL;
    }
    char *block = ctx->keep[least];
    ctx->keep[least] = ctx->keep[--ctx->kept];
    ASAN_UNPOISON_MEMORY_REGION(block, room);
    split(ctx, block, total);
    return block;
}

/* The kept part that `block`, a part too, touches, becomes one with it; false = there is none. */
static bool join(cmg_context *ctx, char **block)
{
    const header h = header_of(*block);
    for (int k = 0; k < ctx->kept && h.of != NULL; ++k) {
        char *other = ctx->keep[k];
        const header o = header_of(other);
        if (o.of == h.of && (other + o.room == *block || *block + h.room == other)) {
            ctx->keep[k] = ctx->keep[--ctx->kept];
            --h.of->parts;
            *block = other < *block ? other : *block;
            write_header(*block, (header){0, h.room + o.room, h.of, ctx});
            return true;
        }
    }
    return false;
}

/* A large block that is freed, where those are kept and there is a place for it. */
static bool keep(cmg_context *ctx, char *block)
{
    if (!ctx->holds || header_of(block).room < LEAST) {
        return false;
    }
    ASAN_POISON_MEMORY_REGION(block + HEADER, header_of(block).room - HEADER);
    while (join(ctx, &block)) {
    }
    if (ctx->kept == CMGI_KEPT) {
        give_back(block);
    } else {
        ctx->keep[ctx->kept++] = block;
    }
    return true;
}

/* count * size bytes or CMG_ERR_MEMORY when that overflows or count < 0. */
static cmg_status product(cmg_context *ctx, cmg_size count, size_t size, size_t *bytes)
{
    const size_t limit = PTRDIFF_MAX - (HEADER + ((size_t)1 << 22));
    CMGI_CHECK(ctx, count >= 0 && (size == 0 || (size_t)count <= limit / size), CMG_ERR_MEMORY,
               "%lld elements of %zu bytes are more than can be addressed", (long long)count, size);
    *bytes = (size_t)count * size;
    return CMG_OK;
}

cmg_status cmgi_account(cmg_context *ctx, int space, size_t bytes)
{
    if (ctx->fail_after == 0) {
        ctx->fail_after = -1;
        return cmgi_fail(ctx, CMG_ERR_MEMORY, "%zu bytes are not available (injected fault)",
                         bytes);
    }
    if (ctx->fail_after > 0) {
        --ctx->fail_after;
    }
    ++ctx->blocks;
    ctx->bytes_now[space] += bytes;
    if (ctx->bytes_now[space] > ctx->bytes_peak[space]) {
        ctx->bytes_peak[space] = ctx->bytes_now[space];
    }
    return CMG_OK;
}

void cmgi_context_release(cmg_context *ctx)
{
    if (!ctx->closed || ctx->blocks > 0) {
        return;
    }
    free(ctx->tuned);
    if (ctx->backend->close != NULL) {
        ctx->backend->close(ctx);
    }
    free(ctx);
}

void cmgi_unaccount(cmg_context *ctx, int space, size_t bytes)
{
    --ctx->blocks;
    ctx->bytes_now[space] -= bytes;
}

static size_t round_up(size_t bytes, size_t to)
{
    return (bytes + to - 1) / to * to;
}

cmg_status cmgi_alloc(cmg_context *ctx, cmg_size count, size_t size, void *p)
{
    size_t bytes = 0;
    CMGI_TRY(product(ctx, count, size, &bytes));
    CMGI_TRY(cmgi_account(ctx, 0, bytes));
    const bool large = bytes >= 2 * HUGE_PAGE;
    const size_t align = large ? HUGE_PAGE : bytes >= LEAST ? GRAIN : ALIGN;
    const size_t total = round_up(bytes + HEADER, align);
    char *block = bytes >= LEAST ? take_kept(ctx, round_up(bytes + HEADER, GRAIN)) : NULL;
    const bool fresh = block == NULL;
    if (fresh) {
        block = aligned_alloc(align, total);
    }
    if (block == NULL) {
        cmgi_unaccount(ctx, 0, bytes);
        return cmgi_fail(ctx, CMG_ERR_MEMORY,
                         "%zu bytes of host memory are not available, %zu are held", bytes,
                         ctx->bytes_now[0]);
    }
#ifdef MADV_HUGEPAGE
    if (fresh && large) {
        (void)madvise(block, total, MADV_HUGEPAGE);
    }
#endif
    const header before = fresh ? (header){bytes, total, NULL, ctx} : header_of(block);
    write_header(block, (header){bytes, before.room, before.of, ctx});
    *(void **)p = block + HEADER;
    /* what rounding up has added is nobody's: the sanitizer is to say so */
    ASAN_POISON_MEMORY_REGION(block + HEADER + bytes, before.room - HEADER - bytes);
    return CMG_OK;
}

cmg_status cmgi_alloc_zero(cmg_context *ctx, cmg_size count, size_t size, void *p)
{
    void *q = NULL;
    CMGI_TRY(cmgi_alloc(ctx, count, size, &q));
    const cmg_size bytes = count * (cmg_size)size;
    const int parts = bytes > (cmg_size)4 << 20 ? ctx->threads : 1;
    CMGI_PARTS(parts, k,
               memset((char *)q + bytes * k / parts, 0,
                      (size_t)(bytes * (k + 1) / parts - bytes * k / parts)));
    *(void **)p = q;
    return CMG_OK;
}

void cmgi_free(cmg_context *ctx, void *p)
{
    if (p == NULL) {
        return;
    }
    char *block = (char *)p - HEADER;
    cmgi_unaccount(ctx, 0, header_of(block).bytes);
    if (!keep(ctx, block)) {
        give_back(block);
    }
    cmgi_context_release(ctx);
}

cmg_context *cmgi_owner(const void *p)
{
    return header_of((const char *)p - HEADER).ctx;
}

void cmgi_free_scoped(void *p)
{
    void *array = *(void **)p;
    if (array != NULL) {
        cmgi_free(cmgi_owner(array), array);
    }
}

void *cmgi_pass_on(void *p)
{
    void *held = *(void **)p;
    *(void **)p = NULL;
    return held;
}

void cmgi_hold_memory(cmg_context *ctx, bool hold)
{
    ctx->holds = hold;
    while (!hold && ctx->kept > 0) {
        give_back(ctx->keep[--ctx->kept]);
    }
    if (ctx->backend->hold_memory != NULL) {
        ctx->backend->hold_memory(ctx, hold);
    }
}

cmg_status cmgi_alloc_device(cmg_context *ctx, cmg_size count, size_t size, void *p)
{
    if (ctx->backend->alloc == NULL) {
        return cmgi_alloc(ctx, count, size, p);
    }
    size_t bytes = 0;
    CMGI_TRY(product(ctx, count, size, &bytes));
    return ctx->backend->alloc(ctx, bytes, p);
}

void cmgi_free_device(cmg_context *ctx, void *p)
{
    if (ctx->backend->free == NULL) {
        cmgi_free(ctx, p);
    } else if (p != NULL) {
        ctx->backend->free(ctx, p);
        cmgi_context_release(ctx);
    }
}

void cmgi_free_all(const cmgi_freed *freed)
{
    for (int k = 0; k < 16 && freed->address[k] != NULL; ++k) {
        cmgi_free_device(freed->ctx, *(void **)freed->address[k]);
    }
}

void cmgi_free_each(void (*release)(cmg_context *ctx, void *p), cmg_context *ctx, void *const *p,
                    size_t count)
{
    for (size_t k = 0; k < count; ++k) {
        release(ctx, p[k]);
    }
}

cmg_status cmgi_where_is(cmg_context *ctx, const void *p, bool *device, bool *reachable)
{
    *device = *reachable = false;
    return ctx->backend->where_is != NULL && p != NULL
               ? ctx->backend->where_is(ctx, p, device, reachable)
               : CMG_OK;
}

cmg_status cmgi_is_device(cmg_context *ctx, const void *p, bool *device)
{
    bool reachable = false;
    return cmgi_where_is(ctx, p, device, &reachable);
}

cmg_status cmgi_to_device(cmg_context *ctx, void *dst, const void *src, size_t bytes)
{
    if (ctx->backend->to_device != NULL) {
        return ctx->backend->to_device(ctx, dst, src, bytes);
    }
    cmgi_copy(ctx, dst, src, bytes);
    return CMG_OK;
}

cmg_status cmgi_to_host(cmg_context *ctx, void *dst, const void *src, size_t bytes)
{
    if (ctx->backend->to_host != NULL) {
        return ctx->backend->to_host(ctx, dst, src, bytes);
    }
    cmgi_copy(ctx, dst, src, bytes);
    return CMG_OK;
}

cmg_status cmgi_read_each(cmg_context *ctx, const cmgi_read *reads, int count)
{
    if (ctx->backend->read_each != NULL) {
        return ctx->backend->read_each(ctx, reads, count);
    }
    for (int k = 0; k < count; ++k) {
        CMGI_TRY(cmgi_to_host(ctx, reads[k].to, reads[k].from, reads[k].bytes));
    }
    return CMG_OK;
}

cmg_status cmgi_alloc_staging(cmg_context *ctx, cmg_size count, size_t size, void *p)
{
    return ctx->backend->alloc != NULL ? cmgi_alloc(ctx, count, size, p) : CMG_OK;
}

cmg_status cmgi_move_to_device(cmg_context *ctx, void *p, cmg_size count, size_t size)
{
    if (ctx->backend->alloc == NULL || *(void **)p == NULL) {
        return CMG_OK;
    }
    void *host = *(void **)p;
    void *device = NULL;
    CMGI_FREED(ctx, &device);
    CMGI_TRY(cmgi_alloc_device(ctx, count, size, &device));
    CMGI_TRY(cmgi_to_device(ctx, device, host, (size_t)count * size));
    cmgi_free(ctx, host);
    *(void **)p = cmgi_pass_on(&device);
    return CMG_OK;
}

cmg_status cmgi_move_each(cmg_context *ctx, void *const *arrays)
{
    for (; *arrays != NULL; ++arrays) {
        const char *host = *(char **)*arrays;
        const size_t bytes = host != NULL ? header_of(host - HEADER).bytes : 0;
        CMGI_TRY(cmgi_move_to_device(ctx, *arrays, (cmg_size)bytes, 1));
    }
    return CMG_OK;
}

void cmgi_copy(cmg_context *ctx, void *to, const void *from, size_t bytes)
{
    const cmg_size chunk = 1 << 20;
    const cmg_size total = (cmg_size)bytes;
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (total > 4 * chunk)
    for (cmg_size first = 0; first < total; first += chunk) {
        const cmg_size length = total - first < chunk ? total - first : chunk;
        memcpy((char *)to + first, (const char *)from + first, (size_t)length);
    }
}

/* One line of /proc/meminfo in bytes, 0 where it is not there. */
static size_t meminfo(FILE *file, const char *key)
{
    char line[128];
    unsigned long long kib = 0;
    rewind(file);
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, key, strlen(key)) == 0 &&
            sscanf(line + strlen(key), ": %llu", &kib) == 1) {
            return (size_t)kib * 1024;
        }
    }
    return 0;
}

cmg_status cmgi_host_memory_free(cmg_context *ctx, size_t *bytes)
{
    (void)ctx;
    *bytes = SIZE_MAX;
    FILE *file = fopen("/proc/meminfo", "re");
    if (file == NULL) {
        return CMG_OK;
    }
    const size_t available = meminfo(file, "MemAvailable");
    *bytes = available > 0 ? available + meminfo(file, "SwapFree") : SIZE_MAX;
    (void)fclose(file);
    return CMG_OK;
}

cmg_status cmgi_strdup(cmg_context *ctx, const char *text, char **copy)
{
    const size_t length = strlen(text) + 1;
    char *q = NULL;
    CMGI_TRY(cmgi_alloc(ctx, (cmg_size)length, 1, &q));
    memcpy(q, text, length);
    *copy = q;
    return CMG_OK;
}

void cmg_free(void *p)
{
    free(p);
}
