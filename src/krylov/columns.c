/*
 * CG column by column over shared products; see columns.h and cg.c for the iteration. The host
 * waits for the scalars of every iteration and keeps the stopping tests.
 */
#include "krylov/columns.h"

#include <math.h>
#include <string.h>

/* k values each, in this order; those that come to the host first. */
enum { RZ = 0, PQ, RR, BB, RUNNING, RZ_OLD, SCALARS };

static double *scalar(const cmgi_columns *c, int which)
{
    return c->scalars + (size_t)which * (size_t)c->system.k;
}

static double on_host(const cmgi_columns *c, int which, int column)
{
    return c->host[which * c->system.k + column];
}

static cmgi_block block(const cmgi_columns *c)
{
    return (cmgi_block){.n = c->system.n, .k = c->system.k};
}

static cmg_size values(const cmgi_columns *c)
{
    return c->system.n * c->system.k;
}

static cmg_status allocate(cmgi_columns *c)
{
    cmg_context *ctx = c->system.ctx;
    const cmg_size k = c->system.k;
    const size_t row = (size_t)k * sizeof(double);
    const size_t size = (size_t)k * cmgi_precision_bytes(c->system.precision);
    CMGI_TRY(cmgi_alloc_device(ctx, c->system.n, row, &c->r));
    CMGI_TRY(cmgi_alloc_device(ctx, c->system.n, row, &c->p));
    CMGI_TRY(cmgi_alloc_device(ctx, c->system.n, row, &c->q));
    CMGI_TRY(cmgi_alloc_device(ctx, c->system.n, size, &c->image));
    if (c->system.precision != CMG_FP64) {
        CMGI_TRY(cmgi_alloc_device(ctx, c->system.n, size, &c->rounded));
    } else {
        c->rounded = c->r;
    }
    CMGI_TRY(cmgi_alloc_device(ctx, SCALARS, row, &c->scalars));
    CMGI_TRY(cmgi_alloc_zero(ctx, SCALARS, row, &c->host));
    CMGI_TRY(cmgi_alloc_zero(ctx, k, sizeof *c->stop, &c->stop));
    CMGI_TRY(cmgi_alloc_zero(ctx, k, sizeof *c->starts, &c->starts));
    return cmgi_alloc_zero(ctx, k * ((cmg_size)c->max_it + 1), sizeof *c->history, &c->history);
}

cmg_status cmgi_columns_create(const cmgi_column_system *system, int max_it, cmgi_columns **c)
{
    cmgi_columns *made = NULL;
    CMGI_TRY(cmgi_alloc_zero(system->ctx, 1, sizeof *made, &made));
    made->system = *system;
    made->max_it = max_it;
    const cmg_status status = allocate(made);
    if (status != CMG_OK) {
        cmgi_columns_destroy(&made);
        return status;
    }
    *c = made;
    return CMG_OK;
}

void cmgi_columns_destroy(cmgi_columns **c)
{
    if (*c == NULL) {
        return;
    }
    cmgi_columns *v = *c;
    cmg_context *ctx = v->system.ctx;
    if (v->rounded != v->r) {
        cmgi_free_device(ctx, v->rounded);
    }
    CMGI_FREE_DEVICE(ctx, v->r, v->p, v->q, v->image, v->scalars);
    CMGI_FREE(ctx, v->host, v->stop, v->starts, v->history, v);
    *c = NULL;
}

/* Scalars `from` .. RUNNING - 1 to the host. */
static cmg_status fetch(cmgi_columns *c)
{
    return cmgi_to_host(c->system.ctx, c->host, c->scalars,
                        (size_t)RUNNING * (size_t)c->system.k * sizeof *c->host);
}

/* Tells the backend which columns go on; true where one does. */
static cmg_status send_running(cmgi_columns *c, bool *some)
{
    const int k = c->system.k;
    double *flags = c->host + RUNNING * k;
    *some = false;
    for (int j = 0; j < k; ++j) {
        flags[j] = c->stop[j].running ? 1 : 0;
        *some = *some || c->stop[j].running;
    }
    return cmgi_to_device(c->system.ctx, scalar(c, RUNNING), flags, (size_t)k * sizeof *flags);
}

