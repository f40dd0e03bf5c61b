/*
 * Methods for unsymmetric matrices: FGMRES has the least residual over the Krylov space, BiCGStab
 * the iterates of its textbook loop, both with a preconditioner as well; restarts, and a
 * preconditioner that varies.
 */
#include "laplacian.h"

enum { N = 60, LARGE = 3000, STEPS = 12 };

/* Convection and diffusion on a line: -1 - c, 2 + shift, -1 + c. */
static cmgi_csr convection_csr(cmg_size n, double c)
{
    cmgi_csr A = csr_line(n, 2 + 0.3, 1);
    EACH_ENTRY (&A, i, k) {
        A.values[k] += A.indices[k] < i ? -c : A.indices[k] > i ? c : 0;
    }
    return A;
}

/* The matrix as the backend and the plain loops see it, and a diagonal preconditioner. */
typedef struct problem {
    cmg_matrix *A;
    cmgi_csr csr;
    int calls;
    bool varies;
} problem;

static problem make_problem(cmg_size n, double c)
{
    problem p = {.csr = convection_csr(n, c)};
    p.A = matrix_new(&p.csr.view, NULL);
    return p;
}

static void release(problem *p)
{
    cmg_matrix_destroy(&p->A);
    cmgi_csr_free(ctx, &p->csr);
}

static cmg_status apply(void *user, cmg_precision precision, const void *x, void *y, double *xy,
                        cmgi_addends *left)
{
    return laplacian_apply(((problem *)user)->A, precision, x, y, xy, left);
}

static cmg_status residual(void *user, const double *b, const double *x, double *r)
{
    return laplacian_residual(((problem *)user)->A, b, x, r);
}

/* Half of the entries times 0.2, or in every other call the other half. */
static cmg_status weigh(void *user, const void *from, void *to)
{
    problem *p = user;
    const cmg_size n = p->A->rows;
    const cmg_size half = n / 2;
    const double *r = from;
    double *z = to;
    const bool second = p->varies && p->calls++ % 2 == 1;
    CMGI_TRY(ctx->backend->axpby(ctx, CMG_FP64, half, second ? 1 : 0.2, r, 0.0, z));
    return ctx->backend->axpby(ctx, CMG_FP64, n - half, second ? 0.2 : 1, r + half, 0.0, z + half);
}

static void weigh_plainly(cmg_size n, const double *r, double *z)
{
    FILL(z, i, n, i < n / 2 ? 0.2 * r[i] : r[i]);
}

static void start(double *v)
{
    scoped double *values = random_values(N, 5);
    memcpy(v, values, N * sizeof *v);
}

static run solve(problem *p, cmgi_iteration_options options, bool preconditioned)
{
    const cmg_size n = p->csr.rows;
    const cmgi_linear_system system = {.ctx = ctx,
                                       .n = n,
                                       .user = p,
                                       .apply = apply,
                                       .residual = residual,
                                       .precondition = preconditioned ? weigh : NULL,
                                       .recordable = !p->varies};
    scoped double *rhs = random_values(n, 5);
    options.dtol = 1e5;
    run r = run_begin(&system, &options, 1, rhs, NULL);
    run_solve(&r);
    r.relative = relative_residual(&p->csr.view, rhs, r.x);
    CHECK_NEAR(r.c->residual / r.c->rhs_norm, r.relative, 1e-14);
    return r;
}

/* Residual norms over the spaces A C {r, A C r, ...}, by orthogonal bases of the images. */
static void least_residuals(const problem *p, bool preconditioned, double *norms)
{
    static double V[STEPS + 1][N];
    static double Q[STEPS][N];
    double z[N];
    double r[N];
    start(V[0]);
    memcpy(r, V[0], sizeof r);
    norms[0] = norm(r, N);
    for (int j = 0; j < STEPS; ++j) {
        memcpy(z, V[j], sizeof z);
        if (preconditioned) {
            weigh_plainly(N, V[j], z);
        }
        csr_multiply(&p->csr.view, z, V[j + 1]);
        memcpy(Q[j], V[j + 1], sizeof Q[j]);
        EACH_PAIR (again, 2, i, j) {
            add_scaled(Q[j], -dot(Q[j], Q[i], N), Q[i], N);
        }
        const double length = norm(Q[j], N);
        for (int k = 0; k < N; ++k) {
            Q[j][k] /= length;
            V[j + 1][k] = Q[j][k]; /* as good a basis of the next space */
        }
        add_scaled(r, -dot(r, Q[j], N), Q[j], N);
        norms[j + 1] = norm(r, N);
    }
}

