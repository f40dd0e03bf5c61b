/* Approximate ideal restriction against its definition, by plain loops, and what it does for flow.
 */
#include "transfer/air.h"
#include "transfer/classical.h"

#include "core/backend.h"
#include "csr/ideal.h"
#include "hierarchy/hierarchy.h"
#include "smoothers/smoother.h"

#include "grids.h"

static const double THETA = 0.35;

/* Upwind differences of wind (u, v) and diffusion on nx x ny points of the unit square. */
typedef struct flow {
    int nx;
    int ny;
    double diffusion;
    enum { ACROSS, CIRCLES } wind;
} flow;

static void wind_at(const flow *f, int ix, int iy, double w[2])
{
    const double x = 2.0 * (ix + 1) / (f->nx + 1) - 1;
    const double y = 2.0 * (iy + 1) / (f->ny + 1) - 1;
    w[0] = f->wind == CIRCLES ? 2 * y * (1 - x * x) : 0.8;
    w[1] = f->wind == CIRCLES ? -2 * x * (1 - y * y) : 0.6;
}

static cmgi_csr flow_matrix(const flow *f)
{
    const grid g = {{f->nx, f->ny, 1}, {1, 1, 0}, false};
    cmgi_csr A = grid_matrix(&g);
    for (cmg_size i = 0; i < A.rows; ++i) {
        double w[2];
        wind_at(f, (int)(i % f->nx), (int)(i / f->nx), w);
        const double d = f->diffusion * (f->nx + 1);
        for (cmg_size k = A.indptr[i]; k < A.indptr[i + 1]; ++k) {
            const cmg_size step = A.indices[k] - i;
            const double from = (step == -1 || step == 1 ? w[0] : w[1]) * (step < 0 ? 1 : -1);
            A.values[k] = step == 0 ? 4 * d + fabs(w[0]) + fabs(w[1]) : -d - fmax(from, 0);
        }
    }
    return A;
}

/* The largest |(R A)_(r, j)| at fine columns j of row r of R; row[r] is its coarse row. */
static double worst_at_fine(const cmgi_csr *A, const cmgi_csr *R, const cmg_index *row)
{
    scoped double *D = dense_of(&A->view);
    double worst = 0;
    EACH_ENTRY (R, r, e) {
        double sum = 0;
        for (cmg_size k = R->indptr[r]; k < R->indptr[r + 1]; ++k) {
            sum += R->values[k] * D[R->indices[k] * A->rows + R->indices[e]];
        }
        worst = R->indices[e] == row[r] ? worst : fmax(worst, fabs(sum));
    }
    return worst;
}

/* Whether fine row j is within `distance` couplings of row c, each of a share of its row's largest
 * (D by rows). */
static bool is_near(const double *D, cmg_size n, const bool *coarse, cmg_size c, cmg_size j,
                    int distance)
{
    double most = 0;
    for (cmg_size k = 0; k < n; ++k) {
        most = k != c ? fmax(most, fabs(D[c * n + k])) : most;
    }
    bool near = false;
    for (cmg_size k = 0; k < n && !near; ++k) {
        const bool coupled =
            k != c && !coarse[k] && D[c * n + k] != 0 && fabs(D[c * n + k]) >= 0.1 * most;
        near = coupled && (k == j || (distance > 1 && is_near(D, n, coarse, k, j, 1)));
    }
    return near;
}

