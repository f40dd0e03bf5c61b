/* Rows of a matrix times the vectors of energy.c, for the instruction set of the machine. */
#pragma once
#include "cmg_types.h"

/* Places of a row of the vectors: registers take two or all four at once. */
enum { CMGI_ENERGY_LANES = 4 };

/*
 * to[c] = (row row[c] of M) x for c < count. x and `to` have CMGI_ENERGY_LANES places a row;
 * place[j] is the row of x that column j reads, NULL: row j.
 */
typedef void (*cmgi_energy_rows_fn)(const cmg_csr *M, const cmg_index *row, cmg_size count,
                                    const cmg_index *place, const double *x, double *to);
void cmgi_energy_rows(const cmg_csr *M, const cmg_index *row, cmg_size count,
                      const cmg_index *place, const double *x, double *to);
#ifdef CMGI_X86
void cmgi_energy_rows_avx2(const cmg_csr *M, const cmg_index *row, cmg_size count,
                           const cmg_index *place, const double *x, double *to);
#endif
/* The best that this machine can run. */
cmgi_energy_rows_fn cmgi_energy_rows_best(void);
