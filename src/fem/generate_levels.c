/* The levels of a hierarchy, finest first: matrices, prolongations, vectors, coordinates. */
#include "core/memory.h"
#include "fem/space.h"
#include "fem/generate.h"
#include "hierarchy/numbering.h"
#include "transfer/galerkin.h"

#include <string.h>

/* What all levels are made from. */
typedef struct source {
    cmg_context *ctx;
    cmgi_plan *plan;
    cmgi_domain domain;    /* of grids */
    cmgi_grid finest;      /* all of it */
    cmgi_mesh_chain chain; /* of the others */
    cmgi_problem problem;
    cmg_hierarchy *h;
} source;

/* The space of a level; NULL where it has no unknowns, which is an error on the finest. */
static cmg_status open_level(source *s, int level, cmgi_space **space)
{
    if (!s->plan->grid) {
        const cmgi_mesh *mesh = s->chain.mesh[s->plan->refinement[level]];
        CMGI_TRY(cmgi_space_create(mesh, s->plan->order[level], s->problem.components,
                                   s->plan->options.boundary, s->chain.fixes, space));
        if ((*space)->unknowns > 0) {
            return CMG_OK;
        }
        cmgi_space_destroy(space);
        return cmgi_no_unknowns(s->ctx, level);
    }
    cmgi_grid grid;
    CMGI_TRY(cmgi_domain_grid(s->ctx, s->plan, &s->domain, level, &grid));
    s->finest = level == 0 ? grid : s->finest;
    if (cmgi_grid_nodes(&grid) == 0) {
        return cmgi_no_unknowns(s->ctx, level);
    }
    const cmg_size before = s->plan->slabs ? cmgi_slab_cut(s->ctx, &s->finest, &grid) : 0;
    return cmgi_space_on_grid(s->ctx, &grid, before, space);
}

/* Takes a matrix over, whose rows and columns are those of two spaces. */
static cmg_status store(const source *s, int level, cmg_role role, const cmgi_space *rows,
                        const cmgi_space *columns, cmgi_csr *csr)
{
    const int nc = rows->components;
    return s->plan->slabs
               ? cmgi_slab_store(s->h, level, role, rows->before * nc, columns->before * nc, csr)
               : cmgi_hierarchy_take_csr(s->h, level, role, NULL, 0, csr);
}

/* The positions of the unknowns or, of a problem that is solved, its solution there. */
static cmg_status store_nodes(const cmgi_space *space, int level, const cmgi_problem *solved,
                              cmg_hierarchy *h)
{
    const int wide = solved != NULL ? space->components : space->basis.dim;
    CMGI_SCOPED(h->ctx, space->unknowns * wide, double, values);
#pragma omp parallel for num_threads(h->ctx->threads) schedule(static) if (space->unknowns > 256)
    for (cmg_size n = 0; n < space->unknowns; ++n) {
        double x[3];
        cmgi_space_position(space, cmgi_space_node(space, n), x);
        if (solved != NULL) {
            cmgi_problem_exact(solved, x, values + n * wide, NULL);
        } else {
            memcpy(values + n * wide, x, (size_t)wide * sizeof *x);
        }
    }
    return cmgi_hierarchy_take_vector(h, level, solved != NULL ? "solutions" : "coords",
                                      solved != NULL ? "exact" : NULL, space->unknowns * wide,
                                      cmgi_pass_on(&values));
}

/* The matrix and, on the finest level, what goes with it. */
static cmg_status assemble_level(const source *s, const cmgi_space *space, int level)
{
    const cmg_generate_options *o = &s->plan->options;
    const bool finest = level == 0;
    const cmg_size rows = space->unknowns * space->components;
    cmgi_cell_form form = {0};
    cmgi_scoped_csr A = {0};
    cmgi_scoped double *b = NULL;
    CMGI_RELEASED(cmgi_cell_form_free, s->ctx, &form);
    CMGI_TRY(cmgi_cell_form_create(s->ctx, &s->problem, space->basis, o->quadrature, &form));
    if (finest) {
        CMGI_TRY(cmgi_alloc(s->ctx, rows, sizeof *b, &b));
    }
    CMGI_TRY(o->assembly == CMG_ASSEMBLY_SPMV ? cmgi_space_assemble_spmv(space, &form, &A, b)
                                              : cmgi_space_assemble(space, &form, &A, b));
    CMGI_TRY(store(s, level, CMG_ROLE_A, space, space, &A));
    if (o->elements) {
        CMGI_TRY(cmgi_fem_elements(space, &form, finest, &s->h->level[level].elements));
    }
    if (finest) {
        if (space->mesh != NULL) {
            cmgi_space_add_flux(space, s->chain.flux, o->flux, o->quadrature, b);
        }
        CMGI_TRY(cmgi_hierarchy_take_vector(s->h, 0, "rhs", "b", rows, cmgi_pass_on(&b)));
    }
    if (finest && cmgi_problem_solved(&s->problem)) {
        CMGI_TRY(store_nodes(space, 0, &s->problem, s->h));
    }
    return CMG_OK;
}

