/* Many small systems: solutions by plain elimination, residuals by plain loops, whatever the sizes,
 * methods and values; systems that fail leave the others as they are, to the bit. */
#include "solves.h"

enum { CELLS = 32, LEVELS = 4, COUNT = 6 };

typedef struct systems {
    cmg_hierarchy *h;
    cmg_solver *s;
    cmg_csr A;
    cmg_size n;
    cmg_size nnz;
    int count;
    double *values; /* count x nnz */
    double *b;      /* count x n */
    double *x;
} systems;

/* a_ij (c_i + c_j) / 2 beside the diagonal, which keeps the row's sum: conduction with c between 1
 * and `contrast`, of another shape in every system. */
static void fill(systems *S, double contrast, int flags)
{
    for (int s = 0; s < S->count; ++s) {
        uint64_t seed = (uint64_t)s + 3;
        double *v = S->values + s * S->nnz;
        for (cmg_size i = 0; i < S->n; ++i) {
            cmg_size diagonal = 0;
            double moved = 0;
            for (cmg_size k = S->A.indptr[i]; k < S->A.indptr[i + 1]; ++k) {
                const double at[2] = {sin(s + 0.01 * (double)i),
                                      sin(s + 0.01 * (double)S->A.indices[k])};
                const double c =
                    0.5 * (pow(contrast, 0.5 + 0.5 * at[0]) + pow(contrast, 0.5 + 0.5 * at[1]));
                const bool own = S->A.indices[k] == i;
                v[k] = S->A.values[k] * (own ? 1 : c);
                diagonal = own ? k : diagonal;
                moved += S->A.values[k] - v[k];
            }
            v[diagonal] += (flags & POISSON_COLUMNS) != 0 ? fabs(moved) : moved;
            S->b[s * S->n + i] = 2 * cmgi_random(&seed) - 1;
            S->x[s * S->n + i] = 0;
        }
    }
}

static systems make(cmg_hierarchy *h, const char *options, int count)
{
    systems S = {
        .h = h, .s = solver_with(h, "%s", options), .A = csr_of(h, 0, CMG_ROLE_A), .count = count};
    S.n = S.A.rows;
    S.nnz = S.A.indptr[S.n];
    S.values = malloc((size_t)(count * S.nnz + 1) * sizeof *S.values);
    S.b = malloc((size_t)(count * S.n + 1) * sizeof *S.b);
    S.x = malloc((size_t)(count * S.n + 1) * sizeof *S.x);
    fill(&S, 10, 0);
    return S;
}

static void drop(systems *S)
{
    free_all(S->values, S->b, S->x);
    cmg_solver_destroy(&S->s);
    cmg_hierarchy_destroy(&S->h);
}

#define scoped_systems scoped_by(drop) systems
#define scoped_batch scoped_by(cmg_batch_destroy) cmg_batch

/* Solves what S has from S->x, which gets the solutions; reports of all systems. The hint of the
 * one that is returned stays until the next run. */
static cmg_report run(systems *S, bool own, cmg_report *each)
{
    static char hint[256];
    scoped_vector *v = own ? vector_from(S->count * S->nnz, CMG_FP64, S->values) : NULL;
    scoped_vector *b = vector_from(S->count * S->n, CMG_FP64, S->b);
    scoped_vector *x = vector_from(S->count * S->n, CMG_FP64, S->x);
    cmg_report report = {.size = sizeof report};
    scoped_batch *batch = NULL;
    CHECK_OK(cmg_batch_create(S->s, S->count, v, &batch));
    if (batch != NULL) {
        CHECK_OK(cmg_batch_solve(batch, b, x, &report));
        CHECK_OK(cmg_vector_get(x, S->x));
    }
    for (int s = 0; s < S->count && batch != NULL; ++s) {
        each[s] = (cmg_report){.size = sizeof *each};
        CHECK_OK(cmg_batch_system(batch, s, &each[s]));
    }
    (void)snprintf(hint, sizeof hint, "%s", report.hint != NULL ? report.hint : "");
    report.hint = hint;
    return report;
}

/* A system's own values, or those of the hierarchy. */
static cmg_csr matrix_of(const systems *S, bool own, int s)
{
    cmg_csr A = S->A;
    A.values = own ? S->values + s * S->nnz : A.values;
    return A;
}

/* ||b - A x|| / ||b|| of a system by plain loops. */
static double residual_of(const systems *S, bool own, int s)
{
    const cmg_csr A = matrix_of(S, own, s);
    return relative_residual(&A, S->b + s * S->n, S->x + s * S->n);
}

