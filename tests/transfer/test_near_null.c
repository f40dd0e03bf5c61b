/* Near-null-space vectors: what is given, rigid body modes by what they are, constants. */
#include "hierarchy/hierarchy.h"
#include "test.h"
#include "transfer/aggregate.h"

static cmg_hierarchy *diagonal(cmg_size n, const char *block_size)
{
    scoped_csr A = csr_diagonal(n, 1);
    cmg_hierarchy *h = hierarchy_alone(&A.view);
    if (block_size != NULL) {
        CHECK_OK(cmg_hierarchy_set_attribute(h, "block_size", block_size));
    }
    return h;
}

TEST(unknowns_of_a_node_divide_the_rows)
{
    static const struct {
        const char *text;
        int expected;
    } rows[] = {{NULL, 1}, {"1", 1}, {"2", 2}, {"3", 3}, {"5", 1}, {"0", 1}, {"-2", 1}, {"x", 1}};
    for (size_t k = 0; k < sizeof rows / sizeof rows[0]; ++k) {
        scoped_hierarchy *h = diagonal(12, rows[k].text);
        CHECK(cmgi_unknowns_of_node(h, 0) == rows[k].expected);
        h->level[0].block = 4; /* the level knows better */
        CHECK(cmgi_unknowns_of_node(h, 0) == 4);
        h->level[0].block = 7;
        CHECK(cmgi_unknowns_of_node(h, 0) == 1);
    }
}

/* One for each unknown of a node; coordinates of scalars are of no use. */
TEST(constants_are_by_unknowns)
{
    for (int size = 1; size <= 3; ++size) {
        const char *const text[] = {"1", "2", "3"};
        const double x[12] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8};
        scoped_hierarchy *h = diagonal(12, text[size - 1]);
        int block = 0;
        int vectors = 0;
        double *B = NULL;
        if (size == 1) {
            CHECK_OK(cmg_hierarchy_set_vector(h, 0, "coords", NULL, 12, x));
        }
        CHECK_OK(cmgi_near_null_space(h, 0, &block, &vectors, &B));
        CHECK(block == size && vectors == size);
        CHECK_EACH(e, 12 * size, B[e] == (e / size % size == e % size ? 1 : 0));
        cmgi_free(ctx, B);
    }
}

/*
 * A displacement is rigid when no distance changes to first order, (u_i - u_j) . (x_i - x_j) = 0;
 * the modes are as many as there are and independent, that is, orthogonal about the middle.
 */
TEST(rotations_keep_distances)
{
    enum { NODES = 7 };
    for (int dim = 2; dim <= 3; ++dim) {
        uint64_t seed = 3;
        double x[3 * NODES];
        scoped_hierarchy *h = diagonal(dim * NODES, dim == 2 ? "2" : "3");
        int block = 0;
        int vectors = 0;
        double *B = NULL;
        FILL(x, e, dim * NODES, 5 + cmgi_random(&seed));
        CHECK_OK(cmg_hierarchy_set_vector(h, 0, "coords", NULL, dim * NODES, x));
        CHECK_OK(cmgi_near_null_space(h, 0, &block, &vectors, &B));
        CHECK(block == dim && vectors == (dim == 2 ? 3 : 6));
        for (int v = 0; v < vectors; ++v) {
            double size = 0;
            double sum[3] = {0, 0, 0};
            for (int i = 0; i < NODES; ++i) {
                for (int j = 0; j < NODES; ++j) {
                    double stretch = 0;
                    for (int d = 0; d < dim; ++d) {
                        stretch +=
                            (B[(i * dim + d) * vectors + v] - B[(j * dim + d) * vectors + v]) *
                            (x[i * dim + d] - x[j * dim + d]);
                    }
                    CHECK_NEAR(stretch, 0, 1e-14);
                }
                for (int d = 0; d < dim; ++d) {
                    const double u = B[(i * dim + d) * vectors + v];
                    size += u * u;
                    sum[d] += u;
                }
            }
            CHECK(size > 0.1);
            for (int d = 0; d < dim; ++d) { /* translations move, rotations turn about the middle */
                CHECK_NEAR(sum[d], v == d ? NODES : 0, 1e-13);
            }
        }
        if (dim == 3) { /* three planes: rotation r leaves its axis alone */
            for (int r = 0; r < 3; ++r) {
                CHECK_EACH(i, NODES, B[(i * 3 + r) * 6 + 3 + r] == 0);
            }
        }
        cmgi_free(ctx, B);
    }
}

/* As they are, as many as there are. */
TEST(given_vectors_are_taken)
{
    double given[24];
    FILL(given, e, 24, sin(e));
    for (int count = 1; count <= 2; ++count) {
        scoped_hierarchy *h = diagonal(12, "3");
        int block = 0;
        int vectors = 0;
        double *B = NULL;
        CHECK_OK(cmg_hierarchy_set_vector(h, 0, "nullspace", NULL, 12 * count, given));
        CHECK_OK(cmgi_near_null_space(h, 0, &block, &vectors, &B));
        CHECK(block == 3 && vectors == count);
        CHECK(memcmp(B, given, (size_t)(12 * count) * sizeof *B) == 0);
        cmgi_free(ctx, B);
    }
}

/*
 * P_0 B_c = B on the rows of aggregates, columns orthonormal or zero: rigid body modes on nodes of
 * two and three unknowns, every fifth node in no aggregate.
 */
TEST(aggregates_hold_the_vectors)
{
    enum { NODES = 43, SIZE = 4 };
    for (int dim = 2; dim <= 3; ++dim) {
        const int vectors = dim == 2 ? 3 : 6;
        cmg_index of[NODES];
        double B[NODES * 3 * 6];
        const cmgi_aggregates agg = {NODES, NODES / SIZE + 1, of, CMGI_HOST};
        uint64_t seed = 9;
        scoped_csr P = {0};
        double *Bc = NULL;
        FILL(of, i, NODES, i % 5 == 4 ? -1 : i / SIZE);
        FILL(B, e, NODES * dim * vectors, 2 * cmgi_random(&seed) - 1);
        CHECK_OK(cmgi_tentative(ctx, &agg, dim, vectors, B, &P, &Bc));
        CHECK(P.rows == NODES * dim && P.cols == agg.count * vectors);
        scoped double *gram = calloc((size_t)(P.cols * P.cols), sizeof *gram);
        for (cmg_size r = 0; r < P.rows; ++r) {
            const cmg_index a = of[r / dim];
            CHECK(P.indptr[r + 1] - P.indptr[r] == (a < 0 ? 0 : vectors));
            for (int v = 0; v < vectors && a >= 0; ++v) {
                double sum = 0;
                for (cmg_size k = P.indptr[r]; k < P.indptr[r + 1]; ++k) {
                    sum += P.values[k] * Bc[P.indices[k] * vectors + v];
                    for (cmg_size l = P.indptr[r]; l < P.indptr[r + 1]; ++l) {
                        gram[P.indices[k] * P.cols + P.indices[l]] +=
                            v == 0 ? P.values[k] * P.values[l] : 0;
                    }
                }
                CHECK_NEAR(sum, B[r * vectors + v], 1e-13);
            }
        }
        EACH_PAIR (i, P.cols, j, P.cols) {
            const bool zero = i != j || gram[i * P.cols + i] == 0;
            CHECK_NEAR(gram[i * P.cols + j], zero ? 0 : 1, 1e-13);
        }
        cmgi_free(ctx, Bc);
    }
}
