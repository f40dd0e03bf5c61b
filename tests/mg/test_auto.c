/*
 * Precision auto, the default: fp32 in the cycle where there are enough rows for it to be faster,
 * fp64 where that fails, where nothing could fall back, and where the cycle is asked for by itself.
 */
#include "solves.h"

enum { LARGE = 80, LARGE_LEVELS = 4, SMALL = 32, SMALL_LEVELS = 4 }; /* 6241 and 961 rows */

static cmg_solver_options options_of(const char *text)
{
    cmg_solver_options o = solver_defaults();
    CHECK(o.precision == CMG_PRECISION_AUTO);
    CHECK_OK(cmg_solver_options_set(&o, text));
    return o;
}

static cmg_report solved(cmg_hierarchy *h, const char *text)
{
    const cmg_solver_options o = options_of(text);
    scoped_vector *b = vector_for(h, 3);
    scoped_vector *x = zero_for(h);
    const cmg_report report = solve(h, &o, b, x);
    CHECK(report.outcome == CMG_CONVERGED_RTOL);
    CHECK(true_residual(h, b, x) <= 1.01 * o.rtol);
    return report;
}

TEST(takes_fp32_where_it_is_faster)
{
    static const char *const ways[] = {
        "", "rtol=1e-12", "smoother=fsai", "krylov=none", "krylov=semi", "krylov=fgmres"};
    scoped_hierarchy *large = poisson(LARGE, LARGE_LEVELS, 0);
    scoped_hierarchy *small = poisson(SMALL, SMALL_LEVELS, 0);
    for (size_t k = 0; k < sizeof ways / sizeof *ways; ++k) {
        const cmg_report chosen = solved(large, ways[k]);
        const cmg_report wide = solved(large, sprint("precision=fp64 %s", ways[k]));
        CHECK(strcmp(chosen.precision, "fp32") == 0 && strcmp(wide.precision, "fp64") == 0);
        CHECK(chosen.fallbacks == 0 && abs(chosen.iterations - wide.iterations) <= 1);
        CHECK(strcmp(solved(small, ways[k]).precision, "fp64") == 0);
    }
    CHECK(strcmp(solved(large, "no-fallback").precision, "fp64") == 0);
    CHECK(strcmp(solved(small, "precision=mixed").precision, "fp32") == 0);
}

/* A solve by default ends in fp64, after so many rungs; all of them in the report, this one first.
 */
static void ends_in_fp64(cmg_hierarchy *h, int fallbacks, const char *first)
{
    scoped_vector *b = vector_for(h, 3);
    scoped_vector *x = zero_for(h);
    scoped_solver *s = solver_new(h, NULL);
    const cmg_report report = solve_with(s, b, x);
    CHECK(report.outcome == CMG_CONVERGED_RTOL && true_residual(h, b, x) <= 1.01e-8);
    CHECK(strcmp(report.precision, "fp64") == 0 && report.fallbacks == fallbacks);
    CHECK(strstr(report.fallback, first) != NULL &&
          strstr(report.fallback, "fp32 to fp64") != NULL);
}

/* Values that fp32 does not hold: the report says that it was tried. */
TEST(returns_to_fp64)
{
    for (int k = 0; k < 2; ++k) {
        scoped_hierarchy *h = poisson(LARGE, LARGE_LEVELS, 0);
        scale(h, k == 0 ? 1e200 : 1e-200);
        ends_in_fp64(h, 1, "fp32 to fp64");
    }
}

/* z = C r of a solver with these options, of k columns side by side; the precision after it. */
static double *image(cmg_hierarchy *h, const char *text, int k, char precision[16])
{
    const cmg_solver_options o = options_of(text);
    const cmg_size n = cmg_hierarchy_rows(h, 0);
    scoped double *values = random_values(n * k, 5);
    scoped_vector *r = columns_from(n, k, values);
    scoped_vector *z = columns_new(n, k);
    scoped_solver *s = solver_new(h, &o);
    for (int repeat = 0; repeat < 3; ++repeat) {
        CHECK_OK(cmg_solver_precondition(s, r, z));
    }
    scoped_vector *b = vector_of(n, 3);
    scoped_vector *x = vector_new(n, CMG_FP64);
    const cmg_report report = solve_with(s, b, x);
    CHECK(report.outcome == CMG_CONVERGED_RTOL && report.fallbacks == 0);
    (void)snprintf(precision, 16, "%s", report.precision);
    return values_of(z);
}

/* A cycle for the iterations of others is that of precision fp64 bit for bit, unless fp32 was asked
 * for. */
