/*
 * What one pass over a square matrix on the host tells the checks, the search for Dirichlet rows
 * and the smoothers; of one on the device resident.h has the same.
 */
#pragma once
#include "csr/csr.h"

/* What the pass sees of every row, for a set-up; NULL = it was not asked for. */
typedef struct cmgi_row_looks {
    uint8_t *same;    /* what row i has of row i - 1 */
    double *diagonal; /* a_ii */
    bool wanted;
    bool borrowed;
} cmgi_row_looks;

enum { CMGI_SAME_COLUMNS = 1, CMGI_SAME_ROWS = 3 }; /* one column on; and the values */

/* What is known of a matrix in either memory. */
typedef struct cmgi_row_facts {
    cmg_size identity; /* rows whose only nonzero is on the diagonal */
    cmg_size lines;    /* rows whose two largest other entries have CMGI_LINE of the diagonal */
    double gershgorin; /* largest row sum of |D^-1 A| */
    double coupling;   /* largest |a_ij / a_ii| of other entries */
    double most;       /* largest and least of the |a_ii|, on the device of those not zero */
    double least;
} cmgi_row_facts;

typedef struct cmgi_csr_facts {
    bool known;
    cmg_size bad; /* first row with a zero diagonal or a sum that is not finite, -1 = none */
    cmg_size strong_lines; /* lines of CMGI_STRONG_LINE, with CMGI_STRONG_ENTRIES or more */
    cmg_size dominated;    /* rows whose other entries sum up to CMGI_DOMINATED of the diagonal */
    cmgi_row_facts rows;
    cmgi_row_looks looks;
} cmgi_csr_facts;

/* The largest entries of a row that count as a line, as a share of the diagonal. */
#define CMGI_LINE 0.8

/* Neighbours along a line then have nearly all of the diagonal. Rows of three entries are lines
 * without weak couplings between them: one dimension. */
#define CMGI_STRONG_LINE 0.98
enum { CMGI_STRONG_ENTRIES = 4 };
#define CMGI_DOMINATED 0.75

/* Counts, and most and least, are of rows first .. last - 1, the others of all rows; parallel.
 * Looks are kept where facts->looks.wanted says so. */
cmg_status cmgi_csr_facts_take(cmg_context *ctx, const cmg_csr *A, cmg_size first, cmg_size last,
                               cmgi_csr_facts *facts);
void cmgi_csr_facts_forget(cmg_context *ctx, cmgi_csr_facts *facts);
/* The same of a matrix of kinds of rows, of which kind k, its diagonal in column k, stands for
 * many[k], the first one number row[k]; without looks. */
void cmgi_csr_facts_of_kinds(const cmg_csr *kinds, const cmg_index *row, const cmg_size *many,
                             cmgi_csr_facts *facts);
/* The sum of magnitudes of row i, as it is added up on every backend (core/lanes.h). */
double cmgi_row_magnitude(const cmg_csr *A, cmg_size i);
