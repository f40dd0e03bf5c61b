/* Matrices of grids by plain loops, alone in hierarchies, and solves with them. */
#pragma once
#include "arrays.h"

/* Couplings of a grid: -1 along x, -y along y, -z along z, Dirichlet outside or not at all. */
typedef struct grid {
    int n[3];
    double weight[3];
    bool neumann;
} grid;

static inline cmgi_csr grid_matrix(const grid *g)
{
    const cmg_size rows = (cmg_size)g->n[0] * g->n[1] * g->n[2];
    const cmg_size stride[3] = {1, g->n[0], (cmg_size)g->n[0] * g->n[1]};
    cmgi_csr A = {0};
    CHECK_OK(cmgi_csr_alloc(ctx, rows, rows, 7 * rows, &A));
    cmg_size k = 0;
    for (cmg_size i = 0; i < rows; ++i) {
        const cmg_size at[3] = {i % g->n[0], i / stride[1] % g->n[1], i / stride[2]};
        double diagonal = 0;
        const cmg_size own = k++;
        for (int d = 0; d < 3; ++d) {
            for (int side = -1; side <= 1; side += 2) {
                const bool inside = at[d] + side >= 0 && at[d] + side < g->n[d];
                if (g->n[d] > 1 && (inside || !g->neumann)) {
                    diagonal += g->weight[d];
                }
                if (inside && g->n[d] > 1) {
                    A.indices[k] = (cmg_index)(i + side * stride[d]);
                    A.values[k++] = -g->weight[d];
                }
            }
        }
        A.indices[own] = (cmg_index)i;
        A.values[own] = diagonal;
        A.indptr[i + 1] = k;
    }
    CHECK_OK(cmgi_csr_sort(ctx, &A));
    return A;
}

/* Couplings of 1 to 10^decades by random numbers of a pair of rows, whose sums are 0 but for
 * `more`. */
static inline cmgi_csr jumping(const int n[3], double decades, double more, uint64_t seed)
{
    const grid g = {{n[0], n[1], n[2]}, {1, 1, 1}, true};
    cmgi_csr A = grid_matrix(&g);
    for (cmg_size i = 0; i < A.rows; ++i) {
        double sum = more;
        cmg_size own = 0;
        for (cmg_size k = A.indptr[i]; k < A.indptr[i + 1]; ++k) {
            const cmg_size j = A.indices[k];
            uint64_t pair = seed + (uint64_t)((i < j ? i : j) * 7919 + (i < j ? j : i));
            own = j == i ? k : own;
            if (j != i) {
                A.values[k] = -pow(10, decades * cmgi_random(&pair));
                sum -= A.values[k];
            }
        }
        A.values[own] = sum;
    }
    return A;
}

/* The hierarchy has a copy, A is freed. */
static inline cmg_hierarchy *alone(cmgi_csr *A)
{
    cmg_hierarchy *h = hierarchy_alone(&A->view);
    cmgi_csr_free(ctx, A);
    return h;
}

TEST_PRINTF(1) static inline cmg_coarsen_options coarsen_options(const char *format, ...)
{
    cmg_coarsen_options o;
    cmg_coarsen_options_default(&o);
    TEST_TEXT(text, format);
    CHECK_OK(cmg_coarsen_options_set(&o, text));
    return o;
}

/* The levels that the text asks for are added; how many. */
TEST_PRINTF(2) static inline int coarsen(cmg_hierarchy *h, const char *format, ...)
{
    TEST_TEXT(text, format);
    const cmg_coarsen_options o = coarsen_options("%s", text);
    int levels = 0;
    CHECK_OK(cmg_hierarchy_coarsen(h, &o, &levels));
    return levels;
}

/* All A and P have the same bits. */
static inline void check_same_levels(const cmg_hierarchy *a, const cmg_hierarchy *b)
{
    const int levels = cmg_hierarchy_levels(a);
    CHECK(cmg_hierarchy_levels(b) == levels);
    for (int l = 0; l < levels && l < cmg_hierarchy_levels(b); ++l) {
        for (int role = CMG_ROLE_A; role <= CMG_ROLE_P && (role == CMG_ROLE_A || l + 1 < levels);
             ++role) {
            const cmg_csr A = csr_of(a, l, (cmg_role)role);
            const cmg_csr B = csr_of(b, l, (cmg_role)role);
            CHECK(same_csr(&A, &B));
        }
    }
}

static inline cmg_report solve(cmg_hierarchy *h, const cmg_solver_options *o)
{
    const cmg_size n = cmg_hierarchy_rows(h, 0);
    cmg_report report = {.size = sizeof report};
    scoped_solver *s = solver_new(h, o);
    scoped_vector *b = vector_random(n, CMG_FP64, 5);
    scoped_vector *x = vector_new(n, CMG_FP64);
    CHECK_OK(cmg_solver_solve(s, b, x, &report));
    return report;
}

enum { ODD_KINDS = 6 };

/* A chain of n nodes that leaves nothing to aggregate, or little. */
static inline cmgi_csr odd_matrix(int kind, int n, int piece)
{
    const grid g = {{n, 1, 1}, {1, 0, 0}, false};
    cmgi_csr A = grid_matrix(&g);
    EACH_ENTRY (&A, i, k) {
        const cmg_index j = A.indices[k];
        const bool diagonal = j == i;
        const bool cut = i < j ? i % piece == piece - 1 : i > j && j % piece == piece - 1;
        A.values[k] = kind == 0 && !diagonal ? 0 : A.values[k];    /* diagonal rows */
        A.values[k] = kind == 1 && !diagonal ? 1e-9 : A.values[k]; /* no strength */
        A.values[k] = kind == 2 && cut ? 0 : A.values[k];          /* pieces */
        A.values[k] = kind == 3 && j > i ? 0 : A.values[k];        /* triangular */
        A.values[k] = kind == 4 && diagonal ? -2 : A.values[k];    /* wrong sign */
        A.values[k] = kind == 5 && i % 2 == 0 && !diagonal ? 0 : A.values[k];
    }
    return A;
}

static inline cmg_solver_options chebyshev(void)
{
    return solver_options("smoother=chebyshev4");
}
