/*
 * Substitution as a product: against plain loops in an order that follows from the matrix alone,
 * for every write-back, in both precisions, with stages of one row and of thousands, and with new
 * values.
 */
#include "spmv/sweep.h"

#include "core/vector.h"
#include "suite.h"

/*
 * Rows refer to at most `reach` others of a lower rank; rank r is row order[r]. With reach 0 there
 * is one stage; with reach 1 to the rank before, as many as rows.
 */
static cmgi_csr triangle(cmg_size n, int reach, const cmg_index *order, uint64_t seed)
{
    scoped cmg_size *rank = malloc((size_t)n * sizeof *rank);
    cmgi_csr L = csr_new(n, n, n * (reach + 1));
    for (cmg_size r = 0; r < n; ++r) {
        rank[order[r]] = r;
    }
    for (cmg_size i = 0; i < n; ++i) {
        const cmg_size r = rank[i];
        const int before = r < reach ? (int)r : reach;
        for (int e = before; e > 0; --e) {
            csr_put(&L, i, order[r - e], 0.5 * cmgi_random(&seed) - 0.25);
        }
        csr_put(&L, i, i, 1 + cmgi_random(&seed));
    }
    csr_end(&L);
    return L;
}

/* y = L^-1 x, row after row in the order. */
static void substitute(const cmgi_csr *L, const cmg_index *order, const double *x, double *y)
{
    for (cmg_size r = 0; r < L->rows; ++r) {
        const cmg_index i = order[r];
        double sum = x[i];
        double diagonal = 0;
        for (cmg_size k = L->indptr[i]; k < L->indptr[i + 1]; ++k) {
            if (L->indices[k] == i) {
                diagonal = L->values[k];
            } else {
                sum -= L->values[k] * y[L->indices[k]];
            }
        }
        y[i] = sum / diagonal;
    }
}

enum { VECTORS = 5 }; /* x, b, c, d, e */

static void check_writebacks(const cmg_matrix *M, const cmgi_csr *L, const cmg_index *order)
{
    const cmg_size n = L->rows;
    const cmg_precision precision = M->options.precision;
    const double tolerance = precision == CMG_FP64 ? 1e-13 : 2e-5;
    double *value[VECTORS];
    cmg_vector *v[VECTORS];
    scoped double *s = malloc((size_t)n * sizeof *s);
    scoped double *made = malloc((size_t)n * sizeof *made);
    uint64_t seed = 8;
    scoped_vector *y = vector_new(n, precision);
    for (int q = 0; q < VECTORS; ++q) {
        value[q] = malloc((size_t)n * sizeof *value[q]);
        for (cmg_size i = 0; i < n; ++i) {
            value[q][i] = (double)(float)(2 * cmgi_random(&seed) - 1);
        }
        v[q] = vector_from(n, precision, value[q]);
    }
    substitute(L, order, value[0], s);
    for (int kind = 0; kind < CMGI_WB_KINDS; ++kind) {
        const cmgi_writeback w = {.kind = (cmgi_wb_kind)kind,
                                  .alpha = 0.75,
                                  .beta = 0.5,
                                  .b = v[1]->data,
                                  .c = v[2]->data,
                                  .d = v[3]->data,
                                  .e = v[4]->data,
                                  .y = y->data};
        CHECK_OK(cmgi_matrix_spmv(M, &w, v[0]->data));
        CHECK_OK(cmg_vector_get(y, made));
        double worst = 0;
        for (cmg_size i = 0; i < n; ++i) {
            const double expected =
                suite_writeback(&w, s[i], value[1][i], value[2][i], value[3][i], value[4][i]);
            worst = worst_of(worst, fabs(made[i] - expected));
        }
        CHECK(worst <= tolerance);
    }
    for (int q = 0; q < VECTORS; ++q) {
        cmg_vector_destroy(&v[q]);
        free(value[q]);
    }
}

static cmg_matrix *sweep_of(const cmgi_csr *L, cmg_precision precision)
{
    cmg_matrix *M = NULL;
    cmg_matrix_options options =
        matrix_options("precision=%s keep_map", WORD("precision", precision));
    CHECK_OK(cmgi_sweep_create(ctx, &L->view, &options, &M));
    return M;
}

/* Stages: one of all rows, one a row, and wide ones beside narrow ones. */
TEST(solves_by_substitution)
{
    static const struct {
        cmg_size n;
        int reach;
    } cases[] = {{1, 0}, {5000, 0}, {33, 1}, {1500, 1}, {64, 4}, {9001, 3}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; ++k) {
        const cmg_size n = cases[k].n;
        scoped cmg_index *order = malloc((size_t)n * sizeof *order);
        random_order(order, n, 3);
        scoped_csr L = triangle(n, cases[k].reach, order, 1);
        for (int p = 0; p < 2; ++p) {
            scoped_matrix *M = sweep_of(&L, (cmg_precision)p);
            const cmgi_sweep *S = M->data;
            CHECK(S->stages == (cases[k].reach == 0 ? 1 : (int)n));
            check_writebacks(M, &L, order);
        }
    }
}

/* A grid's lower triangle: a stage is a diagonal of the grid, more than a block of rows or fewer.
 */
TEST(stages_are_wavefronts)
{
    static const cmg_size sides[][2] = {{3, 5}, {40, 17}, {1300, 1200}};
    for (size_t k = 0; k < sizeof sides / sizeof sides[0]; ++k) {
        const cmg_size nx = sides[k][0];
        const cmg_size ny = sides[k][1];
        scoped cmg_index *order = malloc((size_t)(nx * ny) * sizeof *order);
        scoped_csr L = csr_new(nx * ny, nx * ny, 3 * nx * ny);
        for (cmg_size i = 0; i < nx * ny; ++i) {
            const cmg_size to[3] = {i >= nx ? i - nx : -1, i % nx > 0 ? i - 1 : -1, i};
            for (int e = 0; e < 3; ++e) {
                if (to[e] >= 0) {
                    csr_put(&L, i, to[e], e == 2 ? 2.5 : -1);
                }
            }
            order[i] = (cmg_index)i;
        }
        csr_end(&L);
        scoped_matrix *M = sweep_of(&L, CMG_FP64);
        CHECK(((const cmgi_sweep *)M->data)->stages == nx + ny - 1);
        check_writebacks(M, &L, order);
    }
}

TEST(new_values_are_taken)
{
    enum { N = 700 };
    cmg_index order[N];
    random_order(order, N, 3);
    scoped_csr L = triangle(N, 2, order, 1);
    scoped_csr other = triangle(N, 2, order, 77);
    scoped_matrix *M = sweep_of(&L, CMG_FP64);
    CHECK_OK(cmg_matrix_update(M, other.values));
    check_writebacks(M, &other, order);
}

TEST(refuses)
{
    cmg_size indptr[] = {0, 2, 4, 5};
    cmg_index indices[] = {0, 1, 0, 1, 2};
    double values[] = {1, 1, 1, 1, 1};
    cmg_csr A = {3, 3, indptr, indices, values};
    cmg_matrix *M = NULL;
    cmg_matrix_options options = matrix_defaults();
    CHECK_REFUSED(cmgi_sweep_create(ctx, &A, &options, &M), CMG_ERR_ARG, "2 of 3 rows");
    values[4] = 0;
    CHECK_STATUS(cmgi_sweep_create(ctx, &A, &options, &M), CMG_ERR_SINGULAR);
    A.cols = 4;
    CHECK_STATUS(cmgi_sweep_create(ctx, &A, &options, &M), CMG_ERR_SHAPE);
    CHECK(M == NULL);
}