/* P and R have the identity on coarse rows, R reaches no further than asked, R A is 0 there. */
TEST(restriction_is_ideal_where_it_reaches)
{
    static const flow flows[] = {{14, 13, 0, ACROSS},    {13, 14, 1e-3, CIRCLES},
                                 {16, 12, 0.1, CIRCLES}, {60, 1, 0.01, ACROSS},
                                 {15, 11, 1e-2, ACROSS}, {9, 9, 10, ACROSS}};
    for (size_t t = 0; t < 2 * sizeof flows / sizeof flows[0]; ++t) {
        const cmg_coarsen_options o =
            coarsen_options("method=air distance=%d interpolation=5", 1 + (int)t % 2);
        scoped_csr A = flow_matrix(&flows[t / 2]);
        const cmg_size n = A.rows;
        scoped_csr P = {0};
        scoped_csr R = {0};
        bool all = false;
        bool near = true;
        CHECK_OK(cmgi_air(ctx, &A.view, THETA, &o, &P, &R));
        CHECK(R.cols == n && R.rows == P.cols && R.rows > 0 && R.rows < n);
        scoped cmg_index *row = malloc((size_t)R.rows * sizeof *row);
        scoped bool *coarse = calloc((size_t)n, sizeof *coarse);
        scoped double *D = dense_of(&A.view);
        CHECK_OK(cmgi_ideal_rows(ctx, &R.view, row, &all));
        CHECK(all && cmgi_ideal_holds(&A.view, &R.view, row));
        for (cmg_size r = 0; all && r < R.rows; ++r) {
            const cmg_size k = P.indptr[row[r]];
            CHECK(P.indptr[row[r] + 1] == k + 1 && P.indices[k] == r && P.values[k] == 1);
            CHECK(!coarse[row[r]]);
            coarse[row[r]] = true;
        }
        EACH_ENTRY (&R, r, k) {
            near = near && (R.indices[k] == row[r] ||
                            is_near(D, n, coarse, row[r], R.indices[k], o.distance));
        }
        CHECK(near);
        CHECK_NEAR(worst_at_fine(&A, &R, row), 0, 1e-12 * (A.values[0] + 1));
    }
}

/* x = A^-1 b */
static double *solve_dense(const cmg_csr *A, const double *b)
{
    scoped double *X = dense_inverse(A);
    double *x = malloc((size_t)A->rows * sizeof *x);
    FILL(x, i, A->rows, dot(X + i * A->rows, b, A->rows));
    return x;
}

/* Where fine rows do not meet, as along a line, R is ideal: coarse values are those of the
 * solution, whatever P is. */
TEST(coarse_values_are_exact_along_a_line)
{
    static const double diffusion[] = {0, 1e-3, 0.1};
    for (int t = 0; t < 3; ++t) {
        const flow f = {63, 1, diffusion[t], ACROSS};
        const cmg_coarsen_options o = coarsen_options(
            "method=air distance=2 interpolation=1 near=0"); /* weak couplings, too */
        scoped_csr A = flow_matrix(&f);
        scoped_csr P = {0};
        scoped_csr R = {0};
        scoped_csr AP = {0};
        scoped_csr Ac = {0};
        bool all = false;
        CHECK_OK(cmgi_air(ctx, &A.view, THETA, &o, &P, &R));
        CHECK_OK(cmgi_csr_multiply(ctx, &A.view, &P.view, &AP));
        CHECK_OK(cmgi_csr_multiply(ctx, &R.view, &AP.view, &Ac));
        scoped cmg_index *row = malloc((size_t)R.rows * sizeof *row);
        CHECK_OK(cmgi_ideal_rows(ctx, &R.view, row, &all));
        scoped double *b = random_values(A.rows, 7);
        scoped double *bc = csr_times(&R.view, b);
        scoped double *x = solve_dense(&A.view, b);
        scoped double *xc = solve_dense(&Ac.view, bc);
        CHECK_NEAR_EACH(r, R.rows, xc[r], x[row[r]], 1e-11 * (1 + norm(x, A.rows)));
    }
}

/* Sweeps of Jacobi over fine rows, fine rows and coarse rows by plain loops. */
static void relax(const cmg_csr *A, const bool *coarse, const double *b, double *x)
{
    scoped double *r = malloc((size_t)A->rows * sizeof *r);
    for (int sweep = 0; sweep < 3; ++sweep) {
        FILL(r, i, A->rows, b[i] - row_times(A, i, x));
        for (cmg_size i = 0; i < A->rows; ++i) {
            x[i] += coarse[i] == (sweep == 2) ? r[i] / cmgi_csr_diagonal_at(A, i) : 0;
        }
    }
}

