/* Solves: outcomes, true residuals, grid-independent convergence, determinism, faults.
 */
#include "solves.h"
#include "spmv/formats.h"

/* The true residual is reported and meets the tolerance; iterations do not grow with the levels. */
TEST(iterations_are_bounded_over_refinements)
{
    static const char *const smoothers[] = {"jacobi", "l1-jacobi"};
    for (int kind = 0; kind < 4; ++kind) {
        int fewest = 1000;
        int most = 0;
        for (int levels = 3; levels <= 6; ++levels) {
            scoped_hierarchy *h = poisson(1 << levels, levels, kind % 2 ? POISSON_COLUMNS : 0);
            const cmg_solver_options o = solver_options("smoother=%s", smoothers[kind / 2]);
            scoped_vector *b = vector_for(h, 3);
            scoped_vector *x = vector_for(h, 4);
            const cmg_report report = solve(h, &o, b, x);
            CHECK(report.outcome == CMG_CONVERGED_RTOL);
            CHECK(report.relative_residual <= 1e-8);
            CHECK_NEAR(report.relative_residual, true_residual(h, b, x), 1e-12);
            fewest = report.iterations < fewest ? report.iterations : fewest;
            most = report.iterations > most ? report.iterations : most;
        }
        CHECK(most <= 20);
        CHECK(most - fewest <= 8);
    }
}

/* Every combination of cycle, outer iteration, precision and format reaches the same solution. */
TEST(all_ways_lead_to_the_same_solution)
{
    scoped_hierarchy *h = poisson(32, 5, POISSON_COLUMNS);
    const cmg_size n = cmg_hierarchy_rows(h, 0);
    scoped_vector *b = vector_of(n, 3);
    scoped double *reference = NULL;
    for (int way = 0; way < 24; ++way) {
        cmg_solver_options o = solver_options("smoother=jacobi krylov=%s cycle=%s precision=%s "
                                              "fmg=%d format=%s pre=2 post=2 rtol=1e-10",
                                              way % 2 ? "cg" : "none", WORD("cycle", way / 2 % 3),
                                              way / 6 % 2 ? "mixed" : "fp64", way / 12 == 1,
                                              way % 5 == 0 ? "k1rs" : "auto");
        scoped_vector *x = vector_new(n, CMG_FP64);
        const cmg_report report = solve(h, &o, b, x);
        CHECK(cmg_outcome_converged(report.outcome));
        CHECK_NEAR(report.relative_residual, true_residual(h, b, x), 1e-13);
        scoped double *values = values_of(x);
        if (reference == NULL) {
            reference = values_of(x);
        }
        /* residual 1e-10 times the condition number of about 4e2, with room */
        CHECK_NEAR(largest_difference(values, reference, n), 0, 1e-6);
    }
}

TEST(zero_and_exact_starts_return_at_once)
{
    scoped_hierarchy *h = poisson(8, 3, 0);
    scoped_vector *x = vector_for(h, 9);
    double first = 1;
    scoped_vector *b = zero_for(h);
    cmg_solver_options o = defaults();
    cmg_report report = solve(h, &o, b, x);
    CHECK(report.outcome == CMG_CONVERGED_ATOL && report.iterations == 0 &&
          report.relative_residual == 0);
    CHECK_OK(cmg_vector_norm(x, &first));
    CHECK(first == 0);
    scoped_vector *y = vector_for(h, 9);
    const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
    scoped_matrix *M = matrix_new(&A, NULL);
    CHECK_OK(cmg_matrix_apply(M, y, b));
    scoped double *before = values_of(y);
    report = solve(h, &o, b, y);
    CHECK(report.outcome == CMG_CONVERGED_RTOL && report.iterations == 0);
    scoped double *after = values_of(y);
    CHECK(memcmp(before, after, 81 * sizeof *before) == 0);
}

/* Diagonal 2 x 2 systems whose outcome is known without computing. */
static cmg_report solve_diagonal(double a, double b, const cmg_solver_options *o, double damp)
{
    const cmg_size indptr[] = {0, 2, 4};
    const cmg_index indices[] = {0, 1, 0, 1};
    const double values[] = {a, 0.1, 0.1, b};
    const double inverse[] = {damp, 0, 0, damp};
    const cmg_csr A = {2, 2, indptr, indices, values};
    const cmg_csr M = {2, 2, indptr, indices, inverse};
    scoped_hierarchy *h = hierarchy_alone(&A);
    CHECK_OK(cmg_hierarchy_set_csr(h, 0, CMG_ROLE_SMOOTHER, "m", 0, &M));
    scoped_vector *rhs = vector_of(2, 1);
    scoped_vector *x = vector_new(2, CMG_FP64);
    return solve(h, o, rhs, x);
}

