/*
 * Singular systems: what A takes to 0 is found, taken out of b and x and told; x is the shortest
 * least-squares solution, which tests/cli/test_nullspace.py compares with LAPACK's.
 */
#include "transfer/null_space.h"

/* the residual here is that of a part of b, which the oracle does not know */
#include "solves.h"
#include "generated.h"
#undef cmg_solver_solve

static void null_space_free(cmgi_null_space *Q)
{
    cmgi_null_space_free(ctx, Q);
}

#define scoped_null_space scoped_by(null_space_free) cmgi_null_space

typedef struct body {
    cmg_problem problem;
    cmg_element element;
    int dim;
    int vectors;
} body;

static const body bodies[] = {{CMG_PROBLEM_POISSON, CMG_ELEMENT_Q1, 2, 1},
                              {CMG_PROBLEM_POISSON, CMG_ELEMENT_P2, 2, 1},
                              {CMG_PROBLEM_POISSON, CMG_ELEMENT_Q1, 3, 1},
                              {CMG_PROBLEM_ELASTICITY, CMG_ELEMENT_Q1, 2, 3},
                              {CMG_PROBLEM_ELASTICITY, CMG_ELEMENT_P1, 3, 6}};
enum { BODIES = sizeof bodies / sizeof *bodies };

static cmg_hierarchy *free_body(const body *what, cmg_boundary form)
{
    cmg_generate_options g =
        generate_options("problem=%s element=%s dim=%d cells=%d dirichlet=%s coords",
                         FEM_WORD("problem", what->problem), FEM_WORD("element", what->element),
                         what->dim, what->dim == 2 ? 16 : 4, FEM_WORD("boundary", form));
    return hierarchy_generated(&g);
}

/* b - A x without its part in Q, next to b without it. */
static double rest_of_residual(const cmg_hierarchy *h, const cmgi_null_space *Q, double *b,
                               const double *x)
{
    const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
    for (int k = 0; k < Q->count; ++k) {
        const double *q = Q->q + k * A.rows;
        const double s = dot(q, b, A.rows);
        for (cmg_size i = 0; i < A.rows; ++i) {
            b[i] -= s * q[i];
        }
    }
    double rr = 0;
    for (cmg_size i = 0; i < A.rows; ++i) {
        double r = b[i];
        for (cmg_size k = A.indptr[i]; k < A.indptr[i + 1]; ++k) {
            r -= A.values[k] * x[A.indices[k]];
        }
        rr += r * r;
    }
    return sqrt(rr / dot(b, b, A.rows));
}

static void solves_free(const body *what, const char *options)
{
    scoped_hierarchy *h = free_body(what, CMG_BOUNDARY_NEUMANN);
    const cmg_size n = cmg_hierarchy_rows(h, 0);
    scoped_vector *b = vector_of(n, 3);
    scoped_vector *x = vector_of(n, 4);
    scoped double *values = malloc(2 * (size_t)n * sizeof *values);
    scoped_null_space Q = {0};
    cmg_report report = {.size = sizeof report};
    CHECK_OK(cmgi_null_space_find(h, 0, &Q));
    CHECK(Q.count == what->vectors);
    scoped_solver *s = solver_with(h, "%s", options);
    CHECK_OK(cmg_solver_solve(s, b, x, &report));
    CHECK(report.outcome == CMG_LEAST_SQUARES && report.iterations <= 40);
    CHECK(report.nullspace == what->vectors && report.removed > 0);
    CHECK(strstr(report.hint, "outside the range of A") != NULL);
    CHECK(report.range_residual <= 1.001e-8);
    CHECK_OK(cmg_vector_get(b, values));
    CHECK_OK(cmg_vector_get(x, values + n));
    double removed = 0;
    for (int k = 0; k < Q.count; ++k) {
        removed = hypot(removed, dot(Q.q + k * n, values, n));
        CHECK(fabs(dot(Q.q + k * n, values + n, n)) <=
              1e-13 * (double)n * sqrt(dot(values + n, values + n, n)));
    }
    CHECK_NEAR(report.removed, removed, 1e-12 * removed);
    CHECK(rest_of_residual(h, &Q, values, values + n) <= 1.001e-8);
}

