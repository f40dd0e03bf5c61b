/*
 * A solve that takes what comes: Dirichlet rows solved exactly, nested iteration, and the outer
 * iteration with the cycle as its preconditioner.
 */
#include "mg/multigrid.h"

#include "mg/options.h"
#include "spmv/columns.h"

#include <math.h>

/* A in fp64, or the finest matrix of a cycle in less. */
static cmg_status apply(void *user, cmg_precision p, const void *x, void *y, double *xy,
                        cmgi_addends *left)
{
    const cmgi_multigrid *mg = user;
    const cmg_matrix *A = p == CMG_FP64 ? mg->levels.A : mg->levels.level[0].A;
    const cmgi_writeback w = {.kind = CMGI_WB_APPLY, .y = y, .columns = mg->columns};
    if (xy != NULL && p == CMG_FP64 && mg->columns == 1) {
        return cmgi_matrix_apply_dot(A, x, y, xy, left);
    }
    CMGI_TRY(cmgi_matrix_spmv(A, &w, x));
    return xy != NULL ? mg->ctx->backend->dot(mg->ctx, p, A->rows, mg->columns, x, y, xy) : CMG_OK;
}

static cmg_status apply_formed(void *user, const cmgi_direction *p, double *y, double *xy,
                               cmgi_addends *left, bool *formed)
{
    const cmgi_multigrid *mg = user;
    return mg->columns == 1 ? cmgi_matrix_apply_formed(mg->levels.A, p, y, xy, left, formed)
                            : CMG_OK;
}

static cmg_status residual(void *user, const double *b, const double *x, double *r)
{
    const cmgi_multigrid *mg = user;
    const cmgi_writeback w = {.kind = CMGI_WB_RESIDUAL, .b = b, .y = r, .columns = mg->columns};
    return cmgi_matrix_spmv(cmgi_levels_rows(&mg->levels), &w, x);
}

/* Of a matrix whose product does it in one pass. */
static cmg_status residual_rounded(void *user, const double *b, const double *x, float *r,
                                   cmgi_addends *squares)
{
    const cmgi_multigrid *mg = user;
    return cmgi_matrix_residual_rounded(cmgi_levels_rows(&mg->levels), b, x, r, squares);
}

/* In fp32 rounding is larger than what the cycle adds, and x is projected at the end. */
static cmg_status run(const cmgi_multigrid *mg, cmgi_cycle *cycle, const void *r, void *z)
{
    CMGI_TRY(cmgi_cycle_run(cycle, r, z));
    return cmgi_cycle_precision(cycle) == CMG_FP64 ? cmgi_project(mg->ctx, &mg->levels.nullspace, z)
                                                   : CMG_OK;
}

static cmg_status precondition(void *user, const void *r, void *z)
{
    return run(user, ((const cmgi_multigrid *)user)->cycle, r, z);
}

/* Not where z has been projected since. */
static cmgi_addends left(void *user)
{
    const cmgi_multigrid *mg = user;
    return mg->levels.nullspace.count == 0 ? mg->cycle->left : (cmgi_addends){0};
}

static cmg_status nested(void *user, const void *r, void *z)
{
    return run(user, ((const cmgi_multigrid *)user)->nested, r, z);
}

/* Cycles in fp32 alone can, whose z is not projected. */
static cmg_status stepped(void *user, bool nested, const void *r, const cmgi_semi_update *step,
                          bool *taken, bool *notes)
{
    const cmgi_multigrid *mg = user;
    *notes = mg->cycle->notes != CMGI_NONE;
    return cmgi_cycle_run_step(nested ? mg->nested : mg->cycle, r, step, taken);
}

/*
 * Whether semi-iteration is asked for, or would be faster than CG: on large levels, of which the
 * hierarchy has some that stand for the whole in the search for its interval. Aggregates, whose
 * cycles become worse from level to level, do not (P1, distorted, 96^3 alone: 25 iterations for
 * 14). Once a solve has fallen back it is CG.
 */
