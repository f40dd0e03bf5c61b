/* Classical coarsening against its definitions, dense and by plain loops. */
#include "transfer/classical.h"

#include "core/backend.h"

#include "grids.h"

static const double THETA = 0.25;

/* Couplings along x and y, random ones, some of the wrong sign. */
static cmgi_csr random_matrix(int nx, int ny, uint64_t seed, bool wrong)
{
    const grid g = {{nx, ny, 1}, {1, 1, 0}, false};
    cmgi_csr A = grid_matrix(&g);
    for (cmg_size i = 0; i < A.rows; ++i) {
        double sum = 0;
        cmg_size own = 0;
        for (cmg_size k = A.indptr[i]; k < A.indptr[i + 1]; ++k) {
            own = A.indices[k] == i ? k : own;
            if (A.indices[k] != i) {
                A.values[k] = -pow(10, 2 * cmgi_random(&seed));
                sum -= A.values[k];
                A.values[k] *= wrong && cmgi_random(&seed) < 0.2 ? -0.5 : 1;
            }
        }
        A.values[own] = sum * (1 + 0.2 * cmgi_random(&seed));
    }
    return A;
}

/* strong[i n + j]: the entry has the other sign than the diagonal, and its share of the largest. */
static bool *strong_couplings(const double *A, cmg_size n)
{
    bool *strong = calloc((size_t)(n * n), sizeof *strong);
    for (cmg_size i = 0; i < n; ++i) {
        double largest = 0;
        double sum = 0;
        for (cmg_size j = 0; j < n; ++j) {
            const double size = j == i ? 0 : -A[i * n + j] * (A[i * n + i] < 0 ? -1 : 1);
            largest = worst_of(largest, size);
            sum += fabs(size);
        }
        for (cmg_size j = 0; j < n && sum > 0.1 * fabs(A[i * n + i]); ++j) {
            const double size = j == i ? 0 : -A[i * n + j] * (A[i * n + i] < 0 ? -1 : 1);
            strong[i * n + j] = size > 0 && size >= THETA * largest;
        }
    }
    return strong;
}

/* The column of a coarse row of P, -1 where row i is fine. */
static cmg_size coarse_column(const cmgi_csr *P, cmg_size i, const bool *taken)
{
    const cmg_size k = P->indptr[i];
    return P->indptr[i + 1] == k + 1 && P->values[k] == 1 && !taken[P->indices[k]] ? P->indices[k]
                                                                                   : -1;
}

/* The coarse rows are numbered upwards; *sound stays where each column has one. */
static cmg_size *coarse_rows(const cmgi_csr *P, bool *sound)
{
    cmg_size *column = malloc((size_t)P->rows * sizeof *column);
    scoped bool *taken = calloc((size_t)P->cols, sizeof *taken);
    cmg_size next = 0;
    for (cmg_size i = 0; i < P->rows; ++i) {
        column[i] = coarse_column(P, i, taken);
        column[i] = column[i] == next ? next : -1;
        if (column[i] >= 0) {
            taken[next++] = true;
        }
    }
    *sound = next == P->cols;
    return column;
}

/* The size of a coupling, 0 where it is not strong. */
static double coupling(const double *A, const bool *strong, cmg_size n, cmg_size i, cmg_size j)
{
    return strong[i * n + j] ? fabs(A[i * n + j]) : 0;
}

/*
 * Weights of a fine row as classical.h has them, from dense matrices: w is a row of n, 0 outside of
 * the coarse rows in reach.
 */
static void weights(const double *A, const bool *strong, const cmg_size *column, cmg_size n,
                    cmg_size i, double *w)
{
    const double sign = A[i * n + i] < 0 ? -1 : 1;
    double diagonal = 0;
    for (cmg_size j = 0; j < n; ++j) {
        w[j] = column[j] >= 0 ? coupling(A, strong, n, i, j) : 0;
        diagonal += strong[i * n + j] ? 0 : sign * A[i * n + j];
    }
    for (cmg_size k = 0; k < n; ++k) {
        const double back = coupling(A, strong, n, k, i);
        double sum = back;
        for (cmg_size l = 0; l < n; ++l) {
            sum += column[l] >= 0 ? coupling(A, strong, n, k, l) : 0;
        }
        const double part = column[k] < 0 ? coupling(A, strong, n, i, k) : 0;
        for (cmg_size l = 0; sum != 0 && l < n; ++l) {
            w[l] += column[l] >= 0 ? part * coupling(A, strong, n, k, l) / sum : 0;
        }
        diagonal -= sum != 0 ? part * back / sum : part;
    }
    FILL(w, j, n, w[j] / diagonal);
}

