/* Dirichlet rows (dirichlet.h) of matrices on the device; marks are arrays there. */
#pragma once
#include "csr/resident.h"

typedef struct cmgi_dirichlet_kernels {
    /* found[j]: column j of P carries the unknown of a row that `fine` marks, and is an identity
     * row itself where `identity` tells. With `all`, which needs those, they all count where P is
     * zero in a marked row. The host waits for their number. */
    cmg_status (*below)(cmg_context *ctx, const cmg_csr *P, const bool *fine, const bool *identity,
                        bool all, bool *found, cmg_size *count);
    /* Whether n marks are the same; the host waits. */
    cmg_status (*same)(cmg_context *ctx, cmg_size n, const bool *a, const bool *b, bool *same);
    /* Whether M has a nonzero in a marked row or column; NULL = none is marked. The host waits. */
    cmg_status (*reach)(cmg_context *ctx, const cmg_csr *M, const bool *rows, const bool *cols,
                        bool *reached);
    /* The values of M, 0 in marked rows and columns. */
    cmg_status (*clean)(cmg_context *ctx, const cmg_csr *M, const bool *rows, const bool *cols,
                        double *values);
    /* d[i] = flag[i] ? 1 / diagonal[i] : 0 */
    cmg_status (*invert)(cmg_context *ctx, cmg_size n, const bool *flag, const double *diagonal,
                         double *d);
} cmgi_dirichlet_kernels;
