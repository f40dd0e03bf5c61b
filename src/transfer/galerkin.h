/* The Galerkin coarse matrix A_c = R A P. */
#pragma once
#include "csr/csr.h"

/*
 * A_c = R A P by rows, sorted, parallel and bitwise repeatable; R NULL = P^T. A coarse row without
 * entries, which a zero column of P leaves (a Dirichlet unknown), gets a 1 on the diagonal where
 * `unit_diagonal`.
 */
cmg_status cmgi_galerkin(cmg_context *ctx, const cmg_csr *R, const cmg_csr *A, const cmg_csr *P,
                         bool unit_diagonal, cmgi_csr *Ac);
