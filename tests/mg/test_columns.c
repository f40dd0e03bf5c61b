/*
 * Several right-hand sides at once: every column ends as it does alone, in as many iterations, and
 * its residual is what it is said to be - by plain loops (oracle.h) - over options in pairs.
 */
#include "pairwise.h"
#include "solves.h"

enum { CELLS = 32, LEVELS = 4, MOST = 9 };

/* Values of each factor, as texts of options; the last two are what the columns are. */
enum { SMOOTHER, FORMAT, PRECISION, KRYLOV, REST, COUNT, KIND, FACTORS };
#ifdef CMGI_HAVE_STUDIES
#define PARTS "format=hyb" /* products of two parts */
#else
#define PARTS "format=k2"
#endif
static const char *const words[FACTORS][6] = {
    {"smoother=jacobi", "smoother=chebyshev4", "smoother=fsai", "smoother=spai", "smoother=auto"},
    {"format=auto", "format=compressed", "format=sell", "format=csr", PARTS, "format=ellt"},
    {"precision=fp64", "precision=mixed"},
    {"krylov=auto", "krylov=cg", "krylov=fcg", "krylov=fgmres", "krylov=none", "krylov=semi"},
    {"renumber=rcm", "rtol=1e-12", "max_it=4", "fmg", "no-fuse renumber=rcm", "collapse=100"},
    {"2", "3", "8", "9"},
    {"random", "one is zero", "one is solved", "scales", "equal"},
};
static const int value_counts[FACTORS] = {5, 6, 2, 6, 6, 4, 5};

/* Column c of the right-hand sides and guesses of a kind. */
static void fill(const cmg_csr *A, int kind, int c, double *b, double *x)
{
    uint64_t seed = kind == 4 ? 7 : (uint64_t)c + 7;
    const double scale = kind == 3 ? pow(10.0, 40.0 * c - 120) : 1;
    for (cmg_size i = 0; i < A->rows; ++i) {
        b[i] = scale * (2 * cmgi_random(&seed) - 1);
        x[i] = kind == 2 ? cmgi_random(&seed) : 0;
    }
    for (cmg_size i = 0; i < A->rows && c == 1; ++i) {
        b[i] = kind == 1 ? 0 : b[i];
        for (cmg_size k = A->indptr[i]; kind == 2 && k < A->indptr[i + 1]; ++k) {
            b[i] = k == A->indptr[i] ? 0 : b[i];
            b[i] += A->values[k] * x[A->indices[k]];
        }
    }
}

/* Column c of k. */
static cmg_vector *take(const double *values, cmg_size n, int k, int c)
{
    scoped double *one = malloc((size_t)n * sizeof *one);
    FILL(one, i, n, values[i * k + c]);
    return vector_from(n, CMG_FP64, one);
}

/* A block of n x k values, b or the guess. */
static double *block(const cmg_csr *A, int kind, int k, bool guess)
{
    const cmg_size n = A->rows;
    double *all = malloc((size_t)(n * k) * sizeof *all);
    scoped double *b = malloc((size_t)n * sizeof *b);
    scoped double *x = malloc((size_t)n * sizeof *x);
    for (int c = 0; c < k; ++c) {
        fill(A, kind, c, b, x);
        for (cmg_size i = 0; i < n; ++i) {
            all[i * k + c] = guess ? x[i] : b[i];
        }
    }
    return all;
}

/* Column c of the block against a solver that has only ever seen single columns. */
static void compare_column(cmg_solver *several, cmg_solver *single, const cmg_vector *all[2],
                           const double *guess, int c, const char *text)
{
    const cmg_size n = all[0]->n;
    const int k = all[0]->columns;
    cmg_report ours = {.size = sizeof ours};
    scoped double *rhs = values_of(all[0]);
    scoped double *solution = values_of(all[1]);
    scoped_vector *b = take(rhs, n, k, c);
    scoped_vector *x = take(guess, n, k, c);
    scoped_vector *mine = take(solution, n, k, c);
    CHECK_OK(cmg_solver_column(several, c, &ours));
    cmg_report alone = solve_with(single, b, x);
    CHECK_SAY(ours.outcome == alone.outcome && ours.iterations == alone.iterations,
              "%s, column %d: %s in %d, alone %s in %d", text, c, WORD("outcome", ours.outcome),
              ours.iterations, WORD("outcome", alone.outcome), alone.iterations);
    if (cmg_outcome_converged(ours.outcome)) {
        oracle_judge(several, b, mine, &ours);
    }
    CHECK(ours.history != NULL && ours.history[0] >= 0);
}