TEST(every_outcome_is_reached)
{
    cmg_solver_options o = solver_options("smoother=file:m coarse=smoother coarse_steps=1");
    CHECK(solve_diagonal(1, 2, &o, 1).outcome == CMG_CONVERGED_RTOL);
    o.atol = 1e3;
    CHECK(solve_diagonal(1, 2, &o, 1).outcome == CMG_CONVERGED_ATOL);
    o.atol = 0;
    CHECK(solve_diagonal(1, -2, &o, 1).krylov == CMG_KRYLOV_FGMRES); /* which takes over */
    o.krylov = CMG_KRYLOV_CG;
    CHECK(solve_diagonal(1, -2, &o, 1).outcome == CMG_BREAKDOWN);
    CHECK(solve_diagonal(1, 2, &o, -1).outcome == CMG_INDEFINITE_PRECONDITIONER);
    o.max_it = 0;
    CHECK(solve_diagonal(1, 2, &o, 1).outcome == CMG_ITERATION_LIMIT);
    o.max_it = 100;
    o.krylov = CMG_KRYLOV_NONE;
    CHECK(solve_diagonal(1, 2, &o, 100).outcome == CMG_DIVERGED);
    CHECK(solve_diagonal(1, 2, &o, 1e-9).outcome == CMG_ITERATION_LIMIT);
    o.dtol = 1e300;
    CHECK(solve_diagonal(1e200, 2e200, &o, 1e200).outcome == CMG_NOT_A_NUMBER);
    o = defaults();
    o.rtol = 1e-30;
    scoped_hierarchy *h = poisson(8, 3, 0);
    scoped_vector *b = vector_of(81, 3);
    scoped_vector *x = vector_new(81, CMG_FP64);
    const cmg_report report = solve(h, &o, b, x);
    CHECK(report.outcome == CMG_ROUNDING);
    CHECK(report.relative_residual < 1e-14);
}

/* A pure Neumann problem: the coarse matrix is singular, the right-hand side has mean zero. */
TEST(semidefinite_problems_converge)
{
    scoped_hierarchy *h = poisson(16, 4, POISSON_NEUMANN);
    double values[289];
    double mean = 0;
    uint64_t seed = 2;
    for (int i = 0; i < 289; ++i) {
        values[i] = cmgi_random(&seed);
        mean += values[i] / 289;
    }
    for (int i = 0; i < 289; ++i) {
        values[i] -= mean;
    }
    scoped_vector *b = vector_from(289, CMG_FP64, values);
    scoped_vector *x = vector_new(289, CMG_FP64);
    const cmg_solver_options o = defaults();
    const cmg_report report = solve(h, &o, b, x);
    CHECK(report.outcome == CMG_CONVERGED_RTOL && report.iterations < 20);
}

/* Terabytes are refused with the numbers, before anything of that size is tried. */
TEST(what_cannot_fit_is_refused)
{
    const cmg_size n = 2000000; /* a dense inverse of 16 or 32 TB */
    scoped_csr D = csr_diagonal(n, 2);
    cmg_solver *s = NULL;
    const cmg_solver_options o = solver_options("smoother=jacobi coarse=inverse");
    size_t before[2];
    size_t peak[2];
    scoped_hierarchy *h = hierarchy_alone(&D.view);
    cmg_context_memory(ctx, before, NULL);
    CHECK_STATUS(cmg_solver_create(h, &o, &s), CMG_ERR_MEMORY);
    cmg_context_memory(ctx, NULL, peak);
    CHECK(s == NULL && peak[0] < before[0] + (size_t)1000 * 1000 * 1000);
}

static size_t pretended; /* bytes that are free where nothing is ... */
static size_t nothing;   /* ... of what the context holds */

static cmg_status pretend(cmg_context *on, size_t *bytes)
{
    const size_t held = on->bytes_now[1] > nothing ? on->bytes_now[1] - nothing : 0;
    *bytes = pretended > held ? pretended - held : 0;
    return CMG_OK;
}

/* cmg_solver_memory decides: with a byte less than that the solver is refused. With as much it is
 * made, also where its matrices would be sent to a device for the set-up. */
