/*
 * Coarse levels that the library makes by smoothed aggregation, against their definitions, for any
 * number of threads, over sizes.
 */
#include "grids.h"
#include "transfer/aggregate.h"
#include "transfer/energy.h"
#include "transfer/galerkin.h"

/* Every node with a neighbour is in one aggregate, which is connected and within two steps. */
TEST(aggregates_are_a_partition)
{
    const grid grids[] = {{{17, 13, 1}, {1, 1, 0}, false},
                          {{9, 8, 7}, {1, 1, 1}, false},
                          {{40, 20, 1}, {1, 0.001, 0}, false},
                          {{300, 1, 1}, {1, 0, 0}, true}};
    for (size_t t = 0; t < sizeof grids / sizeof grids[0]; ++t) {
        scoped_csr A = grid_matrix(&grids[t]);
        scoped_csr S = {0};
        cmgi_aggregates agg = {0};
        CHECK_OK(cmgi_strength(ctx, CMGI_HOST, &A.view, &(cmgi_strong){1, 0.25, false}, &S));
        CHECK_OK(cmgi_aggregate(ctx, CMGI_HOST, &S.view, &agg));
        scoped cmg_size *members = calloc((size_t)agg.count, sizeof *members);
        bool sound = true;
        for (cmg_size i = 0; i < agg.nodes; ++i) {
            sound = sound && agg.of[i] >= 0 && agg.of[i] < agg.count;
            bool friend = false;
            for (cmg_size k = S.indptr[i]; sound && k < S.indptr[i + 1]; ++k) {
                friend = friend || agg.of[S.indices[k]] == agg.of[i];
            }
            members[sound ? agg.of[i] : 0] += 1;
            sound = sound && friend;
        }
        CHECK(sound);
        for (cmg_size a = 0; a < agg.count; ++a) {
            sound = sound && members[a] >= 2;
        }
        CHECK(sound);
        CHECK(agg.count * 2 <= agg.nodes);
        if (t == 2) { /* weak couplings are left out: aggregates lie along x */
            for (cmg_size i = 0; i + 40 < agg.nodes; ++i) {
                sound = sound && agg.of[i] != agg.of[i + 40];
            }
            CHECK(sound);
        }
        cmgi_aggregates_free(ctx, &agg);
    }
}

/* P_0 B_c = B where there are aggregates, P_0^T P_0 = I. */
TEST(tentative_holds_the_vectors)
{
    const grid g = {{12, 11, 1}, {1, 1, 0}, false};
    scoped_csr A = grid_matrix(&g);
    enum { VECTORS = 3 };
    scoped_csr S = {0};
    scoped_csr P = {0};
    cmgi_aggregates agg = {0};
    double *Bc = NULL;
    scoped double *B = malloc((size_t)A.rows * VECTORS * sizeof *B);
    for (cmg_size i = 0; i < A.rows; ++i) {
        B[i * VECTORS] = 1;
        B[i * VECTORS + 1] = (double)(i % 12);
        B[i * VECTORS + 2] = (double)(i / 12) * 0.1 + 3;
    }
    CHECK_OK(cmgi_strength(ctx, CMGI_HOST, &A.view, &(cmgi_strong){1, 0.25, false}, &S));
    CHECK_OK(cmgi_aggregate(ctx, CMGI_HOST, &S.view, &agg));
    CHECK_OK(cmgi_tentative(ctx, &agg, 1, VECTORS, B, &P, &Bc));
    CHECK(P.rows == A.rows && P.cols == agg.count * VECTORS);
    double worst = 0;
    EACH_PAIR (i, P.rows, v, VECTORS) {
        double sum = -B[i * VECTORS + v];
        for (cmg_size k = P.indptr[i]; k < P.indptr[i + 1]; ++k) {
            sum += P.values[k] * Bc[(cmg_size)P.indices[k] * VECTORS + v];
        }
        worst = worst_of(worst, fabs(sum));
    }
    CHECK_NEAR(worst, 0, 1e-12);
    scoped_csr T = {0};
    scoped_csr I = {0};
    CHECK_OK(cmgi_csr_transpose(ctx, &P.view, &T));
    CHECK_OK(cmgi_csr_multiply(ctx, &T.view, &P.view, &I));
    worst = 0;
    EACH_ENTRY (&I, i, k) {
        const bool null = I.indices[k] == i && I.values[k] == 0; /* a dependent vector */
        worst = worst_of(worst, null ? 0 : fabs(I.values[k] - (I.indices[k] == i)));
    }
    CHECK_NEAR(worst, 0, 1e-12);
    cmgi_aggregates_free(ctx, &agg);
    cmgi_free(ctx, Bc);
}

/* A B = 0 in the interior, so that smoothing P keeps P B_c = B there. */
TEST(smoothing_keeps_constants_in_the_interior)
{
    const grid g = {{30, 30, 1}, {1, 1, 0}, true};
    cmgi_csr A = grid_matrix(&g);
    scoped_hierarchy *h = alone(&A);
    const int levels = coarsen(h, "levels=1 method=aggregation");
    CHECK(levels == 1 && cmg_hierarchy_levels(h) == 2);
    cmg_size n = 0;
    const cmg_csr P = csr_of(h, 0, CMG_ROLE_P);
    const double *Bc = vector_in(h, 1, "nullspace", NULL, &n);
    CHECK(n == P.cols);
    double worst = 0;
    for (cmg_size i = 0; i < P.rows; ++i) {
        worst = worst_of(worst, fabs(row_times(&P, i, Bc) - 1));
    }
    CHECK_NEAR(worst, 0, 1e-12);
    cmg_level_info info = {.size = sizeof info};
    CHECK_OK(cmg_hierarchy_level_info(h, 1, false, &info));
    CHECK(info.asymmetry < 1e-13);
    CHECK_OK(cmg_hierarchy_level_info(h, 0, true, &info));
    CHECK(info.galerkin_defect < 1e-13);
}

