/* Black box multigrid: lattices that are found or not, P by what it is for, and levels made on a
 * miniature against those of the large matrix. */
#include "transfer/blackbox.h"

#include "core/backend.h"
#include "spmv/box.h"
#include "transfer/coarsen.h"
#include "transfer/galerkin.h"
#include "transfer/miniature.h"

#include "grids.h"
#include "kinds.h"

/* A x (K of `dim` axes of n) with mass and stiffness of linear elements: couplings of 9 or 27. */
static cmgi_csr elements_matrix(const int n[3])
{
    const cmg_size rows = (cmg_size)n[0] * n[1] * n[2];
    cmgi_csr A = csr_new(rows, rows, 27 * rows);
    for (cmg_size i = 0; i < rows; ++i) {
        const int at[3] = {(int)(i % n[0]), (int)(i / n[0] % n[1]), (int)(i / n[0] / n[1])};
        for (int m = 0; m < 27; ++m) {
            const int e[3] = {m % 3 - 1, m / 3 % 3 - 1, m / 9 - 1};
            double value = 0;
            bool inside = true;
            for (int d = 0; d < 3; ++d) {
                double product = n[d] == 1 ? 0 : e[d] == 0 ? 2 : -1;
                inside = inside && at[d] + e[d] >= 0 && at[d] + e[d] < n[d];
                for (int f = 0; f < 3; ++f) {
                    product *= f == d || n[f] == 1 ? 1 : e[f] == 0 ? 2. / 3 : 1. / 6;
                }
                value += product;
            }
            if (inside) {
                csr_put(&A, i, i + e[0] + (cmg_size)n[0] * (e[1] + (cmg_size)n[1] * e[2]), value);
            }
        }
    }
    csr_end(&A);
    return A;
}

static cmgi_points found(const cmgi_csr *A)
{
    cmgi_points p;
    CHECK_OK(cmgi_points_find(ctx, &A->view, NULL, &p));
    if (p.dim > 0) {
        CHECK_OK(cmgi_points_confirm(ctx, CMGI_HOST, &A->view, &p));
    }
    return p;
}

static bool is_of(const cmgi_points *p, const int n[3])
{
    return p->dim == (n[2] > 1 ? 3 : 2) && p->n[0] == n[0] && p->n[1] == n[1] && p->n[2] == n[2];
}

static const int SIZES[][3] = {{3, 3, 1},   {4, 3, 1},    {5, 9, 1},   {8, 8, 1},   {31, 33, 1},
                               {64, 7, 1},  {3, 3, 3},    {4, 5, 6},   {9, 8, 7},   {3, 17, 4},
                               {16, 3, 5},  {12, 12, 12}, {40, 21, 1}, {23, 50, 1}, {20, 19, 22},
                               {24, 5, 21}, {26, 25, 6}};
enum { SIZE_COUNT = sizeof SIZES / sizeof SIZES[0] };

TEST(lattices_are_found)
{
    for (int t = 0; t < SIZE_COUNT; ++t) {
        const int *n = SIZES[t];
        const grid g = {{n[0], n[1], n[2]}, {1, 0.3, 2}, t % 2 == 0};
        scoped_csr plain = grid_matrix(&g);
        scoped_csr full = elements_matrix(n);
        const cmgi_points p = found(&plain);
        const cmgi_points q = found(&full);
        CHECK(is_of(&p, n));
        CHECK(is_of(&q, n));
    }
}

/* One coupling across the edge of the grid, far away, or in another numbering. */
TEST(other_matrices_are_not)
{
    const int n[3] = {9, 8, 7};
    const grid g = {{9, 8, 7}, {1, 1, 1}, false};
    for (int t = 0; t < 4; ++t) {
        scoped_csr A = grid_matrix(&g);
        for (cmg_size k = A.indptr[242]; k < A.indptr[243]; ++k) { /* 242 = 8 + 9 * 2 + 72 * 3 */
            if (A.indices[k] == 242 - 1) {
                A.indices[k] = t == 1 ? 243 : t == 2 ? 300 : t == 3 ? 242 - 18 : A.indices[k];
            }
        }
        const cmgi_points p = found(&A);
        CHECK(t == 0 ? is_of(&p, n) : p.dim == 0);
    }
    scoped_csr A = grid_matrix(&g);
    scoped_csr B = {0};
    cmg_index perm[9 * 8 * 7];
    random_order(perm, 9 * 8 * 7, 3);
    CHECK_OK(cmgi_csr_permute(ctx, &A.view, perm, NULL, false, &B));
    const cmgi_points p = found(&B);
    CHECK(p.dim == 0);
    for (int kind = 0; kind < ODD_KINDS; ++kind) {
        for (int rows = 1; rows < 40; rows += 3) {
            scoped_csr odd = odd_matrix(kind, rows, 7);
            const cmgi_points none = found(&odd);
            CHECK(none.dim == 0);
        }
    }
}

