/* Roots of smoothing polynomials against their definitions, and bounds on spectra against known
 * ones. */
#include "smoothers/roots.h"
#include "smoothers/factors.h"

static const double pi = 3.14159265358979323846;

static void roots(cmgi_family family, int n, double *theta)
{
    cmgi_roots(&(cmgi_polynomial){.family = family, .n = n}, theta);
}

static double residual(int n, const double *theta, double x)
{
    double q = 1;
    for (int j = 0; j < n; ++j) {
        q *= 1 - x / theta[j];
    }
    return q;
}

/* T_n((b + a - 2x)/(b - a)) / T_n((b + a)/(b - a)), on an upper part and down to 1 / 2.3e6 */
static void first_kind(double a)
{
    for (int n = 1; n <= CMGI_MAX_DEGREE; ++n) {
        double theta[CMGI_MAX_DEGREE];
        cmgi_roots(&(cmgi_polynomial){.family = CMGI_CHEBYSHEV, .n = n, .ratio = 1 / a}, theta);
        const double scale = cosh(n * acosh((1 + a) / (1 - a)));
        for (int k = 0; k <= 100; ++k) {
            const double x = a + (1 - a) * k / 100;
            const double t = (1 + a - 2 * x) / (1 - a);
            CHECK_NEAR(residual(n, theta, x), cos(n * acos(fmax(-1, fmin(1, t)))) / scale, 1e-11);
        }
    }
}

TEST(first_kind_of_any_ratio)
{
    first_kind(0.125);
    first_kind(1 / 2.3e6);
}

/* sin((n + 1/2) t) / ((2n + 1) sin(t/2)) with cos t = 1 - 2x */
TEST(fourth_kind)
{
    for (int n = 1; n <= CMGI_MAX_DEGREE; ++n) {
        double theta[CMGI_MAX_DEGREE];
        roots(CMGI_CHEBYSHEV4, n, theta);
        for (int k = 1; k <= 100; ++k) {
            const double t = pi * k / 100;
            const double expected = sin((n + 0.5) * t) / ((2 * n + 1) * sin(t / 2));
            CHECK_NEAR(residual(n, theta, 0.5 * (1 - cos(t))), expected, 1e-11);
        }
    }
}

/* The optimised coefficients beta that Lottes tabulates, as corrections of fourth-kind iterates. */
TEST(optimal_matches_published_coefficients)
{
    static const double beta[4][4] = {
        {1.12500000000000},
        {1.02387287570313, 1.26408905371085},
        {1.00842544782028, 1.08867839208730, 1.33753125909618},
        {1.00391310427285, 1.04035811188593, 1.14863498546254, 1.38268869241000},
    };
    for (int n = 1; n <= 4; ++n) {
        double theta[CMGI_MAX_DEGREE];
        double fourth[5][CMGI_MAX_DEGREE];
        roots(CMGI_OPTIMAL, n, theta);
        for (int k = 1; k <= n; ++k) {
            roots(CMGI_CHEBYSHEV4, k, fourth[k]);
        }
        for (int s = 0; s <= 50; ++s) {
            const double x = s / 50.0;
            double expected = 1;
            for (int k = 1; k <= n; ++k) {
                expected -= beta[n - 1][k - 1] *
                            (residual(k - 1, fourth[k - 1], x) - residual(k, fourth[k], x));
            }
            CHECK_NEAR(residual(n, theta, x), expected, 1e-11);
        }
    }
}

/* Larger degrees by their equioscillation: max x q^2/(1-q^2) is reached n times, below the plain
 * bound. */
TEST(optimal_equioscillates)
{
    for (int n = 1; n <= CMGI_MAX_DEGREE; ++n) {
        double theta[CMGI_MAX_DEGREE];
        roots(CMGI_OPTIMAL, n, theta);
        double largest = 0;
        double slope = 0;
        for (int j = 0; j < n; ++j) {
            CHECK(theta[j] > 0 && theta[j] <= 1);
            slope += 1 / theta[j];
        }
        for (int k = 1; k <= 20000; ++k) {
            const double x = 0.5 * (1 - cos(pi * k / 20000));
            const double q = residual(n, theta, x);
            CHECK(q * q < 1);
            largest = worst_of(largest, x * q * q / (1 - q * q));
        }
        /* at 0 the function tends to 1/(2 sum 1/theta), which is the constant too */
        CHECK_NEAR(largest * 2 * slope, 1, 1e-5);
    }
}