/* The largest difference between rows of P and what they are by definition. */
static double worst_weight(const cmgi_csr *A, const cmgi_csr *P, const cmg_size *column)
{
    const cmg_size n = A->rows;
    scoped double *D = dense_of(&A->view);
    scoped double *Q = dense_of(&P->view);
    scoped double *w = malloc((size_t)n * sizeof *w);
    scoped bool *strong = strong_couplings(D, n);
    double worst = 0;
    for (cmg_size i = 0; i < n; ++i) {
        if (column[i] >= 0) {
            continue;
        }
        weights(D, strong, column, n, i, w);
        for (cmg_size j = 0; j < n; ++j) {
            if (column[j] >= 0) {
                worst = worst_of(worst, fabs(Q[i * P->cols + column[j]] - w[j]));
            }
        }
    }
    return worst;
}

TEST(weights_are_those_of_the_definition)
{
    for (int trial = 0; trial < 24; ++trial) {
        scoped_csr A = random_matrix(3 + trial % 9, 2 + trial % 7, 77 + (uint64_t)trial, trial % 2);
        scoped_csr P = {0};
        bool sound = false;
        CHECK_OK(cmgi_classical(ctx, CMGI_HOST, &A.view, THETA, 0, &P));
        CHECK(P.rows == A.rows && P.cols > 0 && P.cols < A.rows);
        scoped cmg_size *column = coarse_rows(&P, &sound);
        CHECK(sound);
        CHECK_NEAR(worst_weight(&A, &P, column), 0, 1e-12);
    }
}

/* No coarse row depends on another, every fine one that depends on any row on a coarse one. */
TEST(splitting_is_independent_and_maximal)
{
    for (int trial = 0; trial < 12; ++trial) {
        const grid g = {
            {3 + 4 * trial, 1 + trial % 5, 1 + trial % 3}, {1, 1 + trial % 2, 1}, false};
        scoped_csr A = grid_matrix(&g);
        const cmg_size n = A.rows;
        scoped double *D = dense_of(&A.view);
        scoped bool *strong = strong_couplings(D, n);
        scoped_csr P = {0};
        bool sound = false;
        CHECK_OK(cmgi_classical(ctx, CMGI_HOST, &A.view, THETA, 5, &P));
        scoped cmg_size *column = coarse_rows(&P, &sound);
        CHECK(sound);
        bool independent = true;
        bool maximal = true;
        for (cmg_size i = 0; i < n; ++i) {
            bool any = false;
            bool coarse = false;
            for (cmg_size j = 0; j < n; ++j) {
                any = any || strong[i * n + j];
                coarse = coarse || (strong[i * n + j] && column[j] >= 0);
            }
            independent = independent && !(column[i] >= 0 && coarse);
            maximal = maximal && (column[i] >= 0 || coarse || !any);
            CHECK(P.indptr[i + 1] - P.indptr[i] <= 5);
        }
        CHECK(independent);
        CHECK(maximal);
    }
}

/* Every second point of a grid of five points, where the order of the rows decides. */
TEST(coarse_rows_are_as_regular_as_the_numbering)
{
    const grid g = {{19, 14, 1}, {1, 1, 0}, false};
    scoped_csr A = grid_matrix(&g);
    cmgi_splitting s;
    CHECK_OK(cmgi_split(ctx, CMGI_HOST, &A.view, THETA, &s));
    for (cmg_size i = 0; ctx->backend->alloc == NULL && i < A.rows; ++i) {
        CHECK((s.number[i] >= 0) == ((i % 19 + i / 19) % 2 == 0));
    }
    cmgi_splitting_free(ctx, &s);
}

