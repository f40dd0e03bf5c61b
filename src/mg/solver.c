/* Life of a solver, and the solve itself. */
#include "mg/solver.h"

#include "core/timer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void cmg_solver_options_default(cmg_solver_options *options)
{
    if (options == NULL) {
        return;
    }
    *options = (cmg_solver_options){.krylov = CMG_KRYLOV_CG,
                                    .cycle = CMG_CYCLE_V,
                                    .pre = 1,
                                    .post = 1,
                                    .smoother = "jacobi",
                                    .precision = CMG_FP64,
                                    .dirichlet = CMG_DIRICHLET_ZERO,
                                    .coarse = CMG_COARSE_AUTO,
                                    .coarse_limit = 4096,
                                    .coarse_steps = 8,
                                    .collapse = -1,
                                    .fuse = true,
                                    .rtol = 1e-8,
                                    .dtol = 1e5,
                                    .inner_rtol = 0.01,
                                    .max_it = 100,
                                    .fallback = true};
    cmg_matrix_options_default(&options->matrix);
}

bool cmg_outcome_converged(cmg_outcome outcome)
{
    return outcome == CMG_CONVERGED_RTOL || outcome == CMG_CONVERGED_ATOL;
}

enum { MAX_STEPS = 1000, MAX_ITERATIONS = 100000000 };

int cmgi_solver_levels(const cmg_hierarchy *h, const cmg_solver_options *options)
{
    return options->cycle == CMG_CYCLE_NONE ? 1 : cmg_hierarchy_levels(h);
}

static cmg_status check_options(cmg_context *ctx, const cmg_solver_options *o)
{
    CMGI_CHECK(ctx, cmg_enum_name("krylov", (int)o->krylov) != NULL, CMG_ERR_ARG,
               "unknown krylov method %d", (int)o->krylov);
    CMGI_CHECK(ctx, cmg_enum_name("cycle", (int)o->cycle) != NULL, CMG_ERR_ARG, "unknown cycle %d",
               (int)o->cycle);
    CMGI_CHECK(ctx, cmg_enum_name("coarse", (int)o->coarse) != NULL, CMG_ERR_ARG,
               "unknown coarse solve %d", (int)o->coarse);
    CMGI_CHECK(ctx, cmg_enum_name("precision", (int)o->precision) != NULL, CMG_ERR_ARG,
               "unknown precision %d", (int)o->precision);
    CMGI_CHECK(ctx, cmg_enum_name("dirichlet", (int)o->dirichlet) != NULL, CMG_ERR_ARG,
               "unknown treatment of Dirichlet rows %d", (int)o->dirichlet);
    CMGI_CHECK(ctx, o->pre >= 0 && o->post >= 0 && o->pre <= MAX_STEPS && o->post <= MAX_STEPS,
               CMG_ERR_ARG, "smoothing steps %d and %d have to be in 0 .. %d", o->pre, o->post,
               (int)MAX_STEPS);
    CMGI_CHECK(ctx, o->cycle != CMG_CYCLE_NONE || o->pre + o->post > 0, CMG_ERR_ARG,
               "cycle none needs smoothing steps: pre and post are 0");
    CMGI_CHECK(ctx, o->coarse_steps >= 0 && o->coarse_steps <= MAX_STEPS, CMG_ERR_ARG,
               "coarse_steps %d has to be in 0 .. %d", o->coarse_steps, (int)MAX_STEPS);
    CMGI_CHECK(ctx, isfinite(o->omega) && o->omega >= 0, CMG_ERR_ARG,
               "omega %g has to be finite and >= 0", o->omega);
    CMGI_CHECK(ctx, o->rtol >= 0 && o->rtol < 1 && o->atol >= 0, CMG_ERR_ARG,
               "rtol %g has to be in [0, 1) and atol %g >= 0", o->rtol, o->atol);
    CMGI_CHECK(ctx, o->dtol > 1, CMG_ERR_ARG, "dtol %g has to be over 1", o->dtol);
    CMGI_CHECK(ctx, o->inner_rtol > 0 && o->inner_rtol < 1, CMG_ERR_ARG,
               "inner_rtol %g has to be in (0, 1)", o->inner_rtol);
    CMGI_CHECK(ctx, o->max_it >= 0 && o->max_it <= MAX_ITERATIONS, CMG_ERR_ARG,
               "max_it %d has to be in 0 .. %d", o->max_it, (int)MAX_ITERATIONS);
    CMGI_CHECK(ctx, cmg_enum_name("loop", (int)o->loop) != NULL, CMG_ERR_ARG, "unknown loop %d",
               (int)o->loop);
    CMGI_CHECK(ctx, o->coarse_limit >= 0 && o->collapse >= -1, CMG_ERR_ARG,
               "coarse_limit %lld has to be >= 0 and collapse %lld >= -1",
               (long long)o->coarse_limit, (long long)o->collapse);
    CMGI_CHECK(ctx, o->smoother != NULL && strlen(o->smoother) < sizeof((cmg_solver *)0)->smoother,
               CMG_ERR_ARG, "the smoother's name is missing or too long");
    return CMG_OK;
}