TEST(free_bodies_are_solved)
{
    for (int k = 0; k < BODIES; ++k) {
        solves_free(&bodies[k], "");
        solves_free(&bodies[k], "precision=mixed");
        solves_free(&bodies[k], "krylov=fgmres format=k2rs");
    }
}

/* b = A y */
static void product_of(const cmg_hierarchy *h, const cmg_vector *y, cmg_vector *b)
{
    const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
    scoped double *values = calloc(2 * (size_t)A.rows, sizeof *values);
    CHECK_OK(cmg_vector_get(y, values));
    EACH_ENTRY (&A, i, k) {
        values[A.rows + i] += A.values[k] * values[A.indices[k]];
    }
    CHECK_OK(cmg_vector_set(b, values + A.rows));
}

/* A last level that is factorised: R A P leaves its last pivot a few roundings above zero. */
TEST(factors_of_free_bodies)
{
    static const struct {
        cmg_problem problem;
        cmg_element element;
        int cells;
    } cases[] = {{CMG_PROBLEM_POISSON, CMG_ELEMENT_Q1, 20},
                 {CMG_PROBLEM_POISSON, CMG_ELEMENT_Q2, 8},
                 {CMG_PROBLEM_ELASTICITY, CMG_ELEMENT_Q1, 12}};
    static const char *const precisions[] = {"precision=fp64", "", "precision=mixed"};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        cmg_generate_options g =
            generate_options("problem=%s element=%s dim=3 cells=%lld dirichlet=neumann coords",
                             FEM_WORD("problem", cases[k].problem),
                             FEM_WORD("element", cases[k].element), (long long)cases[k].cells);
        scoped_hierarchy *h = hierarchy_generated(&g);
        const cmg_size n = cmg_hierarchy_rows(h, 0);
        scoped_vector *y = vector_of(n, 3);
        scoped_vector *b = vector_of(n, 4);
        int iterations = 0;
        product_of(h, y, b); /* of the range of A */
        for (int p = 0; p < 3; ++p) {
            cmg_solver_options o = solver_defaults();
            scoped_vector *x = vector_of(n, 5);
            CHECK_OK(cmg_solver_options_set(&o, precisions[p]));
            const cmg_report report = solve(h, &o, b, x);
            CHECK(report.outcome == CMG_CONVERGED_RTOL && report.fallbacks == 0);
            CHECK(true_residual(h, b, x) <= 1.01e-8);
            iterations = p == 0 ? report.iterations : iterations;
            CHECK(abs(report.iterations - iterations) <= 1);
        }
    }
}

/*
 * A Laplacian on m x m nodes with nothing held, in arrays of the test, and `spring` added to one
 * diagonal entry or to all of them.
 */
typedef struct grid {
    cmg_size n;
    cmg_size indptr[1100];
    cmg_index indices[6000];
    double values[6000];
} grid;

static grid laplacian(int m, double spring, int at)
{
    static const int step[4][2] = {{0, -1}, {-1, 0}, {1, 0}, {0, 1}};
    grid A = {.n = (cmg_size)m * m};
    cmg_size e = 0;
    for (int i = 0; i < m * m; ++i) {
        const cmg_size diagonal = e++;
        A.indices[diagonal] = i;
        for (int k = 0; k < 4; ++k) {
            const int x = i % m + step[k][0];
            const int y = i / m + step[k][1];
            if (x >= 0 && x < m && y >= 0 && y < m) {
                A.indices[e] = y * m + x;
                A.values[e++] = -1;
                A.values[diagonal] += 1;
            }
        }
        A.values[diagonal] += at < 0 || at == i ? spring : 0;
        A.indptr[i + 1] = e;
    }
    return A;
}

/* b - A x by the test's own arrays */
static long double residual_norm(const grid *A, const double *b, const double *x)
{
    long double rr = 0;
    for (cmg_size i = 0; i < A->n; ++i) {
        long double r = b[i];
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            r -= (long double)A->values[k] * x[A->indices[k]];
        }
        rr += r * r;
    }
    return sqrtl(rr);
}

