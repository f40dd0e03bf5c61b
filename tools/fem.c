/* The command with libcmgfem. */
#include "fem.h"

#include "cmg_fem.h"

bool tool_has_fem(void)
{
    return true;
}

const char *tool_enum_name(const char *kind, int value)
{
    const char *name = cmg_enum_name(kind, value);
    return name != NULL ? name : cmg_fem_enum_name(kind, value);
}

cmg_status tool_enum_parse(const char *kind, const char *name, int *value)
{
    const cmg_status status = cmg_enum_parse(kind, name, value);
    return status == CMG_OK ? status : cmg_fem_enum_parse(kind, name, value);
}

cmg_status tool_generate_q1(cmg_context *ctx, int dim, cmg_size cells, cmg_hierarchy **h)
{
    cmg_generate_options o;
    cmg_generate_options_default(&o);
    o.dim = dim;
    o.cells = cells;
    o.levels = 1;
    o.coords = false;
    o.output_mesh = false;
    return cmg_hierarchy_generate(ctx, &o, h);
}

cmg_status tool_write_vtu(const cmg_hierarchy *h, const char *path, int count,
                          const char *const *names, const double *const *vectors)
{
    return cmg_hierarchy_write_vtu(h, path, count, names, vectors);
}
