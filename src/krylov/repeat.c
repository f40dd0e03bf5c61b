/*
 * Runs iterations until their stopping test ends them. The test is data in the backend's memory
 * (core/stop.h), so that the device can go on alone:
 *
 *   loop    one graph that repeats itself while the test says so: one launch a solve
 *   blocks  a graph of one iteration, launched as often as the convergence so far lets expect; what
 * runs behind the end changes nothing, because the step looks at stop->running host    iteration by
 * iteration, as the CPU does
 */
#include "krylov/krylov.h"

#include <math.h>
#include <string.h>

enum { FIRST_BLOCK = 3, LONGEST_BLOCK = 10 };

void cmgi_krylov_forget(cmgi_krylov *k)
{
    const cmgi_backend *backend = k->system.ctx->backend;
    if (k->graph != NULL) {
        backend->graph_destroy(k->system.ctx, k->graph);
    }
    k->graph = NULL;
}

/* Brings the test to the host, and with it the norms of the iterations since. */
static cmg_status fetch(cmgi_krylov *k)
{
    CMGI_TRY(cmgi_to_host(k->system.ctx, &k->seen, k->stop, sizeof k->seen));
    const int new_norms = k->seen.done - k->seen.base;
    memcpy(k->history + k->seen.base + 1, k->seen.history, (size_t)new_norms * sizeof(double));
    k->iterations = k->seen.done;
    if (new_norms > 0) {
        k->residual = k->history[k->iterations];
    }
    return CMG_OK;
}

/* Records the step, unless it already is. CMG_ERR_UNSUPPORTED leaves everything as it was. */
static cmg_status record(cmgi_krylov *k, cmgi_step_fn step, const double *b, double *x)
{
    cmg_context *ctx = k->system.ctx;
    const cmgi_backend *backend = ctx->backend;
    const bool loop = k->mode == CMGI_REPEAT_LOOP;
    if (k->graph != NULL && k->graph_mode == k->mode && k->graph_step == step && k->graph_b == b &&
        k->graph_x == x) {
        return CMG_OK;
    }
    cmgi_krylov_forget(k);
    CMGI_TRY(backend->graph_begin(ctx, loop));
    const cmg_status status = step(k, b, x);
    if (status != CMG_OK) {
        (void)backend->graph_end(ctx, NULL, NULL);
        return status;
    }
    CMGI_TRY(backend->graph_end(ctx, loop ? &k->stop->running : NULL, &k->graph));
    k->graph_mode = k->mode;
    k->graph_step = step;
    k->graph_b = b;
    k->graph_x = x;
    return CMG_OK;
}

/* Iterations still to come, by the mean convergence of the last few; at least 1. */
static int guess_left(const cmgi_krylov *k)
{
    const int last = k->iterations;
    const int first = last > 4 ? last - 4 : 0;
    if (last == 0) {
        return FIRST_BLOCK;
    }
    const double rate = log(k->history[last] / k->history[first]) / (last - first);
    const double left = log(cmgi_krylov_tolerance(k) / k->history[last]) / rate;
    if (!(rate < 0) || !(left > 1)) {
        return 1;
    }
    return left < LONGEST_BLOCK ? (int)ceil(left) : LONGEST_BLOCK;
}

/* Runs at least one iteration. */
static cmg_status run_some(cmgi_krylov *k, cmgi_repeat_mode mode, cmgi_step_fn step,
                           const double *b, double *x)
{
    cmg_context *ctx = k->system.ctx;
    if (mode == CMGI_REPEAT_HOST) {
        return step(k, b, x);
    }
    int launches = mode == CMGI_REPEAT_LOOP ? 1 : guess_left(k);
    /* an iteration behind a pause would spoil the search direction: none is launched */
    const int room = CMGI_STOP_HISTORY - (k->iterations - k->seen.base);
    launches = launches < room ? launches : room;
    for (int l = 0; l < launches; ++l) {
        CMGI_TRY(ctx->backend->graph_launch(ctx, k->graph));
    }
    return CMG_OK;
}

/* The mode that can be had: a loop needs a recent driver, a recording a stream that allows it. */
static cmg_status choose(cmgi_krylov *k, const cmgi_iteration *it, const double *b, double *x,
                         cmgi_repeat_mode *mode)
{
    *mode = CMGI_REPEAT_HOST;
    if (k->system.ctx->backend->graph_begin == NULL || !k->system.recordable) {
        return CMG_OK;
    }
    while (k->mode != CMGI_REPEAT_HOST && (k->mode == CMGI_REPEAT_LOOP || it->freezes)) {
        const cmg_status status = record(k, it->step, b, x);
        if (status != CMG_ERR_UNSUPPORTED) {
            *mode = k->mode;
            return status;
        }
        ++k->mode;
    }
    return CMG_OK;
}

cmg_status cmgi_krylov_repeat(cmgi_krylov *k, const cmgi_iteration *it, const double *b, double *x)
{
    cmg_context *ctx = k->system.ctx;
    cmgi_repeat_mode mode = CMGI_REPEAT_HOST;
    CMGI_TRY(choose(k, it, b, x, &mode));
    do {
        cmgi_stop stop;
        cmgi_krylov_limits(k, &stop);
        CMGI_TRY(cmgi_to_device(ctx, k->stop, &stop, sizeof stop));
        k->seen = stop;
        do {
            CMGI_TRY(run_some(k, mode, it->step, b, x));
            CMGI_TRY(fetch(k));
        } while (k->seen.running);
    } while (k->seen.outcome == CMGI_STOP_PAUSED);
    k->outcome = (cmg_outcome)k->seen.outcome;
    return CMG_OK;
}
