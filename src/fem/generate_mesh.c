/* Levels on meshes: built-in shapes or files, refined step by step. */
#include "core/memory.h"
#include "core/number.h"
#include "fem/generate.h"
#include "fem/mesh_shapes.h"
#include "hierarchy/numbering.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void cmgi_chain_free(cmg_context *ctx, cmgi_mesh_chain *chain)
{
    for (int r = 0; r < CMGI_MAX_LEVELS; ++r) {
        cmgi_mesh_destroy(&chain->mesh[r]);
    }
    CMGI_FREE(ctx, chain->fixes, chain->flux, chain->factor);
}

static cmgi_shape_options shape_options(const cmgi_plan *plan)
{
    const cmg_generate_options *o = &plan->options;
    cmgi_shape_options s;
    cmgi_shape_options_default(o->shape, &s);
    s.cell = cmgi_cell_of(plan->simplex, o->dim);
    s.n = plan->coarsest_cells;
    s.columns = o->columns;
    s.rows = o->rows;
    s.alternate = o->alternate;
    s.length[0] = o->length > 0 ? o->length : s.length[0];
    s.aspect = o->aspect;
    s.grading = o->grading;
    s.distortion = o->smooth ? CMGI_DISTORT_SMOOTH : CMGI_DISTORT_RANDOM;
    s.distortion = o->distort > 0 ? s.distortion : CMGI_DISTORT_NONE;
    s.fraction = (o->smooth ? 1.8 : 0.5) * o->distort;
    s.seed = o->seed;
    return s;
}

/* The coarsest mesh, of the cells that the element needs. */
static cmg_status make_coarsest(cmg_context *ctx, const cmgi_plan *plan, cmgi_mesh_chain *chain)
{
    const cmg_generate_options *o = &plan->options;
    if (o->mesh[0] == '\0') {
        const cmgi_shape_options s = shape_options(plan);
        return cmgi_shape_mesh(ctx, &s, &chain->mesh[0]);
    }
    CMGI_TRY(cmgi_mesh_read(ctx, o->mesh, &chain->mesh[0]));
    const cmgi_mesh *mesh = chain->mesh[0];
    const bool simplex = cmgi_cell_simplex(mesh->cell);
    CMGI_CHECK(ctx, simplex == plan->simplex, CMG_ERR_ARG, "%s has %s cells, element %s needs %s",
               o->mesh, cmgi_cell_table(mesh->cell)->name,
               cmg_fem_enum_name("element", (int)o->element),
               plan->simplex ? "triangles or tetrahedra" : "quadrilaterals or hexahedra");
    for (cmg_size k = 0; k < mesh->nodes * mesh->dim; k += mesh->dim) {
        chain->mesh[0]->x[k] *= o->aspect;
    }
    return CMG_OK;
}

/* Sets the flags of the labels in a list. */
static cmg_status mark_labels(const cmgi_mesh *mesh, const cmgi_names *names, bool *marks)
{
    for (int i = 0; i < names->count; ++i) {
        const cmg_index label = cmgi_mesh_find_label(mesh, names->name[i]);
        CMGI_CHECK(mesh->ctx, label >= 0, CMG_ERR_ARG, "the boundary has no label '%s'",
                   names->name[i]);
        marks[label] = true;
    }
    return CMG_OK;
}

/* Factors of the coefficient, from entries group=factor. */
static cmg_status choose_factors(cmg_context *ctx, const cmgi_names *entries,
                                 cmgi_mesh_chain *chain)
{
    const cmgi_mesh *mesh = chain->mesh[0];
    if (entries->count == 0) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_alloc(ctx, mesh->regions, sizeof *chain->factor, &chain->factor));
    for (cmg_index r = 0; r < mesh->regions; ++r) {
        chain->factor[r] = 1;
    }
    for (int i = 0; i < entries->count; ++i) {
        char group[CMGI_NAME_LENGTH];
        char groups[160] = ""; /* as far as there is room */
        double factor = 0;
        const char *entry = entries->name[i];
        const char *sign = strrchr(entry, '=');
        const char *end = sign != NULL ? cmgi_parse_double(sign + 1, &factor) : NULL;
        CMGI_CHECK(ctx, end != NULL && *end == '\0' && factor > 0 && isfinite(factor), CMG_ERR_ARG,
                   "'%s' is no group=factor with a factor over 0", entry);
        (void)snprintf(group, sizeof group, "%.*s", (int)(sign - entry), entry);
        const cmg_index region = cmgi_label_find(mesh->region, mesh->regions, group);
        for (cmg_index r = 1; r < mesh->regions; ++r) {
            cmgi_append(groups, sizeof groups, "%s%s", r == 1 ? "; it has " : ", ",
                        mesh->region[r].name);
        }
        CMGI_CHECK(ctx, region >= 0, CMG_ERR_ARG, "the mesh has no group of cells '%s'%s", group,
                   groups);
        chain->factor[region] = factor;
    }
    return CMG_OK;
}

