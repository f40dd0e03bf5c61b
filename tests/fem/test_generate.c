/*
 * Generated hierarchies: a polynomial that the space contains solves its system exactly, P embeds
 * it, Galerkin matrices equal rediscretised ones on affine nested grids; conditions, faults,
 * repeats.
 */
#include "fem/problem.h"
#include "arrays.h"
#include "small.h"

/* A u = b for the exact u on level 0, and u_fine = P u_coarse wherever P is a full embedding. */
static void check_exact(const cmg_generate_options *o)
{
    cmg_size n = 0;
    scoped_hierarchy *h = hierarchy_generated(o);
    if (h == NULL) {
        return;
    }
    CHECK_OK(cmg_hierarchy_check(h));
    const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
    const double *u = vector_in(h, 0, "solutions", "exact", &n);
    CHECK(n == A.rows);
    const double *b = vector_in(h, 0, "rhs", "b", &n);
    scoped double *Au = csr_times(&A, u);
    const double scale = largest(A.values, A.indptr[A.rows]) * largest(u, n);
    CHECK_NEAR(largest_difference(Au, b, n), 0, 1e-13 * scale);
    if (largest_difference(Au, b, n) > 1e-13 * scale) {
        printf("  element %s dim %d problem %s boundary %s\n",
               cmg_enum_name("element", (int)o->element), o->dim,
               cmg_enum_name("problem", (int)o->problem),
               cmg_enum_name("boundary", (int)o->boundary));
    }
}

/* Ways to a matrix: grids of Q1 and Q2, meshes of all four elements. Loops go through the
 * combinations of options in steps that still visit every value of each. */
enum { WAYS = 6 };

static cmg_generate_options way(int dim, int w)
{
    cmg_generate_options o = small(dim, (cmg_element)(w % 4));
    o.general = w == 4 || w == 5;
    return o;
}

TEST(polynomials_solve_their_systems)
{
    for (int c = 0; c < 2 * WAYS * 4 * 4; c += 5) {
        cmg_generate_options o = way(2 + c % 2, c / 2 % WAYS);
        generate_set(&o, "problem=%s dirichlet=%s reaction=2 coefficient=anisotropic angle=30 %s",
                     FEM_WORD("problem", c / 2 / WAYS % 4), FEM_WORD("boundary", c / 8 / WAYS % 4),
                     c % 3 == 0 ? "dirichlet_labels=left,top" : "");
        check_exact(&o);
        o.distort = 0.4;
        o.aspect = 3;
        o.coefficient = CMG_COEFFICIENT_SMOOTH;
        o.quadrature = 4;
        check_exact(&o);
    }
}

/* The same on every built-in shape, and by products with the element entries. */
TEST(polynomials_solve_on_every_shape)
{
    for (int c = 0; c < 4 * 2; ++c) {
        for (int shape = CMG_SHAPE_LSHAPE; shape <= CMG_SHAPE_FICHERA; ++shape) {
            cmg_generate_options o = small(2 + c / 4, (cmg_element)(c % 4));
            o.shape = (cmg_shape)shape;
            o.cells = shape == CMG_SHAPE_ANNULUS ? 8 : 4;
            o.columns = c == 0 ? 65 : o.columns; /* holes */
            o.levels = o.dim == 3 ? 1 : 2;
            o.problem = c % 2 ? CMG_PROBLEM_ELASTICITY : CMG_PROBLEM_POISSON;
            o.assembly = c % 3 == 0 ? CMG_ASSEMBLY_SPMV : CMG_ASSEMBLY_ROWS;
            cmg_generate_size size = {.size = sizeof size};
            if (cmg_generate_estimate(ctx, &o, &size) != CMG_OK) {
                CHECK_MESSAGE("does not exist in");
                continue;
            }
            o.boundary = shape % 2 ? CMG_BOUNDARY_IDENTITY : CMG_BOUNDARY_ELIMINATE;
            check_exact(&o);
        }
    }
}

