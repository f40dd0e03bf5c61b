/* A square matrix on the device as a dense array there, and its inverse. */
#pragma once
#include "csr/resident.h"

/* What a dense matrix is like. */
typedef struct cmgi_dense_look {
    double largest;    /* |x_ij| */
    double difference; /* largest |x_ij - x_ji| */
} cmgi_dense_look;

typedef struct cmgi_dense_kernels {
    /* X = A by rows */
    cmg_status (*expand)(cmg_context *ctx, const cmg_csr *A, double *X, cmgi_dense_look *look);
    /* As backend.invert, of X on the device; spoilt where it is not definite. */
    cmg_status (*invert)(cmg_context *ctx, cmg_size n, double largest, double *X, bool *definite);
} cmgi_dense_kernels;

/* NULL on a backend without a memory of its own. */
const cmgi_dense_kernels *cmgi_dense_of(const cmg_context *ctx);