static void interpolate_by(const cmgi_csr *A, cmgi_csr *P, cmgi_halving *by)
{
    const cmgi_points p = found(A);
    CHECK(p.dim > 0);
    CHECK_OK(cmgi_blackbox(ctx, CMGI_HOST, &A->view, NULL, &p, P, by));
}

/* Coordinates of a row. */
static void place(const cmgi_points *p, cmg_size i, int at[3])
{
    at[0] = (int)(i % p->n[0]);
    at[1] = (int)(i / p->n[0] % p->n[1]);
    at[2] = (int)(i / p->n[0] / p->n[1]);
}

/* The weight in one direction of a coarse point for a fine one, linear between; beyond the last one
 * it stays where nothing is held outside. */
static double linear(const cmgi_halving *by, int d, int fine, int coarse, bool held)
{
    if (!by->halved[d]) {
        return fine == coarse;
    }
    const int at = by->first[d] + 2 * coarse;
    const int last = by->first[d] + 2 * (by->coarse.n[d] - 1);
    const bool beyond = fine < by->first[d] || fine > last;
    const double near = beyond && !held ? 1 : 0.5;
    return fine == at ? 1 : abs(fine - at) == 1 ? near : 0;
}

TEST(constant_coefficients_are_interpolated_linearly)
{
    int halved = 0;
    for (int t = 0; t < 3 * SIZE_COUNT; ++t) {
        const int *n = SIZES[t / 3];
        const grid g = {{n[0], n[1], n[2]}, {1, 1, 1}, t % 3 == 1};
        scoped_csr A = t % 3 == 2 ? elements_matrix(n) : grid_matrix(&g);
        scoped_csr P = {0};
        cmgi_halving by;
        double worst = 0;
        interpolate_by(&A, &P, &by);
        if (P.indptr == NULL) {
            continue;
        }
        ++halved;
        CHECK_OK(cmgi_csr_check(ctx, "P", &P.view));
        scoped double *row = malloc((size_t)P.cols * sizeof *row);
        for (cmg_size i = 0; i < P.rows; ++i) {
            int at[3];
            place(&by.fine, i, at);
            memset(row, 0, (size_t)P.cols * sizeof *row);
            for (cmg_size k = P.indptr[i]; k < P.indptr[i + 1]; ++k) {
                row[P.indices[k]] = P.values[k];
            }
            for (cmg_size c = 0; c < P.cols; ++c) {
                int of[3];
                place(&by.coarse, c, of);
                double w = 1;
                for (int d = 0; d < 3; ++d) {
                    w *= linear(&by, d, at[d], of[d], !g.neumann);
                }
                worst = worst_of(worst, fabs(row[c] - w));
            }
        }
        CHECK_NEAR(worst, 0, g.neumann ? 1e-14 : 0);
    }
    CHECK(halved > SIZE_COUNT);
}

/* All rows of every level are one inner row, cut off at the rim, as those of the finest are. */
TEST(levels_of_a_box_are_boxes)
{
    static const int n[][3] = {{31, 63, 1}, {15, 15, 15}, {31, 7, 15}, {63, 31, 15}};
    int levels = 0;
    for (int t = 0; t < 8; ++t) {
        const int *m = n[t / 2];
        const grid g = {{m[0], m[1], m[2]}, {1, 0.9, 0.8}, false};
        cmgi_csr A = t % 2 == 0 ? elements_matrix(m) : grid_matrix(&g);
        while (A.rows >= 49) {
            scoped_csr fine = A;
            scoped_csr P = {0};
            cmgi_halving by;
            cmgi_box box;
            bool is_box = false;
            A = (cmgi_csr){0};
            interpolate_by(&fine, &P, &by);
            CHECK_OK(cmgi_galerkin(ctx, NULL, &fine.view, &P.view, true, &A));
            CHECK_OK(cmgi_box_of_csr(ctx, &A.view, NULL, CMG_FP64, &box, &is_box));
            CHECK(is_box && box.even);
            ++levels;
        }
        cmgi_csr_free(ctx, &A);
    }
    CHECK(levels >= 16);
}

