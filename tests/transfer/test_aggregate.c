/*
 * Smoothed aggregation on the device: graphs, aggregates, P_0, P and all levels have the bits of
 * the host's, on grids, random, tiny and odd matrices, with blocks and near-null-space vectors.
 */
#include "mg/solver.h"

#include "grids.h"
#include "spmv/suite.h"
#include "transfer/aggregate.h"

/* Options that the bits are compared for. */
typedef struct way {
    double strength;
    double omega;
    bool filter;
} way;

static const way ways[] = {
    {0.35, 4.0 / 3, true}, {0.35, 4.0 / 3, false}, {0, 1, true}, {0.8, 0.5, true}, {0.25, 0, true}};

static bool same_there(const cmg_csr *here, const cmg_csr *there)
{
    scoped_csr found = {0};
    cmg_size nnz = 0;
    CHECK_OK(cmgi_to_host(ctx, &nnz, there->indptr + there->rows, sizeof nnz));
    CHECK_OK(cmgi_resident_fetch(ctx, there, nnz, &found));
    return same_csr(here, &found.view);
}

/* Graph and aggregates; returns how many were formed. */
static cmg_size check_aggregates(const cmg_csr *A, int block, double theta)
{
    scoped_csr_there there = csr_there(A);
    cmgi_csr T = {0};
    scoped_csr S = {0};
    cmgi_aggregates here = {0};
    cmgi_aggregates found = {0};
    CHECK_OK(cmgi_strength(ctx, CMGI_HOST, A, &(cmgi_strong){block, theta, false}, &S));
    CHECK_OK(cmgi_strength(ctx, CMGI_DEVICE, &there, &(cmgi_strong){block, theta, false}, &T));
    CHECK(same_there(&S.view, &T.view));
    CHECK_OK(cmgi_aggregate(ctx, CMGI_HOST, &S.view, &here));
    CHECK_OK(cmgi_aggregate(ctx, CMGI_DEVICE, &T.view, &found));
    CHECK(found.nodes == here.nodes && found.count == here.count);
    scoped cmg_index *of = malloc((size_t)here.nodes * sizeof *of);
    CHECK_OK(cmgi_to_host(ctx, of, found.of, (size_t)here.nodes * sizeof *of));
    CHECK(memcmp(of, here.of, (size_t)here.nodes * sizeof *of) == 0);
    const cmg_size count = here.count;
    cmgi_aggregates_free(ctx, &found);
    cmgi_aggregates_free(ctx, &here);
    cmgi_csr_free_at(ctx, CMGI_DEVICE, &T);
    return count;
}

/* All levels of two hierarchies, of which one has its A on the device; how many there are. */
static int check_levels(const cmg_hierarchy *here, const cmg_hierarchy *there)
{
    const int levels = cmg_hierarchy_levels(here);
    for (int l = 0; l < levels && l < cmg_hierarchy_levels(there); ++l) {
        CHECK(cmgi_hierarchy_there(here, l, CMG_ROLE_A) == NULL);
        for (int role = CMG_ROLE_A; role <= CMG_ROLE_P; ++role) {
            CHECK(!cmgi_hierarchy_has(here, l, (cmg_role)role) ||
                  cmgi_hierarchy_there(there, l, (cmg_role)role) != NULL);
        }
        const cmgi_stored_vector *v = cmgi_hierarchy_vector(here, l, "nullspace", NULL);
        const cmgi_stored_vector *w = cmgi_hierarchy_vector(there, l, "nullspace", NULL);
        CHECK((v == NULL) == (w == NULL));
        if (v != NULL && w != NULL) {
            CHECK(v->n == w->n && memcmp(v->values, w->values, (size_t)v->n * sizeof(double)) == 0);
        }
    }
    check_same_levels(here, there);
    return levels;
}

/* What belongs to a matrix: unknowns a node, coordinates, or vectors of its own. */
typedef struct extras {
    int block;
    const double *coords;
    const double *vectors;
    int count;
} extras;

