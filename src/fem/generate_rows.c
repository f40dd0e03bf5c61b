/*
 * Levels on grids of which every rank makes its own rows, and nobody the whole: slabs of nodes
 * along the last axis. A slab is a grid whose last axis begins later and ends sooner; all else -
 * cells, faces, columns - stays where it is, so that columns come out relative to the slab's first
 * row, those of the neighbours below 0 or past the end.
 *
 * Slabs of all levels are cut at the same place in space, so that transfer needs neighbours alone.
 */
#include "core/group.h"
#include "core/memory.h"
#include "hierarchy/own.h"
#include "fem/generate.h"
#include "fem/output_mesh.h"
#include "hierarchy/hierarchy.h"

#include <math.h>

typedef struct slab {
    cmgi_grid grid; /* of the rank's nodes */
    cmg_size first; /* row */
    cmg_size rows;
} slab;

/* Nodes of a level along the last axis that come before a part, 0 .. parts: as many as lie before
 * it on the finest level. */
static cmg_size begin_of(const cmgi_grid_axis *finest, const cmgi_grid_axis *axis, int part,
                         int parts)
{
    const cmg_size fine = finest->unknowns / parts * part + finest->unknowns % parts * part / parts;
    const cmg_size span = finest->nodes - 1;
    cmg_size begin = 0;
    if (part == parts || span == 0) {
        return part == parts ? axis->unknowns : 0;
    }
    begin = ((finest->first + fine) * (axis->nodes - 1) + span - 1) / span - axis->first;
    begin = begin < 0 || part == 0 ? 0 : begin;
    return begin < axis->unknowns ? begin : axis->unknowns;
}

static slab slab_of(const cmgi_grid *whole, const cmgi_grid *finest, int rank, int ranks)
{
    const int d = whole->dim - 1;
    slab s = {.grid = *whole};
    const cmg_size begin = begin_of(&finest->axis[d], &whole->axis[d], rank, ranks);
    const cmg_size end = begin_of(&finest->axis[d], &whole->axis[d], rank + 1, ranks);
    const cmg_size plane = cmgi_grid_nodes(whole) / whole->axis[d].unknowns * whole->components;
    s.grid.axis[d].first += begin;
    s.grid.axis[d].unknowns = end - begin;
    s.first = begin * plane;
    s.rows = (end - begin) * plane;
    return s;
}

/* Rows of a slab with the columns of all; the arrays of the slab are freed. */
static cmg_status place(cmg_hierarchy *h, int level, cmg_role role, cmg_size first,
                        cmg_size columns_from, cmgi_csr *csr)
{
    cmg_context *ctx = h->ctx;
    const cmg_size n = csr->view.rows;
    const cmg_size nnz = csr->indptr[n];
    cmgi_own_rows rows = {0};
    const cmg_status status = cmgi_rows_alloc(ctx, first, n, nnz, &rows);
    if (status != CMG_OK) {
        cmgi_csr_free(ctx, csr);
        return status;
    }
    cmgi_copy(ctx, rows.indptr, csr->indptr, (size_t)(n + 1) * sizeof *rows.indptr);
    cmgi_copy(ctx, rows.values, csr->values, (size_t)nnz * sizeof *rows.values);
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (nnz > 4096)
    for (cmg_size k = 0; k < nnz; ++k) {
        rows.indices[k] = columns_from + csr->indices[k];
    }
    cmgi_csr_free(ctx, csr);
    return cmgi_hierarchy_take_own(h, level, role, &rows);
}

static cmg_status assemble(cmg_context *ctx, const cmgi_plan *plan, const cmgi_problem *problem,
                           const slab *s, int level, cmg_hierarchy *h)
{
    const cmg_generate_options *o = &plan->options;
    const cmgi_basis basis = {plan->simplex, plan->order[level], s->grid.dim};
    cmgi_cell_form form = {0};
    cmgi_csr A = {0};
    double *b = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_cell_form_create(ctx, problem, basis, o->quadrature, &form));
    if (level == 0) {
        CMGI_TRY_GOTO(done, cmgi_alloc(ctx, s->rows, sizeof *b, &b));
    }
    CMGI_TRY_GOTO(done, cmgi_grid_assemble(ctx, &s->grid, &form, &A, b));
    CMGI_TRY_GOTO(done, place(h, level, CMG_ROLE_A, s->first, s->first, &A));
    if (level == 0) {
        double *taken = b;
        b = NULL;
        CMGI_TRY_GOTO(done, cmgi_hierarchy_take_vector(h, 0, "rhs", "b", s->rows, taken));
    }
