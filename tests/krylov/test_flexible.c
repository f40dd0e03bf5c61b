/*
 * Flexible CG: the iterates of Polak and Ribiere's formula in plain loops, CG's where the
 * preconditioner is constant, and convergence where it varies or is not symmetric.
 */
#include "laplacian.h"

/* A system whose preconditioner depends on the call, or on r, or is not symmetric. */
typedef struct varying {
    cmg_matrix *A;
    int calls;
    double *work;    /* n values */
    double *scalars; /* two */
} varying;

static cmg_status apply(void *user, cmg_precision p, const void *x, void *y, double *xy,
                        cmgi_addends *left)
{
    return laplacian_apply(((varying *)user)->A, p, x, y, xy, left);
}

static cmg_status residual(void *user, const double *b, const double *x, double *r)
{
    return laplacian_residual(((varying *)user)->A, b, x, r);
}

static double factor(int call)
{
    return call % 2 ? 0.2 : 1;
}

/* z = r in the first half and factor(call) r in the second. */
static cmg_status alternate(void *user, const void *from, void *to)
{
    varying *v = user;
    const double *r = from;
    double *z = to;
    cmg_context *c = v->A->ctx;
    const cmg_size n = v->A->rows;
    const cmg_size half = n / 2;
    const double f = factor(v->calls++);
    CMGI_TRY(c->backend->axpby(c, CMG_FP64, half, 1.0, r, 0.0, z));
    return c->backend->axpby(c, CMG_FP64, n - half, f, r + half, 0.0, z + half);
}

/*
 * z = r in the first half and (s + 1/10) r in the second, s the ratio of the sums of r_i^2 over two
 * short ranges of i: positive, but not linear in r. Backend operations alone.
 */
static cmg_status weighted(void *user, const void *from, void *to)
{
    varying *v = user;
    const double *r = from;
    double *z = to;
    cmg_context *c = v->A->ctx;
    const cmgi_backend *backend = c->backend;
    const cmg_size n = v->A->rows;
    const cmg_size half = n / 2;
    CMGI_TRY(backend->dot(c, CMG_FP64, 10, 1, r, r, v->scalars));
    CMGI_TRY(backend->dot(c, CMG_FP64, 20, 1, r + 5, r + 5, v->scalars + 1));
    CMGI_TRY(backend->convert(c, n, CMG_FP64, r, CMG_FP64, z));
    CMGI_TRY(backend->axpby(c, CMG_FP64, n, 0.1, r, 0.0, v->work));
    const cmgi_direction d = {.num = v->scalars,
                              .den = v->scalars + 1,
                              .pz = CMG_FP64,
                              .z = v->work + half,
                              .pp = CMG_FP64,
                              .p = z + half};
    return backend->direction(c, n - half, 1, &d);
}

/* z = r + 0.7 S r with the shift (S r)_i = r_(i+1): unsymmetric, its symmetric part positive
 * definite. */
static cmg_status skewed(void *user, const void *from, void *to)
{
    varying *v = user;
    const double *r = from;
    double *z = to;
    cmg_context *c = v->A->ctx;
    const cmg_size n = v->A->rows;
    CMGI_TRY(c->backend->axpby(c, CMG_FP64, n, 1.0, r, 0.0, z));
    return c->backend->axpby(c, CMG_FP64, n - 1, 0.7, r + 1, 1.0, z);
}

typedef cmg_status (*precondition_fn)(void *, const void *, void *);

static run solve(cmg_matrix *A, cmg_krylov method, precondition_fn precondition, bool recordable,
                 cmg_loop loop, const double *rhs, double rtol, int max_it)
{
    varying v = {.A = A};
    CHECK_OK(cmgi_alloc_device(ctx, A->rows, sizeof(double), &v.work));
    CHECK_OK(cmgi_alloc_device(ctx, 2, sizeof(double), &v.scalars));
    const cmgi_linear_system system = {.ctx = ctx,
                                       .n = A->rows,
                                       .user = &v,
                                       .apply = apply,
                                       .residual = residual,
                                       .precondition = precondition,
                                       .recordable = recordable};
    const cmgi_iteration_options options = {
        .method = method, .rtol = rtol, .dtol = 1e5, .max_it = max_it, .loop = loop};
    run r = run_begin(&system, &options, 1, rhs, NULL);
    run_solve(&r);
    cmgi_free_device(ctx, v.work);
    cmgi_free_device(ctx, v.scalars);
    return r;
}