TEST(the_last_byte_decides)
{
    scoped_hierarchy *h = poisson(64, 6, 0);
    const cmg_solver_options o = defaults();
    const cmgi_backend *real = ctx->backend;
    const cmg_size from = ctx->stage_from;
    cmgi_backend poor = *real;
    scoped_solver *s = NULL;
    size_t needed = 0;
    poor.memory_free = pretend;
    ctx->stage_from = 0;
    CHECK_OK(cmg_solver_create(h, &o, &s)); /* the context has its own scratch from here on */
    cmg_solver_destroy(&s);
    CHECK_OK(cmg_solver_memory(h, &o, &needed));
    nothing = ctx->bytes_now[1];
    ctx->backend = &poor;
    ctx->stage_from = INT64_MAX;
    for (pretended = needed / 2; pretended < needed; pretended += needed - pretended - 1) {
        CHECK_REFUSED(cmg_solver_create(h, &o, &s), CMG_ERR_MEMORY,
                      sprint("%zu are free", pretended));
        CHECK(s == NULL);
        if (pretended == needed - 1) {
            break;
        }
    }
    pretended = needed;
    for (int k = 0; k < 2; ++k) {
        ctx->stage_from = k == 0 ? 0 : INT64_MAX;
        CHECK_OK(cmg_solver_create(h, &o, &s));
        cmg_solver_destroy(&s);
    }
    ctx->stage_from = from;
    ctx->backend = real;
}

TEST(solves_repeat_bitwise)
{
    scoped_hierarchy *h = poisson(64, 6, 0);
    const cmg_size n = cmg_hierarchy_rows(h, 0);
    const cmg_solver_options o = defaults();
    scoped_vector *b = vector_of(n, 3);
    scoped_vector *x = vector_new(n, CMG_FP64);
    (void)solve(h, &o, b, x);
    scoped double *first = values_of(x);
    (void)solve(h, &o, b, from_zero(x));
    scoped double *second = values_of(x);
    CHECK(memcmp(first, second, (size_t)n * sizeof *first) == 0);
}

/* cmg_cg with operators of the caller: the cycle of a solver as preconditioner of a matrix. */
TEST(cycle_preconditions_an_outside_cg)
{
    scoped_hierarchy *h = poisson(32, 5, 0);
    const cmg_solver_options o = defaults();
    const cmg_csr csr = csr_of(h, 0, CMG_ROLE_A);
    scoped_matrix *A = matrix_new(&csr, NULL);
    scoped_solver *s = solver_new(h, &o);
    scoped_vector *b = vector_for(h, 3);
    scoped_vector *x = zero_for(h);
    const cmg_operator a = cmg_matrix_operator(A);
    const cmg_operator c = cmg_solver_operator(s);
    cmg_report with = {.size = sizeof with};
    cmg_report without = {.size = sizeof without};
    CHECK_OK(cmg_cg(ctx, &a, &c, b, x, &o, &with));
    CHECK(with.outcome == CMG_CONVERGED_RTOL);
    CHECK_NEAR(with.relative_residual, true_residual(h, b, x), 1e-13);
    CHECK_OK(cmg_vector_fill(x, 0));
    CHECK_OK(cmg_cg(ctx, &a, NULL, b, x, &o, &without));
    CHECK(with.iterations * 3 < without.iterations);
}

/* Bytes told beforehand over those that are held. */
static double told_over_held(cmg_hierarchy *h, const cmg_solver_options *o)
{
    const int space = cmg_context_backend(ctx) == CMG_BACKEND_CUDA;
    cmg_solver *s = NULL;
    size_t before[2];
    size_t after[2];
    size_t told = 0;
    cmg_context_memory(ctx, before, NULL);
    CHECK_OK(cmg_solver_memory(h, o, &told));
    const cmg_status status = cmg_solver_create(h, o, &s);
    cmg_context_memory(ctx, after, NULL);
    cmg_solver_destroy(&s);
    if (status == CMG_ERR_UNSUPPORTED) {
        return 0.99; /* a format that this backend lacks */
    }
    CHECK_OK(status);
    return (double)told / (double)(after[space] - before[space]);
}

/* At least what is told is held, whatever the smoother, the format and the precision; and for
 * Jacobi in a format whose size is known not much more. */