/*
 * Coefficients k(x) that jump at random: fluxes between points are k at the middle between them, so
 * that -(k u')' = 0 gives the weights k_left / (k_left + k_right), in the rows between too.
 */
TEST(fluxes_are_continuous)
{
    enum { NX = 21, NY = 13 };
    const grid g = {{NX, NY, 1}, {1, 1, 0}, true};
    scoped_csr A = grid_matrix(&g);
    scoped_csr P = {0};
    cmgi_halving by;
    double k[NX];
    uint64_t seed = 11;
    for (int x = 0; x < NX; ++x) {
        k[x] = pow(10, cmgi_random(&seed)); /* between x and x + 1 */
    }
    for (cmg_size i = 0; i < A.rows; ++i) {
        const int x = (int)(i % NX);
        double sum = 0;
        cmg_size own = 0;
        for (cmg_size e = A.indptr[i]; e < A.indptr[i + 1]; ++e) {
            const cmg_size j = A.indices[e];
            own = j == i ? e : own;
            A.values[e] = j == i - 1 ? -k[x - 1] : j == i + 1 ? -k[x] : -3;
            sum += j == i ? 0 : A.values[e];
        }
        A.values[own] = -sum;
    }
    interpolate_by(&A, &P, &by);
    CHECK(by.halved[0] && by.halved[1] && by.first[0] == 0 && by.first[1] == 0);
    double worst = 0;
    for (cmg_size i = 0; i < P.rows; ++i) {
        const int x = (int)(i % NX);
        const int y = (int)(i / NX);
        for (cmg_size e = P.indptr[i]; e < P.indptr[i + 1]; ++e) {
            const int at = 2 * (int)(P.indices[e] % by.coarse.n[0]);
            const double w = at == x  ? 1
                             : at < x ? k[x - 1] / (k[x - 1] + k[x])
                                      : k[x] / (k[x - 1] + k[x]);
            worst = worst_of(worst, fabs(P.values[e] - w * (y % 2 == 0 ? 1 : 0.5)));
        }
    }
    CHECK_NEAR(worst, 0, 1e-14);
}

/* Row sums of A are 0: P keeps constants, and solves the equation of each middle of a coarse cell.
 */
TEST(middles_of_cells_solve_their_equation)
{
    static const int n[][3] = {{13, 11, 1}, {17, 16, 1}, {9, 8, 7}, {7, 11, 9}};
    for (int t = 0; t < 4; ++t) {
        scoped_csr A = jumping(n[t], 1, 0, 5);
        scoped_csr P = {0};
        scoped_csr AP = {0};
        cmgi_halving by;
        double worst = 0;
        double constant = 0;
        int middles = 0;
        interpolate_by(&A, &P, &by);
        CHECK_OK(cmgi_csr_multiply(ctx, &A.view, &P.view, &AP));
        for (cmg_size i = 0; i < P.rows; ++i) {
            int at[3];
            bool middle = true;
            place(&by.fine, i, at);
            for (int d = 0; d < by.fine.dim; ++d) {
                middle = middle && by.halved[d] && (at[d] - by.first[d]) % 2 != 0;
            }
            constant = worst_of(constant, fabs(row_sum(&P.view, i) - 1));
            for (cmg_size k = AP.indptr[i]; k < AP.indptr[i + 1] && middle; ++k) {
                worst = worst_of(worst, fabs(AP.values[k]));
            }
            middles += middle;
        }
        CHECK(middles > 20);
        CHECK_NEAR(worst, 0, 1e-12);
        CHECK_NEAR(constant, 0, 1e-13);
    }
}

