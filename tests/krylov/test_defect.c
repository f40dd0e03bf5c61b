/*
 * Mixed-precision defect correction: fp64 residuals far below what fp32 alone can reach, the same
 * iterates in every way of repeating, pauses, and the ways it can fail.
 */
#include "laplacian.h"

/* One matrix in both precisions. */
typedef struct pair {
    cmgi_csr csr;
    cmg_matrix *A;
    cmg_matrix *low;
} pair;

static cmg_status apply(void *user, cmg_precision p, const void *x, void *y, double *xy,
                        cmgi_addends *left)
{
    const pair *both = user;
    return laplacian_apply(p == CMG_FP64 ? both->A : both->low, p, x, y, xy, left);
}

static cmg_status residual(void *user, const double *b, const double *x, double *r)
{
    return laplacian_residual(((pair *)user)->A, b, x, r);
}

/* The Laplacian over 3, whose entries fp32 does not hold exactly. */
static pair make_pair(cmg_size n, double shift, cmg_precision low)
{
    pair made = {.csr = csr_line(n, 2 + shift, 3)};
    cmg_matrix_options options = matrix_defaults();
    made.A = matrix_new(&made.csr.view, &options);
    options.precision = low;
    made.low = matrix_new(&made.csr.view, &options);
    return made;
}

static void release_pair(pair *p)
{
    cmg_matrix_destroy(&p->A);
    cmg_matrix_destroy(&p->low);
    cmgi_csr_free(ctx, &p->csr);
}

static run solve(pair *p, cmg_krylov method, cmg_loop loop, const cmgi_iteration_options *given)
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
    scoped double *rhs = random_values(n, 8);
    run r = run_begin(&system, &options, 1, rhs, NULL);
    run_solve(&r);
    r.relative = relative_residual(&p->csr.view, rhs, r.x);
    CHECK_NEAR(r.c->residual / r.c->rhs_norm, r.relative, 1e-14 + 1e-6 * r.relative);
    return r;
}

static cmgi_iteration_options options_with(double rtol, double gain, int max_it)
{
    return (cmgi_iteration_options){
        .rtol = rtol, .dtol = 1e5, .inner_rtol = gain, .max_it = max_it};
}

TEST(reaches_fp64_residuals)
{
    scoped_by(release_pair) pair p = make_pair(2000, 0.05, CMG_FP32);
    static const double gains[] = {0.5, 0.1, 1e-3};
    cmgi_iteration_options o = options_with(1e-13, 0.1, 1000);
    scoped_run cg = solve(&p, CMG_KRYLOV_CG, CMG_LOOP_AUTO, &o);
    int starts = 1000;
    CHECK(cg.c->outcome == CMG_CONVERGED_RTOL && cg.c->starts <= 2);
    for (int g = 0; g < 3; ++g) {
        o = options_with(1e-13, gains[g], 1000);
        scoped_run r = solve(&p, CMG_KRYLOV_DEFECT, CMG_LOOP_AUTO, &o);
        CHECK(r.c->outcome == CMG_CONVERGED_RTOL && r.relative <= 1e-13);
        CHECK(r.c->starts >= 4 && r.c->starts <= starts);
        starts = r.c->starts;
        CHECK(r.c->iterations <= 3 * cg.c->iterations);
    }
}

/* With fp64 inside it is CG, started again; a gain beyond the tolerance leaves CG itself. */
TEST(is_cg_where_nothing_is_rounded)
{
    scoped_by(release_pair) pair p = make_pair(700, 0.02, CMG_FP64);
    cmgi_iteration_options o = options_with(1e-9, 1e-12, 1000);
    scoped_run cg = solve(&p, CMG_KRYLOV_CG, CMG_LOOP_AUTO, &o);
    scoped_run inner = solve(&p, CMG_KRYLOV_DEFECT, CMG_LOOP_AUTO, &o);
    CHECK(inner.c->outcome == CMG_CONVERGED_RTOL && inner.c->starts == 1);
    CHECK(inner.c->iterations == cg.c->iterations);
    for (int k = 0; k <= cg.c->iterations && k <= inner.c->iterations; ++k) {
        CHECK_NEAR(inner.c->history[k], cg.c->history[k], 1e-9 * cg.c->history[k]);
    }
}

/* A gain that fp32 cannot give: the inner norms fall on, the true one tells, and it goes on. */
TEST(false_norms_do_no_harm)
{
    scoped_by(release_pair) pair p = make_pair(4000, 1e-4, CMG_FP32);
    const cmgi_iteration_options o = options_with(1e-10, 1e-9, 20000);
    scoped_run r = solve(&p, CMG_KRYLOV_DEFECT, CMG_LOOP_AUTO, &o);
    CHECK(r.c->outcome == CMG_CONVERGED_RTOL && r.relative <= 1e-10);
    CHECK(r.c->starts >= 2);
}

/* Where an inner solve pauses, because the array of norms is full, c is added in two parts:
 * rounding that CG in fp32 feels after thousands of steps (5 % more of them on a GPU). */
TEST(every_way_gives_the_same_iterates)
{
    for (int pauses = 0; pauses < 2; ++pauses) {
        const double shift = pauses ? 1e-5 : 0.1;
        scoped_by(release_pair) pair p = make_pair(2000, shift, CMG_FP32);
        const cmgi_iteration_options o = options_with(1e-7, 1e-3, 8000);
        scoped_run host = solve(&p, CMG_KRYLOV_DEFECT, CMG_LOOP_HOST, &o);
        CHECK(host.c->outcome == CMG_CONVERGED_RTOL && host.relative <= 1e-7);
        CHECK((host.c->iterations > CMGI_STOP_HISTORY * host.c->starts) == (pauses == 1));
        for (int loop = CMG_LOOP_AUTO; loop <= CMG_LOOP_GRAPH; ++loop) {
            scoped_run other = solve(&p, CMG_KRYLOV_DEFECT, (cmg_loop)loop, &o);
            CHECK(other.c->outcome == host.c->outcome && other.c->starts == host.c->starts);
            CHECK(abs(other.c->iterations - host.c->iterations) <= pauses * host.c->iterations / 5);
            CHECK(pauses || memcmp(other.x, host.x, 2000 * sizeof(double)) == 0);
        }
    }
}

static run defect(pair *p, double rtol, int max_it)
{
    const cmgi_iteration_options o = options_with(rtol, 0.01, max_it);
    return solve(p, CMG_KRYLOV_DEFECT, CMG_LOOP_AUTO, &o);
}

TEST(ends_where_it_has_to)
{
    scoped_by(release_pair) pair p = make_pair(500, 0.1, CMG_FP32);
    scoped_by(release_pair) pair indefinite = make_pair(100, -3, CMG_FP32);
    scoped_run never = defect(&p, 0, 5000);
    scoped_run limited = defect(&p, 1e-12, 9);
    scoped_run wrong = defect(&indefinite, 1e-12, 9);
    CHECK(never.c->outcome == CMG_STAGNATED && never.relative < 1e-14);
    CHECK(limited.c->outcome == CMG_ITERATION_LIMIT && limited.c->iterations == 9);
    CHECK(limited.relative < 1); /* what was gained is in x */
    CHECK(wrong.c->outcome == CMG_BREAKDOWN);
}
