/* A model matrix as a linear system, for tests of iterations. */
#pragma once
#include "core/vector.h"
#include "krylov/krylov.h"
#include "spmv/matrix.h"
#include "test.h"

/* -u'' with a shift on n points: entries -1, 2 + shift, -1, over `divisor`. */
static inline cmgi_csr laplacian_csr(cmg_size n, double shift, double divisor)
{
    cmgi_csr A = {0};
    CHECK_OK(cmgi_csr_alloc(ctx, n, n, 3 * n - 2, &A));
    cmg_size k = 0;
    for (cmg_size i = 0; i < n; ++i) {
        A.indptr[i] = k;
        for (cmg_size j = i > 0 ? i - 1 : 0; j < n && j <= i + 1; ++j) {
            A.indices[k] = (cmg_index)j;
            A.values[k++] = (i == j ? 2 + shift : -1) / divisor;
        }
    }
    return A;
}

static inline cmg_matrix *laplacian(cmg_size n, double shift)
{
    scoped_csr A = laplacian_csr(n, shift, 1);
    return matrix_new(&A.view, NULL);
}

static inline cmg_status laplacian_apply(void *user, cmg_precision p, const void *x, void *y,
                                         double *xy)
{
    const cmg_matrix *A = user;
    const cmgi_writeback w = {.kind = CMGI_WB_APPLY, .y = y};
    CMGI_TRY(cmgi_matrix_spmv(A, &w, x));
    return xy != NULL ? A->ctx->backend->dot(A->ctx, p, A->rows, 1, x, y, xy) : CMG_OK;
}

static inline cmg_status laplacian_residual(void *user, const double *b, const double *x, double *r)
{
    const cmgi_writeback w = {.kind = CMGI_WB_RESIDUAL, .b = b, .y = r};
    return cmgi_matrix_spmv(user, &w, x);
}