/* Directions that hardly couple keep all their points. */
TEST(weak_directions_are_kept)
{
    const grid grids[] = {{{30, 20, 1}, {1, 0.01, 0}, false},
                          {{30, 20, 1}, {0.01, 1, 0}, true},
                          {{12, 11, 10}, {1, 1, 0.01}, false},
                          {{12, 11, 10}, {0.01, 0.01, 1}, true}};
    const bool halved[][3] = {
        {true, false, false}, {false, true, false}, {true, true, false}, {false, false, true}};
    for (int t = 0; t < 4; ++t) {
        scoped_csr A = grid_matrix(&grids[t]);
        scoped_csr P = {0};
        cmgi_halving by;
        interpolate_by(&A, &P, &by);
        for (int d = 0; d < 3; ++d) {
            CHECK(by.halved[d] == halved[t][d]);
            CHECK(by.coarse.n[d] == (halved[t][d] ? (grids[t].n[d] + (grids[t].neumann ? 1 : 0)) / 2
                                                  : grids[t].n[d]));
        }
    }
}

static bool same_points(const cmgi_points *p, const cmgi_points *q)
{
    bool same = p->dim == q->dim;
    for (int d = 0; d < 3; ++d) {
        same = same && p->n[d] == q->n[d] && p->step[d] == q->step[d];
    }
    return same;
}

/* Every member: padding between them is of any value. */
static bool same_halving(const cmgi_halving *p, const cmgi_halving *q)
{
    bool same = same_points(&p->fine, &q->fine) && same_points(&p->coarse, &q->coarse);
    for (int d = 0; d < 3; ++d) {
        same = same && p->halved[d] == q->halved[d] && p->first[d] == q->first[d];
    }
    return same;
}

/* Levels of the large matrix, with the bits of those that its miniature gives. */
static int compare_with_miniature(const cmgi_csr *A)
{
    cmgi_points points = found(A);
    cmgi_miniature mini;
    cmgi_csr last = {0};
    int levels = 0;
    CHECK_OK(cmgi_miniature_find(ctx, CMGI_HOST, &A->view, NULL, &points, &mini));
    while (cmgi_csr_given(&mini.A)) {
        scoped_csr P = {0};
        scoped_csr Q = {0};
        scoped_csr coarse = {0};
        cmgi_csr copied = {0};
        cmgi_halving by;
        cmgi_halving also;
        const cmg_csr fine = levels == 0 ? A->view : last.view;
        CHECK_OK(cmgi_blackbox(ctx, CMGI_HOST, &fine, NULL, &points, &P, &by));
        CHECK_OK(cmgi_galerkin(ctx, NULL, &fine, &P.view, true, &coarse));
        CHECK_OK(cmgi_miniature_level(ctx, CMGI_HOST, &points, &mini, &Q, &copied, &also));
        CHECK(same_halving(&by, &also));
        CHECK(same_csr(&P.view, &Q.view));
        CHECK(same_csr(&coarse.view, &copied.view));
        cmgi_csr_free(ctx, &last);
        last = copied;
        points = also.coarse;
        ++levels;
    }
    cmgi_csr_free(ctx, &last);
    return levels;
}

TEST(miniatures_have_the_bits_of_the_large)
{
    static const int n[][3] = {{16, 20, 1},  {17, 40, 1},  {60, 61, 1}, {85, 22, 1}, {200, 3, 1},
                               {20, 21, 22}, {45, 30, 19}, {23, 5, 26}, {7, 41, 8}};
    for (int t = 0; t < 9; ++t) {
        const grid g[] = {{{n[t][0], n[t][1], n[t][2]}, {1, 1, 1}, false},
                          {{n[t][0], n[t][1], n[t][2]}, {1, 0.9, 0.7}, true},
                          {{n[t][0], n[t][1], n[t][2]}, {1, 0.02, 1}, false}};
        for (int k = 0; k < 3; ++k) {
            scoped_csr A = grid_matrix(&g[k]);
            CHECK(compare_with_miniature(&A) >= 1);
        }
        scoped_csr A = elements_matrix(n[t]);
        CHECK(compare_with_miniature(&A) >= 1);
    }
}

