/* Life of a solver, and the solve itself. */
#include "core/report.h"
#include "mg/options.h"
#include "mg/solver.h"
#include "spmv/formats.h"

#include <string.h>

/* Options and schedule of the multigrid; the schedule has what its text says. */
static cmg_status take_options(cmg_solver *s, const cmg_solver_options *o)
{
    cmgi_multigrid *mg = &s->mg;
    double rows = (double)cmg_hierarchy_rows(mg->h, 0);
    mg->options = *o;
    CMGI_TRY(cmgi_all_sum(s->ctx, &rows, 1));
    cmgi_solver_choose_precision(&mg->options, rows);
    s->chosen = o->precision == CMG_PRECISION_AUTO;
    mg->options.precision_schedule[0] = '\0';
    CMGI_TRY(cmgi_solver_schedule(s->ctx, o, &mg->schedule));
    if (cmgi_schedule_least(&mg->schedule) != CMG_VALUES_FULL) {
        mg->options.precision = CMG_FP32;
    }
    mg->schedule.halves = s->chosen && mg->options.precision == CMG_FP32;
    return CMG_OK;
}

/* Matrices on the host go to the device for the set-up, where there is room for them beside what is
 * made of them; formats that renumber are made on the host. */
static cmg_status stage(cmg_hierarchy *h, const cmg_solver_options *o)
{
    const cmgi_format *format = cmgi_format_find(h->ctx, o->matrix.format);
    if ((format != NULL && (format->renumbers || format->elements)) ||
        o->matrix.format == CMG_FORMAT_TUNE) {
        return CMG_OK;
    }
    cmg_status status = cmgi_hierarchy_stage(h);
    status = status == CMG_OK ? cmgi_hierarchy_arrive(h, true) : status;
    if (status != CMG_OK) {
        cmgi_hierarchy_leave_device(h, false);
    }
    return status == CMG_ERR_MEMORY ? CMG_OK : status;
}

/* The hierarchies keep what they had before. */
static void unstage(cmgi_multigrid *mg)
{
    if (mg->completion.h != NULL) {
        cmgi_hierarchy_leave_device(mg->completion.h, false);
    }
    cmgi_hierarchy_leave_device(mg->h, false);
}

/* Options, and the hierarchy as far as this rank can see. */
static cmg_status check(cmg_hierarchy *h, const cmg_solver_options *options, cmg_solver **s,
                        cmg_solver_options *own)
{
    cmg_context *ctx = h->ctx;
    CMGI_CHECK(ctx, s != NULL, CMG_ERR_ARG, "solver: the out-pointer is NULL");
    CMGI_TRY(cmgi_solver_options_take(ctx, options, own));
    if (ctx->group == NULL) {
        return CMG_OK; /* checked where it lies, by create */
    }
    const cmgi_format *format = cmgi_format_find(ctx, own->matrix.format);
    CMGI_CHECK(ctx, h->own != NULL, CMG_ERR_STATE,
               "a hierarchy of several ranks takes its matrices by cmg_hierarchy_set_rows");
    CMGI_CHECK(ctx, format == NULL || !format->renumbers, CMG_ERR_UNSUPPORTED,
               "format %s renumbers, which several ranks do by themselves",
               cmg_enum_name("format", (int)own->matrix.format));
    CMGI_CHECK(ctx, own->renumber != CMG_RENUMBER_RCM, CMG_ERR_UNSUPPORTED,
               "renumber rcm: several ranks have an order of their own");
    CMGI_CHECK(ctx, !own->matrix.keep_map, CMG_ERR_UNSUPPORTED,
               "keep_map: new values on several ranks need a new solver");
    return CMG_OK;
}

/* The set-up goes on from the host, with the memory that was on the way there. */
static void stay(cmgi_multigrid *mg)
{
    cmgi_multigrid_clear(mg);
    unstage(mg);
    mg->begun = 0;
}

