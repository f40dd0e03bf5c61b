/* Matrices of grids by plain loops, alone in hierarchies, and solves with them. */
#pragma once
#include "test.h"

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

static inline cmg_hierarchy *alone(cmgi_csr *A)
{
    cmg_hierarchy *h = hierarchy_new(1);
    CHECK_OK(cmg_hierarchy_set_csr(h, 0, CMG_ROLE_A, NULL, 0, &A->view));
    cmgi_csr_free(ctx, A);
    return h;
}

static inline cmg_report solve(cmg_hierarchy *h, const cmg_solver_options *o)
{
    const cmg_size n = cmg_hierarchy_rows(h, 0);
    cmg_report report = {.size = sizeof report};
    scoped double *values = malloc((size_t)n * sizeof *values);
    uint64_t seed = 5;
    for (cmg_size i = 0; i < n; ++i) {
        values[i] = cmgi_random(&seed) - 0.5;
    }
    scoped_solver *s = solver_new(h, o);
    scoped_vector *b = vector_new(n, CMG_FP64);
    scoped_vector *x = vector_new(n, CMG_FP64);
    CHECK_OK(cmg_vector_set(b, values));
    CHECK_OK(cmg_solver_solve(s, b, x, &report));
    return report;
}

enum { ODD_KINDS = 6 };

/* A chain of n nodes that leaves nothing to aggregate, or little. */
static inline cmgi_csr odd_matrix(int kind, int n, int piece)
{
    const grid g = {{n, 1, 1}, {1, 0, 0}, false};
    cmgi_csr A = grid_matrix(&g);
    for (cmg_size i = 0; i < n; ++i) {
        for (cmg_size k = A.indptr[i]; k < A.indptr[i + 1]; ++k) {
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
    }
    return A;
}

static inline cmg_solver_options chebyshev(void)
{
    return solver_options("smoother="
                          "chebyshev4");
}