/* Residuals by other loops differ by rounding, 2 eps || |A| |x| || / ||b||, with |x| up to 1000 |b|
 * here. */
static void check_all(const systems *S, const cmg_report *each, double rtol, const char *what)
{
    const double rounding = 1e-12;
    for (int s = 0; s < S->count; ++s) {
        const double left = residual_of(S, true, s);
        CHECK_SAY(cmg_outcome_converged(each[s].outcome) && left <= 1.01 * rtol + rounding,
                  "%s, system %d: %s in %d, %.3g", what, s, WORD("outcome", each[s].outcome),
                  each[s].iterations, left);
        CHECK_NEAR(each[s].relative_residual, left, 1e-2 * left + rounding);
    }
}

/* Dirichlet rows in three forms, against elimination. A residual of 1e-12 leaves an error of that
 * times the condition, under 1e4 here. */
TEST(solutions_are_those_of_elimination)
{
    static const int flags[] = {0, POISSON_IDENTITY, POISSON_COLUMNS};
    cmg_report each[COUNT];
    for (int f = 0; f < 3; ++f) {
        scoped_systems S = make(poisson(16, 4, flags[f]), "rtol=1e-12", 3);
        fill(&S, 30, flags[f]);
        const cmg_report report = run(&S, true, each);
        check_all(&S, each, 1e-12, "elimination");
        CHECK(cmg_outcome_converged(report.outcome) && report.hint[0] == '\0');
        for (int s = 0; s < S.count; ++s) {
            const cmg_csr A = matrix_of(&S, true, s);
            scoped double *X = dense_inverse(&A);
            scoped double *y = malloc((size_t)S.n * sizeof *y);
            FILL(y, i, S.n, dot(X + i * S.n, S.b + s * S.n, S.n));
            CHECK(relative_difference(S.x + s * S.n, y, S.n) <= 1e-8);
            CHECK(report.iterations >= each[s].iterations);
        }
    }
}

/* Points of a line, each with as many neighbours to either side as `reach` says, with linear
 * interpolation, so that slices, pairs of slots and the last level end everywhere. */
static cmg_hierarchy *line(cmg_size n, int levels, int reach)
{
    cmg_hierarchy *h = hierarchy_new(levels);
    for (int l = 0; l < levels; ++l) {
        triplet_list A = triplets(n, n);
        triplet_list P = triplets(n, (n + 1) / 2);
        for (cmg_size i = 0; i < n; ++i) {
            for (cmg_size j = i < reach ? 0 : i - reach; j <= i + reach && j < n; ++j) {
                triplet_add(&A, i, j, i == j ? 2 * reach + 1e-3 : -1);
            }
            triplet_add(&P, i, i / 2, i % 2 == 0 ? 1 : 0.5);
            if (i % 2 == 1 && i / 2 + 1 < (n + 1) / 2) {
                triplet_add(&P, i, i / 2 + 1, 0.5);
            }
        }
        cmgi_csr M[2] = {triplet_csr(&A), triplet_csr(&P)};
        CHECK_OK(cmg_hierarchy_set_csr(h, l, CMG_ROLE_A, NULL, 0, &M[0].view));
        if (l + 1 < levels) {
            CHECK_OK(cmg_hierarchy_set_csr(h, l, CMG_ROLE_P, NULL, 0, &M[1].view));
        }
        csrs_free(&M[0], &M[1]);
        n = (n + 1) / 2;
    }
    return h;
}

TEST(every_size_is_solved)
{
    static const int sizes[] = {1, 2, 3, 31, 32, 33, 63, 64, 65, 255, 256, 257, 287, 288, 289, 575};
    cmg_report each[COUNT];
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; ++k) {
        scoped_systems S = make(line(sizes[k], sizes[k] > 256 ? 3 : 1, 1),
                                "smoother=chebyshev4 galerkin=always rtol=1e-11", 3);
        (void)run(&S, true, each);
        check_all(&S, each, 1e-11, "size");
        CHECK(sizes[k] > 256 || each[0].iterations <= 3); /* by the inverse */
    }
}

/* Rows of one group of pairs and of several; more systems than a GPU has teams. */
TEST(every_row_length_is_multiplied)
{
    static cmg_report each[600];
    for (int reach = 6; reach < 16; reach += reach == 8 ? 6 : 1) {
        scoped_systems S = make(line(600, 3, reach), "smoother=chebyshev4 galerkin=always", 3);
        (void)run(&S, true, each);
        check_all(&S, each, 1e-8, "row length");
    }
    scoped_systems S = make(line(33, 1, 1), "smoother=jacobi", 600);
    (void)run(&S, true, each);
    check_all(&S, each, 1e-8, "many");
}

