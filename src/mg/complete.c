/*
 * What a solver forms for itself, by its options: level matrices that are missing or do not fit,
 * and algebraic levels where the coarsest is too large to be solved.
 */
#include "mg/multigrid.h"

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

static cmgi_completion_options completion_options(const cmgi_multigrid *mg)
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
    if (levels == 1 && cmg_hierarchy_rows(mg->h, 0) <= APPEND_ABOVE) {
        options.levels.rows = LEFT_SINGLE;
    }
    return options;
}

/* What several ranks share, and the levels below it. */
static cmg_status prepare_ranks(cmgi_multigrid *mg)
{
    const cmg_solver_options *o = &mg->options;
    const cmgi_parts_options options = {.gather = o->gather,
                                        .alone = o->cycle == CMG_CYCLE_NONE,
                                        .algebraic = cmg_hierarchy_levels(mg->h) == 1 &&
                                                     o->cycle != CMG_CYCLE_NONE,
                                        .completion = completion_options(mg)};
    cmgi_parts_destroy(&mg->parts);
    return cmgi_parts_create(mg->h, &options, &mg->parts);
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
    cmgi_csr_facts taken;
    if (mg->from_matrix || !o->fallback || !o->coarsen || o->coarse != CMG_COARSE_AUTO ||
        !wants_quick(mg) || cmg_hierarchy_levels(mg->h) < 2 ||
        cmg_hierarchy_rows(mg->h, 0) <= SINGLE_ABOVE) {
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

cmg_status cmgi_multigrid_complete(cmgi_multigrid *mg)
{
    cmg_hierarchy_destroy(&mg->completion.h);
    mg->completion = (cmgi_completion){0};
    if (mg->h->blocks != NULL) {
        return prepare_ranks(mg);
    }
    if (mg->options.cycle == CMG_CYCLE_NONE) {
        return CMG_OK;
    }
    CMGI_TRY(look_for_lines(mg));
    const cmgi_completion_options options = completion_options(mg);
    return cmgi_complete(mg->h, &options, &mg->completion);
}

cmg_hierarchy *cmgi_multigrid_hierarchy(const cmgi_multigrid *mg)
{
    return mg->parts != NULL ? mg->parts->h : mg->completion.h != NULL ? mg->completion.h : mg->h;
}
