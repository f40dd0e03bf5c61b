/*
 * Polynomial smoothers in a step list: as a schedule and as a recurrence they are the same matrix;
 * at high degree the recurrence keeps the digits that the schedule loses; what the steps move; CG
 * around them in two precisions.
 */
#include "core/order.h"
#include "smoothers/roots.h"
#include "solves.h"

static const double pi = 3.14159265358979323846;

static const char *const methods[] = {"chebyshev",     "chebyshev4", "chebyshev4-opt",
                                      "least-squares", "gls",        "neumann"};
enum { METHODS = sizeof methods / sizeof methods[0] };

/* z = C r of a solver, by rows of a hierarchy's finest level. */
TEST_PRINTF(3)
static double *preconditioned(cmg_hierarchy *h, const double *r, const char *format, ...)
{
    TEST_TEXT(text, format);
    scoped_solver *s = solver_with(h, "%s", text);
    const cmg_size n = cmg_hierarchy_rows(h, 0);
    scoped_vector *vr = vector_from(n, CMG_FP64, r);
    scoped_vector *vz = vector_new(n, CMG_FP64);
    CHECK_OK(cmg_solver_precondition(s, vr, vz));
    return values_of(vz);
}

static void compare_forms(cmg_hierarchy *h, const double *r, const char *method, int degree,
                          const char *base, int way)
{
    const cmg_size n = cmg_hierarchy_rows(h, 0);
    const bool low = way % 2 == 1;
    const char *options = sprint("precision=%s fuse=%d collapse=0 post=2 smoother=%s:degree=%d",
                                 low ? "mixed" : "fp64", way / 2 == 0, method, degree);
    scoped double *schedule = preconditioned(h, r, "%s:form=schedule:base=%s", options, base);
    scoped double *recurrence = preconditioned(h, r, "%s:form=recurrence:base=%s", options, base);
    const double eps = low ? 0x1p-23 : 0x1p-52;
    const double found = relative_difference(recurrence, schedule, n);
    CHECK_SAY(found <= 200 * eps, "%s, degree %d, base %s, way %d: %.3g eps", method, degree, base,
              way, found / eps);
}

TEST(forms_are_the_same_matrix)
{
    static const char *const bases[] = {"jacobi", "spai:tau=0.1", "sainv"};
    static const int degrees[] = {1, 2, 3, 8, 30};
    scoped_hierarchy *h = poisson(16, 3, POISSON_COLUMNS);
    scoped double *r = random_values(cmg_hierarchy_rows(h, 0), 7);
    EACH_PAIR (m, METHODS, d, 5) {
        for (int base = 0; base < (d == 2 ? 3 : 1); ++base) {
            for (int way = 0; way < 4; ++way) {
                compare_forms(h, r, methods[m], degrees[d], bases[base], way);
            }
        }
    }
}

/* ------------------------------------------------------------------ high degree */

enum { N = 200 };

/* tridiag(-1, 2, -1) alone: eigenvalues 2 - 2 cos(k pi / (n + 1)), vectors sin(i k pi / (n + 1)).
 */
static cmg_hierarchy *line(void)
{
    scoped_csr A = csr_line(N, 2, 1);
    return hierarchy_alone(&A.view);
}

/* q of the family by its closed form, t in (0, 1]. */
static double closed_form(int method, int degree, double t)
{
    if (method == 0) { /* first kind on [1/ratio, 1], ratio = degree^2 */
        const double low = 1.0 / (degree * degree);
        const double x = (1 + low - 2 * t) / (1 - low);
        const double value = fabs(x) <= 1 ? cos(degree * acos(x)) : cosh(degree * acosh(x));
        return value / cosh(degree * acosh((1 + low) / (1 - low)));
    }
    const double angle = acos(1 - 2 * t); /* fourth kind */
    return sin((degree + 0.5) * angle) / ((2 * degree + 1) * sin(angle / 2));
}

/* z = sum over the eigenvectors of (1 - q(lambda / 2 / bound)) / lambda times the part of r. */
static void exact(int method, int degree, double bound, const double *r, double *z)
{
    memset(z, 0, N * sizeof *z);
    for (int k = 1; k <= N; ++k) {
        const double lambda = 2 - 2 * cos(k * pi / (N + 1));
        double part = 0;
        for (int i = 0; i < N; ++i) {
            part += sin((double)((i + 1) * k) * pi / (N + 1)) * r[i];
        }
        const double q = closed_form(method, degree, lambda / 2 / bound);
        const double share = 2.0 / (N + 1) * part * (1 - q) / lambda;
        for (int i = 0; i < N; ++i) {
            z[i] += share * sin((double)((i + 1) * k) * pi / (N + 1));
        }
    }
}

/* Largest error of the polynomial on one eigenvector, in units of the precision, fp32. */
static double error_on(cmg_hierarchy *h, const char *name, int method, int degree, const double *r)
{
    double expected[N];
    scoped double *z = preconditioned(h, r, "precision=mixed coarse_steps=1 smoother=%s", name);
    exact(method, degree, 2, r, expected); /* the row sums of D^-1 A are 2 */
    return relative_difference(z, expected, N) / 0x1p-23;
}