static bool wants_semi(const cmgi_multigrid *mg)
{
    const cmg_solver_options *o = &mg->options;
    const cmgi_completion *c = &mg->completion;
    const bool alike = c->appended == 0 || c->taken > 2 || c->method == CMG_COARSEN_LATTICE;
    const cmg_size from = mg->ctx->backend->semi_rows;
    const bool large = from > 0 && mg->levels.level[0].rows >= from && mg->levels.count > 3;
    const bool plain = mg->divided == NULL && mg->levels.boundary == NULL &&
                       mg->levels.nullspace.count == 0 && o->cycle != CMG_CYCLE_NONE && !o->fmg;
    return o->krylov == CMG_KRYLOV_SEMI || (o->krylov == CMG_KRYLOV_AUTO && large && plain &&
                                            alike && o->fallback && !mg->apart && !mg->missed);
}

/* CG where A and the cycle are symmetric, FCG where only A is, FGMRES where it is not. */
cmg_status cmgi_multigrid_choose_method(cmgi_multigrid *mg, cmg_krylov *method)
{
    *method = mg->options.krylov;
    mg->unseen = false;
    if (*method == CMG_KRYLOV_AUTO && mg->envelope != NULL &&
        (mg->envelope->negative || (mg->levels.count == 1 && !mg->levels.symmetric_inverse))) {
        *method = CMG_KRYLOV_FGMRES;
    } else if (*method == CMG_KRYLOV_AUTO) {
        CMGI_TRY(cmgi_symmetry_look(mg->ctx, &mg->levels, mg->cycle, &mg->symmetry));
        *method = !mg->symmetry.matrix  ? CMG_KRYLOV_FGMRES
                  : !mg->symmetry.cycle ? CMG_KRYLOV_FCG
                                        : CMG_KRYLOV_CG;
    }
    return CMG_OK;
}

static cmgi_iteration_options iteration_of(const cmgi_multigrid *mg, cmg_krylov method)
{
    cmgi_iteration_options iteration = cmgi_solver_iteration(&mg->options, method);
    iteration.low = mg->interval.low;
    iteration.high = mg->interval.high;
    return iteration;
}

static cmg_status create_krylov(cmgi_multigrid *mg, cmg_krylov method)
{
    const cmgi_linear_system system = {.ctx = mg->ctx,
                                       .n = mg->levels.level[0].rows,
                                       .columns = mg->columns,
                                       .user = mg,
                                       .apply = apply,
                                       .apply_formed = apply_formed,
                                       .residual = residual,
                                       .residual_rounded = residual_rounded,
                                       .left = left,
                                       .precondition = precondition,
                                       .nested = mg->nested != NULL ? nested : NULL,
                                       .stepped = stepped,
                                       .precision = cmgi_cycle_precision(mg->cycle),
                                       .exact_rz = mg->levels.count == 1,
                                       .recordable = true};
    const cmgi_iteration_options iteration = iteration_of(mg, method);
    return cmgi_krylov_create(&system, &iteration, &mg->krylov);
}

cmg_status cmgi_multigrid_take_method(cmgi_multigrid *mg, cmg_krylov method)
{
    cmgi_krylov *before = mg->krylov;
    CMGI_TRY(create_krylov(mg, method));
    ++mg->builds;
    cmgi_krylov_destroy(&before);
    return CMG_OK;
}

/* The interval of semi-iteration where that is wanted and A and C allow it; else it is 0. */
static cmg_status find_interval(cmgi_multigrid *mg)
{
    mg->interval = (cmgi_interval){0};
    if (!wants_semi(mg)) {
        return CMG_OK;
    }
    if (mg->options.krylov == CMG_KRYLOV_SEMI) { /* otherwise the choice of CG has looked */
        CMGI_TRY(cmgi_symmetry_look(mg->ctx, &mg->levels, mg->cycle, &mg->symmetry));
    }
    return mg->symmetry.matrix && mg->symmetry.cycle ? cmgi_interval_find(mg) : CMG_OK;
}