static cmg_status choose_labels(cmg_context *ctx, const cmgi_plan *plan, cmgi_mesh_chain *chain)
{
    const cmgi_mesh *mesh = chain->mesh[0];
    const bool neumann = plan->options.boundary == CMG_BOUNDARY_NEUMANN;
    CMGI_TRY(cmgi_alloc_zero(ctx, mesh->labels, sizeof *chain->fixes, &chain->fixes));
    CMGI_TRY(cmgi_alloc_zero(ctx, mesh->labels, sizeof *chain->flux, &chain->flux));
    CMGI_TRY(mark_labels(mesh, &plan->fixed, chain->fixes));
    CMGI_TRY(mark_labels(mesh, &plan->flux, chain->flux));
    CMGI_TRY(choose_factors(ctx, &plan->factors, chain));
    for (cmg_index l = 0; l < mesh->labels; ++l) {
        chain->fixes[l] = !neumann && (plan->fixed.count == 0 || chain->fixes[l]);
    }
    return CMG_OK;
}

cmg_status cmgi_chain_make(cmg_context *ctx, cmgi_plan *plan, cmg_hierarchy *h,
                           cmgi_mesh_chain *chain)
{
    cmgi_mesh_report report;
    char text[CMGI_NUMBER_LENGTH];
    double high[3];
    cmgi_scoped cmgi_surface *surface = NULL;
    cmgi_snap snap = {0};
    CMGI_TRY(make_coarsest(ctx, plan, chain));
    const cmgi_mesh *mesh = chain->mesh[0];
    plan->options.dim = mesh->dim;
    CMGI_TRY(cmgi_mesh_check(mesh, &report));
    /* the worst cell, as few bad ones make iteration counts grow, and what a reader left out */
    (void)cmgi_print_double(text, 4, report.quality);
    CMGI_TRY(cmg_hierarchy_set_attribute(h, "mesh_quality", text));
    if (mesh->note[0] != '\0') {
        CMGI_TRY(cmg_hierarchy_set_attribute(h, "mesh_note", mesh->note));
    }
    CMGI_TRY(choose_labels(ctx, plan, chain));
    cmgi_box_of(mesh->dim, mesh->nodes, mesh->x, chain->origin, high);
    for (int d = 0; d < mesh->dim; ++d) {
        chain->extent[d] = high[d] - chain->origin[d];
    }
    if (plan->options.mesh[0] == '\0' && plan->options.snap) {
        const cmgi_shape_options s = shape_options(plan);
        const int count = cmgi_shape_surfaces(&s, mesh, 0, NULL);
        CMGI_TRY(cmgi_alloc(ctx, count, sizeof *surface, &surface));
        snap = (cmgi_snap){cmgi_shape_surfaces(&s, mesh, count, surface), surface};
    }
    for (int r = 0; r + 1 < plan->options.levels; ++r) {
        CMGI_TRY(cmgi_mesh_refine(chain->mesh[r], &snap, &chain->mesh[r + 1]));
        CMGI_TRY(cmgi_progress(ctx, "refining", r + 1, plan->options.levels - 1));
    }
    return CMG_OK;
}

/* Vertices, edges, faces and cells of a mesh. */
typedef struct mesh_counts {
    cmg_size vertices;
    cmg_size edges;
    cmg_size faces;
    cmg_size cells;
    cmg_size fixed; /* facets with Dirichlet conditions */
} mesh_counts;

static mesh_counts refined(cmgi_cell cell, mesh_counts m)
{
    /* what is new inside a face and inside a cell */
    static const struct {
        int face_edges;
        int cell_edges;
        int cell_faces;
    } inner[CMGI_CELL_KINDS] = {[CMGI_TRI] = {0, 3, 0},
                                [CMGI_QUAD] = {0, 4, 0},
                                [CMGI_TET] = {3, 1, 8},
                                [CMGI_HEX] = {4, 6, 12}};
    const bool tensor = !cmgi_cell_simplex(cell);
    const int children = cmgi_cell_table(cell)->children;
    return (mesh_counts){.vertices = m.vertices + m.edges + (tensor ? m.faces + m.cells : 0),
                         .edges = 2 * m.edges + inner[cell].face_edges * m.faces +
                                  inner[cell].cell_edges * m.cells,
                         .faces = 4 * m.faces + inner[cell].cell_faces * m.cells,
                         .cells = children * m.cells,
                         .fixed = children / 2 * m.fixed};
}

