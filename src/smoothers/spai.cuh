/* What spai.cu and spai_pattern.cu share: a CSR on the device, and the least squares over it. */
#pragma once
#include "core/cuda.cuh"

extern "C" {
#include "smoothers/spai_cuda.h"
}

/* A square CSR whose arrays are on the device. */
typedef struct cmgi_device_csr {
    cmg_size rows;
    cmg_size nnz;
    cmg_size *indptr;   /* rows + 1 */
    cmg_index *indices; /* nnz */
    double *values;     /* nnz */
} cmgi_device_csr;

/* Values of S become those of SPAI of A on S's pattern; *made = false: a row is too large. */
cmg_status cmgi_spai_rows_cuda(cmg_context *ctx, const cmgi_device_csr *A, bool counted,
                               cmgi_device_csr *S, bool *made);

cmg_status cmgi_device_csr_alloc(cmg_context *ctx, cmg_size rows, cmg_size nnz, cmgi_device_csr *A);
void cmgi_device_csr_free(cmg_context *ctx, cmgi_device_csr *A);
/* A on the device; `values` false: space for them, not set. */
cmg_status cmgi_device_csr_send(cmg_context *ctx, const cmg_csr *A, bool values,
                                cmgi_device_csr *B);
/* A on the host. */
cmg_status cmgi_device_csr_fetch(cmg_context *ctx, const cmgi_device_csr *A, cmgi_csr *B);