/* The norms that the test of a column holds go to its history. */
static void collect(cmgi_columns *c, int j)
{
    cmgi_stop *s = &c->stop[j];
    double *history = c->history + (cmg_size)j * (c->max_it + 1);
    memcpy(history + s->base + 1, s->history, (size_t)(s->done - s->base) * sizeof *history);
    if (s->outcome == CMGI_STOP_PAUSED) {
        s->base = s->done;
        s->outcome = CMGI_STOP_NONE;
        s->running = 1;
    }
}

static cmg_status step(cmgi_columns *c, double *x)
{
    const cmgi_column_system *A = &c->system;
    const cmgi_backend *on = A->ctx->backend;
    const cmgi_block of = block(c);
    const cmgi_column_ratio beta = {scalar(c, RZ), scalar(c, RZ_OLD)};
    const cmgi_column_update update = {.rz = scalar(c, RZ),
                                       .pq = scalar(c, PQ),
                                       .running = scalar(c, RUNNING),
                                       .p = c->p,
                                       .q = c->q,
                                       .x = x,
                                       .r = c->r,
                                       .single = c->rounded != c->r ? c->rounded : NULL,
                                       .rr = scalar(c, RR)};
    CMGI_TRY(A->precondition(A->user, c->rounded, c->image));
    if (A->exact_rz && c->rounded != c->r) {
        CMGI_TRY(on->convert(A->ctx, values(c), A->precision, c->image, CMG_FP64, c->q));
        CMGI_TRY(on->column_dots(A->ctx, CMG_FP64, of, c->r, c->q, scalar(c, RZ)));
    } else {
        CMGI_TRY(on->column_dots(A->ctx, A->precision, of, c->rounded, c->image, scalar(c, RZ)));
    }
    CMGI_TRY(on->column_directions(A->ctx, of, &beta, A->precision, c->image, c->p));
    CMGI_TRY(A->apply(A->user, c->p, c->q));
    CMGI_TRY(on->column_dots(A->ctx, CMG_FP64, of, c->p, c->q, scalar(c, PQ)));
    CMGI_TRY(on->column_updates(A->ctx, of, &update));
    CMGI_TRY(on->convert(A->ctx, A->k, CMG_FP64, scalar(c, RZ), CMG_FP64, scalar(c, RZ_OLD)));
    CMGI_TRY(fetch(c));
    for (int j = 0; j < A->k; ++j) {
        if (c->stop[j].running) {
            cmgi_stop_note(&c->stop[j], on_host(c, RZ, j), on_host(c, PQ, j), on_host(c, RR, j));
            if (!c->stop[j].running) {
                collect(c, j);
            }
        }
    }
    return CMG_OK;
}

/* Shows the column that runs with the largest relative residual; when the monitor asks to stop, all
 * of them do. */
static void watch(cmgi_columns *c)
{
    int worst = -1;
    double largest = -1;
    for (int j = 0; j < c->system.k && c->monitor != NULL; ++j) {
        const cmgi_stop *s = &c->stop[j];
        const double relative = sqrt(on_host(c, RR, j)) / s->rhs_norm;
        if (s->running && relative > largest) {
            worst = j;
            largest = relative;
        }
    }
    if (worst < 0 || c->monitor(c->monitor_user, c->stop[worst].done, sqrt(on_host(c, RR, worst)),
                                c->stop[worst].rhs_norm) == 0) {
        return;
    }
    for (int j = 0; j < c->system.k; ++j) {
        if (c->stop[j].running) {
            c->stop[j].outcome = CMG_INTERRUPTED;
            c->stop[j].running = 0;
            collect(c, j);
        }
    }
    c->interrupted = true;
}

/* From the residuals in r: the ratio to the last direction is 0, which p is then not read for. */
static cmg_status start(cmgi_columns *c)
{
    const cmgi_column_system *A = &c->system;
    const cmgi_backend *on = A->ctx->backend;
    CMGI_TRY(on->fill(A->ctx, CMG_FP64, A->k, 0.0, scalar(c, RZ_OLD)));
    return c->rounded == c->r
               ? CMG_OK
               : on->convert(A->ctx, values(c), CMG_FP64, c->r, A->precision, c->rounded);
}

