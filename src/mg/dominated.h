/*
 * Matrices of which Jacobi's method alone takes care, so that levels would only cost: time steps
 * that are short for the mesh, mass matrices, random walks, whatever the diagonal dominates in most
 * rows.
 */
#pragma once
#include "core/context.h"
#include "csr/facts.h"

/*
 * *enough where half the rows are dominated by their diagonal, as the facts say, and the residual
 * of the method of least residuals with D^-1 falls fast from a rough vector. Six products with A
 * where it is tried, parallel; the result does not depend on the number of threads.
 */
cmg_status cmgi_dominated(cmg_context *ctx, const cmg_csr *A, const cmgi_csr_facts *facts,
                          bool *enough);
