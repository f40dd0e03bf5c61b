/*
 * Runs iterations until their stopping test ends them. The test is data in the backend's memory
 * (core/stop.h), so that the device can go on alone:
 *
 * - graph: the solve is one graph, first residual, the iteration, repeated while the test says so,
 *   and the true residual; one launch, and the host waits once. The iterations are as many as two
 *   solves took, one behind the other, and a graph that repeats one goes on after them: a loop on
 *   the device takes 5 us an iteration more;
 * - step: an iteration is a graph, and the host looks at the test behind each;
 * - host: iteration by iteration, as the CPU does.
 */
#include "krylov/krylov.h"

#include "core/ranks.h"

#include <string.h>

void cmgi_krylov_drop_graphs(cmgi_krylov *k)
{
    for (int part = 0; part < CMGI_RECORDINGS; ++part) {
        if (k->recorded[part].graph != NULL) {
            k->system.ctx->backend->graph_destroy(k->system.ctx, k->recorded[part].graph);
        }
        k->recorded[part].graph = NULL;
    }
    k->last = (cmgi_recording){0}; /* where every solve drops them, none is worth making */
}

/* The limits where the iteration looks at them, so that what is recorded serves any. */
static cmg_status give_limits(cmgi_krylov *k)
{
    bool same = true;
    for (int c = 0; c < k->system.columns; ++c) {
        cmgi_limits limits;
        memset(&limits, 0, sizeof limits); /* padding, too: they are compared */
        limits.rtol = k->options.rtol;
        limits.atol = k->options.atol;
        limits.dtol = k->options.dtol;
        limits.gain = k->method->inner ? k->options.inner_rtol : 0;
        limits.most = k->most != NULL ? k->most[c] : k->options.max_it;
        limits.done = k->column[c].iterations;
        limits.patience = k->patience;
        limits.pace = k->pace;
        limits.range = k->range;
        limits.low = k->options.low;
        limits.high = k->options.high;
        limits.rests = !k->column[c].goes_on;
        same = same && memcmp(&limits, &k->given[c], sizeof limits) == 0;
        k->given[c] = limits;
    }
    return same ? CMG_OK
                : cmgi_to_device(k->system.ctx, k->limits, k->given,
                                 (size_t)k->system.columns * sizeof *k->given);
}

/* r = b - A x, also in the precision of C, its norms and those of b, the stopping tests before the
 * first step. */
static cmg_status begin(cmgi_krylov *k)
{
    const cmgi_linear_system *s = &k->system;
    cmg_context *ctx = s->ctx;
    double *r = k->work[0];
    double *bb = cmgi_krylov_scalar(k, CMGI_KRYLOV_SCALARS - 1);
    const bool corrects = k->method->finish != NULL;
    const bool semi = k->method->rounds;
    cmgi_cg_update first = {.kind = CMGI_CG_FIRST,
                            .precision = CMG_FP64,
                            .r = r,
                            .single =
                                k->rounded != r && s->precision == CMG_FP32 ? k->rounded : NULL,
                            .rr = cmgi_krylov_scalar(k, CMGI_KRYLOV_SCALARS - 2),
                            .stop = k->stop,
                            .limits = k->limits,
                            .old = semi ? NULL : cmgi_krylov_scalar(k, CMGI_KRYLOV_OLD),
                            .semi = semi ? (cmgi_semi *)(void *)k->scalars : NULL,
                            .nested = s->nested != NULL};
    if (cmgi_krylov_from_zero(k)) {
        first.r = (void *)(uintptr_t)k->b;
        first.copy = first.single != NULL && semi ? NULL : r;
        first.zero = k->x;
    } else {
        CMGI_TRY(ctx->backend->dot(ctx, CMG_FP64, s->n, s->columns, k->b, k->b, bb));
        first.bb = bb;
        if (!corrects || k->column->iterations == 0) { /* else the last end left it there */
            CMGI_TRY(s->residual(s->user, k->b, k->x, r));
        }
    }
    CMGI_TRY(ctx->backend->cg_update(ctx, s->n, s->columns, &first));
    return k->method->start != NULL ? k->method->start(k) : CMG_OK;
}

/* The true residual norms. The iteration may only be pausing: what its next step takes over stays.
 */