/* Each list of steps that a solver may have; the last is of a matrix alone, whose algebraic P has
 * all kinds of values. */
TEST(every_cycle_is_run)
{
    static const char *const options[] = {
        "smoother=jacobi",
        "smoother=chebyshev:degree=3 pre=2 post=2",
        "smoother=chebyshev4:degree=4 precision=fp64",
        "smoother=jacobi cycle=W",
        "smoother=chebyshev4 cycle=F",
        "smoother=jacobi omega=0.7 no-fuse",
        "cycle=none smoother=chebyshev4:degree=8 max_it=1000",
        "smoother=jacobi krylov=defect collapse=400",
        "smoother=chebyshev4 krylov=semi",
        "precision=mixed rtol=1e-13",
        "rtol=0 atol=1e-6",
        "smoother=chebyshev4",
    };
    const size_t count = sizeof options / sizeof *options;
    cmg_report each[COUNT];
    for (size_t k = 0; k < count; ++k) {
        const int levels = k + 1 < count ? LEVELS : 1;
        scoped_systems S =
            make(poisson(k % 2 == 0 || levels == 1 ? CELLS : 16, levels, 0), options[k], 2);
        (void)run(&S, true, each);
        const bool absolute = strstr(options[k], "atol") != NULL;
        const double rtol = strstr(options[k], "1e-13") != NULL ? 1e-13 : 1e-8;
        check_all(&S, each, absolute ? 1e-6 / each[0].rhs_norm * 1.1 : rtol, options[k]);
        CHECK(absolute == (each[0].outcome == CMG_CONVERGED_ATOL));
    }
}

/* As many iterations as a solver of the same matrix takes with a Galerkin cycle, to one, though
 * coefficients differ by a thousand and values by 10^60. */
TEST(dampings_follow_the_values)
{
    static const double factors[COUNT] = {1, 1e30, 1e-30, 1, 1e5, 1e-5};
    scoped_systems S =
        make(poisson(CELLS, LEVELS, 0), "smoother=chebyshev4 galerkin=always", COUNT);
    cmg_report each[COUNT];
    fill(&S, 1000, 0);
    for (cmg_size k = 0; k < S.count * S.nnz; ++k) {
        S.values[k] *= factors[k / S.nnz];
    }
    for (cmg_size k = 0; k < S.count * S.n; ++k) {
        S.b[k] *= k / S.n == 3 ? 1e-200 : k / S.n == 4 ? 1e200 : 1;
    }
    (void)run(&S, true, each);
    for (int s = 0; s < S.count; ++s) {
        const cmg_solver_options o = solver_options("smoother=chebyshev4 galerkin=always");
        CHECK_OK(cmg_hierarchy_update(S.h, 0, CMG_ROLE_A, S.values + s * S.nnz));
        scoped_vector *b = vector_from(S.n, CMG_FP64, S.b + s * S.n);
        scoped_vector *x = vector_new(S.n, CMG_FP64);
        const cmg_report alone = solve(S.h, &o, b, x);
        CHECK(each[s].iterations <= alone.iterations + 1);
        CHECK(cmg_outcome_converged(each[s].outcome) && each[s].relative_residual <= 1e-8);
    }
}

/* What ends badly ends so alone: the others have the bits of a run without it. */
TEST(failures_stay_alone)
{
    scoped_systems S = make(poisson(CELLS, LEVELS, 0), "max_it=60", COUNT);
    cmg_report good[COUNT];
    cmg_report each[COUNT];
    scoped double *x = malloc((size_t)(COUNT * S.n) * sizeof *x);
    (void)run(&S, true, good);
    memcpy(x, S.x, (size_t)(COUNT * S.n) * sizeof *x);
    memset(S.x, 0, (size_t)(COUNT * S.n) * sizeof *x);
    S.values[1 * S.nnz + S.nnz / 2] = NAN;
    S.b[2 * S.n + 7] = INFINITY;
    for (cmg_size k = 0; k < S.nnz; ++k) {
        S.values[3 * S.nnz + k] *= -1; /* negative definite */
    }
    EACH_ENTRY (&S.A, i, k) { /* positive diagonal, but indefinite */
        S.values[4 * S.nnz + k] *= S.A.indices[k] == i && S.A.indptr[i + 1] - k > 1 ? 0.9 : 1;
    }
    const cmg_report report = run(&S, true, each);
    CHECK(each[1].outcome == CMG_NOT_A_NUMBER && each[2].outcome == CMG_NOT_A_NUMBER);
    CHECK(each[3].outcome == CMG_BREAKDOWN && each[3].iterations == 0);
    CHECK(!cmg_outcome_converged(each[4].outcome));
    CHECK_NEAR(each[4].relative_residual, residual_of(&S, true, 4), 1e-10);
    CHECK(report.outcome == CMG_NOT_A_NUMBER && strstr(report.hint, "4 of 6 systems") != NULL &&
          strstr(report.hint, "system 1") != NULL);
    for (int s = 0; s < COUNT; s += COUNT - 1) {
        CHECK(each[s].iterations == good[s].iterations && each[s].residual == good[s].residual);
        CHECK(memcmp(x + s * S.n, S.x + s * S.n, (size_t)S.n * sizeof *x) == 0);
    }
    for (cmg_size i = 0; i < S.n; ++i) { /* nothing was done to it beside Dirichlet rows */
        CHECK(S.x[3 * S.n + i] == 0 || S.A.indptr[i + 1] - S.A.indptr[i] == 1);
    }
}

