/*
 * Singular systems: what A takes to 0 is found, taken out of b and x and told; x is the shortest
 * least-squares solution, which tests/cli/test_nullspace.py compares with LAPACK's.
 */
#include "transfer/null_space.h"
#include "own.h"
#include "solves.h"
#include "generated.h"

static void null_space_free(cmgi_null_space *Q)
{
    cmgi_null_space_free(ctx, Q);
}

#define scoped_null_space scoped_by(null_space_free) cmgi_null_space

static const struct {
    const char *generate;
    int vectors;
} bodies[] = {{"problem=poisson element=q1 dim=2 cells=16", 1},
              {"problem=poisson element=p2 dim=2 cells=16", 1},
              {"problem=poisson element=q1 dim=3 cells=4", 1},
              {"problem=elasticity element=q1 dim=2 cells=16", 3},
              {"problem=elasticity element=p1 dim=3 cells=4", 6}};
enum { BODIES = sizeof bodies / sizeof *bodies };

static cmg_hierarchy *body(int k, const char *dirichlet)
{
    return generated("%s dirichlet=%s coords", bodies[k].generate, dirichlet);
}

/* The residual is that of a part of b, which the oracle of solves.h does not know. */
static cmg_report least_squares(cmg_solver *s, const cmg_vector *b, cmg_vector *x)
{
    cmg_report report = {.size = sizeof report};
    CHECK_OK((cmg_solver_solve)(s, b, x, &report));
    return report;
}

/* b - A x without its part in Q, next to b without it. */
static double rest_of_residual(const cmg_hierarchy *h, const cmgi_null_space *Q, double *b,
                               const double *x)
{
    const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
    for (int k = 0; k < Q->count; ++k) {
        const double *q = Q->q + k * A.rows;
        add_scaled(b, -dot(q, b, A.rows), q, A.rows);
    }
    return relative_residual(&A, b, x);
}

static void solves_free(int which, const char *options)
{
    scoped_hierarchy *h = body(which, "neumann");
    const cmg_size n = cmg_hierarchy_rows(h, 0);
    scoped_vector *b = vector_of(n, 3);
    scoped_vector *x = vector_of(n, 4);
    scoped_null_space Q = {0};
    CHECK_OK(cmgi_null_space_find(h, 0, &Q));
    CHECK(Q.count == bodies[which].vectors);
    scoped_solver *s = solver_with(h, "%s", options);
    const cmg_report report = least_squares(s, b, x);
    CHECK(report.outcome == CMG_LEAST_SQUARES && report.iterations <= 40);
    CHECK(report.nullspace == bodies[which].vectors && report.removed > 0);
    CHECK(strstr(report.hint, "outside the range of A") != NULL);
    CHECK(report.range_residual <= 1.001e-8);
    scoped double *vb = values_of(b);
    scoped double *vx = values_of(x);
    double removed = 0;
    for (int k = 0; k < Q.count; ++k) {
        removed = hypot(removed, dot(Q.q + k * n, vb, n));
        CHECK(fabs(dot(Q.q + k * n, vx, n)) <= 1e-13 * (double)n * norm(vx, n));
    }
    CHECK_NEAR(report.removed, removed, 1e-12 * removed);
    CHECK(rest_of_residual(h, &Q, vb, vx) <= 1.001e-8);
}

TEST(free_bodies_are_solved)
{
    for (int k = 0; k < BODIES; ++k) {
        solves_free(k, "");
        solves_free(k, "precision=mixed");
        solves_free(k, "krylov=fgmres format=k2rs");
    }
}

/* A y */
static cmg_vector *product_of(const cmg_hierarchy *h, const cmg_vector *y)
{
    const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
    scoped double *from = values_of(y);
    scoped double *to = csr_times(&A, from);
    return vector_from(A.rows, CMG_FP64, to);
}

