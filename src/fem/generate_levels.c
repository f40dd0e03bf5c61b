/* The levels of a hierarchy, finest first: matrices, prolongations, vectors, coordinates. */
#include "core/memory.h"
#include "fem/elements.h"
#include "fem/generate.h"
#include "fem/output_mesh.h"
#include "hierarchy/numbering.h"
#include "transfer/galerkin.h"

/* What all levels are made from. */
typedef struct source {
    cmg_context *ctx;
    cmgi_plan *plan;
    cmgi_domain domain;    /* of grids */
    cmgi_mesh_chain chain; /* of the others */
    cmgi_problem problem;
    cmg_hierarchy *h;
} source;

static cmg_status open_level(const source *s, int level, cmgi_level_nodes *nodes)
{
    *nodes = (cmgi_level_nodes){.space = NULL};
    if (s->plan->grid) {
        CMGI_TRY(cmgi_domain_grid(s->ctx, s->plan, &s->domain, level, &nodes->grid));
        nodes->count = cmgi_grid_nodes(&nodes->grid);
        nodes->components = nodes->grid.components;
        nodes->dim = nodes->grid.dim;
    } else {
        CMGI_TRY(cmgi_chain_space(s->plan, &s->chain, level, &nodes->space));
        nodes->count = nodes->space->unknowns;
        nodes->components = nodes->space->components;
        nodes->dim = nodes->space->mesh->dim;
    }
    return nodes->count > 0 ? CMG_OK : cmgi_no_unknowns(s->ctx, level);
}

static void position(const cmgi_level_nodes *nodes, cmg_size n, double *x)
{
    if (nodes->space != NULL) {
        cmgi_space_position(nodes->space, nodes->space->node[n], x);
        return;
    }
    cmg_size p[3];
    cmgi_grid_node(&nodes->grid, n, p);
    cmgi_grid_position(&nodes->grid, p, x);
}

cmg_status cmgi_nodes_coords(const cmgi_level_nodes *nodes, int level, cmg_hierarchy *h)
{
    double *x = NULL;
    CMGI_TRY(cmgi_alloc(h->ctx, nodes->count * nodes->dim, sizeof *x, &x));
#pragma omp parallel for num_threads(h->ctx->threads) schedule(static) if (nodes->count > 256)
    for (cmg_size n = 0; n < nodes->count; ++n) {
        position(nodes, n, x + n * nodes->dim);
    }
    return cmgi_hierarchy_take_vector(h, level, "coords", NULL, nodes->count * nodes->dim, x);
}

cmg_status cmgi_nodes_exact(const cmgi_level_nodes *nodes, const cmgi_problem *problem,
                            cmg_hierarchy *h)
{
    const int nc = nodes->components;
    double *u = NULL;
    CMGI_TRY(cmgi_alloc(h->ctx, nodes->count * nc, sizeof *u, &u));
#pragma omp parallel for num_threads(h->ctx->threads) schedule(static) if (nodes->count > 256)
    for (cmg_size n = 0; n < nodes->count; ++n) {
        double x[3];
        position(nodes, n, x);
        cmgi_problem_exact(problem, x, u + n * nc, NULL);
    }
    return cmgi_hierarchy_take_vector(h, 0, "solutions", "exact", nodes->count * nc, u);
}

static cmg_status assemble(const source *s, const cmgi_level_nodes *nodes,
                           const cmgi_cell_form *form, cmgi_csr *A, double *b)
{
    if (nodes->space == NULL) {
        return cmgi_grid_assemble(s->ctx, &nodes->grid, form, A, b);
    }
    return s->plan->options.assembly == CMG_ASSEMBLY_SPMV
               ? cmgi_space_assemble_spmv(nodes->space, form, A, b)
               : cmgi_space_assemble(nodes->space, form, A, b);
}

/* The matrix and, on the finest level, what goes with it. */
static cmg_status assemble_level(const source *s, const cmgi_level_nodes *nodes, int level)
{
    const cmg_generate_options *o = &s->plan->options;
    const bool finest = level == 0;
    const cmg_size rows = nodes->count * nodes->components;
    const cmgi_basis basis = {s->plan->simplex, s->plan->order[level], nodes->dim};
    cmgi_cell_form form = {0};
    cmgi_csr A = {0};
    double *b = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_cell_form_create(s->ctx, &s->problem, basis, o->quadrature, &form));
    if (finest) {
        CMGI_TRY_GOTO(done, cmgi_alloc(s->ctx, rows, sizeof *b, &b));
    }
    CMGI_TRY_GOTO(done, assemble(s, nodes, &form, &A, b));
    CMGI_TRY_GOTO(done, cmgi_hierarchy_take_csr(s->h, level, CMG_ROLE_A, NULL, 0, &A));
    if (o->elements) {
        CMGI_TRY_GOTO(done,
                      cmgi_fem_elements(s->ctx, nodes->space == NULL ? &nodes->grid : NULL,
                                        nodes->space, &form, finest, &s->h->level[level].elements));
    }
    if (finest) {
        if (nodes->space != NULL) {
            cmgi_space_add_flux(nodes->space, s->chain.flux, o->flux, o->quadrature, b);
        }
        double *taken = b;
        b = NULL;
        CMGI_TRY_GOTO(done, cmgi_hierarchy_take_vector(s->h, 0, "rhs", "b", rows, taken));
    }
    if (finest && cmgi_problem_solved(&s->problem)) {
        CMGI_TRY_GOTO(done, cmgi_nodes_exact(nodes, &s->problem, s->h));
    }
