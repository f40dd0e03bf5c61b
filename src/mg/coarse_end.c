/*
 * What solves the last level: a dense inverse, the factors of A, or smoothing; and all levels under
 * a size collapsed into the matrix of their cycle.
 */
#include "mg/multigrid.h"

/* Storage of the dense operator of a level: fewer bits only where the schedule says so. */
static cmg_matrix_options coarse_options(const cmgi_multigrid *mg, int l)
{
    cmg_matrix_options options = mg->options.matrix;
    const bool given = mg->schedule.given[l][CMG_ROLE_INVERSE];
    options.precision = mg->options.precision;
    options.values = given ? mg->schedule.values[l][CMG_ROLE_INVERSE] : CMG_VALUES_FULL;
    return options;
}

/* Dense inverse of the last level, from the hierarchy or computed. */
static cmg_status build_inverse(cmgi_multigrid *mg, int last)
{
    const cmg_hierarchy *h = cmgi_multigrid_hierarchy(mg);
    cmg_context *ctx = mg->ctx;
    const cmg_size n = mg->levels.level[last].rows;
    cmg_csr csr;
    const cmg_matrix_options options = coarse_options(mg, last);
    CMGI_CHECK(ctx, !cmgi_is_divided(mg->divided, last), CMG_ERR_UNSUPPORTED,
               "coarse inverse: level %d is divided among ranks, take coarse=auto", last);
    if (last == cmg_hierarchy_levels(h) - 1 &&
        cmgi_hierarchy_view(h, last, CMG_ROLE_INVERSE, NULL, 0, &csr)) {
        CMGI_SCOPED(ctx, n * n, double, X);
        cmgi_dense_expand(&csr, X);
        CMGI_TRY(cmgi_dense_matrix(ctx, n, X, mg->levels.level[last].perm, &options,
                                   &mg->levels.coarse));
        cmgi_note(&mg->levels, "coarse solve: inverse of %lld rows from the hierarchy",
                  (long long)n);
    } else {
        static const char *const how[] = {"dense inverse", "dense inverse by LU",
                                          "pseudo-inverse of a singular matrix"};
        cmgi_inverse_kind kind = CMGI_INVERSE_CHOLESKY;
        CMGI_TRY(cmgi_coarse_inverse(h, last, mg->levels.level[last].perm, &options,
                                     &mg->levels.coarse, &kind));
        mg->levels.symmetric_inverse = kind != CMGI_INVERSE_LU;
        cmgi_note(&mg->levels, "%s solve: %s of %lld row%s", last == 0 ? "direct" : "coarse",
                  how[kind], (long long)n, n == 1 ? "" : "s");
    }
    return CMG_OK;
}

/* Factors of the last level as its operator; it stays with new values. */
static cmg_status take_envelope(cmgi_multigrid *mg, int last)
{
    const cmgi_level *level = &mg->levels.level[last];
    const cmg_matrix_options options = coarse_options(mg, last);
    cmg_csr A;
    CMGI_TRY(cmg_hierarchy_get_csr(cmgi_multigrid_hierarchy(mg), last, CMG_ROLE_A, NULL, 0, &A));
    CMGI_TRY(cmgi_envelope_expect(mg->ctx, &A, mg->levels.nullspace.count, mg->envelope));
    if (mg->levels.coarse == NULL) {
        CMGI_TRY(
            cmgi_envelope_matrix(mg->ctx, mg->envelope, level->perm, &options, &mg->levels.coarse));
    }
    mg->levels.symmetric_inverse = mg->envelope->swap == NULL;
    cmgi_note(&mg->levels, "%s solve: %s of %lld rows, %.2f times the entries of A%s",
              last == 0 ? "direct" : "coarse",
              mg->levels.symmetric_inverse ? "Cholesky factor" : "LU factors",
              (long long)level->rows,
              (double)mg->envelope->start[mg->envelope->pairs] / (double)level->A->nnz,
              mg->envelope->zeros > 0 ? ", singular" : "");
    return CMG_OK;
}

