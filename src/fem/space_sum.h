/* The sum matrices of a space: from the entries of cell matrices and loads to A and b. */
#pragma once
#include "fem/space.h"
#include "fem/sum.h"

/* values(A) = S e. A is the space's pattern. Rows of fixed nodes become 1. */
cmg_status cmgi_space_sum_matrix(const cmgi_space *space, cmgi_cell_layout layout,
                                 const cmgi_csr *A, cmgi_sum *S);
/* b = T f, f the loads of the cells; 0 at fixed nodes. */
cmg_status cmgi_space_sum_load(const cmgi_space *space, cmgi_sum *T);