cmg_status cmgi_multigrid_check_generation(const cmgi_multigrid *mg)
{
    CMGI_CHECK(mg->ctx, mg->generation == cmgi_multigrid_caller(mg)->generation, CMG_ERR_STATE,
               "solver: sizes, patterns or numbering of the hierarchy have changed since it was "
               "created: create it anew (cmg_hierarchy_update keeps them)");
    return CMG_OK;
}

cmg_status cmgi_multigrid_begin(cmgi_multigrid *mg)
{
    const cmgi_resident_facts *A = &cmgi_hierarchy_there(mg->h, 0, CMG_ROLE_A)->facts;
    const size_t before = mg->ctx->bytes_now[1];
    double lap = cmgi_seconds();
    if (A->not_finite >= 0 || A->zero_diagonal >= 0) {
        return CMG_OK;
    }
    const cmg_status status = cmgi_setup_finest(mg);
    cmgi_setup_lap(&mg->levels, CMG_SETUP_CONVERT, &lap);
    mg->begun = mg->ctx->bytes_now[1] - before;
    return status == CMG_ERR_MEMORY ? CMG_OK : status;
}

/* Bounds of a smoother are not all its own. */
static bool is_renewed(const cmgi_multigrid *mg)
{
    bool renewed = false;
    for (int l = 0; l < mg->levels.count; ++l) {
        renewed = renewed || mg->levels.level[l].smoother.renewed;
    }
    return renewed;
}

cmg_status cmgi_multigrid_build(cmgi_multigrid *mg)
{
    cmg_krylov method;
    CMGI_TRY(cmgi_setup_levels(mg));
    cmgi_hierarchy_forget(cmgi_multigrid_hierarchy(mg)); /* what it borrows first */
    cmgi_hierarchy_forget(mg->h);
    double begin = cmgi_seconds();
    CMGI_TRY(cmgi_setup_cycles(mg, wants_semi(mg)));
    CMGI_TRY(cmgi_multigrid_choose_method(mg, &method));
    CMGI_TRY(find_interval(mg));
    if (method == CMG_KRYLOV_CG && mg->interval.low > 0) {
        method = CMG_KRYLOV_SEMI;
    } else if (method != CMG_KRYLOV_SEMI && !mg->options.fmg) {
        cmgi_cycle_destroy(&mg->nested);
    }
    CMGI_CHECK(mg->ctx, method != CMG_KRYLOV_SEMI || mg->interval.low > 0, CMG_ERR_UNSUPPORTED,
               "krylov=semi: A and the cycle have to be symmetric and positive definite, take auto "
               "or %s",
               mg->symmetry.matrix ? "fcg" : "fgmres");
    CMGI_TRY(create_krylov(mg, method));
    cmgi_setup_lap(&mg->levels, CMG_SETUP_CYCLE, &begin);
    ++mg->builds;
    mg->borrowed = is_renewed(mg);
    mg->ready = true;
    return CMG_OK;
}

cmg_status cmgi_multigrid_columns(cmgi_multigrid *mg, int columns, cmgi_multigrid *several)
{
    const cmg_krylov own = mg->krylov->options.method;
    const cmg_krylov method =
        own == CMG_KRYLOV_CG || own == CMG_KRYLOV_SEMI ? own : CMG_KRYLOV_NONE;
    const cmgi_iteration_options iteration = iteration_of(mg, method);
    if (several->columns != columns || several->builds != mg->builds) {
        cmgi_multigrid_clear_columns(several);
    }
    const cmgi_multigrid before = *several;
    *several = *mg;
    several->columns = columns;
    several->nested = before.nested;
    several->cycle = before.cycle;
    several->krylov = before.krylov;
    CMGI_TRY(several->cycle != NULL ? CMG_OK
                                    : cmgi_setup_cycle(mg, columns, false, &several->cycle));
    CMGI_TRY(several->nested != NULL || method != CMG_KRYLOV_SEMI
                 ? CMG_OK
                 : cmgi_setup_cycle(mg, columns, true, &several->nested));
    CMGI_TRY(cmgi_columns_reserve(mg->levels.A, columns)); /* nothing is allocated in a recording */
    CMGI_TRY(cmgi_columns_reserve(cmgi_levels_rows(&mg->levels), columns));
    CMGI_TRY(several->krylov != NULL ? CMG_OK : create_krylov(several, method));
    return cmgi_krylov_limit(several->krylov, &iteration);
}

