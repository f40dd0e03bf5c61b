/*
 * The ways of repeating an iteration (on the host, in one graph that loops) give the same iterates;
 * the stopping test as data; pauses when its array of norms is full.
 */
#include "laplacian.h"

/* z = r / 4: Richardson with it converges while the eigenvalues stay below 8 */
static cmg_status quarter(void *user, const void *r, void *z)
{
    const cmg_matrix *A = user;
    return A->ctx->backend->axpby(A->ctx, CMG_FP64, A->rows, 0.25, r, 0.0, z);
}

/* C takes and gives fp32. */
static bool single = false;

/* z = r in fp32 */
static cmg_status copy_single(void *user, const void *r, void *z)
{
    const cmg_matrix *A = user;
    return A->ctx->backend->convert(A->ctx, A->rows, CMG_FP32, r, CMG_FP32, z);
}

static void solve_again(run *r)
{
    CHECK_OK(cmg_vector_fill(r->solution, 0));
    free(r->x);
    run_solve(r);
}

/* With half of the iterations, of which more may have been recorded behind each other. */
static void solve_half(run *r)
{
    const cmgi_iteration_options whole = r->k->options;
    const int half = r->c->iterations / 2;
    scoped double *x = malloc((size_t)r->k->system.n * sizeof *x);
    r->k->options.max_it = half;
    solve_again(r);
    CHECK(r->c->iterations == half);
    memcpy(x, r->x, (size_t)r->k->system.n * sizeof *x);
    r->k->options.loop = CMG_LOOP_HOST;
    solve_again(r);
    CHECK(memcmp(x, r->x, (size_t)r->k->system.n * sizeof *x) == 0);
    r->k->options = whole;
}

static run solve(cmg_matrix *A, cmg_krylov method, cmg_loop loop, double rtol, int max_it)
{
    const cmg_size n = A->rows;
    const cmgi_linear_system system = {.ctx = ctx,
                                       .n = n,
                                       .user = A,
                                       .apply = laplacian_apply,
                                       .residual = laplacian_residual,
                                       .precondition = method == CMG_KRYLOV_NONE ? quarter
                                                       : single                  ? copy_single
                                                                                 : NULL,
                                       .precision = single ? CMG_FP32 : CMG_FP64,
                                       .recordable = true};
    const cmgi_iteration_options options = {
        .method = method, .rtol = rtol, .dtol = 1e5, .max_it = max_it, .loop = loop};
    scoped double *ones = malloc((size_t)n * sizeof *ones);
    fill_values(ones, n, 1);
    run r = run_begin(&system, &options, 1, ones, NULL);
    run_solve(&r);
    const cmgi_krylov_column first = *r.c;
    CHECK(cmg_context_backend(ctx) == CMG_BACKEND_CPU ? r.k->used == CMG_LOOP_HOST
                                                      : (int)r.k->used >= (int)loop);
    /* a second solve from zero uses what was recorded, a third one as far as it has to go */
    solve_again(&r);
    if (first.iterations < 200) {
        solve_half(&r);
        solve_again(&r);
    }
    CHECK(r.c->iterations == first.iterations && r.c->residual == first.residual);
    return r;
}

/* The same as on the host, bit for bit. */
static void compare_loop(cmg_matrix *A, cmg_krylov method, cmg_loop loop, double rtol, int max_it,
                         cmg_outcome expected)
{
    scoped_run host = solve(A, method, CMG_LOOP_HOST, rtol, max_it);
    scoped_run other = solve(A, method, loop, rtol, max_it);
    CHECK(host.c->outcome == expected);
    CHECK(host.c->iterations > 0 && host.c->iterations <= max_it);
    CHECK(other.c->outcome == host.c->outcome);
    CHECK(other.c->iterations == host.c->iterations);
    CHECK(other.c->residual == host.c->residual);
    CHECK(memcmp(other.c->history, host.c->history,
                 ((size_t)host.c->iterations + 1) * sizeof(double)) == 0);
    CHECK(memcmp(other.x, host.x, (size_t)A->rows * sizeof(double)) == 0);
}

static void same_iterates(cmg_loop loop)
{
    scoped_matrix *A = laplacian(5000, 0.05);
    scoped_matrix *B = laplacian(3000, 1.0);
    scoped_matrix *large = laplacian(9001, 0.05); /* sums of several blocks */
    compare_loop(large, CMG_KRYLOV_CG, loop, 1e-8, 200, CMG_CONVERGED_RTOL);
    compare_loop(large, CMG_KRYLOV_CG, loop, 1e-8, 7, CMG_ITERATION_LIMIT);
    compare_loop(A, CMG_KRYLOV_CG, loop, 1e-8, 200, CMG_CONVERGED_RTOL);
    compare_loop(A, CMG_KRYLOV_CG, loop, 1e-8, 7, CMG_ITERATION_LIMIT);
    compare_loop(A, CMG_KRYLOV_FCG, loop, 1e-8, 200, CMG_CONVERGED_RTOL);
    compare_loop(A, CMG_KRYLOV_FCG, loop, 1e-8, 7, CMG_ITERATION_LIMIT);
    compare_loop(A, CMG_KRYLOV_CG, loop, 1e-16, 400, CMG_STAGNATED); /* starts again */
    compare_loop(B, CMG_KRYLOV_NONE, loop, 1e-6, 200, CMG_CONVERGED_RTOL);
    compare_loop(B, CMG_KRYLOV_NONE, loop, 1e-6, 5, CMG_ITERATION_LIMIT);
}

