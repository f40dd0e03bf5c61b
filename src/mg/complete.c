/*
 * What a solver forms for itself, by its options: level matrices that are missing or do not fit,
 * and algebraic levels where the coarsest is too large to be solved, or its factors where it is
 * not.
 */
#include "hierarchy/own.h"
#include "mg/multigrid.h"

#include <math.h>
#include <string.h>

/*
 * A coarsest level of more rows gets levels below it, until so many are left: a dense operator of n
 * rows moves n^2 values a cycle, and on a GPU costs less than the launches of one more level.
 */
enum {
    APPEND_ABOVE = 1000,
    SINGLE_ABOVE = 200, /* of a matrix alone */
    LEFT_SINGLE = 100,
    /*
     * On a CPU n^3 operations of an inverse are more than a solve: on one core 21 ms for 729 rows
     * and 14 for 529, where two levels below them take 2 and cost an iteration or two. Not for
     * several unknowns a node: a beam then takes twice the iterations.
     */
    QUICK_ABOVE = 300,
    QUICK_ROWS = 250
};

bool cmgi_multigrid_scalar(const cmgi_multigrid *mg)
{
    const char *text = cmg_hierarchy_attribute(mg->h, "block_size");
    return text == NULL || strcmp(text, "1") == 0;
}

/* `auto` on a CPU, and nothing said about the coarsest level. */
static bool wants_quick(const cmgi_multigrid *mg)
{
    return cmgi_multigrid_scalar(mg) && strcmp(mg->options.smoother, "auto") == 0 &&
           mg->ctx->backend->coarsen_rows < APPEND_ABOVE &&
           mg->options.coarse_limit == APPEND_ABOVE;
}

/*
 * Levels that follow the couplings in place of given ones that cannot: A of so many rows that are
 * strong lines (csr/facts.h). Levels of a mesh that halves every direction need twice to three
 * times the iterations there, of degree 6, and more with every refinement.
 */
static const double LINE_ROWS = 0.6;

static cmg_status look_for_lines(cmgi_multigrid *mg)
{
    const cmg_solver_options *o = &mg->options;
    const cmgi_csr_facts *facts = cmgi_hierarchy_facts(mg->h, 0);
    cmgi_csr_facts taken = {0};
    if (mg->from_matrix || !o->fallback || !o->coarsen || o->coarse != CMG_COARSE_AUTO ||
        !wants_quick(mg) || cmg_hierarchy_levels(mg->h) < 2 ||
        cmg_hierarchy_rows(mg->h, 0) <= SINGLE_ABOVE ||
        cmgi_hierarchy_has(mg->h, 0, CMG_ROLE_R)) { /* such levels may follow the flow */
        return CMG_OK;
    }
    if (facts == NULL) {
        cmg_csr A;
        CMGI_TRY(cmg_hierarchy_get_csr(mg->h, 0, CMG_ROLE_A, NULL, 0, &A));
        CMGI_TRY(cmgi_csr_facts_take(mg->ctx, &A, 0, A.rows, &taken));
        facts = &taken;
    }
    mg->from_matrix =
        (double)facts->strong_lines >= LINE_ROWS * (double)cmg_hierarchy_rows(mg->h, 0);
    return CMG_OK;
}

/*
 * Multiplications of a factorisation that levels below a matrix alone would not save: so many a
 * nonzero, and in any case those of some dozens of rows. On one core, two-dimensional grids: 900
 * rows take half the time of levels, 10000 three quarters.
 */
static const double DIRECT_EACH = 600;
static const double DIRECT_ALWAYS = 2e5;
/* Of the n^3 of a dense inverse, in whose place on the last rung a factorisation may take so many.
 */
static const double DIRECT_OF_DENSE = 0.25;
enum {
    FACTOR_ROWS = 64, /* fewer are inverted */
    WHOLE_ROWS = 500  /* a matrix alone of no more has factors whatever they take */
};

/* Backends for which substitution is no detour, and values that are kept whole. */
static bool may_factor(const cmgi_multigrid *mg)
{
    return mg->options.cycle != CMG_CYCLE_NONE && mg->ctx->backend->alloc == NULL &&
           mg->options.matrix.values == CMG_VALUES_FULL &&
           cmgi_schedule_least(&mg->schedule) == CMG_VALUES_FULL;
}

