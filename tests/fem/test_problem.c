/* A problem's functions one by one: coefficients by their formulas, gradients by differences. */
#include "fem/problem.h"
#include "generated.h"

static const double pi = 3.14159265358979323846;
static const double origin[3] = {-1, 2, 0.5};
static const double extent[3] = {2, 0.5, 4};

static cmg_generate_options defaults(void)
{
    return generate_options("contrast=40 angle=25 seed=11");
}

static cmgi_problem problem_of(int dim, const char *text)
{
    cmg_generate_options o = defaults();
    generate_set(&o, "%s", text);
    return cmgi_problem_make(&o, dim, origin, extent);
}

/* Points of the box that lie on no border between fields, x; in the unit box s. */
static void point(int dim, int k, double *s, double *x)
{
    for (int d = 0; d < dim; ++d) {
        s[d] = fmod(0.137 + (k + 1) * (0.618034 + 0.1 * d), 1);
        x[d] = origin[d] + s[d] * extent[d];
    }
}

/* The scalar k of cmg_fem.h; for the random field the bounds alone. */
static void check_scalar(const cmgi_problem *p, const double *s, double found)
{
    double product = 1;
    bool inside = true;
    int fields = 0;
    for (int d = 0; d < p->dim; ++d) {
        product *= sin(2 * pi * s[d] + 0.5 + d);
        inside = inside && fabs(s[d] - 0.5) < 0.25;
        fields += (int)(4 * s[d]);
    }
    if (p->options.coefficient == CMG_COEFFICIENT_SMOOTH) {
        CHECK_NEAR(found, exp(product), 1e-12);
    } else if (p->options.coefficient == CMG_COEFFICIENT_JUMP) {
        CHECK(found == (inside ? 40 : 1));
    } else if (p->options.coefficient == CMG_COEFFICIENT_CHECKERBOARD) {
        CHECK(found == (fields % 2 == 1 ? 40 : 1));
    } else if (p->options.coefficient == CMG_COEFFICIENT_RANDOM) {
        CHECK(found >= 1 && found <= 40);
    } else {
        CHECK(found == 1);
    }
}

TEST(coefficients_are_their_formulas)
{
    for (int c = 0; c < 2 * 5; ++c) {
        cmg_generate_options o = defaults();
        generate_set(&o, "coefficient=%s problem=%s time_step=0.25", FEM_WORD("coefficient", c / 2),
                     c / 2 == 3 ? "heat" : "poisson");
        const int dim = 2 + c % 2;
        const cmgi_problem p = cmgi_problem_make(&o, dim, origin, extent);
        CHECK(cmgi_problem_constant(&p) == (c / 2 == 0));
        for (int k = 0; k < 200; ++k) {
            double s[3];
            double x[3];
            double K[9];
            point(dim, k, s, x);
            cmgi_problem_coefficient(&p, 0, x, K);
            check_scalar(&p, s, K[0] / p.diffusion);
            CHECK_EACH(i, dim * dim, K[i] == (i % (dim + 1) == 0 ? K[0] : 0));
        }
        CHECK(p.diffusion == (c / 2 == 3 ? 0.25 : 1) && p.reaction == (c / 2 == 3 ? 1 : 0));
    }
}

/* A random field is constant on each of 16 fields a side, and differs between neighbours. */
TEST(random_fields_are_sixteen_a_side)
{
    for (int dim = 2; dim <= 3; ++dim) {
        const cmgi_problem p = problem_of(dim, "coefficient=random");
        double last[9] = {0};
        EACH_TRIPLE (axis, dim, field, 16, at, 3) {
            double x[3];
            double K[9];
            for (int d = 0; d < dim; ++d) {
                const double s = d == axis ? (field + 0.01 + 0.49 * at) / 16 : 0.3;
                x[d] = origin[d] + s * extent[d];
            }
            cmgi_problem_coefficient(&p, 0, x, K);
            CHECK(at == 0 ? K[0] != last[0] : K[0] == last[0]);
            last[0] = K[0];
        }
    }
}

/* contrast along the direction of the angle, 1 across and along z */
TEST(anisotropy_has_its_axes)
{
    for (int dim = 2; dim <= 3; ++dim) {
        const cmgi_problem p = problem_of(dim, "coefficient=anisotropic");
        CHECK(cmgi_problem_constant(&p));
        double K[9];
        cmgi_problem_coefficient(&p, 0, origin, K);
        const double angle = 25 * pi / 180;
        const double axes[3][3] = {
            {cos(angle), sin(angle), 0}, {-sin(angle), cos(angle), 0}, {0, 0, 1}};
        EACH_PAIR (a, dim, i, dim) {
            double image = 0;
            for (int j = 0; j < dim; ++j) {
                image += K[i * dim + j] * axes[a][j];
            }
            CHECK_NEAR(image, (a == 0 ? 40 : 1) * axes[a][i], 1e-13);
        }
    }
}