/* Sizes of a level with the given space; entries a row as on large meshes. */
static cmgi_level_size size_of(const cmgi_plan *plan, cmgi_cell cell, mesh_counts m, int order)
{
    static const double entries[CMGI_CELL_KINDS][2] = {{7, 11.5}, {9, 16}, {15, 28}, {27, 64}};
    static const double weights[CMGI_CELL_KINDS][2] = {
        {1.75, 3.3}, {2.25, 4}, {1.9, 4.6}, {3.375, 8}};
    const int nc = plan->options.problem == CMG_PROBLEM_ELASTICITY ? cmgi_cell_table(cell)->dim : 1;
    cmg_size nodes = m.vertices;
    cmg_size fixed = cell == CMGI_TET ? m.fixed / 2 : m.fixed;
    if (order == 2) {
        nodes += m.edges + (cell == CMGI_QUAD ? m.cells : 0) +
                 (cell == CMGI_HEX ? m.faces + m.cells : 0);
        fixed *= cell == CMGI_TRI || cell == CMGI_QUAD ? 2 : 4;
    }
    if (plan->options.boundary == CMG_BOUNDARY_ELIMINATE) {
        nodes = nodes > fixed ? nodes - fixed : 1;
    }
    const double rows = (double)nodes * nc;
    return (cmgi_level_size){.rows = nodes * nc,
                             .nnz = (cmg_size)(rows * nc * entries[cell][order - 1]),
                             .p_nnz = (cmg_size)(rows * weights[cell][order - 1])};
}

/* A side lies between two cells, or is a facet; edges in 3D are looked for. */
static cmg_status count_coarsest(const cmgi_mesh_chain *chain, mesh_counts *m)
{
    const cmgi_mesh *mesh = chain->mesh[0];
    const cmg_size sides = (mesh->cells * cmgi_cell_table(mesh->cell)->facets + mesh->facets) / 2;
    *m = (mesh_counts){mesh->nodes, sides, 0, mesh->cells, 0};
    if (mesh->dim == 3) {
        cmgi_scoped_by(cmgi_entities_free) cmgi_entities e = {0};
        CMGI_TRY(cmgi_mesh_entities(mesh, false, &e));
        m->edges = e.edge.count;
        m->faces = sides;
    }
    for (cmg_size f = 0; f < mesh->facets; ++f) {
        m->fixed += chain->fixes[mesh->facet_label[f]];
    }
    return CMG_OK;
}

cmg_status cmgi_estimate_mesh(cmg_context *ctx, cmgi_plan *plan, cmg_generate_size *size)
{
    cmgi_mesh_chain chain = {0};
    mesh_counts counts[CMGI_MAX_LEVELS] = {{0}};
    CMGI_RELEASED(cmgi_chain_free, ctx, &chain);
    CMGI_TRY(make_coarsest(ctx, plan, &chain));
    CMGI_TRY(choose_labels(ctx, plan, &chain));
    const cmgi_mesh *mesh = chain.mesh[0];
    CMGI_TRY(count_coarsest(&chain, &counts[0]));
    for (int r = 0; r + 1 < plan->options.levels; ++r) {
        CMGI_CHECK(ctx, counts[r].cells <= INT32_MAX,
                   CMG_ERR_ARG, /* else those of finer overflow */
                   "%lld cells after %d refinements: over 2^31 - 1", (long long)counts[r].cells, r);
        counts[r + 1] = refined(mesh->cell, counts[r]);
    }
    plan->options.dim = mesh->dim;
    size->dim = mesh->dim;
    size->block_size = plan->options.problem == CMG_PROBLEM_ELASTICITY ? mesh->dim : 1;
    for (int l = 0; l < plan->levels; ++l) {
        const cmgi_level_size level =
            size_of(plan, mesh->cell, counts[plan->refinement[l]], plan->order[l]);
        cmgi_estimate_add(plan, l, &level, size);
    }
    if (plan->options.output_mesh) {
        const int refinement = plan->refinement[0];
        const mesh_counts shown =
            plan->order[0] == 2 ? refined(mesh->cell, counts[refinement]) : counts[refinement];
        const size_t bytes =
            (size_t)(shown.vertices * (mesh->dim * 8 + 4)) +
            (size_t)(shown.cells * cmgi_cell_table(mesh->cell)->corners) * sizeof(cmg_index);
        size->bytes += bytes;
        size->peak += bytes;
    }
    /* the finest mesh and its edges and faces, the spaces with the cells of nodes; an eighth more
     * for the coarser ones */
    const mesh_counts *finest = &counts[plan->options.levels - 1];
    const cmg_size local = cmgi_basis_nodes(cmgi_basis_of(plan->options.element, mesh->dim));
    size->peak += (size_t)(finest->vertices * mesh->dim * 8 + finest->edges * 8 +
                           finest->cells * (8 + local) * 4 + finest->cells * local * 8 +
                           finest->cells * 18 * 4) *
                  9 / 8;
    if (plan->options.assembly == CMG_ASSEMBLY_SPMV) {
        /* an entry of a cell matrix: itself, in the vector, in S as CSR and in S's format */
        const cmg_size rows = local * size->block_size;
        size->peak += (size_t)(finest->cells * rows * rows) * 48;
    }
    return CMG_OK;
}