TEST(iterations_are_bounded_over_sizes)
{
    const grid grids[] = {{{40, 40, 1}, {1, 1, 0}, false},   {{80, 80, 1}, {1, 1, 0}, false},
                          {{160, 160, 1}, {1, 1, 0}, false}, {{12, 12, 12}, {1, 1, 1}, false},
                          {{30, 30, 30}, {1, 1, 1}, false},  {{90, 90, 1}, {1, 0.001, 0}, false}};
    for (size_t t = 0; t < sizeof grids / sizeof grids[0]; ++t) {
        cmgi_csr A = grid_matrix(&grids[t]);
        scoped_hierarchy *h = alone(&A);
        const cmg_solver_options o = chebyshev();
        const cmg_report report = solve(h, &o);
        CHECK(report.outcome == CMG_CONVERGED_RTOL);
        CHECK(report.iterations <= 12);
        CHECK(cmg_hierarchy_levels(h) == 1); /* the caller's stays as it is */
    }
}

TEST(notes_say_what_was_done)
{
    const grid g = {{50, 50, 1}, {1, 1, 0}, false};
    cmgi_csr A = grid_matrix(&g);
    scoped_hierarchy *h = alone(&A);
    cmg_solver_options o = chebyshev();
    for (int off = 0; off < 2; ++off) {
        o.coarsen = off == 0;
        scoped_solver *s = solver_new(h, &o);
        CHECK(has_note(s, "every second point") == (off == 0));
    }
}

static void check_threads(const char *method)
{
    const grid g = {{70, 60, 1}, {1, 0.3, 0}, false};
    static const int threads[] = {1, 2, 5};
    cmg_hierarchy *h[3] = {NULL};
    const int before = ctx->threads;
    for (int t = 0; t < 3; ++t) {
        cmgi_csr A = grid_matrix(&g);
        h[t] = alone(&A);
        ctx->threads = threads[t];
        (void)coarsen(h[t], "method=%s", method);
        ctx->threads = before;
    }
    check_same_levels(h[0], h[1]);
    check_same_levels(h[0], h[2]);
    hierarchies_destroy(&h[0], &h[1], &h[2]);
}

/* The same bits of P and A on every level for 1, 2 and 5 threads. */
TEST(threads_do_not_matter)
{
    check_threads("aggregation");
    check_threads("classical");
    check_threads("lattice");
}

/* The independent set, too. */
TEST(independent_sets_repeat)
{
    const grid g = {{90, 60, 1}, {1, 1, 0}, false};
    scoped_csr A = grid_matrix(&g);
    const int before = ctx->threads;
    scoped_csr S = {0};
    cmgi_aggregates agg[2] = {{0}};
    CHECK_OK(cmgi_strength(ctx, CMGI_HOST, &A.view, &(cmgi_strong){1, 0.25, false}, &S));
    for (int t = 0; t < 2; ++t) {
        ctx->threads = t == 0 ? 1 : 4;
        CHECK_OK(cmgi_aggregate(ctx, CMGI_HOST, &S.view, &agg[t]));
        ctx->threads = before;
    }
    CHECK(agg[0].count == agg[1].count);
    CHECK(memcmp(agg[0].of, agg[1].of, (size_t)agg[0].nodes * sizeof *agg[0].of) == 0);
    cmgi_aggregates_free(ctx, &agg[0]);
    cmgi_aggregates_free(ctx, &agg[1]);
}

/* Matrices that leave nothing to aggregate, or little: no crash, no empty level, a finite answer.
 */
TEST(odd_matrices_are_survived)
{
    for (int kind = 0; kind < ODD_KINDS; ++kind) {
        cmgi_csr A = odd_matrix(kind, 400, 100);
        scoped_hierarchy *h = alone(&A);
        const int levels = coarsen(h, "rows=20");
        CHECK(kind > 1 || levels == 0);
        CHECK(kind != 2 || levels > 0);
        CHECK_OK(cmg_hierarchy_check(h));
        for (int l = 1; l < cmg_hierarchy_levels(h); ++l) {
            CHECK(cmg_hierarchy_rows(h, l) > 0);
            CHECK(cmg_hierarchy_rows(h, l) < cmg_hierarchy_rows(h, l - 1));
        }
    }
    cmgi_csr one = csr_diagonal(1, 3);
    int levels = -1;
    scoped_hierarchy *h = alone(&one);
    CHECK_OK(cmg_hierarchy_coarsen(h, NULL, &levels));
    CHECK(levels == 0);
    cmg_coarsen_options wrong = coarsen_options("rows=20");
    wrong.strength = 2;
    CHECK_STATUS(cmg_hierarchy_coarsen(h, &wrong, NULL), CMG_ERR_ARG);
    CHECK_STATUS(cmg_hierarchy_galerkin(h, 1), CMG_ERR_ARG);
    CHECK_STATUS(cmg_hierarchy_galerkin(NULL, 0), CMG_ERR_ARG);
}
