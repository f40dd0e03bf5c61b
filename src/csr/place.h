/* A CSR of a set-up whose three arrays are at a place, on the host or on the device. */
#pragma once
#include "core/place.h"
#include "csr/csr.h"

/* Counts of n rows become the sums of those before them, count[n] all of them: *total. */
cmg_status cmgi_offsets_at(cmg_context *ctx, cmgi_place at, cmg_size n, cmg_size *count,
                           cmg_size *total);
/* From lengths of rows in indptr[0 .. rows - 1] to offsets, and arrays for the *nnz entries. */
cmg_status cmgi_csr_open_at(cmg_context *ctx, cmgi_place at, cmgi_csr *M, cmg_size *nnz);
/* T = A^T with its nnz entries, rows sorted. */
cmg_status cmgi_csr_transpose_at(cmg_context *ctx, cmgi_place at, const cmg_csr *A, cmg_size nnz,
                                 cmgi_csr *T);
void cmgi_csr_free_at(cmg_context *ctx, cmgi_place at, cmgi_csr *M);
