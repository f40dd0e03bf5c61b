/* The table of cmg_generate_options, what does not go together, and the list of levels. */
#include "fem/generate.h"

#include "core/options.h"

#include <math.h>
#include <string.h>

#define ROW_AS(key, ...) CMGI_OPTION_ROW_AS(key, cmg_generate_options, __VA_ARGS__)
#define ROW(group, kind, field, ...) ROW_AS(#field, group, kind, field, __VA_ARGS__)
#define MESH(...) ROW("Mesh", __VA_ARGS__)
#define PROBLEM(...) ROW("Problem", __VA_ARGS__)
#define HIERARCHY(...) ROW("Hierarchy", __VA_ARGS__)
#define WORDS(kind_) .name = cmg_fem_enum_name, .words = kind_

static const cmg_option rows[] = {
    MESH(WORD, element, WORDS("element"),
         .text = "finite element; with a mesh file that of its cells, unless given"),
    MESH(INT, dim, .standard = 2, .low = 2, .high = 3,
         .text = "dimension; a mesh file has its own"),
    MESH(WORD, shape, WORDS("shape"), .text = "built-in domain"),
    MESH(TEXT, mesh, .words = "FILE",
         .text = "coarsest mesh in place of a shape: gmsh or MFEM; others by the Python package"),
    MESH(SIZE, cells, .standard = 64, .low = 1, .high = 1 << 24,
         .text = "cells along a unit edge on the finest level"),
    MESH(INT, levels, .high = CMGI_MAX_LEVELS - 1,
         .text = "mesh levels; 0 = as many as possible, with a mesh file 3"),
    MESH(FLAG, order_coarsening,
         .text = "q2, p2: use q1, p1 below the first level, first on the same mesh"),
    MESH(REAL, length, .high = 1e6,
         .text = "beam: length over height, 0 = 4; lshape: side over width of the arms, 0 = 2"),
    MESH(INT, columns, .standard = 2, .low = 1, .high = 10000, .text = "holes: unit tiles along x"),
    MESH(INT, rows, .standard = 1, .low = 1, .high = 10000, .text = "holes: unit tiles along y"),
    MESH(FLAG, alternate, .text = "holes: in every other tile only"),
    MESH(REAL, distort, .high = 0.5,
         .text = "shift the coarsest mesh's inner nodes by up to X/2 cell widths"),
    MESH(FLAG, smooth, .text = "bend a shape's coarsest mesh by sines in place of random shifts"),
    MESH(REAL, grading, .standard = 1, .low = 1, .high = 1e12,
         .text = "largest over smallest cell along each axis of the coarsest mesh"),
    MESH(REAL, aspect, .standard = 1, .open_low = true, .high = 1e12,
         .text = "stretch the domain along x"),
    PROBLEM(WORD, problem, WORDS("problem"), .text = "equation"),
    PROBLEM(WORD, coefficient, WORDS("coefficient"), .text = "of the conduction or the stiffness"),
    PROBLEM(TEXT, group_coefficients, .words = "LIST",
            .text =
                "mesh file: factors of the coefficient in groups of cells, as in steel=100,7=0.5"),
    PROBLEM(REAL, contrast, .standard = 100, .open_low = true, .high = 1e12,
            .text = "of the coefficient"),
    PROBLEM(REAL, angle, .low = -360, .high = 360, .text = "anisotropic: degrees from the x axis"),
    PROBLEM(REAL, time_step, .standard = 0.01, .open_low = true, .high = 1e12,
            .text = "heat: time step"),
    PROBLEM(REAL, young, .standard = 1, .open_low = true, .high = 1e15,
            .text = "elasticity: Young's modulus"),
    PROBLEM(REAL, poisson_ratio, .standard = 0.3, .low = -1, .open_low = true, .high = 0.499999,
            .text = "elasticity: Poisson's ratio"),
    PROBLEM(REAL, velocity, .standard = 1, .low = -INFINITY, .high = INFINITY,
            .text = "convection: speed"),
    PROBLEM(REAL, reaction, .high = 1e12, .text = "convection: reaction rate"),
    ROW_AS("dirichlet", "Problem", WORD, boundary, WORDS("boundary"),
           .text = "form of the Dirichlet conditions"),
    PROBLEM(TEXT, dirichlet_labels, .words = "LIST",
            .text = "boundaries that have them, as in left,top; all if not given, on a beam left"),
    PROBLEM(TEXT, flux_labels, .words = "LIST",
            .text = "boundaries with a given flux or traction, with load source"),
    PROBLEM(REALS, flux, .low = -INFINITY, .high = INFINITY,
            .text = "the flux, one number, or the traction vector, as in 0,-1"),
    PROBLEM(REAL, strength, .standard = 1, .low = -INFINITY, .high = INFINITY,
            .text = "load source: f = X, elasticity: a load of -X along the last axis"),
    PROBLEM(WORD, load, WORDS("load"), .text = "right-hand side, or the solution behind it"),
    ROW_AS("coarse", "Hierarchy", WORD, coarsening, WORDS("coarsening"), .text = "coarse matrices"),
    HIERARCHY(WORD, numbering, .words = "numbering", .text = "of the unknowns"),
    HIERARCHY(SIZE, seed, .standard = 1, .high = INFINITY,
              .text = "of random numbering, distortion, coefficient"),
    HIERARCHY(WORD, assembly, WORDS("assembly"), .text = "how matrices are summed up"),
    HIERARCHY(INT, quadrature, .high = 6, .text = "points an axis, 0 = order + 1"),
    HIERARCHY(FLAG, general,
              .text = "take the way of unstructured meshes on squares and cubes too"),
    HIERARCHY(FLAG, snap, .standard = true,
              .text = "refined boundaries of holes and rings go on their circles"),
    HIERARCHY(FLAG, coords, .standard = true, .text = "store coordinates"),
    HIERARCHY(
        FLAG, elements,
        .text =
            "store elements of the finest level, and of others that repeat, for ebe and the like"),
    HIERARCHY(FLAG, output_mesh, .standard = true,
              .text = "store the finest mesh, which solve --output x.vtu needs"),
    HIERARCHY(FLAG, templates,
              .text = "q1 on equal cells: matrices as templates in memory, CSR in files, no rhs"),
};

