/* Coefficients, sources and manufactured solutions. */
#include "fem/problem.h"
#include "core/random.h"
#include "fem/basis.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

enum { FIELDS_CHECKERBOARD = 4, FIELDS_RANDOM = 16 };

cmgi_problem cmgi_problem_make(const cmg_generate_options *options, int dim, const double *origin,
                               const double *extent)
{
    const double E = options->young;
    const double nu = options->poisson_ratio;
    cmgi_problem p = {.dim = dim,
                      .components = options->problem == CMG_PROBLEM_ELASTICITY ? dim : 1,
                      .elastic = options->problem == CMG_PROBLEM_ELASTICITY,
                      .symmetric = options->problem != CMG_PROBLEM_CONVECTION,
                      .diffusion = options->problem == CMG_PROBLEM_HEAT ? options->time_step : 1,
                      .lambda =
                          dim == 2 ? E * nu / (1 - nu * nu) : E * nu / ((1 + nu) * (1 - 2 * nu)),
                      .mu = E / (2 * (1 + nu)),
                      .axes = {cos(options->angle * pi / 180), sin(options->angle * pi / 180)},
                      .degree = cmgi_basis_of(options->element, dim).order,
                      .options = *options};
    if (options->problem == CMG_PROBLEM_HEAT) {
        p.reaction = 1;
    } else if (options->problem == CMG_PROBLEM_CONVECTION) {
        const double length = sqrt(1 + 0.25 + (dim == 3 ? 0.0625 : 0));
        p.reaction = options->reaction;
        for (int d = 0; d < dim; ++d) {
            p.velocity[d] = options->velocity / length / (1 << d);
        }
    }
    for (int d = 0; d < dim; ++d) {
        p.origin[d] = origin[d];
        p.extent[d] = extent[d];
    }
    return p;
}

bool cmgi_problem_constant(const cmgi_problem *p)
{
    return p->factor == NULL && (p->options.coefficient == CMG_COEFFICIENT_CONSTANT ||
                                 p->options.coefficient == CMG_COEFFICIENT_ANISOTROPIC);
}

/* Position in the bounding box, every coordinate in [0, 1]. */
static void normalise(const cmgi_problem *p, const double *x, double *s)
{
    for (int d = 0; d < p->dim; ++d) {
        s[d] = (x[d] - p->origin[d]) / p->extent[d];
    }
}

/* Field of a division of the box into `fields` a side, one number for all axes and its parity. */
static int64_t field_of(const cmgi_problem *p, const double *s, int fields, int *parity)
{
    int64_t number = 0;
    *parity = 0;
    for (int d = p->dim - 1; d >= 0; --d) {
        const double position = fmin(fmax(floor(s[d] * fields), 0), fields - 1);
        number = number * fields + (int64_t)position;
        *parity ^= (int)position & 1;
    }
    return number;
}

static double scalar_coefficient(const cmgi_problem *p, const double *x)
{
    double s[3] = {0, 0, 0};
    normalise(p, x, s);
    int parity = 0;
    switch (p->options.coefficient) {
    case CMG_COEFFICIENT_SMOOTH: {
        double product = 1;
        for (int d = 0; d < p->dim; ++d) {
            product *= sin(2 * pi * s[d] + 0.5 + d);
        }
        return exp(product);
    }
    case CMG_COEFFICIENT_JUMP: {
        bool inside = true;
        for (int d = 0; d < p->dim; ++d) {
            inside = inside && s[d] > 0.25 && s[d] < 0.75;
        }
        return inside ? p->options.contrast : 1;
    }
    case CMG_COEFFICIENT_CHECKERBOARD:
        (void)field_of(p, s, FIELDS_CHECKERBOARD, &parity);
        return parity ? p->options.contrast : 1;
    case CMG_COEFFICIENT_RANDOM: {
        uint64_t state = p->options.seed + (uint64_t)field_of(p, s, FIELDS_RANDOM, &parity) * 7919;
        (void)cmgi_random_bits(&state);
        return pow(p->options.contrast, cmgi_random(&state));
    }
    default:
        return 1;
    }
}