/* The finest A, which has arrived, is converted while the others travel, unless another numbering
 * comes first. */
static cmg_status begin(cmg_solver *s, bool renumbers)
{
    cmg_hierarchy *h = s->mg.h;
    const cmgi_resident *A = cmgi_hierarchy_there(h, 0, CMG_ROLE_A);
    CMGI_TRY(A != NULL && A->staged && !renumbers ? cmgi_multigrid_begin(&s->mg) : CMG_OK);
    double lap = cmgi_seconds();
    const cmg_status status = cmgi_hierarchy_arrive(h, false);
    cmgi_setup_lap(&s->mg.levels, CMG_SETUP_UPLOAD, &lap);
    if (status == CMG_ERR_MEMORY) {
        stay(&s->mg);
    }
    return status == CMG_ERR_MEMORY ? CMG_OK : status;
}

/* What one process does before levels are built: matrices to the device, checks, the numbering. */
static cmg_status prepare(cmg_solver *s, const cmg_solver_options *own, double *lap)
{
    cmg_hierarchy *h = s->mg.h;
    bool renumbers = false;
    CMGI_TRY(stage(h, own));
    cmgi_setup_lap(&s->mg.levels, CMG_SETUP_UPLOAD, lap);
    CMGI_TRY(cmgi_edge_wanted(h, own, &renumbers));
    CMGI_TRY(begin(s, renumbers));
    *lap = cmgi_seconds();
    CMGI_TRY(cmgi_hierarchy_ensure_checked(h, true));
    for (int l = 0; l < h->levels && own->matrix.keep_map; ++l) { /* rows that repeat, to stay */
        cmgi_stored_level *level = &h->level[l];
        cmgi_csr *const M[] = {&level->A, &level->P, &level->R};
        const bool forms = l + 1 < h->levels && (own->galerkin == CMG_GALERKIN_ALWAYS ||
                                                 !cmgi_csr_given(&h->level[l + 1].A));
        for (int k = 0; k < (forms ? 3 : 1); ++k) { /* P and R serve R A P alone */
            CMGI_TRY(M[k]->there != NULL ? cmgi_repeats_find(h->ctx, M[k]->there) : CMG_OK);
        }
    }
    cmgi_setup_lap(&s->mg.levels, CMG_SETUP_CHECK, lap);
    if (!renumbers) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_edge_open(h, own, &s->edge));
    s->mg.numbered = s->edge.numbered;
    s->mg.h = s->mg.numbered != NULL ? s->mg.numbered->h : h;
    return CMG_OK;
}

/* The finest matrices, which no completion changes, while a device looks at the others; but a
 * smoother that is named may want its memory first. */
static cmg_status begin_finest(void *user)
{
    cmgi_multigrid *mg = user;
    const double begin = cmgi_seconds();
    if (cmgi_hierarchy_there(mg->h, 0, CMG_ROLE_A) == NULL ||
        (mg->levels.room > 0 && mg->levels.level[0].A != NULL) ||
        strcmp(mg->options.smoother, "auto") != 0) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_multigrid_begin(mg));
    mg->levels.part[CMG_SETUP_COMPLETE] -= cmgi_seconds() - begin; /* a part of its own */
    return CMG_OK;
}

/* The levels that are missing, and whether there is memory for the solver. */
static cmg_status complete(cmgi_multigrid *mg)
{
    CMGI_TRY(cmgi_multigrid_complete(mg, (cmgi_meanwhile){begin_finest, mg}));
    return cmgi_memory_check(cmgi_multigrid_hierarchy(mg), &mg->options, &mg->schedule, mg->begun);
}

