/* Life of a solver, and the solve itself. */
#include "mg/memory.h"
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
    *options = (cmg_solver_options){.krylov = CMG_KRYLOV_AUTO,
                                    .cycle = CMG_CYCLE_V,
                                    .pre = 1,
                                    .post = 1,
                                    .smoother = "auto",
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
                                    .restart = 30,
                                    .max_it = 100,
                                    .fallback = true};
    cmg_matrix_options_default(&options->matrix);
}

enum { MAX_STEPS = 1000, MAX_ITERATIONS = 100000000 };

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
    CMGI_CHECK(ctx, o->restart >= 1 && o->restart <= MAX_STEPS, CMG_ERR_ARG,
               "restart %d has to be in 1 .. %d", o->restart, (int)MAX_STEPS);
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

/* The guess to go back to; the sorted numbering of level 0, and b and x in it. */
static cmg_status allocate(cmg_solver *s)
{
    cmg_context *ctx = s->ctx;
    const cmgi_level *fine = &s->mg.levels.level[0];
    const cmg_size n = fine->rows;
    CMGI_TRY(cmgi_alloc_device(ctx, n, sizeof *s->fallback.guess, &s->fallback.guess));
    if (fine->perm != NULL) {
        CMGI_TRY(cmgi_alloc_device(ctx, n, sizeof *s->perm, &s->perm));
        CMGI_TRY(cmgi_to_device(ctx, s->perm, fine->perm, (size_t)n * sizeof *s->perm));
        CMGI_TRY(cmgi_alloc_device(ctx, n, sizeof *s->b, &s->b));
        CMGI_TRY(cmgi_alloc_device(ctx, n, sizeof *s->x, &s->x));
    }
    return CMG_OK;
}

/* Options and schedule of the multigrid, which keeps no borrowed text. */
static cmg_status take_options(cmg_solver *s, const cmg_solver_options *o)
{
    cmgi_multigrid *mg = &s->mg;
    mg->options = *o;
    (void)snprintf(s->smoother, sizeof s->smoother, "%s", o->smoother);
    mg->options.smoother = s->smoother;
    mg->options.precision_schedule = NULL; /* `schedule` has what it says */
    CMGI_TRY(cmgi_schedule_parse(s->ctx, o->precision_schedule, &mg->schedule));
    if (cmgi_schedule_least(&mg->schedule) != CMG_VALUES_FULL) {
        mg->options.precision = CMG_FP32;
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
    made->mg.ctx = ctx;
    made->mg.h = h;
    made->mg.generation = h->generation;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, take_options(made, o));
    CMGI_TRY_GOTO(done, cmgi_memory_check(h, &made->mg.options, &made->mg.schedule));
    CMGI_TRY_GOTO(done, cmgi_multigrid_build(&made->mg));
    CMGI_TRY_GOTO(done, allocate(made));
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
    cmgi_multigrid_clear(&v->mg);
    cmgi_fallback_clear(ctx, &v->fallback);
    cmgi_free_device(ctx, v->b);
    cmgi_free_device(ctx, v->x);
    cmgi_free_device(ctx, v->perm);
    cmgi_free(ctx, v);
    *s = NULL;
}

static cmg_status check_vector(const cmg_solver *s, const cmg_vector *v, const char *name)
{
    CMGI_CHECK(s->ctx, s->mg.cycle != NULL, CMG_ERR_STATE, CMGI_NOT_READY);
    CMGI_CHECK(s->ctx, v != NULL, CMG_ERR_ARG, "solve: %s is NULL", name);
    CMGI_CHECK(s->ctx, v->n == s->mg.levels.level[0].rows, CMG_ERR_SHAPE,
               "solve: %s has %lld entries, A has %lld rows", name, (long long)v->n,
               (long long)s->mg.levels.level[0].rows);
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
        CMGI_TRY(cmgi_fallback_solve(&s->fallback, &s->mg, s->b, s->x, &s->report));
        CMGI_TRY(ctx->backend->permute(ctx, CMG_FP64, n, s->perm, true, s->x, x->data));
    } else {
        CMGI_TRY(cmgi_fallback_solve(&s->fallback, &s->mg, b->data, x->data, &s->report));
    }
    const cmgi_krylov *k = s->mg.krylov;
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

static cmg_status launch(void *user, const void *r, void *z)
{
    return cmgi_cycle_launch(user, r, z);
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
        return cmgi_krylov_convert(s->mg.krylov, launch, s->mg.cycle, r->data, z->data);
    }
    CMGI_TRY(ctx->backend->permute(ctx, CMG_FP64, r->n, s->perm, false, r->data, s->b));
    CMGI_TRY(cmgi_krylov_convert(s->mg.krylov, launch, s->mg.cycle, s->b, s->x));
    return ctx->backend->permute(ctx, CMG_FP64, r->n, s->perm, true, s->x, z->data);
}

static cmg_status apply_cycle(void *user, const cmg_vector *r, cmg_vector *z)
{
    return cmg_solver_precondition(user, r, z);
}

cmg_operator cmg_solver_operator(cmg_solver *s)
{
    const cmg_size n = s != NULL ? s->mg.levels.level[0].rows : 0;
    return (cmg_operator){.rows = n, .cols = n, .apply = apply_cycle, .user = s};
}

cmg_status cmg_solver_refresh(cmg_solver *s)
{
    if (s == NULL) {
        return CMG_ERR_ARG;
    }
    CMGI_CHECK(s->ctx, s->mg.options.matrix.keep_map, CMG_ERR_STATE,
               "refresh: the solver was created without matrix.keep_map");
    const double begin = cmgi_seconds();
    CMGI_TRY(cmgi_multigrid_check_generation(&s->mg));
    CMGI_TRY(cmgi_hierarchy_ensure_checked(s->mg.h));
    const cmg_status status = cmgi_multigrid_refresh(&s->mg);
    s->report.setup_seconds = cmgi_seconds() - begin;
    return status;
}

const char *cmg_solver_note(const cmg_solver *s, int i)
{
    return s != NULL && i >= 0 && i < s->mg.levels.notes ? s->mg.levels.note[i] : NULL;
}
