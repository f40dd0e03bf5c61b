/*
 * Polynomial smoothers: one smoothing step multiplies the error by q(M A), q(0) = 1, with the base
 * smoother M and a bound lambda on the spectrum of M A. Two forms of the same polynomial:
 *
 *   schedule     x <- x + omega_j M (b - A x),   omega_j = 1 / (theta_j lambda),   j = 1 .. degree
 *   recurrence   x <- x + beta_j (x - x_old) + omega_j M (b - A x)
 *
 * The schedule needs the roots theta_j of q alone, see roots.h. The recurrence goes through the
 * family's lower degrees, see recurrence.h; it reads x_old besides and writes over it.
 */
#include "smoothers/pattern.h"
#include "smoothers/recurrence.h"
#include "smoothers/smoother.h"

#include <math.h>

enum { DEGREE, BOUND, FORM, BASE, RATIO };
enum { LANCZOS, GERSHGORIN };
enum { SCHEDULE, RECURRENCE };

static const char *const bounds[] = {"lanczos", "gershgorin", NULL};
static const char *const forms[] = {"schedule", "recurrence", NULL};

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
    [FORM] = {.key = "form",                                                                       \
              .text = "scheduled dampings, or a three-term recurrence",                            \
              .words = forms},                                                                     \
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

typedef enum family { CHEBYSHEV, CHEBYSHEV4, OPTIMAL, LEAST_SQUARES, GLS, NEUMANN } family;

/* Neumann series of n terms with the damping 4 / (3 lambda). */
static void neumann_roots(int n, double *theta)
{
    for (int j = 0; j < n; ++j) {
        theta[j] = 0.75;
    }
}

/* The interval of `chebyshev` is [lambda / ratio, lambda]. */
static double ratio_of(const cmgi_arguments *arguments)
{
    const double degree = arguments->value[DEGREE];
    const double given = arguments->value[RATIO];
    return given > 0 ? fmax(given, 1.01) : fmax(2, degree * degree);
}

static void find_roots(family f, const cmgi_arguments *arguments, const cmgi_spectrum *spectrum,
                       double *theta)
{
    const int n = (int)arguments->value[DEGREE];
    switch (f) {
    case CHEBYSHEV:
        cmgi_roots_chebyshev(n, ratio_of(arguments), theta);
        break;
    case CHEBYSHEV4:
        cmgi_roots_chebyshev4(n, theta);
        break;
    case OPTIMAL:
        cmgi_roots_optimal(n, theta);
        break;
    case LEAST_SQUARES:
        cmgi_roots_least_squares(n, theta);
        break;
    case GLS:
        cmgi_roots_gls(n, spectrum, theta);
        break;
    default:
        neumann_roots(n, theta);
        break;
    }
}

static void find_recurrence(family f, const cmgi_arguments *arguments,
                            const cmgi_spectrum *spectrum, cmgi_orthogonal *o)
{
    const int n = (int)arguments->value[DEGREE];
    switch (f) {
    case CHEBYSHEV:
        cmgi_orthogonal_chebyshev(n, ratio_of(arguments), o);
        break;
    case CHEBYSHEV4:
        cmgi_orthogonal_chebyshev4(n, o);
        break;
    case OPTIMAL:
        cmgi_orthogonal_optimal(n, o);
        break;
    case LEAST_SQUARES:
        cmgi_orthogonal_least_squares(n, o);
        break;
    case GLS:
        cmgi_orthogonal_gls(n, spectrum, o);
        break;
    default:
        cmgi_orthogonal_neumann(n, o);
        break;
    }
}

static cmg_status make(const cmgi_smoother_source *source, family f, cmgi_smoother_product *product)
{
    cmgi_spectrum spectrum;
    const cmgi_arguments *arguments = source->arguments;
    const int degree = (int)arguments->value[DEGREE];
    CMGI_TRY(make_base(source, product, &spectrum));
    product->stages = degree;
    if (arguments->value[FORM] == RECURRENCE) {
        cmgi_orthogonal o;
        find_recurrence(f, arguments, &spectrum, &o);
        cmgi_recurrence(&o, product->stage, product->momentum);
        for (int j = 0; j < degree; ++j) {
            product->stage[j] /= spectrum.largest;
        }
        return CMG_OK;
    }
    double theta[CMGI_MAX_DEGREE];
    find_roots(f, arguments, &spectrum, theta);
    for (int j = 0; j < degree; ++j) {
        product->stage[j] = 1 / (theta[j] * spectrum.largest);
    }
    return CMG_OK;
}

cmg_status cmgi_chebyshev_make(const cmgi_smoother_source *source, cmgi_smoother_product *product)
{
    return make(source, CHEBYSHEV, product);
}

cmg_status cmgi_chebyshev4_make(const cmgi_smoother_source *source, cmgi_smoother_product *product)
{
    return make(source, CHEBYSHEV4, product);
}

cmg_status cmgi_optimal_make(const cmgi_smoother_source *source, cmgi_smoother_product *product)
{
    return make(source, OPTIMAL, product);
}

cmg_status cmgi_least_squares_make(const cmgi_smoother_source *source,
                                   cmgi_smoother_product *product)
{
    return make(source, LEAST_SQUARES, product);
}

cmg_status cmgi_gls_make(const cmgi_smoother_source *source, cmgi_smoother_product *product)
{
    return make(source, GLS, product);
}

cmg_status cmgi_neumann_make(const cmgi_smoother_source *source, cmgi_smoother_product *product)
{
    return make(source, NEUMANN, product);
}