/* Factors of A where they take no more than its dense inverse, or than levels below it. */
static cmg_status factor(cmgi_multigrid *mg, const cmg_csr *A, bool dense)
{
    const double n = (double)A->rows;
    const bool whole = A->rows <= WHOLE_ROWS && A->rows == cmg_hierarchy_rows(mg->h, 0);
    const double budget = whole   ? HUGE_VAL
                          : dense ? DIRECT_OF_DENSE * n * n * n
                                  : DIRECT_ALWAYS + DIRECT_EACH * (double)A->indptr[A->rows];
    return cmgi_envelope_create(mg->ctx, A, budget, &mg->envelope);
}

/* The last level of what was completed. */
static cmg_status get_last(cmgi_multigrid *mg, cmg_csr *A)
{
    const cmg_hierarchy *h = cmgi_multigrid_hierarchy(mg);
    return cmg_hierarchy_get_csr(h, cmg_hierarchy_levels(h) - 1, CMG_ROLE_A, NULL, 0, A);
}

/* What takes the place of levels below a matrix, or of its dense inverse on the last rung. */
static cmg_status look_for_less(cmgi_multigrid *mg)
{
    const cmg_solver_options *o = &mg->options;
    const bool bare = /* a matrix alone, of which nothing was said */
        cmg_hierarchy_levels(mg->h) == 1 && o->coarsen && strcmp(o->smoother, "auto") == 0 &&
        o->coarse == CMG_COARSE_AUTO && o->coarse_limit == APPEND_ABOVE &&
        !cmgi_hierarchy_has(mg->h, 0, CMG_ROLE_INVERSE);
    const bool last = mg->from_matrix && o->coarse == CMG_COARSE_INVERSE;
    cmg_csr A;
    if (!may_factor(mg) || (!bare && !last) || !cmgi_hierarchy_has(mg->h, 0, CMG_ROLE_A)) {
        return CMG_OK;
    }
    CMGI_TRY(cmg_hierarchy_get_csr(mg->h, 0, CMG_ROLE_A, NULL, 0, &A));
    if (bare && !mg->from_matrix && cmgi_hierarchy_facts(mg->h, 0) != NULL) {
        CMGI_TRY(cmgi_dominated(mg->ctx, &A, cmgi_hierarchy_facts(mg->h, 0), &mg->dominated));
    }
    if (mg->dominated) {
        return CMG_OK;
    }
    CMGI_TRY(factor(mg, &A, last));
    if (mg->envelope != NULL && bare && mg->schedule.halves) { /* factors are fp64 in any case */
        mg->options.precision = CMG_FP64;
        mg->schedule.halves = false;
    }
    return CMG_OK;
}

/* The same of a coarsest level that would get levels below it: each of its rows is worth more of
 * them, as they cost an iteration or two. */
static cmg_status solves_coarsest(void *user, const cmg_csr *A, bool *solved)
{
    cmgi_multigrid *mg = user;
    CMGI_TRY(factor(mg, A, false));
    *solved = mg->envelope != NULL;
    return CMG_OK;
}

/* A factor in place of the inverse of the coarsest level, where that is more work. */
static cmg_status factor_coarsest(cmgi_multigrid *mg)
{
    const cmg_hierarchy *h = cmgi_multigrid_hierarchy(mg);
    const int last = cmg_hierarchy_levels(h) - 1;
    const cmg_size rows = cmg_hierarchy_rows(h, last);
    cmg_csr A;
    if (!may_factor(mg) || mg->options.coarse != CMG_COARSE_AUTO || last == 0 ||
        rows < FACTOR_ROWS || rows > mg->options.coarse_limit ||
        cmgi_hierarchy_has(h, last, CMG_ROLE_INVERSE)) {
        return CMG_OK;
    }
    CMGI_TRY(get_last(mg, &A));
    return factor(mg, &A, true);
}

