/*
 * The contract of smoothers, over the whole table: error propagation is a contraction on symmetric
 * positive definite model problems, M is symmetric where the table says so, odd matrices give a
 * result or a clear status, one and two threads give the same bits, and no allocation failure
 * leaks.
 */
#include "smoothers/factors.h"
#include "arrays.h"
#include "test.h"

static bool needs_file(const char *name)
{
    return strncmp(name, "file", 4) == 0;
}

/* The i-th smoother of the contract: methods of the table first, then their examples; NULL past the
 * last. The text lasts until the next call. */
static const char *contract_name(int i)
{
    static char text[128];
    int methods = 0;
    while (cmg_smoother_name(methods) != NULL) {
        ++methods;
    }
    int left = i - methods;
    for (int m = 0; m < methods && left >= 0; ++m) {
        const cmgi_smoother_method *method = NULL;
        cmgi_arguments arguments;
        (void)snprintf(text, sizeof text, "%s%s", cmg_smoother_name(m),
                       needs_file(cmg_smoother_name(m)) ? ":m" : "");
        CHECK_OK(cmgi_smoother_parse(ctx, text, &method, &arguments));
        for (int k = 0; method->examples != NULL && method->examples[k] != NULL; ++k) {
            if (left-- == 0) {
                (void)snprintf(text, sizeof text, "%s:%s", method->name, method->examples[k]);
                return text;
            }
        }
    }
    return i < methods ? cmg_smoother_name(i) : NULL;
}

static cmg_status make(cmg_context *c, const cmgi_csr *A, const char *name,
                       cmgi_smoother_factors *made)
{
    const cmgi_smoother_source source = {.ctx = c, .A = A->view};
    return cmgi_smoother_make(&source, name, 0, made);
}

/* Growth of a random vector under prod_j (I - omega_j M A) over many steps, per step. */
static double contraction(cmg_size n, const double *A, const double *M,
                          const cmgi_smoother_factors *made)
{
    scoped double *MA = model_multiply(n, M, A);
    scoped double *e = random_values(n, 3);
    scoped double *d = malloc((size_t)n * sizeof *d);
    double factor = 0;
    for (int step = 0; step < 60; ++step) {
        for (int s = 0; s < made->stages; ++s) {
            FILL(d, i, n, dot(MA + i * n, e, n));
            add_scaled(e, -made->stage[s], d, n);
        }
        factor = norm(e, n);
        for (cmg_size i = 0; i < n && factor > 0; ++i) {
            e[i] /= factor;
        }
    }
    return factor;
}

static double asymmetry(cmg_size n, const double *M)
{
    double worst = 0;
    double largest = 0;
    EACH_PAIR (i, n, j, n) {
        worst = worst_of(worst, fabs(M[i * n + j] - M[j * n + i]));
        largest = worst_of(largest, fabs(M[i * n + j]));
    }
    return worst / largest;
}

/* Model problems: 0 square cells, 1 stretched cells, 2 badly scaled, 3 cubes, 4 Dirichlet rows. */
static double *model_problem(int which, cmg_size *n)
{
    const int m = which == 3 ? 5 : 11;
    double *dense = model_q1(m, which == 3 ? 3 : 2, which == 1 ? 4 : 1);
    *n = which == 3 ? m * m * m : m * m;
    if (which == 2) {
        model_rescale(*n, dense);
    } else if (which == 4) {
        model_dirichlet(*n, 9, dense);
    }
    return dense;
}

static void check_contraction(int problem, const char *name)
{
    cmg_size n = 0;
    scoped double *dense = model_problem(problem, &n);
    scoped_csr A = csr_of_dense(n, dense);
    scoped_factors *made = factors_new();
    const cmg_status status = make(ctx, &A, name, made);
    CHECK_OK(status);
    if (status == CMG_OK) {
        scoped double *M = factors_dense(made);
        const double factor = contraction(n, dense, M, made);
        const cmgi_smoother_method *method = NULL;
        cmgi_arguments arguments;
        CHECK_OK(cmgi_smoother_parse(ctx, name, &method, &arguments));
        /* the smoothest error is hardly damped: below 1 is what can be asked */
        CHECK(factor < 1 - 1e-4);
        const bool symmetric = method->symmetric && strstr(name, "symmetric=no") == NULL;
        CHECK(!symmetric || asymmetry(n, M) < 1e-13);
        if (!(factor < 1 - 1e-4) || (symmetric && asymmetry(n, M) > 1e-13)) {
            printf("  problem %d, %s: factor %.4f, asymmetry %.2g\n", problem, name, factor,
                   asymmetry(n, M));
        }
    }
}

TEST(contracts_and_is_symmetric)
{
    for (int problem = 0; problem < 5; ++problem) {
        for (int i = 0; contract_name(i) != NULL; ++i) {
            if (!needs_file(contract_name(i))) {
                check_contraction(problem, contract_name(i));
            }
        }
    }
}

/* ------------------------------------------------------------------ odd matrices */

