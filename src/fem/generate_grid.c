/* Levels on squares and cubes: tensor-product grids from the coarsest one up. */
#include "fem/generate.h"
#include "fem/output_mesh.h"

#include <string.h>

static cmgi_domain domain_of(const cmgi_plan *plan)
{
    static const char *const label[3][2] = {
        {"left", "right"}, {"bottom", "top"}, {"back", "front"}};
    cmgi_domain domain = {.dim = plan->options.dim, .boundary = plan->options.boundary};
    for (int d = 0; d < domain.dim; ++d) {
        domain.extent[d] = d == 0 ? plan->options.aspect : 1;
        domain.cells[d] = plan->coarsest_cells;
        domain.fixed[d][0] = cmgi_plan_fixes(plan, label[d][0]);
        domain.fixed[d][1] = cmgi_plan_fixes(plan, label[d][1]);
    }
    return domain;
}

/* Every Dirichlet label must be a face of the box. */
static cmg_status check_labels(cmg_context *ctx, const cmgi_plan *plan)
{
    static const char *const label[6] = {"left", "right", "bottom", "top", "back", "front"};
    for (int i = 0; i < plan->fixed.count; ++i) {
        bool known = false;
        for (int k = 0; k < 2 * plan->options.dim; ++k) {
            known = known || strcmp(plan->fixed.name[i], label[k]) == 0;
        }
        CMGI_CHECK(ctx, known, CMG_ERR_ARG, "the boundary has no label '%s'", plan->fixed.name[i]);
    }
    return CMG_OK;
}

cmg_status cmgi_domain_grid(cmg_context *ctx, const cmgi_plan *plan, const cmgi_domain *domain,
                            int level, cmgi_grid *grid)
{
    const int components = plan->options.problem == CMG_PROBLEM_ELASTICITY ? domain->dim : 1;
    *grid = cmgi_grid_make(domain, plan->order[level], components, plan->refinement[level]);
    double rows = components; /* before anything is multiplied in 64 bits */
    for (int d = 0; d < 3; ++d) {
        rows *= (double)grid->axis[d].unknowns;
    }
    CMGI_CHECK(ctx, rows <= (ctx->group != NULL ? 1e15 : INT32_MAX), CMG_ERR_ARG,
               "%.0f unknowns are more than 2^31 - 1", rows);
    return CMG_OK;
}

uint64_t cmgi_grid_key(const cmgi_grid *grid, int refinement, cmg_size node)
{
    const cmg_size span = (cmg_size)grid->order
                          << (refinement < CMGI_KEY_DEPTH ? refinement : CMGI_KEY_DEPTH);
    cmg_size p[3];
    uint64_t box = 0;
    uint64_t inside = 0;
    cmgi_grid_node(grid, node, p);
    for (int d = grid->dim - 1; d >= 0; --d) {
        const cmg_size at = p[d] > 0 ? (p[d] - 1) / span : 0;
        box = box * (uint64_t)(grid->axis[d].nodes / span + 1) + (uint64_t)at;
        inside = inside << CMGI_KEY_BITS | (uint64_t)(p[d] - at * span);
    }
    return box << (CMGI_KEY_BITS * grid->dim) | inside;
}

cmg_status cmgi_domain_make(cmg_context *ctx, const cmgi_plan *plan, cmgi_domain *domain)
{
    CMGI_TRY(check_labels(ctx, plan));
    *domain = domain_of(plan);
    return plan->options.distort > 0
               ? cmgi_domain_distort(ctx, domain, plan->options.distort, plan->options.seed)
               : CMG_OK;
}

cmg_status cmgi_estimate_grid(cmg_context *ctx, cmgi_plan *plan, cmg_generate_size *size)
{
    const cmgi_domain domain = domain_of(plan);
    cmgi_grid grid[CMGI_MAX_LEVELS];
    CMGI_TRY(check_labels(ctx, plan));
    for (int l = 0; l < plan->levels; ++l) {
        CMGI_TRY(cmgi_domain_grid(ctx, plan, &domain, l, &grid[l]));
        if (cmgi_grid_nodes(&grid[l]) == 0) {
            CMGI_TRY(cmgi_no_unknowns(ctx, l));
            plan->levels = l;
        }
    }
    size->exact = true;
    size->levels = plan->levels;
    for (int l = 0; l < plan->levels; ++l) {
        cmgi_level_size level = {.rows = cmgi_grid_nodes(&grid[l]) * grid[l].components,
                                 .nnz = cmgi_grid_entries(&grid[l])};
        if (l + 1 < plan->levels) {
            level.p_nnz = cmgi_grid_prolongation_entries(&grid[l], &grid[l + 1]);
        }
        cmgi_estimate_add(plan, l, &level, size);
    }
    if (plan->options.output_mesh) {
        size->bytes += cmgi_grid_mesh_bytes(&grid[0]);
        size->peak += cmgi_grid_mesh_bytes(&grid[0]);
    }
    return CMG_OK;
}