static cmg_hierarchy *coarsened(cmgi_csr *A, const char *text)
{
    cmg_hierarchy *h = alone(A);
    const int levels = coarsen(h, "%s", text);
    CHECK(levels > 0 && levels == cmg_hierarchy_levels(h) - 1);
    return h;
}

TEST(smoother_sweeps_over_fine_then_coarse_rows)
{
    const flow f = {23, 19, 1e-2, CIRCLES};
    cmgi_csr made = flow_matrix(&f);
    scoped_hierarchy *h = coarsened(&made, "method=air levels=1 rows=50");
    const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
    const cmg_csr R = csr_of(h, 0, CMG_ROLE_R);
    const cmgi_smoother_source source = {.ctx = ctx, .h = h, .A = A};
    scoped cmgi_smoother_factors *M = calloc(1, sizeof *M);
    scoped cmg_index *row = malloc((size_t)R.rows * sizeof *row);
    scoped bool *coarse = calloc((size_t)A.rows, sizeof *coarse);
    bool all = false;
    CHECK_OK(cmgi_ideal_rows(ctx, &R, row, &all));
    for (cmg_size r = 0; r < R.rows; ++r) {
        coarse[row[r]] = true;
    }
    CHECK_OK(cmgi_smoother_make(&source, "fc-jacobi", 0, M));
    CHECK(M->factors == 2 && M->stages == 1 && M->stage[0] == 1);
    scoped double *b = random_values(A.rows, 3);
    scoped double *x = calloc((size_t)A.rows, sizeof *x);
    scoped double *r = scaled_copy(b, A.rows, 1); /* from zero: x = M b */
    for (int f1 = 0; f1 < M->factors; ++f1) {
        scoped double *from = scaled_copy(r, A.rows, 1);
        csr_multiply(&M->factor[f1].view, from, r);
    }
    relax(&A, coarse, b, x);
    add_scaled(r, -1, x, A.rows);
    CHECK_NEAR(norm(r, A.rows), 0, 1e-13 * norm(x, A.rows));
    cmgi_smoother_factors_clear(ctx, M);
}

/* An R that is P^T, of other couplings, has ones, too: `auto` and fc-jacobi see that R A is not 0.
 */
TEST(other_restrictions_are_left_alone)
{
    const grid g = {{31, 31, 1}, {1, 1, 0}, false};
    cmgi_csr made = grid_matrix(&g);
    scoped_hierarchy *h = coarsened(&made, "method=classical levels=1");
    const cmg_csr P = csr_of(h, 0, CMG_ROLE_P);
    const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
    scoped double *values = scaled_copy(A.values, A.indptr[A.rows], 1);
    cmgi_csr R = {0};
    CHECK_OK(cmgi_csr_transpose(ctx, &P, &R));
    EACH_ENTRY (&A, i, k) {
        values[k] += A.indices[k] == i;
    }
    CHECK_OK(cmg_hierarchy_update(h, 0, CMG_ROLE_A, values));
    CHECK_OK(cmgi_hierarchy_take_csr(h, 0, CMG_ROLE_R, NULL, 0, &R));
    const cmgi_smoother_source source = {.ctx = ctx, .h = h, .A = csr_of(h, 0, CMG_ROLE_A)};
    scoped cmgi_smoother_factors *M = calloc(1, sizeof *M);
    CHECK_OK(cmgi_smoother_make(&source, "fc-jacobi", 0, M));
    CHECK(M->factors == 1 && M->stage[0] == 0.7);
    cmgi_smoother_factors_clear(ctx, M);
    CHECK_OK(cmgi_smoother_make(&source, "auto", 0, M));
    CHECK(!M->after && strcmp(M->chosen, "fc-jacobi") != 0);
    cmgi_smoother_factors_clear(ctx, M);
}

/* No more iterations for four times the rows; eddies take half of what aggregates need, and the
 * choice is made by itself. */