static cmg_status apply(void *user, const double *x, double *y)
{
    const cmg_solver *s = user;
    const cmgi_writeback w = {.kind = CMGI_WB_APPLY, .y = y};
    return cmgi_matrix_spmv(s->A, &w, x);
}

static cmg_status apply_dot(void *user, const double *x, double *y, double *xy)
{
    const cmg_solver *s = user;
    return cmgi_matrix_apply_dot(s->A, x, y, xy);
}

static cmg_status residual(void *user, const double *b, const double *x, double *r)
{
    const cmg_solver *s = user;
    const cmgi_writeback w = {.kind = CMGI_WB_RESIDUAL, .b = b, .y = r};
    return cmgi_matrix_spmv(s->A, &w, x);
}

static cmg_status precondition(void *user, const double *r, double *z)
{
    const cmg_solver *s = user;
    return cmgi_cycle_run(s->cycle, r, z);
}

static cmg_status apply_low(void *user, const void *x, void *y)
{
    const cmg_solver *s = user;
    const cmgi_writeback w = {.kind = CMGI_WB_APPLY, .y = y};
    return cmgi_matrix_spmv(cmgi_cycle_is_single(s->cycle) ? s->level[0].A : s->A, &w, x);
}

static cmg_status precondition_low(void *user, const void *r, void *z)
{
    const cmg_solver *s = user;
    return cmgi_cycle_is_single(s->cycle) ? cmgi_cycle_run_single(s->cycle, r, z)
                                          : cmgi_cycle_run(s->cycle, r, z);
}

/* Work vectors, and the sorted numbering in the backend's memory. */
static cmg_status allocate_work(cmg_solver *s)
{
    cmg_context *ctx = s->ctx;
    const cmg_size n = s->level[0].rows;
    const cmgi_linear_system system = {.ctx = ctx,
                                       .n = n,
                                       .user = s,
                                       .apply = apply,
                                       .residual = residual,
                                       .precondition = precondition,
                                       .apply_dot = apply_dot,
                                       .low = cmgi_cycle_is_single(s->cycle) ? CMG_FP32 : CMG_FP64,
                                       .apply_low = apply_low,
                                       .precondition_low = precondition_low,
                                       .recordable = true};
    CMGI_TRY(cmgi_krylov_create(&system, &s->options, &s->krylov));
    if (s->options.fallback && s->options.precision != CMG_FP64) {
        CMGI_TRY(cmgi_alloc_device(ctx, n, sizeof *s->guess, &s->guess));
    }
    if (s->level[0].perm != NULL) {
        CMGI_TRY(cmgi_alloc_device(ctx, n, sizeof *s->perm, &s->perm));
        CMGI_TRY(cmgi_to_device(ctx, s->perm, s->level[0].perm, (size_t)n * sizeof *s->perm));
        CMGI_TRY(cmgi_alloc_device(ctx, n, sizeof *s->b, &s->b));
        CMGI_TRY(cmgi_alloc_device(ctx, n, sizeof *s->x, &s->x));
    }
    return CMG_OK;
}

