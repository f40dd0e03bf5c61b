/*
 * Levels on squares and cubes: tensor-product grids from the coarsest one up.
 *
 * Of several ranks every one makes its own rows, and nobody the whole: a slab of nodes along the
 * last axis. It is a grid whose last axis begins later and ends sooner; all else - cells, faces,
 * columns - stays where it is, so that columns come out relative to the slab's first row, those of
 * the neighbours below 0 or past the end. Slabs of all levels are cut at the same place in space,
 * so that transfer needs neighbours alone.
 */
#include "core/ranks.h"
#include "core/memory.h"
#include "hierarchy/own.h"
#include "fem/generate.h"
#include "fem/mesh_shapes.h"

#include <string.h>

/* Without distortion. Dirichlet conditions hold on the faces that are listed, on all if none is. */
static cmg_status make_box(cmg_context *ctx, const cmgi_plan *plan, cmgi_domain *domain)
{
    const cmgi_names *listed = &plan->fixed;
    const bool neumann = plan->options.boundary == CMG_BOUNDARY_NEUMANN;
    *domain = (cmgi_domain){.dim = plan->options.dim, .boundary = plan->options.boundary};
    for (int d = 0; d < domain->dim; ++d) {
        domain->extent[d] = d == 0 ? plan->options.aspect : 1;
        domain->cells[d] = plan->coarsest_cells;
        domain->fixed[d][0] = domain->fixed[d][1] = !neumann && listed->count == 0;
    }
    for (int i = 0; i < listed->count; ++i) {
        int face = 0;
        while (face < 2 * domain->dim && strcmp(listed->name[i], cmgi_side_names[face]) != 0) {
            ++face;
        }
        CMGI_CHECK(ctx, face < 2 * domain->dim, CMG_ERR_ARG, "the boundary has no label '%s'",
                   listed->name[i]);
        domain->fixed[face / 2][face % 2] = !neumann;
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

cmg_status cmgi_domain_make(cmg_context *ctx, const cmgi_plan *plan, cmgi_domain *domain)
{
    CMGI_TRY(make_box(ctx, plan, domain));
    return plan->options.distort > 0
               ? cmgi_domain_distort(ctx, domain, plan->options.distort, plan->options.seed)
               : CMG_OK;
}

cmg_status cmgi_estimate_grid(cmg_context *ctx, cmgi_plan *plan, cmg_generate_size *size)
{
    cmgi_domain domain;
    cmgi_grid grid[CMGI_MAX_LEVELS];
    CMGI_TRY(make_box(ctx, plan, &domain));
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
    if (plan->options.output_mesh && !plan->options.templates) {
        size->bytes += cmgi_grid_mesh_bytes(&grid[0]);
        size->peak += cmgi_grid_mesh_bytes(&grid[0]);
    }
    return CMG_OK;
}

/* Nodes of a level along the last axis that come before a part, 0 .. parts: as many as lie before
 * it on the finest level. */
static cmg_size begin_of(const cmgi_grid_axis *finest, const cmgi_grid_axis *axis, int part,
                         int parts)
{
    const cmg_size fine = cmgi_even(finest->unknowns, parts, part);
    const cmg_size span = finest->nodes - 1;
    cmg_size begin = 0;
    if (part == parts || span == 0) {
        return part == parts ? axis->unknowns : 0;
    }
    begin = ((finest->first + fine) * (axis->nodes - 1) + span - 1) / span - axis->first;
    begin = begin < 0 || part == 0 ? 0 : begin;
    return begin < axis->unknowns ? begin : axis->unknowns;
}

cmg_size cmgi_slab_cut(const cmg_context *ctx, const cmgi_grid *finest, cmgi_grid *grid)
{
    const int d = grid->dim - 1;
    cmgi_grid_axis *axis = &grid->axis[d];
    const int rank = cmgi_rank(ctx);
    const int ranks = cmgi_ranks(ctx);
    const cmg_size begin = begin_of(&finest->axis[d], axis, rank, ranks);
    const cmg_size end = begin_of(&finest->axis[d], axis, rank + 1, ranks);
    const cmg_size plane = cmgi_grid_nodes(grid) / axis->unknowns;
    axis->first += begin;
    axis->unknowns = end - begin;
    return begin * plane;
}

cmg_status cmgi_slab_store(cmg_hierarchy *h, int level, cmg_role role, cmg_size first,
                           cmg_size columns_from, cmgi_csr *csr)
{
    cmg_context *ctx = h->ctx;
    const cmg_size nnz = csr->indptr[csr->rows];
    cmgi_own_rows rows = {0};
    CMGI_RELEASED(cmgi_csr_free, ctx, csr);
    CMGI_RELEASED(cmgi_rows_free, ctx, &rows);
    CMGI_TRY(cmgi_rows_take(ctx, csr, first, &rows));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (nnz > 4096)
    for (cmg_size k = 0; k < nnz; ++k) {
        rows.indices[k] = columns_from + csr->indices[k];
    }
    return cmgi_hierarchy_take_own(h, level, role, &rows);
}