static void drop_cycles(cmgi_multigrid *mg)
{
    cmgi_cycle_destroy(&mg->cycle);
    cmgi_cycle_destroy(&mg->nested);
}

void cmgi_multigrid_clear_columns(cmgi_multigrid *several)
{
    cmgi_krylov_destroy(&several->krylov);
    drop_cycles(several);
    *several = (cmgi_multigrid){0};
}

/* Formats that update themselves may do so in other places. */
static bool may_move(const cmg_matrix *A)
{
    return A != NULL && A->format->update != NULL;
}

/* *kept: the cycles, whose dampings are as they were. */
static cmg_status take_values(cmgi_multigrid *mg, bool *kept)
{
    const bool factored = mg->envelope != NULL;
    double begin = cmgi_seconds();
    *kept = mg->cycle != NULL;
    CMGI_TRY(cmgi_completion_update(mg->h, &mg->completion));
    CMGI_TRY(cmgi_multigrid_factor_again(mg));
    cmgi_setup_lap(&mg->levels, CMG_SETUP_COMPLETE, &begin);
    *kept = *kept && factored == (mg->envelope != NULL);
    CMGI_TRY(cmgi_setup_levels(mg));
    for (int l = 0; l < mg->levels.count; ++l) {
        const cmgi_level *level = &mg->levels.level[l];
        *kept = *kept && !level->smoother.changed && !level->halves_changed && !level->remade;
    }
    if (*kept) {
        return CMG_OK;
    }
    drop_cycles(mg);
    return cmgi_setup_cycles(mg, wants_semi(mg));
}

cmg_status cmgi_multigrid_refresh(cmgi_multigrid *mg)
{
    bool kept = false;
    ++mg->builds;
    if (mg->krylov == NULL) { /* what was built has failed half-way */
        cmgi_multigrid_clear(mg);
        CMGI_TRY(cmgi_multigrid_complete(mg, (cmgi_meanwhile){0}));
        return cmgi_multigrid_build(mg);
    }
    const cmg_status status = take_values(mg, &kept);
    mg->outdated = mg->options.reuse != CMG_REUSE_NONE || is_renewed(mg);
    if (status != CMG_OK) { /* the cycle refers to matrices that were replaced */
        drop_cycles(mg);
    }
    bool stays = /* what was recorded goes on with new values in the same places */
        status == CMG_OK && kept && mg->levels.nullspace.count == 0 && !may_move(mg->levels.A);
    for (int l = 0; stays && l < mg->levels.count; ++l) {
        const cmgi_level *level = &mg->levels.level[l];
        stays = !may_move(level->A) && !may_move(level->P) && !may_move(level->R);
    }
    if (!stays) {
        cmgi_krylov_drop_graphs(mg->krylov);
        cmgi_cycle_drop_graph(mg->cycle);
    }
    const cmg_krylov now = mg->krylov->options.method;
    if (status == CMG_OK && wants_semi(mg) && (now == CMG_KRYLOV_SEMI || now == CMG_KRYLOV_CG)) {
        CMGI_TRY(find_interval(mg)); /* of the new values; CG where there is none */
        const cmg_krylov method = mg->interval.low > 0 ? CMG_KRYLOV_SEMI : CMG_KRYLOV_CG;
        mg->krylov->options.low = mg->interval.low;
        mg->krylov->options.high = mg->interval.high;
        CMGI_TRY(method != now ? cmgi_multigrid_take_method(mg, method) : CMG_OK);
    }
    mg->ready = status == CMG_OK;
    mg->unseen = true;
    return status;
}

