/*
 * Set-up of a solver as a list of steps: level matrices, transfers, smoothers, then the coarse end
 * (coarse_end.c). A refresh walks the same list: what is built takes over new values on the same
 * pattern.
 */
#include "mg/setup.h"

#include <math.h>

enum { HELPFUL_ROWS = 4000 }; /* at least, of a level whose bounds help */

static cmgi_level_options level_options(const cmgi_setup *s)
{
    cmgi_level_options options = {.matrix = s->options->matrix,
                                  .schedule = s->schedule,
                                  .divided = s->divided,
                                  .dirichlet = s->options->dirichlet,
                                  .smoother = s->dominated ? "jacobi" : s->options->smoother,
                                  .omega = s->options->omega,
                                  .reuse = s->options->reuse,
                                  .pre = s->options->pre,
                                  .fuse = s->options->fuse,
                                  .fuse_all = s->options->fuse && s->options->fuse_restriction};
    options.matrix.precision = s->options->precision;
    return options;
}

static int count(const cmgi_setup *s)
{
    return cmgi_setup_count(s->h, s->options);
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
static cmg_status build_smoother(const cmgi_setup *s, int l, int by)
{
    cmgi_level_options options = level_options(s);
    if (by != CMGI_NONE && !s->apart && is_uniform(s->h, l < by ? l : by)) {
        options.like = s->levels->level[by].smoother.kept;
    }
    cmgi_threads_adapt(s->ctx);
    s->ctx->level = l + 1;
    const cmg_status status = cmgi_level_smoother(s->h, s->ctx, l, &options, &s->levels->level[l]);
    s->ctx->level = 0;
    return status;
}

static bool is_large(const cmgi_setup *s, int l)
{
    return s->levels->level[l].rows >= HELPFUL_ROWS;
}

/*
 * Smoothers of levels first .. last: those that ranks divide, then the others, beginning with the
 * coarsest one that is not so small that its sides show, which lower the largest eigenvalue. The
 * finer ones take its bounds over if they are the same stencil, and so do the coarser ones, of
 * which they are bounds all the same. On a distorted mesh the largest eigenvalue grows from level
 * to level (128^3, distorted by 0.2: 1.54, 1.73, 1.88), which the first steps of Lanczos do not
 * see.
 */
static cmg_status build_smoothers(const cmgi_setup *s, int first, int last)
{
    int whole = first;
    while (whole <= last && cmgi_is_divided(s->divided, whole)) {
        CMGI_TRY(build_smoother(s, whole++, CMGI_NONE));
    }
    int sure = last;
    while (sure > whole && !is_large(s, sure)) {
        --sure;
    }
    for (int l = sure; l >= whole; --l) {
        CMGI_TRY(build_smoother(s, l, l < sure ? l + 1 : CMGI_NONE));
    }
    for (int l = sure + 1; l <= last; ++l) {
        CMGI_TRY(build_smoother(s, l, is_large(s, sure) ? l - 1 : CMGI_NONE));
    }
    return CMG_OK;
}

/*
 * The finest matrix in fp64 for the outer iteration, where the cycle has fewer bits. It comes
 * before the levels, as its numbering is that of level 0; but of a matrix that is used on the
 * device, which keeps its numbering, after that of level 0, beside which it may be stored in less.
 */
static cmg_status build_outer(const cmgi_setup *s, const cmg_matrix_options *level0,
                              cmgi_twin *twin)
{
    cmg_csr A;
    if (s->options->precision == CMG_FP64) {
        return CMG_OK;
    }
    cmg_matrix_options options = *level0;
    options.precision = CMG_FP64;
    options.values = CMG_VALUES_FULL;
    if (s->divided != NULL) {
        return cmgi_divided_by(s->ctx)->matrix(s->divided, 0, CMG_ROLE_A, CMGI_USE_A, &options,
                                               &s->levels->A);
    }
    bool taken = false;
    CMGI_TRY(cmgi_level_elements(s->h, s->ctx, 0, &options, &taken, &s->levels->A));
    if (taken) {
        return CMG_OK;
    }
    cmgi_level *level = &s->levels->level[0];
    const cmgi_request ask = {.options = options, .use = CMGI_USE_ANY};
    const cmgi_resident *there = cmgi_hierarchy_there(s->h, 0, CMG_ROLE_A);
    const cmgi_kinds *kinds = there != NULL ? cmgi_level_repeats(there, &options)
                                            : cmgi_hierarchy_kinds(s->h, 0, CMG_ROLE_A);
    if (kinds != NULL) { /* level 0 is made of the same after this */
        uint64_t version = level->version_A;
        return cmgi_level_place_kinds(s->ctx, kinds, &ask, level, &version, &s->levels->A);
    }
    if (there == NULL) {
        CMGI_TRY(cmg_hierarchy_get_csr(s->h, 0, CMG_ROLE_A, NULL, 0, &A));
    }
    if (there == NULL && s->levels->A != NULL) {
        return cmg_matrix_update(s->levels->A, A.values);
    }
    const cmgi_row_looks *looks = cmgi_hierarchy_looks(s->h, 0);
    const bool whole =
        s->options->matrix.values == CMG_VALUES_FULL && !s->schedule->given[0][CMG_ROLE_A];
    const cmgi_matrix_source from = {.csr = there != NULL ? NULL : &A,
                                     .there = there,
                                     .like = s->levels->level[0].A,
                                     .twin = twin,
                                     .same = looks != NULL ? looks->same : NULL,
                                     .beside = whole && there == NULL && !cmgi_on_cuda(s->ctx)};
    return there != NULL ? cmgi_level_place_there(s->ctx, &from, &ask, level, &s->levels->A)
                         : cmgi_matrix_create(s->ctx, &from, CMGI_USE_ANY, &options, &s->levels->A);
}

/* A of the outer iteration and of level 0; fewer bits than fp32 come of those of the outer one. */
static cmg_status build_finest(const cmgi_setup *s)
{
    cmgi_level_options options = level_options(s);
    const cmgi_resident *there = cmgi_hierarchy_there(s->h, 0, CMG_ROLE_A);
    bool fewer = false;
    CMGI_TRY(cmgi_level_settle(s->h, s->ctx, &options, &fewer));
    const bool after = !fewer && cmgi_level_is_there(s->h, &options) &&
                       cmgi_level_repeats(there, &options.matrix) == NULL;
    cmgi_twin twin = {0};
    CMGI_RELEASED(cmgi_twin_free, s->ctx, &twin);
    CMGI_TRY(after ? CMG_OK : build_outer(s, &options.matrix, NULL));
    const cmg_matrix *outer = s->options->precision == CMG_FP64 ? NULL : s->levels->A;
    CMGI_TRY(cmgi_progress(s->ctx, "building levels", 0, count(s)));
    cmgi_threads_adapt(s->ctx);
    options.twin = after && s->options->precision == CMG_FP32 ? &twin : NULL;
    CMGI_TRY(cmgi_level_matrix(s->h, s->ctx, 0, &options, outer, &s->levels->level[0]));
    if (after) {
        CMGI_TRY(build_outer(s, &options.matrix, options.twin));
    }
    return CMG_OK;
}

cmg_status cmgi_setup_finest(const cmgi_setup *s)
{
    const cmg_status status = build_finest(s);
    s->levels->begun = status == CMG_OK;
    if (status != CMG_OK) {
        cmg_matrix_destroy(&s->levels->A);
        cmgi_level_clear(s->ctx, &s->levels->level[0]);
    }
    return status;
}

/* A smoother that needs much memory and A alone is made before anything else is there. */
static cmg_status first_smoother(const cmgi_setup *s)
{
    cmgi_levels *levels = s->levels;
    const cmgi_level_options options = level_options(s);
    levels->ahead = levels->A == NULL && count(s) > 1 &&
                    cmgi_level_smoother_first(s->h, s->ctx, &options, &levels->level[0]);
    return build_smoothers(s, 0, levels->ahead ? 0 : -1);
}

static cmg_status finest(const cmgi_setup *s)
{
    cmgi_levels *levels = s->levels;
    const bool made = levels->begun; /* once: after a failure the finest is made again, too */
    levels->begun = false;
    CMGI_TRY(made ? CMG_OK : build_finest(s));
    levels->A = s->options->precision == CMG_FP64 ? levels->level[0].A : levels->A;
    levels->values = s->given->values;
    return CMG_OK;
}

static cmg_status other_levels(const cmgi_setup *s)
{
    const cmgi_level_options options = level_options(s);
    for (int l = 1; l < count(s); ++l) {
        CMGI_TRY(cmgi_progress(s->ctx, "building levels", l, count(s)));
        cmgi_threads_adapt(s->ctx);
        CMGI_TRY(cmgi_level_matrix(s->h, s->ctx, l, &options, NULL, &s->levels->level[l]));
    }
    return CMG_OK;
}

static cmg_status transfers(const cmgi_setup *s)
{
    const cmgi_level_options options = level_options(s);
    for (int l = 0; l + 1 < count(s); ++l) {
        cmgi_threads_adapt(s->ctx);
        CMGI_TRY(cmgi_level_transfer(s->h, s->ctx, l, &options, &s->levels->level[l],
                                     &s->levels->level[l + 1]));
    }
    cmgi_note_dirichlet(s);
    return CMG_OK;
}

/*
 * Sums over elements or cliques round otherwise than rows of A, whose entries are smaller, and
 * elements that are given are A to 1e-13 alone: residuals take the rows. Not on a device, where
 * such a format is chosen so that A need not be there.
 */
static cmg_status residual_rows(const cmgi_setup *s)
{
    cmg_csr A;
    if (!s->levels->A->format->elements || s->ctx->backend->alloc != NULL ||
        (s->divided == NULL && s->given->level[0].assembled)) {
        return CMG_OK;
    }
    cmg_matrix_options options = s->options->matrix;
    options.format = CMG_FORMAT_CSR;
    options.precision = CMG_FP64;
    options.values = CMG_VALUES_FULL;
    if (s->divided != NULL) {
        return cmgi_divided_by(s->ctx)->matrix(s->divided, 0, CMG_ROLE_A, CMGI_USE_ANY, &options,
                                               &s->levels->rows);
    }
    CMGI_TRY(cmg_hierarchy_get_csr(s->h, 0, CMG_ROLE_A, NULL, 0, &A));
    return s->levels->rows != NULL ? cmg_matrix_update(s->levels->rows, A.values)
                                   : cmgi_matrix_create(s->ctx, &(cmgi_matrix_source){.csr = &A},
                                                        CMGI_USE_ANY, &options, &s->levels->rows);
}

static cmg_status null_space(const cmgi_setup *s)
{
    cmgi_projection *P = &s->levels->nullspace;
    if (!s->options->nullspace) {
        return CMG_OK;
    }
    if (s->divided == NULL) {
        CMGI_TRY(cmgi_projection_build(s->given, s->levels->level[0].perm, P));
    } else {
        cmgi_null_space space = {0};
        bool exact = false;
        CMGI_TRY(cmgi_divided_by(s->ctx)->null_space(s->divided, s->given, &exact, &space));
        const cmg_status status = cmgi_projection_take(s->ctx, &space, s->levels->level[0].rows,
                                                       cmg_hierarchy_rows(s->h, 0), P);
        P->exact = P->count > 0 && exact;
        cmgi_null_space_free(s->ctx, &space);
        CMGI_TRY(status);
    }
    if (P->count > 0) {
        cmgi_note(s->levels, "null space of %d vector%s: b and x are kept orthogonal to it",
                  P->count, P->count == 1 ? "" : "s");
    }
    return CMG_OK;
}

static cmg_status smoothers(const cmgi_setup *s)
{
    const cmgi_levels *levels = s->levels;
    const int last = cmgi_setup_inverse(s) ? count(s) - 2 : count(s) - 1;
    const int first = levels->ahead && !levels->level[0].smoother.undamped ? 1 : 0;
    CMGI_TRY(build_smoothers(s, first, last));
    return last >= 0 ? cmgi_note_smoother(s, last) : CMG_OK;
}

/* Products of several matrices, above what is collapsed. */
static cmg_status fused_products(const cmgi_setup *s)
{
    const cmgi_level_options options = level_options(s);
    const int end = cmgi_setup_collapse_from(s);
    for (int l = 0; l < end; ++l) {
        CMGI_TRY(cmgi_level_fuse(s->h, s->ctx, l, &options, &s->levels->level[l],
                                 &s->levels->level[l + 1]));
    }
    return CMG_OK;
}

/* Levels on which halves of the cycle are one step each. */
static cmg_status halves(const cmgi_setup *s)
{
    const int end = s->options->fuse ? cmgi_setup_collapse_from(s) : 0;
    for (int l = 0; l < end; ++l) {
        cmgi_level *level = &s->levels->level[l];
        CMGI_TRY(cmgi_is_divided(s->divided, l)
                     ? cmgi_level_halves_divided(s->ctx, s->divided, l, level)
                     : cmgi_level_halves(s->ctx, s->h, l, level));
    }
    return CMG_OK;
}

/* In this order; `part` is what its time is reported under. */
static const struct {
    const char *name;
    cmg_status (*run)(const cmgi_setup *s);
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

cmg_status cmgi_setup_levels(const cmgi_setup *s)
{
    double begin = cmgi_seconds();
    s->levels->notes = 0;
    s->levels->symmetric_inverse = false;
    s->levels->symmetric = false;
    cmgi_note_ranks(s);
    cmgi_note_numbering(s);
    cmgi_note_completion(s);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; ++i) {
        const double before = begin;
        const long long waits = s->ctx->waits;
        CMGI_TRY(steps[i].run(s));
        cmgi_setup_lap(s->levels, steps[i].part, &begin);
        cmgi_log(s->ctx, CMG_LOG_DEBUG, "set-up: %s, %.3g ms, %lld waits", steps[i].name,
                 1e3 * (begin - before), s->ctx->waits - waits);
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
static int opening(const cmgi_setup *s)
{
    return s->options->fmg ? 0 : 2;
}

cmg_status cmgi_setup_cycles(const cmgi_setup *s, cmgi_cycle **cycle, cmgi_cycle **nested)
{
    cmgi_cycle_plan plan = cmgi_setup_plan(s);
    CMGI_TRY(cmgi_cycle_create(s->ctx, &plan, cycle));
    if (s->options->fmg || s->semi) {
        plan.fmg = true;
        plan.opening = opening(s);
        CMGI_TRY(cmgi_cycle_create(s->ctx, &plan, nested));
    }
    return CMG_OK;
}

cmg_status cmgi_setup_columns(const cmgi_setup *s, int columns, bool fmg, cmgi_cycle **cycle)
{
    cmgi_cycle_plan plan = cmgi_setup_plan(s);
    plan.fmg = fmg;
    plan.opening = opening(s);
    plan.columns = columns;
    return cmgi_cycle_create(s->ctx, &plan, cycle);
}