/* A and P of a level as templates of its grid. */
static cmg_status store_templates(const source *s, const cmgi_space *space,
                                  const cmgi_space *coarse, int level)
{
    cmg_templates t = {.rows = space->unknowns, .cols = space->unknowns};
    cmgi_cell_form form = {0};
    double stencil[CMGI_STENCIL];
    CMGI_RELEASED(cmgi_cell_form_free, s->ctx, &form);
    for (int d = 0; d < 3; ++d) {
        t.grid[d] = (cmg_index)space->grid->axis[d].unknowns;
    }
    CMGI_TRY(cmgi_cell_form_create(s->ctx, &s->problem, space->basis, s->plan->options.quadrature,
                                   &form));
    CMGI_TRY(cmgi_space_stencil(space, &form, stencil));
    t.values = stencil;
    CMGI_TRY(cmg_hierarchy_set_templates(s->h, level, CMG_ROLE_A, &t));
    if (coarse != NULL) {
        t.cols = coarse->unknowns;
        t.values = NULL;
        CMGI_TRY(cmg_hierarchy_set_templates(s->h, level, CMG_ROLE_P, &t));
    }
    return CMG_OK;
}

/* As cmgi_grid_key. */
static uint64_t space_key(const cmgi_space *space, int refinement, cmg_size node)
{
    const int children = cmgi_cell_table(space->mesh->cell)->children;
    cmg_size cell = space->cell[space->start[node]];
    double xi[3];
    cmgi_basis_position(space->basis, cmgi_space_local(space, cell, (cmg_index)node), xi);
    for (int r = refinement; r > 0 && r > refinement - CMGI_KEY_DEPTH; --r) {
        cmgi_space_to_parent(space->mesh->cell, (int)(cell % children), xi);
        cell /= children;
    }
    uint64_t key = (uint64_t)cell;
    for (int d = space->mesh->dim - 1; d >= 0; --d) {
        key = key << CMGI_KEY_BITS | (uint64_t)(xi[d] * 2048 + 0.5);
    }
    return key;
}

/* All of one level; `coarse` is the next one, NULL = none. */
static cmg_status make_level(const source *s, const cmgi_space *space, const cmgi_space *coarse,
                             int level, cmg_index **order)
{
    const cmg_generate_options *o = &s->plan->options;
    if (o->templates) {
        return store_templates(s, space, coarse, level);
    }
    if (level == 0 || o->coarsening != CMG_COARSENING_GALERKIN) {
        CMGI_TRY(assemble_level(s, space, level));
    } else if (!s->plan->slabs) { /* P^T A P of the level before; ranks multiply when they solve */
        cmg_csr A;
        cmg_csr P;
        cmgi_csr Ac = {0};
        CMGI_TRY(cmg_hierarchy_get_csr(s->h, level - 1, CMG_ROLE_A, NULL, 0, &A));
        CMGI_TRY(cmg_hierarchy_get_csr(s->h, level - 1, CMG_ROLE_P, NULL, 0, &P));
        CMGI_TRY(cmgi_galerkin(s->ctx, NULL, &A, &P, o->boundary != CMG_BOUNDARY_ELIMINATE, &Ac));
        CMGI_TRY(cmgi_hierarchy_take_csr(s->h, level, CMG_ROLE_A, NULL, 0, &Ac));
    }
    if (o->coords) {
        CMGI_TRY(store_nodes(space, level, NULL, s->h));
    }
    if (coarse != NULL) {
        cmgi_csr P = {0};
        CMGI_TRY(cmgi_space_prolongation(space, coarse, &P));
        CMGI_TRY(store(s, level, CMG_ROLE_P, space, coarse, &P));
    }
    if (level == 0 && o->output_mesh) {
        CMGI_TRY(s->plan->slabs ? cmgi_grid_store_part(s->ctx, &s->finest, &s->problem, s->h)
                                : cmgi_space_store_mesh(space, &s->problem, s->h));
    }
    if (o->numbering != CMG_NUMBERING_CELLS) {
        return CMG_OK;
    }
    const int refinement = s->plan->refinement[level];
    CMGI_TRY(cmgi_alloc(s->ctx, space->unknowns, sizeof **order, order));
    CMGI_SCOPED(s->ctx, space->unknowns, uint64_t, keys);
#pragma omp parallel for num_threads(s->ctx->threads) schedule(static) if (space->unknowns > 256)
    for (cmg_size n = 0; n < space->unknowns; ++n) {
        const cmg_size node = cmgi_space_node(space, n);
        keys[n] = space->grid != NULL ? cmgi_grid_key(space->grid, refinement, node)
                                      : space_key(space, refinement, node);
    }
    return cmgi_order_by_key(s->ctx, space->unknowns, keys, *order);
}

cmg_status cmgi_generate_levels(cmg_context *ctx, cmgi_plan *plan, cmg_hierarchy *h,
                                cmg_index **order)
{
    source s = {.ctx = ctx, .plan = plan, .h = h};
    cmgi_scoped_by(cmgi_space_destroy) cmgi_space *space = NULL;
    cmgi_scoped_by(cmgi_space_destroy) cmgi_space *coarse = NULL;
    CMGI_FREED(ctx, &s.domain.vertices);
    CMGI_RELEASED(cmgi_chain_free, ctx, &s.chain);
    CMGI_TRY(plan->grid ? cmgi_domain_make(ctx, plan, &s.domain)
                        : cmgi_chain_make(ctx, plan, h, &s.chain));
    s.problem = cmgi_problem_make(&plan->options, plan->options.dim, s.chain.origin,
                                  plan->grid ? s.domain.extent : s.chain.extent);
    s.problem.factor = s.chain.factor;
    CMGI_TRY(open_level(&s, 0, &space));
    for (int l = 0; l < plan->levels; ++l) {
        if (l + 1 < plan->levels) {
            CMGI_TRY(open_level(&s, l + 1, &coarse));
            plan->levels = coarse != NULL ? plan->levels : l + 1;
        }
        CMGI_TRY(make_level(&s, space, coarse, l, &order[l]));
        cmgi_space_destroy(&space);
        space = cmgi_pass_on(&coarse);
    }
    return CMG_OK;
}