/* One row that is another than its like, in the middle, near the rim, or at an edge. */
TEST(one_other_row_is_no_miniature)
{
    static const int at[][2] = {{20, 15}, {0, 15}, {39, 29}, {3, 3}, {36, 12}, {20, 28}};
    const grid g = {{40, 30, 1}, {1, 1, 0}, false};
    for (int t = -1; t < 6; ++t) {
        scoped_csr A = grid_matrix(&g);
        cmgi_miniature mini;
        const cmg_size row = t < 0 ? 0 : at[t][0] + 40 * at[t][1];
        A.values[A.indptr[row]] *= t < 0 ? 1 : 1 + 1e-15;
        const cmgi_points points = found(&A);
        CHECK(points.dim == 2);
        CHECK_OK(cmgi_miniature_find(ctx, CMGI_HOST, &A.view, NULL, &points, &mini));
        /* the one in the corner has a row of its own */
        CHECK(cmgi_csr_given(&mini.A) == (t < 0 || t == 2));
        cmgi_miniature_clear(ctx, &mini);
    }
}

static bool suits(const cmgi_csr *A)
{
    bool suit = false;
    const cmgi_points p = found(A);
    CHECK(p.dim > 0);
    CHECK_OK(cmgi_points_suit(ctx, &A->view, NULL, &p, &suit));
    return suit;
}

TEST(choice_follows_the_couplings)
{
    static const int n[3] = {40, 30, 1};
    const grid even = {{40, 30, 1}, {1, 1, 0}, false};
    scoped_csr A = grid_matrix(&even);
    scoped_csr smooth = jumping(n, 0.5, 0.01, 7);
    scoped_csr wild = jumping(n, 4, 0.01, 7);
    CHECK(suits(&A) && suits(&smooth) && !suits(&wild));
    scoped_csr rotated = elements_matrix(n); /* couplings along one diagonal alone */
    EACH_ENTRY (&rotated, i, k) {
        const cmg_size o = rotated.indices[k] - i;
        rotated.values[k] = o == 0                ? 4.2
                            : o == 41 || o == -41 ? -2
                            : o == 39 || o == -39 ? 0
                                                  : -0.05;
    }
    CHECK(!suits(&rotated));
    for (int t = 0; t < 2; ++t) { /* pairs differ by about 0.25 and 0.4 of their sizes */
        for (cmg_size k = 0; k < A.indptr[A.rows]; k += 2) {
            A.values[k] *= 3;
        }
        CHECK(suits(&A) == (t == 0));
    }
}

/* The lattice is taken by itself, is said, and takes as few iterations on every size. */
TEST(iterations_are_bounded_over_sizes)
{
    static const struct {
        grid g;
        int most;
    } cases[] = {
        {{{40, 40, 1}, {1, 1, 0}, false}, 8},     {{{161, 90, 1}, {1, 1, 0}, false}, 8},
        {{{12, 12, 12}, {1, 1, 1}, false}, 7},    {{{30, 31, 32}, {1, 1, 1}, false}, 7},
        {{{90, 90, 1}, {1, 0.001, 0}, false}, 8}, {{{24, 24, 24}, {1, 0.1, 0.01}, false}, 8},
        {{{171, 171, 1}, {1, 1, 0}, false}, 8},   {{{43, 43, 43}, {1, 1, 1}, false}, 7}};
    for (size_t t = 0; t < sizeof cases / sizeof cases[0]; ++t) {
        cmgi_csr A = grid_matrix(&cases[t].g);
        scoped_hierarchy *h = alone(&A);
        const cmg_solver_options o = solver_options("smoother=auto");
        const cmg_report report = solve(h, &o);
        CHECK(report.outcome == CMG_CONVERGED_RTOL && report.iterations <= cases[t].most);
        CHECK(report.fallbacks == 0); /* bounds of a level are not those of another stencil */
    }
}

TEST(what_is_no_lattice_is_refused_by_name)
{
    const cmg_coarsen_options o = coarsen_options("method=lattice");
    cmgi_csr A = odd_matrix(2, 700, 100);
    scoped_hierarchy *chain = alone(&A);
    CHECK_STATUS(cmg_hierarchy_coarsen(chain, &o, NULL), CMG_ERR_ARG);
    A = elements_matrix((const int[]){17, 2, 9}); /* steps of 17 x 3 x 6, some across its edges */
    scoped_hierarchy *plate = alone(&A);
    CHECK_STATUS(cmg_hierarchy_coarsen(plate, &o, NULL), CMG_ERR_ARG);
}

