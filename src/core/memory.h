/*
 * Memory: aligned host arrays and arrays in the backend's memory, with overflow-checked sizes and
 * accounts in the context. On the CPU backend "device" memory is host memory.
 */
#pragma once
#include "core/context.h"

#include <string.h>

/*
 * Uninitialised array of `count` elements of `size` bytes, aligned to 64 bytes; a valid pointer
 * also for count 0. *p is written only on success.
 */
cmg_status cmgi_alloc(cmg_context *ctx, cmg_size count, size_t size, void *p);
/* As above, filled with zeros in parallel. */
cmg_status cmgi_alloc_zero(cmg_context *ctx, cmg_size count, size_t size, void *p);
/* Frees an array of cmgi_alloc; NULL is allowed. */
void cmgi_free(cmg_context *ctx, void *p);
/* The context of such an array. */
cmg_context *cmgi_owner(const void *p);
/*
 * A variable that is declared cmgi_scoped_by(release) is released where its block ends, the latest
 * first; a pointer that is declared `cmgi_scoped` frees its array of cmgi_alloc. What counts is
 * what it holds then: NULL once the array has been freed or passed on. No goto leads past one.
 */
#define cmgi_scoped_by(release) __attribute__((cleanup(release)))
#define cmgi_scoped cmgi_scoped_by(cmgi_free_scoped)
void cmgi_free_scoped(void *p);
/* An array of a block with room for `count` elements, or with zeros: T *name, freed where the block
 * ends; the function returns where there is no memory for it. */
#define CMGI_SCOPED(ctx, count, T, name)                                                           \
    cmgi_scoped T *name = NULL;                                                                    \
    CMGI_TRY(cmgi_alloc(ctx, count, sizeof *(name), &(name)))
#define CMGI_SCOPED_ZERO(ctx, count, T, name)                                                      \
    cmgi_scoped T *name = NULL;                                                                    \
    CMGI_TRY(cmgi_alloc_zero(ctx, count, sizeof *(name), &(name)))
/* What the pointer *p holds, for another to own: *p is NULL from now on. */
void *cmgi_pass_on(void *p);
/* The same of arrays in either memory, or that a struct has, by the addresses of their pointers. */
#define CMGI_FREED(ctx, ...)                                                                       \
    __attribute__((cleanup(cmgi_free_all), unused))                                                \
    const cmgi_freed cmgi_freed_ = {ctx, {__VA_ARGS__}}
typedef struct cmgi_freed {
    cmg_context *ctx;
    void *address[16]; /* NULL = no more */
} cmgi_freed;
void cmgi_free_all(const cmgi_freed *freed);
/* CMGI_SCOPED in the memory of the backend. */
#define CMGI_SCOPED_DEVICE(ctx, count, T, name)                                                    \
    T *name = NULL;                                                                                \
    __attribute__((cleanup(cmgi_free_all), unused))                                                \
    const cmgi_freed name##_freed = {ctx, {&(name)}};                                              \
    CMGI_TRY(cmgi_alloc_device(ctx, count, sizeof *(name), &(name)))
/*
 * The same of structs that have a function of their own, void cmgi_x_free(cmg_context *, cmgi_x *):
 * with CMGI_RELEASES(cmgi_x_free, cmgi_x) below its declaration, CMGI_RELEASED(cmgi_x_free, ctx,
 * &a, &b) releases up to four where the block ends.
 */
#define CMGI_RELEASES(release, type)                                                               \
    typedef struct release##_set {                                                                 \
        cmg_context *ctx;                                                                          \
        type *what[4];                                                                             \
    } release##_set;                                                                               \
    static inline void release##_all(const release##_set *set)                                     \
    {                                                                                              \
        for (int k = 0; k < 4 && set->what[k] != NULL; ++k) {                                      \
            release(set->ctx, set->what[k]);                                                       \
        }                                                                                          \
    }