static const cmgi_option_table table = CMGI_OPTION_TABLE(cmg_generate_options, rows);

CMGI_OPTION_FUNCTIONS(cmg_generate_options, cmg_generate_option, table)

/* AUTO, shapes that exist in one dimension only, and what only shapes, or those made from lattices,
 * can have. */
static cmg_status choose_shape(cmg_context *ctx, cmg_generate_options *o)
{
    const bool file = o->mesh[0] != '\0';
    if (!file && o->shape == CMG_SHAPE_AUTO) {
        o->shape = o->dim == 3 ? CMG_SHAPE_CUBE : CMG_SHAPE_SQUARE;
    }
    const char *name = cmg_fem_enum_name("shape", (int)o->shape);
    const bool needs_3d = o->shape == CMG_SHAPE_CUBE || o->shape == CMG_SHAPE_FICHERA;
    const bool ring = o->shape == CMG_SHAPE_HOLES || o->shape == CMG_SHAPE_ANNULUS;
    const bool needs_2d = o->shape == CMG_SHAPE_SQUARE || ring;
    CMGI_CHECK(ctx, file || (!(needs_3d && o->dim == 2) && !(needs_2d && o->dim == 3)), CMG_ERR_ARG,
               "shape %s does not exist in %d dimensions", name, o->dim);
    CMGI_CHECK(ctx, o->grading <= 1 || (!file && !ring), CMG_ERR_ARG,
               "grading %g: %s cannot be graded", o->grading, file ? o->mesh : name);
    CMGI_CHECK(ctx, !o->smooth || !file, CMG_ERR_ARG,
               "%s: smooth distortion is for built-in shapes", o->mesh);
    return CMG_OK;
}

/* Levels down to two cells a side, or the number asked for. */
static cmg_status choose_levels(cmg_context *ctx, cmgi_plan *plan)
{
    cmg_generate_options *o = &plan->options;
    if (o->mesh[0] != '\0') {
        o->levels = o->levels == 0 ? 3 : o->levels;
        return CMG_OK;
    }
    int most = 1;
    cmg_size cells = o->cells;
    while (cells % 2 == 0 && cells / 2 >= 2 && most < CMGI_MAX_LEVELS - 1) {
        cells /= 2;
        ++most;
    }
    if (o->levels == 0) {
        o->levels = most;
    }
    const cmg_size divisor = (cmg_size)1 << (o->levels - 1);
    CMGI_CHECK(ctx, o->cells % divisor == 0, CMG_ERR_ARG,
               "%lld cells cannot be halved %d times for %d levels", (long long)o->cells,
               o->levels - 1, o->levels);
    plan->coarsest_cells = o->cells / divisor;
    return CMG_OK;
}

