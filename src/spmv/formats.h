/* The list of formats: a row each, which lives in the format's own file; in a context that was
 * given them, those of libcmgelements too. */
#pragma once
#include "spmv/matrix.h"

/* What libcmgelements gives a context. */
struct cmg_formats {
    int count;
    const cmgi_format *const *row;
};

/* Row k of the list, NULL past the last. */
const cmgi_format *cmgi_format_at(const cmg_context *ctx, int k);
/* Row of a format, NULL when the id is unknown. */
const cmgi_format *cmgi_format_find(const cmg_context *ctx, cmg_format id);
/* CMG_ERR_UNSUPPORTED for a known format that this build, or the context, leaves out. */
cmg_status cmgi_format_check(cmg_context *ctx, cmg_format format);
/* Makes a matrix by measured choice, `--format tune`, from a checked CSR and options. */
typedef cmg_status (*cmgi_measured_choice)(cmg_context *ctx, const cmg_csr *csr,
                                           const cmg_matrix_options *options, cmg_matrix **A);
/* Not NULL once cmgi_format_check has let CMG_FORMAT_TUNE pass. */
cmgi_measured_choice cmgi_format_measured(void);
/* Bytes that a product with a matrix of this row statistics reads, from its format's row; options
 * resolved. */
size_t cmgi_format_bytes(const cmg_context *ctx, const cmgi_row_statistics *s,
                         const cmg_matrix_options *options);