/* `rows`: of level 0, those of all ranks. */
static cmgi_completion_options completion_options(cmgi_multigrid *mg, cmg_size rows)
{
    const cmg_solver_options *o = &mg->options;
    const cmg_size most = o->coarse_limit > APPEND_ABOVE ? o->coarse_limit : APPEND_ABOVE;
    const cmg_size limit = wants_quick(mg) ? QUICK_ABOVE : most;
    const int levels = mg->from_matrix ? 1 : cmg_hierarchy_levels(mg->h);
    cmgi_completion_options options = {.galerkin = o->galerkin,
                                       .from_matrix = mg->from_matrix,
                                       .zero_dirichlet = o->dirichlet == CMG_DIRICHLET_ZERO,
                                       .coarsen = o->coarsen && o->coarse == CMG_COARSE_AUTO,
                                       .above = levels > 1 ? limit : SINGLE_ABOVE,
                                       .above_misfit = levels > 1 ? most : SINGLE_ABOVE};
    cmg_coarsen_options_default(&options.levels);
    options.levels.rows = wants_quick(mg) ? QUICK_ROWS : mg->ctx->backend->coarsen_rows;
    if (levels == 1 && rows <= APPEND_ABOVE) {
        options.levels.rows = LEFT_SINGLE;
    }
    if (may_factor(mg) && wants_quick(mg) && options.above == QUICK_ABOVE) {
        options.solves = solves_coarsest;
        options.user = mg;
    }
    return options;
}

cmg_status cmgi_multigrid_factor_again(cmgi_multigrid *mg)
{
    cmg_csr A;
    if (mg->envelope == NULL) {
        return CMG_OK;
    }
    CMGI_TRY(get_last(mg, &A));
    if (!cmgi_envelope_update(&A, mg->envelope)) {
        cmg_matrix_destroy(&mg->levels.coarse);
        cmgi_envelope_destroy(mg->ctx, &mg->envelope);
    }
    return CMG_OK;
}

void cmgi_multigrid_drop_completion(cmgi_multigrid *mg)
{
    cmg_hierarchy_destroy(&mg->completion.h);
    mg->completion = (cmgi_completion){0};
    cmgi_envelope_destroy(mg->ctx, &mg->envelope);
}

cmg_status cmgi_multigrid_complete(cmgi_multigrid *mg, cmgi_meanwhile meanwhile)
{
    cmgi_multigrid_drop_completion(mg);
    mg->dominated = false;
    const bool alone = mg->options.cycle == CMG_CYCLE_NONE;
    if (mg->h->own != NULL) { /* what several ranks share, and the levels below it */
        double rows = (double)cmgi_range_of(mg->h, 0).rows;
        CMGI_TRY(cmgi_all_sum(mg->ctx, &rows, 1));
        const cmgi_divided_options divided = {.gather = mg->options.gather,
                                              .alone = alone,
                                              .algebraic =
                                                  cmg_hierarchy_levels(mg->h) == 1 && !alone,
                                              .completion = completion_options(mg, (cmg_size)rows)};
        cmgi_divided_by(mg->ctx)->destroy(&mg->divided);
        CMGI_TRY(cmgi_divided_by(mg->ctx)->create(mg->h, &divided, &mg->divided));
        return mg->envelope != NULL ? CMG_OK : factor_coarsest(mg);
    }
    if (alone) {
        return CMG_OK;
    }
    CMGI_TRY(look_for_lines(mg));
    CMGI_TRY(look_for_less(mg));
    if (mg->dominated || (mg->envelope != NULL && cmg_hierarchy_levels(mg->h) == 1)) {
        return CMG_OK; /* else factors of A alone want a hierarchy of A alone */
    }
    cmgi_completion_options options = completion_options(mg, cmg_hierarchy_rows(mg->h, 0));
    options.meanwhile = meanwhile;
    CMGI_TRY(cmgi_complete(mg->h, &options, &mg->completion));
    return mg->envelope != NULL ? CMG_OK : factor_coarsest(mg);
}

cmg_hierarchy *cmgi_multigrid_hierarchy(const cmgi_multigrid *mg)
{
    return mg->divided != NULL        ? mg->divided->h
           : mg->completion.h != NULL ? mg->completion.h
                                      : mg->h;
}
