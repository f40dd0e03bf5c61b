/* Dirichlet rows over several ranks, as transfer/dirichlet.h has them on one; collective. */
#pragma once
#include "ranks/rows.h"

/* The identity rows; *row NULL where there are none, or no others. */
cmg_status cmgi_rows_dirichlet(cmg_context *ctx, const cmgi_own_rows *A, bool **row,
                               cmg_size *count);
/* Those of the next level, see cmgi_dirichlet_below; `A` NULL = still to be formed. */
cmg_status cmgi_rows_dirichlet_below(cmg_context *ctx, const cmgi_own_rows *A,
                                     const cmgi_own_rows *P, const bool *fine,
                                     const cmg_size *coarse_part, bool **row, cmg_size *count);
/* Zeroes entries in marked rows, and in columns marked by the ranks that have them as rows; NULL,
 * on all ranks, = none is. */
cmg_status cmgi_rows_clean(cmg_context *ctx, const bool *rows, const bool *cols,
                           const cmg_size *col_part, cmgi_own_rows *P);
