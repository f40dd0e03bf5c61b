/* The table of cmg_matrix_options. */
#include "spmv/options.h"

#include "spmv/formats.h"

#include <string.h>

#define ROW(group, kind, field, ...)                                                               \
    CMGI_OPTION_ROW(cmg_matrix_options, group, kind, field, __VA_ARGS__)

static const cmg_option rows[] = {
    CMGI_MATRIX_ROWS(ROW),
    ROW("Storage", WORD, precision, .words = "matrix-precision",
        .text = "of vectors, sums and, unless `values` says otherwise, values"),
};

static const cmgi_option_table table = CMGI_OPTION_TABLE(cmg_matrix_options, rows);

CMGI_OPTION_FUNCTIONS(cmg_matrix_options, cmg_matrix_option, table)

cmg_status cmgi_matrix_options_take(cmg_context *ctx, const cmg_matrix_options *given,
                                    cmg_matrix_options *own)
{
    const size_t reach = offsetof(cmg_matrix_options, format) + sizeof given->format;
    if (given == NULL || given->size < reach || given->size > sizeof *given ||
        cmgi_format_find(ctx, given->format) == NULL) {
        CMGI_TRY(cmgi_options_take(ctx, &table, given, own));
        return cmgi_format_check(ctx, own->format);
    }
    /* a format of the list is good, whether or not the table of names has it */
    cmg_matrix_options listed;
    memcpy(&listed, given, given->size);
    listed.format = CMG_FORMAT_AUTO;
    CMGI_TRY(cmgi_options_take(ctx, &table, &listed, own));
    own->format = given->format;
    return CMG_OK;
}
