/* Right-hand sides of any size, zeros and what is no number. */
#include "solves.h"

static cmg_vector *scaled(const cmg_vector *v, double factor)
{
    const cmg_size n = cmg_vector_length(v);
    scoped double *values = values_of(v);
    scoped double *factored = scaled_copy(values, n, factor);
    return vector_from(n, CMG_FP64, factored);
}

/* x of the scaled system is x scaled; powers of two, so that nothing is rounded. */
static void compare_scaled(cmg_hierarchy *h, const cmg_solver_options *o, const cmg_vector *b,
                           int exponent)
{
    const cmg_size n = cmg_vector_length(b);
    const double factor = ldexp(1, exponent);
    scoped_vector *large = scaled(b, factor);
    scoped_vector *x = vector_new(n, CMG_FP64);
    scoped_vector *y = vector_new(n, CMG_FP64);
    const cmg_report plain = solve(h, o, b, x);
    const cmg_report other = solve(h, o, large, y);
    scoped_vector *back = scaled(y, 1 / factor);
    scoped double *vx = values_of(x);
    scoped double *vy = values_of(back);
    CHECK(plain.outcome == CMG_CONVERGED_RTOL && other.outcome == CMG_CONVERGED_RTOL);
    CHECK(plain.iterations == other.iterations);
    CHECK_NEAR(other.relative_residual, plain.relative_residual, 1e-6 * plain.relative_residual);
    CHECK_NEAR(other.rhs_norm / factor, plain.rhs_norm, 1e-12 * plain.rhs_norm);
    CHECK(relative_difference(vy, vx, n) <= 1e-9);
}

TEST(right_hand_sides_of_any_size)
{
    static const int exponents[] = {-996, -548, -100, 100, 530, 664}; /* 1e-300 .. 1e200 */
    for (int k = 0; k < 2; ++k) {
        scoped_hierarchy *h = poisson(32, 4, k == 0 ? 0 : POISSON_IDENTITY | POISSON_COLUMNS);
        scoped_vector *b = vector_for(h, 3);
        for (int e = 0; e < (int)(sizeof exponents / sizeof *exponents); ++e) {
            cmg_solver_options o = defaults();
            compare_scaled(h, &o, b, exponents[e]);
            o.precision = CMG_FP32;
            o.fmg = true;
            compare_scaled(h, &o, b, exponents[e]);
            o.krylov = CMG_KRYLOV_DEFECT;
            compare_scaled(h, &o, b, exponents[e]);
        }
    }
}

/* Only a b of zeros has the solution 0, and a b with NaN has no residual. */
TEST(zeros_and_what_is_no_number)
{
    scoped_hierarchy *h = poisson(16, 3, 0);
    const cmg_size n = cmg_hierarchy_rows(h, 0);
    scoped double *values = calloc((size_t)n, sizeof *values);
    const cmg_solver_options o = defaults();
    scoped_vector *x = vector_of(n, 4);
    scoped_vector *b = vector_new(n, CMG_FP64);
    cmg_report report = solve(h, &o, b, x);
    CHECK(report.outcome == CMG_CONVERGED_ATOL && report.relative_residual == 0);
    CHECK_OK(cmg_vector_get(x, values));
    CHECK_EACH(i, n, values[i] == 0);
    values[n / 2] = 1e-200;
    CHECK_OK(cmg_vector_set(b, values));
    report = solve(h, &o, b, x);
    CHECK(report.outcome == CMG_CONVERGED_RTOL && report.iterations > 0);
    CHECK(report.rhs_norm == 1e-200);
    values[n / 2] = NAN;
    CHECK_OK(cmg_vector_set(b, values));
    report = solve(h, &o, b, from_zero(x));
    CHECK(report.outcome == CMG_NOT_A_NUMBER && isnan(report.relative_residual));
    values[n / 2] = INFINITY;
    CHECK_OK(cmg_vector_set(b, values));
    report = solve(h, &o, b, x);
    CHECK(report.outcome == CMG_NOT_A_NUMBER && isnan(report.relative_residual));
}

/* diag(a) x = b with an x, or ||b||, that fp64 does not hold, and beside them ones that it does. */
TEST(out_of_range)
{
    static const struct {
        double a[3];
        double b[3];
        bool fits;
    } cases[] = {{{1e-10, 1e-10, 1e-10}, {1e305, 1, 1}, false},
                 {{1e-10, 1e-10, 1e-10}, {1e297, 1, 1}, true},
                 {{1e200, 1e200, 1e200}, {1e-200, 1e-200, 0}, false},
                 {{1e200, 1e200, 1e200}, {1e-100, 1e-100, 0}, true},
                 {{4, 5, 6}, {1.7e308, 1.7e308, 1.7e308}, false},
                 {{4, 5, 6}, {1e307, 1e307, 1e307}, true},
                 {{1e300, 1e300, 1e300}, {1e-20, 2e-20, 3e-20}, false}, /* subnormal: 1e-320 */
                 {{1e-300, 1e-300, 1e-300}, {1e20, 1, 1}, false},       /* of usual squares */
                 {{1e-300, 1e-300, 1e-300}, {1e-300, 1e-301, 1}, true}};
    static const char *const ways[] = {"", "krylov=fgmres", "precision=mixed no-fallback",
                                       "smoother=jacobi cycle=none", "max_it=0"};
    const cmg_size indptr[] = {0, 1, 2, 3};
    const cmg_index indices[] = {0, 1, 2};
    EACH_PAIR (c, sizeof cases / sizeof *cases, way, 5) {
        double values[3];
        const cmg_csr A = {
            .rows = 3, .cols = 3, .indptr = indptr, .indices = indices, .values = cases[c].a};
        cmg_solver_options o = solver_options("%s", ways[way]);
        scoped_hierarchy *h = hierarchy_alone(&A);
        scoped_vector *b = vector_from(3, CMG_FP64, cases[c].b);
        scoped_vector *x = vector_new(3, CMG_FP64);
        const cmg_report report = solve(h, &o, b, x);
        CHECK_OK(cmg_vector_get(x, values));
        const bool solved = cmg_outcome_converged(report.outcome);
        CHECK(solved ? cases[c].fits : way > 0 || !cases[c].fits);
        long double rr = 0;
        long double bb = 0;
        for (int i = 0; i < 3; ++i) {
            const long double r = cases[c].b[i] - (long double)cases[c].a[i] * values[i];
            rr += r * r;
            bb += (long double)cases[c].b[i] * cases[c].b[i];
            CHECK(isfinite(values[i]));
        }
        const double relative = (double)sqrtl(rr / bb);
        CHECK(!solved || relative <= 1.001e-8);
        CHECK(isinf((double)sqrtl(bb))
                  ? isnan(report.relative_residual)
                  : fabs(report.relative_residual - relative) <= 1e-9 * relative + 1e-15);
    }
}