/* q is orthogonal to lower degrees under lambda dlambda; by Simpson's rule. */
TEST(least_squares_is_orthogonal)
{
    enum { CELLS = 2000 };
    for (int n = 1; n <= 10; ++n) {
        double theta[CMGI_MAX_DEGREE];
        roots(CMGI_LEAST_SQUARES, n, theta);
        for (int d = 0; d < n; ++d) {
            double sum = 0;
            for (int k = 0; k <= 2 * CELLS; ++k) {
                const double x = k / (2.0 * CELLS);
                const double weight = k == 0 || k == 2 * CELLS ? 1 : k % 2 == 1 ? 4 : 2;
                sum += weight * residual(n, theta, x) * pow(x, d + 1);
            }
            CHECK_NEAR(sum / (6 * CELLS), 0, 1e-10);
        }
    }
}

/* Up to degree 16 the partial products of the stages never leave [-50, 50]: the order keeps the
 * digits. */
TEST(order_is_stable)
{
    for (int n = 1; n <= 16; ++n) {
        double theta[4][CMGI_MAX_DEGREE];
        cmgi_roots(&(cmgi_polynomial){.family = CMGI_CHEBYSHEV, .n = n, .ratio = 8}, theta[0]);
        roots(CMGI_CHEBYSHEV4, n, theta[1]);
        roots(CMGI_OPTIMAL, n, theta[2]);
        roots(CMGI_LEAST_SQUARES, n, theta[3]);
        for (int p = 0; p < 4; ++p) {
            for (int k = 0; k <= 200; ++k) {
                double q = 1;
                for (int j = 0; j < n; ++j) {
                    q *= 1 - k / (200 * theta[p][j]);
                    CHECK(fabs(q) < 50);
                }
            }
        }
    }
}

/* Some spectrum for `gls`: Ritz values that gather at the lower end. */
static cmgi_spectrum model_spectrum(void)
{
    cmgi_spectrum s = {.largest = 1, .symmetric = true, .count = CMGI_LANCZOS_STEPS};
    for (int k = 0; k < CMGI_LANCZOS_STEPS; ++k) {
        s.ritz[k] = 0.02 + 0.96 * (k * k) / (CMGI_LANCZOS_STEPS * CMGI_LANCZOS_STEPS);
        s.weight[k] = 1.0 / CMGI_LANCZOS_STEPS;
    }
    return s;
}

/* The roots of a family and its recurrence; `family` counts from 0, false past the last. */
static bool both_forms(int family, int n, double *theta, cmgi_orthogonal *o)
{
    const cmgi_spectrum spectrum = model_spectrum();
    const cmgi_polynomial p = {(cmgi_family)family, n, fmax(2, n * n), &spectrum};
    if (family > CMGI_NEUMANN) {
        return false;
    }
    cmgi_roots(&p, theta);
    cmgi_orthogonal_of(&p, o);
    for (int j = 0; j < n && family == CMGI_NEUMANN; ++j) {
        CHECK(theta[j] == 0.75);
    }
    return true;
}

/* q_n of the recurrence at t; *largest grows to the largest |q_k| on the way. */
static double recur(int n, const double *omega, const double *beta, double t, double *largest)
{
    double q = 1;
    double before = 0;
    for (int k = 0; k < n; ++k) {
        const double next = q + beta[k] * (q - before) - omega[k] * t * q;
        before = q;
        q = next;
        *largest = worst_of(*largest, fabs(q));
    }
    return q;
}

/*
 * Both forms are one polynomial, and on the way the recurrence never leaves [-1, 1]; that of `gls`,
 * whose weight follows the spectrum, may by a little.
 */