/* Norms of `steps` iterations by beta = (z, r - r_old) / (r, z)_old, with r_old kept. */
static void textbook(int n, double shift, const double *b, int steps, double *norms)
{
    enum { N = 64 };
    double r[N];
    double old[N];
    double z[N];
    double p[N] = {0};
    double q[N];
    double rz_old = 0;
    memcpy(r, b, (size_t)n * sizeof *r);
    memcpy(old, b, (size_t)n * sizeof *old);
    for (int k = 0; k < steps; ++k) {
        FILL(z, i, n, i < n / 2 ? r[i] : factor(k) * r[i]);
        const double rz = dot(r, z, n);
        const double beta = k > 0 ? (rz - dot(z, old, n)) / rz_old : 0;
        FILL(p, i, n, z[i] + beta * p[i]);
        FILL(q, i, n, (2 + shift) * p[i] - (i > 0 ? p[i - 1] : 0) - (i + 1 < n ? p[i + 1] : 0));
        const double alpha = rz / dot(p, q, n);
        memcpy(old, r, (size_t)n * sizeof *old);
        add_scaled(r, -alpha, q, n);
        rz_old = rz;
        norms[k + 1] = sqrt(dot(r, r, n));
    }
}

TEST(follows_polak_and_ribiere)
{
    static const int sizes[] = {2, 31, 32, 33, 64};
    for (int s = 0; s < 5; ++s) {
        const int n = sizes[s];
        const int steps = n < 20 ? n : 20;
        scoped_matrix *A = laplacian(n, 0.5);
        scoped double *b = random_values(n, 5);
        double norms[32];
        textbook(n, 0.5, b, steps, norms);
        scoped_run r = solve(A, CMG_KRYLOV_FCG, alternate, false, CMG_LOOP_HOST, b, 1e-14, steps);
        for (int k = 1; k <= r.c->iterations; ++k) {
            CHECK_NEAR(r.c->history[k], norms[k], 1e-11 * r.c->history[0]);
        }
        CHECK(r.c->iterations >= (n > 2 ? 10 : 1));
    }
}

/* With a constant symmetric C the computed orthogonality is the one that CG has for nothing. */
TEST(is_cg_where_nothing_varies)
{
    scoped_matrix *A = laplacian(500, 0.02);
    scoped double *b = random_values(500, 5);
    scoped_run cg = solve(A, CMG_KRYLOV_CG, NULL, true, CMG_LOOP_GRAPH, b, 1e-8, 300);
    scoped_run fcg = solve(A, CMG_KRYLOV_FCG, NULL, true, CMG_LOOP_GRAPH, b, 1e-8, 300);
    CHECK(cg.c->outcome == CMG_CONVERGED_RTOL && fcg.c->outcome == CMG_CONVERGED_RTOL);
    CHECK(abs(cg.c->iterations - fcg.c->iterations) <= 1);
    for (int k = 0; k <= cg.c->iterations && k <= fcg.c->iterations; ++k) {
        CHECK_NEAR(fcg.c->history[k], cg.c->history[k], 1e-3 * cg.c->history[k]);
    }
}

/* A C that depends on r: CG loses its way. */
TEST(takes_what_varies)
{
    scoped_matrix *A = laplacian(3000, 0.01);
    scoped double *b = random_values(3000, 5);
    scoped_run cg = solve(A, CMG_KRYLOV_CG, weighted, true, CMG_LOOP_GRAPH, b, 1e-8, 1000);
    scoped_run host = solve(A, CMG_KRYLOV_FCG, weighted, true, CMG_LOOP_HOST, b, 1e-8, 1000);
    CHECK(host.c->outcome == CMG_CONVERGED_RTOL);
    CHECK(host.c->residual <= 1e-8 * sqrt(dot(b, b, 3000)));
    CHECK(cg.c->outcome != CMG_CONVERGED_RTOL || cg.c->iterations > host.c->iterations);
    for (int m = CMG_LOOP_GRAPH; m < CMG_LOOP_HOST; ++m) {
        scoped_run other = solve(A, CMG_KRYLOV_FCG, weighted, true, (cmg_loop)m, b, 1e-8, 1000);
        CHECK(other.c->outcome == host.c->outcome && other.c->iterations == host.c->iterations);
        CHECK(memcmp(other.x, host.x, 3000 * sizeof(double)) == 0);
    }
}

TEST(takes_what_is_not_symmetric)
{
    scoped_matrix *A = laplacian(1000, 0.1);
    scoped double *b = random_values(1000, 5);
    scoped_run cg = solve(A, CMG_KRYLOV_CG, skewed, true, CMG_LOOP_GRAPH, b, 1e-8, 1000);
    scoped_run fcg = solve(A, CMG_KRYLOV_FCG, skewed, true, CMG_LOOP_GRAPH, b, 1e-8, 1000);
    CHECK(fcg.c->outcome == CMG_CONVERGED_RTOL);
    CHECK(cg.c->outcome != CMG_CONVERGED_RTOL || cg.c->iterations > fcg.c->iterations);
}