/* Where A takes constants to 0, P takes them to constants, however short its rows are. */
TEST(constants_are_kept)
{
    for (int most = 0; most <= 6; ++most) {
        const grid g = {{31, 29, 1}, {1, 0.6, 0}, true};
        scoped_csr A = grid_matrix(&g);
        scoped_csr P = {0};
        double worst = 0;
        CHECK_OK(cmgi_classical(ctx, CMGI_HOST, &A.view, THETA, most, &P));
        for (cmg_size i = 0; i < P.rows; ++i) {
            worst = worst_of(worst, fabs(row_sum(&P.view, i) - 1));
        }
        CHECK_NEAR(worst, 0, 1e-13);
    }
}

/* P, and what is seen of A, at both places. */
static void check_places(const cmg_csr *A, int most)
{
    cmgi_resident there = {.csr = csr_there(A)};
    scoped_csr here = {0};
    scoped_csr found = {0};
    cmgi_suits suits[2];
    CHECK_OK(cmgi_resident_kernels_of(ctx)->rows(ctx, &there.csr, &there));
    CHECK_OK(cmgi_classical(ctx, CMGI_HOST, A, THETA, most, &here));
    CHECK_OK(cmgi_classical(ctx, CMGI_DEVICE, &there.csr, THETA, most, &found));
    CHECK(cmgi_csr_given(&here) == cmgi_csr_given(&found));
    if (cmgi_csr_given(&here) && cmgi_csr_given(&found)) {
        CHECK_OK(cmgi_resident_bring(ctx, &found));
        CHECK(same_csr(&here.view, &found.view));
    }
    memset(suits, 0, sizeof suits);
    CHECK_OK(cmgi_look_for_levels(ctx, A, NULL, THETA, &suits[0]));
    CHECK_OK(cmgi_look_for_levels(ctx, &there.csr, &there, THETA, &suits[1]));
    CHECK(memcmp(&suits[0], &suits[1], sizeof suits[0]) == 0);
    cmgi_resident_free(ctx, &there);
}

TEST(device_has_the_bits_of_the_host)
{
    for (int trial = 0; ctx->backend->alloc != NULL && trial < 12; ++trial) {
        scoped_csr A = random_matrix(5 + 3 * trial, 1 + 2 * trial, 7 + (uint64_t)trial, trial % 2);
        check_places(&A.view, trial % 6);
    }
    for (int kind = 0; ctx->backend->alloc != NULL && kind < ODD_KINDS; ++kind) {
        for (int n = 1; n < 70; n += 1 + n / 2) {
            scoped_csr A = odd_matrix(kind, n, 7);
            check_places(&A.view, 4);
        }
    }
}

TEST(threads_do_not_matter)
{
    scoped_csr A = random_matrix(61, 53, 5, true);
    const int threads = ctx->threads;
    scoped_csr first = {0};
    CHECK_OK(cmgi_classical(ctx, CMGI_HOST, &A.view, THETA, 4, &first));
    for (int t = 1; t <= 5; ++t) {
        scoped_csr P = {0};
        ctx->threads = t;
        CHECK_OK(cmgi_classical(ctx, CMGI_HOST, &A.view, THETA, 4, &P));
        CHECK(same_csr(&P.view, &first.view));
    }
    ctx->threads = threads;
}

/* Nothing to follow: rows without couplings, or too weak, in one piece or several. */
TEST(odd_matrices_are_survived)
{
    for (int kind = 0; kind < ODD_KINDS; ++kind) {
        for (int n = 1; n < 70; n += 1 + n / 4) {
            scoped_csr A = odd_matrix(kind, n, 7);
            scoped_csr P = {0};
            cmgi_suits suits;
            CHECK_OK(cmgi_classical(ctx, CMGI_HOST, &A.view, THETA, 4, &P));
            CHECK(P.indptr == NULL || (P.rows == n && P.cols > 0 && P.cols < n));
            CHECK_OK(cmgi_look_for_levels(ctx, &A.view, NULL, THETA, &suits));
        }
    }
}

static cmg_report solve_by(cmgi_csr *A, const char *method, int *levels)
{
    scoped_hierarchy *h = alone(A);
    const cmg_solver_options solver = chebyshev();
    *levels = coarsen(h, "method=%s", method);
    const cmg_report report = solve(h, &solver);
    CHECK(cmg_outcome_converged(report.outcome));
    return report;
}

