/*
 * Stiffness in d dimensions is the sum over the directions of (1D stiffness) x (1D mass) x ...;
 * with h = 1/cells: K1 = [-1 2 -1] / h, M1 = [1 4 1] h / 6.
 */
#include "cmg_fem.h"

#include "q1.h"

#include <stdio.h>
#include <stdlib.h>

static void *need(size_t bytes)
{
    void *p = malloc(bytes > 0 ? bytes : 1);
    if (p == NULL) {
        (void)fprintf(stderr, "out of memory for %zu bytes\n", bytes);
        exit(4);
    }
    return p;
}

static q1_csr allocate(cmg_size rows, cmg_size cols, cmg_size per_row)
{
    q1_csr A = {.rows = rows, .cols = cols};
    A.indptr = need((size_t)(rows + 1) * sizeof *A.indptr);
    A.indices = need((size_t)(rows * per_row) * sizeof *A.indices);
    A.values = need((size_t)(rows * per_row) * sizeof *A.values);
    return A;
}

void q1_free(q1_csr *A)
{
    free(A->indptr);
    free(A->indices);
    free(A->values);
    *A = (q1_csr){0};
}

static cmg_size power(cmg_size base, int dim)
{
    return dim == 3 ? base * base * base : base * base;
}

/* Offsets -1, 0, 1 that stay inside along an axis of m nodes at position p. */
static int span(cmg_size p, cmg_size m, int *low)
{
    *low = p > 0 ? -1 : 0;
    return (p + 1 < m ? 1 : 0) - *low + 1;
}

typedef struct grid_row {
    cmg_size at[3];
    int low[3];
    int count[3];
} grid_row;

static grid_row row_of(int dim, cmg_size m, cmg_size i)
{
    grid_row r = {.at = {i % m, i / m % m, i / (m * m)}, .count = {1, 1, 1}};
    for (int d = 0; d < dim; ++d) {
        r.count[d] = span(r.at[d], m, &r.low[d]);
    }
    return r;
}

static double entry(int dim, double h, int dx, int dy, int dz)
{
    const double K[2] = {2 / h, -1 / h};
    const double M[2] = {4 * h / 6, h / 6};
    const int x = abs(dx);
    const int y = abs(dy);
    const int z = abs(dz);
    if (dim == 2) {
        return K[x] * M[y] + M[x] * K[y];
    }
    return K[x] * M[y] * M[z] + M[x] * K[y] * M[z] + M[x] * M[y] * K[z];
}

q1_csr q1_matrix(int dim, int cells)
{
    const cmg_size m = cells - 1;
    const cmg_size rows = power(m, dim);
    q1_csr A = allocate(rows, rows, dim == 3 ? 27 : 9);
    A.indptr[0] = 0;
    for (cmg_size i = 0; i < rows; ++i) {
        const grid_row r = row_of(dim, m, i);
        A.indptr[i + 1] = A.indptr[i] + r.count[0] * r.count[1] * r.count[2];
    }
    const double h = 1.0 / cells;
#pragma omp parallel for schedule(static)
    for (cmg_size i = 0; i < rows; ++i) {
        const grid_row r = row_of(dim, m, i);
        cmg_size k = A.indptr[i];
        for (int c = 0; c < r.count[2]; ++c) {
            for (int b = 0; b < r.count[1]; ++b) {
                for (int a = 0; a < r.count[0]; ++a) {
                    const int dx = r.low[0] + a;
                    const int dy = r.low[1] + b;
                    const int dz = r.low[2] + c;
                    A.indices[k] = (cmg_index)(i + dx + m * (dy + m * dz));
                    A.values[k++] = entry(dim, h, dx, dy, dz);
                }
            }
        }
    }
    return A;
}

/* Coarse neighbours of fine node p (positions 1 .. cells-1, coarse ones at even positions). */
static int parents(cmg_size p, cmg_size m, cmg_size coarse[2])
{
    const cmg_size position = p + 1;
    if (position % 2 == 0) {
        coarse[0] = position / 2 - 1;
        return 1;
    }
    int count = 0;
    if (position > 1) {
        coarse[count++] = position / 2 - 1;
    }
    if (position < m) {
        coarse[count++] = position / 2;
    }
    return count;
}

q1_csr q1_prolongation(int dim, int cells)
{
    const cmg_size m = cells - 1;
    const cmg_size mc = cells / 2 - 1;
    const cmg_size rows = power(m, dim);
    q1_csr P = allocate(rows, power(mc, dim), dim == 3 ? 8 : 4);
    cmg_size k = 0;
    for (cmg_size i = 0; i < rows; ++i) {
        const cmg_size at[3] = {i % m, i / m % m, i / (m * m)};
        cmg_size c[3][2] = {{0}};
        int count[3] = {1, 1, 1};
        double weight = 1;
        P.indptr[i] = k;
        for (int d = 0; d < dim; ++d) {
            count[d] = parents(at[d], m, c[d]);
            weight *= at[d] % 2 == 0 ? 0.5 : 1;
        }
        for (int z = 0; z < count[2]; ++z) {
            for (int y = 0; y < count[1]; ++y) {
                for (int x = 0; x < count[0]; ++x) {
                    P.indices[k] = (cmg_index)(c[0][x] + mc * (c[1][y] + mc * c[2][z]));
                    P.values[k++] = weight;
                }
            }
        }
    }
    P.indptr[rows] = k;
    return P;
}

cmg_status q1_hierarchy(cmg_context *ctx, int dim, int cells, cmg_hierarchy **h)
{
    int levels = 1;
    while (cells >> levels >= 2 && cells % (2 << (levels - 1)) == 0) {
        ++levels;
    }
    cmg_hierarchy *made = NULL;
    cmg_status status = cmg_hierarchy_create(ctx, levels, &made);
    for (int l = 0; status == CMG_OK && l < levels; ++l) {
        q1_csr A = q1_matrix(dim, cells >> l);
        const cmg_csr a = q1_view(&A);
        status = cmg_hierarchy_set_csr(made, l, CMG_ROLE_A, NULL, 0, &a);
        q1_free(&A);
        if (status == CMG_OK && l + 1 < levels) {
            q1_csr P = q1_prolongation(dim, cells >> l);
            const cmg_csr p = q1_view(&P);
            status = cmg_hierarchy_set_csr(made, l, CMG_ROLE_P, NULL, 0, &p);
            q1_free(&P);
        }
    }
    if (status != CMG_OK) {
        cmg_hierarchy_destroy(&made);
        return status;
    }
    *h = made;
    return CMG_OK;
}

cmg_status q1_distorted(cmg_context *ctx, int dim, int cells, double distort, cmg_hierarchy **h)
{
    cmg_generate_options o;
    cmg_generate_options_default(&o);
    o.dim = dim;
    o.cells = cells;
    o.distort = distort;
    o.coefficient = CMG_COEFFICIENT_SMOOTH;
    o.levels = 1;
    for (int n = cells; n % 2 == 0 && n > 16; n /= 2) {
        ++o.levels;
    }
    return cmg_hierarchy_generate(ctx, &o, h);
}
