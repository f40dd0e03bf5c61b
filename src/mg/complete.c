/*
 * What a solver forms for itself, by its options: level matrices that are missing or do not fit,
 * and algebraic levels where the coarsest is too large to be solved.
 */
#include "mg/multigrid.h"

/*
 * A coarsest level of more rows gets levels below it, until so many are left: a dense operator of n
 * rows moves n^2 values a cycle, and on a GPU costs less than the launches of one more level.
 */
enum {
    APPEND_ABOVE = 1000,
    SINGLE_ABOVE = 200, /* of a matrix alone */
    LEFT_SINGLE = 100
};

static cmgi_completion_options completion_options(const cmgi_multigrid *mg)
{
    const cmg_solver_options *o = &mg->options;
    const cmg_size limit = o->coarse_limit > APPEND_ABOVE ? o->coarse_limit : APPEND_ABOVE;
    const int levels = mg->from_matrix ? 1 : cmg_hierarchy_levels(mg->h);
    cmgi_completion_options options = {.galerkin = o->galerkin,
                                       .from_matrix = mg->from_matrix,
                                       .zero_dirichlet = o->dirichlet == CMG_DIRICHLET_ZERO,
                                       .coarsen = o->coarsen && o->coarse == CMG_COARSE_AUTO,
                                       .above = levels > 1 ? limit : SINGLE_ABOVE};
    cmg_coarsen_options_default(&options.levels);
    options.levels.rows = mg->ctx->backend->coarsen_rows;
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
    const cmgi_completion_options options = completion_options(mg);
    return cmgi_complete(mg->h, &options, &mg->completion);
}

cmg_hierarchy *cmgi_multigrid_hierarchy(const cmgi_multigrid *mg)
{
    return mg->parts != NULL ? mg->parts->h : mg->completion.h != NULL ? mg->completion.h : mg->h;
}