/* A last level that is factorised: R A P leaves its last pivot a few roundings above zero. */
TEST(factors_of_free_bodies)
{
    static const char *const cases[] = {"problem=poisson element=q1 cells=20",
                                        "problem=poisson element=q2 cells=8",
                                        "problem=elasticity element=q1 cells=12"};
    static const char *const precisions[] = {"precision=fp64", "", "precision=mixed"};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        scoped_hierarchy *h = generated("%s dim=3 dirichlet=neumann coords", cases[k]);
        scoped_vector *y = vector_for(h, 3);
        scoped_vector *b = product_of(h, y); /* of the range of A */
        int iterations = 0;
        for (int p = 0; p < 3; ++p) {
            const cmg_solver_options o = solver_options("%s", precisions[p]);
            scoped_vector *x = vector_for(h, 5);
            const cmg_report report = solve(h, &o, b, x);
            CHECK(report.outcome == CMG_CONVERGED_RTOL && report.fallbacks == 0);
            CHECK(true_residual(h, b, x) <= 1.01e-8);
            iterations = p == 0 ? report.iterations : iterations;
            CHECK(abs(report.iterations - iterations) <= 1);
        }
    }
}

/* b - A x by the test's own arrays */
static long double residual_norm(const own_matrix *A, const double *b, const double *x)
{
    long double rr = 0;
    for (cmg_size i = 0; i < A->rows; ++i) {
        long double r = b[i];
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            r -= (long double)A->values[k] * x[A->indices[k]];
        }
        rr += r * r;
    }
    return sqrtl(rr);
}

static cmg_hierarchy *hierarchy_of(const own_matrix *A)
{
    const cmg_csr view = own_view(A);
    return hierarchy_alone(&view);
}

static char hint[256]; /* of the last solve */

/* Solves, and what is told of x is what the arrays say. */
static cmg_report told_is_true(const own_matrix *A, cmg_solver *s, const double *b, double *x)
{
    scoped_vector *vb = vector_from(A->rows, CMG_FP64, b);
    scoped_vector *vx = vector_new(A->rows, CMG_FP64);
    const cmg_report report = least_squares(s, vb, vx);
    (void)snprintf(hint, sizeof hint, "%s", report.hint);
    CHECK_OK(cmg_vector_get(vx, x));
    const double residual = (double)residual_norm(A, b, x);
    const double norm = sqrt(dot(b, b, A->rows));
    const double rounding = 1e-14 * (8 * sqrt(dot(x, x, A->rows)) + norm);
    CHECK_NEAR(report.residual, residual, 1e-9 * residual + rounding);
    CHECK_NEAR(report.rhs_norm, norm, 1e-12 * norm);
    CHECK_NEAR(report.relative_residual, residual / norm, 1e-9 + rounding / norm);
    CHECK(report.nullspace > 0 || report.range_residual == report.relative_residual);
    return report;
}

/* A spring of 1e-10 to 1e-13, at one node or at all, holds the body: it is solved as it is. */
TEST(nearly_singular_is_regular)
{
    enum { M = 33, N = M * M };
    static const int places[] = {-1, 0, N / 2};
    double b[N];
    double x[N];
    for (double spring = 1e-10; spring > 0.5e-13; spring /= 10) {
        for (int k = 0; k < 3; ++k) {
            scoped_own A = own_free_grid(M, spring, places[k]);
            scoped_hierarchy *h = hierarchy_of(&A);
            scoped_null_space Q = {0};
            uint64_t seed = 5;
            CHECK_OK(cmgi_null_space_find(h, 0, &Q));
            CHECK(Q.count == 0);
            fill_values(b, N, 1);
            scoped_solver *first = solver_new(h, NULL);
            cmg_report report = told_is_true(&A, first, b, x);
            CHECK(report.nullspace == 0 && report.removed == 0);
            if (places[k] < 0 && spring > 0.5e-11) { /* x = 1 / spring */
                CHECK(cmg_outcome_converged(report.outcome));
                CHECK_NEAR(x[7] * spring, 1, 1e-3);
            }
            double mean = 0; /* with a mean of 0 the spring does not matter */
            for (int i = 0; i < N; ++i) {
                b[i] = cmgi_random(&seed) - 0.5;
                mean += b[i] / N;
            }
            for (int i = 0; i < N; ++i) {
                b[i] -= mean;
            }
            scoped_solver *second = solver_new(h, NULL);
            report = told_is_true(&A, second, b, x);
            CHECK(report.nullspace == 0);
            CHECK(cmg_outcome_converged(report.outcome));
        }
    }
}

