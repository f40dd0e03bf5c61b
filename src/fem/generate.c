/* A hierarchy from options: levels, attributes, numbering. */
#include "core/ranks.h"
#include "core/memory.h"
#include "core/report.h"
#include "core/number.h"
#include "core/options.h"
#include "fem/generate.h"
#include "hierarchy/numbering.h"
#include "hierarchy/hierarchy.h"

#include <string.h>

/* Whether several ranks can make their rows each. */
static bool has_slabs(const cmgi_plan *plan)
{
    const cmg_generate_options *o = &plan->options;
    const bool balanced = o->boundary == CMG_BOUNDARY_NEUMANN && o->load == CMG_LOAD_SOURCE;
    return plan->grid && !balanced && !o->elements && o->numbering == CMG_NUMBERING_GENERATED;
}

cmg_status cmg_generate_estimate(cmg_context *ctx, const cmg_generate_options *options,
                                 cmg_generate_size *size)
{
    CMGI_CONTEXT(ctx);
    CMGI_CHECK(ctx, options != NULL && size != NULL, CMG_ERR_ARG, "an argument is NULL");
    cmgi_plan plan;
    CMGI_TRY(cmgi_plan_make(ctx, options, &plan));
    cmg_generate_size made = {
        .levels = plan.levels,
        .dim = plan.options.dim,
        .block_size = plan.options.problem == CMG_PROBLEM_ELASTICITY ? plan.options.dim : 1};
    CMGI_TRY(plan.grid ? cmgi_estimate_grid(ctx, &plan, &made)
                       : cmgi_estimate_mesh(ctx, &plan, &made));
    CMGI_CHECK(ctx, made.rows <= INT32_MAX, CMG_ERR_ARG, "%lld unknowns are more than 2^31 - 1",
               (long long)made.rows);
    made.file_size = plan.options.templates ? made.file_size : made.bytes;
    made.by_rows = has_slabs(&plan) && plan.options.coarsening != CMG_COARSENING_GALERKIN;
    return cmgi_sized_fill(ctx, "cmg_generate_size", &made, sizeof made, size);
}

static cmg_status set_number(cmg_hierarchy *h, const char *key, double value)
{
    char text[CMGI_NUMBER_LENGTH];
    (void)cmgi_format_double(text, value);
    return cmg_hierarchy_set_attribute(h, key, text);
}

/* Numbers that differ from the default, under their keys; those that have been chosen are facts of
 * the levels. */
static cmg_status describe_numbers(const cmg_generate_options *o, cmg_hierarchy *h)
{
    static const char *const axis[] = {"flux", "flux_y", "flux_z"};
    for (int i = 0; cmg_generate_option(i) != NULL; ++i) {
        const cmg_option *row = cmg_generate_option(i);
        const double value = cmgi_option_number(row, o);
        const bool number = row->type != CMG_OPTION_WORD && row->type != CMG_OPTION_TEXT;
        const bool listed = strcmp(row->group, "Hierarchy") != 0 || strcmp(row->key, "seed") == 0;
        const bool chosen = strcmp(row->key, "dim") == 0 || strcmp(row->key, "levels") == 0 ||
                            strcmp(row->key, "order_coarsening") == 0;
        const bool cells = strcmp(row->key, "cells") == 0;
        if (number && listed && !chosen &&
            (cells ? o->mesh[0] == '\0' : value < row->standard || value > row->standard)) {
            CMGI_TRY(set_number(h, row->key, value));
        }
    }
    for (int d = 0; d < 3; ++d) {
        if (o->flux[d] < 0 || o->flux[d] > 0) {
            CMGI_TRY(set_number(h, axis[d], o->flux[d]));
        }
    }
    return CMG_OK;
}

static cmg_status describe(const cmgi_plan *plan, cmg_hierarchy *h)
{
    static const char *const element[] = {"Q1", "Q2", "P1", "P2"};
    const cmg_generate_options *o = &plan->options;
    const bool elastic = o->problem == CMG_PROBLEM_ELASTICITY;
    const bool symmetric =
        o->problem != CMG_PROBLEM_CONVECTION && o->boundary != CMG_BOUNDARY_IDENTITY_KEEP;
    CMGI_TRY(cmg_hierarchy_set_attribute(h, "generator", "CascadeMG"));
    CMGI_TRY(cmg_hierarchy_set_attribute(h, "element", element[o->element]));
    CMGI_TRY(set_number(h, "dim", o->dim));
    CMGI_TRY(set_number(h, "block_size", elastic ? o->dim : 1));
    CMGI_TRY(set_number(h, "symmetric", symmetric));
    const struct {
        const char *key;
        int value;
    } names[] = {{"problem", (int)o->problem},
                 {"coefficient", (int)o->coefficient},
                 {"boundary", (int)o->boundary},
                 {"load", (int)o->load},
                 {"coarsening", (int)o->coarsening}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        CMGI_TRY(cmg_hierarchy_set_attribute(h, names[i].key,
                                             cmg_fem_enum_name(names[i].key, names[i].value)));
    }
    CMGI_TRY(cmg_hierarchy_set_attribute(h, "numbering",
                                         cmg_enum_name("numbering", CMG_NUMBERING_GENERATED)));
    const char *shape = o->mesh[0] != '\0' ? "file" : cmg_fem_enum_name("shape", (int)o->shape);
    CMGI_TRY(cmg_hierarchy_set_attribute(h, "shape", shape));
    return describe_numbers(o, h);
}

