/*
 * SPAI on the device: least squares alone. Both functions may leave the work to the CPU (*made =
 * false, a line in the log says why): rows whose least squares problem is too large.
 */
#pragma once
#include "csr/resident.h"

/* A square CSR whose arrays are on the device. */
typedef struct cmgi_device_csr {
    cmg_size rows;
    cmg_size nnz;
    cmg_size *indptr;   /* rows + 1 */
    cmg_index *indices; /* nnz */
    double *values;     /* nnz */
    const double *s;    /* the matrix is S A S with S = diag(s); NULL: A */
} cmgi_device_csr;

static inline cmgi_device_csr cmgi_device_csr_view(const cmg_csr *A, cmg_size nnz, const double *s)
{
    const cmgi_device_csr view = {
        A->rows, nnz, (cmg_size *)A->indptr, (cmg_index *)A->indices, (double *)A->values, s};
    return view;
}

/* Values of S become those of SPAI of A on S's pattern. */
cmg_status cmgi_spai_rows_cuda(cmg_context *ctx, const cmgi_device_csr *A, bool counted,
                               cmgi_device_csr *S, bool *made);
/* As cmgi_spai_static, of matrices on the host. A's rows may not hold a column twice. */
cmg_status cmgi_spai_static_cuda(cmg_context *ctx, const cmg_csr *A, bool counted, cmgi_csr *S,
                                 bool *made);
