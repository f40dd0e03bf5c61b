/*
 * Mixed-precision defect correction: fp64 residuals far below what fp32 alone can reach, the same
 * iterates in every way of repeating, pauses, and the ways it can fail.
 */
#include "core/random.h"
#include "laplacian.h"

/* One matrix in both precisions. */
typedef struct pair {
    cmg_matrix *A;
    cmg_matrix *low;
} pair;

static cmg_status apply(void *user, cmg_precision p, const void *x, void *y, double *xy)
{
    const pair *both = user;
    return laplacian_apply(p == CMG_FP64 ? both->A : both->low, p, x, y, xy);
}

static cmg_status residual(void *user, const double *b, const double *x, double *r)
{
    return laplacian_residual(((pair *)user)->A, b, x, r);
}

/* The Laplacian over 3, whose entries fp32 does not hold exactly. */
static pair make_pair(cmg_size n, double shift, cmg_precision low)
{
    pair made = {NULL, NULL};
    scoped_csr A = laplacian_csr(n, shift, 3);
    cmg_matrix_options options = matrix_defaults();
    CHECK_OK(cmg_matrix_create_csr(ctx, &A.view, &options, &made.A));
    options.precision = low;
    CHECK_OK(cmg_matrix_create_csr(ctx, &A.view, &options, &made.low));
    return made;
}

static void release_pair(pair *p)
{
    cmg_matrix_destroy(&p->A);
    cmg_matrix_destroy(&p->low);
}

typedef struct run {
    cmg_outcome outcome;
    int iterations;
    int starts;
    double relative; /* by plain loops */
    double *x;
    double *history;
} run;

/* ||b - A x|| / ||b|| of the matrix of make_pair. */
static double true_residual(cmg_size n, double shift, const double *b, const double *x)
{
    double rr = 0;
    double bb = 0;
    for (cmg_size i = 0; i < n; ++i) {
        const double sum = (2 + shift) * x[i] - (i > 0 ? x[i - 1] : 0) - (i + 1 < n ? x[i + 1] : 0);
        rr += (b[i] - sum / 3) * (b[i] - sum / 3);
        bb += b[i] * b[i];
    }
    return sqrt(rr / bb);
}

static run solve(pair *p, double shift, cmg_krylov method, cmg_loop loop,
                 const cmgi_iteration_options *given)
{
    const cmg_size n = p->A->rows;
    const cmgi_linear_system system = {.ctx = ctx,
                                       .n = n,
                                       .user = p,
                                       .apply = apply,
                                       .residual = residual,
                                       .precision = p->low->options.precision,
                                       .recordable = true};
    cmgi_iteration_options options = *given;
    options.method = method;
    options.loop = loop;
    cmgi_krylov *k = NULL;
    uint64_t seed = 8;
    scoped double *rhs = malloc((size_t)n * sizeof *rhs);
    for (cmg_size i = 0; i < n; ++i) {
        rhs[i] = 2 * cmgi_random(&seed) - 1;
    }
    CHECK_OK(cmgi_krylov_create(&system, &options, &k));
    cmg_vector *b = vector_new(n, CMG_FP64);
    cmg_vector *x = vector_new(n, CMG_FP64);
    CHECK_OK(cmg_vector_set(b, rhs));
    CHECK_OK(cmgi_krylov_solve(k, b->data, x->data));
    run result = {k->column->outcome, k->column->iterations, k->column->starts, 0, NULL, NULL};
    result.x = malloc((size_t)n * sizeof(double));
    result.history = malloc(((size_t)k->column->iterations + 1) * sizeof(double));
    memcpy(result.history, k->column->history,
           ((size_t)k->column->iterations + 1) * sizeof(double));
    CHECK_OK(cmg_vector_get(x, result.x));
    result.relative = true_residual(n, shift, rhs, result.x);
    CHECK_NEAR(k->column->residual / k->column->rhs_norm, result.relative,
               1e-14 + 1e-6 * result.relative);
    vectors_destroy(&b, &x);
    cmgi_krylov_destroy(&k);
    return result;
}

static void release(run *r)
{
    free_all(r->x, r->history);
}

static cmgi_iteration_options options_with(double rtol, double gain, int max_it)
{
    return (cmgi_iteration_options){
        .rtol = rtol, .dtol = 1e5, .inner_rtol = gain, .max_it = max_it};
}