/*
 * Degree 32 on the eigenvectors at the upper end, where the partial products of the schedule are
 * largest: up to 160 for the first kind, which costs the schedule digits, and the recurrence none.
 */
TEST(recurrences_keep_their_digits)
{
    scoped_hierarchy *h = line();
    for (int method = 0; method < 2; ++method) {
        double worst[2] = {0, 0};
        for (int k = N - 8; k <= N; ++k) {
            double r[N];
            FILL(r, i, N, (float)sin((double)((i + 1) * k) * pi / (N + 1)));
            for (int form = 0; form < 2; ++form) {
                const char *name = sprint("%s:degree=32:bound=gershgorin:form=%s", methods[method],
                                          form ? "recurrence" : "schedule");
                worst[form] = worst_of(worst[form], error_on(h, name, method, 32, r));
            }
        }
        printf("   %s of degree 32 in fp32: schedule %.0f eps, recurrence %.0f eps\n",
               methods[method], worst[0], worst[1]);
        CHECK(worst[1] <= 100);
        CHECK(method != 0 || worst[0] >= 2 * worst[1]);
    }
}

/* A stage of the recurrence over Jacobi reads one vector more, and no further buffer is held. */
TEST(recurrences_hold_no_more_vectors)
{
    scoped_hierarchy *h = line();
    size_t bytes[2];
    size_t held[2];
    for (int form = 0; form < 2; ++form) {
        scoped_solver *s = solver_with(h, "coarse_steps=1 smoother=chebyshev4:degree=6%s",
                                       form ? ":form=recurrence" : "");
        bytes[form] = 0;
        CHECK(cmg_solver_steps(s) == 6);
        for (int i = 0; i < cmg_solver_steps(s); ++i) {
            cmg_step_info step = {.size = sizeof step};
            CHECK_OK(cmg_solver_step(s, i, &step));
            bytes[form] += step.bytes;
            CHECK(form == 0 || i < 2 || strstr(step.text, "old") != NULL);
        }
        held[form] = 0;
        for (int i = 0; i < s->mg.cycle->nbuffers; ++i) {
            held[form] += s->mg.cycle->buffer_bytes[i];
        }
    }
    CHECK(bytes[1] == bytes[0] + (size_t)4 * N * sizeof(double)); /* stages 2 to 5 */
    CHECK(held[1] == held[0]);
}

/* ------------------------------------------------------------------ algorithm 6 */

/*
 * Five-point Laplacian on a strip of WIDE x HIGH nodes that is held at one end alone: hundreds of
 * iterations without a coarse correction, on which the rounding of r in (r,z) shows.
 */
enum { WIDE = 16, HIGH = 64, STRIP = WIDE * HIGH };

typedef struct strip {
    cmgi_csr A; /* the test's own: the library has a copy */
    double diagonal[STRIP];
    double b[STRIP];
} strip;

static void make_strip(strip *s)
{
    s->A = csr_new(STRIP, STRIP, 5 * STRIP);
    for (int i = 0; i < STRIP; ++i) {
        const int near[5] = {i - WIDE, i % WIDE > 0 ? i - 1 : -1, i,
                             i % WIDE < WIDE - 1 ? i + 1 : -1, i + WIDE < STRIP ? i + WIDE : -1};
        const cmg_size begin = s->A.indptr[0];
        for (int k = 0; k < 5; ++k) {
            if (near[k] >= 0) {
                csr_put(&s->A, i, near[k], -1);
            }
        }
        /* as many as there are neighbours; beyond the first row x is zero */
        s->diagonal[i] = (double)(s->A.indptr[0] - begin - 1) + (i < WIDE ? 1 : 0);
        s->A.values[begin + (i >= WIDE) + (i % WIDE > 0)] = s->diagonal[i];
        s->b[i] = sin(7 * pow(i, 1.3));
    }
    csr_end(&s->A);
}

/* z = z + omega D^-1 (r - A z), `degree` times from 0, in fp32: a Neumann series. */
static void strip_series(const strip *s, int degree, double omega, const double *r, double *z)
{
    static float low[2][STRIP];
    for (int stage = 0; stage < degree; ++stage) {
        const float *from = low[stage % 2];
        float *to = low[(stage + 1) % 2];
        for (int i = 0; i < STRIP; ++i) {
            const float factor = (float)(omega / s->diagonal[i]);
            float image = stage > 0 ? (float)s->diagonal[i] * from[i] : 0; /* A z */
            for (cmg_size k = s->A.indptr[i]; k < s->A.indptr[i + 1] && stage > 0; ++k) {
                image -= s->A.indices[k] != i ? from[s->A.indices[k]] : 0;
            }
            to[i] = (stage > 0 ? from[i] : 0) + factor * ((float)r[i] - image);
        }
    }
    FILL(z, i, STRIP, low[degree % 2][i]);
}

static double product(const double *x, const double *y)
{
    long double sum = 0;
    for (int i = 0; i < STRIP; ++i) {
        sum += (long double)x[i] * y[i];
    }
    return (double)sum;
}

