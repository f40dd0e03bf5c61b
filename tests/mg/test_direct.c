/*
 * What takes the place of levels below a matrix alone: a factorisation in its envelope, or Jacobi
 * where A is diagonally dominant.
 */
#include "mg/multigrid.h"
#include "mg/envelope.h"
#include "hierarchy/numbering.h"
#include "solves.h"

#include <float.h>

/* A symmetric matrix in the order that `seed` draws: `band` neighbours on both sides, the diagonal
 * that their sizes add up to, and `more`. */
static cmgi_csr banded(cmg_size n, cmg_size band, double more, uint64_t seed)
{
    triplet_list t = triplets(n, n);
    scoped cmg_size *place = malloc((size_t)(n + 1) * sizeof *place);
    for (cmg_size i = 0; i < n; ++i) {
        const cmg_size j = (cmg_size)(cmgi_random_bits(&seed) % (uint64_t)(i + 1));
        place[i] = place[j];
        place[j] = i;
    }
    for (cmg_size i = 0; i < n; ++i) {
        triplet_add(&t, place[i], place[i], more);
        for (cmg_size j = i + 1; j <= i + band && j < n; ++j) {
            const double v = -0.1 - cmgi_random(&seed);
            triplet_add(&t, place[i], place[j], v);
            triplet_add(&t, place[j], place[i], v);
            triplet_add(&t, place[i], place[i], -v);
            triplet_add(&t, place[j], place[j], -v);
        }
    }
    return triplet_csr(&t);
}

/* The largest |A G b - b| over |b|, b = A x of a random x; with perm the vectors are renumbered. */
static double error_of(const cmg_csr *A, const cmgi_envelope *E, const cmg_index *perm)
{
    const cmg_size n = A->rows;
    scoped double *x = random_values(n, 9);
    scoped double *b = csr_times(A, x);
    scoped double *inside = scaled_copy(b, n, 1); /* as b, in the order of the envelope */
    scoped double *once = calloc((size_t)n + 1, sizeof *once);
    scoped_matrix *G = NULL;
    FILL(inside, i, n, b[perm != NULL ? perm[i] : i]);
    cmg_matrix_options o = matrix_options("precision=fp64");
    CHECK_OK(cmgi_envelope_matrix(ctx, E, perm, &o, &G));
    const cmgi_writeback w = {.kind = CMGI_WB_APPLY, .y = once};
    CHECK_OK(cmgi_matrix_spmv(G, &w, inside));
    /* c may be y: y = 2 G x - c */
    scoped double *twice = scaled_copy(once, n, 1);
    const cmgi_writeback less = {
        .kind = CMGI_WB_AXPBY, .alpha = 2, .beta = -1, .c = twice, .y = twice};
    CHECK_OK(cmgi_matrix_spmv(G, &less, inside));
    for (cmg_size i = 0; i < n; ++i) {
        CHECK_NEAR(twice[i], once[i], 1e-12 * (1 + fabs(once[i])));
        x[perm != NULL ? perm[i] : i] = once[i];
    }
    scoped double *image = csr_times(A, x);
    const double size = largest(b, n);
    return largest_difference(image, b, n) / (size > 0 ? size : 1);
}

TEST(solves_what_is_definite)
{
    static const cmg_size sizes[] = {1, 2, 3, 4, 5, 8, 31, 32, 33, 64, 65, 150};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
        const cmg_size n = sizes[s];
        for (cmg_size band = 0; band <= n; band = 3 * band + 1) {
            scoped_csr A = banded(n, band, 0.5, (uint64_t)(n + band));
            scoped cmg_index *perm = malloc((size_t)n * sizeof *perm);
            cmgi_envelope *E = NULL;
            cmgi_order_random(n, 3, perm);
            CHECK_OK(cmgi_envelope_create(ctx, &A.view, 1e12, &E));
            CHECK(E->zeros == 0 && !E->negative);
            CHECK(E->start[E->pairs] <= (n + 1) * (n + 3) / 2 + n + 1);
            /* the order was found again */
            CHECK(band == 0 || n <= 8 * band || E->start[E->pairs] <= 3 * n * (band + 2));
            CHECK(error_of(&A.view, E, NULL) <= 1e3 * (double)n * DBL_EPSILON);
            CHECK(error_of(&A.view, E, perm) <= 1e3 * (double)n * DBL_EPSILON);
            cmgi_envelope_destroy(ctx, &E);
            /* the same with rows of either sign, where they are not coupled; all of them here */
            scoped double *less = scaled_copy(A.values, A.indptr[n], -1);
            scoped double *values = random_values(A.indptr[n], (uint64_t)n);
            memcpy(A.values, less, (size_t)A.indptr[n] * sizeof *less);
            CHECK_OK(cmgi_envelope_create(ctx, &A.view, 1e12, &E));
            CHECK(E->negative);
            CHECK(error_of(&A.view, E, perm) <= 1e3 * (double)n * DBL_EPSILON);
            cmgi_envelope_destroy(ctx, &E);
            /* entries of either sign and any size on the diagonal: rows change places */
            memcpy(A.values, values, (size_t)A.indptr[n] * sizeof *values);
            CHECK_OK(cmgi_envelope_create(ctx, &A.view, 1e12, &E));
            CHECK((E->swap == NULL) == (n == 1 || band == 0));
            CHECK(error_of(&A.view, E, perm) <= 1e6 * (double)n * DBL_EPSILON);
            memset(A.values, 0, (size_t)A.indptr[1] * sizeof *values);
            CHECK(E->swap == NULL || !cmgi_envelope_update(&A.view, E));
            cmgi_envelope_destroy(ctx, &E);
        }
    }
}