/* New values, all of them others: the levels follow, and the solve is as one that begins. */
TEST(new_values_are_followed)
{
    static const int n[3] = {33, 30, 1};
    for (int t = 0; t < 2; ++t) {
        cmgi_csr first = jumping(n, t == 0 ? 0 : 0.5, 0.01, 3); /* 0: all alike */
        scoped_csr second = jumping(n, t == 0 ? 0.5 : 0, 0.01, 9);
        CHECK(first.rows == second.rows && first.indptr[first.rows] == second.indptr[second.rows]);
        scoped_hierarchy *h = alone(&first);
        cmg_solver_options o = chebyshev();
        o.matrix.keep_map = true;
        scoped_solver *s = solver_new(h, &o);
        scoped double *values = random_values(second.rows, 5);
        scoped_vector *b = vector_from(second.rows, CMG_FP64, values);
        scoped_vector *x = vector_new(second.rows, CMG_FP64);
        cmg_report report = {.size = sizeof report};
        CHECK_OK(cmg_solver_solve_from_zero(s, b, x, &report));
        CHECK(report.outcome == CMG_CONVERGED_RTOL);
        CHECK_OK(cmg_hierarchy_update(h, 0, CMG_ROLE_A, second.values));
        CHECK_OK(cmg_solver_refresh(s));
        CHECK_OK(cmg_solver_solve_from_zero(s, b, x, &report));
        CHECK(report.outcome == CMG_CONVERGED_RTOL && report.iterations <= 12);
        scoped double *result = values_of(x);
        CHECK(relative_residual(&second.view, values, result) <= 1.0001e-8);
    }
}

/* Values near the ends of what there is, in all rows or one. */
TEST(levels_are_finite)
{
    const grid g = {{30, 28, 1}, {1, 1, 0}, false};
    const double values[] = {1e300, 1e-310, INFINITY, NAN};
    const cmg_coarsen_options o = coarsen_options("method=lattice");
    for (int t = 0; t < 8; ++t) {
        scoped_csr A = grid_matrix(&g);
        scoped_hierarchy *h = hierarchy_new(1);
        for (cmg_size k = 0; k < (t < 4 ? A.indptr[A.rows] : 5); ++k) {
            A.values[k] *= values[t % 4];
        }
        const cmg_status given = cmg_hierarchy_set_csr(h, 0, CMG_ROLE_A, NULL, 0, &A.view);
        int levels = 0;
        if (given != CMG_OK) { /* what is not finite is refused before */
            CHECK(t % 4 >= 2);
            continue;
        }
        const cmg_status made = cmg_hierarchy_coarsen(h, &o, &levels);
        CHECK(made == CMG_OK || made == CMG_ERR_ARG);
        for (int l = 0; l <= levels && made == CMG_OK; ++l) {
            const cmg_csr level = csr_of(h, l, CMG_ROLE_A);
            double sum = 0;
            for (cmg_size k = 0; k < level.indptr[level.rows]; ++k) {
                sum += level.values[k] * 0;
            }
            CHECK(sum == 0);
        }
    }
}

/* On a device: levels from arrays there have the bits of those from the host's. */
TEST(levels_are_those_of_the_host)
{
    static const int n[3] = {26, 23, 24};
    if (ctx->backend->alloc == NULL) {
        return;
    }
    for (int t = 0; t < 4; ++t) {
        const grid g = {{26, 23, 24}, {1, t == 1 ? 0.01 : 1, 1}, t == 1};
        scoped_csr A = t < 2    ? grid_matrix(&g)
                       : t == 2 ? jumping(n, 0.5, 0.01, 7)
                                : elements_matrix(n);
        cmgi_resident there = {0};
        CHECK_OK(cmgi_resident_send(ctx, &A.view, &there));
        cmg_hierarchy *h[2] = {hierarchy_alone(&A.view), hierarchy_new(1)};
        CHECK_OK(cmg_hierarchy_wrap_csr(h[1], 0, CMG_ROLE_A, NULL, 0, &there.csr));
        for (int k = 0; k < 2; ++k) {
            CHECK(coarsen(h[k], "method=lattice rows=30") >= 2);
        }
        for (int l = 0; l < cmg_hierarchy_levels(h[1]); ++l) {
            CHECK(cmgi_hierarchy_there(h[1], l, CMG_ROLE_A) != NULL);
        }
        check_same_levels(h[0], h[1]);
        hierarchies_destroy(&h[0], &h[1]);
        cmgi_resident_free(ctx, &there);
    }
}