TEST(recurrences_end_in_the_roots)
{
    double theta[CMGI_MAX_DEGREE];
    double omega[CMGI_MAX_DEGREE];
    double beta[CMGI_MAX_DEGREE];
    cmgi_orthogonal o;
    for (int family = 0; both_forms(family, 1, theta, &o); ++family) {
        const double most = family == 4 ? 1.5 : 1 + 1e-12;
        for (int n = 1; n <= CMGI_MAX_DEGREE; ++n) {
            double largest = 0;
            double worst = 0;
            (void)both_forms(family, n, theta, &o);
            cmgi_recurrence(&o, omega, beta);
            CHECK(beta[0] == 0);
            CHECK_EACH(k, n, omega[k] > 0 && beta[k] >= 0);
            for (int k = 1; k <= 500; ++k) {
                const double t = k / 500.0;
                const double q = recur(n, omega, beta, t, &largest);
                worst = worst_of(worst, fabs(q - residual(n, theta, t)));
            }
            CHECK(worst <= 1e-12 * n);
            CHECK(largest <= most);
            if (worst > 1e-12 * n || largest > most) {
                printf("   family %d, degree %d: %.3g, largest %.3g\n", family, n, worst, largest);
            }
        }
    }
}

/* sum of x w p_i p_j over the measure, beside the norms of p_i and p_j; p by its recurrence. */
static double oblique(const cmgi_orthogonal *o, const cmgi_measure *mu, int i, int j)
{
    double sum[3] = {0, 0, 0};
    for (int k = 0; k < mu->count; ++k) {
        double p[CMGI_MAX_DEGREE + 2] = {1, mu->x[k] - o->a[0]};
        for (int d = 1; d < o->n; ++d) {
            p[d + 1] = (mu->x[k] - o->a[d]) * p[d] - o->b[d] * p[d - 1];
        }
        const double weight = mu->x[k] * mu->w[k];
        sum[0] += weight * p[i] * p[j];
        sum[1] += weight * p[i] * p[i];
        sum[2] += weight * p[j] * p[j];
    }
    return fabs(sum[0]) / sqrt(sum[1] * sum[2]);
}

static double most_oblique(const cmgi_orthogonal *o, const cmgi_measure *mu)
{
    double most = 0;
    for (int i = 1; i <= o->n; ++i) {
        for (int j = 0; j < i; ++j) {
            most = worst_of(most, oblique(o, mu, i, j));
        }
    }
    return most;
}

TEST(measures_have_their_polynomials)
{
    for (int n = 1; n <= 8; ++n) {
        cmgi_measure mu = {.count = CMGI_MEASURE_POINTS};
        cmgi_orthogonal o;
        for (int k = 0; k < mu.count; ++k) {
            mu.x[k] = (k + 0.5) / mu.count;
            mu.w[k] = 1 + 0.9 * sin(1.0 + k * k);
        }
        cmgi_orthogonal_under(n, &mu, &o);
        CHECK(o.n == n);
        CHECK_NEAR(most_oblique(&o, &mu), 0, 1e-10);
    }
}

/*
 * `gls` is orthogonal under x times a mixture: the Ritz values' weights and the least-squares
 * weight dx, at the midpoints of 64 equal angles of x = sin^2, in one of three shares.
 */
TEST(gls_is_orthogonal)
{
    const cmgi_spectrum spectrum = model_spectrum();
    static const double shares[] = {0.1, 0.3, 0.6};
    for (int n = 1; n <= 6; ++n) {
        double least = 1;
        cmgi_orthogonal o;
        cmgi_orthogonal_of(&(cmgi_polynomial){.family = CMGI_GLS, .n = n, .spectrum = &spectrum},
                           &o);
        for (int s = 0; s < 3; ++s) {
            cmgi_measure mu = {.count = spectrum.count + 64};
            for (int k = 0; k < spectrum.count; ++k) {
                mu.x[k] = spectrum.ritz[k];
                mu.w[k] = (1 - shares[s]) * spectrum.weight[k];
            }
            for (int k = 0; k < 64; ++k) {
                const double low = 0.5 * pi * k / 64;
                const double angle = low + 0.25 * pi / 64;
                mu.x[spectrum.count + k] = sin(angle) * sin(angle);
                mu.w[spectrum.count + k] = shares[s] * sin(2 * angle) * 0.5 * pi / 64;
            }
            least = fmin(least, most_oblique(&o, &mu));
        }
        CHECK_NEAR(least, 0, 1e-10);
    }
}

/* ------------------------------------------------------------------ spectra */

