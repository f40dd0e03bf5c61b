/* SPAI against the normal equations: patterns, sides, limits, both backends. */
#include "core/backend.h"
#include "smoothers/pattern.h"
#include "smoothers/spai.h"

#include "smoothers/factors.h"
#include "test.h"

/* An unsymmetric, irregular, diagonally dominant matrix. */
static double *irregular(cmg_size n)
{
    double *dense = calloc((size_t)(n * n), sizeof *dense);
    uint64_t seed = 5;
    for (cmg_size i = 0; i < n; ++i) {
        dense[i * n + i] = 6 + cmgi_random(&seed);
        for (cmg_size k = 0; k < i % 7; ++k) {
            const cmg_size j = (cmg_size)(cmgi_random(&seed) * (double)n);
            dense[i * n + j] += j == i ? 0 : 2 * cmgi_random(&seed) - 1;
        }
    }
    return dense;
}

/*
 * The minimum is where the residual e_i - m A is orthogonal to row p of A for every p in the
 * pattern of row i of M; for the right variant the same with columns.
 */
TEST(residual_is_orthogonal)
{
    enum { N = 67 };
    static const char *const names[] = {"spai:tau=0:symmetric=no", "spai:tau=0.1:symmetric=no",
                                        "spai:tau=0.05:power=2:symmetric=no",
                                        "spai:power=0:adaptive=3:symmetric=no",
                                        "spai:tau=0:symmetric=no:weight=count"};
    enum { NAMES = sizeof names / sizeof names[0] };
    scoped double *dense = irregular(N);
    scoped double *transposed = malloc(sizeof(double) * N * N);
    FILL(transposed, k, N * N, dense[k % N * N + k / N]);
    scoped_csr A = csr_of_dense(N, dense);
    for (int v = 0; v < 2 * NAMES; ++v) {
        const bool right = v >= NAMES;
        const double *rows = right ? transposed : dense;
        const char *name = sprint("%s%s", names[v % NAMES], right ? ":side=right" : "");
        scoped_factors *made = factors_make(&A, name);
        scoped double *M = dense_of(&made->factor[0].view);
        double worst = 0;
        for (int i = 0; i < N; ++i) {
            double r[N] = {0};
            double weight[N] = {0};
            r[i] = 1;
            for (int p = 0; p < N; ++p) {
                const double m = right ? M[p * N + i] : M[i * N + p];
                for (int j = 0; j < N; ++j) {
                    r[j] -= m * rows[p * N + j];
                    weight[j] += m != 0 && rows[p * N + j] != 0 ? 1 : 0;
                }
            }
            for (int j = 0; strstr(name, "count") != NULL && j < N; ++j) {
                r[j] *= weight[j];
            }
            for (int p = 0; p < N; ++p) {
                double sum = 0;
                for (int j = 0; j < N; ++j) {
                    sum += r[j] * rows[p * N + j];
                }
                const double m = right ? M[p * N + i] : M[i * N + p];
                worst = m != 0 ? fmax(worst, fabs(sum)) : worst;
            }
        }
        CHECK_NEAR(worst, 0, 1e-12);
    }
}

/* SPAI-0 has a closed form, m_ii = a_ii / |row i|^2; a full pattern gives the inverse. */
TEST(limits)
{
    enum { M = 5, N = M * M };
    scoped double *dense = model_q1(M, 2, 1);
    scoped_csr A = csr_of_dense(N, dense);
    scoped_factors *zero = factors_make(&A, "spai:power=0:symmetric=no");
    scoped_factors *full = factors_make(&A, "spai:tau=0:power=4:symmetric=no");
    CHECK(zero->factor[0].indptr[N] == N);
    for (int i = 0; i < N; ++i) {
        double norm2 = 0;
        for (int j = 0; j < N; ++j) {
            norm2 += dense[i * N + j] * dense[i * N + j];
        }
        CHECK_NEAR(zero->factor[0].values[i], dense[i * N + i] / norm2, 1e-14);
    }
    CHECK(full->factor[0].indptr[N] == N * N);
    scoped double *inverse = dense_of(&full->factor[0].view);
    CHECK_NEAR(model_distance_to_identity(N, inverse, dense), 0, 1e-12);
}