static cmg_status end(cmgi_krylov *k)
{
    const cmgi_linear_system *s = &k->system;
    double *r = k->work[k->method->scratch];
    const cmgi_cg_update last = {.kind = CMGI_CG_LAST,
                                 .precision = CMG_FP64,
                                 .r = r,
                                 .rr = cmgi_krylov_scalar(k, CMGI_KRYLOV_SCALARS - 2),
                                 .stop = k->stop,
                                 .post = cmgi_krylov_post(k)};
    if (k->method->exact) {
        return CMG_OK;
    }
    CMGI_TRY(k->method->finish != NULL ? k->method->finish(k) : CMG_OK);
    CMGI_TRY(s->residual(s->user, k->b, k->x, r));
    return s->ctx->backend->cg_update(s->ctx, s->n, s->columns, &last);
}

/* Brings the tests to the host, and with them the norms of the iterations since: from where a graph
 * that was launched has left them, or else (NULL) from the backend's memory. */
static cmg_status fetch(cmgi_krylov *k, const cmgi_recording *launched)
{
    const int columns = k->system.columns;
    for (int c = 0; c < columns; ++c) {
        k->column[c].stepped = k->seen[c].running != 0;
    }
    if (launched != NULL && launched->posts) {
        CMGI_TRY(cmg_context_synchronize(k->system.ctx));
        cmgi_stop_copy(k->system.ctx->post, k->seen);
    } else {
        CMGI_TRY(cmgi_to_host(k->system.ctx, k->seen, k->stop, (size_t)columns * sizeof *k->seen));
    }
    for (int c = 0; c < columns; ++c) {
        const cmgi_stop *seen = &k->seen[c];
        cmgi_krylov_column *to = &k->column[c];
        if (!to->goes_on) {
            continue;
        }
        if (seen->base == 0) {
            to->history[0] = seen->first;
        }
        memcpy(to->history + seen->base + 1, seen->history,
               (size_t)(seen->done - seen->base) * sizeof(double));
        to->rhs_norm = seen->rhs_norm;
        to->iterations = seen->done;
        to->residual = k->method->exact ? to->history[to->iterations] : seen->exact;
    }
    return CMG_OK;
}

/* Columns that are running, or pause until the host has their norms. */
static int count(const cmgi_krylov *k, bool paused)
{
    int found = 0;
    for (int c = 0; c < k->system.columns; ++c) {
        found += paused ? k->seen[c].outcome == CMGI_STOP_PAUSED : k->seen[c].running != 0;
    }
    return found;
}

/* After a pause, which all that run take together: the host has the norms, their array is free
 * again. */
static cmg_status resume(cmgi_krylov *k)
{
    for (int c = 0; c < k->system.columns; ++c) {
        cmgi_stop *seen = &k->seen[c];
        if (seen->outcome == CMGI_STOP_PAUSED) {
            seen->base = seen->done;
            seen->outcome = CMGI_STOP_NONE;
            seen->running = 1;
        }
    }
    return cmgi_to_device(k->system.ctx, k->stop, k->seen,
                          (size_t)k->system.columns * sizeof *k->seen);
}

static cmg_status put_part(cmgi_krylov *k, int part)
{
    cmg_context *ctx = k->system.ctx;
    const cmgi_backend *backend = ctx->backend;
    const int steps = k->recorded[part].steps;
    k->recorded[part].posts = cmgi_krylov_post(k) != NULL && (!k->method->exact || steps > 0);
    if (part == CMGI_RECORD_WHOLE) {
        CMGI_TRY(begin(k));
        k->ahead = steps > 0 ? steps + 1 : 0;
        CMGI_TRY(k->method->first != NULL ? k->method->first(k) : CMG_OK);
    }
    for (k->ahead = steps; k->ahead > 0; --k->ahead) {
        CMGI_TRY(k->method->step(k));
    }
    if (steps == 0) {
        CMGI_TRY(backend->graph_loop(ctx));
        CMGI_TRY(k->method->step(k));
        CMGI_TRY(backend->graph_after(ctx));
    }
    return end(k);
}

/* The vectors of this solve, without a graph. */
static cmgi_recording vectors_of(const cmgi_krylov *k)
{
    return (cmgi_recording){.b = k->b, .x = k->x, .zero = cmgi_krylov_from_zero(k)};
}