static void solve_row(const int row[FACTORS], int flags)
{
    scoped_hierarchy *h = poisson(CELLS, LEVELS, flags);
    char text[256] = "";
    for (int f = 0; f < COUNT; ++f) {
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s ", words[f][row[f]]);
    }
    const int k = atoi(words[COUNT][row[COUNT]]);
    const cmg_solver_options o = solver_options("%s", text);
    const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
    scoped double *rhs = block(&A, row[KIND], k, false);
    scoped double *guess = block(&A, row[KIND], k, true);
    scoped_vector *b = columns_from(A.rows, k, rhs);
    scoped_vector *x = columns_from(A.rows, k, guess);
    scoped_solver *several = solver_new(h, &o);
    scoped_solver *single = solver_new(h, &o);
    cmg_report report = solve_with(several, b, x);
    CHECK(report.bytes > 0 && report.solve_seconds > 0);
    (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%d columns, %s", k,
                   words[KIND][row[KIND]]);
    for (int c = 0; c < k; ++c) {
        compare_column(several, single, (const cmg_vector *[]){b, x}, guess, c, text);
    }
    CHECK(cmg_solver_column(several, k, &report) == CMG_ERR_ARG);
}

TEST(columns_end_as_they_do_alone)
{
    int row[FACTORS];
    pairwise p = pairwise_begin(FACTORS, value_counts);
    for (int n = 0; pairwise_next(&p, n, row); ++n) {
        solve_row(row, n % 2 == 0 ? POISSON_COLUMNS : 0);
    }
    pairwise_end(&p);
}

/* z = C r of every column, and after new values. */
TEST(cycles_take_columns)
{
    enum { K = 5 };
    scoped_hierarchy *h = poisson(CELLS, LEVELS, 0);
    const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
    const cmg_size n = A.rows;
    scoped double *rhs = block(&A, 0, K, false);
    scoped double *doubled = scaled_copy(A.values, A.indptr[n], 2);
    scoped_vector *r = columns_from(n, K, rhs);
    scoped_vector *z = columns_from(n, K, rhs);
    scoped_vector *y = vector_of(n, 1);
    for (int precision = 0; precision < 2; ++precision) {
        scoped_solver *s = solver_with(h, "keep_map %s", words[PRECISION][precision]);
        CHECK_OK(cmg_solver_precondition(s, r, z));
        CHECK_OK(cmg_hierarchy_update(h, 0, CMG_ROLE_A, doubled));
        CHECK_OK(cmg_solver_refresh(s));
        CHECK_OK(cmg_solver_precondition(s, r, z));
        scoped double *values = values_of(z);
        for (int c = 0; c < K; ++c) {
            scoped_vector *x = take(rhs, n, K, c);
            CHECK_OK(cmg_solver_precondition(s, x, y));
            scoped double *one = values_of(y);
            CHECK_NEAR_EACH(i, n, values[i * K + c], one[i], precision == 1 ? 1e-5 : 1e-12);
        }
        CHECK(cmg_solver_precondition(s, r, y) == CMG_ERR_SHAPE);
        CHECK((cmg_solver_solve)(s, r, y, NULL) == CMG_ERR_SHAPE);
    }
}

typedef struct stopping {
    int at;
    int seen;
} stopping;

static int stop(void *user, int iteration, double residual, double rhs_norm)
{
    stopping *s = user;
    s->seen += residual >= 0 && rhs_norm > 0;
    return iteration >= s->at;
}

