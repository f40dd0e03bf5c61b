/* The sum matrices of a space: from the entries of cell matrices and loads to A and b. */
#pragma once
#include "core/inline.h"
#include "fem/space.h"
#include "fem/sum.h"

/* How cell matrices of rows x rows numbers lie in e, cell after cell. */
typedef struct cmgi_cell_layout {
    int rows;
    bool symmetric; /* the upper triangle alone, row by row */
} cmgi_cell_layout;

/* Numbers of a cell. */
CMGI_INLINE int cmgi_cell_entries(cmgi_cell_layout layout)
{
    return layout.symmetric ? layout.rows * (layout.rows + 1) / 2 : layout.rows * layout.rows;
}

/* Place of (r, s), r <= s, in an upper triangle stored row by row. */
CMGI_INLINE int cmgi_upper_place(int rows, int r, int s)
{
    return r * (2 * rows - r - 1) / 2 + s;
}

/* Place of (i, j) of a cell matrix among its numbers. */
CMGI_INLINE int cmgi_cell_place(cmgi_cell_layout layout, int i, int j)
{
    return layout.symmetric ? cmgi_upper_place(layout.rows, i < j ? i : j, i < j ? j : i)
                            : i * layout.rows + j;
}

/* values(A) = S e. A is the space's pattern. Rows of fixed nodes become 1. */
cmg_status cmgi_space_sum_matrix(const cmgi_space *space, cmgi_cell_layout layout,
                                 const cmgi_csr *A, cmgi_sum *S);
/* b = T f, f the loads of the cells; 0 at fixed nodes. */
cmg_status cmgi_space_sum_load(const cmgi_space *space, cmgi_sum *T);
