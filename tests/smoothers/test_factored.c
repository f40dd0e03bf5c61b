/*
 * Factored and direct approximate inverses against what defines them: SAINV and AINV without
 * dropping are exact, FSAI and ISAI satisfy their equations on the pattern, Gauss-Seidel is
 * substitution by colours.
 */
#include "smoothers/cliques.h"
#include "smoothers/pattern.h"
#include "smoothers/smoother.h"
#include "smoothers/model.h"
#include "test.h"

static cmgi_smoother_product *make(const cmgi_csr *A, const char *name)
{
    cmgi_smoother_product *product = calloc(1, sizeof *product);
    const cmgi_smoother_source source = {.ctx = ctx, .A = cmgi_csr_view(A)};
    CHECK_OK(cmgi_smoother_make(&source, name, 0, product));
    return product;
}

static void discard(cmgi_smoother_product *product)
{
    cmgi_smoother_product_clear(ctx, product);
    free(product);
}

static double *multiply_out(const cmgi_smoother_product *product)
{
    double *M = model_to_dense(&product->factor[0]);
    for (int f = 1; f < product->factors; ++f) {
        double *F = model_to_dense(&product->factor[f]);
        double *next = model_multiply(product->factor[f].rows, F, M);
        free(F);
        free(M);
        M = next;
    }
    return M;
}

static double distance_to_identity(cmg_size n, const double *M, const double *A)
{
    double *MA = model_multiply(n, M, A);
    double worst = 0;
    for (cmg_size k = 0; k < n * n; ++k) {
        worst = fmax(worst, fabs(MA[k] - (k % (n + 1) == 0 ? 1 : 0)));
    }
    free(MA);
    return worst;
}

/* An unsymmetric diagonally dominant matrix with a symmetric pattern of random entries. */
static double *unsymmetric(cmg_size n)
{
    double *dense = calloc((size_t)(n * n), sizeof *dense);
    uint64_t seed = 21;
    for (cmg_size k = 0; k < 4 * n; ++k) {
        const cmg_size i = (cmg_size)(cmgi_random(&seed) * (double)n);
        const cmg_size j = (cmg_size)(cmgi_random(&seed) * (double)n);
        dense[i * n + j] = 2 * cmgi_random(&seed) - 1;
    }
    for (cmg_size i = 0; i < n; ++i) {
        dense[i * n + i] = i % 2 == 0 ? 9 : -7;
    }
    return dense;
}

/* Without dropping the factors are exact, in every form. */
static void exact_without_dropping(void)
{
    static const char *const names[] = {
        "sainv:drop=0", "sainv:drop=0:form=three", "sainv:drop=0:form=product",
        "ainv:drop=0",  "ainv:drop=0:form=three",  "ainv:drop=0:form=product"};
    static const cmg_size sizes[] = {1, 2, 5, 31, 33, 64};
    for (size_t v = 0; v < sizeof names / sizeof names[0]; ++v) {
        for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; ++s) {
            const cmg_size n = sizes[s];
            double *dense = unsymmetric(n);
            if (v < 3) { /* N^T N is symmetric positive definite */
                double *transposed = malloc((size_t)(n * n) * sizeof *transposed);
                for (cmg_size k = 0; k < n * n; ++k) {
                    transposed[k] = dense[k % n * n + k / n];
                }
                double *square = model_multiply(n, transposed, dense);
                free(transposed);
                free(dense);
                dense = square;
            }
            cmgi_csr A = model_from_dense(ctx, n, dense);
            cmgi_smoother_product *product = make(&A, names[v]);
            double *M = multiply_out(product);
            CHECK_NEAR(distance_to_identity(n, M, dense), 0, 1e-11);
            free(M);
            free(dense);
            discard(product);
            cmgi_csr_free(ctx, &A);
        }
    }
}

