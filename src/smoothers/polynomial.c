/*
 * Polynomial smoothers as scheduled dampings: one smoothing step runs the stages
 *
 *     x <- x + omega_j M (b - A x),   omega_j = 1 / (theta_j lambda),   j = 1 .. degree,
 *
 * with the base smoother M and a bound lambda on the spectrum of M A, so that the error is
 * multiplied by q(M A) = prod_j (1 - M A / (theta_j lambda)). The polynomials differ in their roots
 * theta_j, see roots.h. No further vectors are needed.
 */
#include "smoothers/pattern.h"
#include "smoothers/roots.h"
#include "smoothers/smoother.h"

#include <math.h>

enum { DEGREE, BOUND, BASE, RATIO };
enum { LANCZOS, GERSHGORIN };

static const char *const bounds[] = {"lanczos", "gershgorin", NULL};

#define CMGI_POLYNOMIAL_KEYS                                                                       \
    [DEGREE] = {.key = "degree",                                                                   \
                .text = "stages of one smoothing step",                                            \
                .standard = 2,                                                                     \
                .low = 1,                                                                          \
                .high = CMGI_MAX_DEGREE,                                                           \
                .integer = true},                                                                  \
    [BOUND] = {.key = "bound",                                                                     \
               .text = "largest eigenvalue of M A by Lanczos or by row sums (diagonal base only)", \
               .words = bounds},                                                                   \
    [BASE] = {.key = "base", .text = "the smoother M, default jacobi; comes last", .rest = true}

const cmgi_key cmgi_polynomial_keys[] = {CMGI_POLYNOMIAL_KEYS, {.key = NULL}};
const cmgi_key cmgi_chebyshev_keys[] = {
    CMGI_POLYNOMIAL_KEYS,
    [RATIO] = {.key = "ratio",
               .text = "acts on [lambda/ratio, lambda]; 0 = degree squared, at least 2",
               .high = 1e6},
    {.key = NULL},
};

/* The base smoother's factors, and what is known about the spectrum of M A. */
static cmg_status make_base(const cmgi_smoother_source *source, cmgi_smoother_product *product,
                            cmgi_spectrum *spectrum)
{
    cmg_context *ctx = source->ctx;
    const cmgi_arguments *arguments = source->arguments;
    const char *base = arguments->rest != NULL ? arguments->rest : "jacobi";
    CMGI_TRY(cmgi_smoother_make(source, base, 1.0, product));
    CMGI_CHECK(ctx, product->stages == 1 && product->stage[0] == 1, CMG_ERR_ARG,
               "base=%s: a base may not be a polynomial and has no damping", base);
    if (arguments->value[BOUND] == GERSHGORIN) {
        const cmgi_csr *M = &product->factor[0];
        CMGI_CHECK(ctx, product->factors == 1 && M->indptr[M->rows] == M->rows, CMG_ERR_ARG,
                   "bound=gershgorin needs a diagonal base, not %s", base);
        cmgi_csr B = {0};
        bool symmetric = false;
        CMGI_TRY(cmgi_decouple(ctx, &source->A, false, &B, &symmetric));
        const cmg_csr view = cmgi_csr_view(&B);
        *spectrum =
            (cmgi_spectrum){.largest = cmgi_gershgorin(ctx, symmetric ? &view : &source->A, M)};
        cmgi_csr_free(ctx, &B);
        return CMG_OK;
    }
    return cmgi_spectrum_estimate(ctx, &source->A, product->factor, product->factors, spectrum);
}

/* Stages from roots. */
static void schedule(const double *theta, int degree, const cmgi_spectrum *spectrum,
                     cmgi_smoother_product *product)
{
    product->stages = degree;
    for (int j = 0; j < degree; ++j) {
        product->stage[j] = 1 / (theta[j] * spectrum->largest);
    }
}

cmg_status cmgi_chebyshev_make(const cmgi_smoother_source *source, cmgi_smoother_product *product)
{
    cmgi_spectrum spectrum;
    double theta[CMGI_MAX_DEGREE];
    const int degree = (int)source->arguments->value[DEGREE];
    const double given = source->arguments->value[RATIO];
    const double ratio = given > 0 ? fmax(given, 1.01) : fmax(2, degree * degree);
    CMGI_TRY(make_base(source, product, &spectrum));
    cmgi_roots_chebyshev(degree, ratio, theta);
    schedule(theta, degree, &spectrum, product);
    return CMG_OK;
}

/* The polynomials that have no argument but the degree. */
static cmg_status make_with(const cmgi_smoother_source *source, void (*roots)(int, double *),
                            cmgi_smoother_product *product)
{
    cmgi_spectrum spectrum;
    double theta[CMGI_MAX_DEGREE];
    const int degree = (int)source->arguments->value[DEGREE];
    CMGI_TRY(make_base(source, product, &spectrum));
    roots(degree, theta);
    schedule(theta, degree, &spectrum, product);
    return CMG_OK;
}

cmg_status cmgi_chebyshev4_make(const cmgi_smoother_source *source, cmgi_smoother_product *product)
{
    return make_with(source, cmgi_roots_chebyshev4, product);
}

cmg_status cmgi_optimal_make(const cmgi_smoother_source *source, cmgi_smoother_product *product)
{
    return make_with(source, cmgi_roots_optimal, product);
}

cmg_status cmgi_least_squares_make(const cmgi_smoother_source *source,
                                   cmgi_smoother_product *product)
{
    return make_with(source, cmgi_roots_least_squares, product);
}

/* Neumann series of degree terms with the damping 4 / (3 lambda). */
static void neumann_roots(int n, double *theta)
{
    for (int j = 0; j < n; ++j) {
        theta[j] = 0.75;
    }
}

cmg_status cmgi_neumann_make(const cmgi_smoother_source *source, cmgi_smoother_product *product)
{
    return make_with(source, neumann_roots, product);
}

cmg_status cmgi_gls_make(const cmgi_smoother_source *source, cmgi_smoother_product *product)
{
    cmgi_spectrum spectrum;
    double theta[CMGI_MAX_DEGREE];
    const int degree = (int)source->arguments->value[DEGREE];
    CMGI_TRY(make_base(source, product, &spectrum));
    cmgi_roots_gls(degree, &spectrum, theta);
    schedule(theta, degree, &spectrum, product);
    return CMG_OK;
}
