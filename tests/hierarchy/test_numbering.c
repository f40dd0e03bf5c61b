/*
 * Numberings of hostile but valid matrices: couplings one way only, unknowns of a node with unequal
 * rows, levels that the block size does not divide, nodes without neighbours. Every order is a
 * permutation, and the matrix after it is P A P^T.
 */
#include "hierarchy/hierarchy.h"
#include "hierarchy/numbering.h"
#include "test.h"

typedef struct matrix {
    cmg_size n;
    double *dense;
} matrix;

static matrix zeros(cmg_size n)
{
    return (matrix){n, calloc((size_t)(n * n) + 1, sizeof(double))};
}

/* Entries off the diagonal from a list of kinds; every entry has a value of its own. */
static matrix pattern(int kind, cmg_size n)
{
    matrix A = zeros(n);
    uint64_t seed = 11;
    EACH_PAIR (i, n, j, n) {
        const double any = cmgi_random(&seed);
        const bool there = kind == 0   ? j == i + 1                              /* one way */
                           : kind == 1 ? false                                   /* diagonal */
                           : kind == 2 ? i % 2 == 0 && j % 2 == 0                /* unequal */
                           : kind == 3 ? any < 0.1                               /* random */
                           : kind == 4 ? i % 5 != 0 && llabs(i - j) <= 2         /* identity */
                                       : i / 4 == j / 4 && (i > j || any < 0.3); /* islands */
        A.dense[i * n + j] = i == j ? (double)(10 * n) : there ? (double)(i * n + j + 1) : 0;
    }
    return A;
}
enum { PATTERNS = 6 };

static cmg_hierarchy *hierarchy_of(const matrix *A, int block)
{
    scoped_csr csr = csr_of_dense(A->n, A->dense);
    scoped double *number = malloc((size_t)A->n * sizeof *number);
    FILL(number, i, A->n, (double)i);
    cmg_hierarchy *h = hierarchy_alone(&csr.view);
    CHECK_OK(cmg_hierarchy_set_vector(h, 0, "rhs", "b", A->n, number));
    CHECK_OK(cmg_hierarchy_set_attribute(h, "block_size", sprint("%d", block)));
    return h;
}

/* The vector that held 0, 1, ... gives the permutation. */
static void check_renumbered(const cmg_hierarchy *h, const matrix *A, int block)
{
    cmg_size n = 0;
    const double *old = vector_in(h, 0, "rhs", "b", &n);
    const cmg_csr B = csr_of(h, 0, CMG_ROLE_A);
    CHECK(n == A->n && B.rows == A->n);
    matrix C = zeros(n);
    int wrong = 0;
    double seen = 0;
    for (cmg_size i = 0; i < n; ++i) {
        seen += old[i];
        wrong += (int)old[i] % block != (int)i % block; /* nodes stay together */
        for (cmg_size k = B.indptr[i]; k < B.indptr[i + 1]; ++k) {
            C.dense[(cmg_size)old[i] * n + (cmg_size)old[B.indices[k]]] += B.values[k];
        }
    }
    CHECK(wrong == 0);
    CHECK(seen == (double)(n * (n - 1) / 2));
    CHECK(memcmp(C.dense, A->dense, (size_t)(n * n) * sizeof(double)) == 0);
    free(C.dense);
}

TEST(hostile_graphs_are_numbered)
{
    static const cmg_numbering numberings[] = {
        CMG_NUMBERING_CUTHILL_MCKEE, CMG_NUMBERING_REVERSE_CUTHILL_MCKEE, CMG_NUMBERING_METIS,
        CMG_NUMBERING_HIERARCHICAL, CMG_NUMBERING_RANDOM};
    static const cmg_size sizes[] = {1, 2, 6, 64, 96};
    EACH_PAIR (kind, PATTERNS, s, sizeof sizes / sizeof sizes[0]) {
        matrix A = pattern(kind, sizes[s]);
        for (int block = 1; block <= 3; ++block) {
            for (size_t k = 0; k < sizeof numberings / sizeof numberings[0]; ++k) {
                scoped_hierarchy *h = hierarchy_of(&A, block);
                const cmg_status status = cmg_hierarchy_renumber(h, numberings[k], 1);
                CHECK(status == CMG_OK ||
                      (status == CMG_ERR_UNSUPPORTED && numberings[k] == CMG_NUMBERING_METIS));
                check_renumbered(h, &A, sizes[s] % block == 0 ? block : 1);
            }
        }
        free(A.dense);
    }
}

