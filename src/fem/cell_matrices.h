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
#include "fem/basis.h"
#include "fem/sum.h"

enum { CMGI_FIRST_NODES = 8, CMGI_FIRST_NUMBERS = 324 };

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

/*
 * The map of a quadrilateral or hexahedron from (-1, 1)^dim by its monomials: x = sum_S c_S
 * prod_(e in S) xi_e, S a set of axes as bits. For a simplex, c_(1 << e) is edge e from corner 0.
 */
CMGI_INLINE void cmgi_cell_map(bool simplex, int dim, const double *x, const cmg_index *nodes,
                               double c[CMGI_FIRST_NODES][3])
{
    const int local = simplex ? dim + 1 : 1 << dim;
    CMGI_UNROLL
    for (int t = 0; t < local; ++t) {
        const double *at = x + (cmg_size)nodes[simplex ? t : t ^ (t >> 1 & 1)] * dim;
        CMGI_UNROLL
        for (int d = 0; d < dim; ++d) {
            const int to = simplex && t > 0 ? 1 << (t - 1) : t;
            c[to][d] = simplex && t > 0 ? at[d] - c[0][d] : at[d];
        }
    }
    CMGI_UNROLL_THERE
    for (int e = 0; e < dim && !simplex; ++e) {
        CMGI_UNROLL
        for (int t = 0; t < local; ++t) {
            CMGI_UNROLL_THERE
            for (int d = 0; d < dim && (t >> e & 1) == 0; ++d) {
                const double low = c[t][d];
                const double high = c[t | 1 << e][d];
                c[t][d] = 0.5 * (low + high);
                c[t | 1 << e][d] = 0.5 * (high - low);
            }
        }
    }
}

/* Values at point q of the two linear functions of each axis, of the unit interval. */
CMGI_INLINE void cmgi_lines(int dim, int q, double line[3][2])
{
    const double near = 0.788675134594812882; /* (1 + 1 / sqrt 3) / 2 */
    CMGI_UNROLL
    for (int d = 0; d < dim; ++d) {
        line[d][0] = (q >> d & 1) == 0 ? near : 1 - near;
        line[d][1] = (q >> d & 1) == 1 ? near : 1 - near;
    }
}

/* Derivatives of the map, of the unit cell, at a point. */
CMGI_INLINE void cmgi_cell_jacobian(bool simplex, int dim, double c[CMGI_FIRST_NODES][3],
                                    double line[3][2], double J[3][3])
{
    CMGI_UNROLL
    for (int e = 0; e < dim; ++e) {
        CMGI_UNROLL
        for (int d = 0; d < dim; ++d) {
            J[d][e] = c[1 << e][d];
        }
        CMGI_UNROLL
        for (int S = 1; S < 1 << dim; ++S) {
            double factor = 1;
            CMGI_UNROLL
            for (int f = 0; f < dim; ++f) { /* xi_f = line 1 - line 0 */
                factor *= (S >> f & 1) != 0 && f != e ? line[f][1] - line[f][0] : 1;
            }
            CMGI_UNROLL_THERE
            for (int d = 0; d < dim && !simplex && (S >> e & 1) != 0 && S != 1 << e; ++d) {
                J[d][e] += c[S][d] * factor;
            }
        }
        CMGI_UNROLL_THERE
        for (int d = 0; d < dim && !simplex; ++d) {
            J[d][e] *= 2;
        }
    }
}

/* Gradients of the basis at point q of a cell times the determinant of its map, which is returned.
 */
CMGI_INLINE double cmgi_cell_point(bool simplex, int dim, double c[CMGI_FIRST_NODES][3], int q,
                                   double g[3][CMGI_FIRST_NODES])
{
    const int local = simplex ? dim + 1 : 1 << dim;
    double line[3][2] = {{0}};
    double J[3][3];
    double A[3][3] = {{0}};
    cmgi_lines(dim, q, line);
    cmgi_cell_jacobian(simplex, dim, c, line, J);
    const double determinant = cmgi_adjugate(dim, J, A);
    CMGI_UNROLL
    for (int a = 0; a < local; ++a) {
        const int t = a ^ (a >> 1 & 1);
        double slope[3] = {0};
        CMGI_UNROLL
        for (int e = 0; e < dim; ++e) {
            slope[e] = (t >> e & 1) != 0 ? 1 : -1;
            CMGI_UNROLL
            for (int d = 0; d < dim; ++d) {
                slope[e] *= d == e ? 1 : line[d][t >> d & 1];
            }
            slope[e] = !simplex ? slope[e] : a == 0 ? -1 : a == e + 1;
        }
        CMGI_UNROLL
        for (int d = 0; d < dim; ++d) {
            g[d][a] = A[0][d] * slope[0] + A[1][d] * slope[1] + (dim > 2 ? A[2][d] * slope[2] : 0);
        }
    }
    return determinant;
}

/* Weight of a quadrature point on the reference cell. */
CMGI_INLINE double cmgi_point_weight(bool simplex, int dim)
{
    return simplex ? (dim == 2 ? 1.0 / 2 : 1.0 / 6) : (dim == 2 ? 1.0 / 4 : 1.0 / 8);
}

/* Adds to the upper triangle of a scalar K what point q has: stiff = w d k / det, mass = w m det.
 */
