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
#define CMGI_FORMAT_CHOICE(row, name, text)
#define CMGI_FORMAT(row, file, name, text) extern const cmgi_format cmgi_format_##row;
#include CMGI_FORMAT_LIST
#undef CMGI_FORMAT

static const cmgi_format *const formats[] = {
#define CMGI_FORMAT(row, file, name, text) &cmgi_format_##row,
#include CMGI_FORMAT_LIST
#undef CMGI_FORMAT
};

const cmgi_format *cmgi_format_at(int k)
{
    return k >= 0 && k < (int)(sizeof formats / sizeof formats[0]) ? formats[k] : NULL;
}

const cmgi_format *cmgi_format_find(cmg_format id)
{
    for (int k = 0; cmgi_format_at(k) != NULL; ++k) {
        if (formats[k]->id == id) {
            return formats[k];
        }
    }
    return NULL;
}

cmgi_measured_choice cmgi_format_measured(void)
{
    return measured;
}

cmg_status cmgi_format_check(cmg_context *ctx, cmg_format format)
{
    const bool chosen =
        format == CMG_FORMAT_AUTO || (format == CMG_FORMAT_TUNE && measured != NULL);
    CMGI_CHECK(ctx, chosen || cmgi_format_find(format) != NULL, CMG_ERR_UNSUPPORTED,
               "format %s is one of the studies, which this build leaves out: build with "
               "-DCMG_STUDIES=ON",
               cmg_enum_name("format", (int)format));
    return CMG_OK;
}

size_t cmgi_format_bytes(const cmgi_row_statistics *s, const cmg_matrix_options *options)
{
    return cmgi_format_find(options->format)->bytes(s, options);
}