/* The three forms are the same operator also with dropping. */
static void forms_agree(void)
{
    enum { M = 9, N = M * M };
    static const char *const methods[] = {"sainv", "ainv"};
    double *dense = model_q1(M, 2, 2);
    model_rescale(N, dense);
    cmgi_csr A = model_from_dense(ctx, N, dense);
    for (int v = 0; v < 2; ++v) {
        double *forms[3];
        static const char *const words[] = {"two", "three", "product"};
        for (int f = 0; f < 3; ++f) {
            char name[64];
            (void)snprintf(name, sizeof name, "%s:drop=0.1:form=%s", methods[v], words[f]);
            cmgi_smoother_product *product = make(&A, name);
            CHECK(product->factors == (f == 0 ? 2 : f == 1 ? 3 : 1));
            forms[f] = multiply_out(product);
            discard(product);
        }
        for (int k = 0; k < N * N; ++k) {
            const double scale = sqrt(fabs(forms[0][k / N * (N + 1)] * forms[0][k % N * (N + 1)]));
            CHECK_NEAR(forms[1][k], forms[0][k], 1e-13 * scale);
            CHECK_NEAR(forms[2][k], forms[0][k], 1e-13 * scale);
        }
        for (int f = 0; f < 3; ++f) {
            free(forms[f]);
        }
    }
    cmgi_csr_free(ctx, &A);
    free(dense);
}

/* The stored entries a column depend on the drop tolerance, not on the size; caps hold. */
static void columns_stay_short(void)
{
    double per_column[2];
    for (int s = 0; s < 2; ++s) {
        const int m = s == 0 ? 15 : 29;
        const cmg_size n = (cmg_size)m * m;
        double *dense = model_q1(m, 2, 1);
        cmgi_csr A = model_from_dense(ctx, n, dense);
        cmgi_smoother_product *product = make(&A, "sainv:drop=0.1");
        per_column[s] = (double)product->factor[0].indptr[n] / (double)n;
        discard(product);
        product = make(&A, "sainv:drop=0:cap=4");
        for (cmg_size i = 0; i < n; ++i) {
            CHECK(product->factor[0].indptr[i + 1] - product->factor[0].indptr[i] <= 4);
        }
        discard(product);
        cmgi_csr_free(ctx, &A);
        free(dense);
    }
    CHECK(per_column[1] < 1.25 * per_column[0]);
}

static void indefinite_and_unsymmetric_are_named(void)
{
    enum { N = 12 };
    static const char *const names[] = {"sainv", "fsai:tau=0"};
    for (int v = 0; v < 2; ++v) {
        double *dense = model_q1(4, 2, 1);
        double small[N * N];
        for (int k = 0; k < N * N; ++k) {
            small[k] = dense[k / N * 16 + k % N];
        }
        small[7 * N + 7] = -1;
        cmgi_smoother_product *product = calloc(1, sizeof *product);
        cmgi_csr A = model_from_dense(ctx, N, small);
        cmgi_smoother_source source = {.ctx = ctx, .A = cmgi_csr_view(&A)};
        CHECK_STATUS(cmgi_smoother_make(&source, names[v], 0, product), CMG_ERR_SINGULAR);
        CHECK(strstr(cmg_context_message(ctx), "not positive definite") != NULL);
        cmgi_smoother_product_clear(ctx, product);
        cmgi_csr_free(ctx, &A);
        small[7 * N + 7] = 3;
        small[7 * N + 2] += 0.5;
        A = model_from_dense(ctx, N, small);
        source.A = cmgi_csr_view(&A);
        CHECK_STATUS(cmgi_smoother_make(&source, names[v], 0, product), CMG_ERR_UNSUPPORTED);
        discard(product);
        cmgi_csr_free(ctx, &A);
        free(dense);
    }
}

/* ------------------------------------------------------------------ FSAI, ISAI */

/* diag(G A G^T) = 1, and (G A)_ij = 0 for j < i in the pattern of row i of G. */
static void fsai_equations(void)
{
    static const char *const names[] = {"fsai", "fsai:tau=0:adaptive=0", "fsai:tau=0.1:power=2",
                                        "fsai:power=0:adaptive=3:epsilon=0"};
    enum { M = 4, N = M * M * M };
    double *dense = model_q1(M, 3, 3);
    model_rescale(N, dense);
    cmgi_csr A = model_from_dense(ctx, N, dense);
    for (size_t v = 0; v < sizeof names / sizeof names[0]; ++v) {
        cmgi_smoother_product *product = make(&A, names[v]);
        CHECK(product->factors == 2);
        double *G = model_to_dense(&product->factor[0]);
        double *T = model_to_dense(&product->factor[1]);
        double *GA = model_multiply(N, G, dense);
        double *GAGt = model_multiply(N, GA, T);
        for (int i = 0; i < N; ++i) {
            CHECK_NEAR(GAGt[i * N + i], 1, 1e-12);
            for (int j = 0; j < N; ++j) {
                CHECK(j <= i || G[i * N + j] == 0);
                CHECK_NEAR(T[j * N + i], G[i * N + j], 0);
                const double scale = sqrt(dense[j * N + j]);
                CHECK(j >= i || G[i * N + j] == 0 || fabs(GA[i * N + j]) < 1e-12 * scale);
            }
        }
        free(G);
        free(T);
        free(GA);
        free(GAGt);
        discard(product);
    }
    cmgi_csr_free(ctx, &A);
    free(dense);
}

