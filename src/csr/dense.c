/* Dense arrays on the device: which backend has them. */
#include "csr/dense.h"

#include "core/backend.h"

extern const cmgi_dense_kernels cmgi_dense_cuda;

const cmgi_dense_kernels *cmgi_dense_of(const cmg_context *ctx)
{
    static const cmgi_dense_kernels *const kernels[2] = {NULL, CMGI_CUDA_FN(&cmgi_dense_cuda)};
    return kernels[cmgi_column(ctx)];
}
