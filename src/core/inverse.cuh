/* The inverse of a dense matrix on the device (inverse_cuda.cu). */
#pragma once
#include "core/cuda.cuh"

/* As backend.invert, of X on the device; spoilt where it is not definite. */
cmg_status cmgi_cuda_invert_there(cmg_context *ctx, cmg_size n, double largest, double *X,
                                  bool *definite);