TEST(meshes_equal_grids)
{
    for (int c = 0; c < 2 * 2 * 4 * 4; c += 3) {
        cmg_generate_options o = small(2 + c % 2, (cmg_element)(c / 2 % 2));
        generate_set(&o,
                     "problem=%s dirichlet=%s aspect=2 load=exponential numbering=lexicographic "
                     "coefficient=random",
                     FEM_WORD("problem", c / 4 % 4), FEM_WORD("boundary", c / 16 % 4));
        scoped_hierarchy *grid = hierarchy_generated(&o);
        o.general = true;
        o.assembly = c % 5 == 0 ? CMG_ASSEMBLY_SPMV : CMG_ASSEMBLY_ROWS;
        scoped_hierarchy *mesh = hierarchy_generated(&o);
        for (int l = 0; l < 2; ++l) {
            const cmg_csr A = csr_of(grid, l, CMG_ROLE_A);
            const cmg_csr B = csr_of(mesh, l, CMG_ROLE_A);
            CHECK(A.indptr[A.rows] == B.indptr[B.rows]);
            CHECK_NEAR(matrix_difference(&A, &B), 0, 1e-13 * largest(A.values, A.indptr[A.rows]));
        }
        const cmg_csr P = csr_of(grid, 0, CMG_ROLE_P);
        const cmg_csr Q = csr_of(mesh, 0, CMG_ROLE_P);
        CHECK(P.indptr[P.rows] == Q.indptr[Q.rows]);
        CHECK_NEAR(matrix_difference(&P, &Q), 0, 1e-14);
        cmg_size n = 0;
        const double *b = vector_in(grid, 0, "rhs", "b", &n);
        const double *e = vector_in(mesh, 0, "rhs", "b", &n);
        CHECK_NEAR(largest_difference(b, e, n), 0, 1e-13 * (1 + largest(b, n)));
    }
}

/* P of a hierarchy without Dirichlet nodes takes nodal values of a polynomial to nodal values. */
static void check_embedding(const cmg_generate_options *o)
{
    scoped_hierarchy *h = hierarchy_generated(o);
    if (h == NULL) {
        return;
    }
    const double zero[3] = {0, 0, 0};
    const double one[3] = {1, 1, 1};
    cmgi_problem problem = cmgi_problem_make(o, o->dim, zero, one);
    problem.degree = o->order_coarsening ? 1 : problem.degree;
    const int nc = problem.components;
    double *u[2] = {NULL, NULL};
    for (int l = 0; l < 2; ++l) {
        cmg_size n = 0;
        const double *x = vector_in(h, l, "coords", NULL, &n);
        u[l] = calloc((size_t)(n / o->dim * nc) + 1, sizeof(double));
        for (cmg_size i = 0; i < n / o->dim; ++i) {
            cmgi_problem_exact(&problem, x + i * o->dim, u[l] + i * nc, NULL);
        }
    }
    const cmg_csr P = csr_of(h, 0, CMG_ROLE_P);
    scoped double *Pu = csr_times(&P, u[1]);
    CHECK_NEAR(largest_difference(Pu, u[0], P.rows), 0, 1e-13 * largest(u[0], P.rows));
    free_all(u[0], u[1]);
}

TEST(prolongation_embeds_the_space)
{
    for (int c = 0; c < 2 * WAYS * 2 * 2; ++c) {
        cmg_generate_options o = way(2 + c % 2, c / 2 % WAYS);
        const bool quadratic = o.element == CMG_ELEMENT_Q2 || o.element == CMG_ELEMENT_P2;
        o.boundary = CMG_BOUNDARY_NEUMANN;
        o.problem = c / 2 / WAYS % 2 ? CMG_PROBLEM_ELASTICITY : CMG_PROBLEM_POISSON;
        o.order_coarsening = c / 4 / WAYS == 1 && quadratic;
        o.distort = 0.4;
        check_embedding(&o);
    }
}