static bool is_of(const cmgi_recording *r, const cmgi_krylov *k)
{
    return r->b == k->b && r->x == k->x && r->zero == cmgi_krylov_from_zero(k);
}

/* Steps that are recorded one behind the other; 0 = a loop. Those behind the last that is wanted
 * change nothing (method->rests). */
static int steps_at_once(const cmgi_krylov *k, int part)
{
    enum { MOST = 16 };
    const bool whole =
        part == CMGI_RECORD_WHOLE && k->method->rests && k->system.ctx->group == NULL;
    return whole && k->took <= MOST ? k->took - (k->method->first != NULL && k->took > 0) : 0;
}

/* Records a part, unless it already is. CMG_ERR_UNSUPPORTED leaves everything as it was. */
static cmg_status record(cmgi_krylov *k, int part)
{
    cmg_context *ctx = k->system.ctx;
    const cmgi_backend *backend = ctx->backend;
    cmgi_recording *mine = &k->recorded[part];
    const int steps = steps_at_once(k, part);
    if (mine->graph != NULL && is_of(mine, k) &&
        (part != CMGI_RECORD_WHOLE || mine->steps == steps || k->took != k->took_before)) {
        return CMG_OK;
    }
    if (mine->graph != NULL) {
        backend->graph_destroy(ctx, mine->graph);
    }
    *mine = vectors_of(k);
    mine->steps = steps;
    const bool alone = part == CMGI_RECORD_STEP;
    CMGI_TRY(backend->graph_begin(ctx, alone || steps > 0 ? NULL : k->stop, k->system.columns));
    ctx->recording = true;
    const cmg_status status = alone ? k->method->step(k) : put_part(k, part);
    ctx->recording = false;
    k->ahead = 0;
    k->squares = (cmgi_addends){0};
    const cmg_status ended = backend->graph_end(ctx, status == CMG_OK ? &mine->graph : NULL);
    return status != CMG_OK ? status : ended;
}

/*
 * Whether the vectors are those of the solve before: a recording takes longer than the launches of
 * one solve do (an H200, Q1, first solve without one and with it: 2D 100^2 0.33 ms and 0.41, 64^3
 * 0.44 and 0.58, 128^3 0.79 and 1.0).
 */
static bool come_again(cmgi_krylov *k)
{
    const cmgi_recording *whole = &k->recorded[CMGI_RECORD_WHOLE];
    if (k->column->iterations == 0) {
        k->again = is_of(&k->last, k) || (whole->graph != NULL && is_of(whole, k));
        k->last = vectors_of(k);
    }
    return k->again;
}

/*
 * The way that is available: a loop needs a recent driver, a recording a stream that allows it.
 * Where messages would be in the loop, iterations are recorded alone, also with a monitor.
 */
static cmg_status choose(cmgi_krylov *k)
{
    const cmgi_backend *on = k->system.ctx->backend;
    const cmg_loop asked = k->options.loop;
    const bool can = on->graph_begin != NULL && k->system.recordable && !k->method->host;
    const bool again = come_again(k);
    const bool loop = asked == CMG_LOOP_GRAPH || (asked == CMG_LOOP_AUTO && again && !on->no_loop);
    cmg_status status = CMG_ERR_UNSUPPORTED;
    k->used = CMG_LOOP_HOST;
    if (can && loop && !k->watched) {
        status = record(k, k->column->iterations == 0 ? CMGI_RECORD_WHOLE : CMGI_RECORD_REST);
        k->used = status == CMG_OK ? CMG_LOOP_GRAPH : CMG_LOOP_HOST;
    }
    if (can && k->used == CMG_LOOP_HOST && asked != CMG_LOOP_HOST && on->no_loop) {
        status = record(k, CMGI_RECORD_STEP);
        k->used = status == CMG_OK ? CMG_LOOP_STEP : CMG_LOOP_HOST;
    }
    return status == CMG_ERR_UNSUPPORTED ? CMG_OK : status;
}

/* Shows the last norm to the monitor: of the columns that run, or were the last to, the largest
 * beside its b. A monitor that asks to stop, on any rank, stops all. */