/* CG on n points of the Laplacian needs about n / 2 iterations from b = 1: more than one array of
 * norms. */
static void pauses(cmg_loop loop)
{
    scoped_matrix *A = laplacian(4 * CMGI_STOP_HISTORY, 0.0);
    scoped_run one = solve(A, CMG_KRYLOV_CG, loop, 1e-10, 3000);
    CHECK(one.c->outcome == CMG_CONVERGED_RTOL);
    CHECK(one.c->iterations > CMGI_STOP_HISTORY + 1);
    CHECK(one.c->iterations <= 3 * CMGI_STOP_HISTORY);
    for (int k = 1; k < one.c->iterations; ++k) {
        CHECK(one.c->history[k] > 0);
    }
    compare_loop(A, CMG_KRYLOV_CG, loop, 1e-10, 3000, CMG_CONVERGED_RTOL);
    compare_loop(A, CMG_KRYLOV_FCG, loop, 1e-10, 3000, CMG_CONVERGED_RTOL);
    single = true;
    compare_loop(A, CMG_KRYLOV_CG, loop, 1e-5, 3000, CMG_CONVERGED_RTOL);
    single = false;
}

static void breaks_down(cmg_loop loop)
{
    scoped_matrix *A = laplacian(100, -3.0); /* diagonal -1: p^T A p < 0 for p = 1 */
    scoped_run one = solve(A, CMG_KRYLOV_CG, loop, 1e-8, 50);
    CHECK(one.c->outcome == CMG_BREAKDOWN && one.c->iterations == 0);
    for (int i = 0; i < 100; ++i) {
        CHECK(one.x[i] == 0);
    }
}

/* No iteration is to be run: a limit of 0, and a tolerance that x = 0 meets. */
static void ends_before_it_begins(cmg_loop loop)
{
    scoped_matrix *A = laplacian(500, 1.0);
    scoped_run none = solve(A, CMG_KRYLOV_CG, loop, 1e-8, 0);
    CHECK(none.c->outcome == CMG_ITERATION_LIMIT && none.c->iterations == 0);
    CHECK_NEAR(none.c->history[0], sqrt(500), 1e-12);
    CHECK(none.c->residual == none.c->history[0]);
    for (int i = 0; i < 500; ++i) {
        CHECK(none.x[i] == 0);
    }
}

static void every_case(cmg_loop loop)
{
    same_iterates(loop);
    pauses(loop);
    breaks_down(loop);
    ends_before_it_begins(loop);
}

/* Few launches, for tools that slow each of them down. */
static void brief_case(cmg_loop loop)
{
    scoped_matrix *A = laplacian(700, 6.0);
    compare_loop(A, CMG_KRYLOV_CG, loop, 1e-6, 200, CMG_CONVERGED_RTOL);
}

TEST(brief_graph)
{
    brief_case(CMG_LOOP_GRAPH);
}

TEST(brief_host)
{
    brief_case(CMG_LOOP_HOST);
}

/* One test a way, so that a tool that does not know one of them can leave it out. */
TEST(graph_gives_the_iterates_of_the_host)
{
    every_case(CMG_LOOP_GRAPH);
}

TEST(host_repeats_itself)
{
    every_case(CMG_LOOP_HOST);
}

static int noted(cmgi_stop s, double rz, double pq, double rr)
{
    cmgi_stop_note(&s, rz, pq, rr);
    return s.outcome;
}

TEST(the_test_knows_every_outcome)
{
    const cmgi_stop s = {.relative = 1e-3,
                         .absolute = 1e-2,
                         .diverged = 1e3,
                         .most = 9,
                         .done = 4,
                         .outcome = CMGI_STOP_NONE,
                         .running = 1};
    CHECK(noted(s, 1, 1, 1) == CMGI_STOP_NONE);
    CHECK(noted(s, -1, 1, 1) == CMG_INDEFINITE_PRECONDITIONER);
    CHECK(noted(s, 1, 0, 1) == CMG_BREAKDOWN);
    CHECK(noted(s, 1, 1, NAN) == CMG_NOT_A_NUMBER);
    CHECK(noted(s, 1, 1, INFINITY) == CMG_NOT_A_NUMBER);
    CHECK(noted(s, 1, 1, 1e-6) == CMG_CONVERGED_RTOL);
    CHECK(noted(s, 1, 1, 5e-5) == CMG_CONVERGED_ATOL);
    CHECK(noted(s, 1, 1, 1e7) == CMG_DIVERGED);
    cmgi_stop last = s;
    last.done = 8;
    CHECK(noted(last, 1, 1, 1) == CMG_ITERATION_LIMIT);
    cmgi_stop full = s;
    full.most = 1000;
    full.done = CMGI_STOP_HISTORY - 1;
    CHECK(noted(full, 1, 1, 1) == CMGI_STOP_PAUSED);
    cmgi_stop over = s;
    over.running = 0;
    cmgi_stop_note(&over, -1, 1, 1);
    CHECK(over.done == 4 && over.outcome == CMGI_STOP_NONE);
}