/* All that a solver has, from `start` on. */
static cmg_status set_up(cmg_solver *made, const cmg_solver_options *own, double start)
{
    cmg_context *ctx = made->ctx;
    double lap = start;
    CMGI_TRY(take_options(made, own));
    CMGI_TRY(ctx->group == NULL ? prepare(made, own, &lap) : CMG_OK);
    const long long waits = ctx->waits;
    cmg_status status = complete(&made->mg);
    const cmgi_resident *A = cmgi_hierarchy_there(made->mg.h, 0, CMG_ROLE_A);
    if (status == CMG_ERR_MEMORY && A != NULL && A->staged) {
        stay(&made->mg); /* what was sent for the set-up alone is in the way */
        status = complete(&made->mg);
    }
    CMGI_TRY(status);
    cmgi_log(ctx, CMG_LOG_DEBUG, "set-up: completion, %.3g ms, %lld waits",
             1e3 * (cmgi_seconds() - lap), ctx->waits - waits);
    cmgi_setup_lap(&made->mg.levels, CMG_SETUP_COMPLETE, &lap);
    CMGI_TRY(cmgi_multigrid_build(&made->mg));
    CMGI_TRY(cmgi_alloc_device(ctx, made->mg.levels.level[0].rows, sizeof *made->fallback.guess,
                               &made->fallback.guess));
    return cmgi_edge_ready(ctx, &made->mg.levels.level[0], &made->edge);
}

static cmg_status create(cmg_hierarchy *h, const cmg_solver_options *own, cmg_solver **s)
{
    cmg_context *ctx = h->ctx;
    const double start = cmgi_seconds();
    cmgi_scoped_by(cmg_solver_destroy) cmg_solver *made = NULL;
    CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *made, &made));
    made->ctx = ctx;
    atomic_flag_clear(&made->busy);
    made->mg.ctx = ctx;
    made->mg.columns = 1;
    made->mg.h = h;
    made->mg.generation = h->generation;
    cmgi_hold_memory(ctx, true);
    const cmg_status status = set_up(made, own, start);
    cmgi_hierarchy_forget(h);
    unstage(&made->mg);
    cmgi_hold_memory(ctx, false);
    CMGI_TRY(status);
    CMGI_TRY(cmg_context_synchronize(ctx));
    made->report.setup_seconds = cmgi_seconds() - start;
    memcpy(made->report.setup_part, made->mg.levels.part, sizeof made->report.setup_part);
    *s = cmgi_pass_on(&made);
    return CMG_OK;
}

cmg_status cmg_solver_create(cmg_hierarchy *h, const cmg_solver_options *options, cmg_solver **s)
{
    CMGI_GIVEN(h);
    cmg_solver_options own;
    CMGI_TRY(cmgi_group_agree(h->ctx, check(h, options, s, &own)));
    CMGI_TRY(cmgi_solver_options_agree(h->ctx, &own));
    return cmgi_group_fail(h->ctx, create(h, &own, s));
}

/* The columns' work space goes, and the reports of the last solve with it if they are theirs. */
static void drop_columns(cmg_solver *s)
{
    if (s->columns != NULL) {
        cmgi_columns_clear(s->ctx, s->columns);
        cmgi_free(s->ctx, cmgi_pass_on(&s->columns));
    }
    s->report.history = s->several ? NULL : s->report.history;
    s->several = false;
}

void cmg_solver_destroy(cmg_solver **s)
{
    if (s == NULL || *s == NULL) {
        return;
    }
    cmg_solver *v = *s;
    cmg_context *ctx = v->ctx;
    drop_columns(v);
    cmgi_multigrid_clear(&v->mg);
    cmgi_multigrid_drop_completion(&v->mg);
    if (v->mg.divided != NULL) {
        cmgi_divided_by(ctx)->destroy(&v->mg.divided);
    }
    cmgi_fallback_clear(ctx, &v->fallback);
    cmgi_edge_close(ctx, &v->edge);
    cmgi_hold_memory(ctx, false); /* less is in use */
    cmgi_free(ctx, v);
    *s = NULL;
}