/* Patterns hold what their definition says. */
TEST(patterns)
{
    enum { N = 67 };
    scoped double *dense = irregular(N);
    scoped_csr A = csr_of_dense(N, dense);
    scoped_csr S = {0};
    CHECK_OK(cmgi_pattern(ctx, &A.view, 0.08, 1, &S));
    scoped double *pattern = dense_of(&S.view);
    EACH_PAIR (i, N, j, N) {
        const double bound = 0.08 * sqrt(dense[i * N + i] * dense[j * N + j]);
        CHECK((pattern[i * N + j] != 0) == (i == j || fabs(dense[i * N + j]) > bound));
    }
    free(pattern);
    cmgi_csr_free(ctx, &S);
    CHECK_OK(cmgi_pattern(ctx, &A.view, 0, 2, &S));
    pattern = dense_of(&S.view);
    EACH_PAIR (i, N, j, N) {
        bool reached = false;
        for (int k = 0; k < N; ++k) {
            reached = reached || (dense[i * N + k] != 0 && dense[k * N + j] != 0);
        }
        CHECK((pattern[i * N + j] != 0) == reached);
    }
}

/* Columns of identity rows go, the interior stays; symmetry is judged on what is left. */
TEST(dirichlet_rows_decouple)
{
    enum { M = 6, N = M * M };
    scoped double *dense = model_q1(M, 2, 1.5);
    EACH_PAIR (dirichlet, 2, unsymmetric, 2) {
        if (dirichlet == 1) {
            model_dirichlet(N, 5, dense);
        }
        dense[7 * N + 8] += unsymmetric == 1 ? 0.5 : 0;
        scoped_csr A = csr_of_dense(N, dense);
        for (int own = 0; own < 2; ++own) {
            scoped_csr B = {0};
            bool symmetric = false;
            CHECK_OK(cmgi_decouple(ctx, &A.view, own == 1, &B, &symmetric));
            CHECK(symmetric == (unsymmetric == 0));
            CHECK((B.values == A.values) == (own == 0 && dirichlet == 0));
            scoped double *decoupled = dense_of(&B.view);
            for (int k = 0; k < N * N; ++k) {
                const bool boundary = dirichlet == 1 && (k / N % 5 == 0 || k % N % 5 == 0);
                const double expected = boundary && k / N != k % N ? 0 : dense[k];
                CHECK_NEAR(decoupled[k], expected, 0);
            }
        }
        dense[7 * N + 8] -= unsymmetric == 1 ? 0.5 : 0;
    }
}

/* Normal equations lose no more than a few digits beside QR on the same rows, and leave rows to it
 * where two rows of A are nearly one. */
TEST(normal_equations_agree_with_qr)
{
    enum { M = 12, N = M * M };
    for (int dependent = 0; dependent < 2; ++dependent) {
        scoped double *dense = model_q1(M, 2, 1.5);
        for (cmg_size j = 0; dependent == 1 && j < N; ++j) {
            dense[71 * N + j] = dense[70 * N + j] * (1 + 1e-4 * (double)(j % 3));
        }
        scoped_csr A = csr_of_dense(N, dense);
        scoped_csr S = {0};
        CHECK_OK(cmgi_pattern(ctx, &A.view, 0, 1, &S));
        CHECK_OK(cmgi_spai_static(ctx, &A.view, false, &S));
        for (cmg_size i = 0; i < N; ++i) {
            double L[9 * N];
            double b[N] = {0};
            double diagonal[9];
            double x[9];
            const cmg_size begin = S.indptr[i];
            const cmg_size length = S.indptr[i + 1] - begin;
            for (cmg_size p = 0; p < length; ++p) {
                memcpy(L + p * N, dense + S.indices[begin + p] * N, N * sizeof *L);
            }
            b[i] = 1;
            cmgi_qr_solve(N, length, L, b, diagonal, x);
            CHECK_EACH(p, length, fabs(x[p] - S.values[begin + p]) <= 1e-6 * dependent + 1e-12);
        }
    }
}

/* ------------------------------------------------------------------ two ways to the same M */

/* A matrix of another shape each: the sizes around a warp, grids whose rows pass it, rows that
 * depend on each other, Dirichlet rows, an unsymmetric arrow whose long rows need more than a
 * small table. */
static double *shape(int k, cmg_size *n)
{
    static const cmg_size sizes[] = {1, 2, 7, 8, 9, 31, 32, 33, 67, 130};
    enum { SIZES = sizeof sizes / sizeof sizes[0] };
    if (k < SIZES) {
        *n = sizes[k];
        return irregular(*n);
    }
    *n = k == SIZES ? 49 : k == SIZES + 1 ? 216 : k == SIZES + 2 ? 260 : 40;
    if (k == SIZES || k == SIZES + 1) {
        double *dense = model_q1(k == SIZES ? 7 : 6, k == SIZES ? 2 : 3, 1.5);
        model_rescale(*n, dense);
        if (k == SIZES) {
            model_dirichlet(*n, 6, dense);
        }
        return dense;
    }
    double *dense = irregular(*n);
    for (cmg_size j = 0; j < *n; ++j) {
        if (k == SIZES + 2) { /* a full first row and column */
            dense[j] = dense[j * *n] = j == 0 ? 9 : 0.25;
        } else { /* rows 1 and 2 the same, row 3 their double */
            dense[2 * *n + j] = dense[*n + j] += j >= 1 && j <= 3 ? 1 : 0;
            dense[3 * *n + j] = 2 * dense[*n + j];
        }
    }
    return dense;
}
enum { SHAPES = 14 };

