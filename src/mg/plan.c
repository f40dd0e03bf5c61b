/* The step list for people: what each step is, what it moves, how long it takes. */
#include "core/order.h"
#include "core/report.h"
#include "mg/solver.h"

#include <math.h>
#include <stdlib.h>

int cmg_solver_steps(const cmg_solver *s)
{
    return s != NULL && s->mg.cycle != NULL ? s->mg.cycle->nsteps : 0;
}

const char *cmg_solver_smoother(const cmg_solver *s, int level)
{
    if (s == NULL || level < 0 || level >= s->mg.levels.count ||
        s->mg.levels.level[level].smoother.factors == 0) {
        return NULL;
    }
    const char *chosen = s->mg.dominated ? "jacobi" : s->mg.levels.level[level].smoother.chosen;
    return chosen[0] != '\0' ? chosen : s->mg.options.smoother;
}

cmg_status cmg_solver_step(cmg_solver *s, int i, cmg_step_info *info)
{
    if (s == NULL || info == NULL) {
        return CMG_ERR_ARG;
    }
    const cmgi_cycle *cycle = s->mg.cycle;
    CMGI_CHECK(s->ctx, i >= 0 && i < cmg_solver_steps(s), CMG_ERR_ARG,
               "step %d is out of range [0, %d)", i, cmg_solver_steps(s));
    const cmgi_step *step = &cycle->steps[i];
    const cmgi_value *out = &cycle->values[step->out];
    const bool product = step->kind == CMGI_STEP_PRODUCT || step->kind == CMGI_STEP_ROWS;
    cmgi_cycle_text(cycle, step, s->step_text);
    cmg_step_info made = {.text = s->step_text,
                          .matrix = product ? step->name : "",
                          .level = out->level,
                          .rows = out->n,
                          .nnz = product ? step->A->nnz : 0,
                          .format =
                              product ? cmg_enum_name("format", (int)step->A->options.format) : "",
                          .precision = out->precision,
                          .values = product ? cmgi_matrix_values(step->A) : CMG_VALUES_FULL,
                          .bytes = cmgi_cycle_step_bytes(cycle, step),
                          .seconds = step->seconds};
    if (step->kind == CMGI_STEP_START || step->kind == CMGI_STEP_GATHER) {
        const cmgi_talk talk = cmgi_matrix_talk(step->A);
        made.messages = talk.messages;
        made.link_bytes = step->kind == CMGI_STEP_START ? talk.bytes : talk.gathered;
    }
    made.compression = product ? step->A->compression : NULL;
    made.plain = made.compression == NULL ? made.bytes
                                          : made.bytes - step->A->bytes + made.compression->plain;
    return cmgi_sized_fill(s->ctx, "cmg_step_info", &made, sizeof made, info);
}

/* Runs the whole cycle, so that every step finds the caches as it will in a solve, and times each
 * step. */
static cmg_status time_cycle(cmgi_cycle *cycle, const void *r, void *z, double *samples, int stride)
{
    for (int i = 0; i < cycle->nsteps; ++i) {
        const double begin = cmgi_seconds();
        CMGI_TRY(cmgi_cycle_step(cycle, i, r, z));
        CMGI_TRY(cmg_context_synchronize(cycle->ctx));
        samples[(cmg_size)i * stride] = cmgi_seconds() - begin;
    }
    return CMG_OK;
}

/*
 * The same by the device's clock, the cycle as one graph: a host clock would count the launch of
 * every step, which a solve does not pay. The last two marks have nothing between them: what a mark
 * costs is not the steps'.
 */
static cmg_status record_cycle(cmgi_cycle *cycle, const void *r, void *z, void **graph)
{
    cmg_context *ctx = cycle->ctx;
    const cmgi_backend *backend = ctx->backend;
    CMGI_TRY(backend->mark_reserve(ctx, cycle->nsteps + 2));
    CMGI_TRY(backend->graph_begin(ctx, NULL, 0));
    cmg_status status = backend->mark(ctx, 0);
    for (int i = 0; i < cycle->nsteps && status == CMG_OK; ++i) {
        status = cmgi_cycle_step(cycle, i, r, z);
        status = status == CMG_OK ? backend->mark(ctx, i + 1) : status;
    }
    status = status == CMG_OK ? backend->mark(ctx, cycle->nsteps + 1) : status;
    const cmg_status ended = backend->graph_end(ctx, status == CMG_OK ? graph : NULL);
    return status != CMG_OK ? status : ended;
}

static cmg_status time_graph(cmgi_cycle *cycle, void *graph, double *samples, int stride)
{
    cmg_context *ctx = cycle->ctx;
    CMGI_TRY(ctx->backend->graph_launch(ctx, graph));
    CMGI_TRY(cmg_context_synchronize(ctx)); /* marks in a graph count from its end on */
    double empty = 0;
    CMGI_TRY(ctx->backend->elapsed(ctx, cycle->nsteps, cycle->nsteps + 1, &empty));
    for (int i = 0; i < cycle->nsteps; ++i) {
        double *sample = &samples[(cmg_size)i * stride];
        CMGI_TRY(ctx->backend->elapsed(ctx, i, i + 1, sample));
        *sample = fmax(*sample - empty, 0);
    }
    return CMG_OK;
}

cmg_status cmg_solver_measure(cmg_solver *s, int repeats)
{
    CMGI_ALONE(s);
    cmg_context *ctx = s->ctx;
    CMGI_CHECK(ctx, repeats > 0 && repeats <= 10000, CMG_ERR_ARG,
               "repeats %d has to be in 1 .. 10000", repeats);
    CMGI_CHECK(s->ctx, s->mg.ready, CMG_ERR_STATE, CMGI_NOT_READY);
    cmgi_cycle *cycle = s->mg.cycle;
    const cmg_size n = s->mg.levels.level[0].rows;
    const cmgi_krylov *k = s->mg.krylov;
    void *r = k->rounded;
    void *z = k->image;
    void *graph = NULL;
    cmg_status status = CMG_OK;
    CMGI_SCOPED(ctx, (cmg_size)cycle->nsteps * repeats, double, samples);
    CMGI_TRY(ctx->backend->random(ctx, cmgi_cycle_precision(cycle), n, 1, 0, r));
    CMGI_TRY(cmgi_cycle_run(cycle, r, z));
    if (ctx->backend->mark_reserve != NULL) {
        status = record_cycle(cycle, r, z, &graph);
        if (status != CMG_OK && status != CMG_ERR_UNSUPPORTED) {
            goto done;
        }
    }
    for (int m = 0; m < repeats; ++m) {
        CMGI_TRY_GOTO(done, graph != NULL ? time_graph(cycle, graph, samples + m, repeats)
                                          : time_cycle(cycle, r, z, samples + m, repeats));
    }
    for (int i = 0; i < cycle->nsteps; ++i) {
        double *mine = samples + (cmg_size)i * repeats;
        qsort(mine, (size_t)repeats, sizeof *mine, cmgi_ascending_double);
        cycle->steps[i].seconds = mine[repeats / 2];
    }
done:
    if (graph != NULL) {
        ctx->backend->graph_destroy(ctx, graph);
    }
    if (ctx->backend->mark_reserve != NULL) {
        (void)ctx->backend->mark_reserve(ctx, 0);
    }
    return status;
}
