/* The sum matrices of a space: from the entries of cell matrices and loads to A and b. */
#pragma once
#include "fem/space.h"
#include "fem/sum.h"

/*
 * The pattern of A, with zeros for values, values(A) = S e, and b = T f with the loads f of the
 * cells. Rows of fixed nodes become 1 in A, 0 in b. S and T may be there where it fails.
 */
cmg_status cmgi_space_sums(const cmgi_space *space, cmgi_cell_layout layout, cmgi_csr *A,
                           cmgi_sum *S, cmgi_sum *T);
