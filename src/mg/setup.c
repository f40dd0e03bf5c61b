/*
 * Set-up of a solver as a list of steps: level matrices, transfers, smoothers, then the coarse end
 * (coarse_end.c). A refresh walks the same list: what is built takes over new values on the same
 * pattern.
 */
#include "mg/multigrid.h"
#include "spmv/columns.h"

#include <math.h>

enum { HELPFUL_ROWS = 4000 }; /* at least, of a level whose bounds help */

static cmgi_level_options level_options(const cmgi_multigrid *mg)
{
    cmgi_level_options options = {.solver = &mg->options,
                                  .matrix = mg->options.matrix,
                                  .schedule = &mg->schedule,
                                  .divided = mg->divided,
                                  .smoother = mg->dominated ? "jacobi" : mg->options.smoother};
    options.matrix.precision = mg->options.precision;
    return options;
}

/*
 * Whether levels l and l + 1 look like one stencil on two grids: one diagonal on each, the same
 * largest row sum of |D^-1 A|, which all stencils without positive couplings share, and the same
 * largest entry of it. Then D^-1 A has the same symbol on both, whose largest value the largest
 * eigenvalues approach from below with the square of the mesh width (Trottenberg, Oosterlee and
 * Schueller, Multigrid, 2001, section 4.3).
 */
static bool is_uniform(const cmg_hierarchy *h, int l)
{
    const double rounding = 1e-6;
    const double same = 1e-3;
    const cmgi_row_facts *of[2];
    for (int k = 0; k < 2; ++k) {
        of[k] = cmgi_hierarchy_row_facts(h, l + k);
        if (of[k] == NULL || !(of[k]->least > 0) || of[k]->identity > 0 ||
            of[k]->most > (1 + rounding) * of[k]->least) {
            return false;
        }
    }
    return fabs(of[0]->gershgorin - of[1]->gershgorin) <= same * of[1]->gershgorin &&
           fabs(of[0]->coupling - of[1]->coupling) <= same * of[1]->coupling;
}

/* `by`: the neighbouring level whose bounds serve this one, too, if both are one stencil;
 * CMGI_NONE: none. */
static cmg_status build_smoother(cmgi_multigrid *mg, int l, int by)
{
    cmgi_level_options options = level_options(mg);
    if (by != CMGI_NONE && !mg->apart &&
        is_uniform(cmgi_multigrid_hierarchy(mg), l < by ? l : by)) {
        options.like = mg->levels.level[by].smoother.kept;
    }
    cmgi_threads_adapt(mg->ctx);
    mg->ctx->level = l + 1;
    const cmg_status status =
        cmgi_level_smoother(cmgi_multigrid_hierarchy(mg), l, &options, &mg->levels.level[l]);
    mg->ctx->level = 0;
    return status;
}

static bool is_large(const cmgi_multigrid *mg, int l)
{
    return mg->levels.level[l].rows >= HELPFUL_ROWS;
}

/*
 * Smoothers of levels first .. last: those that ranks divide, then the others, beginning with the
 * coarsest one that is not so small that its sides show, which lower the largest eigenvalue. The
 * finer ones take its bounds over if they are the same stencil, and so do the coarser ones, of
 * which they are bounds all the same. On a distorted mesh the largest eigenvalue grows from level
 * to level (128^3, distorted by 0.2: 1.54, 1.73, 1.88), which the first steps of Lanczos do not
 * see.
 */
static cmg_status build_smoothers(cmgi_multigrid *mg, int first, int last)
{
    int whole = first;
    while (whole <= last && cmgi_is_divided(mg->divided, whole)) {
        CMGI_TRY(build_smoother(mg, whole++, CMGI_NONE));
    }
    int sure = last;
    while (sure > whole && !is_large(mg, sure)) {
        --sure;
    }
    for (int l = sure; l >= whole; --l) {
        CMGI_TRY(build_smoother(mg, l, l < sure ? l + 1 : CMGI_NONE));
    }
    for (int l = sure + 1; l <= last; ++l) {
        CMGI_TRY(build_smoother(mg, l, is_large(mg, sure) ? l - 1 : CMGI_NONE));
    }
    return CMG_OK;
}

/*
 * The finest matrix in fp64 for the outer iteration, where the cycle has fewer bits. It comes
 * before the levels, as its numbering is that of level 0; but of a matrix that is used on the
 * device, which keeps its numbering, after that of level 0, beside which it may be stored in less.
 */
