/*
 * Methods for unsymmetric matrices: FGMRES has the least residual over the Krylov space, BiCGStab
 * the iterates of its textbook loop, both with a preconditioner as well; restarts, and a
 * preconditioner that varies.
 */
#include "core/random.h"
#include "laplacian.h"

enum { N = 60, LARGE = 3000, STEPS = 12 };

/* Convection and diffusion on a line: -1 - c, 2 + shift, -1 + c. */
static cmgi_csr convection_csr(cmg_size n, double c)
{
    cmgi_csr A = laplacian_csr(n, 0.3, 1);
    for (cmg_size i = 0; i < n; ++i) {
        for (cmg_size k = A.indptr[i]; k < A.indptr[i + 1]; ++k) {
            A.values[k] += A.indices[k] < i ? -c : A.indices[k] > i ? c : 0;
        }
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
    const cmg_csr view = cmgi_csr_view(&p.csr);
    CHECK_OK(cmg_matrix_create_csr(ctx, &view, NULL, &p.A));
    return p;
}

static void release(problem *p)
{
    cmg_matrix_destroy(&p->A);
    cmgi_csr_free(ctx, &p->csr);
}

static cmg_status apply(void *user, cmg_precision precision, const void *x, void *y, double *xy)
{
    return laplacian_apply(((problem *)user)->A, precision, x, y, xy);
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
    for (cmg_size i = 0; i < n; ++i) {
        z[i] = i < n / 2 ? 0.2 * r[i] : r[i];
    }
}

static void multiply(const cmgi_csr *A, const double *x, double *y)
{
    for (cmg_size i = 0; i < A->rows; ++i) {
        y[i] = 0;
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            y[i] += A->values[k] * x[A->indices[k]];
        }
    }
}

static double inner(cmg_size n, const double *x, const double *y)
{
    double sum = 0;
    for (cmg_size i = 0; i < n; ++i) {
        sum += x[i] * y[i];
    }
    return sum;
}

static void random_vector(cmg_size n, double *v)
{
    uint64_t seed = 5;
    for (cmg_size i = 0; i < n; ++i) {
        v[i] = 2 * cmgi_random(&seed) - 1;
    }
}

typedef struct run {
    cmg_outcome outcome;
    int iterations;
    int starts;
    double relative; /* by plain loops */
    double history[1001];
} run;

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
    cmgi_krylov *k = NULL;
    scoped double *rhs = malloc((size_t)n * sizeof *rhs);
    scoped double *solution = malloc((size_t)n * sizeof *solution);
    scoped double *image = malloc((size_t)n * sizeof *image);
    run result = {.outcome = CMG_BREAKDOWN};
    options.dtol = 1e5;
    random_vector(n, rhs);
    CHECK_OK(cmgi_krylov_create(&system, &options, &k));
    scoped_vector *b = vector_new(n, CMG_FP64);
    scoped_vector *x = vector_new(n, CMG_FP64);
    CHECK_OK(cmg_vector_set(b, rhs));
    CHECK_OK(cmgi_krylov_solve(k, b->data, x->data));
    CHECK_OK(cmg_vector_get(x, solution));
    multiply(&p->csr, solution, image);
    for (cmg_size i = 0; i < n; ++i) {
        image[i] = rhs[i] - image[i];
    }
    result.outcome = k->column->outcome;
    result.iterations = k->column->iterations;
    result.starts = k->column->starts;
    result.relative = sqrt(inner(n, image, image) / inner(n, rhs, rhs));
    CHECK_NEAR(k->column->residual / k->column->rhs_norm, result.relative, 1e-14);
    memcpy(result.history, k->column->history,
           ((size_t)k->column->iterations + 1) * sizeof(double));
    cmgi_krylov_destroy(&k);
    return result;
}

/* Residual norms over the spaces A C {r, A C r, ...}, by orthogonal bases of the images. */
static void least_residuals(const problem *p, bool preconditioned, double *norms)
{
    static double V[STEPS + 1][N];
    static double Q[STEPS][N];
    double z[N];
    double r[N];
    random_vector(N, V[0]);
    memcpy(r, V[0], sizeof r);
    norms[0] = sqrt(inner(N, r, r));
    for (int j = 0; j < STEPS; ++j) {
        memcpy(z, V[j], sizeof z);
        if (preconditioned) {
            weigh_plainly(N, V[j], z);
        }
        multiply(&p->csr, z, V[j + 1]);
        memcpy(Q[j], V[j + 1], sizeof Q[j]);
        for (int again = 0; again < 2; ++again) {
            for (int i = 0; i < j; ++i) {
                const double h = inner(N, Q[j], Q[i]);
                for (int k = 0; k < N; ++k) {
                    Q[j][k] -= h * Q[i][k];
                }
            }
        }
        const double length = sqrt(inner(N, Q[j], Q[j]));
        for (int k = 0; k < N; ++k) {
            Q[j][k] /= length;
            V[j + 1][k] = Q[j][k]; /* as good a basis of the next space */
        }
        const double h = inner(N, r, Q[j]);
        for (int k = 0; k < N; ++k) {
            r[k] -= h * Q[j][k];
        }
        norms[j + 1] = sqrt(inner(N, r, r));
    }
}