static cmg_status watch(const cmgi_krylov *k, bool *stopped)
{
    const cmgi_iteration_options *o = &k->options;
    const cmgi_krylov_column *worst = NULL;
    double largest = 0;
    double answer = 0;
    if (!k->watched) {
        return CMG_OK;
    }
    const bool some = count(k, false) > 0;
    for (int c = 0; c < k->system.columns; ++c) {
        const cmgi_krylov_column *now = &k->column[c];
        const double relative = now->history[now->iterations] / now->rhs_norm;
        const bool shown = some ? k->seen[c].running != 0 : now->stepped;
        if (shown && (worst == NULL || relative > largest)) {
            worst = now;
            largest = relative;
        }
    }
    if (o->monitor != NULL && worst != NULL) {
        answer = o->monitor(o->monitor_user, worst->iterations, worst->history[worst->iterations],
                            worst->rhs_norm) != 0;
    }
    CMGI_TRY(cmgi_all_max(k->system.ctx, &answer, 1));
    *stopped = answer != 0;
    return CMG_OK;
}

/* Runs at least one iteration, if there is one to run; *launched = the recording that did, if any.
 */
static cmg_status run_some(cmgi_krylov *k, const cmgi_recording **launched)
{
    if (k->opening || k->used == CMG_LOOP_HOST) {
        const cmgi_step_fn step = k->opening ? k->method->first : k->method->step;
        k->opening = false;
        return step(k);
    }
    const int part = k->used == CMG_LOOP_STEP ? CMGI_RECORD_STEP : CMGI_RECORD_REST;
    const cmg_status status = record(k, part);
    if (status == CMG_ERR_UNSUPPORTED) { /* a loop; what came before needed none */
        k->used = CMG_LOOP_HOST;
        return k->method->step(k);
    }
    CMGI_TRY(status);
    *launched = &k->recorded[part];
    return k->system.ctx->backend->graph_launch(k->system.ctx, (*launched)->graph);
}

cmg_status cmgi_krylov_loop(cmgi_krylov *k, const double *b, double *x)
{
    cmg_context *ctx = k->system.ctx;
    bool stopped = false;
    bool first = true;
    k->b = b;
    k->x = x;
    k->opening = false;
    CMGI_TRY(give_limits(k));
    CMGI_TRY(choose(k));
    for (int c = 0; c < k->system.columns; ++c) {
        const cmgi_krylov_column *now = &k->column[c];
        k->seen[c].running = now->goes_on;
        first = first && (!now->goes_on || now->iterations == 0);
    }
    if (k->used == CMG_LOOP_GRAPH && k->column->iterations == 0) {
        const cmgi_recording *whole = &k->recorded[CMGI_RECORD_WHOLE];
        CMGI_TRY(ctx->backend->graph_launch(ctx, whole->graph));
        CMGI_TRY(fetch(k, whole));
    } else {
        CMGI_TRY(begin(k));
        k->opening = k->method->first != NULL;
        if (k->used != CMG_LOOP_GRAPH) {
            CMGI_TRY(fetch(k, NULL));
            CMGI_TRY(first ? watch(k, &stopped) : CMG_OK);
        }
    }
    while (!stopped && (count(k, false) > 0 || count(k, true) > 0)) {
        CMGI_TRY(count(k, false) == 0 ? resume(k) : CMG_OK);
        const cmgi_recording *launched = NULL;
        CMGI_TRY(run_some(k, &launched));
        CMGI_TRY(fetch(k, launched));
        CMGI_TRY(watch(k, &stopped));
        stopped = stopped && count(k, false) > 0;
    }
    if (k->used != CMG_LOOP_GRAPH && !k->method->exact) {
        CMGI_TRY(end(k));
        CMGI_TRY(fetch(k, NULL));
    }
    k->interrupted = stopped;
    k->took_before = first ? k->took : k->took_before;
    k->took = first ? 0 : k->took;
    for (int c = 0; c < k->system.columns; ++c) {
        k->took = first && k->column[c].iterations > k->took ? k->column[c].iterations : k->took;
        if (k->column[c].goes_on) {
            k->column[c].outcome =
                stopped && k->seen[c].running ? CMG_INTERRUPTED : (cmg_outcome)k->seen[c].outcome;
        }
    }
    return CMG_OK;
}