TEST(reaches_fp64_residuals)
{
    pair p = make_pair(2000, 0.05, CMG_FP32);
    static const double gains[] = {0.5, 0.1, 1e-3};
    cmgi_iteration_options o = options_with(1e-13, 0.1, 1000);
    run cg = solve(&p, 0.05, CMG_KRYLOV_CG, CMG_LOOP_AUTO, &o);
    int starts = 1000;
    CHECK(cg.outcome == CMG_CONVERGED_RTOL && cg.starts <= 2);
    for (int g = 0; g < 3; ++g) {
        o = options_with(1e-13, gains[g], 1000);
        run r = solve(&p, 0.05, CMG_KRYLOV_DEFECT, CMG_LOOP_AUTO, &o);
        CHECK(r.outcome == CMG_CONVERGED_RTOL && r.relative <= 1e-13);
        CHECK(r.starts >= 4 && r.starts <= starts);
        starts = r.starts;
        CHECK(r.iterations <= 3 * cg.iterations);
        release(&r);
    }
    release(&cg);
    release_pair(&p);
}

/* With fp64 inside it is CG, started again; a gain beyond the tolerance leaves CG itself. */
TEST(is_cg_where_nothing_is_rounded)
{
    pair p = make_pair(700, 0.02, CMG_FP64);
    cmgi_iteration_options o = options_with(1e-9, 1e-12, 1000);
    run cg = solve(&p, 0.02, CMG_KRYLOV_CG, CMG_LOOP_AUTO, &o);
    run inner = solve(&p, 0.02, CMG_KRYLOV_DEFECT, CMG_LOOP_AUTO, &o);
    CHECK(inner.outcome == CMG_CONVERGED_RTOL && inner.starts == 1);
    CHECK(inner.iterations == cg.iterations);
    for (int k = 0; k <= cg.iterations && k <= inner.iterations; ++k) {
        CHECK_NEAR(inner.history[k], cg.history[k], 1e-9 * cg.history[k]);
    }
    release(&cg);
    release(&inner);
    release_pair(&p);
}

/* A gain that fp32 cannot give: the inner norms fall on, the true one tells, and it goes on. */
TEST(false_norms_do_no_harm)
{
    pair p = make_pair(4000, 1e-4, CMG_FP32);
    const cmgi_iteration_options o = options_with(1e-10, 1e-9, 20000);
    run r = solve(&p, 1e-4, CMG_KRYLOV_DEFECT, CMG_LOOP_AUTO, &o);
    CHECK(r.outcome == CMG_CONVERGED_RTOL && r.relative <= 1e-10);
    CHECK(r.starts >= 2);
    release(&r);
    release_pair(&p);
}

/* Where an inner solve pauses, because the array of norms is full, c is added in two parts:
 * rounding that CG in fp32 feels after thousands of steps (5 % more of them on a GPU). */
TEST(every_way_gives_the_same_iterates)
{
    for (int pauses = 0; pauses < 2; ++pauses) {
        const double shift = pauses ? 1e-5 : 0.1;
        pair p = make_pair(2000, shift, CMG_FP32);
        const cmgi_iteration_options o = options_with(1e-7, 1e-3, 8000);
        run host = solve(&p, shift, CMG_KRYLOV_DEFECT, CMG_LOOP_HOST, &o);
        CHECK(host.outcome == CMG_CONVERGED_RTOL && host.relative <= 1e-7);
        CHECK((host.iterations > CMGI_STOP_HISTORY * host.starts) == (pauses == 1));
        for (int loop = CMG_LOOP_AUTO; loop <= CMG_LOOP_GRAPH; ++loop) {
            run other = solve(&p, shift, CMG_KRYLOV_DEFECT, (cmg_loop)loop, &o);
            CHECK(other.outcome == host.outcome && other.starts == host.starts);
            CHECK(abs(other.iterations - host.iterations) <= pauses * host.iterations / 5);
            CHECK(pauses || memcmp(other.x, host.x, 2000 * sizeof(double)) == 0);
            release(&other);
        }
        release(&host);
        release_pair(&p);
    }
}

TEST(ends_where_it_has_to)
{
    pair p = make_pair(500, 0.1, CMG_FP32);
    cmgi_iteration_options o = options_with(0, 0.01, 5000);
    run r = solve(&p, 0.1, CMG_KRYLOV_DEFECT, CMG_LOOP_AUTO, &o);
    CHECK(r.outcome == CMG_STAGNATED && r.relative < 1e-14);
    release(&r);
    o = options_with(1e-12, 0.01, 9);
    r = solve(&p, 0.1, CMG_KRYLOV_DEFECT, CMG_LOOP_AUTO, &o);
    CHECK(r.outcome == CMG_ITERATION_LIMIT && r.iterations == 9);
    CHECK(r.relative < 1); /* what was gained is in x */
    release(&r);
    release_pair(&p);
    p = make_pair(100, -3, CMG_FP32);
    r = solve(&p, -3, CMG_KRYLOV_DEFECT, CMG_LOOP_AUTO, &o);
    CHECK(r.outcome == CMG_BREAKDOWN);
    release(&r);
    release_pair(&p);
}
