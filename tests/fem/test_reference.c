/* Reference elements: quadrature against exact integrals, bases against their definition. */
#include "fem/basis.h"
#include "fem/quadrature.h"
#include "test.h"

static double factorial(int n)
{
    return n <= 1 ? 1 : n * factorial(n - 1);
}

/* Integral of x^a y^b z^c: on the cube 1/((a+1)(b+1)(c+1)), on the simplex a! b! c! / (a+b+c+d)!.
 */
static double exact_monomial(bool simplex, int dim, const int power[3])
{
    double product = 1;
    int total = dim;
    for (int d = 0; d < dim; ++d) {
        product *= simplex ? factorial(power[d]) : 1.0 / (power[d] + 1);
        total += power[d];
    }
    return simplex ? product / factorial(total) : product;
}

static void check_monomial(bool simplex, int dim, int n, const int power[3])
{
    double x[512 * 3];
    double w[512];
    double sum = 0;
    cmgi_quadrature(simplex, dim, n, x, w);
    for (int q = 0; q < cmgi_quadrature_points(dim, n); ++q) {
        double value = w[q];
        for (int d = 0; d < dim; ++d) {
            value *= pow(x[q * dim + d], power[d]);
        }
        sum += value;
    }
    CHECK_NEAR(sum, exact_monomial(simplex, dim, power), 1e-14);
}

TEST(rules_are_exact)
{
    for (int c = 0; c < 6 * CMGI_MAX_AXIS_POINTS; ++c) {
        const bool simplex = c % 2 == 1;
        const int dim = c / 2 % 3 + 1;
        const int n = c / 6 + 1;
        const int degree = 2 * n - 1;
        for (int m = 0; m < (degree + 1) * (degree + 1) * (degree + 1); m += n < 4 ? 1 : 37) {
            const int power[3] = {m % (degree + 1), m / (degree + 1) % (degree + 1),
                                  m / ((degree + 1) * (degree + 1))};
            int total = 0;
            for (int d = 0; d < dim; ++d) {
                total += power[d];
            }
            if (!simplex || total <= degree) {
                check_monomial(simplex, dim, n, power);
            }
        }
    }
}

static void check_basis(cmgi_basis basis)
{
    const int nodes = cmgi_basis_nodes(basis);
    double N[CMGI_MAX_NODES];
    double dN[CMGI_MAX_NODES * 3];
    for (int a = 0; a < nodes; ++a) {
        double xi[3];
        cmgi_basis_position(basis, a, xi);
        cmgi_basis_eval(basis, xi, N, NULL);
        CHECK_NEAR_EACH(b, nodes, N[b], a == b, 1e-15);
    }
    const double at[3] = {0.21, 0.34, 0.13};
    const double h = 1e-6;
    cmgi_basis_eval(basis, at, NULL, dN);
    for (int d = 0; d < basis.dim; ++d) {
        double up[3] = {at[0], at[1], at[2]};
        double down[3] = {at[0], at[1], at[2]};
        double Nd[CMGI_MAX_NODES];
        up[d] += h;
        down[d] -= h;
        cmgi_basis_eval(basis, up, N, NULL);
        cmgi_basis_eval(basis, down, Nd, NULL);
        CHECK_NEAR_EACH(a, nodes, dN[a * basis.dim + d], (N[a] - Nd[a]) / (2 * h), 1e-8);
    }
}

TEST(bases_are_lagrange)
{
    for (int e = CMG_ELEMENT_Q1; e <= CMG_ELEMENT_P2; ++e) {
        for (int dim = 2; dim <= 3; ++dim) {
            check_basis(cmgi_basis_of((cmg_element)e, dim));
        }
    }
}
