/*
 * Renumbering: every numbering gives the same hierarchy under a permutation, found through
 * coordinates; what each one promises; two-level products commute with it.
 */
#include "generated.h"

static cmg_hierarchy *generate(int dim, cmg_problem problem, cmg_numbering numbering)
{
    return generated("dim=%d cells=%d problem=%s load=exponential numbering=%s seed=7", dim,
                     dim == 3 ? 4 : 16, FEM_WORD("problem", problem), WORD("numbering", numbering));
}

/* position[i] = number in g of the node that is i in h, by its coordinates. */
static cmg_index *match_nodes(const cmg_hierarchy *h, const cmg_hierarchy *g, int level, int dim)
{
    cmg_size n = 0;
    cmg_size m = 0;
    const double *x = vector_in(h, level, "coords", NULL, &n);
    const double *y = vector_in(g, level, "coords", NULL, &m);
    CHECK(n == m);
    n /= dim;
    cmg_index *position = malloc((size_t)(n + 1) * sizeof *position);
    for (cmg_size i = 0; i < n; ++i) {
        position[i] = -1;
        for (cmg_size j = 0; j < n; ++j) {
            if (memcmp(x + i * dim, y + j * dim, (size_t)dim * sizeof *x) == 0) {
                position[i] = (cmg_index)j;
            }
        }
        CHECK(position[i] >= 0);
    }
    return position;
}

/* max |a_ij - b_(r i)(c j)| for dense work arrays; every entry of both counts. */
static double permuted_difference(const cmg_csr *A, const cmg_csr *B, const cmg_index *r,
                                  const cmg_index *c, int block)
{
    if (A->rows != B->rows || A->cols != B->cols || A->indptr[A->rows] != B->indptr[B->rows]) {
        return INFINITY;
    }
    double most = 0;
    scoped double *row = calloc((size_t)A->cols + 1, sizeof *row);
    for (cmg_size i = 0; i < A->rows; ++i) {
        const cmg_size k = (cmg_size)r[i / block] * block + i % block;
        memset(row, 0, (size_t)A->cols * sizeof *row);
        for (cmg_size e = B->indptr[k]; e < B->indptr[k + 1]; ++e) {
            row[B->indices[e]] = B->values[e];
        }
        for (cmg_size e = A->indptr[i]; e < A->indptr[i + 1]; ++e) {
            const cmg_size j = (cmg_size)c[A->indices[e] / block] * block + A->indices[e] % block;
            most = worst_of(most, fabs(A->values[e] - row[j]));
        }
    }
    return most;
}

static void check_same(const cmg_hierarchy *h, const cmg_hierarchy *g, int dim, int block)
{
    const int levels = cmg_hierarchy_levels(h);
    CHECK(cmg_hierarchy_levels(g) == levels);
    scoped cmg_index *fine = match_nodes(h, g, 0, dim);
    for (int l = 0; l < levels; ++l) {
        const cmg_csr A = csr_of(h, l, CMG_ROLE_A);
        const cmg_csr B = csr_of(g, l, CMG_ROLE_A);
        CHECK_NEAR(permuted_difference(&A, &B, fine, fine, block), 0, 0);
        if (l + 1 < levels) {
            cmg_index *coarse = match_nodes(h, g, l + 1, dim);
            const cmg_csr P = csr_of(h, l, CMG_ROLE_P);
            const cmg_csr Q = csr_of(g, l, CMG_ROLE_P);
            CHECK_NEAR(permuted_difference(&P, &Q, fine, coarse, block), 0, 0);
            if (l == 0) {
                cmg_size n = 0;
                const double *b = vector_in(h, 0, "rhs", "b", &n);
                const double *c = vector_in(g, 0, "rhs", "b", &n);
                CHECK_NEAR_EACH(i, n, b[i], c[fine[i / block] * block + i % block], 0);
            }
            free(fine);
            fine = coarse;
        }
    }
}

TEST(numberings_permute_equally)
{
    for (int n = CMG_NUMBERING_LEXICOGRAPHIC; n <= CMG_NUMBERING_RANDOM; ++n) {
        for (int dim = 2; dim <= 3; ++dim) {
            for (int p = CMG_PROBLEM_POISSON; p <= CMG_PROBLEM_ELASTICITY; p += 2) {
                scoped_hierarchy *h = generate(dim, (cmg_problem)p, CMG_NUMBERING_GENERATED);
                scoped_hierarchy *g = generate(dim, (cmg_problem)p, (cmg_numbering)n);
                if (h != NULL && g != NULL) {
                    check_same(h, g, dim, p == CMG_PROBLEM_ELASTICITY ? dim : 1);
                    CHECK(strcmp(cmg_hierarchy_attribute(g, "numbering"),
                                 cmg_enum_name("numbering", n)) == 0);
                }
            }
        }
    }
}