/* Splits a list at its commas. */
static cmg_status split_list(cmg_context *ctx, const char *list, cmgi_names *names)
{
    const char *text = list;
    while (*text != '\0') {
        const size_t length = strcspn(text, ",");
        CMGI_CHECK(ctx, length > 0 && length < CMGI_NAME_LENGTH && names->count < CMGI_MAX_NAMES,
                   CMG_ERR_ARG, "'%s' is no list of at most %d short entries", list,
                   CMGI_MAX_NAMES);
        memcpy(names->name[names->count], text, length);
        names->name[names->count++][length] = '\0';
        text += length + (text[length] == ',' ? 1 : 0);
    }
    return CMG_OK;
}

static cmg_status choose_labels(cmg_context *ctx, cmgi_plan *plan)
{
    const cmg_generate_options *o = &plan->options;
    const bool beam = o->mesh[0] == '\0' && o->shape == CMG_SHAPE_BEAM;
    const char *all = beam ? "left" : "";
    CMGI_TRY(
        split_list(ctx, o->dirichlet_labels[0] != '\0' ? o->dirichlet_labels : all, &plan->fixed));
    CMGI_CHECK(ctx, o->flux_labels[0] == '\0' || o->load == CMG_LOAD_SOURCE, CMG_ERR_ARG,
               "a flux goes with load source only: load %s has its own",
               cmg_fem_enum_name("load", (int)o->load));
    CMGI_TRY(split_list(ctx, o->flux_labels, &plan->flux));
    CMGI_CHECK(ctx, o->group_coefficients[0] == '\0' || o->mesh[0] != '\0', CMG_ERR_ARG,
               "group coefficients need a mesh file: built-in shapes have no groups of cells");
    return split_list(ctx, o->group_coefficients, &plan->factors);
}

/* Levels that are one stencil each, cut at the rim. */
static cmg_status check_templates(cmg_context *ctx, const cmgi_plan *plan)
{
    const cmg_generate_options *o = &plan->options;
    const bool constant =
        o->coefficient == CMG_COEFFICIENT_CONSTANT || o->coefficient == CMG_COEFFICIENT_ANISOTROPIC;
    CMGI_CHECK(
        ctx,
        !o->templates ||
            (plan->grid && o->element == CMG_ELEMENT_Q1 && !(o->distort > 0) && constant &&
             o->problem != CMG_PROBLEM_ELASTICITY && !o->elements && ctx->group == NULL &&
             o->boundary == CMG_BOUNDARY_ELIMINATE && o->dirichlet_labels[0] == '\0' &&
             o->coarsening == CMG_COARSENING_REDISCRETISED &&
             o->numbering == CMG_NUMBERING_GENERATED),
        CMG_ERR_ARG,
        "templates are for Q1 on squares and cubes of equal cells with one unknown a node, a "
        "constant coefficient, eliminated boundaries on all sides and coarse matrices of "
        "their own, as generated, on one rank");
    return CMG_OK;
}

cmg_status cmgi_plan_make(cmg_context *ctx, const cmg_generate_options *options, cmgi_plan *plan)
{
    *plan = (cmgi_plan){0};
    cmg_generate_options *o = &plan->options;
    CMGI_TRY(cmgi_options_take(ctx, &table, options, o));
    const int order = cmgi_basis_of(o->element, o->dim).order;
    plan->simplex = cmgi_basis_of(o->element, o->dim).simplex;
    CMGI_CHECK(ctx, !o->order_coarsening || order == 2, CMG_ERR_ARG,
               "order coarsening needs element q2 or p2");
    o->quadrature = o->quadrature == 0 ? order + 1 : o->quadrature;
    CMGI_TRY(choose_shape(ctx, o));
    CMGI_TRY(choose_levels(ctx, plan));
    CMGI_TRY(choose_labels(ctx, plan));
    plan->grid = o->mesh[0] == '\0' && o->flux_labels[0] == '\0' && !plan->simplex && !o->general &&
                 !o->smooth && !(o->grading > 1) && o->assembly == CMG_ASSEMBLY_ROWS &&
                 (o->shape == CMG_SHAPE_SQUARE || o->shape == CMG_SHAPE_CUBE);
    plan->levels = 0;
    for (int l = 0; l < o->levels; ++l) {
        plan->order[plan->levels] = l > 0 && o->order_coarsening ? 1 : order;
        plan->refinement[plan->levels++] = o->levels - 1 - l;
        if (l == 0 && o->order_coarsening) { /* the same mesh, by linear functions */
            plan->order[plan->levels] = 1;
            plan->refinement[plan->levels++] = o->levels - 1;
        }
    }
    return check_templates(ctx, plan);
}