static cmg_status build_outer(cmgi_multigrid *mg, const cmg_matrix_options *level0, cmgi_twin *twin)
{
    cmg_hierarchy *h = cmgi_multigrid_hierarchy(mg);
    cmg_csr A;
    if (mg->options.precision == CMG_FP64) {
        return CMG_OK;
    }
    cmg_matrix_options options = *level0;
    options.precision = CMG_FP64;
    options.values = CMG_VALUES_FULL;
    if (mg->divided != NULL) {
        return cmgi_divided_by(mg->ctx)->matrix(mg->divided, 0, CMG_ROLE_A, CMGI_USE_A, &options,
                                                &mg->levels.A);
    }
    bool taken = false;
    CMGI_TRY(cmgi_level_elements(h, 0, &options, &taken, &mg->levels.A));
    if (taken) {
        return CMG_OK;
    }
    cmgi_level *level = &mg->levels.level[0];
    cmgi_request ask = {.options = options, .use = CMGI_USE_ANY};
    const cmgi_resident *there = cmgi_hierarchy_there(h, 0, CMG_ROLE_A);
    const cmgi_kinds *kinds = there != NULL ? cmgi_level_repeats(there, &options)
                                            : cmgi_hierarchy_kinds(h, 0, CMG_ROLE_A);
    if (kinds != NULL) { /* level 0 is made of the same after this */
        uint64_t version = level->version_A;
        return cmgi_level_place_kinds(mg->ctx, kinds, &ask, level, &version, &mg->levels.A);
    }
    if (there != NULL) {
        ask.like = level->A;
        ask.twin = twin;
        return cmgi_level_place_there(mg->ctx, there, &ask, level, &mg->levels.A);
    }
    CMGI_TRY(cmg_hierarchy_get_csr(h, 0, CMG_ROLE_A, NULL, 0, &A));
    if (mg->levels.A != NULL) {
        return cmg_matrix_update(mg->levels.A, A.values);
    }
    const cmgi_row_looks *looks = cmgi_hierarchy_looks(h, 0);
    const bool whole =
        mg->options.matrix.values == CMG_VALUES_FULL && !mg->schedule.given[0][CMG_ROLE_A];
    const cmgi_matrix_source from = {.csr = &A,
                                     .like = level->A,
                                     .same = looks != NULL ? looks->same : NULL,
                                     .beside = whole && !cmgi_on_cuda(mg->ctx)};
    return cmgi_matrix_create(mg->ctx, &from, CMGI_USE_ANY, &options, &mg->levels.A);
}

/* A of the outer iteration and of level 0; fewer bits than fp32 come of those of the outer one. */
static cmg_status build_finest(cmgi_multigrid *mg)
{
    cmg_hierarchy *h = cmgi_multigrid_hierarchy(mg);
    cmgi_level_options options = level_options(mg);
    const cmgi_resident *there = cmgi_hierarchy_there(h, 0, CMG_ROLE_A);
    bool fewer = false;
    CMGI_TRY(cmgi_level_settle(h, &options, &fewer));
    const bool after = !fewer && cmgi_level_is_there(h, &options) &&
                       cmgi_level_repeats(there, &options.matrix) == NULL;
    cmgi_twin twin = {0};
    CMGI_RELEASED(cmgi_twin_free, mg->ctx, &twin);
    CMGI_TRY(after ? CMG_OK : build_outer(mg, &options.matrix, NULL));
    const cmg_matrix *outer = mg->options.precision == CMG_FP64 ? NULL : mg->levels.A;
    CMGI_TRY(cmgi_progress(mg->ctx, "building levels", 0, cmgi_multigrid_levels(mg)));
    cmgi_threads_adapt(mg->ctx);
    options.twin = after && mg->options.precision == CMG_FP32 ? &twin : NULL;
    CMGI_TRY(cmgi_level_matrix(h, 0, &options, outer, &mg->levels.level[0]));
    if (!after) {
        cmgi_columns_release(mg->levels.A);
        cmgi_columns_release(mg->levels.level[0].A);
    }
    return after ? build_outer(mg, &options.matrix, options.twin) : CMG_OK;
}

static cmg_status make_room(cmgi_multigrid *mg, int levels)
{
    if (mg->levels.level == NULL) {
        CMGI_TRY(cmgi_alloc_zero(mg->ctx, levels, sizeof *mg->levels.level, &mg->levels.level));
        mg->levels.room = levels;
    }
    return CMG_OK;
}

cmg_status cmgi_setup_finest(cmgi_multigrid *mg)
{
    CMGI_TRY(make_room(mg, CMGI_MAX_LEVELS)); /* how many is not known yet */
    const cmg_status status = build_finest(mg);
    mg->levels.begun = status == CMG_OK;
    if (status != CMG_OK) {
        cmg_matrix_destroy(&mg->levels.A);
        cmgi_level_clear(mg->ctx, &mg->levels.level[0]);
    }
    return status;
}