TEST(fgmres_has_the_least_residual)
{
    problem p = make_problem(N, 0.4);
    for (int preconditioned = 0; preconditioned < 2; ++preconditioned) {
        double norms[STEPS + 1];
        least_residuals(&p, preconditioned, norms);
        const run ours = solve(
            &p,
            (cmgi_iteration_options){
                .method = CMG_KRYLOV_FGMRES, .restart = STEPS, .rtol = 1e-14, .max_it = STEPS},
            preconditioned);
        CHECK(ours.iterations == STEPS && ours.outcome == CMG_ITERATION_LIMIT);
        for (int j = 0; j <= STEPS; ++j) {
            CHECK_NEAR(ours.history[j], norms[j], 1e-12 * norms[0]);
        }
    }
    release(&p);
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
    random_vector(N, r);
    memcpy(r0, r, sizeof r);
    memcpy(q, r, sizeof r);
    norms[0] = sqrt(inner(N, r, r));
    for (int j = 0; j < STEPS; ++j) {
        const double rho = inner(N, r, r0);
        weigh_plainly(N, q, z);
        multiply(&p->csr, z, v);
        const double alpha = rho / inner(N, v, r0);
        for (int i = 0; i < N; ++i) {
            r[i] -= alpha * v[i];
        }
        weigh_plainly(N, r, z);
        multiply(&p->csr, z, t);
        const double omega = inner(N, t, r) / inner(N, t, t);
        for (int i = 0; i < N; ++i) {
            r[i] -= omega * t[i];
        }
        const double beta = inner(N, r, r0) / rho * alpha / omega;
        for (int i = 0; i < N; ++i) {
            q[i] = r[i] + beta * (q[i] - omega * v[i]);
        }
        norms[j + 1] = sqrt(inner(N, r, r));
    }
}

TEST(bicgstab_is_the_textbook_loop)
{
    problem p = make_problem(N, 0.4);
    double norms[STEPS + 1];
    textbook(&p, norms);
    const run ours = solve(
        &p, (cmgi_iteration_options){.method = CMG_KRYLOV_BICGSTAB, .rtol = 1e-14, .max_it = STEPS},
        true);
    CHECK(ours.iterations == STEPS);
    for (int j = 0; j <= STEPS; ++j) {
        CHECK_NEAR(ours.history[j], norms[j], 1e-9 * norms[0]);
    }
    release(&p);
}

/* To the end, with restarts, in every loop that there is. */
TEST(both_converge)
{
    problem p = make_problem(LARGE, 0.7);
    const cmg_krylov methods[2] = {CMG_KRYLOV_FGMRES, CMG_KRYLOV_BICGSTAB};
    for (int m = 0; m < 2; ++m) {
        for (int loop = CMG_LOOP_AUTO; loop <= CMG_LOOP_HOST; ++loop) {
            const run ours = solve(&p,
                                   (cmgi_iteration_options){.method = methods[m],
                                                            .restart = 7,
                                                            .rtol = 1e-10,
                                                            .max_it = 1000,
                                                            .loop = (cmg_loop)loop},
                                   true);
            CHECK(ours.outcome == CMG_CONVERGED_RTOL);
            CHECK(ours.relative <= 1e-10);
        }
    }
    release(&p);
}

TEST(fgmres_takes_what_varies)
{
    problem p = make_problem(LARGE, 0.7);
    p.varies = true;
    const run ours =
        solve(&p,
              (cmgi_iteration_options){
                  .method = CMG_KRYLOV_FGMRES, .restart = 50, .rtol = 1e-10, .max_it = 1000},
              true);
    CHECK(ours.outcome == CMG_CONVERGED_RTOL && ours.relative <= 1e-10);
    for (int j = 1; j <= ours.iterations; ++j) {
        CHECK(ours.history[j] <= ours.history[j - 1] * (1 + 1e-12));
    }
    release(&p);
}