/* a y + c + d sin: y of the range, a constant, and a part that is neither */
static void right_hand_side(const own_matrix *A, double range, double constant, double *b)
{
    uint64_t seed = 7;
    scoped double *y = malloc((size_t)A->rows * sizeof *y);
    FILL(y, i, A->rows, cmgi_random(&seed));
    const cmg_csr view = own_view(A);
    FILL(b, i, A->rows, range * row_times(&view, i, y) + constant);
}

/*
 * Compatible, with a share of 1e-10, 1e-4 and nearly all outside the range, all outside it (0.7: P
 * b is rounding, not 0), and of any size: outcome, share, and the residual within the range against
 * the mean of b.
 */
static void outside_the_range_by(const own_matrix *A, const char *options, bool given)
{
    enum { M = 24, N = M * M };
    static const double constants[] = {0, 1e-10, 1e-4, 100, 0.7};
    static const double sizes[] = {1, 0x1p-500, 0x1p500};
    const bool meant = given || strcmp(options, "least_squares=true") == 0;
    double b[N];
    double x[N];
    double ones[N];
    scoped_hierarchy *h = hierarchy_of(A);
    fill_values(ones, N, 1);
    if (given) {
        CHECK_OK(cmg_hierarchy_set_nullspace(h, 0, 1, ones));
    }
    scoped_solver *s =
        solver_with(h, "%s", options); /* one for all: a setup takes longer than a solve */
    for (int k = 0; k < 5 * 3; ++k) {
        const double size = sizes[k / 5];
        const double constant = size * constants[k % 5];
        right_hand_side(A, k % 5 == 4 ? 0 : size, constant, b);
        const double share = fabs(constant) * M; /* ||constant||, M^2 nodes */
        const cmg_report report = told_is_true(A, s, b, x);
        if (meant) { /* the same x where it is what was asked for */
            CHECK(cmg_outcome_converged(report.outcome));
        } else {
            CHECK(report.outcome == (k % 5 == 0 ? CMG_CONVERGED_RTOL : CMG_LEAST_SQUARES));
        }
        CHECK(report.nullspace == 1);
        CHECK_NEAR(report.removed, share, 1e-13 * report.rhs_norm);
        CHECK(report.range_residual <= 1.001e-8);
        CHECK(k % 5 < 2 || strstr(hint, "outside the range") != NULL);
        CHECK(fabs(dot(ones, x, N)) <= 1e-12 * N * sqrt(dot(x, x, N) + size * size));
        for (int i = 0; i < N; ++i) { /* within the range: b less its mean */
            b[i] -= constant;
        }
        CHECK((double)residual_norm(A, b, x) <= 1.01e-8 * report.rhs_norm + 1e-12 * size);
    }
}

/* An absolute tolerance that x meets is met, whatever lies outside the range. */
TEST(within_the_tolerance)
{
    enum { M = 24, N = M * M };
    static const double sizes[] = {1, 0x1p-500, 0x1p-400};
    scoped_own A = own_free_grid(M, 0, 0);
    double b[N];
    double x[N];
    for (int k = 0; k < 2 * 3; ++k) {
        const double size = sizes[k / 2];
        scoped_hierarchy *h = hierarchy_of(&A);
        scoped_solver *s = solver_with(h, "atol=%s", k % 2 ? "1e3" : "0");
        right_hand_side(&A, size, size, b);
        fill_values(x, N, 0);
        const cmg_report report = told_is_true(&A, s, b, x);
        CHECK(report.outcome == (k % 2 ? CMG_CONVERGED_ATOL : CMG_LEAST_SQUARES));
        CHECK(k % 2 == 0 || (residual_norm(&A, b, x) <= 1e3 && hint[0] == '\0'));
    }
}