TEST(galerkin_equals_rediscretised)
{
    for (int c = 0; c < 2 * WAYS * 4 * 3; c += 5) {
        cmg_generate_options o = way(2 + c % 2, c / 2 % WAYS);
        const int condition = c / 8 / WAYS;
        o.problem = (cmg_problem)(c / 2 / WAYS % 4);
        o.boundary = (cmg_boundary)(condition == 2 ? CMG_BOUNDARY_NEUMANN : condition);
        o.order_coarsening =
            (o.element == CMG_ELEMENT_Q2 || o.element == CMG_ELEMENT_P2) && c % 3 == 0;
        o.aspect = 2;
        scoped_hierarchy *anew = hierarchy_generated(&o);
        o.coarsening = CMG_COARSENING_GALERKIN;
        scoped_hierarchy *products = hierarchy_generated(&o);
        for (int l = 0; l < cmg_hierarchy_levels(anew); ++l) {
            const cmg_csr A = csr_of(anew, l, CMG_ROLE_A);
            const cmg_csr B = csr_of(products, l, CMG_ROLE_A);
            CHECK_NEAR(matrix_difference(&A, &B), 0, 1e-13 * largest(A.values, A.indptr[A.rows]));
        }
    }
}

/* Row sums of the Neumann matrix vanish; all row sums of the mass part give the area. */
TEST(sums_are_right)
{
    for (int dim = 2; dim <= 3; ++dim) {
        cmg_generate_options o = small(dim, CMG_ELEMENT_Q2);
        generate_set(
            &o,
            "dirichlet=neumann load=source distort=0.3 aspect=2.5 problem=heat coefficient=random");
        scoped_hierarchy *h = hierarchy_generated(&o);
        const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
        double total = 0;
        for (cmg_size k = 0; k < A.indptr[A.rows]; ++k) {
            total += A.values[k];
        }
        CHECK_NEAR(total, 2.5, 1e-11);
        cmg_size n = 0;
        const double *b = vector_in(h, 0, "rhs", "b", &n);
        double load = 0;
        for (cmg_size i = 0; i < n; ++i) {
            load += b[i];
        }
        CHECK_NEAR(load, 2.5, 1e-12);
    }
}

TEST(conditions_have_their_form)
{
    for (int b = CMG_BOUNDARY_ELIMINATE; b <= CMG_BOUNDARY_NEUMANN; ++b) {
        cmg_generate_options o = small(3, CMG_ELEMENT_Q1);
        generate_set(&o, "dirichlet=%s dirichlet-labels=left,front", FEM_WORD("boundary", b));
        cmg_level_info info = {.size = sizeof info};
        scoped_hierarchy *h = hierarchy_generated(&o);
        CHECK_OK(cmg_hierarchy_level_info(h, 0, false, &info));
        const bool identity = b == CMG_BOUNDARY_IDENTITY || b == CMG_BOUNDARY_IDENTITY_KEEP;
        CHECK(info.rows == (b == CMG_BOUNDARY_ELIMINATE ? 4 * 5 * 4 : 5 * 5 * 5));
        CHECK(info.dirichlet_rows == (identity ? 125 - 80 : 0));
        CHECK((info.asymmetry > 1e-3) == (b == CMG_BOUNDARY_IDENTITY_KEEP));
        CHECK(info.asymmetry_interior < 1e-14);
    }
}

/* Coarse levels without unknowns go: one cell a side has none. */
TEST(empty_levels_are_dropped)
{
    for (int c = 0; c < 2; ++c) {
        cmg_generate_options o = small(2, CMG_ELEMENT_Q1);
        generate_set(&o, "general=%d levels=4", c == 1);
        scoped_hierarchy *h = hierarchy_generated(&o);
        CHECK(cmg_hierarchy_levels(h) == 3);
        CHECK_OK(cmg_hierarchy_check(h));
        CHECK(cmg_hierarchy_rows(h, 2) == 1);
    }
}

/* What was asked for beside the defaults is in the hierarchy, numbers as they are read back. */
TEST(choices_are_kept)
{
    cmg_generate_options o = small(2, CMG_ELEMENT_Q1);
    generate_set(&o, "problem=elasticity poisson_ratio=0.1 distort=0.125");
    scoped_hierarchy *h = hierarchy_generated(&o);
    const char *ratio = cmg_hierarchy_attribute(h, "poisson_ratio");
    const char *distort = cmg_hierarchy_attribute(h, "distort");
    CHECK(ratio != NULL && atof(ratio) == o.poisson_ratio);
    CHECK(distort != NULL && atof(distort) == o.distort);
    CHECK(cmg_hierarchy_attribute(h, "young") == NULL); /* the default */
}

