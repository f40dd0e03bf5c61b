/* Matrices whose rows a function tells. */
#pragma once
#include "csr/csr.h"

/* The length of row i; where columns is not NULL, its entries are written as well. */
typedef cmg_size (*cmgi_csr_row_fn)(const void *user, cmg_size i, cmg_index *columns,
                                    double *values);
/* Asks for every row twice, in parallel: to count its entries and to write them. */
cmg_status cmgi_csr_by_rows(cmg_context *ctx, cmg_size rows, cmg_size cols, cmgi_csr_row_fn row,
                            const void *user, cmgi_csr *M);
