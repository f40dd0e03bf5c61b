/*
 * Discretisation errors fall with the order that theory gives (2 in L2 and 1 in H1 for Q1 and P1, 3
 * and 2 for Q2 and P2), on distorted meshes too, and CG around V(1,1) needs a bounded number of
 * iterations.
 */
#include "oracle.h"
#include "fem/quadrature.h"
#include "fem/problem.h"
#include "meshes.h"

enum { BASE = 2 }; /* cells a side of the coarsest mesh */

/* Solves on level 0; returns the iterations, -1 when it did not converge. */
static int solve(cmg_hierarchy *h, const char *smoother, double rtol, double **solution)
{
    cmg_report report = {.size = sizeof report, .iterations = -1};
    cmg_size n = 0;
    const double *values = vector_in(h, 0, "rhs", "b", &n);
    scoped_solver *solver = solver_with(h, "rtol=%.17g smoother=%s", rtol, smoother);
    scoped_vector *b = vector_from(n, CMG_FP64, values);
    scoped_vector *x = vector_new(n, CMG_FP64);
    CHECK_OK(cmg_solver_solve(solver, b, x, &report));
    const int iterations = cmg_outcome_converged(report.outcome) ? report.iterations : -1;
    if (solution != NULL) {
        *solution = values_of(x);
    }
    return iterations;
}

/* The finest mesh of the hierarchy that the options give, made once more. */
static cmgi_mesh *finest_mesh(const cmg_generate_options *o)
{
    static const cmgi_cell cells[2][4] = {{CMGI_QUAD, CMGI_QUAD, CMGI_TRI, CMGI_TRI},
                                          {CMGI_HEX, CMGI_HEX, CMGI_TET, CMGI_TET}};
    cmgi_shape_options s =
        shape_options(CMG_SHAPE_SQUARE, cells[o->dim - 2][o->element], o->cells >> (o->levels - 1));
    s.distortion = o->distort > 0 ? CMGI_DISTORT_RANDOM : CMGI_DISTORT_NONE;
    s.fraction = 0.5 * o->distort;
    s.seed = o->seed;
    cmgi_mesh *mesh = shape_mesh(&s);
    for (int r = 0; r + 1 < o->levels; ++r) {
        refine(&mesh, NULL);
    }
    return mesh;
}

/* Takes J | I to I | J^-1 by Gauss-Jordan elimination; returns the determinant. */
static double reduce(int dim, double J[3][6])
{
    double det = 1;
    for (int k = 0; k < dim; ++k) {
        int row = k;
        for (int r = k; r < dim; ++r) {
            row = fabs(J[r][k]) > fabs(J[row][k]) ? r : row;
        }
        for (int d = 0; d < 2 * dim; ++d) {
            const double swap = J[k][d];
            J[k][d] = J[row][d];
            J[row][d] = row != k ? -swap : swap;
        }
        const double pivot = J[k][k];
        det *= pivot;
        for (int d = 0; d < 2 * dim; ++d) {
            J[k][d] /= pivot;
        }
        for (int r = 0; r < dim; ++r) {
            const double factor = r == k ? 0 : J[r][k];
            for (int d = 0; d < 2 * dim; ++d) {
                J[r][d] -= factor * J[k][d];
            }
        }
    }
    return det;
}

/* Adds to the squared errors those at a point of the reference cell; a is the solution at the
 * nodes of the cell. */