done:
    cmgi_free(s->ctx, b);
    cmgi_csr_free(s->ctx, &A);
    cmgi_cell_form_free(s->ctx, &form);
    return status;
}

/* Level l > 0 as P^T A P of level l - 1. */
static cmg_status multiply_level(const source *s, int level)
{
    cmg_csr A;
    cmg_csr P;
    cmgi_csr Ac = {0};
    CMGI_TRY(cmg_hierarchy_get_csr(s->h, level - 1, CMG_ROLE_A, NULL, 0, &A));
    CMGI_TRY(cmg_hierarchy_get_csr(s->h, level - 1, CMG_ROLE_P, NULL, 0, &P));
    const bool identity = s->plan->options.boundary != CMG_BOUNDARY_ELIMINATE;
    CMGI_TRY(cmgi_galerkin(s->ctx, NULL, &A, &P, identity, &Ac));
    return cmgi_hierarchy_take_csr(s->h, level, CMG_ROLE_A, NULL, 0, &Ac);
}

static cmg_status store_prolongation(const source *s, const cmgi_level_nodes *fine,
                                     const cmgi_level_nodes *coarse, int level)
{
    cmgi_csr P = {0};
    const int from = s->plan->refinement[level + 1];
    const bool same = from == s->plan->refinement[level];
    CMGI_TRY(fine->space == NULL
                 ? cmgi_grid_prolongation(s->ctx, &fine->grid, &coarse->grid, &P)
                 : cmgi_space_prolongation(fine->space, coarse->space,
                                           same ? NULL : s->chain.relation[from], &P));
    return cmgi_hierarchy_take_csr(s->h, level, CMG_ROLE_P, NULL, 0, &P);
}

static cmg_status order_by_cells(const source *s, const cmgi_level_nodes *nodes, int refinement,
                                 cmg_index **order)
{
    uint64_t *keys = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY(cmgi_alloc(s->ctx, nodes->count, sizeof **order, order));
    CMGI_TRY_GOTO(done, cmgi_alloc(s->ctx, nodes->count, sizeof *keys, &keys));
#pragma omp parallel for num_threads(s->ctx->threads) schedule(static) if (nodes->count > 256)
    for (cmg_size n = 0; n < nodes->count; ++n) {
        keys[n] = nodes->space == NULL ? cmgi_grid_key(&nodes->grid, refinement, n)
                                       : cmgi_chain_key(&s->chain, refinement, nodes->space, n);
    }
    CMGI_TRY_GOTO(done, cmgi_order_by_key(s->ctx, nodes->count, keys, *order));
done:
    cmgi_free(s->ctx, keys);
    return status;
}

/* All of one level; `coarse` is the next one or has no nodes. */
static cmg_status make_level(const source *s, const cmgi_level_nodes *nodes,
                             const cmgi_level_nodes *coarse, int level, cmg_index **order)
{
    const cmg_generate_options *o = &s->plan->options;
    CMGI_TRY(level > 0 && o->coarsening == CMG_COARSENING_GALERKIN
                 ? multiply_level(s, level)
                 : assemble_level(s, nodes, level));
    if (o->coords) {
        CMGI_TRY(cmgi_nodes_coords(nodes, level, s->h));
    }
    if (coarse->count > 0) {
        CMGI_TRY(store_prolongation(s, nodes, coarse, level));
    }
    if (level == 0 && o->output_mesh) {
        CMGI_TRY(nodes->space == NULL
                     ? cmgi_grid_store_mesh(s->ctx, &nodes->grid, &s->problem, s->h)
                     : cmgi_space_store_mesh(nodes->space, &s->problem, s->h));
    }
    return o->numbering == CMG_NUMBERING_CELLS
               ? order_by_cells(s, nodes, s->plan->refinement[level], order)
               : CMG_OK;
}

static cmg_status make_levels(source *s, cmg_index **order)
{
    cmgi_plan *plan = s->plan;
    cmgi_level_nodes nodes = {.space = NULL};
    cmgi_level_nodes coarse = {.space = NULL};
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, open_level(s, 0, &nodes));
    for (int l = 0; l < plan->levels; ++l) {
        if (l + 1 < plan->levels) {
            CMGI_TRY_GOTO(done, open_level(s, l + 1, &coarse));
            plan->levels = coarse.count > 0 ? plan->levels : l + 1; /* all fixed: left out */
        }
        CMGI_TRY_GOTO(done, make_level(s, &nodes, &coarse, l, &order[l]));
        cmgi_space_destroy(&nodes.space);
        nodes = coarse;
        coarse = (cmgi_level_nodes){.space = NULL};
    }
done:
    cmgi_space_destroy(&coarse.space);
    cmgi_space_destroy(&nodes.space);
    return status;
}

cmg_status cmgi_generate_levels(cmg_context *ctx, cmgi_plan *plan, cmg_hierarchy *h,
                                cmg_index **order)
{
    source s = {.ctx = ctx, .plan = plan, .h = h};
    cmg_status status = CMG_OK;
    if (plan->grid) {
        CMGI_TRY_GOTO(done, cmgi_domain_make(ctx, plan, &s.domain));
        s.problem =
            cmgi_problem_make(&plan->options, s.domain.dim, s.chain.origin, s.domain.extent);
    } else {
        CMGI_TRY_GOTO(done, cmgi_chain_make(ctx, plan, h, &s.chain));
        s.problem =
            cmgi_problem_make(&plan->options, plan->options.dim, s.chain.origin, s.chain.extent);
    }
    CMGI_TRY_GOTO(done, make_levels(&s, order));
done:
    cmgi_free(ctx, s.domain.vertices);
    cmgi_chain_free(ctx, &s.chain);
    return status;
}