done:
    cmgi_free(ctx, b);
    cmgi_csr_free(ctx, &A);
    cmgi_cell_form_free(ctx, &form);
    return status;
}

/* Coordinates, the known solution, the mesh for output: as levels in one piece have them. */
static cmg_status describe_nodes(const cmgi_plan *plan, const cmgi_problem *problem,
                                 const cmgi_grid *grid, const slab *s, int level, cmg_hierarchy *h)
{
    const cmg_generate_options *o = &plan->options;
    const cmgi_level_nodes nodes = {.count = s->rows / s->grid.components,
                                    .components = s->grid.components,
                                    .dim = s->grid.dim,
                                    .grid = s->grid};
    if (level == 0 && cmgi_problem_solved(problem)) {
        CMGI_TRY(cmgi_nodes_exact(&nodes, problem, h));
    }
    if (o->coords) {
        CMGI_TRY(cmgi_nodes_coords(&nodes, level, h));
    }
    if (level == 0 && o->output_mesh) {
        cmgi_stored_mesh *mesh = NULL;
        CMGI_TRY(cmgi_grid_mesh_part(h->ctx, grid, problem, &mesh));
        return cmgi_hierarchy_take_mesh_part(h, &mesh);
    }
    return CMG_OK;
}

static cmg_status make_levels(cmg_context *ctx, const cmgi_plan *plan, const cmgi_domain *domain,
                              cmg_hierarchy *h)
{
    const cmgi_problem problem =
        cmgi_problem_make(&plan->options, domain->dim, (double[3]){0}, domain->extent);
    const int me = cmgi_rank(ctx);
    const int ranks = cmgi_ranks(ctx);
    cmgi_grid finest;
    CMGI_TRY(cmgi_domain_grid(ctx, plan, domain, 0, &finest));
    for (int l = 0; l < plan->levels; ++l) {
        cmgi_grid grid;
        CMGI_TRY(cmgi_domain_grid(ctx, plan, domain, l, &grid));
        const slab fine = slab_of(&grid, &finest, me, ranks);
        if (l == 0 || plan->options.coarsening != CMG_COARSENING_GALERKIN) {
            CMGI_TRY(assemble(ctx, plan, &problem, &fine, l, h));
        }
        CMGI_TRY(describe_nodes(plan, &problem, &grid, &fine, l, h));
        if (l + 1 < plan->levels) {
            cmgi_csr P = {0};
            CMGI_TRY(cmgi_domain_grid(ctx, plan, domain, l + 1, &grid));
            const slab coarse = slab_of(&grid, &finest, me, ranks);
            CMGI_TRY(cmgi_grid_prolongation(ctx, &fine.grid, &coarse.grid, &P));
            CMGI_TRY(place(h, l, CMG_ROLE_P, fine.first, coarse.first, &P));
        }
    }
    return CMG_OK;
}

/* Levels that have unknowns. */
static cmg_status count_levels(cmg_context *ctx, cmgi_plan *plan, const cmgi_domain *domain)
{
    for (int l = 0; l < plan->levels; ++l) {
        cmgi_grid grid;
        CMGI_TRY(cmgi_domain_grid(ctx, plan, domain, l, &grid));
        if (cmgi_grid_nodes(&grid) == 0) {
            CMGI_TRY(cmgi_no_unknowns(ctx, l));
            plan->levels = l;
        }
    }
    return CMG_OK;
}

bool cmgi_plan_has_slabs(const cmgi_plan *plan)
{
    const cmg_generate_options *o = &plan->options;
    const bool balanced = o->boundary == CMG_BOUNDARY_NEUMANN && o->load == CMG_LOAD_SOURCE;
    return plan->grid && !balanced && !o->elements && o->numbering == CMG_NUMBERING_GENERATED;
}

cmg_status cmgi_generate_slabs(cmg_context *ctx, cmgi_plan *plan, cmg_hierarchy **h)
{
    cmgi_domain domain = {0};
    cmg_hierarchy *made = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_domain_make(ctx, plan, &domain));
    CMGI_TRY_GOTO(done, count_levels(ctx, plan, &domain));
    CMGI_TRY_GOTO(done, cmg_hierarchy_create(ctx, plan->levels, &made));
    CMGI_TRY_GOTO(done, make_levels(ctx, plan, &domain, made));
    *h = made;
    made = NULL;
done:
    cmgi_free(ctx, domain.vertices);
    cmg_hierarchy_destroy(&made);
    return status;
}
