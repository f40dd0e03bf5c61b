/*
 * One call at a time of what has work space: a callback, or another thread, that comes back while a
 * call is at work is refused.
 */
#pragma once
#include "core/memory.h"

#include <stdatomic.h>

static inline cmg_status cmgi_busy_enter(cmg_context *ctx, atomic_flag *busy)
{
    CMGI_CHECK(ctx, !atomic_flag_test_and_set(busy), CMG_ERR_STATE,
               "the solver is at work: a callback of its own, or another thread, has called it");
    return CMG_OK;
}

static inline void cmgi_busy_leave(atomic_flag *const *busy)
{
    atomic_flag_clear(*busy);
}

/* At the top of a public function: its object is there, and at work for it alone until it ends. */
#define CMGI_ALONE(object)                                                                         \
    CMGI_GIVEN(object);                                                                            \
    CMGI_TRY(cmgi_busy_enter((object)->ctx, &(object)->busy));                                     \
    cmgi_scoped_by(cmgi_busy_leave) __attribute__((unused)) atomic_flag *const cmgi_busy_ =        \
        &(object)->busy
