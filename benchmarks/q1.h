/*
 * Q1 Poisson on the unit square or cube, `cells` a side, Dirichlet unknowns eliminated: matrices by
 * tensor products of the 1D mass and stiffness matrices, bilinear or trilinear prolongation.
 */
#pragma once
#include <cmg.h>

typedef struct q1_csr {
    cmg_size rows;
    cmg_size cols;
    cmg_size *indptr;
    cmg_index *indices;
    double *values;
} q1_csr;

/* (cells-1)^dim rows, 9 or 27 entries in an inner row; exits when there is no memory. */
q1_csr q1_matrix(int dim, int cells);
/* From cells/2 to cells a side. */
q1_csr q1_prolongation(int dim, int cells);
void q1_free(q1_csr *A);
static inline cmg_csr q1_view(const q1_csr *A)
{
    return (cmg_csr){A->rows, A->cols, A->indptr, A->indices, A->values};
}
/* A mesh without two equal cells: coarse nodes shifted by up to half of `distort` cells, smooth
 * coefficient, levels down to 16 cells a side. */
cmg_status q1_distorted(cmg_context *ctx, int dim, int cells, double distort, cmg_hierarchy **h);
/* Levels down to 2 cells a side. */
cmg_status q1_hierarchy(cmg_context *ctx, int dim, int cells, cmg_hierarchy **h);
