/*
 * Quadrature on the reference cells: [0,1]^d, and the simplex x_i >= 0, sum x_i <= 1.
 *
 * n points an axis are exact for polynomials of degree 2n - 1: in each variable on the cube, in
 * total on the simplex.
 */
#pragma once
#include "core/status.h"

enum { CMGI_MAX_AXIS_POINTS = 8 };

/* Number of points of the rule with n points an axis: n^dim. */
int cmgi_quadrature_points(int dim, int n);
/*
 * Positions (points x dim) and weights. Cubes take the tensor product of Gauss rules; simplices its
 * image under the collapsed coordinates x_1 = t_1, x_2 = (1 - t_1) t_2, ..., with Gauss-Jacobi
 * rules that absorb the powers of (1 - t) of its determinant. Source: Stroud, Approximate
 * Calculation of Multiple Integrals, 1971, conical products.
 */
void cmgi_quadrature(bool simplex, int dim, int n, double *position, double *weight);