static cmg_status check_vector(const cmg_solver *s, const cmg_vector *v, const char *name)
{
    CMGI_CHECK(s->ctx, s->mg.ready, CMG_ERR_STATE, CMGI_NOT_READY);
    CMGI_CHECK(s->ctx, v != NULL, CMG_ERR_ARG, "solve: %s is NULL", name);
    CMGI_CHECK(s->ctx, v->n == s->mg.levels.level[0].rows, CMG_ERR_SHAPE,
               "solve: %s has %lld entries, A has %lld rows", name, (long long)v->n,
               (long long)s->mg.levels.level[0].rows);
    CMGI_CHECK(s->ctx, v->precision == CMG_FP64, CMG_ERR_ARG, "solve: %s has to be fp64", name);
    CMGI_CHECK(s->ctx, v->ctx == s->ctx, CMG_ERR_ARG, "solve: %s belongs to another context", name);
    return CMG_OK;
}

/* The work space of k columns that go together. */
static cmg_status take_columns(cmg_solver *s, int k)
{
    CMGI_CHECK(s->ctx, !cmgi_is_divided(s->mg.divided, 0), CMG_ERR_UNSUPPORTED,
               "several columns: on several ranks they are solved one by one");
    CMGI_CHECK(s->ctx, s->mg.levels.level[0].perm == NULL, CMG_ERR_UNSUPPORTED,
               "several columns: the format of level 0 renumbers its rows, take another");
    if (s->columns != NULL && s->columns->mg.columns != k) {
        drop_columns(s);
    }
    if (s->columns == NULL) {
        CMGI_TRY(cmgi_alloc_zero(s->ctx, 1, sizeof *s->columns, &s->columns));
    }
    return cmgi_columns_take(&s->mg, k, s->columns);
}

static cmg_status solve(cmg_solver *s, const cmg_vector *b, cmg_vector *x, bool zero,
                        cmg_report *report)
{
    cmg_context *ctx = s->ctx;
    CMGI_TRY(check_vector(s, b, "b"));
    CMGI_TRY(check_vector(s, x, "x"));
    CMGI_CHECK(ctx, b->columns == x->columns, CMG_ERR_SHAPE, "solve: b has %d columns, x has %d",
               b->columns, x->columns);
    CMGI_CHECK(ctx, !cmgi_vectors_overlap(b, x), CMG_ERR_ARG,
               "solve: b and x are the same vector or overlap");
    CMGI_TRY(cmgi_sized_check(ctx, "cmg_report", report, sizeof *report));
    const double begin = cmgi_seconds();
    const long long launches = ctx->graph_launches;
    const long long waits = ctx->waits;
    double *own[2] = {NULL, NULL};
    s->several = false;
    s->report.history = NULL;
    CMGI_TRY(b->columns > 1 ? take_columns(s, b->columns) : CMG_OK);
    CMGI_TRY(cmgi_edge_in(&s->edge, b, 0, &own[0]));
    s->fallback.zero = zero && b->columns == 1;
    s->fallback.stopped = false;
    CMGI_TRY(zero ? cmgi_edge_room(&s->edge, x, &own[1]) : cmgi_edge_in(&s->edge, x, 1, &own[1]));
    if (zero && b->columns > 1) { /* else the first pass of the iteration puts it there */
        CMGI_TRY(ctx->backend->fill(ctx, CMG_FP64, x->n * x->columns, 0.0, own[1]));
    }
    s->several = b->columns > 1;
    CMGI_TRY(s->several
                 ? cmgi_columns_solve(&s->fallback, &s->mg, s->columns, own[0], own[1], &s->report)
                 : cmgi_fallback_solve(&s->fallback, &s->mg, own[0], own[1], &s->report));
    CMGI_TRY(cmgi_edge_out(&s->edge, own[1], x));
    if (s->edge.columns > 0 || s->several ||
        s->mg.krylov->column->rhs_norm == 0) { /* else the last norm came after everything */
        CMGI_TRY(cmg_context_synchronize(ctx));
    }
    s->report.solve_seconds = cmgi_seconds() - begin;
    s->report.graph_launches = ctx->graph_launches - launches;
    s->report.synchronisations = ctx->waits - waits;
    CMGI_TRY(cmgi_hint(&s->mg, &s->report, s->fallback.indefinite, s->hint));
    s->report.hint = s->hint;
    cmgi_sized_give(&s->report, report);
    return CMG_OK;
}