/* Iterations of algorithm 6 as it is printed; with `rounded`, (r,z) takes r in fp32. */
static int algorithm_6(const strip *s, int degree, double omega, double rtol, bool rounded)
{
    static double r[STRIP];
    static double low[STRIP];
    static double z[STRIP];
    static double p[STRIP];
    static double q[STRIP];
    const double tolerance = rtol * sqrt(product(s->b, s->b));
    double last = 0;
    int steps = 0;
    memcpy(r, s->b, sizeof r);
    for (; sqrt(product(r, r)) > tolerance && steps < 1000; ++steps) {
        strip_series(s, degree, omega, r, z);
        FILL(low, i, STRIP, rounded ? (double)(float)r[i] : r[i]);
        const double rz = product(low, z);
        FILL(p, i, STRIP, z[i] + (steps > 0 ? rz / last * p[i] : 0));
        last = rz;
        csr_multiply(&s->A.view, p, q);
        const double alpha = rz / product(p, q);
        add_scaled(r, -alpha, q, STRIP);
    }
    return steps;
}

/* Iterations of the solver on `columns` right-hand sides, whose solutions are checked. */
static int strip_solve(cmg_hierarchy *h, const strip *s, const cmg_solver_options *o, int columns)
{
    scoped double *values = malloc((size_t)columns * STRIP * sizeof *values);
    FILL(values, i, STRIP * columns, s->b[i / columns]);
    scoped_vector *b = columns_from(STRIP, columns, values);
    scoped_vector *solution = columns_new(STRIP, columns);
    scoped_solver *solver = solver_new(h, o);
    const cmg_report report = solve_with(solver, b, solution);
    scoped double *x = values_of(solution);
    CHECK_EACH(c, columns, column_residual(&s->A.view, values, x, columns, c) <= 1.005 * o->rtol);
    CHECK(report.outcome == CMG_CONVERGED_RTOL && report.fallbacks == 0);
    return report.iterations;
}

/* Iterations over those of fp64, the median of several dampings. */
static double median_over(const int *counts, const int *whole, int n)
{
    double ratio[8];
    FILL(ratio, k, n, (double)counts[k] / whole[k]);
    qsort(ratio, (size_t)n, sizeof *ratio, cmgi_ascending_double);
    return ratio[n / 2];
}

/*
 * Zhang and Zhang 2013, algorithm 6: r, and (r,z) with it, stay in fp64, and the counts are those
 * of the algorithm in plain loops and of fp64; with r rounded they are a fifth more. A single count
 * may be unlucky in its rounding, so that each degree is tried with several dampings.
 */
TEST(sums_take_r_as_it_is)
{
    enum { DAMPINGS = 7 };
    static const double dampings[DAMPINGS] = {0.95, 0.93, 0.9, 0.87, 0.84, 0.8, 0.75};
    scoped strip *s = malloc(sizeof *s);
    make_strip(s);
    scoped_hierarchy *h = hierarchy_alone(&s->A.view);
    for (int degree = 1; degree <= 3; degree += 2) {
        int whole[DAMPINGS];
        int counts[4][DAMPINGS]; /* one column, three, printed, r rounded */
        for (int k = 0; k < DAMPINGS; ++k) {
            const double omega = dampings[k] * (degree == 1 ? 1 : 2.0 / 3);
            cmg_solver_options o = solver_options(
                "cycle=none krylov=cg coarsen=false post=0 rtol=1e-10 max_it=1000 "
                "smoother=%s:omega=%g",
                degree == 1 ? "jacobi" : "neumann:degree=3:bound=gershgorin", dampings[k]);
            whole[k] = strip_solve(h, s, &o, 1);
            o.precision = CMG_FP32;
            counts[0][k] = strip_solve(h, s, &o, 1);
            counts[1][k] = strip_solve(h, s, &o, 3);
            counts[2][k] = algorithm_6(s, degree, omega, o.rtol, false);
            counts[3][k] = algorithm_6(s, degree, omega, o.rtol, true);
        }
        printf("   degree %d, over fp64: mixed %.3f, columns %.3f, printed %.3f, r rounded %.3f\n",
               degree, median_over(counts[0], whole, DAMPINGS),
               median_over(counts[1], whole, DAMPINGS), median_over(counts[2], whole, DAMPINGS),
               median_over(counts[3], whole, DAMPINGS));
        CHECK_EACH(way, 3, median_over(counts[way], whole, DAMPINGS) <= 1.03);
        CHECK(median_over(counts[3], whole, DAMPINGS) >= 1.1);
    }
    cmgi_csr_free(ctx, &s->A);
}

/* The least Ritz value comes from Lanczos alone: row sums have none to give. */
TEST(row_sums_know_no_lower_end)
{
    scoped_hierarchy *h = poisson(8, 2, 0);
    refuse(h, "smoother=chebyshev:lower=lanczos:bound=gershgorin", CMG_ERR_ARG,
           "lower=lanczos needs bound=lanczos");
    scoped_solver *s = solver_with(h, "smoother=chebyshev:lower=ratio:bound=gershgorin");
    CHECK(s != NULL);
}
