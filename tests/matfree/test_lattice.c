/*
 * Cells of a lattice: found whatever the order of their nodes, with boundaries that are eliminated
 * or fixed, with cells missing; products against plain loops in every write-back that solves use.
 * What is no lattice is multiplied otherwise.
 */
#include "elements/matfree.h"
#include "products.h"

typedef struct cells {
    cmg_elements E;
    cmg_index *dofs;
    double *matrices;
    double *factor;
    double *diagonal;
} cells;

/* What makes a sample other than a plain lattice. */
typedef enum oddity { PLAIN, CLAMPED, HOLES, LOPSIDED, ONE_SIDED, TWICE, ODDITIES } oddity;

static double parity(int p, int a)
{
    return ((p & a) ^ (p & a) >> 1 ^ (p & a) >> 2) & 1 ? -1 : 1;
}

/* A random symmetric matrix with the reflections of a brick: sums over them, a reflection negating
 * the component along its axis. Corner a is node place[a]. */
static void reflected_matrix(int b, const int *place, double *K)
{
    uint64_t seed = 11;
    const int n = 8 * b;
    double any[24 * 24];
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j <= i; ++j) {
            any[i * n + j] = any[j * n + i] = cmgi_random(&seed) - 0.5;
        }
    }
    for (int q = 0; q < n * n; ++q) {
        const int i = q / n;
        const int j = q % n;
        double sum = 0;
        for (int r = 0; r < 8; ++r) {
            const double s = b == 3 ? parity(r, 1 << i % b) * parity(r, 1 << j % b) : 1;
            sum += s * any[((i / b ^ r) * b + i % b) * n + (j / b ^ r) * b + j % b];
        }
        K[(place[i / b] * b + i % b) * n + place[j / b] * b + j % b] = sum;
    }
}

/* Whether a node of the lattice has no unknowns. */
static bool is_fixed(const int *n, int i, int j, int k, oddity odd)
{
    return i < 0 || j < 0 || k < 0 || i >= n[0] || j >= n[1] || k >= n[2] ||
           (odd == CLAMPED && (i == 0 || (j == 1 && k == 2)));
}

/* n nodes, b unknowns each, cells all around them, too, their nodes in a mixed order. */
static cells make(const int *n, int b, oddity odd)
{
    static const int place[8] = {3, 1, 0, 2, 6, 7, 4, 5};
    uint64_t seed = 7;
    const cmg_size most = (cmg_size)(n[0] + 1) * (n[1] + 1) * (n[2] + 1) + 1;
    const cmg_size rows = (cmg_size)n[0] * n[1] * n[2] * b;
    cells s = {.dofs = malloc((size_t)most * 24 * sizeof(cmg_index)),
               .matrices = malloc(24 * 24 * sizeof(double)),
               .factor = malloc((size_t)most * sizeof(double)),
               .diagonal = malloc((size_t)rows * sizeof(double))};
    cmg_size count = 0;
    for (int k = -1; k < n[2]; ++k) {
        for (int j = -1; j < n[1]; ++j) {
            for (int i = -1; i < n[0]; ++i) {
                if (odd == HOLES && (i * 5 + j * 3 + k) % 7 == 1) {
                    continue;
                }
                for (int a = 0; a < 8; ++a) {
                    const int x = i + (a & 1);
                    const int y = j + (a >> 1 & 1);
                    const int z = k + (a >> 2);
                    const bool lacks = odd == ONE_SIDED && i == 0 && j == 0 && k == 0 && a == 5;
                    for (int c = 0; c < b; ++c) {
                        s.dofs[(count * 8 + place[a]) * b + c] =
                            is_fixed(n, x, y, z, odd) || lacks
                                ? -1
                                : (cmg_index)((((cmg_size)z * n[1] + y) * n[0] + x) * b + c);
                    }
                }
                s.factor[count++] = 0.5 + cmgi_random(&seed);
            }
        }
    }
    if (odd == TWICE) {
        memcpy(s.dofs + count * 8 * b, s.dofs + count / 2 * 8 * b, (size_t)b * 8 * sizeof *s.dofs);
        s.factor[count++] = 1.5;
    }
    reflected_matrix(b, place, s.matrices);
    if (odd == LOPSIDED) {
        s.matrices[0] *= 1.001;
    }
    FILL(s.diagonal, i, rows, 1 + cmgi_random(&seed));
    s.E = (cmg_elements){rows, count, 8 * b, 1, s.dofs, s.matrices, NULL, s.factor, s.diagonal};
    return s;
}

static void clear(cells *s)
{
    free_all(s->dofs, s->matrices, s->factor, s->diagonal);
}

#define scoped_cells scoped_by(clear) cells