TEST(outside_the_range)
{
    static const char *const ways[] = {"", "krylov=fgmres", "precision=mixed", "smoother=jacobi",
                                       "least_squares=true"};
    scoped_own A = own_free_grid(24, 0, 0);
    for (int k = 0; k < 5; ++k) {
        outside_the_range_by(&A, ways[k], false);
    }
    outside_the_range_by(&A, "", true);
}

/* Norms of the iterations are of the b that was given; failures stay failures. */
TEST(history_and_failures)
{
    enum { M = 24, N = M * M };
    scoped_own A = own_free_grid(M, 0, 0);
    double b[N];
    double x[N];
    scoped_hierarchy *h = hierarchy_of(&A);
    right_hand_side(&A, 1, 0.5, b);
    for (int k = 0; k < 2; ++k) {
        scoped_solver *s = solver_with(h, "smoother=jacobi cycle=none max_it=%d", k == 0 ? 400 : 3);
        scoped_vector *vb = vector_from(N, CMG_FP64, b);
        scoped_vector *vx = vector_new(N, CMG_FP64);
        const cmg_report report = least_squares(s, vb, vx);
        CHECK_OK(cmg_vector_get(vx, x));
        const double residual = (double)residual_norm(&A, b, x);
        CHECK(report.outcome == (k == 0 ? CMG_LEAST_SQUARES : CMG_ITERATION_LIMIT));
        CHECK_NEAR(report.history[0], norm(b, N), 1e-12 * report.rhs_norm);
        CHECK_NEAR(report.history[report.best], residual, 1e-9 * residual);
        CHECK_NEAR(report.residual, residual, 1e-12 * residual);
    }
}

/* Three columns: in the range, outside it in part, and of zeros; each has its own outcome. */
TEST(columns_have_their_own)
{
    enum { M = 24, N = M * M };
    static const cmg_outcome expected[] = {CMG_CONVERGED_RTOL, CMG_LEAST_SQUARES,
                                           CMG_CONVERGED_ATOL};
    static const double ranges[] = {1, 1, 0};
    static const double constants[] = {0, 0.3, 0};
    scoped_own A = own_free_grid(M, 0, 0);
    double b[3][N];
    double all[3 * N];
    scoped_hierarchy *h = hierarchy_of(&A);
    for (int c = 0; c < 3; ++c) {
        right_hand_side(&A, ranges[c], constants[c], b[c]);
        for (int i = 0; i < N; ++i) {
            all[3 * i + c] = b[c][i];
        }
    }
    scoped_vector *vb = columns_from(N, 3, all);
    scoped_vector *vx = columns_new(N, 3);
    scoped_solver *s = solver_new(h, NULL);
    cmg_report report = least_squares(s, vb, vx);
    CHECK(report.outcome == CMG_LEAST_SQUARES);
    scoped double *x = values_of(vx);
    for (int c = 0; c < 3; ++c) {
        double column[N];
        FILL(column, i, N, x[3 * i + c]);
        CHECK_OK(cmg_solver_column(s, c, &report));
        CHECK(report.outcome == expected[c]);
        const double residual = (double)residual_norm(&A, b[c], column);
        CHECK_NEAR(report.residual, residual, 1e-9 * residual + 1e-13);
    }
}