/* Every component of the graph of such a matrix takes its constant to zero. */
TEST(leaves_out_what_is_singular)
{
    static const cmg_size sizes[] = {2, 3, 40, 81};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
        const cmg_size n = sizes[s];
        scoped_csr A = banded(n, 2, 0, (uint64_t)n);
        cmgi_envelope *E = NULL;
        CHECK_OK(cmgi_envelope_create(ctx, &A.view, 1e12, &E));
        CHECK(E->zeros == 1);
        CHECK(error_of(&A.view, E, NULL) <= 1e4 * (double)n * DBL_EPSILON);
        cmgi_envelope_destroy(ctx, &E);
    }
}

TEST(refuses_the_rest)
{
    scoped_csr A = banded(30, 3, 0.5, 4);
    cmgi_envelope *E = NULL;
    CHECK_OK(cmgi_envelope_create(ctx, &A.view, 30, &E));
    CHECK(E == NULL); /* too much work */
    CHECK_OK(cmgi_envelope_create(ctx, &A.view, 1e6, &E));
    const cmg_size at = A.indptr[7] + (A.indices[A.indptr[7]] == 7);
    const double kept = A.values[at];
    A.values[at] = 1.01 * kept; /* unsymmetric */
    CHECK(!cmgi_envelope_update(&A.view, E));
    A.values[at] = kept;
    CHECK(cmgi_envelope_update(&A.view, E));
    CHECK(error_of(&A.view, E, NULL) <= 1e-12);
    EACH_ENTRY (&A, i, k) { /* indefinite: the smallest eigenvalue was 0.5 */
        A.values[k] -= A.indices[k] == i ? 0.6 : 0;
    }
    CHECK(!cmgi_envelope_update(&A.view, E));
    A.values[A.indptr[3]] = NAN;
    CHECK(!cmgi_envelope_update(&A.view, E));
    cmgi_envelope_destroy(ctx, &E);
}

static cmg_hierarchy *alone(cmgi_csr *A)
{
    cmg_hierarchy *h = hierarchy_new(1);
    CHECK_OK(cmgi_hierarchy_take_csr(h, 0, CMG_ROLE_A, NULL, 0, A));
    return h;
}

static bool notes(const cmg_solver *s, const char *word)
{
    int i = 0;
    while (cmg_solver_note(s, i) != NULL && strstr(cmg_solver_note(s, i), word) == NULL) {
        ++i;
    }
    return cmg_solver_note(s, i) != NULL;
}

/* Solves; the note is there, and the residual is the reported one. */
static cmg_report solve_noting(cmg_hierarchy *h, const char *text, const char *word)
{
    scoped_vector *b = vector_for(h, 3);
    scoped_vector *x = vector_for(h, 4);
    scoped_solver *s = solver_with(h, "%s", text);
    CHECK(notes(s, word));
    cmg_report report = solve_with(s, b, x);
    CHECK(report.outcome == CMG_CONVERGED_RTOL);
    CHECK(true_residual(h, b, x) <= 1.1e-8);
    report.history = NULL;
    return report;
}

TEST(one_iteration_is_enough)
{
    cmgi_csr A = poisson_matrix(20, 0);
    cmgi_csr one = banded(1, 0, 4, 1);
    scoped_hierarchy *h = alone(&A);
    scoped_hierarchy *row = alone(&one);
    CHECK(solve_noting(row, "", "direct solve").iterations == 1);
    CHECK(solve_noting(h, "", "direct solve").iterations == 1);
    CHECK(solve_noting(h, "precision=mixed", "direct solve").iterations <= 3);
    CHECK(solve_noting(h, "format=sell", "direct solve").iterations == 1); /* renumbered */
    CHECK(solve_noting(h, "smoother=chebyshev4", "algebraic levels").iterations > 1);
    CHECK(solve_noting(h, "no-coarsen", "one level").iterations > 1);
    CHECK(solve_noting(h, "coarse-limit=999", "algebraic levels").iterations > 1);
    scale(h, -1); /* negative definite, but for nothing */
    CHECK(solve_noting(h, "", "direct solve").krylov == CMG_KRYLOV_FGMRES);
}

