/* The list of formats. */
#include "spmv/formats.h"

#include "core/status.h"

#ifndef CMGI_FORMAT_LIST
#define CMGI_FORMAT_LIST "core/formats.inc"
#endif

#ifdef CMGI_HAVE_STUDIES
#include "studies/tune.h"
#define CMGI_STUDY CMGI_FORMAT
static const cmgi_measured_choice measured = cmgi_tune;
#else
#define CMGI_STUDY(row, file, name, text)
static const cmgi_measured_choice measured = NULL;
#endif
#define CMGI_ELEMENTS(row, file, name, text)
#define CMGI_FORMAT_CHOICE(row, name, text)
#define CMGI_FORMAT(row, file, name, text) extern const cmgi_format cmgi_format_##row;
#include CMGI_FORMAT_LIST
#undef CMGI_FORMAT

static const cmgi_format *const formats[] = {
#define CMGI_FORMAT(row, file, name, text) &cmgi_format_##row,
#include CMGI_FORMAT_LIST
#undef CMGI_FORMAT
};

enum { LISTED = (int)(sizeof formats / sizeof formats[0]) };

const cmgi_format *cmgi_format_at(const cmg_context *ctx, int k)
{
    const cmg_formats *more = ctx->options.elements;
    const int known = LISTED + (more != NULL ? more->count : 0);
    return k < 0 || k >= known ? NULL : k < LISTED ? formats[k] : more->row[k - LISTED];
}

const cmgi_format *cmgi_format_find(const cmg_context *ctx, cmg_format id)
{
    const cmgi_format *row = cmgi_format_at(ctx, 0);
    for (int k = 1; row != NULL && row->id != id; ++k) {
        row = cmgi_format_at(ctx, k);
    }
    return row;
}

cmgi_measured_choice cmgi_format_measured(void)
{
    return measured;
}

cmg_status cmgi_format_check(cmg_context *ctx, cmg_format format)
{
    const bool chosen =
        format == CMG_FORMAT_AUTO || (format == CMG_FORMAT_TUNE && measured != NULL);
    const bool found = chosen || cmgi_format_find(ctx, format) != NULL;
    const bool elements = format >= CMG_FORMAT_NBN && format <= CMG_FORMAT_EBESYM;
    const char *name = cmg_enum_name("format", (int)format);
    CMGI_CHECK(ctx, found || !elements, CMG_ERR_UNSUPPORTED,
               "format %s is one of libcmgelements, which cmg_elements_use puts into the options "
               "of a context",
               name);
    CMGI_CHECK(ctx, found, CMG_ERR_UNSUPPORTED,
               "format %s is one of the studies, which this build leaves out: build with "
               "-DCMG_STUDIES=ON",
               name);
    return CMG_OK;
}

size_t cmgi_format_bytes(const cmg_context *ctx, const cmgi_row_statistics *s,
                         const cmg_matrix_options *options)
{
    return cmgi_format_find(ctx, options->format)->bytes(s, options);
}