/* The true ones are found: rows summed from elements in any order, rotations about any origin. */
TEST(null_spaces_of_sums_are_found)
{
    EACH_PAIR (k, BODIES, numbering, 2) {
        scoped_null_space Q = {0};
        cmg_size n = 0;
        const double *coords = NULL;
        scoped_hierarchy *h =
            generated("%s dirichlet=neumann coords distort=0.3 aspect=100 "
                      "coefficient=random contrast=1e6 numbering=%s",
                      bodies[k].generate, numbering == 0 ? "generated" : "random");
        CHECK_OK(cmgi_null_space_find(h, 0, &Q));
        CHECK(Q.count == bodies[k].vectors);
        cmgi_null_space_free(ctx, &Q);
        /* elsewhere: what coordinates of 1e4 round off is larger than eps times distances */
        CHECK_OK(cmg_hierarchy_get_vector(h, 0, "coords", NULL, &n, &coords));
        scoped double *moved = malloc((size_t)n * sizeof *moved);
        FILL(moved, i, n, coords[i] + 1e4);
        CHECK_OK(cmg_hierarchy_set_vector(h, 0, "coords", NULL, n, moved));
        CHECK_OK(cmgi_null_space_find(h, 0, &Q));
        CHECK(Q.count == bodies[k].vectors);
    }
}

/* What is held, or has mass, has no null space; neither has a constant that was looked at early. */
TEST(others_have_none)
{
    for (int k = 0; k < BODIES; ++k) {
        scoped_hierarchy *held = body(k, "eliminate");
        scoped_null_space Q = {0};
        CHECK_OK(cmgi_null_space_find(held, 0, &Q));
        CHECK(Q.count == 0 && Q.q == NULL);
        scoped_hierarchy *h = body(k, "neumann");
        const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
        scoped double *values = scaled_copy(A.values, A.indptr[A.rows], 1);
        for (cmg_size e = A.indptr[A.rows - 1]; e < A.indptr[A.rows]; ++e) {
            values[e] *= A.indices[e] == A.rows - 1 ? 1 + 1e-6 : 1; /* a spring at the last row */
        }
        CHECK_OK(cmg_hierarchy_update(h, 0, CMG_ROLE_A, values));
        CHECK_OK(cmgi_null_space_find(h, 0, &Q));
        CHECK(Q.count < bodies[k].vectors);
    }
}

/* b in the null space alone has the solution 0; vectors that are given are asked about. */
TEST(given_vectors)
{
    scoped_hierarchy *h = body(0, "neumann");
    const cmg_size n = cmg_hierarchy_rows(h, 0);
    scoped_vector *b = vector_of(n, 3);
    scoped_vector *x = vector_of(n, 4);
    scoped double *values = malloc((size_t)n * sizeof *values);
    cmg_solver *s = NULL;
    fill_values(values, n, 3);
    CHECK_OK(cmg_hierarchy_set_nullspace(h, 0, 1, values));
    CHECK(b != NULL && x != NULL);
#ifdef CMGI_HAVE_LAPACK
    CHECK_OK(cmg_vector_fill(b, 1));
    s = solver_new(h, NULL);
    cmg_report report = least_squares(s, b, x);
    CHECK(report.outcome == CMG_CONVERGED_ATOL && report.nullspace == 1);
    CHECK_NEAR(report.removed, sqrt((double)n), 1e-10);
    CHECK_OK(cmg_vector_get(x, values));
    CHECK(dot(values, values, n) <= 1e-20);
    cmg_solver_destroy(&s);
    s = solver_with(h, "nullspace=false");
    CHECK_OK(cmg_vector_fill(b, 0));
    report = least_squares(s, b, x);
    CHECK(report.nullspace == 0 && report.removed == 0);
    cmg_solver_destroy(&s);
#endif
    values[5] = 4;
    CHECK_OK(cmg_hierarchy_set_nullspace(h, 0, 1, values));
    CHECK_REFUSED(cmg_solver_create(h, NULL, &s), CMG_ERR_ARG, "marked as exact");
    CHECK_STATUS(cmg_hierarchy_set_nullspace(h, 0, 0, values), CMG_ERR_ARG);
    CHECK_STATUS(cmg_hierarchy_set_nullspace(h, 99, 1, values), CMG_ERR_ARG);
    CHECK_STATUS(cmg_hierarchy_set_nullspace(NULL, 0, 1, values), CMG_ERR_ARG);
}