/* log of the Kaporin number grows with sum log(diag(G A G^T)) - 2 log det G; here sum log g_ii
 * counts. */
static void adaptive_fsai_lowers_kaporin_number(void)
{
    enum { M = 8, N = M * M };
    double *dense = model_q1(M, 2, 3);
    cmgi_csr A = model_from_dense(ctx, N, dense);
    double before = -INFINITY;
    for (int steps = 0; steps <= 6; steps += 2) {
        char name[64];
        (void)snprintf(name, sizeof name, "fsai:power=0:epsilon=0:add=1:adaptive=%d", steps);
        cmgi_smoother_product *product = make(&A, name);
        double *G = model_to_dense(&product->factor[0]);
        double log_determinant = 0;
        for (int i = 0; i < N; ++i) {
            log_determinant += log(G[i * N + i]);
        }
        CHECK(log_determinant > before);
        CHECK(product->factor[0].indptr[N] <= (cmg_size)N * (1 + steps));
        before = log_determinant;
        free(G);
        discard(product);
    }
    cmgi_csr_free(ctx, &A);
    free(dense);
}

/* (M A)_ij = I_ij on the pattern of M, for a matrix without symmetry. */
static void isai_equations(void)
{
    enum { N = 65 };
    static const char *const names[] = {"isai", "isai:tau=0", "isai:tau=0.05:power=2"};
    double *dense = unsymmetric(N);
    cmgi_csr A = model_from_dense(ctx, N, dense);
    for (size_t v = 0; v < sizeof names / sizeof names[0]; ++v) {
        cmgi_smoother_product *product = make(&A, names[v]);
        const cmgi_csr *M = &product->factor[0];
        double *dense_m = model_to_dense(M);
        double *MA = model_multiply(N, dense_m, dense);
        for (cmg_size i = 0; i < N; ++i) {
            for (cmg_size k = M->indptr[i]; k < M->indptr[i + 1]; ++k) {
                const cmg_size j = M->indices[k];
                CHECK_NEAR(MA[i * N + j], i == j ? 1 : 0, 1e-12);
            }
        }
        free(dense_m);
        free(MA);
        discard(product);
    }
    cmgi_csr_free(ctx, &A);
    free(dense);
}

/* ------------------------------------------------------------------ blocks and colours */

static void block_jacobi_inverts_blocks(void)
{
    static const int sizes[] = {1, 2, 3, 5, 64};
    enum { N = 33 };
    double *dense = unsymmetric(N);
    cmgi_csr A = model_from_dense(ctx, N, dense);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; ++s) {
        char name[64];
        const int b = sizes[s];
        (void)snprintf(name, sizeof name, "block-jacobi:size=%d", b);
        cmgi_smoother_product *product = make(&A, name);
        double *M = model_to_dense(&product->factor[0]);
        double *blocks = calloc(N * N, sizeof *blocks);
        for (int k = 0; k < N * N; ++k) {
            const bool inside = k / N / b == k % N / b;
            blocks[k] = inside ? dense[k] : 0;
            CHECK(inside || M[k] == 0);
        }
        CHECK_NEAR(distance_to_identity(N, M, blocks), 0, 1e-12);
        free(M);
        free(blocks);
        discard(product);
    }
    cmgi_csr_free(ctx, &A);
    free(dense);
}

