/* The command in a build without libcmgfem. */
#include "fem.h"

#include "status.h"

int cmd_generate(int argc, char **argv);
int cmd_transfer(int argc, char **argv);

int cmd_generate(int argc, char **argv)
{
    (void)argc;
    return usage_error("%s: this build has no generator (CMG_FEM is off)", argv[0]);
}

int cmd_transfer(int argc, char **argv)
{
    return cmd_generate(argc, argv);
}

bool tool_has_fem(void)
{
    return false;
}

const char *tool_enum_name(const char *kind, int value)
{
    return cmg_enum_name(kind, value);
}

cmg_status tool_enum_parse(const char *kind, const char *name, int *value)
{
    return cmg_enum_parse(kind, name, value);
}

cmg_status tool_generate_q1(cmg_context *ctx, int dim, cmg_size cells, cmg_hierarchy **h)
{
    (void)ctx;
    (void)dim;
    (void)cells;
    (void)h;
    return CMG_ERR_UNSUPPORTED;
}

cmg_status tool_write_vtu(const cmg_hierarchy *h, const char *path, int count,
                          const char *const *names, const double *const *vectors)
{
    (void)h;
    (void)path;
    (void)count;
    (void)names;
    (void)vectors;
    return CMG_ERR_UNSUPPORTED;
}