/* The numbering asked for; `order` is known already where it follows coarse cells. */
static cmg_status number(const cmgi_plan *plan, cmg_index *const *order, cmg_hierarchy *h)
{
    const cmg_numbering numbering = plan->options.numbering;
    if (numbering != CMG_NUMBERING_CELLS) {
        return cmg_hierarchy_renumber(h, numbering, plan->options.seed);
    }
    CMGI_TRY(cmgi_hierarchy_reorder(h, order));
    return cmg_hierarchy_set_attribute(h, "numbering", cmg_enum_name("numbering", (int)numbering));
}

/* All levels, or their slabs; *h is for the caller to destroy where it fails. */
static cmg_status generate_all(cmg_context *ctx, cmgi_plan *plan, cmg_hierarchy **h)
{
    cmgi_scoped_by(cmgi_orders_free) cmgi_orders order = {NULL};
    CMGI_TRY(cmg_hierarchy_create(ctx, plan->levels, h));
    CMGI_TRY(cmgi_generate_levels(ctx, plan, *h, order));
    CMGI_TRY(cmg_hierarchy_select(*h, 0, cmg_hierarchy_levels(*h) - plan->levels));
    CMGI_TRY(cmgi_make_compatible(plan, *h));
    CMGI_TRY(describe(plan, *h));
    return plan->slabs ? CMG_OK : number(plan, order, *h);
}

/* This rank's rows: made alone on grids, else taken from the whole. */
static cmg_status generate_own(cmg_context *ctx, cmgi_plan *plan, cmg_hierarchy **h)
{
    cmgi_scoped_by(cmg_hierarchy_destroy) cmg_hierarchy *whole = NULL;
    plan->slabs = has_slabs(plan);
    if (plan->slabs) {
        return generate_all(ctx, plan, h);
    }
    cmgi_group_alone(ctx, true);
    const cmg_status status = generate_all(ctx, plan, &whole);
    cmgi_group_alone(ctx, false);
    return status == CMG_OK ? ctx->options.ranks->take_rows(ctx, whole, h) : status;
}

/*
 * Refuses what surely does not fit, before the system ends the program for it. Estimates are exact
 * on grids; on meshes, which are looked at for that only where refinement multiplies them, they are
 * up to twice what is taken. Ranks hold parts, of a size that they do not know yet.
 */
static cmg_status check_memory(cmg_context *ctx, const cmg_generate_options *options,
                               const cmgi_plan *plan)
{
    cmg_generate_size size = {.size = sizeof size};
    size_t free_bytes = 0;
    if (ctx->group != NULL || (!plan->grid && plan->levels == 1)) {
        return CMG_OK;
    }
    CMGI_TRY(cmg_generate_estimate(ctx, options, &size));
    CMGI_TRY(cmgi_host_memory_free(ctx, &free_bytes));
    const size_t needed = size.exact ? size.bytes : size.bytes / 2;
    CMGI_CHECK(ctx, needed <= free_bytes, CMG_ERR_MEMORY,
               "the hierarchy needs at least %zu bytes of host memory, %zu are free", needed,
               free_bytes);
    return CMG_OK;
}

cmg_status cmg_hierarchy_generate(cmg_context *ctx, const cmg_generate_options *options,
                                  cmg_hierarchy **h)
{
    CMGI_CONTEXT(ctx);
    CMGI_CHECK(ctx, options != NULL && h != NULL, CMG_ERR_ARG, "an argument is NULL");
    cmgi_plan plan;
    cmgi_scoped_by(cmg_hierarchy_destroy) cmg_hierarchy *made = NULL;
    CMGI_TRY(cmgi_plan_make(ctx, options, &plan));
    CMGI_TRY(check_memory(ctx, options, &plan));
    CMGI_TRY((ctx->group != NULL ? generate_own : generate_all)(ctx, &plan, &made));
    *h = cmgi_pass_on(&made);
    return CMG_OK;
}