CMGI_INLINE void cmgi_add_scalar(bool simplex, int dim, int q, double stiff, double mass,
                                 double g[3][CMGI_FIRST_NODES], double *K)
{
    const int local = simplex ? dim + 1 : 1 << dim;
    int n = 0;
    CMGI_UNROLL
    for (int a = 0; a < local; ++a) {
        const double ga[3] = {stiff * g[0][a], stiff * g[1][a], dim > 2 ? stiff * g[2][a] : 0};
        CMGI_UNROLL
        for (int b = a; b < local; ++b) {
            K[n] += ga[0] * g[0][b];
            K[n] += ga[1] * g[1][b];
            K[n] += dim > 2 ? ga[2] * g[2][b] : 0;
            ++n;
        }
    }
    if (mass == 0) {
        return;
    }
    double line[3][2] = {{0}};
    double N[CMGI_FIRST_NODES] = {0};
    cmgi_lines(dim, q, line);
    CMGI_UNROLL
    for (int a = 0; a < local; ++a) {
        const int t = a ^ (a >> 1 & 1);
        N[a] = line[0][t & 1] * line[1][t >> 1 & 1] * (dim > 2 ? line[2][t >> 2] : 1);
    }
    n = 0;
    CMGI_UNROLL
    for (int a = 0; a < local; ++a) {
        CMGI_UNROLL
        for (int b = a; b < local; ++b) { /* of a simplex: over its whole volume */
            K[n++] += simplex ? mass * ((a == b ? 2.0 : 1.0) / ((dim + 1) * (dim + 2)))
                              : mass * N[a] * N[b];
        }
    }
}

/* For elasticity, M_ab = sum_q scale_q grad a grad b^T of the pairs a <= b, scale = w k / det. */
CMGI_INLINE void cmgi_add_pairs(int local, int dim, double scale, double g[3][CMGI_FIRST_NODES],
                                double *M)
{
    int n = 0;
    CMGI_UNROLL
    for (int a = 0; a < local; ++a) {
        const double ga[3] = {scale * g[0][a], scale * g[1][a], dim > 2 ? scale * g[2][a] : 0};
        CMGI_UNROLL
        for (int b = a; b < local; ++b) {
            CMGI_UNROLL
            for (int i = 0; i < dim; ++i) {
                CMGI_UNROLL
                for (int j = 0; j < dim; ++j) {
                    M[n++] += ga[i] * g[j][b];
                }
            }
        }
    }
}

/* The number at (i, j) of the block lambda M + mu (M^T + tr(M) I). */
CMGI_INLINE double cmgi_elastic_number(const cmgi_cell_batch *c, int dim, const double *M, int i,
                                       int j)
{
    const double trace = dim > 2 ? M[0] + M[4] + M[8] : M[0] + M[3];
    return c->lambda * M[i * dim + j] + c->mu * (M[j * dim + i] + (i == j ? trace : 0));
}

/* The upper triangle of a cell's matrix, row by row. */
CMGI_INLINE void cmgi_cell_matrix(const cmgi_cell_batch *c, bool simplex, int dim, bool elastic,
                                  cmg_size cell, double *K)
{
    const int local = simplex ? dim + 1 : 1 << dim;
    const double weight = cmgi_point_weight(simplex, dim);
    double map[CMGI_FIRST_NODES][3] = {{0}};
    double M[CMGI_FIRST_NUMBERS];
    double *sums = elastic ? M : K;
    cmgi_cell_map(simplex, dim, c->x, c->nodes + cell * local, map);
    CMGI_UNROLL_THERE
    for (int n = 0; n < local * (local + 1) / 2 * (elastic ? dim * dim : 1); ++n) {
        sums[n] = 0;
    }
    CMGI_ROLLED
    for (int q = 0; q < (simplex ? 1 : 1 << dim); ++q) {
        double g[3][CMGI_FIRST_NODES] = {{0}};
        const double k = c->k == NULL ? 1 : c->k[cell * c->k_points + (c->k_points > 1 ? q : 0)];
        const double det = cmgi_cell_point(simplex, dim, map, q, g);
        const double scale = weight * k / det;
        if (elastic) {
            cmgi_add_pairs(local, dim, scale, g, M);
        } else {
            cmgi_add_scalar(simplex, dim, q, scale * c->diffusion, weight * c->mass * det, g, K);
        }
    }
    CMGI_UNROLL_THERE
    for (int a = 0, n = 0; a < local && elastic; ++a) {
        CMGI_UNROLL
        for (int b = a; b < local; ++b, ++n) {
            CMGI_UNROLL
            for (int ij = 0; ij < dim * dim; ++ij) {
                const int r = a * dim + ij / dim;
                const int s = b * dim + ij % dim;
                if (r <= s) {
                    K[cmgi_upper_place(local * dim, r, s)] =
                        cmgi_elastic_number(c, dim, M + n * dim * dim, ij / dim, ij % dim);
                }
            }
        }
    }
}

/* Whether the map of a cell has a determinant <= 0 at a point. */
CMGI_INLINE bool cmgi_cell_inverted(const cmgi_cell_batch *c, bool simplex, int dim, cmg_size cell)
{
    const int local = simplex ? dim + 1 : 1 << dim;
    double map[CMGI_FIRST_NODES][3] = {{0}};
    cmgi_cell_map(simplex, dim, c->x, c->nodes + cell * local, map);
    bool inverted = false;
    CMGI_UNROLL_THERE
    for (int q = 0; q < (simplex ? 1 : local) && !inverted; ++q) {
        double g[3][CMGI_FIRST_NODES] = {{0}};
        inverted = !(cmgi_cell_point(simplex, dim, map, q, g) > 0);
    }
    return inverted;
}

cmg_status cmgi_cell_matrices(cmg_context *ctx, const cmgi_cell_batch *cells);
/* Number of the last inverted cell, -1 = none. */
cmg_status cmgi_cells_inverted(cmg_context *ctx, const cmgi_cell_batch *cells, cmg_index *found);

/* cell_matrices.cu */
cmg_status cmgi_cell_matrices_cuda(cmg_context *ctx, const cmgi_cell_batch *cells);
