/* A square CSR on the device as a dense array there; see resident.h. */
#include "core/each.h"
#include "csr/resident.cuh"

/* A, and X, which is 0 at first. */
typedef struct expansion {
    cmg_csr A;
    double *X;
    double *found; /* the largest |x_ij|, and the largest |x_ij - x_ji| */
} expansion;

CMGI_EACH_ROW(expand_row, expansion)
{
    const cmg_size end = real ? a.A.indptr[i + 1] : 0;
    double size = 0;
    for (cmg_size k = (real ? a.A.indptr[i] : 0) + lane; k < end; k += CMGI_STEP) {
        a.X[i * a.A.cols + a.A.indices[k]] = a.A.values[k];
        size = fmax(size, fabs(a.A.values[k]));
    }
    cmgi_raise_to(&a.found[0], size);
}

CMGI_EACH_INDEX(compare_across, expansion)
{
    const cmg_size n = a.A.rows;
    cmgi_raise_to(&a.found[1], fabs(a.X[i] - a.X[i % n * n + i / n]));
}

cmg_status cmgi_resident_expand(cmg_context *ctx, const cmg_csr *A, double *X,
                                cmgi_dense_look *look)
{
    CMGI_ON_DEVICE(ctx);
    const cmg_size n = A->rows;
    double host[2] = {0, 0};
    expansion a = {*A, X, NULL};
    cmgi_scratch scratch(ctx);
    CMGI_TRY(scratch.take_zero(2, &a.found));
    CMGI_TRY(cmgi_cuda_clear(ctx, X, (size_t)(n * n) * sizeof *X));
    CMGI_TRY(cmgi_expand_row_device(ctx, n, &a));
    CMGI_TRY(cmgi_compare_across_device(ctx, n * n, &a));
    CMGI_TRY(cmgi_to_host(ctx, host, a.found, sizeof host));
    *look = cmgi_dense_look{host[0], host[1]};
    return CMG_OK;
}