#define CMGI_RELEASED(release, ctx, ...)                                                           \
    __attribute__((cleanup(release##_all), unused))                                                \
    const release##_set release##_here = {ctx, {__VA_ARGS__}}

/* *to gets what the struct *from holds, for another to own: *from is empty from now on. */
#define CMGI_PASS_ON(from, to)                                                                     \
    do {                                                                                           \
        *(to) = *(from);                                                                           \
        memset((from), 0, sizeof *(from));                                                         \
    } while (0)

/* Between hold = true and hold = false, or the wait after it, the context gives no large block of
 * its memory back, on the host and on the backend: what a set-up frees serves it again at once. */
void cmgi_hold_memory(cmg_context *ctx, bool hold);
/* The same in the memory of the context's backend. */
cmg_status cmgi_alloc_device(cmg_context *ctx, cmg_size count, size_t size, void *p);
void cmgi_free_device(cmg_context *ctx, void *p);
/* Several arrays, the first first. */
#define CMGI_FREE(ctx, ...) CMGI_EACH(cmgi_free, ctx, __VA_ARGS__)
#define CMGI_FREE_DEVICE(ctx, ...) CMGI_EACH(cmgi_free_device, ctx, __VA_ARGS__)
#define CMGI_EACH(release, ctx, ...)                                                               \
    cmgi_free_each(release, ctx, (void *const[]){__VA_ARGS__},                                     \
                   sizeof((void *const[]){__VA_ARGS__}) / sizeof(void *))
void cmgi_free_each(void (*release)(cmg_context *ctx, void *p), cmg_context *ctx, void *const *p,
                    size_t count);
/* Whether p is memory of a device, and whether the context's can read it. */
cmg_status cmgi_where_is(cmg_context *ctx, const void *p, bool *device, bool *reachable);
cmg_status cmgi_is_device(cmg_context *ctx, const void *p, bool *device);
/* Copies between the host and the backend's memory. The source of the first may change when it
 * returns, its data arrive in stream order; the second waits until they are there. */
cmg_status cmgi_to_device(cmg_context *ctx, void *dst, const void *src, size_t bytes);
cmg_status cmgi_to_host(cmg_context *ctx, void *dst, const void *src, size_t bytes);
/* Several of the second with one wait. */
cmg_status cmgi_read_each(cmg_context *ctx, const cmgi_read *reads, int count);
/* An array on the host beside one in the backend's memory, for what passes between them; where they
 * are the same memory there is none, and *p stays as it is. */
cmg_status cmgi_alloc_staging(cmg_context *ctx, cmg_size count, size_t size, void *p);
/* Moves a host array of cmgi_alloc to the backend's memory: *p is freed or, on the CPU, handed over
 * as it is. */
cmg_status cmgi_move_to_device(cmg_context *ctx, void *p, cmg_size count, size_t size);
/* The same of whole arrays, by the addresses of their pointers; what is NULL stays so. */
#define CMGI_MOVE(ctx, ...) cmgi_move_each(ctx, (void *const[]){__VA_ARGS__, NULL})
cmg_status cmgi_move_each(cmg_context *ctx, void *const *arrays);

/* Copies between host arrays on all threads, so that pages are spread as products will read them.
 */
void cmgi_copy(cmg_context *ctx, void *to, const void *from, size_t bytes);
/* Bytes that the host can still give, swap included, in the table's form; SIZE_MAX = not known. */
cmg_status cmgi_host_memory_free(cmg_context *ctx, size_t *bytes);
/* Duplicate of a string in accounted memory. */
cmg_status cmgi_strdup(cmg_context *ctx, const char *text, char **copy);

/* Accounts for allocations made elsewhere (CUDA); space 0 = host, 1 = device. */
cmg_status cmgi_account(cmg_context *ctx, int space, size_t bytes);
void cmgi_unaccount(cmg_context *ctx, int space, size_t bytes);