static void add_errors(const cmgi_space *space, const cmgi_problem *problem, const double *corners,
                       const double *a, const double *xi, double weight, double error[2])
{
    const int dim = space->mesh->dim;
    const int nc = problem->components;
    const cmgi_basis linear = {space->basis.simplex, 1, dim};
    double N[27];
    double dN[81];
    double J[3][6] = {{0}}; /* transposed, beside the identity */
    double x[3] = {0};
    double u[3];
    double du[9];
    cmgi_basis_eval(linear, xi, N, dN);
    EACH_PAIR (c, cmgi_basis_nodes(linear), d, dim) {
        x[d] += N[c] * corners[c * dim + d];
        for (int e = 0; e < dim; ++e) {
            J[e][d] += dN[c * dim + e] * corners[c * dim + d];
        }
    }
    for (int d = 0; d < dim; ++d) {
        J[d][dim + d] = 1;
    }
    const double det = reduce(dim, J);
    cmgi_problem_exact(problem, x, u, du);
    cmgi_basis_eval(space->basis, xi, N, dN);
    for (int c = 0; c < nc; ++c) {
        for (int k = 0; k < space->local; ++k) {
            u[c] -= a[k * nc + c] * N[k];
            for (int de = 0; de < dim * dim; ++de) {
                du[c * dim + de / dim] -=
                    a[k * nc + c] * J[de / dim][dim + de % dim] * dN[k * dim + de % dim];
            }
        }
        error[0] += weight * det * u[c] * u[c];
        for (int d = 0; d < dim; ++d) {
            error[1] += weight * det * du[c * dim + d] * du[c * dim + d];
        }
    }
}

/* Norms of the error in L2 and of its gradient; fixed nodes have the exact values. */
static void measure_errors(const cmgi_space *space, const cmgi_problem *problem, const double *u,
                           double error[2])
{
    enum { POINTS = 64 };
    const int nc = space->components;
    const int dim = space->mesh->dim;
    const int n = space->basis.order + 2;
    double xi[POINTS * 3];
    double weight[POINTS];
    CHECK(cmgi_quadrature_points(dim, n) <= POINTS);
    cmgi_quadrature(space->basis.simplex, dim, n, xi, weight);
    error[0] = error[1] = 0;
    for (cmg_size cell = 0; cell < space->mesh->cells; ++cell) {
        double corners[24];
        double a[81];
        cmgi_space_corners(space, cell, corners);
        for (int k = 0; k < space->local; ++k) {
            const cmg_index node = space->cell_nodes[cell * space->local + k];
            double x[3];
            cmgi_space_position(space, node, x);
            cmgi_problem_exact(problem, x, a + k * nc, NULL);
            for (int c = 0; c < nc && space->unknown[node] >= 0; ++c) {
                a[k * nc + c] = u[(cmg_size)space->unknown[node] * nc + c];
            }
        }
        for (int q = 0; q < cmgi_quadrature_points(dim, n); ++q) {
            add_errors(space, problem, corners, a, xi + q * dim, weight[q], error);
        }
    }
    error[0] = sqrt(error[0]);
    error[1] = sqrt(error[1]);
}

/* L2 and H1 errors of the solved problem. */
static void errors_of(const cmg_generate_options *o, double error[2])
{
    const double zero[3] = {0, 0, 0};
    const double one[3] = {1, 1, 1};
    const cmgi_problem problem = cmgi_problem_make(o, o->dim, zero, one);
    const cmgi_basis basis = cmgi_basis_of(o->element, o->dim);
    bool fixes[64];
    scoped_space *space = NULL;
    scoped double *u = NULL;
    FILL(fixes, l, 64, true);
    scoped_mesh *mesh = finest_mesh(o);
    CHECK(mesh->labels <= 64);
    scoped_hierarchy *h = hierarchy_generated(o);
    CHECK(solve(h, problem.elastic ? "l1-jacobi" : "jacobi", 1e-9, &u) > 0);
    CHECK_OK(cmgi_space_create(mesh, basis.order, problem.components, o->boundary, fixes, &space));
    CHECK(space->unknowns * problem.components == cmg_hierarchy_rows(h, 0));
    measure_errors(space, &problem, u, error);
}