static cmg_hierarchy *hierarchy_of(const cmg_csr *A, const extras *e)
{
    cmg_hierarchy *h = hierarchy_alone(A);
    if (e->block > 1) {
        CHECK_OK(cmg_hierarchy_set_attribute(h, "block_size", sprint("%d", e->block)));
    }
    if (e->coords != NULL) {
        CHECK_OK(cmg_hierarchy_set_vector(h, 0, "coords", NULL, A->rows, e->coords));
    }
    if (e->vectors != NULL) {
        CHECK_OK(cmg_hierarchy_set_vector(h, 0, "nullspace", NULL, A->rows * e->count, e->vectors));
    }
    return h;
}

/* Levels down to a few rows; returns the most that came of it. */
static int check_coarsening(const cmg_csr *A, const extras *e)
{
    scoped_csr_there there = csr_there(A);
    int most = 0;
    for (size_t w = 0; w < sizeof ways / sizeof ways[0]; ++w) {
        cmg_hierarchy *h[2] = {hierarchy_of(A, e), hierarchy_of(&there, e)};
        for (int k = 0; k < 2; ++k) {
            (void)coarsen(h[k], "rows=5 method=aggregation strength=%.17g omega=%.17g filter=%d",
                          ways[w].strength, ways[w].omega, ways[w].filter);
        }
        const int levels = check_levels(h[0], h[1]);
        most = levels > most ? levels : most;
        hierarchies_destroy(&h[0], &h[1]);
    }
    return most;
}

static const extras NOTHING = {1, NULL, NULL, 0};

TEST(grids_have_the_bits_of_the_host)
{
    const grid grids[] = {{{9, 8, 7}, {1, 1, 1}, false},
                          {{31, 17, 1}, {1, 1, 0}, true},
                          {{40, 12, 1}, {1, 0.001, 0}, false},
                          {{257, 1, 1}, {1, 0, 0}, true},
                          {{6, 5, 9}, {1, 0.2, 30}, true}};
    for (size_t t = 0; t < sizeof grids / sizeof grids[0]; ++t) {
        scoped_csr A = grid_matrix(&grids[t]);
        CHECK(check_aggregates(&A.view, 1, 0.35) > 0);
        CHECK(check_coarsening(&A.view, &NOTHING) > 1);
    }
}

/* Random values of both signs, unsymmetric patterns, long and empty graphs. */
TEST(random_matrices_have_the_bits_of_the_host)
{
    const suite_row rows[] = {{"few", 70, 70, 1, 3},        {"some", 257, 257, 1, 9},
                              {"dense", 64, 64, 1, 60},     {"random", 200, 200, 0, 8},
                              {"power law", 90, 90, 2, 80}, {"empty rows", 97, 97, 3, 4}};
    for (size_t t = 0; t < sizeof rows / sizeof rows[0]; ++t) {
        scoped_csr A = suite_make(&rows[t]);
        (void)check_aggregates(&A.view, 1, 0.5);
        (void)check_aggregates(&A.view, 1, 0);
        if (rows[t].kind == 1) { /* the others lack diagonals */
            (void)check_coarsening(&A.view, &NOTHING);
        }
    }
}

/* As in test_coarsen.c, and a chain so long that its order is found on the host. */
TEST(odd_matrices_have_the_bits_of_the_host)
{
    for (int kind = 0; kind < ODD_KINDS; ++kind) {
        scoped_csr A = odd_matrix(kind, 200, 50);
        (void)check_aggregates(&A.view, 1, 0.35);
        (void)check_coarsening(&A.view, &NOTHING);
    }
    for (int n = 1; n <= 33; n += n < 3 ? 1 : 29) {
        const grid g = {{n, 1, 1}, {1, 0, 0}, false};
        scoped_csr A = grid_matrix(&g);
        A.values[0] = 3; /* of one node, whose grid has no couplings */
        (void)check_aggregates(&A.view, 1, 0.35);
        (void)check_coarsening(&A.view, &NOTHING);
    }
    const grid chain = {{1201, 1, 1}, {1, 0, 0}, false};
    scoped_csr A = grid_matrix(&chain);
    CHECK(check_aggregates(&A.view, 1, 0.35) > 200);
}