/* Largest difference of two matrices of one pattern, relative to the largest entry. */
static double distance(const cmgi_csr *M, const cmgi_csr *K)
{
    const cmg_size nnz = M->indptr[M->rows];
    CHECK(M->rows == K->rows && nnz == K->indptr[K->rows]);
    CHECK_EACH(k, nnz, M->indices[k] == K->indices[k]);
    return relative_difference(M->values, K->values, nnz);
}

/*
 * One thread of the CPU against this context: bit for bit on the CPU. On a device sums are added up
 * in another order; the condition numbers of these least squares stay below 1e4.
 */
TEST(contexts_agree)
{
    static const char *const names[] = {"spai",
                                        "spai:tau=0",
                                        "spai:power=0",
                                        "spai:tau=0:power=2",
                                        "spai:tau=0:side=right:symmetric=no",
                                        "spai:tau=0:symmetric=no:scale=yes",
                                        "spai:tau=0.1:symmetric=yes",
                                        "spai:tau=0:weight=count:symmetric=no"};
    const bool device = ctx->options.backend == CMG_BACKEND_CUDA;
    scoped_context *one = context_of_threads(1);
    for (int k = 0; k < SHAPES; ++k) {
        cmg_size n = 0;
        scoped double *dense = shape(k, &n);
        scoped_csr A = csr_of_dense(n, dense);
        for (size_t v = 0; v < sizeof names / sizeof names[0]; ++v) {
            if (n > 200 && strstr(names[v], "power=2") != NULL) {
                continue; /* nearly full */
            }
            scoped cmgi_smoother_factors *expected = factors_new();
            const cmgi_smoother_source source = {.ctx = one, .A = A.view};
            CHECK_OK(cmgi_smoother_make(&source, names[v], 1, expected));
            scoped_factors *first = factors_make(&A, names[v]);
            scoped_factors *again = factors_make(&A, names[v]);
            const double apart = distance(&first->factor[0], &expected->factor[0]);
            CHECK_NEAR(apart, 0, device ? 1e-11 : 0);
            if (!(apart <= 1e-11)) {
                printf("shape %d, %s\n", k, names[v]);
            }
            CHECK_NEAR(distance(&again->factor[0], &first->factor[0]), 0, 0);
            cmgi_smoother_factors_clear(one, expected);
        }
    }
}

/* Row i + 1 becomes row i, both without what the other has no place for. */
static void make_dependent(cmgi_csr *A, cmg_size i)
{
    for (cmg_size k = A->indptr[i]; k < A->indptr[i + 2]; ++k) {
        const bool below = k >= A->indptr[i + 1];
        cmg_size other = A->indptr[below ? i : i + 1];
        while (other < A->indptr[below ? i + 1 : i + 2] && A->indices[other] != A->indices[k]) {
            ++other;
        }
        if (other == A->indptr[below ? i + 1 : i + 2]) {
            A->values[k] = 0;
        } else if (below) {
            A->values[k] = A->values[other];
        }
    }
}

/*
 * Rows of different values whose columns are those of a few others: where there are enough of
 * them, a device numbers their equations by a table. It is the host's M, to rounding, and the same
 * again; also where rows depend on each other, which have to be found and take QR.
 */
TEST(patterns_may_repeat)
{
    enum { SIDE = 13, ROWS = SIDE * SIDE * SIDE };
    static const char *const names[] = {"spai", "spai:tau=0:symmetric=no:scale=yes",
                                        "spai:tau=0:symmetric=no"};
    scoped_context *one = context_of_threads(0);
    scoped double *dense = model_q1(SIDE, 3, 1.5);
    model_rescale(ROWS, dense);
    scoped_csr A = csr_of_dense(ROWS, dense);
    const cmgi_smoother_source source = {.ctx = one, .A = A.view};
    for (int v = 0; v < 3; ++v) {
        for (cmg_size i = 0; v == 2 && i < ROWS; i += 5 * SIDE) {
            make_dependent(&A, i + 3); /* neighbours */
        }
        scoped cmgi_smoother_factors *expected = factors_new();
        CHECK_OK(cmgi_smoother_make(&source, names[v], 1, expected));
        scoped_factors *first = factors_make(&A, names[v]);
        scoped_factors *again = v == 0 ? factors_make(&A, names[v]) : NULL;
        CHECK_NEAR(distance(&first->factor[0], &expected->factor[0]), 0, 1e-11);
        if (again != NULL) {
            CHECK_NEAR(distance(&again->factor[0], &first->factor[0]), 0, 0);
        }
        cmgi_smoother_factors_clear(one, expected);
    }
}

