/* What the command takes from libcmgfem. fem.c stands on it; fem_absent.c is for builds without. */
#pragma once
#include "cmg.h"

/* Is the generator in this build? */
bool tool_has_fem(void);
/* cmg_enum_name and cmg_enum_parse over the enumerations of all headers. */
const char *tool_enum_name(const char *kind, int value);
cmg_status tool_enum_parse(const char *kind, const char *name, int *value);
/* Level 0 of Q1 Poisson on `cells` a side alone; CMG_ERR_UNSUPPORTED without libcmgfem. */
cmg_status tool_generate_q1(cmg_context *ctx, int dim, cmg_size cells, cmg_hierarchy **h);
/* cmg_hierarchy_write_vtu; CMG_ERR_UNSUPPORTED without libcmgfem. */
cmg_status tool_write_vtu(const cmg_hierarchy *h, const char *path, int count,
                          const char *const *names, const double *const *vectors);
