/* A smoother made from a matrix alone, and its factors multiplied out. */
#pragma once
#include "smoothers/smoother.h"
#include "smoothers/model.h"

/* "name:key=value" of A; to be discarded. */
static inline cmgi_smoother_product *product_make(const cmgi_csr *A, const char *name)
{
    cmgi_smoother_product *product = calloc(1, sizeof *product);
    const cmgi_smoother_source source = {.ctx = ctx, .A = cmgi_csr_view(A)};
    CHECK_OK(cmgi_smoother_make(&source, name, 0, product));
    return product;
}

static inline void product_discard(cmgi_smoother_product *product)
{
    cmgi_smoother_product_clear(ctx, product);
    free(product);
}

/* The product of all factors, dense, malloc'ed. */
static inline double *product_dense(const cmgi_smoother_product *product)
{
    double *M = model_to_dense(&product->factor[0]);
    for (int f = 1; f < product->factors; ++f) {
        double *F = model_to_dense(&product->factor[f]);
        double *next = model_multiply(product->factor[f].rows, F, M);
        free(F);
        free(M);
        M = next;
    }
    return M;
}
