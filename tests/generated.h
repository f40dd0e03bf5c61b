/* Hierarchies that libcmgfem makes. */
#pragma once
#include "cmg_fem.h"
#include "test.h"

#define scoped_mesh scoped_by(cmgi_mesh_destroy) cmgi_mesh

static inline cmg_generate_options generate_defaults(void)
{
    cmg_generate_options options;
    cmg_generate_options_default(&options);
    return options;
}

/* The same for the enumerations of cmg_fem.h. */
#define FEM_WORD(kind, value) cmg_fem_enum_name(kind, (int)(value))

/* The defaults with what a text changes: "dim=3 cells=%d". */
TEST_PRINTF(1) static inline cmg_generate_options generate_options(const char *format, ...)
{
    cmg_generate_options options = generate_defaults();
    TEST_TEXT(text, format);
    CHECK_OK(cmg_generate_options_set(&options, text));
    return options;
}

TEST_PRINTF(2)
static inline void generate_set(cmg_generate_options *options, const char *format, ...)
{
    TEST_TEXT(text, format);
    CHECK_OK(cmg_generate_options_set(options, text));
}

static inline cmg_hierarchy *hierarchy_generated(const cmg_generate_options *options)
{
    cmg_hierarchy *h = NULL;
    CHECK_OK(cmg_hierarchy_generate(ctx, options, &h));
    return h;
}

TEST_PRINTF(1) static inline cmg_hierarchy *generated(const char *format, ...)
{
    TEST_TEXT(text, format);
    const cmg_generate_options options = generate_options("%s", text);
    return hierarchy_generated(&options);
}