/* Limits and monitors change without a set-up, for one column and for several. */
TEST(limits_change)
{
    scoped_hierarchy *h = poisson(CELLS, LEVELS, 0);
    const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
    for (int k = 1; k <= 3; k += 2) {
        scoped double *rhs = block(&A, 0, k, false);
        scoped_vector *b = columns_from(A.rows, k, rhs);
        scoped_vector *x = columns_from(A.rows, k, rhs);
        stopping at_two = {.at = 2};
        scoped_solver *s = solver_new(h, NULL);
        cmg_report report = solve_with(s, b, x);
        const int usual = report.iterations;
        CHECK_OK(cmg_solver_set_limits(s, -1, -1, 3));
        report = solve_with(s, b, from_zero(x));
        CHECK(report.outcome == CMG_ITERATION_LIMIT && report.iterations == 3);
        CHECK_OK(cmg_solver_set_limits(s, 1e-12, 0, 5000));
        CHECK_OK((cmg_solver_solve)(s, b, x, &report));
        CHECK(cmg_outcome_converged(report.outcome) && report.relative_residual <= 1e-12);
        CHECK_OK(cmg_solver_set_limits(s, 1e-8, -1, 100));
        CHECK_OK(cmg_solver_set_monitor(s, stop, &at_two));
        CHECK_OK((cmg_solver_solve)(s, b, from_zero(x), &report));
        CHECK(report.outcome == CMG_INTERRUPTED && report.iterations == 2 && at_two.seen == 3);
        CHECK_OK(cmg_solver_set_monitor(s, NULL, NULL));
        CHECK_OK((cmg_solver_solve)(s, b, from_zero(x), &report));
        CHECK(report.iterations == usual);
        CHECK_STATUS(cmg_solver_set_limits(s, 2, -1, 0), CMG_ERR_ARG);
        CHECK_STATUS(cmg_solver_set_limits(NULL, 2, -1, 0), CMG_ERR_ARG);
    }
}

/* A monitor that stops leaves no column without an outcome: one of zeros has its solution. */
TEST(interrupted_columns_have_outcomes)
{
    enum { K = 3 };
    scoped_hierarchy *h = poisson(CELLS, LEVELS, 0);
    const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
    scoped double *rhs = block(&A, 1, K, false);
    scoped_vector *b = columns_from(A.rows, K, rhs);
    scoped_vector *x = columns_from(A.rows, K, rhs);
    stopping at_two = {.at = 2};
    scoped_solver *s = solver_new(h, NULL);
    CHECK_OK(cmg_solver_set_monitor(s, stop, &at_two));
    CHECK_OK((cmg_solver_solve)(s, b, from_zero(x), NULL));
    for (int c = 0; c < K; ++c) {
        cmg_report of = {.size = sizeof of};
        CHECK_OK(cmg_solver_column(s, c, &of));
        CHECK(of.outcome == (c == 1 ? CMG_CONVERGED_ATOL : CMG_INTERRUPTED));
        CHECK(c == 1 ? of.residual == 0 && of.relative_residual == 0 : of.iterations == 2);
    }
}

static int stop_once(void *user, int iteration, double residual, double rhs_norm)
{
    return residual >= 0 && rhs_norm > 0 && iteration == 1 && ++*(int *)user == 1;
}

/* A monitor that asks once to stop has stopped all columns, those too that are solved one by one.
 */
TEST(one_stop_is_for_all_columns)
{
    static const char *const options[] = {"krylov=fgmres", "krylov=cg"};
    scoped_hierarchy *h = poisson(CELLS, LEVELS, 0);
    const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
    for (int k = 0; k < 2; ++k) { /* CG takes them together, but for the one that is scaled */
        scoped double *rhs = block(&A, 0, 3, false);
        for (cmg_size i = 0; i < A.rows; ++i) {
            rhs[3 * i] *= 1e200;
        }
        int asked = 0;
        scoped_vector *b = columns_from(A.rows, 3, rhs);
        scoped_vector *x = columns_new(A.rows, 3);
        scoped_solver *s = solver_with(h, "%s", options[k]);
        CHECK_OK(cmg_solver_set_monitor(s, stop_once, &asked));
        CHECK_OK((cmg_solver_solve)(s, b, x, NULL));
        scoped double *y = values_of(x);
        for (int c = 0; c < 3; ++c) {
            cmg_report of = {.size = sizeof of};
            CHECK_OK(cmg_solver_column(s, c, &of));
            CHECK(asked == 1 && of.outcome == CMG_INTERRUPTED && of.iterations <= 1);
            const double left = column_residual(&A, rhs, y, 3, c);
            CHECK(c == 0 || fabs(of.relative_residual - left) <= 1e-10);
        }
        CHECK_OK((cmg_solver_solve)(s, b, from_zero(x), NULL)); /* later ones go on */
        CHECK(asked > 1);
    }
}

/*
 * Blocks 1 + [a a; a a] with right-hand sides nearly in the direction of their small eigenvalue:
 * the residuals of CG rise at once, and what a monitor's stop leaves is the guess, the best there
 * was. By arrays of this test alone.
 */