TEST(flow_takes_few_iterations)
{
    int counts[2][3];
    for (int size = 0; size < 2; ++size) {
        static const char *const methods[] = {"method=air", "method=aggregation", "method=auto"};
        for (int m = 0; m < 3; ++m) {
            const flow f = {60 << size, 60 << size, 1e-4, CIRCLES};
            cmgi_csr A = flow_matrix(&f);
            scoped_hierarchy *h = coarsened(&A, methods[m]);
            const cmg_solver_options o = solver_options("rtol=1e-8 no-coarsen"); /* these levels */
            const cmg_report report = solve(h, &o);
            CHECK(cmg_outcome_converged(report.outcome));
            counts[size][m] = report.iterations;
            CHECK(m == 1 || cmgi_hierarchy_has(h, 0, CMG_ROLE_R) || ctx->backend->alloc != NULL);
        }
        CHECK(counts[size][0] <= 10);
        CHECK(ctx->backend->alloc != NULL || counts[size][2] <= counts[size][0] + 1);
    }
    CHECK(counts[1][0] <= counts[0][0] + 2);
    CHECK(5 * counts[1][0] <= 3 * counts[1][1]);
}

/* Pure transport: the cycle alone, without an iteration around it, is nearly a direct solution. */
TEST(transport_is_solved_at_once)
{
    const flow f = {70, 60, 0, ACROSS};
    cmgi_csr A = flow_matrix(&f);
    scoped_hierarchy *h = coarsened(&A, "method=air");
    const cmg_solver_options o = solver_options("krylov=none rtol=1e-8 max-it=12 no-fallback");
    CHECK(cmg_outcome_converged(solve(h, &o).outcome));
}

/* A stream function at node (i, j) of n x n cells, 0 around them, of so few bits that sums of its
 * differences are exact. */
static double stream(int n, int i, int j)
{
    const double pi = 3.14159265358979;
    return floor(1e6 * sin(pi * i / n) * sin(pi * j / n)) / (1 << 20);
}

/* What flows from cell to cell of a closed box along it. */
static cmgi_csr closed_box(int n, double diffusion)
{
    const grid g = {{n, n, 1}, {1, 1, 0}, true};
    cmgi_csr A = grid_matrix(&g);
    for (cmg_size i = 0; i < A.rows; ++i) {
        const int x = (int)(i % n);
        const int y = (int)(i / n);
        double sum = 0;
        cmg_size own = 0;
        for (cmg_size k = A.indptr[i]; k < A.indptr[i + 1]; ++k) {
            const cmg_size step = A.indices[k] - i;
            const int far = step > 0;
            const bool along = step == -1 || step == 1;
            const double side = along ? stream(n, x + far, y + 1) - stream(n, x + far, y)
                                      : stream(n, x, y + far) - stream(n, x + 1, y + far);
            const double out = far ? side : -side;
            own = step == 0 ? k : own;
            A.values[k] = -diffusion - fmax(-out, 0);
            sum += step == 0 ? 0 : diffusion + fmax(out, 0);
        }
        A.values[own] = sum;
    }
    return A;
}

/* Constants are solutions without a right-hand side, on every level. */
TEST(closed_flow_is_solved_past_constants)
{
    cmgi_csr A = closed_box(60, 1.0 / (1 << 13));
    scoped_hierarchy *h = coarsened(&A, "method=air rows=100");
    const cmg_csr last = csr_of(h, cmg_hierarchy_levels(h) - 1, CMG_ROLE_A);
    CHECK_NEAR_EACH(i, last.rows, row_sum(&last, i), 0, 1e-14);
    const cmg_solver_options o = solver_options("rtol=1e-8 no-fallback");
    const cmg_report report = solve(h, &o);
    CHECK(report.outcome == CMG_LEAST_SQUARES && report.iterations <= 10); /* b has constants */
}

/* New values: R follows, A of the next level is R A P of these, and a solver made before is as good
 * as one made after. */