/* A diagonal matrix is inverted by every method that is not damped. */
TEST(survives_small_and_diagonal)
{
    for (int i = 0; contract_name(i) != NULL; ++i) {
        const char *name = contract_name(i);
        for (cmg_size n = 0; n <= 33 && !needs_file(name); n += n < 2 ? 1 : 31) {
            scoped double *dense = calloc((size_t)(n * n + 1), sizeof *dense);
            for (cmg_size k = 0; k < n; ++k) {
                dense[k * n + k] = (double)(k + 2);
            }
            scoped_csr A = csr_of_dense(n, dense);
            scoped_factors *made = factors_new();
            CHECK_OK(make(ctx, &A, name, made));
            scoped double *M = factors_dense(made);
            double worst = 0;
            for (cmg_size k = 0; k < n * n; ++k) {
                const double expected = k % (n + 1) == 0 ? 1 / dense[k] : 0;
                worst = worst_of(worst, fabs(M[k] - expected));
            }
            CHECK_NEAR(worst, 0, 1e-14);
            /* an exact inverse is not damped by an estimate */
            const bool estimated = strstr(name, "auto") != NULL || strncmp(name, "sainv", 5) == 0;
            CHECK(!estimated || n == 0 || fabs(made->stage[0] - 1) < 1e-12);
        }
    }
}

TEST(refuses_zero_diagonal_and_nan)
{
    for (int i = 0; contract_name(i) != NULL; ++i) {
        const char *name = contract_name(i);
        for (int odd = 0; odd < 2 && !needs_file(name); ++odd) {
            scoped double *dense = model_q1(4, 2, 1);
            dense[5 * 16 + 5] = odd == 0 ? 0 : NAN;
            scoped_csr A = csr_of_dense(16, dense);
            scoped_factors *made = factors_new();
            CHECK_REFUSED(make(ctx, &A, name, made), CMG_ERR_SINGULAR, "row 5");
        }
    }
}

/* A singular (pure Neumann) matrix, and one full row and column: no crash, finite values or a
 * status. */
TEST(survives_singular_and_arrow)
{
    enum { N = 40 };
    for (int i = 0; contract_name(i) != NULL; ++i) {
        const char *name = contract_name(i);
        for (int odd = 0; odd < 2 && !needs_file(name); ++odd) {
            double dense[N * N] = {0};
            for (int k = 0; k < N; ++k) {
                dense[k * N + k] = odd == 0 ? (k == 0 || k == N - 1 ? 1 : 2) : N;
                if (k > 0) {
                    const int partner = odd == 0 ? k - 1 : 0;
                    dense[k * N + partner] = -1;
                    dense[partner * N + k] = -1;
                }
            }
            scoped_csr A = csr_of_dense(N, dense);
            scoped_factors *made = factors_new();
            const cmg_status status = make(ctx, &A, name, made);
            CHECK(status == CMG_OK || status == CMG_ERR_SINGULAR);
            for (int f = 0; status == CMG_OK && f < made->factors; ++f) {
                double sum = 0;
                for (cmg_size k = 0; k < made->factor[f].indptr[N]; ++k) {
                    sum += fabs(made->factor[f].values[k]);
                }
                CHECK(isfinite(sum));
            }
        }
    }
}

/* ------------------------------------------------------------------ threads and faults */

static bool same_bits(const cmgi_smoother_factors *a, const cmgi_smoother_factors *b)
{
    bool same = a->factors == b->factors && a->stages == b->stages &&
                memcmp(a->stage, b->stage, sizeof a->stage) == 0;
    for (int f = 0; same && f < a->factors; ++f) {
        same = same_csr(&a->factor[f].view, &b->factor[f].view);
    }
    return same;
}

static void check_threads(const cmgi_csr *A, const char *name)
{
    cmg_context *c[2] = {context_of_threads(1), context_of_threads(2)};
    cmgi_smoother_factors *made[2] = {factors_new(), factors_new()};
    for (int t = 0; t < 2; ++t) {
        CHECK_OK(make(c[t], A, name, made[t]));
    }
    CHECK(same_bits(made[0], made[1]));
    for (int t = 0; t < 2; ++t) {
        cmgi_smoother_factors_clear(c[t], made[t]);
        free(made[t]);
        cmg_context_destroy(&c[t]);
    }
}

TEST(same_for_any_threads)
{
    cmg_size n = 0;
    scoped double *dense = model_problem(2, &n);
    scoped_csr A = csr_of_dense(n, dense);
    for (int i = 0; contract_name(i) != NULL; ++i) {
        if (!needs_file(contract_name(i))) {
            check_threads(&A, contract_name(i));
        }
    }
}

/* The same above the size from which loops are shared by threads. */
TEST(same_for_any_threads_on_large_matrices)
{
    static const char *const names[] = {"jacobi:omega=auto",
                                        "spai",
                                        "spai:adaptive=1:power=0",
                                        "sainv:drop=0.2",
                                        "fsai",
                                        "isai",
                                        "patches",
                                        "chebyshev:base=spai",
                                        "gls"};
    scoped_csr A = model_five_point(66);
    for (size_t k = 0; k < sizeof names / sizeof names[0]; ++k) {
        check_threads(&A, names[k]);
    }
}

/* Every allocation fails in turn; what was allocated before is freed (test_end counts). */
TEST(failed_allocations_leak_nothing)
{
    scoped double *dense = model_q1(4, 2, 1);
    scoped_csr A = csr_of_dense(16, dense);
    for (int i = 0; contract_name(i) != NULL; ++i) {
        const char *name = contract_name(i);
        for (failing f = {.most = 10000}; !needs_file(name) && failing_next(&f);) {
            scoped_factors *made = factors_new();
            failing_done(&f, make(ctx, &A, name, made));
        }
    }
}
