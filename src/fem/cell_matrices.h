/*
 * Cell matrices of first-order elements, all cells of a mesh at once, on the CPU and on CUDA by the
 * same formulas:
 *
 *   scalar      K_ab = int (d k grad phi_b . grad phi_a + m phi_b phi_a)
 *   elasticity  K_(a,i)(b,j) = int k (lambda d_i a d_j b + mu (d_j a d_i b + delta_ij grad a . grad
 * b))
 *
 * Simplices are integrated exactly, quadrilaterals and hexahedra with two Gauss points an axis.
 * Corners come in VTK's order; corner t of the tensor order, at (t & 1, t >> 1 & 1, t >> 2), is
 * VTK's corner t ^ (t >> 1 & 1), and the other way round. Gauss points are numbered like tensor
 * corners.
 */
#pragma once
#include "core/inline.h"
#include "fem/space_sum.h"

enum { CMGI_FIRST_NODES = 8, CMGI_FIRST_POINTS = 8 };

typedef struct cmgi_cell_batch {
    bool simplex;
    int dim;
    int local;      /* nodes of a cell */
    int components; /* unknowns a node: 1, or dim: elasticity */
    cmgi_cell_layout layout;
    int entries; /* numbers of a cell in e */
    cmg_size cells;
    /* in the backend's memory */
    const double *x;        /* nodes x dim */
    const cmg_index *nodes; /* cells x local */
    const double *k;        /* cells x k_points, NULL = 1 */
    double *e;              /* cells x entries */
    int k_points;           /* 1, or the quadrature points of a cell */
    double diffusion;       /* d */
    double mass;            /* m */
    double lambda;
    double mu;
} cmgi_cell_batch;

/* The basis at the quadrature points of one cell. */
typedef struct cmgi_cell_basis {
    double gradient[CMGI_FIRST_POINTS][CMGI_FIRST_NODES][3];
    double weight[CMGI_FIRST_POINTS]; /* quadrature weight times determinant */
} cmgi_cell_basis;

/* One factor of a multilinear function that is 1 at corner bit `at`, at a Gauss point's. */
CMGI_INLINE double cmgi_line_value(int at, int point)
{
    const double near = 0.788675134594812882; /* (1 + 1 / sqrt 3) / 2 */
    return at == point ? near : 1 - near;
}

CMGI_INLINE double cmgi_corner_value(int dim, int a, int q)
{
    const int t = a ^ (a >> 1 & 1);
    double N = 1;
    for (int d = 0; d < dim; ++d) {
        N *= cmgi_line_value(t >> d & 1, q >> d & 1);
    }
    return N;
}

CMGI_INLINE double cmgi_corner_slope(int dim, int a, int q, int axis)
{
    const int t = a ^ (a >> 1 & 1);
    double N = (t >> axis & 1) != 0 ? 1 : -1;
    for (int d = 0; d < dim; ++d) {
        N *= d == axis ? 1 : cmgi_line_value(t >> d & 1, q >> d & 1);
    }
    return N;
}

/* Gradients of the basis at point q of a cell; returns the determinant of its map. */
CMGI_INLINE double cmgi_cell_point(bool simplex, int dim, const double *x, const cmg_index *nodes,
                                   int q, double gradient[CMGI_FIRST_NODES][3])
{
    const int local = simplex ? dim + 1 : 1 << dim;
    double J[3][3] = {{0}};
    double A[3][3] = {{0}};
    for (int a = 0; a < local; ++a) {
        const double *at = x + (cmg_size)nodes[a] * dim;
        for (int e = 0; e < dim; ++e) {
            const double slope =
                simplex ? (a == 0 ? -1 : a == e + 1) : cmgi_corner_slope(dim, a, q, e);
            for (int d = 0; d < dim; ++d) {
                J[d][e] += at[d] * slope;
            }
        }
    }
    const double determinant = cmgi_adjugate(dim, J, A);
    for (int a = 0; a < local; ++a) {
        for (int d = 0; d < dim; ++d) {
            double sum = 0;
            for (int e = 0; e < dim; ++e) {
                const double slope =
                    simplex ? (a == 0 ? -1 : a == e + 1) : cmgi_corner_slope(dim, a, q, e);
                sum += A[e][d] * slope;
            }
            gradient[a][d] = sum / determinant;
        }
    }
    return determinant;
}

/* Weight of a quadrature point on the reference cell. */
CMGI_INLINE double cmgi_point_weight(bool simplex, int dim)
{
    return simplex ? (dim == 2 ? 1.0 / 2 : 1.0 / 6) : (dim == 2 ? 1.0 / 4 : 1.0 / 8);
}

/* Adds to the block (nc x nc) of nodes a and b what point q has for it. */
CMGI_INLINE void cmgi_add_point(const cmgi_cell_batch *c, bool elastic, int dim,
                                const cmgi_cell_basis *basis, int q, const double *k, int ab[2],
                                double *block)
{
    const double *ga = basis->gradient[q][ab[0]];
    const double *gb = basis->gradient[q][ab[1]];
    const double kq = k == NULL ? 1 : k[c->k_points > 1 ? q : 0];
    const double w = basis->weight[q];
    double dot = 0;
    for (int d = 0; d < dim; ++d) {
        dot += ga[d] * gb[d];
    }
    if (elastic) {
        for (int i = 0; i < dim; ++i) {
            for (int j = 0; j < dim; ++j) {
                block[i * dim + j] +=
                    w * kq *
                    (c->lambda * ga[i] * gb[j] + c->mu * (ga[j] * gb[i] + (i == j ? dot : 0)));
            }
        }
        return;
    }
    double value = 1.0 / ((dim + 1) * (dim + 2)); /* int phi_a phi_b over the volume of a simplex */
    if (c->simplex) {
        value *= ab[0] == ab[1] ? 2 : 1;
    } else {
        value = cmgi_corner_value(dim, ab[0], q) * cmgi_corner_value(dim, ab[1], q);
    }
    block[0] += w * (c->diffusion * kq * dot + c->mass * value);
}

/* Stores the block of nodes a <= b. */
CMGI_INLINE void cmgi_store_block(const cmgi_cell_batch *c, int nc, int ab[2], const double *block,
                                  double *K)
{
    const int rows = c->layout.rows;
    for (int i = 0; i < nc; ++i) {
        for (int j = 0; j < nc; ++j) {
            const int r = ab[0] * nc + i;
            const int s = ab[1] * nc + j;
            if (!c->layout.symmetric) {
                K[r * rows + s] = block[i * nc + j];
                K[s * rows + r] = block[i * nc + j];
            } else if (r <= s) {
                K[r * (2 * rows - r - 1) / 2 + s] = block[i * nc + j];
            }
        }
    }
}

cmg_status cmgi_cell_matrices(cmg_context *ctx, const cmgi_cell_batch *cells);
/* Number of the last cell whose map has a determinant <= 0 at a point, -1 = none; on the host. */
cmg_index cmgi_cells_inverted(cmg_context *ctx, const cmgi_cell_batch *cells);

/* cell_matrices.cu */
cmg_status cmgi_cell_matrices_cuda(cmg_context *ctx, const cmgi_cell_batch *cells);