cmg_status cmg_solver_create(cmg_hierarchy *h, const cmg_solver_options *options, cmg_solver **s)
{
    if (h == NULL) {
        return CMG_ERR_ARG;
    }
    cmg_context *ctx = h->ctx;
    CMGI_CHECK(ctx, s != NULL, CMG_ERR_ARG, "solver: the out-pointer is NULL");
    cmg_solver_options defaults;
    cmg_solver_options_default(&defaults);
    const cmg_solver_options *o = options != NULL ? options : &defaults;
    CMGI_TRY(check_options(ctx, o));
    CMGI_TRY(cmgi_hierarchy_ensure_checked(h));
    const double begin = cmgi_seconds();
    cmg_solver *made = NULL;
    CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *made, &made));
    made->ctx = ctx;
    made->h = h;
    made->options = *o;
    (void)snprintf(made->smoother, sizeof made->smoother, "%s", o->smoother);
    made->options.smoother = made->smoother;
    made->options.precision_schedule = NULL; /* borrowed; `schedule` has what it says */
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_schedule_parse(ctx, o->precision_schedule, &made->schedule));
    if (cmgi_schedule_least(&made->schedule) != CMG_VALUES_FULL) {
        made->options.precision = CMG_FP32;
    }
    CMGI_TRY_GOTO(done, cmgi_solver_check_memory(made));
    CMGI_TRY_GOTO(done, cmgi_solver_setup(made));
    CMGI_TRY_GOTO(done, cmgi_solver_compile(made));
    CMGI_TRY_GOTO(done, allocate_work(made));
    CMGI_TRY_GOTO(done, cmg_context_synchronize(ctx));
    made->report.setup_seconds = cmgi_seconds() - begin;
    *s = made;
    made = NULL;
done:
    cmg_solver_destroy(&made);
    return status;
}

void cmg_solver_destroy(cmg_solver **s)
{
    if (s == NULL || *s == NULL) {
        return;
    }
    cmg_solver *v = *s;
    cmg_context *ctx = v->ctx;
    cmgi_krylov_destroy(&v->krylov);
    cmgi_free_device(ctx, v->guess);
    cmgi_free(ctx, v->history);
    cmgi_free_device(ctx, v->b);
    cmgi_free_device(ctx, v->x);
    cmgi_free_device(ctx, v->perm);
    cmgi_cycle_destroy(&v->cycle);
    cmgi_cycle_destroy(&v->fmg);
    cmg_matrix_destroy(&v->lift);
    cmg_matrix_destroy(&v->coarse);
    if (v->A != v->level[0].A) {
        cmg_matrix_destroy(&v->A);
    }
    for (int l = 0; l < CMGI_MAX_LEVELS; ++l) {
        cmgi_level_clear(ctx, &v->level[l]);
    }
    cmgi_free(ctx, v);
    *s = NULL;
}

static cmg_status check_vector(const cmg_solver *s, const cmg_vector *v, const char *name)
{
    CMGI_CHECK(s->ctx, s->cycle != NULL, CMG_ERR_STATE, CMGI_NOT_READY);
    CMGI_CHECK(s->ctx, v != NULL, CMG_ERR_ARG, "solve: %s is NULL", name);
    CMGI_CHECK(s->ctx, v->n == s->level[0].rows, CMG_ERR_SHAPE,
               "solve: %s has %lld entries, A has %lld rows", name, (long long)v->n,
               (long long)s->level[0].rows);
    CMGI_CHECK(s->ctx, v->precision == CMG_FP64, CMG_ERR_ARG, "solve: %s has to be fp64", name);
    CMGI_CHECK(s->ctx, v->ctx == s->ctx, CMG_ERR_ARG, "solve: %s belongs to another context", name);
    return CMG_OK;
}