/* A smoother that needs much memory and A alone is made before anything else is there. */
static cmg_status first_smoother(cmgi_multigrid *mg)
{
    cmgi_levels *levels = &mg->levels;
    const cmgi_level_options options = level_options(mg);
    levels->ahead =
        levels->A == NULL && cmgi_multigrid_levels(mg) > 1 &&
        cmgi_level_smoother_first(cmgi_multigrid_hierarchy(mg), &options, &levels->level[0]);
    return build_smoothers(mg, 0, levels->ahead ? 0 : -1);
}

static cmg_status finest(cmgi_multigrid *mg)
{
    cmgi_levels *levels = &mg->levels;
    const bool made = levels->begun; /* once: after a failure the finest is made again, too */
    levels->begun = false;
    CMGI_TRY(made ? CMG_OK : build_finest(mg));
    levels->A = mg->options.precision == CMG_FP64 ? levels->level[0].A : levels->A;
    levels->values = mg->h->values;
    return CMG_OK;
}

static cmg_status other_levels(cmgi_multigrid *mg)
{
    cmg_hierarchy *h = cmgi_multigrid_hierarchy(mg);
    const cmgi_level_options options = level_options(mg);
    for (int l = 1; l < cmgi_multigrid_levels(mg); ++l) {
        CMGI_TRY(cmgi_progress(mg->ctx, "building levels", l, cmgi_multigrid_levels(mg)));
        cmgi_threads_adapt(mg->ctx);
        CMGI_TRY(cmgi_level_matrix(h, l, &options, NULL, &mg->levels.level[l]));
        cmgi_columns_release(mg->levels.level[l].A);
    }
    return CMG_OK;
}

static cmg_status transfers(cmgi_multigrid *mg)
{
    cmg_hierarchy *h = cmgi_multigrid_hierarchy(mg);
    const cmgi_level_options options = level_options(mg);
    for (int l = 0; l + 1 < cmgi_multigrid_levels(mg); ++l) {
        cmgi_threads_adapt(mg->ctx);
        CMGI_TRY(
            cmgi_level_transfer(h, l, &options, &mg->levels.level[l], &mg->levels.level[l + 1]));
    }
    cmgi_note_dirichlet(mg);
    return CMG_OK;
}

/*
 * Sums over elements or cliques round otherwise than rows of A, whose entries are smaller, and
 * elements that are given are A to 1e-13 alone: residuals take the rows. Not on a device, where
 * such a format is chosen so that A need not be there.
 */
static cmg_status residual_rows(cmgi_multigrid *mg)
{
    cmg_csr A;
    if (!mg->levels.A->format->elements || mg->ctx->backend->alloc != NULL ||
        (mg->divided == NULL && mg->h->level[0].assembled)) {
        return CMG_OK;
    }
    cmg_matrix_options options = mg->options.matrix;
    options.format = CMG_FORMAT_CSR;
    options.precision = CMG_FP64;
    options.values = CMG_VALUES_FULL;
    if (mg->divided != NULL) {
        return cmgi_divided_by(mg->ctx)->matrix(mg->divided, 0, CMG_ROLE_A, CMGI_USE_ANY, &options,
                                                &mg->levels.rows);
    }
    CMGI_TRY(cmg_hierarchy_get_csr(cmgi_multigrid_hierarchy(mg), 0, CMG_ROLE_A, NULL, 0, &A));
    return mg->levels.rows != NULL ? cmg_matrix_update(mg->levels.rows, A.values)
                                   : cmgi_matrix_create(mg->ctx, &(cmgi_matrix_source){.csr = &A},
                                                        CMGI_USE_ANY, &options, &mg->levels.rows);
}

static cmg_status null_space(cmgi_multigrid *mg)
{
    cmgi_projection *P = &mg->levels.nullspace;
    if (!mg->options.nullspace) {
        return CMG_OK;
    }
    if (mg->divided == NULL) {
        CMGI_TRY(cmgi_projection_build(mg->h, mg->levels.level[0].perm, P));
    } else {
        cmgi_null_space space = {0};
        bool exact = false;
        CMGI_TRY(cmgi_divided_by(mg->ctx)->null_space(mg->divided, mg->h, &exact, &space));
        const cmg_status status =
            cmgi_projection_take(mg->ctx, &space, mg->levels.level[0].rows,
                                 cmg_hierarchy_rows(cmgi_multigrid_hierarchy(mg), 0), P);
        P->exact = P->count > 0 && exact;
        cmgi_null_space_free(mg->ctx, &space);
        CMGI_TRY(status);
    }
    if (P->count > 0) {
        cmgi_note(&mg->levels, "null space of %d vector%s: b and x are kept orthogonal to it",
                  P->count, P->count == 1 ? "" : "s");
    }
    return CMG_OK;
}