static cmg_hierarchy *hierarchy_of(const grid *A)
{
    cmg_csr csr = {.rows = A->n,
                   .cols = A->n,
                   .indptr = A->indptr,
                   .indices = A->indices,
                   .values = A->values};
    cmg_hierarchy *h = hierarchy_new(1);
    CHECK_OK(cmg_hierarchy_set_csr(h, 0, CMG_ROLE_A, NULL, 0, &csr));
    return h;
}

static char hint[256]; /* of the last solve */

static cmg_solver *solver_of(cmg_hierarchy *h, const char *options)
{
    return solver_with(h, "%s", options);
}

/* Solves, and what is told of x is what the arrays say. */
static cmg_report told_is_true(const grid *A, cmg_solver *s, const double *b, double *x)
{
    cmg_report report = {.size = sizeof report};
    scoped_vector *vb = vector_new(A->n, CMG_FP64);
    scoped_vector *vx = vector_new(A->n, CMG_FP64);
    CHECK_OK(cmg_vector_set(vb, b));
    CHECK_OK(cmg_solver_solve(s, vb, vx, &report));
    (void)snprintf(hint, sizeof hint, "%s", report.hint);
    CHECK_OK(cmg_vector_get(vx, x));
    const double residual = (double)residual_norm(A, b, x);
    const double norm = sqrt(dot(b, b, A->n));
    const double rounding = 1e-14 * (8 * sqrt(dot(x, x, A->n)) + norm);
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
            const grid A = laplacian(M, spring, places[k]);
            scoped_hierarchy *h = hierarchy_of(&A);
            cmgi_null_space Q = {0};
            uint64_t seed = 5;
            CHECK_OK(cmgi_null_space_find(h, 0, &Q));
            CHECK(Q.count == 0);
            cmgi_null_space_free(ctx, &Q);
            fill_values(b, N, 1);
            cmg_solver *solver = solver_of(h, "");
            cmg_report report = told_is_true(&A, solver, b, x);
            cmg_solver_destroy(&solver);
            CHECK(report.nullspace == 0 && report.removed == 0);
            if (places[k] < 0 && spring > 0.5e-11) { /* x = 1 / spring */
                CHECK(cmg_outcome_converged(report.outcome));
                CHECK_NEAR(x[7] * spring, 1, 1e-3);
            }
            for (int i = 0; i < N; ++i) { /* with a mean of 0 the spring does not matter */
                b[i] = cmgi_random(&seed) - 0.5;
            }
            double mean = 0;
            for (int i = 0; i < N; ++i) {
                mean += b[i] / N;
            }
            for (int i = 0; i < N; ++i) {
                b[i] -= mean;
            }
            solver = solver_of(h, "");
            report = told_is_true(&A, solver, b, x);
            cmg_solver_destroy(&solver);
            CHECK(report.nullspace == 0);
            CHECK(cmg_outcome_converged(report.outcome));
        }
    }
}

/* a y + c + d sin: y of the range, a constant, and a part that is neither */
static void right_hand_side(const grid *A, double range, double constant, double *b)
{
    double y[1100];
    uint64_t seed = 7;
    for (cmg_size i = 0; i < A->n; ++i) {
        y[i] = cmgi_random(&seed);
    }
    for (cmg_size i = 0; i < A->n; ++i) {
        long double sum = 0;
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            sum += (long double)A->values[k] * y[A->indices[k]];
        }
        b[i] = range * (double)sum + constant;
    }
}

/*
 * Compatible, with a share of 1e-10, 1e-4 and nearly all outside the range, all outside it (0.7: P
 * b is rounding, not 0), and of any size: outcome, share, and the residual within the range against
 * the mean of b.
 */
static void outside_the_range_by(const grid *A, const char *options, bool given)
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
    scoped_solver *s = solver_of(h, options); /* one for all: a setup takes longer than a solve */
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
    const grid A = laplacian(M, 0, 0);
    double b[N];
    double x[N];
    for (int k = 0; k < 2 * 3; ++k) {
        const double size = sizes[k / 2];
        scoped_hierarchy *h = hierarchy_of(&A);
        scoped_solver *s = solver_of(h, k % 2 ? "atol=1e3" : "atol=0");
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
    const grid A = laplacian(24, 0, 0);
    for (int k = 0; k < 5; ++k) {
        outside_the_range_by(&A, ways[k], false);
    }
    outside_the_range_by(&A, "", true);
}