/* From a matrix on the device alone M is made on it, with the bits that it has from the host; what
 * the device does not make comes from the host. */
TEST(made_where_the_matrix_is)
{
    static const char *const names[] = {"spai", "spai:power=0", "spai:tau=0.1:symmetric=yes",
                                        "spai:tau=0:scale=yes", "spai:weight=count"};
    for (int k = 0; k < SHAPES && cmgi_on_cuda(ctx); ++k) {
        cmg_size n = 0;
        scoped double *dense = shape(k, &n);
        scoped_csr A = csr_of_dense(n, dense);
        cmgi_resident there = {0};
        cmgi_smoother_source source = {.ctx = ctx, .A = {.rows = n, .cols = n}, .there = &there};
        CHECK_OK(cmgi_resident_send(ctx, &A.view, &there));
        CHECK_OK(cmgi_resident_look_again(ctx, &there));
        for (size_t v = 0; v < sizeof names / sizeof names[0]; ++v) {
            scoped_factors *expected = factors_make(&A, names[v]);
            scoped_factors *made = factors_new();
            CHECK_OK(cmgi_smoother_make(&source, names[v], 0, made));
            CHECK(made->factor[0].there != NULL && made->factor[0].indptr == NULL);
            CHECK_OK(cmgi_resident_bring(ctx, &made->factor[0]));
            CHECK_NEAR(distance(&made->factor[0], &expected->factor[0]), 0, 0);
        }
        cmgi_resident_free(ctx, &there);
    }
}

/* Problems of one unknown and so many equations that a device has to take other ways, with the
 * minimum m_ii = a_ii / |row i|^2: the entries of the long first row are below the threshold. */
TEST(long_rows_have_their_minimum)
{
    static const cmg_size lengths[] = {1024, 1025, 2000, 13000};
    for (int k = 0; k < 4; ++k) {
        const cmg_size n = lengths[k];
        scoped_csr A = csr_new(n, n, 2 * n - 1);
        for (cmg_size e = 0; e < 2 * n - 1; ++e) { /* a first row of n entries, then the diagonal */
            csr_put(&A, e < n ? 0 : e - n + 1, e < n ? e : e - n + 1, e > 0 && e < n ? 0.01 : 1);
        }
        csr_end(&A);
        scoped_factors *made = factors_make(&A, "spai:symmetric=no");
        const cmgi_csr *M = &made->factor[0];
        CHECK(M->indptr[n] == n);
        CHECK_NEAR(M->values[0], 1 / (1 + 1e-4 * (double)(n - 1)), 1e-13);
        CHECK_NEAR(M->values[n - 1], 1, 1e-15);
    }
}

/* Growing patterns lowers the residual, and rows below epsilon are left alone. */
TEST(adaptive_growth_pays)
{
    enum { M = 9, N = M * M };
    scoped double *dense = model_q1(M, 2, 3);
    scoped_csr A = csr_of_dense(N, dense);
    double before = INFINITY;
    for (int steps = 0; steps <= 6; steps += 2) {
        const char *name = sprint("spai:power=0:symmetric=no:epsilon=0:add=1:adaptive=%d", steps);
        scoped_factors *made = factors_make(&A, name);
        scoped double *dense_m = dense_of(&made->factor[0].view);
        scoped double *MA = model_multiply(N, dense_m, dense);
        double norm2 = 0;
        for (int k = 0; k < N * N; ++k) {
            const double r = MA[k] - (k % (N + 1) == 0 ? 1 : 0);
            norm2 += r * r;
        }
        CHECK(norm2 < before);
        CHECK(made->factor[0].indptr[N] <= (cmg_size)N * (1 + steps));
        before = norm2;
    }
    scoped_factors *satisfied = factors_make(&A, "spai:power=0:symmetric=no:epsilon=1:adaptive=9");
    CHECK(satisfied->factor[0].indptr[N] == N);
}