/* Every write-back; numbers are rounded as often as the longest row has entries, and in H. */
static void check_writebacks(const cmg_elements *E, cmg_matrix *M)
{
    const cmg_size n = E->rows;
    const double eps = M->options.precision == CMG_FP64 ? 0x1p-52 : 0x1p-23;
    double *in[4]; /* x b c d */
    cmg_vector *v[4];
    scoped double *sum = malloc((size_t)n * sizeof *sum);
    scoped double *magnitude = malloc((size_t)n * sizeof *sum);
    scoped double *out = malloc((size_t)n * sizeof *out);
    for (int k = 0; k < 4; ++k) {
        in[k] = random_values(n, (unsigned)k + 3);
        v[k] = vector_from(n, M->options.precision, in[k]);
    }
    multiply(E, in[0], sum, magnitude);
    double worst = 0;
    double largest = 1;
    for (cmg_size i = 0; i < n; ++i) {
        largest = worst_of(largest, magnitude[i]);
    }
    for (int kind = 0; kind < CMGI_WB_KINDS; ++kind) {
        scoped_vector *y = vector_from(n, M->options.precision, in[2]);
        const cmgi_writeback w = {.kind = (cmgi_wb_kind)kind,
                                  .alpha = 0.5,
                                  .beta = -2,
                                  .b = v[1]->data,
                                  .c = kind == CMGI_WB_AXPBY ? y->data : v[2]->data,
                                  .d = v[3]->data,
                                  .e = v[1]->data,
                                  .y = y->data};
        CHECK_OK(cmgi_matrix_spmv(M, &w, v[0]->data));
        CHECK_OK(cmg_vector_get(y, out));
        for (cmg_size i = 0; i < n; ++i) {
            const double right =
                suite_writeback(&w, sum[i], in[1][i], in[2][i], in[3][i], in[1][i]);
            worst = worst_of(worst, fabs(out[i] - right) / (eps * (largest + 8) * E->local));
        }
    }
    CHECK(worst <= 1);
    for (int k = 0; k < 4; ++k) {
        cmg_vector_destroy(&v[k]);
        free(in[k]);
    }
}

/* x . A x beside the product, against the sum of its rows. */
static void check_dot(const cmg_elements *E, const cmg_matrix *M)
{
    const cmg_size n = E->rows;
    scoped double *in = random_values(n, 3);
    scoped double *sum = malloc((size_t)n * sizeof *sum);
    scoped double *magnitude = malloc((size_t)n * sizeof *sum);
    double got = 0;
    double right = 0;
    double bound = 0;
    scoped_vector *x = vector_from(n, M->options.precision, in);
    scoped_vector *y = vector_from(n, M->options.precision, in);
    scoped_vector *xy = vector_new(1, CMG_FP64);
    for (int k = 0; k < 2; ++k) { /* what the first left is not added to */
        CHECK_OK(cmgi_matrix_apply_dot(M, x->data, y->data, xy->data, NULL));
    }
    CHECK_OK(cmg_vector_get(xy, &got));
    multiply(E, in, sum, magnitude);
    for (cmg_size i = 0; i < n; ++i) {
        right += in[i] * sum[i];
        bound += fabs(in[i]) * (magnitude[i] + 8);
    }
    CHECK(fabs(got - right) <= 0x1p-52 * E->local * bound);
}

TEST(products_are_those_of_the_cells)
{
    static const int sizes[][3] = {{2, 2, 2}, {3, 5, 4}, {17, 16, 5}, {40, 3, 9}, {2, 40, 21}};
    for (int q = 0; q < 5 * 2 * ODDITIES * 2; ++q) {
        const int b = q / 2 % 2 == 0 ? 1 : 3;
        const oddity odd = (oddity)(q / 4 % ODDITIES);
        const int *size = sizes[q / 4 / ODDITIES];
        scoped_cells s = make(size, b, odd);
        cmg_matrix_options o = {.size = sizeof o,
                                .format = CMG_FORMAT_EBE,
                                .precision = (cmg_precision)(q % 2),
                                .keep_map = true};
        scoped_matrix *M = elements_matrix(&s.E, &o);
        const bool found = ((const cmgi_matfree *)M->data)->lattice != NULL;
        CHECK(!found || odd < LOPSIDED);
        /* where every cell lacks a node, none says what a cell is */
        const bool hidden = odd == CLAMPED && size[0] == 2;
        CHECK(found || odd >= LOPSIDED || hidden || cmgi_column(ctx) == 0);
        check_writebacks(&s.E, M);
        if (o.precision == CMG_FP64) {
            CHECK(!found || M->dots != NULL);
            check_dot(&s.E, M);
        }
        for (cmg_size e = 0; e < s.E.count; ++e) {
            s.factor[e] += 0.01 * (double)(e % 13);
        }
        CHECK_OK(cmg_matrix_update(M, s.factor));
        check_product(&s.E, M, "new factors");
        s.E.factor = NULL;
        o.keep_map = false;
        scoped_matrix *plain = elements_matrix(&s.E, &o);
        check_product(&s.E, plain, "no factors");
    }
}