static void check_orders(int dim, cmg_element element, double distort, cmg_problem problem)
{
    cmg_generate_options o =
        generate_options("dim=%d element=%s general distort=%.17g problem=%s load=%s", dim,
                         FEM_WORD("element", element), distort, FEM_WORD("problem", problem),
                         problem == CMG_PROBLEM_ELASTICITY ? "exponential" : "sine");
    double error[2][2];
    const int order = cmgi_basis_of(element, dim).order;
    const int levels = (dim == 2 ? 5 : 4) - (order - 1);
    for (int k = 0; k < 2; ++k) {
        o.levels = levels - 1 + k;
        o.cells = (cmg_size)BASE << (o.levels - 1);
        errors_of(&o, error[k]);
    }
    const double l2 = log2(error[0][0] / error[1][0]);
    const double h1 = log2(error[0][1] / error[1][1]);
    CHECK_NEAR(l2, order + 1, 0.3);
    CHECK_NEAR(h1, order, 0.25);
    if (!(fabs(l2 - order - 1) < 0.3 && fabs(h1 - order) < 0.25)) {
        printf("  %s in %dD, distortion %g: orders %.2f in L2, %.2f in H1\n",
               cmg_enum_name("element", (int)element), dim, distort, l2, h1);
    }
}

TEST(errors_fall_with_their_order)
{
    for (int e = CMG_ELEMENT_Q1; e <= CMG_ELEMENT_P2; ++e) {
        check_orders(2, (cmg_element)e, 0, CMG_PROBLEM_POISSON);
        check_orders(2, (cmg_element)e, 0.5, CMG_PROBLEM_POISSON);
        check_orders(2, (cmg_element)e, 0.3, CMG_PROBLEM_ELASTICITY);
        check_orders(3, (cmg_element)e, 0.4, CMG_PROBLEM_POISSON);
    }
}

static void strong_source(void *user, const double *x, double *f)
{
    const double pi = 3.14159265358979323846;
    const int dim = *(const int *)user;
    f[0] = dim * pi * pi;
    for (int d = 0; d < dim; ++d) {
        f[0] *= sin(pi * x[d]);
    }
}

/* (f, phi) with f = -Laplace u equals a(u, phi) for phi = 0 on the boundary. */
TEST(weak_and_strong_loads_agree)
{
    for (int c = 0; c < 8; ++c) {
        int dim = 2 + c % 2;
        cmg_generate_options o = generate_options(
            "dim=%d element=%s cells=4 levels=1 quadrature=6 distort=0.3 load=sine", dim,
            FEM_WORD("element", c / 2));
        cmg_size n = 0;
        scoped_hierarchy *weak = hierarchy_generated(&o);
        o.load = CMG_LOAD_SOURCE;
        o.source = strong_source;
        o.source_user = &dim;
        scoped_hierarchy *strong = hierarchy_generated(&o);
        const double *b = vector_in(weak, 0, "rhs", "b", &n);
        const double *e = vector_in(strong, 0, "rhs", "b", &n);
        CHECK_NEAR(largest_difference(b, e, n), 0, 2e-6 * largest(b, n));
    }
}

/* From 3 levels to 6 in 2D, 4 in 3D, counts may grow by at most three and stay below a bound. */
static void check_iterations(int dim, cmg_element element)
{
    cmg_generate_options o =
        generate_options("dim=%d element=%s", dim, FEM_WORD("element", element));
    int first = 0;
    int last = 0;
    for (int levels = 3; levels <= (dim == 2 ? 6 : 4); ++levels) {
        o.levels = levels;
        o.cells = (cmg_size)BASE << (levels - 1);
        scoped_hierarchy *h = hierarchy_generated(&o);
        last = solve(h, "jacobi", 1e-8, NULL);
        first = levels == 3 ? last : first;
        CHECK(last > 0);
    }
    CHECK(last <= first + 5);
    CHECK(last <= 40);
    if (last > first + 5 || last > 40) {
        printf("  %s in %dD: %d iterations grow to %d\n", cmg_enum_name("element", (int)element),
               dim, first, last);
    }
}

TEST(iterations_are_bounded)
{
    for (int e = CMG_ELEMENT_Q1; e <= CMG_ELEMENT_P2; ++e) {
        check_iterations(2, (cmg_element)e);
        check_iterations(3, (cmg_element)e);
    }
}
