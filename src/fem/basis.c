/* Q1, Q2, P1 and P2 on the reference cells. */
#include "fem/basis.h"

/* Lagrange functions on [0,1] with nodes at i / order, and their derivatives. */
static void line_basis(int order, double t, double *value, double *slope)
{
    if (order == 0) {
        value[0] = 1;
        slope[0] = 0;
    } else if (order == 1) {
        value[0] = 1 - t;
        value[1] = t;
        slope[0] = -1;
        slope[1] = 1;
    } else {
        value[0] = (1 - t) * (1 - 2 * t);
        value[1] = 4 * t * (1 - t);
        value[2] = t * (2 * t - 1);
        slope[0] = 4 * t - 3;
        slope[1] = 4 - 8 * t;
        slope[2] = 4 * t - 1;
    }
}

int cmgi_basis_nodes(cmgi_basis basis)
{
    if (basis.simplex) {
        const int corners = basis.dim + 1;
        return basis.order == 1 ? corners : corners * (corners + 1) / 2;
    }
    int nodes = 1;
    for (int d = 0; d < basis.dim; ++d) {
        nodes *= basis.order + 1;
    }
    return nodes;
}

/* Corners of edge e of a simplex. */
static void simplex_edge(int dim, int e, int corner[2])
{
    int a = 0;
    while (e >= dim - a) {
        e -= dim - a;
        ++a;
    }
    corner[0] = a;
    corner[1] = a + 1 + e;
}

void cmgi_basis_position(cmgi_basis basis, int a, double *xi)
{
    if (!basis.simplex) {
        for (int d = 0; d < basis.dim; ++d, a /= basis.order + 1) {
            xi[d] = (double)(a % (basis.order + 1)) / basis.order;
        }
        return;
    }
    int corner[2] = {a, a};
    if (a > basis.dim) {
        simplex_edge(basis.dim, a - basis.dim - 1, corner);
    }
    for (int d = 0; d < basis.dim; ++d) {
        xi[d] = 0.5 * (corner[0] == d + 1) + 0.5 * (corner[1] == d + 1);
    }
}

static void simplex_eval(cmgi_basis basis, const double *xi, double *N, double *dN)
{
    const int dim = basis.dim;
    const int corners = dim + 1;
    double L[4] = {1, 0, 0, 0};
    double dL[4][3] = {{-1, -1, -1}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    for (int d = 0; d < dim; ++d) {
        L[0] -= xi[d];
        L[d + 1] = xi[d];
    }
    for (int a = 0; a < cmgi_basis_nodes(basis); ++a) {
        int c[2] = {a, a};
        if (a >= corners) {
            simplex_edge(dim, a - corners, c);
        }
        const double p = L[c[0]];
        const double q = L[c[1]];
        if (N != NULL) {
            N[a] = basis.order == 1 ? p : a < corners ? p * (2 * p - 1) : 4 * p * q;
        }
        for (int d = 0; d < dim && dN != NULL; ++d) {
            const double dp = dL[c[0]][d];
            const double dq = dL[c[1]][d];
            dN[a * dim + d] = basis.order == 1 ? dp
                              : a < corners    ? (4 * p - 1) * dp
                                               : 4 * (dp * q + p * dq);
        }
    }
}

void cmgi_basis_eval(cmgi_basis basis, const double *xi, double *N, double *dN)
{
    if (basis.simplex) {
        simplex_eval(basis, xi, N, dN);
        return;
    }
    const int dim = basis.dim;
    const int m = basis.order + 1;
    double value[3][3];
    double slope[3][3];
    for (int d = 0; d < dim; ++d) {
        line_basis(basis.order, xi[d], value[d], slope[d]);
    }
    for (int a = 0; a < cmgi_basis_nodes(basis); ++a) {
        const int at[3] = {a % m, a / m % m, a / (m * m)};
        double product = 1;
        for (int d = 0; d < dim; ++d) {
            product *= value[d][at[d]];
        }
        if (N != NULL) {
            N[a] = product;
        }
        for (int d = 0; d < dim && dN != NULL; ++d) {
            double partial = slope[d][at[d]];
            for (int e = 0; e < dim; ++e) {
                partial *= e == d ? 1 : value[e][at[e]];
            }
            dN[a * dim + d] = partial;
        }
    }
}
