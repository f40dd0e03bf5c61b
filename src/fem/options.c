/* Options of a generated hierarchy: defaults, checks, and the list of levels that follows. */
#include "fem/generate.h"

#include <math.h>
#include <string.h>

void cmg_generate_options_default(cmg_generate_options *options)
{
    *options = (cmg_generate_options){
        .dim = 2,
        .cells = 64,
        .columns = 2,
        .rows = 1,
        .aspect = 1,
        .grading = 1,
        .contrast = 100,
        .time_step = 0.01,
        .young = 1,
        .poisson_ratio = 0.3,
        .velocity = 1,
        .strength = 1,
        .seed = 1,
        .snap = true,
        .coords = true,
        .output_mesh = true,
    };
}

static cmg_status check_enumerations(cmg_context *ctx, const cmg_generate_options *o)
{
    const struct {
        const char *kind;
        int value;
    } rows[] = {{"element", (int)o->element},       {"shape", (int)o->shape},
                {"problem", (int)o->problem},       {"coefficient", (int)o->coefficient},
                {"boundary", (int)o->boundary},     {"load", (int)o->load},
                {"coarsening", (int)o->coarsening}, {"assembly", (int)o->assembly}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        CMGI_CHECK(ctx, cmg_fem_enum_name(rows[i].kind, rows[i].value) != NULL, CMG_ERR_ARG,
                   "%s %d does not exist", rows[i].kind, rows[i].value);
    }
    CMGI_CHECK(ctx, cmg_enum_name("numbering", (int)o->numbering) != NULL, CMG_ERR_ARG,
               "numbering %d does not exist", (int)o->numbering);
    return CMG_OK;
}