/* Smoothing steps where nothing solves the last level. */
static int last_steps(const cmgi_multigrid *mg)
{
    return mg->options.cycle == CMG_CYCLE_NONE || mg->dominated ? mg->options.pre + mg->options.post
                                                                : mg->options.coarse_steps;
}

cmgi_cycle_plan cmgi_setup_plan(const cmgi_multigrid *mg)
{
    return (cmgi_cycle_plan){.levels = mg->levels.level,
                             .nlevels = mg->levels.count,
                             .coarse = mg->levels.coarse,
                             .coarse_name = mg->levels.collapsed   ? "collapsed"
                                            : mg->envelope != NULL ? "factor"
                                                                   : "inverse",
                             .coarse_exact = mg->levels.coarse != NULL && !mg->levels.collapsed,
                             .coarse_steps = last_steps(mg),
                             .shape = mg->options.cycle,
                             .pre = mg->options.pre,
                             .post = mg->options.post,
                             .precision = mg->options.precision,
                             .fuse = mg->options.fuse};
}

int cmgi_setup_collapse_from(const cmgi_multigrid *mg)
{
    const cmg_size chosen = mg->ctx->backend->collapse_rows;
    const cmg_size limit = mg->options.collapse >= 0 ? mg->options.collapse : chosen;
    int first = cmgi_multigrid_levels(mg) - 1;
    if (!cmgi_setup_inverse(mg) || mg->options.cycle == CMG_CYCLE_F) {
        return first; /* levels of F are visited by an F- and by a V-cycle: no operator is both */
    }
    const int least = mg->divided != NULL ? mg->divided->count : 1;
    while (first > least && mg->levels.level[first - 1].rows <= limit) {
        --first;
    }
    return first;
}

/* Unit vectors at once: as few batches as the backend can, of about one size, each a multiple of 4
 * so that values are loaded by 16 bytes. */
static int unit_columns(const cmg_context *ctx, cmg_size n)
{
    const cmg_size most = ctx->backend->unit_columns > 1 ? ctx->backend->unit_columns : 1;
    const cmg_size batches = n > most ? (n + most - 1) / most : 1;
    const cmg_size each = ((n + batches - 1) / batches + 3) / 4 * 4;
    return (int)(each < most ? each : most);
}

/*
 * The dense matrix of a cycle, n x n by rows, X in the backend's memory: columns j .. j + k - 1 are
 * the images of unit vectors, k at once. The n rows of k values that have these unit vectors as
 * columns are a window of 2 n rows, zero but for ones on the diagonal from row n on: it begins at
 * row n - j.
 */
static cmg_status dense_cycle(cmg_context *ctx, cmgi_cycle *cycle, cmg_size n, double *X)
{
    const cmgi_backend *on = ctx->backend;
    const cmg_precision p = cmgi_cycle_precision(cycle);
    const size_t size = cmgi_precision_bytes(p);
    const cmg_size k = cycle->columns;
    void *one = NULL;
    char *units = NULL;
    void *image = NULL;
    CMGI_FREED(ctx, &one, &units, &image);
    CMGI_TRY(cmgi_alloc_device(ctx, 1, size, &one));
    CMGI_TRY(cmgi_alloc_device(ctx, 2 * n * k, size, &units));
    CMGI_TRY(cmgi_alloc_device(ctx, n * k, size, &image));
    const cmgi_block_copy diagonal = {.rows = n < k ? n : k,
                                      .columns = 1,
                                      .from = p,
                                      .x = one,
                                      .to = p,
                                      .y = units + (size_t)(n * k) * size,
                                      .y_row = k + 1};
    CMGI_TRY(on->fill(ctx, p, 1, 1.0, one));
    CMGI_TRY(on->fill(ctx, p, 2 * n * k, 0.0, units));
    CMGI_TRY(on->copy_block(ctx, &diagonal));
    for (cmg_size j = 0; j < n; j += k) {
        const cmgi_block_copy columns = {.rows = n,
                                         .columns = n - j < k ? n - j : k,
                                         .from = p,
                                         .x = image,
                                         .x_row = k,
                                         .y = X + j,
                                         .y_row = n};
        CMGI_TRY(cmgi_cycle_run(cycle, units + (size_t)((n - j) * k) * size, image));
        CMGI_TRY(on->copy_block(ctx, &columns));
    }
    return CMG_OK;
}