static void check_repeats(bool general)
{
    cmg_generate_options o = small(3, CMG_ELEMENT_Q2);
    generate_set(&o, "general=%d distort=0.4 coefficient=smooth", general);
    scoped_hierarchy *h = hierarchy_generated(&o);
    const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
    for (int threads = 1; threads <= 3; ++threads) {
        scoped_context *other = context_of_threads(threads);
        scoped_hierarchy *g = NULL;
        CHECK_OK(cmg_hierarchy_generate(other, &o, &g));
        const cmg_csr B = csr_of(g, 0, CMG_ROLE_A);
        CHECK(same_csr(&A, &B));
    }
}

TEST(repeats_bit_for_bit)
{
    check_repeats(false);
    check_repeats(true);
}

static void refuses(const cmg_generate_options *o, cmg_status expected)
{
    cmg_hierarchy *h = NULL;
    CHECK_STATUS(cmg_hierarchy_generate(ctx, o, &h), expected);
    CHECK(h == NULL);
}

/* Every row comes back through text, and so does a list of numbers. */
TEST(options_are_a_table)
{
    cmg_generate_options o = generate_defaults();
    cmg_generate_options p = generate_defaults();
    CHECK_OK(cmg_generate_options_set(
        &o,
        "element=p2 dim=3 shape=lshape mesh=\"a b.msh\" cells=8 time-step=0.25 coarse=galerkin "
        "dirichlet=neumann dirichlet-labels=left,top flux=0,-1.5 seed=7 numbering=random no-snap"));
    CHECK(o.element == CMG_ELEMENT_P2 && o.dim == 3 && o.coarsening == CMG_COARSENING_GALERKIN);
    CHECK(o.boundary == CMG_BOUNDARY_NEUMANN && o.numbering == CMG_NUMBERING_RANDOM && !o.snap);
    CHECK(o.flux[0] == 0 && o.flux[1] == -1.5 && o.flux[2] == 0 && o.seed == 7);
    CHECK(strcmp(o.mesh, "a b.msh") == 0 && strcmp(o.dirichlet_labels, "left,top") == 0);
    for (int i = 0; cmg_generate_option(i) != NULL; ++i) {
        char text[1100];
        char why[CMG_MESSAGE] = "";
        cmg_option_get(cmg_generate_option(i), &o, text, sizeof text);
        CHECK(cmg_option_set(cmg_generate_option(i), &p, text, why) == CMG_OK);
    }
    CHECK(memcmp(&o, &p, sizeof o) == 0);
    static const char *const bad[] = {"element=q3", "flux=1,2,3,4", "flux=1,,2",
                                      "flux=nan",   "time-step=0",  "dirichlet=left"};
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; ++k) {
        CHECK(cmg_generate_options_set(&p, bad[k]) == CMG_ERR_ARG && p.refused[0] != '\0');
        CHECK(memcmp((char *)&o + CMG_MESSAGE + 8, (char *)&p + CMG_MESSAGE + 8,
                     sizeof o - CMG_MESSAGE - 8) == 0);
    }
    cmg_hierarchy *h = NULL;
    CHECK_STATUS(cmg_hierarchy_generate(ctx, &p, &h), CMG_ERR_ARG);
    cmg_generate_size size = {.size = 3};
    CHECK_STATUS(cmg_generate_estimate(ctx, NULL, &size), CMG_ERR_ARG);
    cmg_generate_options_default(&o);
    CHECK_STATUS(cmg_generate_estimate(ctx, &o, &size), CMG_ERR_ARG);
}

TEST(bad_options_are_named)
{
    const cmg_generate_options good = small(2, CMG_ELEMENT_Q1);
    cmg_generate_options o = good;
    o.dim = 4;
    refuses(&o, CMG_ERR_ARG);
    CHECK_MESSAGE("dim 4 is out of range: 2 to 3");
    static const char *const texts[] = {"cells=6 levels=3",
                                        "shape=cube",
                                        "order-coarsening",
                                        "cells=1 levels=1",
                                        "flux-labels=right",
                                        "load=source flux-labels=nowhere",
                                        "dirichlet-labels=left,nowhere"};
    for (size_t k = 0; k < sizeof texts / sizeof texts[0]; ++k) {
        o = good;
        generate_set(&o, "%s", texts[k]);
        refuses(&o, CMG_ERR_ARG);
    }
    CHECK_MESSAGE("nowhere");
    o = good;
    o.distort = 0.6;
    refuses(&o, CMG_ERR_ARG);
    o = good;
    o.aspect = NAN;
    refuses(&o, CMG_ERR_ARG);
    o = good;
    o.element = (cmg_element)9;
    refuses(&o, CMG_ERR_ARG);
}