cmg_status cmg_solver_solve(cmg_solver *s, const cmg_vector *b, cmg_vector *x, cmg_report *report)
{
    if (s == NULL) {
        return CMG_ERR_ARG;
    }
    cmg_context *ctx = s->ctx;
    CMGI_TRY(check_vector(s, b, "b"));
    CMGI_TRY(check_vector(s, x, "x"));
    CMGI_CHECK(ctx, b->data != x->data, CMG_ERR_ARG, "solve: b and x are the same vector");
    const double begin = cmgi_seconds();
    const long long launches = ctx->graph_launches;
    const long long waits = ctx->waits;
    const cmg_size n = b->n;
    if (s->perm != NULL) {
        CMGI_TRY(ctx->backend->permute(ctx, CMG_FP64, n, s->perm, false, b->data, s->b));
        CMGI_TRY(ctx->backend->permute(ctx, CMG_FP64, n, s->perm, false, x->data, s->x));
        CMGI_TRY(cmgi_solver_run(s, s->b, s->x));
        CMGI_TRY(ctx->backend->permute(ctx, CMG_FP64, n, s->perm, true, s->x, x->data));
    } else {
        CMGI_TRY(cmgi_solver_run(s, b->data, x->data));
    }
    const cmgi_krylov *k = s->krylov;
    if (s->perm != NULL || k->rhs_norm == 0) { /* else the last norm came behind everything */
        CMGI_TRY(cmg_context_synchronize(ctx));
    }
    s->report.graph_launches = ctx->graph_launches - launches;
    s->report.synchronisations = ctx->waits - waits;
    s->report.solve_seconds = cmgi_seconds() - begin;
    if (report != NULL) {
        *report = s->report;
    }
    return CMG_OK;
}

cmg_status cmg_solver_precondition(cmg_solver *s, const cmg_vector *r, cmg_vector *z)
{
    if (s == NULL) {
        return CMG_ERR_ARG;
    }
    cmg_context *ctx = s->ctx;
    CMGI_TRY(check_vector(s, r, "r"));
    CMGI_TRY(check_vector(s, z, "z"));
    CMGI_CHECK(ctx, r->data != z->data, CMG_ERR_ARG, "precondition: r and z are the same vector");
    if (s->perm == NULL) {
        return cmgi_cycle_launch(s->cycle, r->data, z->data);
    }
    CMGI_TRY(ctx->backend->permute(ctx, CMG_FP64, r->n, s->perm, false, r->data, s->b));
    CMGI_TRY(cmgi_cycle_launch(s->cycle, s->b, s->x));
    return ctx->backend->permute(ctx, CMG_FP64, r->n, s->perm, true, s->x, z->data);
}

static cmg_status apply_cycle(void *user, const cmg_vector *r, cmg_vector *z)
{
    return cmg_solver_precondition(user, r, z);
}

cmg_operator cmg_solver_operator(cmg_solver *s)
{
    const cmg_size n = s != NULL ? s->level[0].rows : 0;
    return (cmg_operator){.rows = n, .cols = n, .apply = apply_cycle, .user = s};
}

/* Smoothers whose dampings or patterns follow the values leave the step list behind: a new one. */
static cmg_status recompile(cmg_solver *s)
{
    bool changed = s->cycle == NULL;
    for (int l = 0; l < s->nlevels; ++l) {
        changed = changed || s->level[l].smoother.changed;
    }
    if (!changed) {
        return CMG_OK;
    }
    cmgi_cycle_destroy(&s->cycle);
    cmgi_cycle_destroy(&s->fmg);
    return cmgi_solver_compile(s);
}

cmg_status cmg_solver_refresh(cmg_solver *s)
{
    if (s == NULL) {
        return CMG_ERR_ARG;
    }
    CMGI_CHECK(s->ctx, s->options.matrix.keep_map, CMG_ERR_STATE,
               "refresh: the solver was created without matrix.keep_map");
    const double begin = cmgi_seconds();
    CMGI_TRY(cmgi_hierarchy_ensure_checked(s->h));
    cmgi_krylov_forget(s->krylov);
    cmgi_cycle_forget(s->cycle);
    cmg_status status = cmgi_solver_setup(s);
    if (status == CMG_OK) {
        status = recompile(s);
    }
    if (status != CMG_OK) {
        cmgi_cycle_destroy(&s->cycle);
        cmgi_cycle_destroy(&s->fmg);
    }
    s->report.setup_seconds = cmgi_seconds() - begin;
    return status;
}

const char *cmg_solver_note(const cmg_solver *s, int i)
{
    return s != NULL && i >= 0 && i < s->notes ? s->note[i] : NULL;
}