void cmgi_multigrid_clear(cmgi_multigrid *mg)
{
    cmgi_levels *levels = &mg->levels;
    cmgi_krylov_destroy(&mg->krylov);
    drop_cycles(mg);
    cmgi_projection_clear(mg->ctx, &levels->nullspace);
    cmg_matrix_destroy(&levels->boundary);
    cmg_matrix_destroy(&levels->coarse);
    cmg_matrix_destroy(&levels->kept);
    cmg_matrix_destroy(&levels->rows);
    if (levels->room > 0 && levels->A != levels->level[0].A) {
        cmg_matrix_destroy(&levels->A);
    }
    for (int l = 0; l < levels->room; ++l) {
        cmgi_level_clear(mg->ctx, &levels->level[l]);
    }
    cmgi_free(mg->ctx, levels->level);
    *levels = (cmgi_levels){0};
    mg->outdated = mg->borrowed = mg->ready = false;
}

bool cmgi_multigrid_nests_before(const cmgi_multigrid *mg)
{
    return mg->options.fmg && mg->nested != NULL && mg->krylov->options.method != CMG_KRYLOV_SEMI;
}

bool cmgi_multigrid_solves_boundary(const cmgi_multigrid *mg)
{
    return mg->levels.boundary != NULL && mg->krylov->options.method != CMG_KRYLOV_NONE;
}

/* What comes before the iteration: Dirichlet rows solved exactly for CG, nested iteration, unless
 * that has overflowed. */
static cmg_status improve_guess(cmgi_multigrid *mg, const double *b, double *x)
{
    cmg_context *ctx = mg->ctx;
    cmgi_krylov *k = mg->krylov;
    double *r = k->work[0];
    double *z = k->work[1];
    double norm = 0;
    if (cmgi_multigrid_solves_boundary(mg)) {
        CMGI_TRY(residual(mg, b, x, r));
        const cmgi_writeback w = {
            .kind = CMGI_WB_AXPBY, .alpha = 1, .beta = 1, .c = x, .y = x, .columns = mg->columns};
        CMGI_TRY(cmgi_matrix_spmv(mg->levels.boundary, &w, r));
    }
    if (cmgi_multigrid_nests_before(mg)) {
        CMGI_TRY(residual(mg, b, x, r));
        CMGI_TRY(cmgi_krylov_convert(k, cmgi_cycle_run, mg->nested, r, z));
        CMGI_TRY(cmgi_krylov_norm(k, z, &norm));
        if (isfinite(norm)) {
            CMGI_TRY(ctx->backend->axpby(ctx, CMG_FP64, k->system.n, 1.0, z, 1.0, x));
        }
    }
    return CMG_OK;
}

static cmg_status solve(void *user, const double *b, double *x)
{
    cmgi_multigrid *mg = user;
    cmgi_krylov *k = mg->krylov;
    bool in_range[CMG_COLUMNS];
    double norm[CMG_COLUMNS];
    bool far = false;
    if (!cmgi_multigrid_nests_before(mg) && !cmgi_multigrid_solves_boundary(mg)) {
        return cmgi_krylov_iterate(k, b, x);
    }
    CMGI_TRY(cmgi_krylov_take_zero(k, x)); /* it is improved */
    /* An exact guess, or b = 0, must come back as it is: look before anything is improved. */
    CMGI_TRY(cmgi_krylov_look(k, b, in_range));
    CMGI_TRY(residual(mg, b, x, k->work[0]));
    CMGI_TRY(cmgi_krylov_norm(k, k->work[0], norm));
    for (int c = 0; c < mg->columns; ++c) {
        far = far || (in_range[c] && norm[c] > cmgi_krylov_tolerance(k, c));
    }
    CMGI_TRY(far ? improve_guess(mg, b, x) : CMG_OK);
    return cmgi_krylov_iterate(k, b, x);
}

cmg_status cmgi_multigrid_solve(cmgi_multigrid *mg, const double *b, double *x)
{
    return cmgi_krylov_scaled(mg->krylov, solve, mg, b, x);
}
