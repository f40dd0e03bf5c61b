/*
 * Smoothers of blocks: block Jacobi inverts the blocks, patches add up the inverses of elements.
 */
#include "csr/cliques.h"
#include "smoothers/factors.h"
#include "test.h"

TEST(block_jacobi_inverts_blocks)
{
    static const int sizes[] = {1, 2, 3, 5, 64};
    enum { N = 33 };
    scoped double *dense = model_unsymmetric(N);
    scoped_csr A = csr_of_dense(N, dense);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; ++s) {
        const int b = sizes[s];
        const char *name = sprint("block-jacobi:size=%d", b);
        scoped_factors *made = factors_make(&A, name);
        scoped double *M = dense_of(&made->factor[0].view);
        scoped double *blocks = calloc(N * N, sizeof *blocks);
        for (int k = 0; k < N * N; ++k) {
            const bool inside = k / N / b == k % N / b;
            blocks[k] = inside ? dense[k] : 0;
            CHECK(inside || M[k] == 0);
        }
        CHECK_NEAR(model_distance_to_identity(N, M, blocks), 0, 1e-12);
    }
}

/* The default block is the hierarchy's block_size; nonsense there is refused. */
TEST(block_size_comes_from_the_hierarchy)
{
    scoped double *dense = model_q1(4, 2, 1);
    scoped_csr A = csr_of_dense(16, dense);
    scoped_hierarchy *h = hierarchy_new(1);
    static const struct {
        const char *text;
        cmg_size size; /* 0 = refused */
    } cases[] = {{"2", 2}, {"16", 16}, {"0", 0}, {"x", 0}, {"100000", 0}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c) {
        CHECK_OK(cmg_hierarchy_set_attribute(h, "block_size", cases[c].text));
        const cmgi_smoother_source source = {.ctx = ctx, .h = h, .A = A.view};
        scoped_factors *made = factors_new();
        CHECK_STATUS(cmgi_smoother_make(&source, "block-jacobi", 0, made),
                     cases[c].size > 0 ? CMG_OK : CMG_ERR_ARG);
        if (cases[c].size > 0) {
            CHECK(made->factor[0].indptr[16] == 16 * cases[c].size);
        }
    }
}

/* The cliques of a grid are its cells, 2^dim nodes each, every one once. */
TEST(cliques_are_elements)
{
    for (int dim = 2; dim <= 3; ++dim) {
        enum { M = 5 };
        const cmg_size n = dim == 2 ? M * M : M * M * M;
        const cmg_size cells = dim == 2 ? (M - 1) * (M - 1) : (M - 1) * (M - 1) * (M - 1);
        /* stretched, so that no entry happens to be zero */
        scoped double *dense = model_q1(M, dim, 1.3);
        scoped_csr A = csr_of_dense(n, dense);
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
                CHECK_EACH(d, dim, at[d] - corner[d] == (m >> d & 1));
            }
        }
        cmgi_cliques_free(ctx, &c);
    }
}

/* M against its definition, with the cells of a grid as patches. */
TEST(patches_add_element_inverses)
{
    enum { M = 5, N = M * M };
    scoped double *dense = model_q1(M, 2, 1.3);
    scoped_csr A = csr_of_dense(N, dense);
    scoped_factors *made = factors_make(&A, "patches:omega=1");
    scoped double *computed = dense_of(&made->factor[0].view);
    double expected[N * N] = {0};
    double count[N] = {0};
    for (int pass = 0; pass < 2; ++pass) { /* how many cells meet a node, then the sum */
        for (int e = 0; e < (M - 1) * (M - 1); ++e) {
            const int corner = e / (M - 1) * M + e % (M - 1);
            const int J[4] = {corner, corner + 1, corner + M, corner + M + 1};
            double H[16];
            for (int k = 0; k < 16; ++k) {
                H[k] = dense[J[k / 4] * N + J[k % 4]];
                count[J[k / 4]] += pass == 0 ? 0.25 : 0;
            }
            scoped double *X = inverse_of(4, H);
            for (int k = 0; pass == 1 && k < 16; ++k) {
                expected[J[k / 4] * N + J[k % 4]] += X[k] / sqrt(count[J[k / 4]] * count[J[k % 4]]);
            }
        }
    }
    CHECK_NEAR_EACH(k, N * N, computed[k], expected[k], 1e-13);
    CHECK(made->factor[0].indptr[N] == A.indptr[N]);
}