/* Norms of the iterations are of the b that was given; failures stay failures. */
TEST(history_and_failures)
{
    enum { M = 24, N = M * M };
    const grid A = laplacian(M, 0, 0);
    double b[N];
    double x[N];
    scoped_hierarchy *h = hierarchy_of(&A);
    cmg_solver_options o;
    cmg_solver *s = NULL;
    cmg_report report = {.size = sizeof report};
    cmg_vector *v[2] = {NULL, NULL};
    right_hand_side(&A, 1, 0.5, b);
    for (int k = 0; k < 2; ++k) {
        cmg_solver_options_default(&o);
        CHECK_OK(cmg_solver_options_set(&o, k == 0 ? "smoother=jacobi cycle=none max_it=400"
                                                   : "smoother=jacobi cycle=none max_it=3"));
        CHECK_OK(cmg_vector_create(ctx, N, CMG_FP64, &v[0]));
        CHECK_OK(cmg_vector_create(ctx, N, CMG_FP64, &v[1]));
        CHECK_OK(cmg_vector_set(v[0], b));
        CHECK_OK(cmg_solver_create(h, &o, &s));
        CHECK_OK(cmg_solver_solve(s, v[0], v[1], &report));
        CHECK_OK(cmg_vector_get(v[1], x));
        const double residual = (double)residual_norm(&A, b, x);
        CHECK(report.outcome == (k == 0 ? CMG_LEAST_SQUARES : CMG_ITERATION_LIMIT));
        CHECK_NEAR(report.history[0], sqrt(dot(b, b, N)), 1e-12 * report.rhs_norm);
        CHECK_NEAR(report.history[report.best], residual, 1e-9 * residual);
        CHECK_NEAR(report.residual, residual, 1e-12 * residual);
        cmg_solver_destroy(&s);
        cmg_vector_destroy(&v[0]);
        cmg_vector_destroy(&v[1]);
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
    const grid A = laplacian(M, 0, 0);
    double b[3][N];
    double x[3 * N];
    double all[3 * N];
    scoped_hierarchy *h = hierarchy_of(&A);
    cmg_report report = {.size = sizeof report};
    cmg_vector *v[2] = {NULL, NULL};
    for (int c = 0; c < 3; ++c) {
        right_hand_side(&A, ranges[c], constants[c], b[c]);
        for (int i = 0; i < N; ++i) {
            all[3 * i + c] = b[c][i];
        }
    }
    CHECK_OK(cmg_vector_create_columns(ctx, N, 3, CMG_FP64, &v[0]));
    CHECK_OK(cmg_vector_create_columns(ctx, N, 3, CMG_FP64, &v[1]));
    CHECK_OK(cmg_vector_set(v[0], all));
    scoped_solver *s = solver_new(h, NULL);
    CHECK_OK(cmg_solver_solve(s, v[0], v[1], &report));
    CHECK(report.outcome == CMG_LEAST_SQUARES);
    CHECK_OK(cmg_vector_get(v[1], x));
    for (int c = 0; c < 3; ++c) {
        double column[N];
        for (int i = 0; i < N; ++i) {
            column[i] = x[3 * i + c];
        }
        CHECK_OK(cmg_solver_column(s, c, &report));
        CHECK(report.outcome == expected[c]);
        const double residual = (double)residual_norm(&A, b[c], column);
        CHECK_NEAR(report.residual, residual, 1e-9 * residual + 1e-13);
    }
    cmg_vector_destroy(&v[0]);
    cmg_vector_destroy(&v[1]);
}

/* The true ones are found: rows summed from elements in any order, rotations about any origin. */
TEST(null_spaces_of_sums_are_found)
{
    for (int k = 0; k < BODIES; ++k) {
        for (int numbering = 0; numbering < 2; ++numbering) {
            scoped_null_space Q = {0};
            cmg_size n = 0;
            const double *coords = NULL;
            scoped_hierarchy *h = generated(
                "problem=%s element=%s dim=%d cells=%d dirichlet=neumann coords distort=0.3 "
                "aspect=100 coefficient=random contrast=1e6 numbering=%s",
                FEM_WORD("problem", bodies[k].problem), FEM_WORD("element", bodies[k].element),
                bodies[k].dim, bodies[k].dim == 2 ? 16 : 4,
                numbering == 0 ? "generated" : "random");
            CHECK_OK(cmgi_null_space_find(h, 0, &Q));
            CHECK(Q.count == bodies[k].vectors);
            cmgi_null_space_free(ctx, &Q);
            /* elsewhere: what coordinates of 1e4 round off is larger than eps times distances */
            CHECK_OK(cmg_hierarchy_get_vector(h, 0, "coords", NULL, &n, &coords));
            scoped double *moved = malloc((size_t)n * sizeof *moved);
            for (cmg_size i = 0; i < n; ++i) {
                moved[i] = coords[i] + 1e4;
            }
            CHECK_OK(cmg_hierarchy_set_vector(h, 0, "coords", NULL, n, moved));
            CHECK_OK(cmgi_null_space_find(h, 0, &Q));
            CHECK(Q.count == bodies[k].vectors);
        }
    }
}

/* What is held, or has mass, has no null space; neither has a constant that was looked at early. */
TEST(others_have_none)
{
    for (int k = 0; k < BODIES; ++k) {
        scoped_hierarchy *h = free_body(&bodies[k], CMG_BOUNDARY_ELIMINATE);
        scoped_null_space Q = {0};
        CHECK_OK(cmgi_null_space_find(h, 0, &Q));
        CHECK(Q.count == 0 && Q.q == NULL);
        cmg_hierarchy_destroy(&h);
        h = free_body(&bodies[k], CMG_BOUNDARY_NEUMANN);
        const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
        scoped double *values = malloc((size_t)A.indptr[A.rows] * sizeof *values);
        memcpy(values, A.values, (size_t)A.indptr[A.rows] * sizeof *values);
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
    scoped_hierarchy *h = free_body(&bodies[0], CMG_BOUNDARY_NEUMANN);
    const cmg_size n = cmg_hierarchy_rows(h, 0);
    scoped_vector *b = vector_of(n, 3);
    scoped_vector *x = vector_of(n, 4);
    scoped double *values = malloc((size_t)n * sizeof *values);
    cmg_report report = {.size = sizeof report};
    cmg_solver *s = NULL;
    cmg_solver_options o = solver_defaults();
    fill_values(values, n, 3);
    CHECK_OK(cmg_hierarchy_set_nullspace(h, 0, 1, values));
    CHECK(b != NULL && x != NULL);
#ifdef CMGI_HAVE_LAPACK
    CHECK_OK(cmg_vector_fill(b, 1));
    CHECK_OK(cmg_solver_create(h, &o, &s));
    CHECK_OK(cmg_solver_solve(s, b, x, &report));
    CHECK(report.outcome == CMG_CONVERGED_ATOL && report.nullspace == 1);
    CHECK_NEAR(report.removed, sqrt((double)n), 1e-10);
    CHECK_OK(cmg_vector_get(x, values));
    CHECK(dot(values, values, n) <= 1e-20);
    cmg_solver_destroy(&s);
    CHECK_OK(cmg_solver_options_set(&o, "nullspace=false"));
    CHECK_OK(cmg_solver_create(h, &o, &s));
    CHECK_OK(cmg_vector_fill(b, 0));
    CHECK_OK(cmg_solver_solve(s, b, x, &report));
    CHECK(report.nullspace == 0 && report.removed == 0);
    cmg_solver_destroy(&s);
    CHECK_OK(cmg_solver_options_set(&o, "nullspace=true"));
#endif
    values[5] = 4;
    CHECK_OK(cmg_hierarchy_set_nullspace(h, 0, 1, values));
    CHECK_REFUSED(cmg_solver_create(h, &o, &s), CMG_ERR_ARG, "marked as exact");
    CHECK_STATUS(cmg_hierarchy_set_nullspace(h, 0, 0, values), CMG_ERR_ARG);
    CHECK_STATUS(cmg_hierarchy_set_nullspace(h, 99, 1, values), CMG_ERR_ARG);
    CHECK_STATUS(cmg_hierarchy_set_nullspace(NULL, 0, 1, values), CMG_ERR_ARG);
}
