/*
 * Discretisation errors fall with the order that theory gives (2 in L2 and 1 in H1 for Q1 and P1, 3
 * and 2 for Q2 and P2), on distorted meshes too, and CG around V(1,1) needs a bounded number of
 * iterations.
 */
#include "oracle.h"
#include "fem/mesh_shapes.h"
#include "fem/space.h"
#include "hierarchy/hierarchy_checks.h"

enum { BASE = 2 }; /* cells a side of the coarsest mesh */

/* Solves on level 0; returns the iterations, -1 when it did not converge. */
static int solve(cmg_hierarchy *h, const char *smoother, double rtol, double **solution)
{
    cmg_solver_options options;
    cmg_solver *solver = NULL;
    cmg_vector *b = NULL;
    cmg_vector *x = NULL;
    cmg_report report = {.size = sizeof report, .iterations = -1};
    cmg_size n = 0;
    const double *values = vector_of(h, 0, "rhs", "b", &n);
    cmg_solver_options_default(&options);
    options.rtol = rtol;
    (void)snprintf(options.smoother, sizeof options.smoother, "%s", smoother);
    CHECK_OK(cmg_solver_create(h, &options, &solver));
    CHECK_OK(cmg_vector_create(ctx, n, CMG_FP64, &b));
    CHECK_OK(cmg_vector_create(ctx, n, CMG_FP64, &x));
    CHECK_OK(cmg_vector_set(b, values));
    CHECK_OK(cmg_solver_solve(solver, b, x, &report));
    const int iterations = cmg_outcome_converged(report.outcome) ? report.iterations : -1;
    if (solution != NULL) {
        *solution = malloc((size_t)(n + 1) * sizeof **solution);
        CHECK_OK(cmg_vector_get(x, *solution));
    }
    cmg_vector_destroy(&b);
    cmg_vector_destroy(&x);
    cmg_solver_destroy(&solver);
    return iterations;
}

/* The finest mesh of the hierarchy that the options give, made once more. */
static cmgi_mesh *finest_mesh(const cmg_generate_options *o)
{
    static const cmgi_cell cells[2][4] = {{CMGI_QUAD, CMGI_QUAD, CMGI_TRI, CMGI_TRI},
                                          {CMGI_HEX, CMGI_HEX, CMGI_TET, CMGI_TET}};
    cmgi_shape_options s;
    cmgi_mesh *mesh = NULL;
    cmgi_shape_options_default(CMG_SHAPE_SQUARE, &s);
    s.cell = cells[o->dim - 2][o->element];
    s.n = o->cells >> (o->levels - 1);
    s.distortion = o->distort > 0 ? CMGI_DISTORT_RANDOM : CMGI_DISTORT_NONE;
    s.fraction = 0.5 * o->distort;
    s.seed = o->seed;
    CHECK_OK(cmgi_shape_mesh(ctx, &s, &mesh));
    for (int r = 0; r + 1 < o->levels; ++r) {
        cmgi_mesh *fine = NULL;
        CHECK_OK(cmgi_mesh_refine(mesh, NULL, &fine, NULL));
        cmgi_mesh_destroy(&mesh);
        mesh = fine;
    }
    return mesh;
}

/* L2 and H1 errors of the solved problem. */
static void errors_of(const cmg_generate_options *o, double error[2])
{
    const double zero[3] = {0, 0, 0};
    const double one[3] = {1, 1, 1};
    const cmgi_problem problem = cmgi_problem_make(o, o->dim, zero, one);
    const cmgi_basis basis = cmgi_basis_of(o->element, o->dim);
    bool fixes[64];
    cmg_hierarchy *h = NULL;
    cmgi_space *space = NULL;
    cmgi_cell_form form;
    double *u = NULL;
    for (int l = 0; l < 64; ++l) {
        fixes[l] = true;
    }
    cmgi_mesh *mesh = finest_mesh(o);
    CHECK(mesh->labels <= 64);
    CHECK_OK(cmg_hierarchy_generate(ctx, o, &h));
    CHECK(solve(h, problem.elastic ? "l1-jacobi" : "jacobi", 1e-9, &u) > 0);
    CHECK_OK(cmgi_space_create(mesh, basis.order, problem.components, o->boundary, fixes, &space));
    CHECK_OK(cmgi_cell_form_create(ctx, &problem, basis, basis.order + 2, &form));
    CHECK(space->unknowns * problem.components == cmg_hierarchy_rows(h, 0));
    cmgi_space_error(space, &form, u, error);
    free(u);
    cmgi_cell_form_free(ctx, &form);
    cmgi_space_destroy(&space);
    cmgi_mesh_destroy(&mesh);
    cmg_hierarchy_destroy(&h);
}