static cmg_status check_numbers(cmg_context *ctx, const cmg_generate_options *o)
{
    const struct {
        const char *name;
        double value;
        double low; /* excluded where `open` */
        double high;
        bool open;
    } rows[] = {{"dim", o->dim, 2, 3, false},
                {"cells", (double)o->cells, 1, 1 << 24, false},
                {"levels", o->levels, 0, CMGI_MAX_LEVELS - 1, false},
                {"length", o->length, 0, 1e6, false},
                {"columns", o->columns, 1, 10000, false},
                {"rows", o->rows, 1, 10000, false},
                {"distort", o->distort, 0, 0.5, false},
                {"aspect", o->aspect, 0, 1e12, true},
                {"grading", o->grading, 1, 1e12, false},
                {"contrast", o->contrast, 0, 1e12, true},
                {"angle", o->angle, -360, 360, false},
                {"time_step", o->time_step, 0, 1e12, true},
                {"young", o->young, 0, 1e15, true},
                {"poisson_ratio", o->poisson_ratio, -1, 0.499999, true},
                {"velocity", o->velocity, -1e12, 1e12, false},
                {"reaction", o->reaction, 0, 1e12, false},
                {"strength", o->strength, -1e15, 1e15, false},
                {"flux", o->flux[0], -1e15, 1e15, false},
                {"flux", o->flux[1], -1e15, 1e15, false},
                {"flux", o->flux[2], -1e15, 1e15, false},
                {"quadrature", o->quadrature, 0, 6, false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        const bool inside =
            rows[i].open ? rows[i].value > rows[i].low : rows[i].value >= rows[i].low;
        CMGI_CHECK(ctx, inside && rows[i].value <= rows[i].high, CMG_ERR_ARG,
                   "%s is %g, allowed is %s%g to %g", rows[i].name, rows[i].value,
                   rows[i].open ? "more than " : "", rows[i].low, rows[i].high);
    }
    return CMG_OK;
}

/* Shapes that exist in one dimension only, and AUTO. */
static cmg_status choose_shape(cmg_context *ctx, cmg_generate_options *o)
{
    if (o->mesh != NULL) {
        return CMG_OK;
    }
    if (o->shape == CMG_SHAPE_AUTO) {
        o->shape = o->dim == 3 ? CMG_SHAPE_CUBE : CMG_SHAPE_SQUARE;
    }
    const bool needs_3d = o->shape == CMG_SHAPE_CUBE || o->shape == CMG_SHAPE_FICHERA;
    const bool needs_2d = o->shape == CMG_SHAPE_SQUARE || o->shape == CMG_SHAPE_HOLES ||
                          o->shape == CMG_SHAPE_ANNULUS;
    CMGI_CHECK(ctx, !(needs_3d && o->dim == 2) && !(needs_2d && o->dim == 3), CMG_ERR_ARG,
               "shape %s does not exist in %d dimensions",
               cmg_fem_enum_name("shape", (int)o->shape), o->dim);
    return CMG_OK;
}

/* Only shapes made from lattices can be graded, and only shapes be bent. */
static cmg_status check_lattice(cmg_context *ctx, const cmg_generate_options *o)
{
    const bool ring = o->shape == CMG_SHAPE_HOLES || o->shape == CMG_SHAPE_ANNULUS;
    CMGI_CHECK(ctx, o->grading <= 1 || (o->mesh == NULL && !ring), CMG_ERR_ARG,
               "grading %g: %s cannot be graded", o->grading,
               o->mesh != NULL ? o->mesh : cmg_fem_enum_name("shape", (int)o->shape));
    CMGI_CHECK(ctx, !o->smooth || o->mesh == NULL, CMG_ERR_ARG,
               "%s: smooth distortion is for built-in shapes", o->mesh);
    return CMG_OK;
}

/* Levels down to two cells a side, or the number asked for. */
static cmg_status choose_levels(cmg_context *ctx, cmgi_plan *plan)
{
    cmg_generate_options *o = &plan->options;
    if (o->mesh != NULL) {
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

static void list_levels(cmgi_plan *plan)
{
    const cmg_generate_options *o = &plan->options;
    const int order = o->element == CMG_ELEMENT_Q2 || o->element == CMG_ELEMENT_P2 ? 2 : 1;
    plan->levels = 0;
    for (int l = 0; l < o->levels; ++l) {
        plan->order[plan->levels] = l > 0 && o->order_coarsening ? 1 : order;
        plan->refinement[plan->levels++] = o->levels - 1 - l;
        if (l == 0 && o->order_coarsening && order == 2) {
            plan->order[plan->levels] = 1;
            plan->refinement[plan->levels++] = o->levels - 1;
        }
    }
}

/* Splits a list of labels at its commas. */
static cmg_status split_labels(cmg_context *ctx, const char *list, cmgi_names *names)
{
    const char *text = list;
    while (*text != '\0') {
        const size_t length = strcspn(text, ",");
        CMGI_CHECK(ctx, length > 0 && length < CMGI_NAME_LENGTH && names->count < CMGI_MAX_NAMES,
                   CMG_ERR_ARG, "'%s' is no list of at most %d boundary labels", list,
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
    const bool beam = o->mesh == NULL && o->shape == CMG_SHAPE_BEAM;
    const char *fixed = o->dirichlet != NULL ? o->dirichlet : beam ? "left" : "";
    CMGI_TRY(split_labels(ctx, fixed, &plan->fixed));
    CMGI_CHECK(ctx, o->flux_labels == NULL || o->load == CMG_LOAD_SOURCE, CMG_ERR_ARG,
               "a flux goes with load source only: load %s has its own",
               cmg_fem_enum_name("load", (int)o->load));
    return o->flux_labels != NULL ? split_labels(ctx, o->flux_labels, &plan->flux) : CMG_OK;
}

bool cmgi_plan_fixes(const cmgi_plan *plan, const char *label)
{
    if (plan->options.boundary == CMG_BOUNDARY_NEUMANN) {
        return false;
    }
    for (int i = 0; i < plan->fixed.count; ++i) {
        if (strcmp(plan->fixed.name[i], label) == 0) {
            return true;
        }
    }
    return plan->fixed.count == 0;
}

cmg_status cmgi_plan_make(cmg_context *ctx, const cmg_generate_options *options, cmgi_plan *plan)
{
    *plan = (cmgi_plan){.options = *options};
    cmg_generate_options *o = &plan->options;
    CMGI_TRY(check_enumerations(ctx, o));
    CMGI_TRY(check_numbers(ctx, o));
    plan->simplex = o->element == CMG_ELEMENT_P1 || o->element == CMG_ELEMENT_P2;
    const int order = o->element == CMG_ELEMENT_Q2 || o->element == CMG_ELEMENT_P2 ? 2 : 1;
    CMGI_CHECK(ctx, !o->order_coarsening || order == 2, CMG_ERR_ARG,
               "order coarsening needs element q2 or p2");
    o->quadrature = o->quadrature == 0 ? order + 1 : o->quadrature;
    CMGI_TRY(choose_shape(ctx, o));
    CMGI_TRY(check_lattice(ctx, o));
    CMGI_TRY(choose_levels(ctx, plan));
    CMGI_TRY(choose_labels(ctx, plan));
    plan->grid = o->mesh == NULL && o->flux_labels == NULL && !plan->simplex && !o->general &&
                 !o->smooth && !(o->grading > 1) && o->assembly == CMG_ASSEMBLY_ROWS &&
                 (o->shape == CMG_SHAPE_SQUARE || o->shape == CMG_SHAPE_CUBE);
    list_levels(plan);
    return CMG_OK;
}