TEST(interrupted_columns_are_the_best)
{
    enum { N = 12, K = 3 };
    cmg_size indptr[N + 1] = {0};
    cmg_index indices[2 * N];
    double values[2 * N];
    double rhs[N * K];
    stopping at_one = {.at = 1};
    for (int i = 0; i < N; ++i) {
        const double a = 1e5 * (1 + i / 2);
        for (int k = 0; k < 2; ++k) {
            indices[2 * i + k] = (cmg_index)(i / 2 * 2 + k);
            values[2 * i + k] = a + (k == i % 2);
        }
        indptr[i + 1] = 2 * i + 2;
        for (int c = 0; c < K; ++c) {
            rhs[i * K + c] = (c + 1) * ((i % 2 ? -1 : 1) + 1 / sqrt(2 * a));
        }
    }
    const cmg_csr A = {N, N, indptr, indices, values};
    scoped_hierarchy *h = hierarchy_alone(&A);
    scoped_solver *s = solver_with(h, "krylov=cg smoother=jacobi cycle=none fallback=0");
    CHECK_OK(cmg_solver_set_monitor(s, stop, &at_one));
    scoped_vector *b = columns_from(N, K, rhs);
    scoped_vector *x = columns_new(N, K);
    CHECK_OK(cmg_solver_solve(s, b, from_zero(x), NULL));
    scoped double *y = values_of(x);
    for (int c = 0; c < K; ++c) {
        cmg_report of = {.size = sizeof of};
        const double left = column_residual(&A, rhs, y, K, c);
        CHECK_OK(cmg_solver_column(s, c, &of));
        CHECK(of.outcome == CMG_INTERRUPTED && of.iterations == 1 && of.best == 0);
        CHECK(left <= 1 + 1e-12);
        CHECK_NEAR(of.relative_residual, left, 1e-10);
    }
}

/* Reports are those of the columns of the last solve: none where it was refused, none once others
 * took their place. */
TEST(columns_that_are_gone_have_no_report)
{
    scoped_hierarchy *h = poisson(CELLS, LEVELS, 0);
    cmg_report report = {.size = sizeof report};
    const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
    scoped double *rhs = block(&A, 0, 5, false);
    scoped_vector *b = columns_from(A.rows, 3, rhs);
    scoped_vector *x = columns_from(A.rows, 3, rhs);
    scoped_vector *wide_b = columns_from(A.rows, 5, rhs);
    scoped_vector *wide_x = columns_from(A.rows, 5, rhs);
    scoped_solver *renumbers = solver_with(h, "format=k2rs");
    CHECK_STATUS(cmg_solver_solve(renumbers, b, x, &report), CMG_ERR_UNSUPPORTED);
    CHECK_STATUS(cmg_solver_column(renumbers, 0, &report), CMG_ERR_ARG);
    scoped_solver *s = solver_with(h, "format=sell");
    CHECK_OK(cmg_solver_solve(s, b, x, &report));
    CHECK_OK(cmg_solver_column(s, 0, &report));
    CHECK_OK(cmg_solver_precondition(s, b, x));
    CHECK_OK(cmg_solver_column(s, 2, &report));
    CHECK_OK(cmg_solver_precondition(s, wide_b, wide_x));
    CHECK_STATUS(cmg_solver_column(s, 0, &report), CMG_ERR_ARG);
    CHECK_OK(cmg_solver_solve(s, b, x, &report));
    CHECK_OK(cmg_solver_set_limits(s, -1, -1, 7));
    CHECK_STATUS(cmg_solver_column(s, 0, &report), CMG_ERR_ARG);
}

TEST(allocation_failures_leave_nothing)
{
    enum { K = 3 };
    scoped_hierarchy *h = poisson(8, 2, 0);
    const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
    scoped double *rhs = block(&A, 0, K, false);
    scoped_vector *b = columns_from(A.rows, K, rhs);
    scoped_vector *x = columns_from(A.rows, K, rhs);
    for (failing f = {.most = 200, .later = true}; failing_next(&f);) {
        cmg_report report = {.size = sizeof report};
        scoped_solver *s = solver_new(h, NULL);
        failing_arm(&f);
        failing_done(&f, (cmg_solver_solve)(s, b, x, &report));
        CHECK_STATUS(cmg_solver_column(s, K, &report), CMG_ERR_ARG);
        CHECK_OK((cmg_solver_solve)(s, b, x, &report)); /* and it is good for the next */
        CHECK(cmg_outcome_converged(report.outcome));
    }
}