/* A limit that the hard systems reach and the easy one does not; no systems. */
TEST(limits_are_kept)
{
    scoped_systems none = make(poisson(CELLS, LEVELS, 0), "", 0);
    CHECK(run(&none, true, NULL).iterations == 0 && run(&none, false, NULL).bytes == 0);
    scoped_systems S = make(poisson(CELLS, LEVELS, 0), "max_it=3 smoother=jacobi", COUNT);
    cmg_report each[COUNT];
    EACH_ENTRY (&S.A, i, k) { /* the first is a diagonal matrix */
        S.values[k] = S.A.indices[k] == i ? 2 : 0;
    }
    CHECK(run(&S, true, each).outcome == CMG_ITERATION_LIMIT &&
          cmg_outcome_converged(each[0].outcome));
    for (int s = 1; s < COUNT; ++s) {
        CHECK(each[s].outcome == CMG_ITERATION_LIMIT && each[s].iterations == 3);
        CHECK(each[s].relative_residual < 0.5 && each[s].starts == 1);
        CHECK_NEAR(each[s].relative_residual, residual_of(&S, true, s), 1e-12);
    }
}

/* The values of the hierarchy for all; guesses that are right, right-hand sides that are 0. */
TEST(values_may_be_shared)
{
    scoped_systems S = make(poisson(CELLS, LEVELS, 0), "rtol=1e-9", COUNT);
    cmg_report each[COUNT];
    cmg_report again[COUNT];
    memset(S.b, 0, (size_t)S.n * sizeof *S.b);
    S.x[3] = 1; /* a guess for b = 0 */
    (void)run(&S, false, each);
    CHECK_EACH(i, S.n, S.x[i] == 0);
    CHECK(each[0].outcome == CMG_CONVERGED_ATOL && each[0].relative_residual == 0);
    for (int s = 1; s < COUNT; ++s) {
        CHECK(each[s].outcome == CMG_CONVERGED_RTOL && residual_of(&S, false, s) <= 1.01e-9);
    }
    (void)run(&S, false, again);
    for (int s = 1; s < COUNT; ++s) {
        CHECK(again[s].iterations == 0 && again[s].outcome == CMG_CONVERGED_RTOL);
    }
}

/* The same bits again, for any number of threads, and after an update. */
TEST(results_repeat)
{
    scoped_systems S = make(poisson(CELLS, LEVELS, POISSON_IDENTITY), "rtol=1e-10", COUNT);
    cmg_report each[COUNT];
    (void)run(&S, true, each);
    scoped_vector *other = vector_new(COUNT * S.nnz, CMG_FP64);
    scoped_vector *v = vector_from(COUNT * S.nnz, CMG_FP64, S.values);
    scoped_vector *b = vector_from(COUNT * S.n, CMG_FP64, S.b);
    scoped_vector *x = vector_new(COUNT * S.n, CMG_FP64);
    scoped double *y = malloc((size_t)(COUNT * S.n) * sizeof *y);
    CHECK_OK(cmg_vector_fill(other, 1));
    const int before = ctx->threads;
    for (int threads = 1; threads <= 4; threads += cmgi_on_cuda(ctx) ? 3 : 1) {
        scoped_batch *batch = NULL;
        ctx->threads = threads;
        CHECK_OK(cmg_batch_create(S.s, COUNT, threads == 4 ? NULL : other, &batch));
        CHECK_OK(cmg_batch_update(batch, v));
        CHECK_OK(cmg_vector_fill(x, 0));
        CHECK_OK(cmg_batch_solve(batch, b, x, NULL));
        CHECK_OK(cmg_vector_get(x, y));
        CHECK(memcmp(y, S.x, (size_t)(COUNT * S.n) * sizeof *y) == 0);
    }
    ctx->threads = before;
    CHECK_OK(cmg_vector_fill(x, 0));
    cmg_report once = {.size = sizeof once};
    CHECK_OK(cmg_solver_solve_batch(S.s, COUNT, v, b, x, &once));
    CHECK(cmg_outcome_converged(once.outcome) && once.hint[0] == '\0');
    CHECK_OK(cmg_vector_get(x, y));
    CHECK(memcmp(y, S.x, (size_t)(COUNT * S.n) * sizeof *y) == 0);
}