cmg_status cmg_solver_solve(cmg_solver *s, const cmg_vector *b, cmg_vector *x, cmg_report *report)
{
    CMGI_ALONE(s);
    return cmgi_group_fail(s->ctx, solve(s, b, x, false, report));
}

cmg_status cmg_solver_solve_from_zero(cmg_solver *s, const cmg_vector *b, cmg_vector *x,
                                      cmg_report *report)
{
    CMGI_ALONE(s);
    return cmgi_group_fail(s->ctx, solve(s, b, x, true, report));
}

/* The options, checked as at creation, to the iteration that there is. */
static cmg_status take_limits(cmg_solver *s, const cmg_solver_options *o)
{
    CMGI_ALONE(s);
    cmg_solver_options own;
    CMGI_TRY(cmgi_solver_options_take(s->ctx, o, &own));
    cmgi_iteration_options limits = cmgi_solver_iteration(&own, own.krylov);
    limits.low = s->mg.interval.low;
    limits.high = s->mg.interval.high;
    CMGI_TRY(s->mg.krylov != NULL ? cmgi_krylov_limit(s->mg.krylov, &limits) : CMG_OK);
    if (own.max_it != s->mg.options.max_it) { /* their histories are as long */
        drop_columns(s);
    }
    s->mg.options = own;
    return CMG_OK;
}

cmg_status cmg_solver_set_limits(cmg_solver *s, double rtol, double atol, int max_it)
{
    CMGI_GIVEN(s);
    cmg_solver_options o = s->mg.options;
    o.rtol = rtol < 0 ? o.rtol : rtol;
    o.atol = atol < 0 ? o.atol : atol;
    o.max_it = max_it == 0 ? o.max_it : max_it;
    const bool same = o.rtol == s->mg.options.rtol && o.atol == s->mg.options.atol &&
                      o.max_it == s->mg.options.max_it;
    return same ? CMG_OK : take_limits(s, &o);
}

cmg_status cmg_solver_set_monitor(cmg_solver *s, cmg_monitor_fn monitor, void *user)
{
    CMGI_GIVEN(s);
    cmg_solver_options o = s->mg.options;
    o.monitor = monitor;
    o.monitor_user = user;
    return monitor != NULL || s->mg.options.monitor != NULL ? take_limits(s, &o) : CMG_OK;
}

cmg_status cmg_solver_column(const cmg_solver *s, int column, cmg_report *report)
{
    CMGI_GIVEN(s);
    const int columns = s->several ? s->columns->mg.columns : s->report.history != NULL ? 1 : 0;
    CMGI_CHECK(s->ctx, column >= 0 && column < columns, CMG_ERR_ARG,
               "column %d of a last solve of %d columns", column, columns);
    cmg_report ours = s->several ? s->columns->report[column] : s->report;
    ours.setup_seconds = s->report.setup_seconds;
    ours.solve_seconds = s->report.solve_seconds;
    ours.graph_launches = s->report.graph_launches;
    ours.synchronisations = s->report.synchronisations;
    ours.bytes = s->report.bytes;
    ours.iteration_bytes = s->report.iteration_bytes;
    return cmgi_sized_fill(s->ctx, "cmg_report", &ours, sizeof ours, report);
}

/* Iterations of others may rely on a cycle that is symmetric to rounding in fp64: where nobody has
 * asked for less, it becomes one. */