TEST(cycles_of_their_own_are_in_fp64)
{
    scoped_hierarchy *h = poisson(LARGE, LARGE_LEVELS, 0);
    for (int k = 1; k <= 3; k += 2) {
        const size_t bytes = (size_t)(cmg_hierarchy_rows(h, 0) * k) * sizeof(double);
        char precision[3][16];
        scoped double *chosen = image(h, "", k, precision[0]);
        scoped double *wide = image(h, "precision=fp64", k, precision[1]);
        scoped double *asked = image(h, "precision=mixed", k, precision[2]);
        CHECK(strcmp(precision[0], "fp64") == 0 && strcmp(precision[2], "fp32") == 0);
        CHECK(memcmp(chosen, wide, bytes) == 0);
        CHECK(memcmp(asked, wide, bytes) != 0);
    }
}

/* Both halves of the memory estimate follow what will be chosen. */
TEST(estimates_know_what_is_chosen)
{
    scoped_hierarchy *h = poisson(LARGE, LARGE_LEVELS, 0);
    size_t bytes[3];
    const char *const texts[3] = {"", "precision=mixed", "precision=fp64"};
    for (int k = 0; k < 3; ++k) {
        const cmg_solver_options o = options_of(texts[k]);
        CHECK_OK(cmg_solver_memory(h, &o, &bytes[k]));
    }
    CHECK(bytes[0] == bytes[1] && bytes[0] != bytes[2]);
}

/* Grid of SIDE^3 points, all neighbours in a cube coupled by weights that do not repeat: a matrix
 * alone, whose values take the larger part of a product. */
static cmg_hierarchy *weighted(double factor)
{
    enum { SIDE = 23, ROWS = SIDE * SIDE * SIDE };
    scoped_csr A = csr_new(ROWS, ROWS, (cmg_size)27 * ROWS);
    for (int i = 0; i < ROWS; ++i) {
        cmg_size own = 0;
        double sum = 0;
        for (int k = 0; k < 27; ++k) {
            const int x = i % SIDE + k % 3 - 1;
            const int y = i / SIDE % SIDE + k / 3 % 3 - 1;
            const int z = i / SIDE / SIDE + k / 9 - 1;
            const int j = (z * SIDE + y) * SIDE + x;
            const uint64_t pair = (uint64_t)(i < j ? i : j) * 27 + (uint64_t)abs(i - j);
            const double w = factor * (1 + cmgi_random_at(7, pair));
            sum += k != 13 ? w : 0;
            own = k == 13 ? A.indptr[0] : own;
            if (x >= 0 && x < SIDE && y >= 0 && y < SIDE && z >= 0 && z < SIDE) {
                csr_put(&A, i, j, -w);
            }
        }
        A.values[own] = sum; /* what is outside is 0 */
    }
    csr_end(&A);
    return hierarchy_alone(&A.view);
}

/* Values in 16 bits, from as many rows on as the backend says. */
TEST(takes_halves_where_they_pay)
{
    NEEDS(!cmgi_on_cuda(ctx), "halves: a GPU leaves so few rows as they are");
    const cmgi_backend *before = ctx->backend;
    cmgi_backend small = *before;
    scoped_hierarchy *h = weighted(1);
    const cmg_size n = cmg_hierarchy_rows(h, 0);
    const struct {
        const char *text;
        cmg_size rows;
        const char *wanted;
    } cases[] = {{"", 1, "fp16"},
                 {"", n, "fp16"},
                 {"krylov=semi", n, "fp16"},
                 {"smoother=jacobi", n, "fp16"},
                 {"", n + 1, "fp32"},
                 {"", 0, "fp32"},
                 {"precision=mixed", 1, "fp32"},
                 {"precision=fp64", 1, "fp64"},
                 {"keep-map", 1, "fp32"},
                 {"no-fallback", 1, "fp64"}};
    int iterations = 0;
    ctx->backend = &small;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        small.halves_rows = 0;
        iterations = solved(h, cases[c].text).iterations;
        small.halves_rows = cases[c].rows;
        const cmg_report report = solved(h, cases[c].text);
        CHECK(strcmp(report.precision, cases[c].wanted) == 0);
        CHECK(report.fallbacks == 0 && report.iterations <= iterations + 1);
    }
    char precision[16];
    small.halves_rows = 1;
    free(image(h, "", 1, precision));
    CHECK(strcmp(precision, "fp64") == 0);
    ctx->backend = before;
}

/* Values that neither holds: bits come back one after the other. */
TEST(halves_return_to_fp64)
{
    NEEDS(!cmgi_on_cuda(ctx), "halves: a GPU leaves so few rows as they are");
    const cmgi_backend *before = ctx->backend;
    cmgi_backend small = *before;
    small.halves_rows = 1;
    ctx->backend = &small;
    for (int k = 0; k < 2; ++k) {
        scoped_hierarchy *h = weighted(k == 0 ? 3e37 : 1e-44);
        ends_in_fp64(h, 2, "fp16 to fp32");
    }
    ctx->backend = before;
}
