/*
 * What is known beside a matrix never makes a solve worse: right, wrong or of no use, it takes at
 * most a tenth and one more of the iterations that A alone takes; and what is right helps.
 */
#include "mg/solver.h"

#include "grids.h"
#include "transfer/aggregate.h"

/* Unknowns 2 i and 2 i + 1 of a node: two problems that do not know of each other. */
static cmgi_csr interleaved(const grid *a, const grid *b)
{
    scoped_csr even = grid_matrix(a);
    scoped_csr odd = grid_matrix(b);
    const cmg_size nnz = even.indptr[even.rows] + odd.indptr[odd.rows];
    cmgi_csr A = csr_new(2 * even.rows, 2 * even.rows, nnz);
    for (cmg_size r = 0; r < A.rows; ++r) {
        const cmgi_csr *from = r % 2 == 0 ? &even : &odd;
        for (cmg_size k = from->indptr[r / 2]; k < from->indptr[r / 2 + 1]; ++k) {
            csr_put(&A, r, 2 * from->indices[k] + r % 2, from->values[k]);
        }
    }
    csr_end(&A);
    return A;
}

/* -laplace u - eps grad div u on n x n points by differences to one side, u = 0 outside; it takes
 * rigid displacements to 0. */
static cmgi_csr elastic(int n, double eps)
{
    cmgi_csr A = csr_new(2 * n * n, 2 * n * n, 18 * n * n);
    for (int r = 0; r < 2 * n * n; ++r) {
        const int c = r % 2;
        const int place[2] = {r / 2 % n, r / 2 / n};
        for (int e = 0; e < 18; ++e) {
            const int step[2] = {e / 2 % 3 - 1, e / 6 - 1};
            const int there[2] = {place[0] + step[0], place[1] + step[1]};
            const int own = step[c];
            const int other = step[1 - c];
            const bool inside = there[0] >= 0 && there[0] < n && there[1] >= 0 && there[1] < n;
            double value = 0;
            if (e % 2 == c) {
                value = own == 0 && other == 0 ? 4 + 2 * eps
                        : other == 0           ? -1 - eps
                        : own == 0             ? -1
                                               : 0;
            } else if (own <= 0 && other >= 0) {
                value = own + other == 0 ? eps : -eps;
            }
            if (inside && value != 0) {
                csr_put(&A, r, 2 * (there[0] + n * there[1]) + e % 2, value);
            }
        }
    }
    csr_end(&A);
    return A;
}

/* Beside a matrix: a block size, and k vectors by rows or none. */
typedef struct beside {
    int block;
    int count;
    const double *vectors;
    const double *coords;
} beside;

/* Iterations of a solve by levels, without factors of the whole; `text` is to be in a note. */
static int iterations(const cmgi_csr *A, const beside *of, const char *text)
{
    scoped_hierarchy *h = hierarchy_alone(&A->view);
    CHECK_OK(cmg_hierarchy_set_attribute(h, "block_size", sprint("%d", of->block)));
    if (of->vectors != NULL) {
        CHECK_OK(
            cmg_hierarchy_set_vector(h, 0, "nullspace", NULL, A->rows * of->count, of->vectors));
    }
    if (of->coords != NULL) {
        CHECK_OK(cmg_hierarchy_set_vector(h, 0, "coords", NULL, A->rows, of->coords));
    }
    cmg_solver_options o = solver_defaults();
    o.coarse_limit = 999;
    scoped_solver *s = solver_new(h, &o);
    CHECK(text == NULL || has_note(s, text));
    const cmg_report report = solve(h, &o);
    CHECK(report.outcome == CMG_CONVERGED_RTOL);
    return report.iterations;
}

/* Constants of each unknown, one constant, and random vectors. */
static void check_all(const cmgi_csr *A, int block, const char *text)
{
    const int alone_takes = iterations(A, &(beside){.block = 1}, NULL);
    const int most = alone_takes + alone_takes / 10 + 1;
    scoped double *each = calloc((size_t)(A->rows * block), sizeof *each);
    scoped double *one = malloc((size_t)A->rows * sizeof *one);
    scoped double *random = random_values(A->rows * block, 3);
    for (cmg_size i = 0; i < A->rows * block; ++i) {
        each[i] = i / block % block == i % block ? 1 : 0;
        one[i / block] = 1;
    }
    const beside known[] = {{block, 0, NULL, NULL},       {block, block, each, NULL},
                            {block, 1, one, NULL},        {1, 1, one, NULL},
                            {block, block, random, NULL}, {1, 1, random, NULL},
                            {block, 0, NULL, random}};
    CHECK_EACH(k, sizeof known / sizeof known[0],
               iterations(A, &known[k], known[k].block > 1 ? text : NULL) <= most);
}

