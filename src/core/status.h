/* Status codes: one list, and the macros that check and pass failures on. */
#pragma once
#include "cmg_expert.h"

/* code, sentence; the order is that of cmg_status */
#define CMG_STATUS_LIST(X)                                                                         \
    X(OK, "no error")                                                                              \
    X(ERR_ARG, "an argument is missing, out of range or contradicts another")                      \
    X(ERR_SHAPE, "sizes of the objects do not fit")                                                \
    X(ERR_STATE, "the object is not ready for this call")                                          \
    X(ERR_MEMORY, "not enough memory")                                                             \
    X(ERR_IO, "a file could not be read or written")                                               \
    X(ERR_FILE, "the content of a file is not valid")                                              \
    X(ERR_UNSUPPORTED, "this build or backend has no such method")                                 \
    X(ERR_DEVICE, "the device reported a failure")                                                 \
    X(ERR_SINGULAR, "a factorisation met a zero pivot")                                            \
    X(ERR_INTERNAL, "internal error, a bug in CascadeMG")

/* Stores a formatted sentence as the context's last message and returns `code`; ctx may be NULL. */
cmg_status cmgi_fail(cmg_context *ctx, cmg_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* At the top of a function: fails with code and sentence unless cond holds. */
#define CMGI_CHECK(ctx, cond, code, ...)                                                           \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            return cmgi_fail((ctx), (code), __VA_ARGS__);                                          \
        }                                                                                          \
    } while (0)

/* A public function begins; see threads.h. */
void cmgi_threads_enter(cmg_context *ctx);

/* CMG_ERR_ARG without a sentence where what would carry it is missing. */
#define CMGI_NOT_NULL(pointer)                                                                     \
    do {                                                                                           \
        if ((pointer) == NULL) {                                                                   \
            return CMG_ERR_ARG;                                                                    \
        }                                                                                          \
    } while (0)

/* At the top of a public function: its context is there, or the object that has one. */
#define CMGI_CONTEXT(context)                                                                      \
    do {                                                                                           \
        CMGI_NOT_NULL(context);                                                                    \
        cmgi_threads_enter(context);                                                               \
    } while (0)
#define CMGI_GIVEN(object)                                                                         \
    do {                                                                                           \
        CMGI_NOT_NULL(object);                                                                     \
        cmgi_threads_enter((object)->ctx);                                                         \
    } while (0)

/* Passes a failure up. */
#define CMGI_TRY(call)                                                                             \
    do {                                                                                           \
        const cmg_status cmgi_status_ = (call);                                                    \
        if (cmgi_status_ != CMG_OK) {                                                              \
            return cmgi_status_;                                                                   \
        }                                                                                          \
    } while (0)

/* Passes a failure to the clean-up label; the function has a variable `status`. */
#define CMGI_TRY_GOTO(label, call)                                                                 \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != CMG_OK) {                                                                    \
            goto label;                                                                            \
        }                                                                                          \
    } while (0)