/* tridiag(-1, 2, -1), scaled by its diagonal: eigenvalues 1 - cos(k pi / (n + 1)). */
TEST(bounds_known_spectra)
{
    static const cmg_size sizes[] = {1, 2, 3, 31, 100, 257};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; ++s) {
        const cmg_size n = sizes[s];
        scoped_csr A = csr_line(n, 2, 1);
        const cmg_csr view = A.view;
        scoped_csr D = csr_diagonal(n, 0.5);
        const double exact = 1 - cos((double)n * pi / (double)(n + 1));
        const cmgi_smoother_source source = {.ctx = ctx, .A = view};
        cmgi_spectrum spectrum;
        CHECK_OK(cmgi_spectrum_estimate(&source, &D, 1, CMGI_LANCZOS_STEPS, &spectrum));
        CHECK(spectrum.symmetric);
        CHECK(spectrum.largest >= exact * (1 - 1e-12));
        CHECK(spectrum.largest <= 1.1 * exact);
        double bound = 0;
        CHECK_OK(cmgi_gershgorin(ctx, &view, &D, &bound));
        CHECK(bound >= exact);
        double sum = 0;
        for (int k = 0; k < spectrum.count; ++k) {
            sum += spectrum.weight[k];
            CHECK(spectrum.ritz[k] > 0 && spectrum.ritz[k] <= exact * (1 + 1e-12));
        }
        CHECK_NEAR(sum, 1, 1e-12);
    }
}

/* Unsymmetric: A = I + strictly upper part has the single eigenvalue 1; the estimate bounds it. */
TEST(bounds_unsymmetric)
{
    enum { N = 50 };
    scoped double *dense = calloc(N * N, sizeof *dense);
    for (int i = 0; i < N; ++i) {
        dense[i * N + i] = 1 + 0.01 * i;
        if (i + 1 < N) {
            dense[i * N + i + 1] = 0.3;
        }
    }
    scoped_csr A = csr_of_dense(N, dense);
    const cmg_csr view = A.view;
    scoped_csr D = csr_diagonal(N, 1);
    const cmgi_smoother_source source = {.ctx = ctx, .A = view};
    cmgi_spectrum spectrum;
    CHECK_OK(cmgi_spectrum_estimate(&source, &D, 1, CMGI_LANCZOS_STEPS, &spectrum));
    CHECK(!spectrum.symmetric && spectrum.count == 0);
    CHECK(spectrum.largest >= 1.0 && spectrum.largest <= 1.8);
}

/* T V = V diag(values), V orthogonal. */
TEST(eigen_decomposes)
{
    for (int n = 1; n <= 20; n += n < 4 ? 1 : 8) {
        double T[400];
        double copy[400];
        double V[400];
        double values[20];
        uint64_t seed = 11;
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j <= i; ++j) {
                T[i * n + j] = 2 * cmgi_random(&seed) - 1;
                T[j * n + i] = T[i * n + j];
            }
        }
        memcpy(copy, T, sizeof T);
        cmgi_eigen_symmetric(n, T, V, values);
        for (int k = 0; k < n; ++k) {
            CHECK(k == 0 || values[k - 1] <= values[k]);
            for (int i = 0; i < n; ++i) {
                double sum = 0;
                double overlap = 0;
                for (int j = 0; j < n; ++j) {
                    sum += copy[i * n + j] * V[j * n + k];
                    overlap += V[j * n + i] * V[j * n + k];
                }
                CHECK_NEAR(sum, values[k] * V[i * n + k], 1e-13);
                CHECK_NEAR(overlap, i == k ? 1 : 0, 1e-13);
            }
        }
    }
}

/* Least squares over the Ritz values still is a smoother on all of the spectrum. */
TEST(gls_is_bounded)
{
    scoped double *dense = model_q1(11, 2, 4);
    scoped_csr A = csr_of_dense(121, dense);
    scoped_factors *jacobi = factors_make(&A, "jacobi");
    const cmgi_smoother_source source = {.ctx = ctx, .A = A.view};
    cmgi_spectrum spectrum;
    CHECK_OK(cmgi_spectrum_estimate(&source, jacobi->factor, 1, CMGI_LANCZOS_STEPS, &spectrum));
    for (int n = 1; n <= CMGI_MAX_DEGREE; ++n) {
        double theta[CMGI_MAX_DEGREE];
        cmgi_roots(&(cmgi_polynomial){.family = CMGI_GLS, .n = n, .spectrum = &spectrum}, theta);
        for (int k = 1; k <= 1000; ++k) {
            CHECK(fabs(residual(n, theta, k / 1000.0)) <= 1);
        }
    }
}