TEST(unknowns_that_are_not_coupled_are_left_apart)
{
    const grid plane = {{60, 60, 1}, {1, 1, 0}, false};
    const grid along[2] = {{{60, 60, 1}, {1, 0.01, 0}, false}, {{60, 60, 1}, {0.01, 1, 0}, false}};
    const grid space = {{14, 14, 14}, {1, 1, 1}, false};
    cmgi_csr A[3] = {interleaved(&plane, &plane), interleaved(&along[0], &along[1]),
                     interleaved(&space, &space)};
    for (int t = 0; t < 3; ++t) {
        check_all(&A[t], 2, "hardly couples them");
        cmgi_csr_free(ctx, &A[t]);
    }
}

TEST(a_scalar_problem_is_no_system)
{
    const grid grids[2] = {{{72, 72, 1}, {1, 1, 0}, false}, {{18, 18, 18}, {1, 0.1, 1}, false}};
    for (int t = 0; t < 2; ++t) {
        scoped_csr A = grid_matrix(&grids[t]);
        check_all(&A, 2, "block_size 2 left out");
        check_all(&A, 3, "block_size 3 left out");
    }
}

/* Coupled weakly they are two scalar problems, else unknowns of a node, and rotations help. */
TEST(couplings_decide_what_a_node_is)
{
    enum { N = 48 };
    scoped_csr weak = elastic(N, 0.3);
    scoped_csr strong = elastic(N, 1.5);
    check_all(&weak, 2, "left out");
    check_all(&strong, 2, "block_size 2 taken");
    double x[2 * N * N];
    double modes[6 * N * N];
    FILL(x, i, 2 * N * N, i % 2 == 0 ? i / 2 % N : i / 2 / N);
    for (int i = 0; i < 2 * N * N; ++i) {
        modes[3 * i] = i % 2 == 0;
        modes[3 * i + 1] = sin(i); /* of no use */
        modes[3 * i + 2] = i % 2 == 0 ? -x[i + 1] : x[i - 1];
    }
    const int scalar = iterations(&strong, &(beside){1, 0, NULL, NULL}, NULL);
    const int nodes = iterations(&strong, &(beside){2, 0, NULL, NULL}, "block_size 2 taken");
    const int rigid = iterations(&strong, &(beside){2, 0, NULL, x}, "3 of 3 vectors taken");
    const int given = iterations(&strong, &(beside){2, 3, modes, NULL}, "2 of 3 vectors taken");
    CHECK(rigid < nodes && nodes < scalar && given <= rigid + 1);
}

/* B holds constants and what is taken, each once. */
TEST(vectors_are_combined)
{
    enum { N = 12 };
    scoped_csr A = elastic(N, 1.5);
    double B[4 * 2 * N * N];
    for (int i = 0; i < 2 * N * N; ++i) {
        B[4 * i] = B[4 * i + 1] = i % 2 == 0;
        B[4 * i + 2] = i % 2 == 0 ? -(i / 2 / N) : i / 2 % N;
        B[4 * i + 3] = 3 * B[4 * i + 2] - 1;
    }
    scoped_hierarchy *h = hierarchy_alone(&A.view);
    CHECK_OK(cmg_hierarchy_set_attribute(h, "block_size", "2"));
    CHECK_OK(cmg_hierarchy_set_vector(h, 0, "nullspace", NULL, 8 * N * N, B));
    cmgi_known k = {.text = (char[CMGI_KNOWN]){0}};
    CHECK_OK(cmgi_known_agreed(h, 0, false, &k));
    CHECK(k.block == 2 && k.vectors == 3 && k.B != NULL);
    for (int c = 0; c < 3 && k.B != NULL; ++c) { /* columns are orthonormal */
        for (int d = 0; d < 3; ++d) {
            double sum = 0;
            for (int i = 0; i < 2 * N * N; ++i) {
                sum += k.B[3 * i + c] * k.B[3 * i + d];
            }
            CHECK_NEAR(sum, c == d ? 1 : 0, 1e-12);
        }
    }
    cmgi_free(ctx, k.B);
}
