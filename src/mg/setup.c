/*
 * Set-up of a solver: level matrices, transfers, smoothers, then the coarse end, which is a dense
 * inverse, the factors of A, smoothing, or all levels under a size collapsed into the matrix of
 * their cycle.
 */
#include "mg/setup.h"

#include "mg/symmetry.h"

#include "core/group.h"
#include "core/timer.h"

#include <stdarg.h>
#include <stdio.h>

static void note(cmgi_levels *levels, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void note(cmgi_levels *levels, const char *format, ...)
{
    if (levels->notes == CMGI_MAX_NOTES) {
        return;
    }
    va_list args;
    va_start(args, format);
    (void)vsnprintf(levels->note[levels->notes++], CMGI_NOTE, format, args);
    va_end(args);
}

static cmgi_level_options level_options(const cmgi_setup *s)
{
    cmgi_level_options options = {.matrix = s->options->matrix,
                                  .outer = s->options->precision == CMG_FP64 ? NULL : s->levels->A,
                                  .schedule = s->schedule,
                                  .parts = s->parts,
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

static cmg_status build_levels(const cmgi_setup *s, int total)
{
    const cmgi_level_options options = level_options(s);
    for (int l = 1; l < total; ++l) {
        CMGI_TRY(cmgi_progress(s->ctx, "building levels", l, total));
        cmgi_threads_adapt(s->ctx);
        CMGI_TRY(cmgi_level_matrix(s->h, s->ctx, l, &options, &s->levels->level[l]));
    }
    for (int l = 0; l + 1 < total; ++l) {
        cmgi_threads_adapt(s->ctx);
        CMGI_TRY(cmgi_level_transfer(s->h, s->ctx, l, &options, &s->levels->level[l],
                                     &s->levels->level[l + 1]));
    }
    return CMG_OK;
}

/* What the smoother of the finest level came out as: its size, and dampings that were estimated. */
static cmg_status note_smoother(const cmgi_setup *s)
{
    const cmgi_smoother *smoother = &s->levels->level[0].smoother;
    const char *chosen = s->dominated ? "jacobi" : smoother->chosen;
    char dampings[CMGI_NOTE / 2] = "";
    size_t used = 0;
    double nnz[2] = {0, (double)s->levels->level[0].A->nnz}; /* of M and A */
    for (int f = 0; f < smoother->factors; ++f) {
        nnz[0] += (double)smoother->factor[f]->nnz;
    }
    CMGI_TRY(cmgi_all_sum(s->ctx, nnz, 2));
    for (int j = 0; j < smoother->stages && used < sizeof dampings; ++j) {
        const int n =
            snprintf(dampings + used, sizeof dampings - used, " %.4g", smoother->omega[j]);
        used += n > 0 ? (size_t)n : 0;
    }
    note(s->levels, "smoother %s%s%s: %d factor%s, %.2f times the entries of A, damping%s%s",
         s->options->smoother, chosen[0] != '\0' ? ", " : "", chosen, smoother->factors,
         smoother->factors == 1 ? "" : "s", nnz[0] / nnz[1], smoother->stages == 1 ? "" : "s",
         dampings);
    return CMG_OK;
}

/* Smoothers of levels first .. last. */
static cmg_status build_smoothers(const cmgi_setup *s, int first, int last)
{
    const cmgi_level_options options = level_options(s);
    for (int l = first; l <= last; ++l) {
        cmgi_threads_adapt(s->ctx);
        CMGI_TRY(cmgi_level_smoother(s->h, s->ctx, l, &options, &s->levels->level[l]));
    }
    return CMG_OK;
}

/* Products of several matrices for levels 0 .. last. */
static cmg_status build_fused(const cmgi_setup *s, int last)
{
    const cmgi_level_options options = level_options(s);
    for (int l = 0; l <= last; ++l) {
        CMGI_TRY(cmgi_level_fuse(s->h, s->ctx, l, &options, &s->levels->level[l],
                                 &s->levels->level[l + 1]));
    }
    return CMG_OK;
}

/*
 * The finest matrix in fp64 for the outer iteration, where the cycle has fewer bits. It comes
 * before the levels, as its numbering is that of level 0; but of a matrix that is used on the
 * device, which keeps its numbering, after that of level 0, beside which it may be stored in less.
 */
static cmg_status build_outer(const cmgi_setup *s)
{
    cmg_csr A;
    if (s->options->precision == CMG_FP64) {
        return CMG_OK;
    }
    cmg_matrix_options options = s->options->matrix;
    options.precision = CMG_FP64;
    options.values = CMG_VALUES_FULL;
    if (s->parts != NULL) {
        return cmgi_parts_matrix(s->parts, 0, CMG_ROLE_A, CMGI_USE_A, &options, &s->levels->A);
    }
    bool taken = false;
    CMGI_TRY(cmgi_level_elements(s->h, s->ctx, 0, &options, &taken, &s->levels->A));
    if (taken) {
        return CMG_OK;
    }
    const cmgi_resident *there = cmgi_hierarchy_there(s->h, 0, CMG_ROLE_A);
    if (there == NULL) {
        CMGI_TRY(cmg_hierarchy_get_csr(s->h, 0, CMG_ROLE_A, NULL, 0, &A));
    }
    if (s->levels->A != NULL) {
        return cmg_matrix_update(s->levels->A, there != NULL ? there->csr.values : A.values);
    }
    return there != NULL
               ? cmgi_matrix_create_beside(s->ctx, there, CMGI_USE_ANY, s->levels->level[0].A,
                                           &options, &s->levels->A)
               : cmgi_matrix_create_checked(s->ctx, &A, CMGI_USE_ANY, &options, &s->levels->A);
}

/* Storage of the dense operator of a level: fewer bits only where the schedule says so. */
static cmg_matrix_options coarse_options(const cmgi_setup *s, int l)
{
    cmg_matrix_options options = s->options->matrix;
    const bool given = s->schedule->given[l][CMG_ROLE_INVERSE];
    options.precision = s->options->precision;
    options.values = given ? s->schedule->values[l][CMG_ROLE_INVERSE] : CMG_VALUES_FULL;
    return options;
}

/* Dense inverse of the last level, from the hierarchy or computed. */
static cmg_status build_inverse(const cmgi_setup *s, int last)
{
    cmg_context *ctx = s->ctx;
    const cmg_size n = s->levels->level[last].rows;
    cmg_csr csr;
    double *X = NULL;
    cmg_status status = CMG_OK;
    const cmg_matrix_options options = coarse_options(s, last);
    if (last == cmg_hierarchy_levels(s->h) - 1 &&
        cmgi_hierarchy_view(s->h, last, CMG_ROLE_INVERSE, NULL, 0, &csr)) {
        CMGI_TRY_GOTO(done, cmgi_alloc_zero(ctx, n * n, sizeof *X, &X));
        for (cmg_size i = 0; i < n; ++i) {
            for (cmg_size k = csr.indptr[i]; k < csr.indptr[i + 1]; ++k) {
                X[i * n + csr.indices[k]] = csr.values[k];
            }
        }
        CMGI_TRY_GOTO(done, cmgi_dense_matrix(ctx, n, X, s->levels->level[last].perm, &options,
                                              &s->levels->coarse));
        note(s->levels, "coarse solve: inverse of %lld rows from the hierarchy", (long long)n);
    } else {
        static const char *const how[] = {"dense inverse", "dense inverse by LU",
                                          "pseudo-inverse of a singular matrix"};
        cmgi_inverse_kind kind = CMGI_INVERSE_CHOLESKY;
        CMGI_TRY_GOTO(done, cmgi_coarse_inverse(s->h, last, s->levels->level[last].perm, &options,
                                                &s->levels->coarse, &kind));
        s->levels->symmetric_inverse = kind != CMGI_INVERSE_LU;
        note(s->levels, "coarse solve: %s of %lld row%s", how[kind], (long long)n,
             n == 1 ? "" : "s");
    }
done:
    cmgi_free(ctx, X);
    return status;
}

/* Factors of the last level as its operator; it stays with new values. */
static cmg_status take_envelope(const cmgi_setup *s, int last)
{
    const cmgi_level *level = &s->levels->level[last];
    const cmg_matrix_options options = coarse_options(s, last);
    if (s->levels->coarse == NULL) {
        CMGI_TRY(
            cmgi_envelope_matrix(s->ctx, s->envelope, level->perm, &options, &s->levels->coarse));
    }
    s->levels->symmetric_inverse = true;
    note(s->levels, "%s solve: Cholesky factor of %lld rows, %.2f times the entries of A%s",
         last == 0 ? "direct" : "coarse", (long long)level->rows,
         (double)cmgi_envelope_entries(s->envelope) / (double)level->A->nnz,
         cmgi_envelope_zeros(s->envelope) > 0 ? ", singular" : "");
    return CMG_OK;
}

/* Smoothing steps where nothing solves the last level. */
static int last_steps(const cmgi_setup *s)
{
    return s->options->cycle == CMG_CYCLE_NONE || s->dominated ? s->options->pre + s->options->post
                                                               : s->options->coarse_steps;
}

static cmgi_cycle_plan cycle_plan(const cmgi_setup *s)
{
    return (cmgi_cycle_plan){.levels = s->levels->level,
                             .nlevels = s->levels->count,
                             .coarse = s->levels->coarse,
                             .coarse_name = s->levels->collapsed  ? "collapsed"
                                            : s->envelope != NULL ? "factor"
                                                                  : "inverse",
                             .coarse_exact = s->levels->coarse != NULL && !s->levels->collapsed,
                             .coarse_steps = last_steps(s),
                             .shape = s->options->cycle,
                             .pre = s->options->pre,
                             .post = s->options->post,
                             .precision = s->options->precision,
                             .fuse = s->options->fuse};
}

/* Level from which on everything becomes one dense operator, or the last one when nothing does. */
static int collapse_from(const cmgi_setup *s, int total)
{
    const cmg_size chosen = s->ctx->backend->collapse_rows;
    const cmg_size limit = s->options->collapse >= 0 ? s->options->collapse : chosen;
    int first = total - 1;
    if (s->options->cycle == CMG_CYCLE_F) {
        return first; /* its levels are visited by an F- and by a V-cycle: no single operator is
                         both */
    }
    const int least = s->parts != NULL ? s->parts->divided : 1;
    while (first > least && s->levels->level[first - 1].rows <= limit) {
        --first;
    }
    return first;
}

/*
 * Replaces the levels from `first` on by the matrix of their cycle. `dense` is the operator of an
 * earlier set-up, which gets the new values, or NULL; it is taken.
 */
static cmg_status collapse(const cmgi_setup *s, int first, cmg_matrix *dense)
{
    cmg_context *ctx = s->ctx;
    const cmg_size n = s->levels->level[first].rows;
    const int total = s->levels->count;
    cmgi_cycle *cycle = NULL;
    double *X = NULL;
    cmg_status status = CMG_OK;
    cmgi_cycle_plan plan = cycle_plan(s);
    plan.first = first;
    plan.columns = cmgi_unit_columns(ctx, n);
    CMGI_TRY_GOTO(done, cmgi_cycle_create(ctx, &plan, &cycle));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, n * n, sizeof *X, &X));
    CMGI_TRY_GOTO(done, cmgi_dense_cycle(ctx, cycle, n, X));
    const cmg_matrix_options options = coarse_options(s, first);
    CMGI_TRY_GOTO(done, cmgi_dense_matrix(ctx, n, X, NULL, &options, &dense));
    cmg_matrix_destroy(&s->levels->coarse);
    s->levels->coarse = dense;
    dense = NULL;
    s->levels->collapsed = true;
    s->levels->count = first + 1;
    note(s->levels, "levels %d to %d collapsed into one dense operator of %lld rows", first,
         total - 1, (long long)n);
done:
    cmg_matrix_destroy(&dense);
    cmgi_cycle_destroy(&cycle);
    cmgi_free_device(ctx, X);
    return status;
}

static bool wants_inverse(const cmgi_setup *s, int total)
{
    if (s->options->cycle == CMG_CYCLE_NONE) {
        return false;
    }
    if (s->envelope != NULL) {
        return true;
    }
    if (s->options->coarse != CMG_COARSE_AUTO) {
        return s->options->coarse == CMG_COARSE_INVERSE;
    }
    cmg_csr stored;
    if (cmgi_hierarchy_view(s->h, total - 1, CMG_ROLE_INVERSE, NULL, 0, &stored)) {
        return true;
    }
    return total > 1 && s->levels->level[total - 1].rows <= s->options->coarse_limit;
}

static void note_dirichlet(const cmgi_setup *s, int total)
{
    cmg_size rows = 0;
    for (int l = 0; l < total; ++l) {
        rows += s->levels->level[l].dirichlet.count;
    }
    if (rows > 0) {
        note(s->levels,
             "Dirichlet identity rows: %lld on level 0, %lld in all; transfer zeroed there",
             (long long)s->levels->level[0].dirichlet.count, (long long)rows);
    }
}

/* Which levels are divided among how many ranks. */
static void note_ranks(const cmgi_setup *s)
{
    const int divided = s->parts != NULL ? s->parts->divided : 0;
    const int levels = cmg_hierarchy_levels(s->h);
    const int ranks = cmgi_ranks(s->ctx);
    if (divided == 0) {
        return;
    }
    if (divided == levels) {
        note(s->levels, "ranks: %d, messages by %s; all levels are divided among them", ranks,
             cmg_context_link(s->ctx));
    } else {
        note(s->levels,
             "ranks: %d, messages by %s; levels 0 to %d are divided among them, those of %lld rows "
             "and less are solved by each",
             ranks, cmg_context_link(s->ctx), divided - 1,
             (long long)cmg_hierarchy_rows(s->h, divided));
    }
    if (s->parts->formed > 0) {
        note(s->levels, "level matrices formed as R A P: %d, from level %d on", s->parts->formed,
             s->parts->first_formed);
    }
}

static void note_completion(const cmgi_setup *s)
{
    const cmgi_completion *c = s->completion;
    if (c->alone) {
        note(s->levels, "levels follow the finest matrix alone, not the %d of the hierarchy",
             cmg_hierarchy_levels(s->given));
    }
    if (c->formed > 0) {
        note(s->levels, "level matrices formed as R A P: %d, from level %d on", c->formed,
             c->first_formed);
    }
    if (c->misfits > 0) {
        note(s->levels,
             "level matrices that do not fit P (energies differ by a factor of %.3g): %d, from "
             "level %d on, replaced by R A P",
             c->worst, c->misfits, c->first_misfit);
    }
    if (c->appended > 0) {
        const int last = cmg_hierarchy_levels(s->h) - 1;
        const int first = last - c->appended + 1;
        note(s->levels, "algebraic levels %d to %d: %lld rows to %lld, by smoothed aggregation",
             first, last, (long long)cmg_hierarchy_rows(s->h, first - 1),
             (long long)cmg_hierarchy_rows(s->h, last));
    }
}

static cmg_status build_null_space(const cmgi_setup *s)
{
    cmgi_projection *P = &s->levels->nullspace;
    if (!s->options->nullspace) {
        return CMG_OK;
    }
    if (s->parts == NULL) {
        CMGI_TRY(cmgi_projection_build(s->given, s->levels->level[0].perm, P));
    } else {
        const cmgi_owners *fine = &s->parts->level[0].space;
        cmgi_null_space space = {0};
        bool exact = false;
        CMGI_TRY(cmgi_parts_null_space(s->parts, s->given, &exact, &space));
        const cmg_status status = cmgi_projection_take(s->ctx, &space, fine->rows, fine->total, P);
        P->exact = P->count > 0 && exact;
        cmgi_null_space_free(s->ctx, &space);
        CMGI_TRY(status);
    }
    if (P->count > 0) {
        note(s->levels, "null space of %d vector%s: b and x are kept orthogonal to it", P->count,
             P->count == 1 ? "" : "s");
    }
    return CMG_OK;
}

void cmgi_setup_lap(cmgi_levels *levels, cmg_setup_part part, double *begin)
{
    const double now = cmgi_seconds();
    levels->part[part] += now - *begin;
    *begin = now;
}

/* A of the outer iteration and of level 0. */
static cmg_status build_finest(const cmgi_setup *s)
{
    const cmgi_level_options there = level_options(s);
    const bool after = cmgi_level_is_there(s->h, &there);
    CMGI_TRY(after ? CMG_OK : build_outer(s));
    const cmgi_level_options options = level_options(s);
    CMGI_TRY(cmgi_progress(s->ctx, "building levels", 0, cmgi_setup_count(s->h, s->options)));
    cmgi_threads_adapt(s->ctx);
    CMGI_TRY(cmgi_level_matrix(s->h, s->ctx, 0, &options, &s->levels->level[0]));
    return after ? build_outer(s) : CMG_OK;
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

/*
 * Sums over elements or cliques round otherwise than rows of A, whose entries are smaller, and
 * elements that are given are A to 1e-13 alone: residuals take the rows. Not on a device, where
 * such a format is chosen so that A need not be there.
 */
static cmg_status build_rows(const cmgi_setup *s)
{
    cmg_csr A;
    if (!s->levels->A->format->elements || s->ctx->backend->alloc != NULL ||
        (s->parts == NULL && s->given->level[0].assembled)) {
        return CMG_OK;
    }
    cmg_matrix_options options = s->options->matrix;
    options.format = CMG_FORMAT_CSR;
    options.precision = CMG_FP64;
    options.values = CMG_VALUES_FULL;
    if (s->parts != NULL) {
        return cmgi_parts_matrix(s->parts, 0, CMG_ROLE_A, CMGI_USE_ANY, &options, &s->levels->rows);
    }
    CMGI_TRY(cmg_hierarchy_get_csr(s->h, 0, CMG_ROLE_A, NULL, 0, &A));
    return s->levels->rows != NULL
               ? cmg_matrix_update(s->levels->rows, A.values)
               : cmgi_matrix_create_checked(s->ctx, &A, CMGI_USE_ANY, &options, &s->levels->rows);
}

cmg_status cmgi_setup_levels(const cmgi_setup *s)
{
    double begin = cmgi_seconds();
    const int total = cmgi_setup_count(s->h, s->options);
    const cmgi_level_options options = level_options(s);
    const bool ahead = s->levels->A == NULL && total > 1 &&
                       cmgi_level_smoother_first(s->h, s->ctx, &options, &s->levels->level[0]);
    s->levels->notes = 0;
    s->levels->symmetric_inverse = false;
    s->levels->symmetric = false;
    note_ranks(s);
    note_completion(s);
    CMGI_TRY(build_smoothers(s, 0, ahead ? 0 : -1));
    cmgi_setup_lap(s->levels, CMG_SETUP_SMOOTHER, &begin);
    bool there = s->levels->begun; /* once: after a failure the finest is made again, too */
    s->levels->begun = false;
    if (!there) {
        CMGI_TRY(cmgi_level_renew(s->h, &options, s->levels->A, &s->levels->level[0], &there));
    }
    CMGI_TRY(there ? CMG_OK : build_finest(s));
    CMGI_TRY(build_levels(s, total));
    s->levels->A = s->options->precision == CMG_FP64 ? s->levels->level[0].A : s->levels->A;
    s->levels->values = s->given->values;
    CMGI_TRY(build_rows(s));
    note_dirichlet(s, total);
    CMGI_TRY(cmgi_setup_boundary(s));
    CMGI_TRY(build_null_space(s));
    cmgi_setup_lap(s->levels, CMG_SETUP_CONVERT, &begin);
    const bool inverse = wants_inverse(s, total);
    const int first = inverse ? collapse_from(s, total) : total - 1;
    const int last = inverse ? total - 2 : total - 1;
    CMGI_TRY(build_smoothers(s, ahead && !s->levels->level[0].smoother.undamped ? 1 : 0, last));
    CMGI_TRY(last >= 0 ? note_smoother(s) : CMG_OK);
    CMGI_TRY(build_fused(s, first - 1));
    cmgi_setup_lap(s->levels, CMG_SETUP_SMOOTHER, &begin);
    s->levels->count = total;
    if (inverse) {
        cmg_matrix *kept = s->levels->collapsed ? s->levels->coarse : NULL;
        s->levels->coarse = s->levels->collapsed ? NULL : s->levels->coarse;
        s->levels->collapsed = false;
        const cmg_status status =
            s->envelope != NULL ? take_envelope(s, total - 1) : build_inverse(s, total - 1);
        if (status != CMG_OK) {
            cmg_matrix_destroy(&kept);
            return status;
        }
        s->levels->symmetric = cmgi_symmetric_by_design(s, total);
        const cmg_status collapsed = first < total - 1 ? collapse(s, first, kept) : CMG_OK;
        cmgi_setup_lap(s->levels, CMG_SETUP_COARSE, &begin);
        return collapsed;
    }
    note(s->levels,
         total > 1      ? "coarse solve: %d smoothing steps"
         : s->dominated ? "one level: %d smoothing steps, as the diagonal rules"
                        : "one level: %d smoothing steps",
         last_steps(s));
    return CMG_OK;
}

cmg_status cmgi_setup_cycles(const cmgi_setup *s, cmgi_cycle **cycle, cmgi_cycle **nested)
{
    cmgi_cycle_plan plan = cycle_plan(s);
    CMGI_TRY(cmgi_cycle_create(s->ctx, &plan, cycle));
    if (s->options->fmg) {
        plan.fmg = true;
        CMGI_TRY(cmgi_cycle_create(s->ctx, &plan, nested));
    }
    return CMG_OK;
}

cmg_status cmgi_setup_columns(const cmgi_setup *s, int columns, cmgi_cycle **cycle)
{
    cmgi_cycle_plan plan = cycle_plan(s);
    plan.columns = columns;
    return cmgi_cycle_create(s->ctx, &plan, cycle);
}

int cmgi_setup_count(const cmg_hierarchy *h, const cmg_solver_options *options)
{
    return options->cycle == CMG_CYCLE_NONE ? 1 : cmg_hierarchy_levels(h);
}

void cmgi_levels_clear(cmg_context *ctx, cmgi_levels *levels)
{
    cmgi_projection_clear(ctx, &levels->nullspace);
    cmg_matrix_destroy(&levels->boundary);
    cmg_matrix_destroy(&levels->coarse);
    cmg_matrix_destroy(&levels->rows);
    if (levels->A != levels->level[0].A) {
        cmg_matrix_destroy(&levels->A);
    }
    for (int l = 0; l < CMGI_MAX_LEVELS; ++l) {
        cmgi_level_clear(ctx, &levels->level[l]);
    }
    *levels = (cmgi_levels){0};
}