static void check_orders(int dim, cmg_element element, double distort, cmg_problem problem)
{
    cmg_generate_options o;
    double error[2][2];
    cmg_generate_options_default(&o);
    const int order = cmgi_basis_of(element, dim).order;
    o.dim = dim;
    o.element = element;
    o.general = true;
    o.distort = distort;
    o.problem = problem;
    o.load = problem == CMG_PROBLEM_ELASTICITY ? CMG_LOAD_EXPONENTIAL : CMG_LOAD_SINE;
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

static void errors_fall_with_their_order(void)
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
static void weak_and_strong_loads_agree(void)
{
    for (int c = 0; c < 8; ++c) {
        int dim = 2 + c % 2;
        cmg_generate_options o;
        cmg_hierarchy *h[2] = {NULL, NULL};
        cmg_size n = 0;
        cmg_generate_options_default(&o);
        o.dim = dim;
        o.element = (cmg_element)(c / 2);
        o.cells = 4;
        o.levels = 1;
        o.quadrature = 6;
        o.distort = 0.3;
        o.load = CMG_LOAD_SINE;
        CHECK_OK(cmg_hierarchy_generate(ctx, &o, &h[0]));
        o.load = CMG_LOAD_SOURCE;
        o.source = strong_source;
        o.source_user = &dim;
        CHECK_OK(cmg_hierarchy_generate(ctx, &o, &h[1]));
        const double *b = vector_of(h[0], 0, "rhs", "b", &n);
        const double *e = vector_of(h[1], 0, "rhs", "b", &n);
        CHECK_NEAR(largest_difference(b, e, n), 0, 2e-6 * largest(b, n));
        cmg_hierarchy_destroy(&h[0]);
        cmg_hierarchy_destroy(&h[1]);
    }
}

/* From 3 levels to 6 in 2D, 4 in 3D, counts may grow by at most three and stay below a bound. */
static void check_iterations(int dim, cmg_element element)
{
    cmg_generate_options o;
    int first = 0;
    int last = 0;
    cmg_generate_options_default(&o);
    o.dim = dim;
    o.element = element;
    for (int levels = 3; levels <= (dim == 2 ? 6 : 4); ++levels) {
        cmg_hierarchy *h = NULL;
        o.levels = levels;
        o.cells = (cmg_size)BASE << (levels - 1);
        CHECK_OK(cmg_hierarchy_generate(ctx, &o, &h));
        last = solve(h, "jacobi", 1e-8, NULL);
        first = levels == 3 ? last : first;
        CHECK(last > 0);
        cmg_hierarchy_destroy(&h);
    }
    CHECK(last <= first + 5);
    CHECK(last <= 40);
    if (last > first + 5 || last > 40) {
        printf("  %s in %dD: %d iterations grow to %d\n", cmg_enum_name("element", (int)element),
               dim, first, last);
    }
}

static void iterations_are_bounded(void)
{
    for (int e = CMG_ELEMENT_Q1; e <= CMG_ELEMENT_P2; ++e) {
        check_iterations(2, (cmg_element)e);
        check_iterations(3, (cmg_element)e);
    }
}

int main(int argc, char **argv)
{
    TEST_BEGIN(argc, argv);
    RUN(errors_fall_with_their_order);
    RUN(weak_and_strong_loads_agree);
    RUN(iterations_are_bounded);
    return TEST_END();
}