void cmgi_problem_coefficient(const cmgi_problem *p, cmg_index region, const double *x, double *k)
{
    const int dim = p->dim;
    const double factor = p->factor != NULL ? p->factor[region] : 1;
    const double scale = factor * p->diffusion * scalar_coefficient(p, x);
    for (int i = 0; i < dim * dim; ++i) {
        k[i] = i % (dim + 1) == 0 ? scale : 0;
    }
    if (p->options.coefficient == CMG_COEFFICIENT_ANISOTROPIC) {
        const double c = p->axes[0];
        const double s = p->axes[1];
        k[0] = scale * (p->options.contrast * c * c + s * s);
        k[1] = scale * (p->options.contrast - 1) * c * s;
        k[dim] = k[1];
        k[dim + 1] = scale * (p->options.contrast * s * s + c * c);
    }
}

bool cmgi_problem_solved(const cmgi_problem *p)
{
    return p->options.load != CMG_LOAD_SOURCE;
}

/* u = prod sin(pi s_d) */
static void exact_sine(const cmgi_problem *p, const double *x, double *u, double *du)
{
    double s[3] = {0, 0, 0};
    normalise(p, x, s);
    *u = 1;
    for (int d = 0; d < p->dim; ++d) {
        *u *= sin(pi * s[d]);
        du[d] = pi / p->extent[d];
        for (int e = 0; e < p->dim; ++e) {
            du[d] *= e == d ? cos(pi * s[e]) : sin(pi * s[e]);
        }
    }
}

/* u = exp(x) cos(y) (1 + z/2) */
static void exact_exponential(const cmgi_problem *p, const double *x, double *u, double *du)
{
    const double w = p->dim == 3 ? 1 + 0.5 * x[2] : 1;
    *u = exp(x[0]) * cos(x[1]) * w;
    du[0] = *u;
    du[1] = -exp(x[0]) * sin(x[1]) * w;
    if (p->dim == 3) {
        du[2] = 0.5 * exp(x[0]) * cos(x[1]);
    }
}

/* u = 1 + x + 2y + 3z, and in degree 2 also + x^2 - 2y^2 + 3z^2 + xy + yz */
static void exact_polynomial(const cmgi_problem *p, const double *x, double *u, double *du)
{
    static const double square[3] = {1, -2, 3};
    *u = 1;
    for (int d = 0; d < p->dim; ++d) {
        *u += (d + 1) * x[d];
        du[d] = d + 1;
    }
    for (int d = 0; d < p->dim && p->degree == 2; ++d) {
        *u += square[d] * x[d] * x[d];
        du[d] += 2 * square[d] * x[d];
    }
    for (int d = 1; d < p->dim && p->degree == 2; ++d) {
        *u += x[d - 1] * x[d];
        du[d - 1] += x[d];
        du[d] += x[d - 1];
    }
}

void cmgi_problem_exact(const cmgi_problem *p, const double *x, double *u, double *du)
{
    double gradient[3] = {0, 0, 0};
    double value = 0;
    if (p->options.load == CMG_LOAD_SINE) {
        exact_sine(p, x, &value, gradient);
    } else if (p->options.load == CMG_LOAD_EXPONENTIAL) {
        exact_exponential(p, x, &value, gradient);
    } else if (p->options.load == CMG_LOAD_POLYNOMIAL) {
        exact_polynomial(p, x, &value, gradient);
    }
    /* the components of a displacement are multiples of one function */
    for (int c = 0; c < p->components; ++c) {
        const double factor = 1 - 0.5 * c;
        u[c] = factor * value;
        for (int d = 0; d < p->dim && du != NULL; ++d) {
            du[c * p->dim + d] = factor * gradient[d];
        }
    }
}

void cmgi_problem_source(const cmgi_problem *p, const double *x, double *f)
{
    if (p->options.source != NULL) {
        p->options.source(p->options.source_user, x, f);
        return;
    }
    for (int c = 0; c < p->components; ++c) {
        f[c] = !p->elastic              ? p->options.strength
               : c == p->components - 1 ? -p->options.strength
                                        : 0;
    }
}
