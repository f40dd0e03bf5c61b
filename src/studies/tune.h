/*
 * Measured choice of format: `--format tune`. Every format that suits the matrix is built and timed
 * on y = A x; the fastest stays. The context remembers the choice by a hash of the pattern, so that
 * further matrices of the same pattern, asked for with the same options, take it without
 * measuring.
 */
#pragma once
#include "spmv/matrix.h"

/* As cmg_matrix_create_csr of a checked CSR and checked options. */
cmg_status cmgi_tune(cmg_context *ctx, const cmg_csr *csr, const cmg_matrix_options *options,
                     cmg_matrix **A);
/* Measurements made in this context. */
int cmgi_tune_count(const cmg_context *ctx);
