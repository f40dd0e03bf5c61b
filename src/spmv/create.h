/* Matrices from CSR: checks, the choice of a format, and the way to the device. */
#pragma once
#include "spmv/choose.h"

/*
 * As cmg_matrix_create_csr, for a use: what is asked for is taken as the use allows (choose.h).
 */
cmg_status cmgi_matrix_create(cmg_context *ctx, const cmg_csr *csr, cmgi_use use,
                              const cmg_matrix_options *options, cmg_matrix **A);
/* The same of a CSR of a hierarchy that has been checked, or made from one. */
cmg_status cmgi_matrix_create_checked(cmg_context *ctx, const cmg_csr *csr, cmgi_use use,
                                      const cmg_matrix_options *options, cmg_matrix **A);
/* The same beside a matrix of the same CSR, which may be NULL. */
cmg_status cmgi_matrix_create_like(cmg_context *ctx, const cmg_csr *csr, cmgi_use use,
                                   const cmg_matrix *like, const cmg_matrix_options *options,
                                   cmg_matrix **A);
/* Rows of a square matrix, checked: row i has its diagonal in column i + lead. */
cmg_status cmgi_matrix_create_rows(cmg_context *ctx, const cmg_csr *csr, cmgi_use use,
                                   cmg_size lead, const cmg_matrix_options *options,
                                   cmg_matrix **A);
/* The same of a matrix on the device that has been looked at. */
cmg_status cmgi_matrix_create_resident(cmg_context *ctx, const cmgi_resident *R, cmgi_use use,
                                       const cmg_matrix_options *options, cmg_matrix **A);
/* The same beside another matrix of that CSR, NULL = none, which outlives this one: what it stores
 * in fp32 may be no second time in one of fp64. */
cmg_status cmgi_matrix_create_beside(cmg_context *ctx, const cmgi_resident *R, cmgi_use use,
                                     const cmg_matrix *other, const cmg_matrix_options *options,
                                     cmg_matrix **A);