TEST(fgmres_has_the_least_residual)
{
    scoped_by(release) problem p = make_problem(N, 0.4);
    for (int preconditioned = 0; preconditioned < 2; ++preconditioned) {
        double norms[STEPS + 1];
        least_residuals(&p, preconditioned, norms);
        scoped_run ours = solve(
            &p,
            (cmgi_iteration_options){
                .method = CMG_KRYLOV_FGMRES, .restart = STEPS, .rtol = 1e-14, .max_it = STEPS},
            preconditioned);
        CHECK(ours.c->iterations == STEPS && ours.c->outcome == CMG_ITERATION_LIMIT);
        for (int j = 0; j <= STEPS; ++j) {
            CHECK_NEAR(ours.c->history[j], norms[j], 1e-12 * norms[0]);
        }
    }
}

/* The loop of Saad 2003, algorithm 7.7, with the preconditioner from the right. */
static void textbook(const problem *p, double *norms)
{
    double r[N];
    double r0[N];
    double q[N];
    double z[N];
    double v[N];
    double t[N];
    start(r);
    memcpy(r0, r, sizeof r);
    memcpy(q, r, sizeof r);
    norms[0] = norm(r, N);
    for (int j = 0; j < STEPS; ++j) {
        const double rho = dot(r, r0, N);
        weigh_plainly(N, q, z);
        csr_multiply(&p->csr.view, z, v);
        const double alpha = rho / dot(v, r0, N);
        add_scaled(r, -alpha, v, N);
        weigh_plainly(N, r, z);
        csr_multiply(&p->csr.view, z, t);
        const double omega = dot(t, r, N) / dot(t, t, N);
        add_scaled(r, -omega, t, N);
        const double beta = dot(r, r0, N) / rho * alpha / omega;
        FILL(q, i, N, r[i] + beta * (q[i] - omega * v[i]));
        norms[j + 1] = norm(r, N);
    }
}

TEST(bicgstab_is_the_textbook_loop)
{
    scoped_by(release) problem p = make_problem(N, 0.4);
    double norms[STEPS + 1];
    textbook(&p, norms);
    scoped_run ours = solve(
        &p, (cmgi_iteration_options){.method = CMG_KRYLOV_BICGSTAB, .rtol = 1e-14, .max_it = STEPS},
        true);
    CHECK(ours.c->iterations == STEPS);
    for (int j = 0; j <= STEPS; ++j) {
        CHECK_NEAR(ours.c->history[j], norms[j], 1e-9 * norms[0]);
    }
}

/* To the end, with restarts, in every loop that there is. */
TEST(both_converge)
{
    scoped_by(release) problem p = make_problem(LARGE, 0.7);
    const cmg_krylov methods[2] = {CMG_KRYLOV_FGMRES, CMG_KRYLOV_BICGSTAB};
    for (int m = 0; m < 2; ++m) {
        for (int loop = CMG_LOOP_AUTO; loop <= CMG_LOOP_HOST; ++loop) {
            scoped_run ours = solve(&p,
                                    (cmgi_iteration_options){.method = methods[m],
                                                             .restart = 7,
                                                             .rtol = 1e-10,
                                                             .max_it = 1000,
                                                             .loop = (cmg_loop)loop},
                                    true);
            CHECK(ours.c->outcome == CMG_CONVERGED_RTOL);
            CHECK(ours.relative <= 1e-10);
        }
    }
}

TEST(fgmres_takes_what_varies)
{
    scoped_by(release) problem p = make_problem(LARGE, 0.7);
    p.varies = true;
    scoped_run ours =
        solve(&p,
              (cmgi_iteration_options){
                  .method = CMG_KRYLOV_FGMRES, .restart = 50, .rtol = 1e-10, .max_it = 1000},
              true);
    CHECK(ours.c->outcome == CMG_CONVERGED_RTOL && ours.relative <= 1e-10);
    for (int j = 1; j <= ours.c->iterations; ++j) {
        CHECK(ours.c->history[j] <= ours.c->history[j - 1] * (1 + 1e-12));
    }
}