/* A path that can be walked one way only: n / 2 steps a node, were it searched from each. */
TEST(one_way_paths_take_linear_time)
{
    const cmg_size n = 300000;
    scoped_csr A = csr_new(n, n, 2 * n - 1);
    scoped cmg_index *order = malloc((size_t)n * sizeof *order);
    for (cmg_size i = 0; i < n; ++i) {
        for (cmg_size j = i; j < n && j <= i + 1; ++j) {
            csr_put(&A, i, j, 1);
        }
    }
    csr_end(&A);
    CHECK_OK(cmgi_order_cuthill_mckee(ctx, &A.view, 1, false, order));
    CHECK_OK(cmgi_order_check(ctx, n, order));
    CHECK(abs(order[0] - order[n - 1]) == n - 1); /* from one end to the other */
    order[3] = order[5];
    CHECK_STATUS(cmgi_order_check(ctx, n, order), CMG_ERR_INTERNAL);
    order[3] = (cmg_index)n;
    CHECK_STATUS(cmgi_order_check(ctx, n, order), CMG_ERR_INTERNAL);
}

static void set_diagonal_matrix(cmg_hierarchy *h, int level, cmg_role role, cmg_size rows,
                                cmg_size cols)
{
    const cmg_size m = rows < cols ? rows : cols;
    scoped_csr D = csr_new(rows, cols, m);
    for (cmg_size i = 0; i < m; ++i) {
        csr_put(&D, i, i, 1);
    }
    csr_end(&D);
    CHECK_OK(cmg_hierarchy_set_csr(h, level, role, NULL, 0, &D.view));
}

/* Level 0 of two unknowns a node, level 1 of three rows, and a mesh. */
static cmg_hierarchy *odd_coarse_level(const char *block, int components)
{
    const cmg_size n = 2048;
    cmgi_stored_mesh *mesh = NULL;
    cmg_hierarchy *h = hierarchy_new(2);
    set_diagonal_matrix(h, 0, CMG_ROLE_A, n, n);
    set_diagonal_matrix(h, 1, CMG_ROLE_A, 3, 3);
    set_diagonal_matrix(h, 0, CMG_ROLE_P, n, 3);
    CHECK_OK(cmg_hierarchy_set_attribute(h, "block_size", block));
    const cmgi_stored_mesh sizes = {
        .dim = 2, .corners = 3, .components = components, .nodes = n / components, .cells = 1};
    CHECK_OK(cmgi_stored_mesh_create(ctx, &sizes, &mesh));
    for (cmg_size v = 0; v < mesh->nodes; ++v) {
        mesh->x[2 * v] = (double)v;
        mesh->x[2 * v + 1] = (double)(v * v);
        mesh->unknown[v] = (cmg_index)v;
    }
    FILL(mesh->cell_nodes, c, 3, c);
    CHECK_OK(cmgi_hierarchy_take_mesh(h, &mesh));
    return h;
}

TEST(levels_have_blocks_of_their_own)
{
    static const cmg_numbering numberings[] = {CMG_NUMBERING_RANDOM, CMG_NUMBERING_HIERARCHICAL,
                                               CMG_NUMBERING_CUTHILL_MCKEE};
    for (size_t k = 0; k < sizeof numberings / sizeof numberings[0]; ++k) {
        scoped_hierarchy *h = odd_coarse_level("2", 2);
        CHECK_OK(cmg_hierarchy_renumber(h, numberings[k], 1));
        unsigned char seen[1024] = {0};
        for (int v = 0; v < 1024; ++v) {
            const cmg_index u = h->mesh->unknown[v];
            CHECK(u >= 0 && u < 1024 && !seen[u]);
            seen[u >= 0 && u < 1024 ? u : 0] = 1;
        }
        CHECK_OK(cmg_hierarchy_check(h));
    }
    static const char *const wrong[] = {"1", "0", "-2", "4", "3", "99999999999999999999", "two"};
    for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; ++k) {
        scoped_hierarchy *h = odd_coarse_level(wrong[k], 2);
        CHECK_STATUS(cmg_hierarchy_renumber(h, CMG_NUMBERING_RANDOM, 1), CMG_ERR_STATE);
    }
}