static cmg_status precondition(cmg_solver *s, const cmg_vector *r, cmg_vector *z)
{
    const cmgi_ending end = {.outcome = CMG_CONVERGED_RTOL};
    char clause[CMGI_CLAUSE];
    cmg_context *ctx = s->ctx;
    CMGI_TRY(check_vector(s, r, "r"));
    CMGI_TRY(check_vector(s, z, "z"));
    CMGI_CHECK(ctx, !cmgi_vectors_overlap(r, z), CMG_ERR_ARG,
               "precondition: r and z are the same vector or overlap");
    CMGI_CHECK(ctx, r->columns == z->columns, CMG_ERR_SHAPE,
               "precondition: r has %d columns, z has %d", r->columns, z->columns);
    if (s->chosen && s->mg.options.precision != CMG_FP64) {
        s->chosen = false;
        s->mg.schedule.halves = false; /* to fp64 at once */
        CMGI_TRY(cmgi_multigrid_check_generation(&s->mg));
        CMGI_TRY(cmgi_ladder_climb(&s->fallback.ladder, &s->mg, CMGI_RUNG_BITS, &end, clause));
    }
    double *own[2] = {NULL, NULL};
    CMGI_TRY(r->columns > 1 ? take_columns(s, r->columns) : CMG_OK);
    const cmgi_multigrid *mg = r->columns > 1 ? &s->columns->mg : &s->mg;
    CMGI_TRY(cmgi_edge_in(&s->edge, r, 0, &own[0]));
    CMGI_TRY(cmgi_edge_room(&s->edge, z, &own[1]));
    CMGI_TRY(cmgi_krylov_convert(mg->krylov, r->columns > 1 ? cmgi_cycle_run : cmgi_cycle_launch,
                                 mg->cycle, own[0], own[1]));
    return cmgi_edge_out(&s->edge, own[1], z);
}

cmg_status cmg_solver_precondition(cmg_solver *s, const cmg_vector *r, cmg_vector *z)
{
    CMGI_ALONE(s);
    return cmgi_group_fail(s->ctx, precondition(s, r, z));
}

static cmg_status apply_cycle(void *user, const cmg_vector *r, cmg_vector *z)
{
    return cmg_solver_precondition(user, r, z);
}

cmg_operator cmg_solver_operator(cmg_solver *s)
{
    const cmg_size n = s != NULL && s->mg.levels.room > 0 ? s->mg.levels.level[0].rows : 0;
    return (cmg_operator){.rows = n, .cols = n, .apply = apply_cycle, .user = s};
}

cmg_status cmg_solver_refresh(cmg_solver *s)
{
    CMGI_ALONE(s);
    const double begin = cmgi_seconds();
    s->mg.ready = false; /* whatever stops it: the values are those of before */
    CMGI_CHECK(s->ctx, s->mg.options.matrix.keep_map, CMG_ERR_STATE,
               "refresh: the solver was created without matrix.keep_map");
    CMGI_TRY(cmgi_multigrid_check_generation(&s->mg));
    CMGI_TRY(cmgi_hierarchy_ensure_checked(cmgi_multigrid_caller(&s->mg), false));
    cmgi_hold_memory(s->ctx, false); /* by what is in use now */
    memset(s->mg.levels.part, 0, sizeof s->mg.levels.part);
    CMGI_TRY(cmgi_edge_refresh(s->mg.numbered));
    const cmg_status status = cmgi_multigrid_refresh(&s->mg);
    s->report.setup_seconds = cmgi_seconds() - begin;
    memcpy(s->report.setup_part, s->mg.levels.part, sizeof s->report.setup_part);
    return status;
}

double cmg_solver_setup_seconds(const cmg_solver *s, cmg_setup_part part)
{
    const int p = (int)part;
    return s == NULL || p < 0 || p > CMG_SETUP_PARTS ? 0
           : p < CMG_SETUP_PARTS                     ? s->report.setup_part[p]
                                                     : s->report.setup_seconds;
}

const char *cmg_solver_note(const cmg_solver *s, int i)
{
    return s != NULL && i >= 0 && i < s->mg.levels.notes ? s->mg.levels.note[i] : NULL;
}
