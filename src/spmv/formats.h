/* The list of formats: a row each, which lives in the format's own file. */
#pragma once
#include "spmv/matrix.h"

/* Row k of the list, NULL past the last. */
const cmgi_format *cmgi_format_at(int k);
/* Row of a format, NULL when the id is unknown. */
const cmgi_format *cmgi_format_find(cmg_format id);
/* Bytes that a product with a matrix of this row statistics reads, from its format's row; options
 * resolved. */
size_t cmgi_format_bytes(const cmgi_row_statistics *s, const cmg_matrix_options *options);
