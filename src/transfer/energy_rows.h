/* Rows of a matrix times the vectors of energy.c. */
#pragma once
#include "cmg_types.h"

/* Places of a row of the vectors: registers take two or all four at once. */
enum { CMGI_ENERGY_LANES = 4 };

/*
 * to[c] = (row row[c] of M) x for c < count. x and `to` have CMGI_ENERGY_LANES places a row;
 * place[j] is the row of x that column j reads, NULL: row j.
 */
void cmgi_energy_rows(const cmg_csr *M, const cmg_index *row, cmg_size count,
                      const cmg_index *place, const double *x, double *to);