/* The default block is the hierarchy's block_size; nonsense there is refused. */
static void block_size_comes_from_the_hierarchy(void)
{
    double *dense = model_q1(4, 2, 1);
    cmgi_csr A = model_from_dense(ctx, 16, dense);
    cmg_hierarchy *h = NULL;
    CHECK_OK(cmg_hierarchy_create(ctx, 1, &h));
    static const struct {
        const char *text;
        cmg_size size; /* 0 = refused */
    } cases[] = {{"2", 2}, {"16", 16}, {"0", 0}, {"x", 0}, {"100000", 0}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c) {
        CHECK_OK(cmg_hierarchy_set_attribute(h, "block_size", cases[c].text));
        const cmgi_smoother_source source = {.ctx = ctx, .h = h, .A = cmgi_csr_view(&A)};
        cmgi_smoother_product *product = calloc(1, sizeof *product);
        CHECK_STATUS(cmgi_smoother_make(&source, "block-jacobi", 0, product),
                     cases[c].size > 0 ? CMG_OK : CMG_ERR_ARG);
        if (cases[c].size > 0) {
            CHECK(product->factor[0].indptr[16] == 16 * cases[c].size);
        }
        discard(product);
    }
    cmg_hierarchy_destroy(&h);
    cmgi_csr_free(ctx, &A);
    free(dense);
}

/*
 * Gauss-Seidel by colours, recovered from the factors: factor c changes the rows of colour c alone,
 * and the whole solves (D + L) y = r where L couples to earlier colours; the symmetric one D + U
 * after that.
 */
static void gauss_seidel_is_substitution(void)
{
    enum { M = 6, N = M * M };
    double *dense = model_q1(M, 2, 2);
    cmgi_csr A = model_from_dense(ctx, N, dense);
    cmgi_smoother_product *forward = make(&A, "gauss-seidel:symmetric=no");
    cmgi_smoother_product *both = make(&A, "gauss-seidel");
    int colour[N];
    for (int f = 0; f < forward->factors; ++f) {
        const cmgi_csr *F = &forward->factor[f];
        for (int i = 0; i < N; ++i) {
            const bool identity =
                F->indptr[i + 1] - F->indptr[i] == 1 && F->values[F->indptr[i]] == 1;
            colour[i] = identity ? colour[i] : f;
        }
    }
    CHECK(forward->factors == 4);
    CHECK(both->factors == 7);
    double *G = multiply_out(forward);
    double *S = multiply_out(both);
    uint64_t seed = 2;
    double r[N];
    double y[N];
    for (int i = 0; i < N; ++i) {
        r[i] = 2 * cmgi_random(&seed) - 1;
    }
    for (int sweep = 0; sweep < 2; ++sweep) {
        for (int c = 0; c < 4; ++c) {
            for (int i = 0; i < N; ++i) {
                const int now = sweep == 0 ? c : 3 - c;
                double sum = sweep == 0 ? r[i] : dense[i * N + i] * y[i];
                for (int j = 0; colour[i] == now && j < N; ++j) {
                    CHECK(j == i || colour[j] != now || dense[i * N + j] == 0);
                    const bool done = sweep == 0 ? colour[j] < now : colour[j] > now;
                    sum -= done ? dense[i * N + j] * y[j] : 0;
                }
                y[i] = colour[i] == now ? sum / dense[i * N + i] : y[i];
            }
        }
        for (int i = 0; i < N; ++i) {
            double sum = 0;
            for (int j = 0; j < N; ++j) {
                sum += (sweep == 0 ? G : S)[i * N + j] * r[j];
            }
            CHECK_NEAR(sum, y[i], 1e-13);
        }
    }
    free(G);
    free(S);
    discard(forward);
    discard(both);
    cmgi_csr_free(ctx, &A);
    free(dense);
}

/* The cliques of a grid are its cells, 2^dim nodes each, every one once. */
static void cliques_are_elements(void)
{
    for (int dim = 2; dim <= 3; ++dim) {
        enum { M = 5 };
        const cmg_size n = dim == 2 ? M * M : M * M * M;
        const cmg_size cells = dim == 2 ? (M - 1) * (M - 1) : (M - 1) * (M - 1) * (M - 1);
        /* stretched, so that no entry happens to be zero */
        double *dense = model_q1(M, dim, 1.3);
        cmgi_csr A = model_from_dense(ctx, n, dense);
        cmgi_cliques c = {0};
        CHECK_OK(cmgi_cliques_find(ctx, &A, 256, &c));
        CHECK(c.count == cells && c.largest == (1 << dim));
        for (cmg_size e = 0; e < c.count; ++e) {
            const cmg_index *members = c.members + c.first[e];
            const cmg_size length = c.first[e + 1] - c.first[e];
            CHECK(length == (1 << dim));
            const int corner[3] = {members[0] % M, members[0] / M % M, members[0] / M / M};
            for (cmg_size m = 0; m < length; ++m) {
                const int at[3] = {members[m] % M, members[m] / M % M, members[m] / M / M};
                for (int d = 0; d < dim; ++d) {
                    CHECK(at[d] - corner[d] == (m >> d & 1));
                }
            }
        }
        cmgi_cliques_free(ctx, &c);
        cmgi_csr_free(ctx, &A);
        free(dense);
    }
}