static cmg_status try_create(systems *S, const cmg_vector *v, cmg_size count)
{
    scoped_batch *batch = NULL;
    return cmg_batch_create(S->s, count, v, &batch);
}

TEST(what_cannot_be_is_refused)
{
    static const char *const unsupported[] = {"smoother=fsai", "krylov=fgmres", "renumber=rcm",
                                              "krylov=none", ""};
    scoped_systems S = make(poisson(CELLS, LEVELS, 0), "", COUNT);
    scoped_vector *v = vector_from(COUNT * S.nnz, CMG_FP64, S.values);
    scoped_vector *b = vector_from(COUNT * S.n, CMG_FP64, S.b);
    scoped_vector *single = vector_new(COUNT * S.n, CMG_FP32);
    cmg_batch *batch = NULL;
    cmg_report report = {.size = sizeof report};
    CHECK_STATUS(cmg_batch_create(NULL, COUNT, v, &batch), CMG_ERR_ARG);
    CHECK_STATUS(cmg_batch_create(S.s, COUNT, v, NULL), CMG_ERR_ARG);
    CHECK_STATUS(try_create(&S, v, -1), CMG_ERR_ARG);
    CHECK_STATUS(try_create(&S, v, COUNT - 1), CMG_ERR_SHAPE);
    CHECK_STATUS(try_create(&S, single, COUNT), CMG_ERR_SHAPE);
    CHECK_OK(cmg_batch_create(S.s, COUNT, v, &batch));
    CHECK_STATUS(cmg_batch_system(batch, 0, &report), CMG_ERR_ARG); /* no solve yet */
    CHECK_STATUS(cmg_batch_solve(batch, b, b, NULL), CMG_ERR_ARG);
    CHECK_STATUS(cmg_batch_solve(batch, b, NULL, NULL), CMG_ERR_ARG);
    CHECK_STATUS(cmg_batch_solve(batch, v, b, NULL), CMG_ERR_SHAPE);
    CHECK_STATUS(cmg_batch_solve(batch, b, single, NULL), CMG_ERR_ARG);
    CHECK_STATUS(cmg_batch_update(batch, b), CMG_ERR_SHAPE);
    CHECK_STATUS(cmg_batch_update(batch, NULL), CMG_ERR_ARG);
    scoped_vector *x = vector_new(COUNT * S.n, CMG_FP64);
    CHECK_OK(cmg_batch_solve(batch, b, x, &report)); /* as before */
    CHECK_STATUS(cmg_batch_system(batch, COUNT, &report), CMG_ERR_ARG);
    cmg_batch_destroy(&batch);
    cmg_batch_destroy(&batch);
    scoped double *bad = scaled_copy(S.values, S.nnz, NAN);
    CHECK_STATUS(cmg_hierarchy_update(S.h, 0, CMG_ROLE_A, bad), CMG_ERR_ARG);
    CHECK_OK(try_create(&S, v, COUNT)); /* of a refusal nothing is newer */
    CHECK_OK(cmg_hierarchy_update(S.h, 0, CMG_ROLE_A, S.values));
    CHECK_STATUS(try_create(&S, v, COUNT), CMG_ERR_STATE); /* newer values than the solver */
    for (size_t k = 0; k < sizeof unsupported / sizeof *unsupported; ++k) { /* "": a null space */
        const int flags = unsupported[k][0] == '\0' ? POISSON_NEUMANN : 0;
        scoped_systems T = make(poisson(CELLS, LEVELS, flags), unsupported[k], 1);
        CHECK_STATUS(try_create(&T, NULL, 1), CMG_ERR_UNSUPPORTED);
    }
}

/* Whatever allocation fails, nothing is left behind and the next try succeeds. */
TEST(failed_allocations_leave_nothing)
{
    scoped_systems S = make(poisson(CELLS, LEVELS, POISSON_IDENTITY), "", COUNT);
    scoped_vector *v = vector_from(COUNT * S.nnz, CMG_FP64, S.values);
    for (failing f = {.most = 10000}; failing_next(&f);) {
        failing_done(&f, try_create(&S, v, COUNT));
    }
}