/* Every entry of a grid's matrix as a block of b x b, symmetric positive definite with it. */
static cmgi_csr blocks_of(const cmgi_csr *G, int b)
{
    const cmg_size nnz = G->indptr[G->rows];
    cmgi_csr A = csr_new(G->rows * b, G->rows * b, nnz * b * b);
    for (cmg_size r = 0; r < A.rows; ++r) {
        for (cmg_size e = G->indptr[r / b]; e < G->indptr[r / b + 1]; ++e) {
            for (int c = 0; c < b; ++c) {
                const double own = r % b == c ? 2 + 0.1 * c : 0.3 / (1 + (double)(r % b + c));
                csr_put(&A, r, G->indices[e] * b + c, own * G->values[e]);
            }
        }
    }
    csr_end(&A);
    return A;
}

/* Rigid body modes in 2D and 3D, of nodes at random places, some of them on top of each other. */
TEST(blocks_have_the_bits_of_the_host)
{
    for (int b = 2; b <= 3; ++b) {
        const grid g = {{5, 4, b == 3 ? 4 : 1}, {1, 0.7, 0.5}, false};
        scoped_csr G = grid_matrix(&g);
        scoped_csr A = blocks_of(&G, b);
        uint64_t seed = 17;
        scoped double *x = malloc((size_t)A.rows * sizeof *x);
        FILL(x, i, A.rows, i % 11 == 0 ? 0.5 : cmgi_random(&seed));
        const extras with_modes = {b, x, NULL, 0};
        const extras constants = {b, NULL, NULL, 0};
        CHECK(check_aggregates(&A.view, b, 0.35) > 0);
        CHECK(check_coarsening(&A.view, &with_modes) > 1);
        CHECK(check_coarsening(&A.view, &constants) > 1);
    }
}

/* Three vectors of the caller's, one of them 0 on many nodes: dependent columns. */
TEST(vectors_have_the_bits_of_the_host)
{
    const grid g = {{23, 14, 1}, {1, 1, 0}, true};
    scoped_csr A = grid_matrix(&g);
    uint64_t seed = 29;
    scoped double *B = malloc((size_t)A.rows * 3 * sizeof *B);
    for (cmg_size i = 0; i < A.rows; ++i) {
        B[3 * i] = 1;
        B[3 * i + 1] = cmgi_random(&seed) - 0.5;
        B[3 * i + 2] = i < A.rows / 2 ? 0 : 2;
    }
    const extras e = {1, NULL, B, 3};
    (void)check_coarsening(&A.view, &e);
}

/* A solver of a matrix on the device takes as many steps to as good an answer as of one on the
 * host. */
TEST(solvers_agree)
{
    const grid g = {{14, 13, 12}, {1, 1, 1}, false};
    scoped_csr A = grid_matrix(&g);
    scoped_csr_there there = csr_there(&A.view);
    cmg_hierarchy *h[2] = {hierarchy_of(&A.view, &NOTHING), hierarchy_of(&there, &NOTHING)};
    cmg_report report[2];
    for (int k = 0; k < 2; ++k) {
        const cmg_solver_options o = chebyshev();
        report[k] = solve(h[k], &o);
        CHECK(report[k].outcome == CMG_CONVERGED_RTOL);
    }
    CHECK(report[0].iterations == report[1].iterations);
    CHECK(report[1].iterations <= 12);
    CHECK(h[1]->level[0].A.indptr == NULL); /* it never came to the host */
    hierarchies_destroy(&h[0], &h[1]);
}

/* Nothing of a level comes to the host but the last A, whose inverse is made on the device. */
TEST(levels_stay_on_the_device)
{
    static const char *const texts[] = {"", "format=compressed precision=mixed"};
    const grid g = {{30, 29, 31}, {1, 1, 1}, false};
    scoped_csr A = grid_matrix(&g);
    scoped_csr_there there = csr_there(&A.view);
    for (size_t t = 0; t < sizeof texts / sizeof texts[0]; ++t) {
        scoped_hierarchy *h = hierarchy_of(&there, &NOTHING);
        scoped_solver *s = solver_with(h, "%s", texts[t]);
        const cmg_hierarchy *made = s->mg.completion.h;
        CHECK(made != NULL && made->levels > 2);
        for (int l = 0; made != NULL && l + 1 < made->levels; ++l) {
            CHECK(made->level[l].A.indptr == NULL);
            CHECK(made->level[l].P.indptr == NULL);
        }
    }
}