/* The dense operator of an earlier set-up gets the new values. */
cmg_status cmgi_setup_collapse(cmgi_multigrid *mg)
{
    cmg_context *ctx = mg->ctx;
    const int first = cmgi_setup_collapse_from(mg);
    if (first == mg->levels.count - 1) {
        return CMG_OK;
    }
    cmgi_scoped_by(cmg_matrix_destroy) cmg_matrix *dense = cmgi_pass_on(&mg->levels.kept);
    const cmg_size n = mg->levels.level[first].rows;
    const int total = mg->levels.count;
    cmgi_scoped_by(cmgi_cycle_destroy) cmgi_cycle *cycle = NULL;
    cmgi_cycle_plan plan = cmgi_setup_plan(mg);
    plan.first = first;
    plan.columns = unit_columns(ctx, n);
    CMGI_TRY(cmgi_cycle_create(ctx, &plan, &cycle));
    CMGI_SCOPED_DEVICE(ctx, n * n, double, X);
    CMGI_TRY(dense_cycle(ctx, cycle, n, X));
    const cmg_matrix_options options = coarse_options(mg, first);
    CMGI_TRY(cmgi_dense_matrix(ctx, n, X, NULL, &options, &dense));
    cmg_matrix_destroy(&mg->levels.coarse);
    mg->levels.coarse = cmgi_pass_on(&dense);
    mg->levels.collapsed = true;
    mg->levels.count = first + 1;
    cmgi_note(&mg->levels, "levels %d to %d collapsed into one dense operator of %lld rows", first,
              total - 1, (long long)n);
    return CMG_OK;
}

bool cmgi_setup_inverse(const cmgi_multigrid *mg)
{
    const cmg_hierarchy *h = cmgi_multigrid_hierarchy(mg);
    const int last = cmgi_multigrid_levels(mg) - 1;
    if (mg->options.cycle == CMG_CYCLE_NONE || mg->envelope != NULL) {
        return mg->options.cycle != CMG_CYCLE_NONE;
    }
    return mg->options.coarse != CMG_COARSE_AUTO
               ? mg->options.coarse == CMG_COARSE_INVERSE
               : cmgi_hierarchy_has(h, last, CMG_ROLE_INVERSE) ||
                     (last > 0 && mg->levels.level[last].rows <= mg->options.coarse_limit);
}

cmg_status cmgi_setup_coarse(cmgi_multigrid *mg)
{
    cmgi_levels *levels = &mg->levels;
    const int total = cmgi_multigrid_levels(mg);
    levels->count = total;
    if (!cmgi_setup_inverse(mg)) {
        cmgi_note(levels,
                  total > 1       ? "coarse solve: %d smoothing steps"
                  : mg->dominated ? "one level: %d smoothing steps, as A is diagonally dominant"
                                  : "one level: %d smoothing steps",
                  last_steps(mg));
        return CMG_OK;
    }
    if (levels->collapsed) {
        cmg_matrix_destroy(&levels->kept);
        levels->kept = cmgi_pass_on(&levels->coarse);
        levels->collapsed = false;
    }
    CMGI_TRY(mg->envelope != NULL ? take_envelope(mg, total - 1) : build_inverse(mg, total - 1));
    levels->symmetric = cmgi_symmetric_by_design(mg, total);
    return CMG_OK;
}
