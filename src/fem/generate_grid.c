/* Hierarchies on squares and cubes: tensor-product grids from the coarsest one up. */
#include "core/memory.h"
#include "fem/elements.h"
#include "fem/generate.h"
#include "fem/grid.h"
#include "hierarchy/numbering.h"
#include "fem/output_mesh.h"
#include "hierarchy/hierarchy.h"

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

static cmgi_grid grid_of(const cmgi_plan *plan, const cmgi_domain *domain, int level)
{
    const int components = plan->options.problem == CMG_PROBLEM_ELASTICITY ? domain->dim : 1;
    return cmgi_grid_make(domain, plan->order[level], components, plan->refinement[level]);
}

/* Right-hand side and the exact solution at the nodes. */
static cmg_status store_vectors(cmg_context *ctx, const cmgi_problem *problem,
                                const cmgi_grid *grid, double **b, cmg_hierarchy *h)
{
    const cmg_size rows = cmgi_grid_nodes(grid) * grid->components;
    CMGI_TRY(cmgi_hierarchy_take_vector(h, 0, "rhs", "b", rows, *b));
    *b = NULL;
    if (!cmgi_problem_solved(problem)) {
        return CMG_OK;
    }
    double *u = NULL;
    CMGI_TRY(cmgi_alloc(ctx, rows, sizeof *u, &u));
#pragma omp parallel for num_threads(ctx->threads)                                                 \
    schedule(static) if (rows / grid->components > 256)
    for (cmg_size n = 0; n < rows / grid->components; ++n) {
        cmg_size p[3];
        double x[3];
        cmgi_grid_node(grid, n, p);
        cmgi_grid_position(grid, p, x);
        cmgi_problem_exact(problem, x, u + n * grid->components, NULL);
    }
    const cmg_status status = cmgi_hierarchy_take_vector(h, 0, "solutions", "exact", rows, u);
    if (status != CMG_OK) {
        cmgi_free(ctx, u);
    }
    return status;
}

/* Before anything is multiplied in 64 bits or allocated. */
static cmg_status check_size(cmg_context *ctx, const cmgi_grid *grid)
{
    double rows = grid->components;
    for (int d = 0; d < 3; ++d) {
        rows *= (double)grid->axis[d].unknowns;
    }
    CMGI_CHECK(ctx, rows <= INT32_MAX, CMG_ERR_ARG, "%.0f unknowns are more than 2^31 - 1", rows);
    return CMG_OK;
}

static cmg_status assemble_level(cmg_context *ctx, const cmgi_plan *plan,
                                 const cmgi_problem *problem, const cmgi_grid *grid, int level,
                                 cmg_hierarchy *h)
{
    const cmgi_basis basis = {false, grid->order, grid->dim};
    cmgi_cell_form form = {0};
    cmgi_csr A = {0};
    double *b = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY(check_size(ctx, grid));
    CMGI_TRY_GOTO(done,
                  cmgi_cell_form_create(ctx, problem, basis, plan->options.quadrature, &form));
    if (level == 0) {
        CMGI_TRY_GOTO(done,
                      cmgi_alloc(ctx, cmgi_grid_nodes(grid) * grid->components, sizeof *b, &b));
    }
    CMGI_TRY_GOTO(done, cmgi_grid_assemble(ctx, grid, &form, &A, b));
    CMGI_TRY_GOTO(done, cmgi_hierarchy_take_csr(h, level, CMG_ROLE_A, NULL, 0, &A));
    if (level == 0 && plan->options.elements) {
        CMGI_TRY_GOTO(done, cmgi_fem_elements(ctx, grid, NULL, &form, &h->level[0].elements));
    }
    if (level == 0) {
        CMGI_TRY_GOTO(done, store_vectors(ctx, problem, grid, &b, h));
    }
done:
    cmgi_free(ctx, b);
    cmgi_csr_free(ctx, &A);
    cmgi_cell_form_free(ctx, &form);
    return status;
}

static cmg_status store_coords(cmg_context *ctx, const cmgi_grid *grid, int level, cmg_hierarchy *h)
{
    const cmg_size values = cmgi_grid_nodes(grid) * grid->dim;
    double *x = NULL;
    CMGI_TRY(cmgi_alloc(ctx, values, sizeof *x, &x));
    cmgi_grid_coords(ctx, grid, x);
    const cmg_status status = cmgi_hierarchy_take_vector(h, level, "coords", NULL, values, x);
    if (status != CMG_OK) {
        cmgi_free(ctx, x);
    }
    return status;
}

static cmg_status store_prolongation(cmg_context *ctx, const cmgi_grid *fine,
                                     const cmgi_grid *coarse, int level, cmg_hierarchy *h)
{
    cmgi_csr P = {0};
    CMGI_TRY(cmgi_grid_prolongation(ctx, fine, coarse, &P));
    const cmg_status status = cmgi_hierarchy_take_csr(h, level, CMG_ROLE_P, NULL, 0, &P);
    cmgi_csr_free(ctx, &P);
    return status;
}

/*
 * Numbering by coarse cell: boxes of up to 2^6 cells a side, then the position inside. A node
 * between two boxes belongs to the lower one.
 */