/* r = b - A x and its norms on the host. */
static cmg_status true_residual(cmgi_columns *c, const double *b, const double *x)
{
    const cmgi_column_system *A = &c->system;
    CMGI_TRY(A->residual(A->user, b, x, c->r));
    CMGI_TRY(A->ctx->backend->column_dots(A->ctx, CMG_FP64, block(c), c->r, c->r, scalar(c, RR)));
    return fetch(c);
}

static bool all_zero(const cmgi_columns *c, int which)
{
    bool zero = true;
    for (int j = 0; j < c->system.k; ++j) {
        zero = zero && on_host(c, which, j) == 0;
    }
    return zero;
}

/* b . b, and the residuals of the guess with their norms; those of x = 0 are b. */
static cmg_status first_residual(cmgi_columns *c, const double *b, const double *x)
{
    const cmgi_column_system *A = &c->system;
    const cmgi_backend *on = A->ctx->backend;
    CMGI_TRY(on->column_dots(A->ctx, CMG_FP64, block(c), b, b, scalar(c, BB)));
    CMGI_TRY(on->column_dots(A->ctx, CMG_FP64, block(c), x, x, scalar(c, RR)));
    CMGI_TRY(fetch(c));
    c->from_zero = all_zero(c, RR);
    if (!c->from_zero) {
        return true_residual(c, b, x);
    }
    CMGI_TRY(on->convert(A->ctx, A->k, CMG_FP64, scalar(c, BB), CMG_FP64, scalar(c, RR)));
    CMGI_TRY(on->convert(A->ctx, values(c), CMG_FP64, b, CMG_FP64, c->r));
    return fetch(c);
}

static void begin(cmgi_columns *c, int j, const cmgi_limits *limits)
{
    cmgi_limits mine = *limits;
    cmgi_stop *s = &c->stop[j];
    mine.most = c->most != NULL ? c->most[j] : limits->most;
    mine.done = c->starts[j] > 0 ? s->done : 0;
    ++c->starts[j];
    cmgi_stop_begin(s, &mine, on_host(c, BB, j), on_host(c, RR, j));
    if (c->starts[j] == 1) {
        c->history[(cmg_size)j * (c->max_it + 1)] = s->first;
    }
}

/*
 * A column whose recursive residual has met its tolerance and whose true one has not starts again,
 * unless that has gained less than a factor of two since the last start (krylov.c).
 */
static void judge(cmgi_columns *c, int j, const cmgi_limits *limits)
{
    cmgi_stop *s = &c->stop[j];
    const double before = s->first;
    const bool again = c->starts[j] > 1;
    const double tolerance = fmax(limits->rtol * s->rhs_norm, limits->atol);
    if (s->outcome == CMGI_STOP_SCALE) {
        return;
    }
    s->exact = sqrt(on_host(c, RR, j));
    if (!cmg_outcome_converged((cmg_outcome)s->outcome) || s->exact <= tolerance) {
        return;
    }
    if ((again && !(s->exact < 0.5 * before)) || s->done >= s->most) {
        s->outcome = s->done < s->most ? CMG_STAGNATED : CMG_ITERATION_LIMIT;
        return;
    }
    if (c->interrupted) {
        s->outcome = CMG_INTERRUPTED;
        return;
    }
    begin(c, j, limits);
}

cmg_status cmgi_columns_iterate(cmgi_columns *c, const cmgi_limits *limits, const double *b,
                                double *x)
{
    const cmgi_column_system *A = &c->system;
    bool some = false;
    CMGI_TRY(first_residual(c, b, x));
    for (int j = 0; j < A->k; ++j) {
        c->starts[j] = 0;
        begin(c, j, limits);
    }
    c->interrupted = false;
    watch(c);
    CMGI_TRY(send_running(c, &some));
    while (some) {
        CMGI_TRY(start(c));
        while (some) {
            CMGI_TRY(step(c, x));
            watch(c);
            CMGI_TRY(send_running(c, &some));
        }
        CMGI_TRY(true_residual(c, b, x));
        for (int j = 0; j < A->k; ++j) {
            judge(c, j, limits);
        }
        CMGI_TRY(send_running(c, &some));
    }
    return CMG_OK;
}