static cmg_status smoothers(cmgi_multigrid *mg)
{
    const cmgi_levels *levels = &mg->levels;
    const int last =
        cmgi_setup_inverse(mg) ? cmgi_multigrid_levels(mg) - 2 : cmgi_multigrid_levels(mg) - 1;
    const int first = levels->ahead && !levels->level[0].smoother.undamped ? 1 : 0;
    CMGI_TRY(build_smoothers(mg, first, last));
    return last >= 0 ? cmgi_note_smoother(mg, last) : CMG_OK;
}

/* Products of several matrices, above what is collapsed. */
static cmg_status fused_products(cmgi_multigrid *mg)
{
    cmg_hierarchy *h = cmgi_multigrid_hierarchy(mg);
    const cmgi_level_options options = level_options(mg);
    const int end = cmgi_setup_collapse_from(mg);
    for (int l = 0; l < end; ++l) {
        CMGI_TRY(cmgi_level_fuse(h, l, &options, &mg->levels.level[l], &mg->levels.level[l + 1]));
    }
    return CMG_OK;
}

/* Levels on which halves of the cycle are one step each. */
static cmg_status halves(cmgi_multigrid *mg)
{
    cmg_hierarchy *h = cmgi_multigrid_hierarchy(mg);
    const int end = mg->options.fuse ? cmgi_setup_collapse_from(mg) : 0;
    for (int l = 0; l < end; ++l) {
        cmgi_level *level = &mg->levels.level[l];
        CMGI_TRY(cmgi_is_divided(mg->divided, l)
                     ? cmgi_level_halves_divided(mg->ctx, mg->divided, l, level)
                     : cmgi_level_halves(mg->ctx, h, l, level));
    }
    return CMG_OK;
}

/* In this order; `part` is what its time is reported under. */
static const struct {
    const char *name;
    cmg_status (*run)(cmgi_multigrid *mg);
    cmg_setup_part part;
} steps[] = {
    {"first smoother", first_smoother, CMG_SETUP_SMOOTHER},
    {"finest matrix", finest, CMG_SETUP_CONVERT},
    {"level matrices", other_levels, CMG_SETUP_CONVERT},
    {"transfers", transfers, CMG_SETUP_CONVERT},
    {"rows for residuals", residual_rows, CMG_SETUP_CONVERT},
    {"Dirichlet rows", cmgi_setup_boundary, CMG_SETUP_CONVERT},
    {"null space", null_space, CMG_SETUP_CONVERT},
    {"smoothers", smoothers, CMG_SETUP_SMOOTHER},
    {"halves of the cycle", halves, CMG_SETUP_CYCLE},
    {"fused products", fused_products, CMG_SETUP_SMOOTHER},
    {"coarse solve", cmgi_setup_coarse, CMG_SETUP_COARSE},
    {"collapse", cmgi_setup_collapse, CMG_SETUP_COARSE},
};

cmg_status cmgi_setup_levels(cmgi_multigrid *mg)
{
    double begin = cmgi_seconds();
    mg->levels.notes = 0;
    mg->levels.symmetric_inverse = false;
    mg->levels.symmetric = false;
    CMGI_TRY(make_room(mg, cmgi_multigrid_levels(mg)));
    cmgi_note_ranks(mg);
    cmgi_note_numbering(mg);
    cmgi_note_completion(mg);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; ++i) {
        const double before = begin;
        const long long waits = mg->ctx->waits;
        CMGI_TRY(steps[i].run(mg));
        cmgi_setup_lap(&mg->levels, steps[i].part, &begin);
        cmgi_log(mg->ctx, CMG_LOG_DEBUG, "set-up: %s, %.3g ms, %lld waits", steps[i].name,
                 1e3 * (begin - before), mg->ctx->waits - waits);
    }
    return CMG_OK;
}

void cmgi_setup_lap(cmgi_levels *levels, cmg_setup_part part, double *begin)
{
    const double now = cmgi_seconds();
    levels->part[part] += now - *begin;
    *begin = now;
}

/*
 * Nested iteration as the first step of semi-iteration starts with a cycle from zero on level 2,
 * all of whose halves may be one step each: as many iterations in all as from the last level on (Q1
 * in 2D and 3D, distorted and not; from level 1 on one more).
 */
cmg_status cmgi_setup_cycle(const cmgi_multigrid *mg, int columns, bool nested, cmgi_cycle **cycle)
{
    cmgi_cycle_plan plan = cmgi_setup_plan(mg);
    plan.fmg = nested;
    plan.opening = mg->options.fmg ? 0 : 2;
    plan.columns = columns;
    return cmgi_cycle_create(mg->ctx, &plan, cycle);
}

cmg_status cmgi_setup_cycles(cmgi_multigrid *mg, bool semi)
{
    CMGI_TRY(cmgi_setup_cycle(mg, 1, false, &mg->cycle));
    return mg->options.fmg || semi ? cmgi_setup_cycle(mg, 1, true, &mg->nested) : CMG_OK;
}