static cmg_status order_by_cells(cmg_context *ctx, const cmgi_grid *grid, int refinement,
                                 cmg_index **order)
{
    enum { DEEPEST = 6, BITS = 12 };
    const cmg_size span = (cmg_size)grid->order << (refinement < DEEPEST ? refinement : DEEPEST);
    const cmg_size nodes = cmgi_grid_nodes(grid);
    uint64_t *keys = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY(cmgi_alloc(ctx, nodes, sizeof **order, order));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, nodes, sizeof *keys, &keys));
    for (cmg_size n = 0; n < nodes; ++n) {
        cmg_size p[3];
        uint64_t box = 0;
        uint64_t inside = 0;
        cmgi_grid_node(grid, n, p);
        for (int d = grid->dim - 1; d >= 0; --d) {
            const cmg_size at = p[d] > 0 ? (p[d] - 1) / span : 0;
            box = box * (uint64_t)(grid->axis[d].nodes / span + 1) + (uint64_t)at;
            inside = inside << BITS | (uint64_t)(p[d] - at * span);
        }
        keys[n] = box << (BITS * grid->dim) | inside;
    }
    CMGI_TRY_GOTO(done, cmgi_order_by_key(ctx, nodes, keys, *order));
done:
    cmgi_free(ctx, keys);
    return status;
}

/* Leaves out the coarse levels whose nodes are all fixed. */
static cmg_status drop_empty_levels(cmg_context *ctx, cmgi_plan *plan, const cmgi_domain *domain)
{
    cmgi_grid grid = grid_of(plan, domain, plan->levels - 1);
    while (plan->levels > 1 && cmgi_grid_nodes(&grid) == 0) {
        --plan->levels;
        grid = grid_of(plan, domain, plan->levels - 1);
    }
    CMGI_CHECK(ctx, cmgi_grid_nodes(&grid) > 0, CMG_ERR_ARG,
               "the finest level has no unknowns: all of its nodes are on Dirichlet boundaries");
    return CMG_OK;
}

static cmg_status generate_level(cmg_context *ctx, const cmgi_plan *plan, const cmgi_domain *domain,
                                 int level, cmg_hierarchy *h, cmg_index **order)
{
    const double origin[3] = {0, 0, 0};
    const cmgi_problem problem =
        cmgi_problem_make(&plan->options, domain->dim, origin, domain->extent);
    const cmgi_grid grid = grid_of(plan, domain, level);
    if (level > 0 && plan->options.coarsening == CMG_COARSENING_GALERKIN) {
        CMGI_TRY(cmgi_generate_galerkin(ctx, plan, h, level));
    } else {
        CMGI_TRY(assemble_level(ctx, plan, &problem, &grid, level, h));
    }
    if (plan->options.coords) {
        CMGI_TRY(store_coords(ctx, &grid, level, h));
    }
    if (level == 0 && plan->options.output_mesh) {
        CMGI_TRY(cmgi_grid_store_mesh(ctx, &grid, &problem, h));
    }
    if (level + 1 < plan->levels) {
        const cmgi_grid coarse = grid_of(plan, domain, level + 1);
        CMGI_TRY(store_prolongation(ctx, &grid, &coarse, level, h));
    }
    if (plan->options.numbering == CMG_NUMBERING_CELLS) {
        CMGI_TRY(order_by_cells(ctx, &grid, plan->refinement[level], order));
    }
    return CMG_OK;
}

cmg_status cmgi_generate_grid(cmg_context *ctx, cmgi_plan *plan, cmg_hierarchy *h,
                              cmg_index **order)
{
    cmgi_domain domain = domain_of(plan);
    cmg_status status = CMG_OK;
    CMGI_TRY(check_labels(ctx, plan));
    CMGI_TRY(drop_empty_levels(ctx, plan, &domain));
    if (plan->options.distort > 0) {
        CMGI_TRY(cmgi_domain_distort(ctx, &domain, plan->options.distort, plan->options.seed));
    }
    for (int l = 0; l < plan->levels && status == CMG_OK; ++l) {
        status = generate_level(ctx, plan, &domain, l, h, &order[l]);
    }
    cmgi_free(ctx, domain.vertices);
    return status;
}

cmg_status cmgi_estimate_grid(cmg_context *ctx, cmgi_plan *plan, cmg_generate_size *size)
{
    const cmgi_domain domain = domain_of(plan);
    CMGI_TRY(check_labels(ctx, plan));
    CMGI_TRY(drop_empty_levels(ctx, plan, &domain));
    size->exact = true;
    size->levels = plan->levels;
    for (int l = 0; l < plan->levels; ++l) {
        const cmgi_grid grid = grid_of(plan, &domain, l);
        CMGI_TRY(check_size(ctx, &grid));
        cmgi_level_size level = {.rows = cmgi_grid_nodes(&grid) * grid.components,
                                 .nnz = cmgi_grid_entries(&grid)};
        if (l + 1 < plan->levels) {
            const cmgi_grid coarse = grid_of(plan, &domain, l + 1);
            level.p_nnz = cmgi_grid_prolongation_entries(&grid, &coarse);
        }
        cmgi_estimate_add(plan, l, &level, size);
    }
    if (plan->options.output_mesh) {
        const cmgi_grid finest = grid_of(plan, &domain, 0);
        size->bytes += cmgi_grid_mesh_bytes(&finest);
        size->peak += cmgi_grid_mesh_bytes(&finest);
    }
    return CMG_OK;
}
