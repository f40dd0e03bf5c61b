/*
 * Polynomial smoothers: one smoothing step multiplies the error by q(M A), q(0) = 1, with the base
 * smoother M and a bound lambda on the spectrum of M A. Two forms of the same polynomial:
 *
 *   schedule     x <- x + omega_j M (b - A x),   omega_j = 1 / (theta_j lambda),   j = 1 .. degree
 *   recurrence   x <- x + beta_j (x - x_old) + omega_j M (b - A x)
 *
 * The schedule needs the roots theta_j of q alone, see roots.h. The recurrence goes through the
 * family's lower degrees, too; it reads x_old besides and writes over it.
 */
#include "smoothers/pattern.h"
#include "smoothers/roots.h"

#include <math.h>

enum { DEGREE, BOUND, FORM, BASE, RATIO, LOWER };
enum { LANCZOS, GERSHGORIN };
enum { SCHEDULE, RECURRENCE };
enum { BY_RATIO, LEAST_RITZ };

static const char *const bounds[] = {"lanczos", "gershgorin", NULL};
static const char *const forms[] = {"schedule", "recurrence", NULL};
static const char *const lower_ends[] = {"ratio", "lanczos", NULL};

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

static const cmgi_key polynomial_keys[] = {CMGI_POLYNOMIAL_KEYS, {.key = NULL}};
static const cmgi_key chebyshev_keys[] = {
    CMGI_POLYNOMIAL_KEYS,
    [RATIO] = {.key = "ratio",
               .text = "acts on [lambda/ratio, lambda]; 0 = degree squared, at least 2",
               .high = 1e12},
    [LOWER] = {.key = "lower",
               .text = "end of the interval: by the ratio, or the least Ritz value of the bound",
               .words = lower_ends},
    {.key = NULL},
};

/* The base smoother's factors, and what is known about the spectrum of M A. */
static cmg_status make_base(const cmgi_smoother_source *source, cmgi_smoother_factors *out,
                            cmgi_spectrum *spectrum)
{
    cmg_context *ctx = source->ctx;
    const cmgi_arguments *arguments = source->arguments;
    const char *base = arguments->rest != NULL ? arguments->rest : "jacobi";
    CMGI_TRY(cmgi_smoother_make(source, base, 1.0, out));
    CMGI_TRY(cmgi_smoother_is_product(ctx, out, base));
    CMGI_CHECK(ctx, out->stages == 1 && out->stage[0] == 1, CMG_ERR_ARG,
               "base=%s: a base may not be a polynomial and has no damping", base);
    if (arguments->value[BOUND] == GERSHGORIN) {
        CMGI_CHECK(ctx, arguments->value[LOWER] != LEAST_RITZ, CMG_ERR_ARG,
                   "lower=lanczos needs bound=lanczos: row sums know no least eigenvalue");
        const cmgi_csr *M = &out->factor[0];
        CMGI_CHECK(ctx, out->factors == 1 && M->indptr[M->rows] == M->rows, CMG_ERR_ARG,
                   "bound=gershgorin needs a diagonal base, not %s", base);
        cmgi_scoped_csr B = {0};
        bool symmetric = false;
        CMGI_TRY(cmgi_decouple(ctx, &source->A, false, &B, &symmetric));
        *spectrum = (cmgi_spectrum){0};
        return cmgi_gershgorin(ctx, symmetric ? &B.view : &source->A, M, &spectrum->largest);
    }
    return cmgi_spectrum_estimate(source, out->factor, out->factors, CMGI_LANCZOS_STEPS, spectrum);
}

/*
 * The interval of `chebyshev` is [lambda / ratio, lambda]: its upper part, or, as in Zhang and
 * Zhang 2013, all of it as far as Lanczos has seen it.
 */
static double ratio_of(const cmgi_arguments *arguments, const cmgi_spectrum *spectrum)
{
    const double degree = arguments->value[DEGREE];
    if (arguments->value[LOWER] == LEAST_RITZ && spectrum->count > 0 && spectrum->ritz[0] > 0) {
        return fmax(spectrum->largest / spectrum->ritz[0], 1.01);
    }
    const double given = arguments->value[RATIO];
    return given > 0 ? fmax(given, 1.01) : fmax(2, degree * degree);
}

static cmg_status make(const cmgi_smoother_source *source, cmgi_family family,
                       cmgi_smoother_factors *out)
{
    cmgi_spectrum spectrum;
    const cmgi_arguments *arguments = source->arguments;
    const bool recurrence = arguments->value[FORM] == RECURRENCE;
    double theta[CMGI_MAX_DEGREE];
    cmgi_orthogonal o;
    CMGI_TRY(make_base(source, out, &spectrum));
    const cmgi_polynomial p = {.family = family,
                               .n = (int)arguments->value[DEGREE],
                               .ratio = ratio_of(arguments, &spectrum),
                               .spectrum = &spectrum};
    out->stages = p.n;
    if (recurrence) {
        cmgi_orthogonal_of(&p, &o);
        cmgi_recurrence(&o, out->stage, out->momentum);
    } else {
        cmgi_roots(&p, theta);
    }
    for (int j = 0; j < out->stages; ++j) {
        out->stage[j] =
            recurrence ? out->stage[j] / spectrum.largest : 1 / (theta[j] * spectrum.largest);
    }
    return CMG_OK;
}

#define CMGI_POLYNOMIAL(row, family, name_, keys_, text_, ...)                                     \
    static cmg_status make_##row(const cmgi_smoother_source *source, cmgi_smoother_factors *out)   \
    {                                                                                              \
        return make(source, family, out);                                                          \
    }                                                                                              \
    static const char *const row##_examples[] = {__VA_ARGS__, NULL};                               \
    const cmgi_smoother_method cmgi_smoother_##row = {.name = name_,                               \
                                                      .text = text_,                               \
                                                      .omega = 1.0,                                \
                                                      .keys = keys_,                               \
                                                      .symmetric = true,                           \
                                                      .examples = row##_examples,                  \
                                                      .make = make_##row};

CMGI_POLYNOMIAL(chebyshev, CMGI_CHEBYSHEV, "chebyshev", chebyshev_keys,
                "Chebyshev polynomial on the upper part of the spectrum", "base=sainv", "degree=1",
                "degree=5:ratio=20", "bound=gershgorin", "base=spai:tau=0", "lower=lanczos")
CMGI_POLYNOMIAL(chebyshev4, CMGI_CHEBYSHEV4, "chebyshev4", polynomial_keys,
                "Chebyshev polynomial of the fourth kind", "degree=6", "base=l1-jacobi")
CMGI_POLYNOMIAL(chebyshev4_opt, CMGI_OPTIMAL, "chebyshev4-opt", polynomial_keys,
                "the fourth kind optimised for the V-cycle", "degree=1", "degree=7:base=spai")
CMGI_POLYNOMIAL(least_squares, CMGI_LEAST_SQUARES, "least-squares", polynomial_keys,
                "least-squares polynomial on the whole spectrum", "degree=4")
CMGI_POLYNOMIAL(gls, CMGI_GLS, "gls", polynomial_keys,
                "least-squares polynomial, weight from Lanczos", "degree=4:base=spai")
CMGI_POLYNOMIAL(neumann, CMGI_NEUMANN, "neumann", polynomial_keys, "Neumann series, equal dampings",
                "degree=2")
