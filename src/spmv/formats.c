/* The list of formats. */
#include "spmv/formats.h"

#ifndef CMGI_FORMAT_LIST
#define CMGI_FORMAT_LIST "core/formats.inc"
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

size_t cmgi_format_bytes(const cmgi_row_statistics *s, const cmg_matrix_options *options)
{
    return cmgi_format_find(options->format)->bytes(s, options);
}