TEST(refresh_renews_the_restriction)
{
    const flow before = {50, 40, 1e-3, CIRCLES};
    const flow after = {50, 40, 3e-3, CIRCLES};
    for (int kept = 0; kept < 2; ++kept) { /* by the solver, or in the hierarchy */
        cmgi_csr first = flow_matrix(&before);
        scoped_csr A = flow_matrix(&after);
        scoped_hierarchy *h = kept ? coarsened(&first, "method=air") : alone(&first);
        scoped_solver *s = solver_with(h, "rtol=1e-8 keep-map renumber=%s", kept ? "off" : "rcm");
        scoped_vector *b = vector_random(A.rows, CMG_FP64, 5);
        scoped_vector *x = vector_new(A.rows, CMG_FP64);
        cmg_report report = {.size = sizeof report};
        CHECK_OK(cmg_hierarchy_update(h, 0, CMG_ROLE_A, A.values));
        CHECK_OK(cmg_solver_refresh(s));
        CHECK_OK(cmg_solver_solve(s, b, x, &report));
        CHECK(cmg_outcome_converged(report.outcome) && report.fallbacks == 0);
        CHECK(report.iterations <= 12);
        if (kept) {
            scoped_csr AP = {0};
            scoped_csr Ac = {0};
            bool all = false;
            const cmg_csr R = csr_of(h, 0, CMG_ROLE_R);
            const cmg_csr P = csr_of(h, 0, CMG_ROLE_P);
            const cmg_csr coarse = csr_of(h, 1, CMG_ROLE_A);
            scoped cmg_index *row = malloc((size_t)R.rows * sizeof *row);
            CHECK_OK(cmgi_ideal_rows(ctx, &R, row, &all));
            CHECK(all && cmgi_ideal_holds(&A.view, &R, row));
            CHECK_OK(cmgi_csr_multiply(ctx, &A.view, &P, &AP));
            CHECK_OK(cmgi_csr_multiply(ctx, &R, &AP.view, &Ac));
            CHECK(Ac.indptr[Ac.rows] == coarse.indptr[coarse.rows]);
            CHECK_NEAR_EACH(k, Ac.indptr[Ac.rows], Ac.values[k], coarse.values[k], 1e-13);
        }
    }
}

/* Other levels, whose R is P^T, where those were: new values do not look for an R that follows. */
TEST(levels_may_be_replaced)
{
    const flow f = {40, 30, 1e-3, CIRCLES};
    cmgi_csr first = flow_matrix(&f);
    scoped_csr A = flow_matrix(&f);
    scoped_hierarchy *h = coarsened(&first, "method=air rows=100");
    CHECK_OK(cmg_hierarchy_select(h, 0, cmg_hierarchy_levels(h) - 1));
    (void)coarsen(h, "method=aggregation distance=2 interpolation=5");
    CHECK(cmg_hierarchy_levels(h) > 1 && !cmgi_hierarchy_has(h, 0, CMG_ROLE_R));
    CHECK_OK(cmg_hierarchy_update(h, 0, CMG_ROLE_A, A.values));
    const cmg_solver_options solver = solver_options("rtol=1e-8");
    CHECK(cmg_outcome_converged(solve(h, &solver).outcome));
}

TEST(threads_do_not_matter)
{
    const flow f = {61, 53, 1e-3, CIRCLES};
    const cmg_coarsen_options o = coarsen_options("method=air distance=2 interpolation=3");
    scoped_csr A = flow_matrix(&f);
    scoped_csr first_P = {0};
    scoped_csr first_R = {0};
    const int threads = ctx->threads;
    CHECK_OK(cmgi_air(ctx, &A.view, THETA, &o, &first_P, &first_R));
    for (int t = 1; t <= 5; ++t) {
        scoped_csr P = {0};
        scoped_csr R = {0};
        ctx->threads = t;
        CHECK_OK(cmgi_air(ctx, &A.view, THETA, &o, &P, &R));
        CHECK(same_csr(&P.view, &first_P.view) && same_csr(&R.view, &first_R.view));
        CHECK_OK(cmgi_air_values(ctx, &A.view, &R)); /* the same values give the same */
        CHECK(same_csr(&R.view, &first_R.view));
    }
    ctx->threads = threads;
}