static cmgi_csr by_four_decades(int nx, int ny, int nz)
{
    const int n[3] = {nx, ny, nz};
    return jumping(n, 4, 0.01, 0);
}

/* Symmetric couplings that jump by up to 1e4 from cell to cell: half the iterations, and the choice
 * is made by itself; on an even grid, and in space, it is not. */
TEST(jumps_take_half_the_iterations)
{
    int levels = 0;
    cmgi_csr A = by_four_decades(90, 80, 1);
    const cmg_report aggregated = solve_by(&A, "aggregation", &levels);
    A = by_four_decades(90, 80, 1);
    const cmg_report classical = solve_by(&A, "classical", &levels);
    A = by_four_decades(90, 80, 1);
    const cmg_report chosen = solve_by(&A, "auto", &levels);
    CHECK(levels >= 2);
    CHECK(3 * classical.iterations <= 2 * aggregated.iterations);
    CHECK(chosen.iterations == classical.iterations);
}

/* In space, and in an order that hides the lattice: on a GPU as on a CPU. */
TEST(jumps_in_space_are_seen)
{
    for (int wide = 0; wide < 2; ++wide) {
        const grid space = {{12, 11, 10}, {1, 1, 1}, false};
        scoped_csr A = wide ? by_four_decades(12, 11, 10) : grid_matrix(&space);
        cmgi_suits suits = {0};
        CHECK_OK(cmgi_look_for_levels(ctx, &A.view, NULL, THETA, &suits));
        CHECK(suits.classical == (wide == 1) && !suits.plane);
        for (cmg_size k = 0; k < A.indptr[A.rows]; ++k) { /* one sign no more */
            A.values[k] = fabs(A.values[k]);
        }
        CHECK_OK(cmgi_look_for_levels(ctx, &A.view, NULL, THETA, &suits));
        CHECK(!suits.classical || !cmgi_on_cuda(ctx));
    }
}

/* Couplings that are 0 but for rounding, as of trilinear elements along the axes. */
TEST(rounding_is_no_jump)
{
    static const double factor[] = {1e-4, 1e-16};
    for (int t = 0; t < 2; ++t) {
        const grid space = {{12, 11, 10}, {1, 1, 1}, false};
        scoped_csr A = grid_matrix(&space);
        cmgi_suits suits = {0};
        EACH_ENTRY (&A, i, k) {
            A.values[k] *= A.indices[k] != i && (A.indices[k] + i) % 3 == 0 ? factor[t] : 1;
        }
        CHECK_OK(cmgi_look_for_levels(ctx, &A.view, NULL, THETA, &suits));
        CHECK(suits.classical == (t == 0));
    }
}

TEST(choice_follows_the_couplings)
{
    const grid even = {{40, 30, 1}, {1, 1, 0}, false};
    const grid lines = {{40, 30, 1}, {1, 0.01, 0}, false};
    const grid space = {{12, 11, 10}, {1, 1, 1}, false};
    enum { CASES = 7 }; /* 32: 256 rows on are the same place of a plane of the grid */
    cmgi_csr A[CASES] = {by_four_decades(40, 30, 1),  grid_matrix(&lines),
                         grid_matrix(&even),          by_four_decades(12, 11, 10),
                         by_four_decades(32, 32, 32), by_four_decades(40, 30, 1),
                         grid_matrix(&space)};
    for (cmg_size k = 0; k < A[5].indptr[A[5].rows]; k += 2) {
        A[5].values[k] *= 1.5;
    }
    for (int t = 0; t < CASES; ++t) {
        cmgi_suits suits = {.classical = true};
        CHECK_OK(cmgi_look_for_levels(ctx, &A[t].view, NULL, THETA, &suits));
        CHECK(suits.classical == (t < 5) && suits.plane == (t < 3 || t == 5) && !suits.flow);
        CHECK(suits.weak == (t < (cmgi_on_cuda(ctx) ? 3 : 5) && t != 2));
        cmgi_csr_free(ctx, &A[t]);
    }
}