/* New values; then some that are not definite, for which there is a smoother. */
TEST(follows_new_values)
{
    cmgi_csr A = poisson_matrix(12, 0);
    scoped_hierarchy *h = alone(&A);
    scoped_vector *b = vector_for(h, 3);
    scoped_vector *x = vector_for(h, 4);
    scoped_solver *s = solver_with(h, "keep_map krylov=fgmres max-it=400");
    CHECK(notes(s, "direct solve"));
    scale(h, 3);
    CHECK_OK(cmg_solver_refresh(s));
    CHECK(notes(s, "direct solve"));
    cmg_report report = solve_with(s, b, x);
    CHECK(report.iterations == 1 && true_residual(h, b, x) <= 1e-8);
    change_level(h, 0, 1, -0.9); /* some are negative */
    CHECK_OK(cmg_solver_refresh(s));
    CHECK(!notes(s, "direct solve"));
    CHECK_OK(cmg_solver_solve(s, b, x, &report));
    CHECK(cmg_outcome_converged(report.outcome));
    CHECK(true_residual(h, b, x) <= 1.1e-8);
}

/* Three columns at once come to what each comes to. */
TEST(several_columns)
{
    enum { K = 3 };
    cmgi_csr A = banded(101, 4, 0.2, 8);
    scoped_hierarchy *h = alone(&A);
    scoped double *values = random_values(101 * K, 5);
    scoped_solver *s = solver_new(h, NULL);
    scoped_vector *b = columns_from(101, K, values);
    scoped_vector *x = columns_new(101, K);
    const cmg_report report = solve_with(s, b, x);
    CHECK(report.outcome == CMG_CONVERGED_RTOL && report.iterations == 1);
    for (int c = 0; c < K; ++c) {
        cmg_report column = {.size = sizeof column};
        CHECK_OK(cmg_solver_column(s, c, &column));
        CHECK(column.outcome == CMG_CONVERGED_RTOL && column.relative_residual <= 1e-12);
    }
}

/* The coarsest level of a hierarchy is factorised where an inverse would be more work. */
TEST(coarsest_levels)
{
    scoped_hierarchy *h = poisson(32, 3, 0);
    scoped_hierarchy *two = poisson(32, 2, 0);
    scoped_hierarchy *large = poisson(64, 2, 0);
    CHECK(solve_noting(h, "", "Cholesky factor of 81 rows").iterations <= 12);
    /* 289 rows would have been inverted, 1089 got levels below them */
    CHECK(solve_noting(two, "", "Cholesky factor of 289 rows").iterations <= 12);
    CHECK(solve_noting(large, "", "coarse solve: Cholesky factor of 1089 rows").iterations <= 12);
}

/* I + a random matrix with entries of both signs, not symmetric; every `strong`th row has twice its
 * diagonal beside it; the last `chain` rows are -1 2 -1. */
static cmgi_csr ruled(cmg_size n, cmg_size strong, cmg_size chain)
{
    uint64_t seed = 11;
    triplet_list t = triplets(n, n);
    for (cmg_size i = 0; i < n - chain; ++i) {
        const double size = i % strong == 0 ? 0.5 : 0.1;
        triplet_add(&t, i, i, 1);
        for (int e = 0; e < 4; ++e) {
            const cmg_size j = (cmg_size)(cmgi_random_bits(&seed) % (uint64_t)(n - chain));
            triplet_add(&t, i, j != i ? j : (i + 1) % (n - chain), size * (e % 2 ? 1 : -1));
        }
    }
    for (cmg_size i = n - chain; i < n; ++i) {
        triplet_add(&t, i, i, 2);
        if (i > n - chain) {
            triplet_add(&t, i, i - 1, -1);
            triplet_add(&t, i - 1, i, -1);
        }
    }
    return triplet_csr(&t);
}

static bool rules(const cmgi_csr *A)
{
    cmgi_csr_facts facts = {0};
    bool enough = false;
    CHECK_OK(cmgi_csr_facts_take(ctx, &A->view, 0, A->rows, &facts));
    CHECK_OK(cmgi_dominated(ctx, &A->view, &facts, &enough));
    return enough;
}

TEST(diagonals_that_rule)
{
    cmgi_csr A = ruled(900, 9, 0);
    scoped_csr mixed = ruled(900, 9, 60);
    scoped_csr grid = poisson_matrix(20, 0);
    CHECK(rules(&A));
    CHECK(!rules(&mixed)); /* a chain of 60 rows is enough to be slow, and to be seen */
    CHECK(!rules(&grid));
    scoped_hierarchy *h = alone(&A);
    const cmg_report report = solve_noting(h, "", "as A is diagonally dominant");
    CHECK(report.iterations <= 16 && report.krylov == CMG_KRYLOV_FGMRES);
    CHECK(report.fallbacks == 0);
}