/* du is the derivative of u, by central differences; components are multiples of the first. */
TEST(gradients_are_derivatives)
{
    for (int c = 0; c < 2 * 3 * 2 * 2; ++c) {
        cmg_generate_options o = defaults();
        o.load = (cmg_load)(CMG_LOAD_SINE + c / 2 % 3);
        o.problem = c / 6 % 2 ? CMG_PROBLEM_ELASTICITY : CMG_PROBLEM_POISSON;
        o.element = c / 12 ? CMG_ELEMENT_Q2 : CMG_ELEMENT_Q1;
        const int dim = 2 + c % 2;
        const double h = 1e-5;
        const cmgi_problem p = cmgi_problem_make(&o, dim, origin, extent);
        CHECK(cmgi_problem_solved(&p) && p.components == (p.elastic ? dim : 1));
        for (int k = 0; k < 20; ++k) {
            double s[3];
            double x[3];
            double u[3];
            double du[9];
            point(dim, k, s, x);
            cmgi_problem_exact(&p, x, u, du);
            for (int d = 0; d < dim; ++d) {
                double near[2][3];
                for (int side = 0; side < 2; ++side) {
                    double y[3] = {x[0], x[1], dim == 3 ? x[2] : 0};
                    y[d] += side == 0 ? -h : h;
                    cmgi_problem_exact(&p, y, near[side], NULL);
                }
                for (int i = 0; i < p.components; ++i) {
                    CHECK_NEAR(du[i * dim + d], (near[1][i] - near[0][i]) / (2 * h), 1e-7);
                    CHECK_NEAR(u[i], (1 - 0.5 * i) * u[0], 1e-14 * fabs(u[0]));
                }
            }
        }
    }
}

/* The solutions themselves, at one point, as cmg_fem.h has them. */
TEST(solutions_are_their_formulas)
{
    const double x[3] = {-0.7, 2.4, 1.5};
    double u = 0;
    for (int dim = 2; dim <= 3; ++dim) {
        cmgi_problem p = problem_of(dim, "load=sine");
        cmgi_problem_exact(&p, x, &u, (double[3]){0});
        CHECK_NEAR(u, sin(0.15 * pi) * sin(0.8 * pi) * (dim == 3 ? sin(0.25 * pi) : 1), 1e-14);
        p.options.load = CMG_LOAD_EXPONENTIAL;
        cmgi_problem_exact(&p, x, &u, NULL);
        CHECK_NEAR(u, exp(-0.7) * cos(2.4) * (dim == 3 ? 1.75 : 1), 1e-14);
        p.options.load = CMG_LOAD_POLYNOMIAL;
        cmgi_problem_exact(&p, x, &u, NULL);
        CHECK_NEAR(u, 1 - 0.7 + 2 * 2.4 + (dim == 3 ? 3 * 1.5 : 0), 1e-14);
    }
}

/* Lame's constants give Young's modulus and Poisson's ratio of a bar (3D) or plate (2D) back. */
TEST(elasticity_has_its_modulus)
{
    for (int dim = 2; dim <= 3; ++dim) {
        const cmgi_problem p = problem_of(dim, "problem=elasticity young=7 poisson_ratio=0.3");
        /* strain 1 along x, -nu along the others: stress E along x, none across */
        const double trace = 1 - (dim - 1) * 0.3;
        CHECK_NEAR(p.lambda * trace + 2 * p.mu, 7, 1e-13);
        CHECK_NEAR(p.lambda * trace - 2 * p.mu * 0.3, 0, 1e-13);
        CHECK(p.symmetric && p.elastic && p.components == dim);
    }
}

/* The velocity has its length, and halves from axis to axis. */
TEST(convection_has_its_velocity)
{
    for (int dim = 2; dim <= 3; ++dim) {
        const cmgi_problem p = problem_of(dim, "problem=convection velocity=30 reaction=5");
        double square = 0;
        for (int d = 0; d < dim; ++d) {
            square += p.velocity[d] * p.velocity[d];
            CHECK_NEAR(p.velocity[d], p.velocity[0] / (1 << d), 1e-13);
        }
        CHECK_NEAR(square, 900, 1e-10);
        CHECK(!p.symmetric && p.reaction == 5 && p.velocity[0] > 0);
    }
}

static void source_of(void *user, const double *x, double *f)
{
    f[0] = *(const double *)user * x[0];
}

TEST(sources_are_their_formulas)
{
    double f[3] = {9, 9, 9};
    double factor = 3;
    cmg_generate_options o = generate_options("contrast=40 angle=25 seed=11 strength=2");
    cmgi_problem p = cmgi_problem_make(&o, 3, origin, extent);
    CHECK(!cmgi_problem_solved(&p));
    cmgi_problem_source(&p, origin, f);
    CHECK(f[0] == 2 && f[1] == 9);
    o.problem = CMG_PROBLEM_ELASTICITY;
    p = cmgi_problem_make(&o, 3, origin, extent);
    cmgi_problem_source(&p, origin, f);
    CHECK(f[0] == 0 && f[1] == 0 && f[2] == -2);
    p.options.source = source_of;
    p.options.source_user = &factor;
    cmgi_problem_source(&p, origin, f);
    CHECK(f[0] == -3);
}
