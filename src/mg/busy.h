/*
 * One call at a time of what has work space: a callback, or another thread, that comes back while a
 * call is at work is refused.
 */
#pragma once
#include "core/context.h"

#include <stdatomic.h>

/* Pairs with cmgi_busy_leave, which comes after CMG_OK alone. */
static inline cmg_status cmgi_busy_enter(cmg_context *ctx, atomic_flag *busy)
{
    CMGI_CHECK(ctx, !atomic_flag_test_and_set(busy), CMG_ERR_STATE,
               "the solver is at work: a callback of its own, or another thread, has called it");
    return CMG_OK;
}

static inline cmg_status cmgi_busy_leave(atomic_flag *busy, cmg_status status)
{
    atomic_flag_clear(busy);
    return status;
}
