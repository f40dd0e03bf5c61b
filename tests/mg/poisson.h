/* Q1 Poisson hierarchies on the unit square, made with plain loops. */
#pragma once
#include "test.h"

enum { POISSON_IDENTITY = 1, POISSON_COLUMNS = 2, POISSON_NEUMANN = 4 };

typedef struct triplet_list {
    cmg_size rows;
    cmg_size cols;
    double *dense; /* rows x cols while it is collected: these are small */
    bool *there;
} triplet_list;

static inline triplet_list triplets(cmg_size rows, cmg_size cols)
{
    return (triplet_list){rows, cols, calloc((size_t)(rows * cols) + 1, sizeof(double)),
                          calloc((size_t)(rows * cols) + 1, sizeof(bool))};
}

static inline void triplet_add(triplet_list *t, cmg_size i, cmg_size j, double v)
{
    t->dense[i * t->cols + j] += v;
    t->there[i * t->cols + j] = true;
}

static inline cmgi_csr triplet_csr(triplet_list *t)
{
    cmg_size nnz = 0;
    for (cmg_size k = 0; k < t->rows * t->cols; ++k) {
        nnz += t->there[k];
    }
    cmgi_csr A = csr_new(t->rows, t->cols, nnz);
    EACH_PAIR (i, t->rows, j, t->cols) {
        if (t->there[i * t->cols + j]) {
            csr_put(&A, i, j, t->dense[i * t->cols + j]);
        }
    }
    csr_end(&A);
    free_all(t->dense, t->there);
    return A;
}

static inline bool on_boundary(int n, int i, int j)
{
    return i == 0 || j == 0 || i == n || j == n;
}

/* Stiffness matrix of n x n cells, all (n+1)^2 nodes, by its 9-point stencil per element. */
static inline cmgi_csr poisson_matrix(int n, int flags)
{
    static const double K[4][4] = {
        {4, -1, -1, -2}, {-1, 4, -2, -1}, {-1, -2, 4, -1}, {-2, -1, -1, 4}};
    const int m = n + 1;
    triplet_list t = triplets((cmg_size)m * m, (cmg_size)m * m);
    EACH_TRIPLE (e, n * n, a, 4, b, 4) {
        const int ia = e % n + a % 2;
        const int ja = e / n + a / 2;
        const int ib = e % n + b % 2;
        const int jb = e / n + b / 2;
        const bool row_free = !on_boundary(n, ia, ja) || (flags & POISSON_NEUMANN) != 0;
        const bool col_free =
            !on_boundary(n, ib, jb) || (flags & (POISSON_NEUMANN | POISSON_COLUMNS)) != 0;
        if (row_free && col_free) {
            triplet_add(&t, ja * m + ia, jb * m + ib, K[a][b] / 6);
        }
    }
    for (int k = 0; k < m * m && (flags & POISSON_NEUMANN) == 0; ++k) {
        if (on_boundary(n, k % m, k / m)) {
            triplet_add(&t, k, k, 1);
        }
    }
    return triplet_csr(&t);
}

/* Bilinear interpolation from n/2 x n/2 cells to n x n. */
static inline cmgi_csr poisson_prolongation(int n)
{
    const int m = n + 1;
    const int c = n / 2 + 1;
    triplet_list t = triplets((cmg_size)m * m, (cmg_size)c * c);
    EACH_PAIR (j, m, i, m) {
        for (int b = 0; b <= j % 2; ++b) {
            for (int a = 0; a <= i % 2; ++a) {
                triplet_add(&t, j * m + i, (j / 2 + b) * c + i / 2 + a,
                            (i % 2 ? 0.5 : 1) * (j % 2 ? 0.5 : 1));
            }
        }
    }
    return triplet_csr(&t);
}

/* Levels of n, n/2, ... cells a side. */
static inline cmg_hierarchy *poisson(int n, int levels, int flags)
{
    cmg_hierarchy *h = hierarchy_new(levels);
    for (int l = 0; l < levels; ++l) {
        cmgi_csr A = poisson_matrix(n >> l, flags);
        CHECK_OK(cmg_hierarchy_set_csr(h, l, CMG_ROLE_A, NULL, 0, &A.view));
        cmgi_csr_free(ctx, &A);
        if (l + 1 < levels) {
            scoped_csr P = poisson_prolongation(n >> l);
            CHECK_OK(cmg_hierarchy_set_csr(h, l, CMG_ROLE_P, NULL, 0, &P.view));
        }
    }
    return h;
}