TEST(memory_is_predicted)
{
    static const struct {
        const char *storage;
        cmg_values values;
        const char *schedule;
    } kinds[] = {{"fp64", CMG_VALUES_FULL, NULL},
                 {"fp32", CMG_VALUES_FULL, NULL},
                 {"fp32 with fp8", CMG_VALUES_FP8, NULL},
                 {"scheduled", CMG_VALUES_FULL, "A:fp8,M:fp16,inverse:fp8"}};
    static const char *const smoothers[] = {
        "jacobi", "l1-jacobi",    "chebyshev4", "neumann", "spai:power=0", "spai",
        "fsai",   "block-jacobi", "isai",       "patches", "sainv"};
    const bool on_device = cmg_context_backend(ctx) == CMG_BACKEND_CUDA;
    scoped_hierarchy *h = on_device ? poisson(64, 5, 0) : poisson(16, 3, 0);
    for (int f = CMG_FORMAT_AUTO; f <= CMG_FORMAT_TUNE; ++f) {
        if (cmgi_format_check(ctx, (cmg_format)f) != CMG_OK) {
            continue; /* a build may lack the studies */
        }
        EACH_PAIR (m, sizeof smoothers / sizeof smoothers[0], k, 4) {
            cmg_solver_options o = solver_options("smoother=%s coarse_limit=100 collapse=%d",
                                                  smoothers[m], m % 2 == 0 ? 0 : -1);
            const bool near = on_device && m == 0 && k == 0 &&
                              (f == CMG_FORMAT_CSR || f == CMG_FORMAT_ELLPACK ||
                               f == CMG_FORMAT_SELL || f == CMG_FORMAT_K1);
            if (f == CMG_FORMAT_DIAGONAL || (f == CMG_FORMAT_TUNE && m > 0) ||
                (m > 3 && m % 4 != (size_t)(f + k) % 4)) {
                continue;
            }
            o.matrix.format = (cmg_format)f;
            o.matrix.values = kinds[k].values;
            o.matrix.keep_map = f == CMG_FORMAT_SELL && k < 2;
            o.matrix.warp = f == CMG_FORMAT_K1 ? 64 : 0;
            o.precision = k == 0 || k == 3 ? CMG_FP64 : CMG_FP32;
            if (kinds[k].schedule != NULL) {
                solver_set(&o, "precision_schedule=%s", kinds[k].schedule);
            }
            const double ratio = told_over_held(h, &o);
            CHECK(ratio > 0);
            CHECK_SAY(ratio <= 1 && (!near || ratio >= 0.6),
                      "%s, %s, %s: %.3f of what is held is told", smoothers[m],
                      cmg_enum_name("format", f), kinds[k].storage, ratio);
        }
    }
    size_t none = 0;
    CHECK_STATUS(cmg_solver_memory(h, NULL, NULL), CMG_ERR_ARG);
    CHECK_STATUS(cmg_solver_memory(NULL, NULL, &none), CMG_ERR_ARG);
}

TEST(wrong_options_are_refused)
{
    scoped_hierarchy *h = poisson(8, 3, 0);
    scoped_solver *s = NULL;
    cmg_solver_options o = solver_options("smoother=file:absent");
    CHECK_STATUS(cmg_solver_create(h, &o, &s), CMG_ERR_ARG);
    CHECK_STATUS(cmg_solver_options_set(&o, "smoother=gauss"), CMG_ERR_ARG);
    CHECK_REFUSED(cmg_solver_create(h, &o, &s), CMG_ERR_ARG, "jacobi");
    o = defaults();
    o.pre = -1;
    CHECK_STATUS(cmg_solver_create(h, &o, &s), CMG_ERR_ARG);
    o = defaults();
    o.rtol = 2;
    CHECK_STATUS(cmg_solver_create(h, &o, &s), CMG_ERR_ARG);
    o = defaults();
    o.cycle = (cmg_cycle)7;
    CHECK_STATUS(cmg_solver_create(h, &o, &s), CMG_ERR_ARG);
    CHECK(s == NULL);
    o = defaults();
    CHECK_OK(cmg_solver_create(h, &o, &s));
    scoped_vector *b = vector_of(80, 1);
    scoped_vector *x = vector_of(81, 1);
    CHECK_STATUS(cmg_solver_solve(s, b, x, NULL), CMG_ERR_SHAPE);
    CHECK_STATUS(cmg_solver_solve(s, x, x, NULL), CMG_ERR_ARG);
    CHECK_STATUS(cmg_solver_solve(s, NULL, x, NULL), CMG_ERR_ARG);
    CHECK_STATUS(cmg_solver_refresh(s), CMG_ERR_STATE);
}

/* Every allocation of set-up and solve fails once: a status, nothing left behind, b unchanged. */
TEST(allocation_failures_leave_nothing)
{
    scoped_hierarchy *h = poisson(8, 3, POISSON_COLUMNS);
    scoped_vector *b = vector_of(81, 1);
    scoped_vector *x = vector_of(81, 2);
    const cmg_solver_options o = solver_options(
        "smoother=jacobi format=k1r precision=mixed fmg=true fuse_restriction=true keep_map=true");
    scoped double *before = values_of(b);
    for (failing f = {.most = 2000}; failing_next(&f);) {
        scoped_solver *s = NULL;
        const cmg_status status = cmg_solver_create(h, &o, &s);
        failing_done(&f, status != CMG_OK ? status : cmg_solver_solve(s, b, x, NULL));
    }
    scoped double *after = values_of(b);
    CHECK(memcmp(before, after, 81 * sizeof *before) == 0);
}