static void check_faults(cmg_generate_options o)
{
    o.cells = 4;
    o.distort = 0.2;
    o.coarsening = CMG_COARSENING_GALERKIN;
    for (failing f = {.most = 10000, .fewest = 20}; failing_next(&f);) {
        scoped_hierarchy *h = NULL;
        failing_done(&f, cmg_hierarchy_generate(ctx, &o, &h));
    }
}

/* Levels as templates have the values of those that are assembled, to the bit; explicit zeros are
 * left out. */
TEST(templates_are_the_assembled_matrices)
{
    for (int c = 0; c < 2 * 3 * 2; ++c) {
        static const cmg_problem problems[] = {CMG_PROBLEM_POISSON, CMG_PROBLEM_HEAT,
                                               CMG_PROBLEM_CONVECTION};
        cmg_generate_options o = small(2 + c % 2, CMG_ELEMENT_Q1);
        cmg_generate_size sizes[2] = {{.size = sizeof *sizes}, {.size = sizeof *sizes}};
        o.cells = 8;
        o.levels = 0;
        o.aspect = 1.5;
        o.problem = problems[c / 2 % 3];
        o.coefficient = c / 6 ? CMG_COEFFICIENT_ANISOTROPIC : CMG_COEFFICIENT_CONSTANT;
        scoped_hierarchy *assembled = hierarchy_generated(&o);
        CHECK_OK(cmg_generate_estimate(ctx, &o, &sizes[0]));
        o.templates = true;
        scoped_hierarchy *h = hierarchy_generated(&o);
        CHECK_OK(cmg_generate_estimate(ctx, &o, &sizes[1]));
        CHECK(sizes[0].nnz == sizes[1].nnz && sizes[1].bytes == 0 &&
              sizes[1].file_size < sizes[0].file_size && sizes[1].file_size > 0);
        CHECK(cmg_hierarchy_levels(assembled) == cmg_hierarchy_levels(h));
        for (int l = 0; l < cmg_hierarchy_levels(h); ++l) {
            for (int role = CMG_ROLE_A; role <= CMG_ROLE_P && l + role < 3; ++role) {
                const cmg_csr A = csr_of(assembled, l, (cmg_role)role);
                const cmg_csr B = csr_of(h, l, (cmg_role)role);
                CHECK(matrix_difference(&A, &B) == 0);
            }
        }
        CHECK(cmg_hierarchy_vector_name(h, "rhs", 0) == NULL);
    }
    static const char *const others[] = {"element=q2",
                                         "distort=0.1",
                                         "coefficient=smooth",
                                         "problem=elasticity",
                                         "dirichlet=neumann",
                                         "dirichlet-labels=left",
                                         "coarse=galerkin",
                                         "elements",
                                         "numbering=random",
                                         "shape=lshape",
                                         "general"};
    for (size_t k = 0; k < sizeof others / sizeof *others; ++k) {
        cmg_generate_options o = small(2, CMG_ELEMENT_Q1);
        generate_set(&o, "%s", others[k]);
        o.templates = true;
        refuses(&o, CMG_ERR_ARG);
        CHECK_MESSAGE("templates are for Q1");
    }
}

TEST(every_allocation_may_fail)
{
    cmg_generate_options o = small(2, CMG_ELEMENT_Q2);
    check_faults(o);
    o = small(2, CMG_ELEMENT_P2);
    o.numbering = CMG_NUMBERING_CELLS;
    check_faults(o);
    o.assembly = CMG_ASSEMBLY_SPMV;
    o.numbering = CMG_NUMBERING_CUTHILL_MCKEE;
    o.boundary = CMG_BOUNDARY_NEUMANN;
    o.load = CMG_LOAD_SOURCE;
    check_faults(o);
}