/* Nothing to follow, rows without couplings, zero diagonals, singular local systems: what is made
 * is finite and of the right size, and what cannot be made is left out. */
TEST(odd_matrices_are_survived)
{
    for (int kind = 0; kind < ODD_KINDS + 2; ++kind) {
        for (int n = 1; n < 70; n += 1 + n / 4) {
            scoped_csr A = odd_matrix(kind % ODD_KINDS, n, 7);
            EACH_ENTRY (&A, i, k) {
                const bool zero = kind > ODD_KINDS || (kind == ODD_KINDS && i % 3 == 0);
                A.values[k] *= A.indices[k] == i && zero ? 0 : 1;
            }
            for (int distance = 1; distance <= 2; ++distance) {
                const cmg_coarsen_options o =
                    coarsen_options("method=air distance=%d interpolation=5", distance);
                scoped_csr P = {0};
                scoped_csr R = {0};
                CHECK_OK(cmgi_air(ctx, &A.view, THETA, &o, &P, &R));
                CHECK((P.indptr == NULL) == (R.indptr == NULL));
                CHECK(R.indptr == NULL || (R.cols == n && R.rows == P.cols && R.rows > 0));
                for (cmg_size k = 0; R.indptr != NULL && k < R.indptr[R.rows]; ++k) {
                    CHECK(isfinite(R.values[k]));
                }
            }
        }
    }
}

/* A(N, N) without an inverse: its diagonal takes its place. */
TEST(singular_systems_go_by_the_diagonal)
{
    cmg_size indptr[] = {0, 3, 5, 7};
    cmg_index indices[] = {0, 1, 2, 1, 2, 1, 2};
    double values[] = {4, -1, -3, 2, 2, 2, 2};
    const cmg_csr A = {3, 3, indptr, indices, values};
    const cmg_index N[] = {0, 1, 2};
    double z[3] = {0};
    cmgi_ideal_solve(&A, 0, 3, N, z);
    CHECK(z[0] == 1 && z[1] == 0.5 && z[2] == 1.5);
    for (int k = 3; k < 7; ++k) { /* and zeros give nothing */
        values[k] = 0;
    }
    cmgi_ideal_solve(&A, 0, 3, N, z);
    CHECK(z[0] == 1 && z[1] == 0 && z[2] == 0);
    values[3] = 1; /* a z of 1 is not the mark of a coarse row */
    cmgi_ideal_solve(&A, 0, 2, N, z);
    CHECK(z[0] == 1 && z[1] != 1);
    CHECK_NEAR(z[1], 1, 1e-15);
}

TEST(choice_follows_the_flow)
{
    const flow flows[] = {{40, 30, 1e-4, CIRCLES}, {40, 30, 0, ACROSS}, {40, 30, 0.1, CIRCLES}};
    const grid even = {{40, 30, 1}, {1, 1, 0}, false};
    for (int t = 0; t < 6; ++t) {
        scoped_csr A = t < 3 ? flow_matrix(&flows[t]) : grid_matrix(&even);
        cmgi_suits suits;
        EACH_ENTRY (&A, i, k) { /* central differences, or no scheme */
            const cmg_size step = A.indices[k] - i;
            A.values[k] += t == 4 && step != 0 ? (step > 0 ? 5 : -5) : 0;
            A.values[k] *= t == 5 && step > 0 ? 0 : 1;
            A.values[k] = t == 5 && step < 0 ? 1 : A.values[k];
        }
        CHECK_OK(cmgi_look_for_levels(ctx, &A.view, NULL, THETA, &suits));
        CHECK(suits.flow == (t < 2) && suits.plane && suits.classical == (t == 3));
    }
}