TEST(metis_permutes_equally)
{
    cmg_generate_options o = generate_options("cells=16 load=exponential numbering=metis");
    scoped_hierarchy *g = NULL;
    if (cmg_hierarchy_generate(ctx, &o, &g) == CMG_ERR_UNSUPPORTED) {
        SKIP("no METIS in this build");
        return;
    }
    scoped_hierarchy *h = generate(2, CMG_PROBLEM_POISSON, CMG_NUMBERING_GENERATED);
    check_same(h, g, 2, 1);
}

/*
 * By coarse cell: going through the nodes, one leaves a coarse cell at most once for every such
 * cell, and inside it the steps are no longer than its diagonal. Two levels: coarse cells are 2 x 2
 * fine ones.
 */
static void check_cells(cmg_element element, bool general)
{
    cmg_size n = 0;
    scoped_hierarchy *h =
        generated("element=%s cells=16 levels=2 general=%d dirichlet=neumann numbering=cells",
                  FEM_WORD("element", element), general);
    const double *x = vector_in(h, 0, "coords", NULL, &n);
    const bool triangles = element == CMG_ELEMENT_P1 || element == CMG_ELEMENT_P2;
    const int cells = triangles ? 128 : 64;
    const double diagonal = sqrt(2.0) / 8;
    int jumps = 0;
    for (cmg_size i = 1; i < n / 2; ++i) {
        jumps += hypot(x[2 * i] - x[2 * i - 2], x[2 * i + 1] - x[2 * i - 1]) > diagonal + 1e-12;
    }
    CHECK(jumps < cells);
}

TEST(cells_stay_together)
{
    for (int e = CMG_ELEMENT_Q1; e <= CMG_ELEMENT_P2; ++e) {
        check_cells((cmg_element)e, true);
        check_cells((cmg_element)e, false);
    }
}

static cmg_size bandwidth(const cmg_csr *A)
{
    cmg_size most = 0;
    EACH_ENTRY (A, i, k) {
        const cmg_size distance = A->indices[k] > i ? A->indices[k] - i : i - A->indices[k];
        most = distance > most ? distance : most;
    }
    return most;
}

/* 15 x 15 nodes: lexicographic has bandwidth 16 again from any start; Cuthill-McKee stays below 2 x
 * 15 + 1. */
TEST(numberings_keep_their_promise)
{
    scoped_hierarchy *h = generate(2, CMG_PROBLEM_POISSON, CMG_NUMBERING_RANDOM);
    cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
    CHECK(bandwidth(&A) > 100);
    CHECK_OK(cmg_hierarchy_renumber(h, CMG_NUMBERING_LEXICOGRAPHIC, 0));
    A = csr_of(h, 0, CMG_ROLE_A);
    CHECK(bandwidth(&A) == 16);
    CHECK_OK(cmg_hierarchy_renumber(h, CMG_NUMBERING_RANDOM, 3));
    CHECK_OK(cmg_hierarchy_renumber(h, CMG_NUMBERING_CUTHILL_MCKEE, 0));
    A = csr_of(h, 0, CMG_ROLE_A);
    CHECK(bandwidth(&A) <= 31);
    CHECK_OK(cmg_hierarchy_renumber(h, CMG_NUMBERING_HIERARCHICAL, 0));
    for (int l = 0; l + 1 < cmg_hierarchy_levels(h); ++l) {
        const cmg_csr P = csr_of(h, l, CMG_ROLE_P);
        CHECK_EACH(j, P.cols, P.indptr[j + 1] == P.indptr[j] + 1 && P.indices[P.indptr[j]] == j);
    }
    CHECK_STATUS(cmg_hierarchy_renumber(h, CMG_NUMBERING_CELLS, 0), CMG_ERR_STATE);
    CHECK_STATUS(cmg_hierarchy_renumber(h, (cmg_numbering)99, 0), CMG_ERR_ARG);
}

/* A diagonal smoother and an inverse follow the unknowns. */
TEST(smoothers_follow)
{
    scoped_hierarchy *h = generate(2, CMG_PROBLEM_POISSON, CMG_NUMBERING_GENERATED);
    const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
    const cmg_size n = A.rows;
    scoped_csr M = csr_diagonal(n, 1);
    cmg_size m = 0;
    const double *x = vector_in(h, 0, "coords", NULL, &m);
    FILL(M.values, i, n, x[2 * i] + 10 * x[2 * i + 1]);
    CHECK_OK(cmg_hierarchy_set_csr(h, 0, CMG_ROLE_SMOOTHER, "mark", 0, &M.view));
    CHECK_OK(cmg_hierarchy_renumber(h, CMG_NUMBERING_RANDOM, 5));
    cmg_csr after = {0};
    CHECK_OK(cmg_hierarchy_get_csr(h, 0, CMG_ROLE_SMOOTHER, "mark", 0, &after));
    x = vector_in(h, 0, "coords", NULL, &m);
    for (cmg_size i = 0; i < n; ++i) {
        CHECK(after.indices[i] == i);
        CHECK_NEAR(after.values[i], x[2 * i] + 10 * x[2 * i + 1], 0);
    }
}