/* M against its definition, with the cells of a grid as patches. */
static void patches_add_element_inverses(void)
{
    enum { M = 5, N = M * M };
    double *dense = model_q1(M, 2, 1.3);
    cmgi_csr A = model_from_dense(ctx, N, dense);
    cmgi_smoother_product *product = make(&A, "patches:omega=1");
    double *computed = model_to_dense(&product->factor[0]);
    double expected[N * N] = {0};
    double count[N] = {0};
    for (int pass = 0; pass < 2; ++pass) { /* how many cells meet a node, then the sum */
        for (int e = 0; e < (M - 1) * (M - 1); ++e) {
            const int corner = e / (M - 1) * M + e % (M - 1);
            const int J[4] = {corner, corner + 1, corner + M, corner + M + 1};
            double H[16];
            double X[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
            for (int k = 0; k < 16; ++k) {
                H[k] = dense[J[k / 4] * N + J[k % 4]];
                count[J[k / 4]] += pass == 0 ? 0.25 : 0;
            }
            for (int p = 0; p < 4; ++p) { /* Gauss-Jordan: these matrices need no exchanges */
                const double pivot = H[p * 4 + p];
                for (int j = 0; j < 4; ++j) {
                    H[p * 4 + j] /= pivot;
                    X[p * 4 + j] /= pivot;
                }
                for (int i = 0; i < 4; ++i) {
                    const double factor = i == p ? 0 : H[i * 4 + p];
                    for (int j = 0; j < 4; ++j) {
                        H[i * 4 + j] -= factor * H[p * 4 + j];
                        X[i * 4 + j] -= factor * X[p * 4 + j];
                    }
                }
            }
            for (int k = 0; pass == 1 && k < 16; ++k) {
                expected[J[k / 4] * N + J[k % 4]] += X[k] / sqrt(count[J[k / 4]] * count[J[k % 4]]);
            }
        }
    }
    for (int k = 0; k < N * N; ++k) {
        CHECK_NEAR(computed[k], expected[k], 1e-13);
    }
    CHECK(product->factor[0].indptr[N] == A.indptr[N]);
    free(computed);
    discard(product);
    cmgi_csr_free(ctx, &A);
    free(dense);
}

static void too_many_colours_are_refused(void)
{
    enum { N = 70 };
    double *dense = malloc(sizeof(double) * N * N);
    for (int k = 0; k < N * N; ++k) {
        dense[k] = k % (N + 1) == 0 ? N : 1;
    }
    cmgi_csr A = model_from_dense(ctx, N, dense);
    cmgi_smoother_product *product = calloc(1, sizeof *product);
    const cmgi_smoother_source source = {.ctx = ctx, .A = cmgi_csr_view(&A)};
    CHECK_STATUS(cmgi_smoother_make(&source, "gauss-seidel", 0, product), CMG_ERR_UNSUPPORTED);
    discard(product);
    cmgi_csr_free(ctx, &A);
    free(dense);
}

int main(int argc, char **argv)
{
    TEST_BEGIN(argc, argv);
    RUN(exact_without_dropping);
    RUN(forms_agree);
    RUN(columns_stay_short);
    RUN(indefinite_and_unsymmetric_are_named);
    RUN(fsai_equations);
    RUN(adaptive_fsai_lowers_kaporin_number);
    RUN(isai_equations);
    RUN(block_jacobi_inverts_blocks);
    RUN(block_size_comes_from_the_hierarchy);
    RUN(gauss_seidel_is_substitution);
    RUN(cliques_are_elements);
    RUN(patches_add_element_inverses);
    RUN(too_many_colours_are_refused);
    return TEST_END();
}
