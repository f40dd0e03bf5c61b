/*
 * Lagrange bases on the reference cells: tensor products of order 1 and 2 on [0,1]^d (Q1, Q2), and
 * total degree 1 and 2 on the simplex (P1, P2). Order 0 of a tensor product has the one function 1.
 *
 * Numbering of the local nodes
 *   Q1, Q2  lexicographic: i + (order + 1) (j + (order + 1) k), node at (i, j, k) / order
 *   P1, P2  corners 0, 1, .. at the origin and the unit vectors, then the edges' midpoints in the
 *           order (0,1) (0,2) (1,2) in 2D and (0,1) (0,2) (0,3) (1,2) (1,3) (2,3) in 3D
 */
#pragma once
#include "cmg_fem.h"

#include "core/inline.h"
#include "core/status.h"

enum { CMGI_MAX_NODES = 27, CMGI_GEOMETRY_CORNERS = 8 };

typedef struct cmgi_basis {
    bool simplex;
    int order;
    int dim;
} cmgi_basis;

int cmgi_basis_nodes(cmgi_basis basis);
/* Position of local node a in the reference cell. */
void cmgi_basis_position(cmgi_basis basis, int a, double *xi);
/* Values N (nodes) and derivatives dN (nodes x dim) at xi; either may be NULL. */
void cmgi_basis_eval(cmgi_basis basis, const double *xi, double *N, double *dN);

static inline cmgi_basis cmgi_basis_of(cmg_element element, int dim)
{
    return (cmgi_basis){element == CMG_ELEMENT_P1 || element == CMG_ELEMENT_P2,
                        element == CMG_ELEMENT_Q2 || element == CMG_ELEMENT_P2 ? 2 : 1, dim};
}

/* Inverse of J times its determinant, which is returned; row e of the result is column e. */
CMGI_INLINE double cmgi_adjugate(int dim, double J[3][3], double A[3][3])
{
    if (dim == 2) {
        A[0][0] = J[1][1];
        A[0][1] = -J[0][1];
        A[1][0] = -J[1][0];
        A[1][1] = J[0][0];
        return J[0][0] * J[1][1] - J[0][1] * J[1][0];
    }
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            A[j][i] = J[(i + 1) % 3][(j + 1) % 3] * J[(i + 2) % 3][(j + 2) % 3] -
                      J[(i + 1) % 3][(j + 2) % 3] * J[(i + 2) % 3][(j + 1) % 3];
        }
    }
    return J[0][0] * A[0][0] + J[0][1] * A[1][0] + J[0][2] * A[2][0];
}
