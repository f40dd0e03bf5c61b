/* Products with matrices of kinds of rows, which never were a CSR, against plain loops. */
#include "core/vector.h"
#include "spmv/compressed.h"
#include "spmv/create.h"

#include "kinds.h"
#include "suite.h"

static cmg_matrix *matrix_of(const cmg_templates *t, bool square, cmg_precision precision)
{
    cmg_matrix_options o = matrix_defaults();
    cmgi_csr M = {0};
    cmg_matrix *made = NULL;
    o.precision = precision;
    CHECK_OK(cmgi_kinds_create(ctx, "M", square, t, &M));
    CHECK_OK(
        cmgi_matrix_create(ctx, &(cmgi_matrix_source){.kinds = M.kinds}, CMGI_USE_ANY, &o, &made));
    cmgi_csr_free(ctx, &M); /* nothing of it is needed any more */
    return made;
}

/* Of several columns side by side, y = A x and y = 0.5 A x - 2 y. */
static void check_products(const cmgi_csr *A, const cmg_matrix *M, int columns)
{
    const cmg_precision p = M->options.precision;
    const double eps = p == CMG_FP64 ? 1e-15 : 1e-6;
    scoped double *x = random_values(A->cols * columns, 5);
    scoped double *y = random_values(A->rows * columns, 7);
    scoped double *one = malloc((size_t)(A->cols + 1) * sizeof *one);
    scoped double *expected = malloc((size_t)(A->rows + 1) * sizeof *expected);
    scoped double *magnitude = malloc((size_t)(A->rows + 1) * sizeof *magnitude);
    double *out[2];
    scoped_vector *vx = columns_in(p, A->cols, columns, x);
    for (int k = 0; k < 2; ++k) {
        scoped_vector *vy = columns_in(p, A->rows, columns, y);
        CHECK_OK(k == 0 ? cmg_matrix_apply(M, vx, vy) : cmg_matrix_axpby(M, 0.5, vx, -2, vy));
        out[k] = values_of(vy);
    }
    for (int c = 0; c < columns; ++c) {
        FILL(one, j, A->cols, x[j * columns + c]);
        suite_multiply(A, one, expected, magnitude);
        for (cmg_size i = 0; i < A->rows; ++i) {
            const cmg_size at = i * columns + c;
            CHECK_NEAR(out[0][at], expected[i], 20 * eps * (magnitude[i] + 1));
            CHECK_NEAR(out[1][at], 0.5 * expected[i] - 2 * y[at], 20 * eps * (magnitude[i] + 3));
        }
    }
    free_all(out[0], out[1]);
}

TEST(random_kinds_multiply)
{
    static const cmg_size sizes[] = {1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1000, 4099};
    static const int bits[] = {8, 16, 32};
    EACH_PAIR (s, sizeof sizes / sizeof *sizes, square, 2) {
        test_kinds k;
        draw_kinds(sizes[s], square ? sizes[s] : 2 * sizes[s] + 7, square, bits[s % 3], s + 9, &k);
        scoped_csr A = csr_of_kinds(&k.t);
        for (int single = 0; single < 2; ++single) {
            scoped_matrix *M = matrix_of(&k.t, square, single ? CMG_FP32 : CMG_FP64);
            CHECK(M->nnz == A.indptr[A.rows] && M->format->id == CMG_FORMAT_COMPRESSED);
            check_products(&A, M, 1);
            check_products(&A, M, 3);
        }
        free_kinds(&k);
    }
}

/* A grid, its interpolation and the transpose of that. */
TEST(grids_multiply)
{
    static const cmg_index grids[][3] = {{1, 1, 1},  {65, 1, 1}, {9, 7, 1},  {7, 5, 3},
                                         {31, 3, 5}, {1, 9, 9},  {33, 31, 1}};
    double stencil[27];
    FILL(stencil, s, 27, s == 13 ? 30 : -1 - 0.01 * s);
    EACH_PAIR (g, sizeof grids / sizeof *grids, role, 3) {
        const cmg_templates t = {.values = role == 0 ? stencil : NULL,
                                 .grid = {grids[g][0], grids[g][1], grids[g][2]}};
        cmgi_csr M = {0};
        cmgi_kinds *R = NULL;
        CHECK_OK(cmgi_kinds_create(ctx, "M", role == 0, &t, &M));
        if (role == 2) {
            CHECK_OK(cmgi_kinds_transpose(ctx, M.kinds, &R));
            cmgi_kinds_destroy(ctx, &M.kinds);
            M.kinds = R;
        }
        for (int single = 0; single < 2; ++single) {
            cmg_matrix_options o = matrix_defaults();
            scoped_matrix *A = NULL;
            o.precision = single ? CMG_FP32 : CMG_FP64;
            const cmgi_matrix_source from = {.kinds = M.kinds};
            CHECK_OK(cmgi_matrix_create(ctx, &from, CMGI_USE_ANY, &o, &A));
            scoped_csr expanded = {0};
            CHECK_OK(cmgi_kinds_fill(ctx, M.kinds, &expanded));
            check_products(&expanded, A, 1);
            check_products(&expanded, A, 2);
        }
        cmgi_csr_free(ctx, &M);
    }
}

/* The same storage as from the CSR, where that is large enough to be searched through. */
TEST(storage_is_that_of_the_csr)
{
    double stencil[27] = {0};
    stencil[13] = 8.5;
    stencil[12] = stencil[14] = -1;
    stencil[10] = stencil[16] = -1.5;
    stencil[4] = -2;
    stencil[22] = -1.25;
    const cmg_templates t = {.values = stencil, .grid = {33, 15, 17}};
    cmg_matrix_options o = matrix_defaults();
    scoped_csr A = {0};
    scoped_csr M = {0};
    o.format = CMG_FORMAT_COMPRESSED;
    CHECK_OK(cmgi_kinds_create(ctx, "M", true, &t, &M));
    CHECK_OK(cmgi_kinds_fill(ctx, M.kinds, &A));
    for (int single = 0; single < 2; ++single) {
        o.precision = single ? CMG_FP32 : CMG_FP64;
        scoped_matrix *ours = matrix_of(&t, true, o.precision);
        scoped_matrix *found = matrix_new(&A.view, &o);
        const cmgi_compressed *C = ours->data;
        const cmgi_compressed *D = found->data;
        CHECK(C->t.count == D->t.count && C->t.kinds == D->t.kinds &&
              C->t.entries == D->t.entries && ours->bytes == found->bytes && C->t.all && D->t.all);
        CHECK((C->t.box != NULL) == (D->t.box != NULL));
        check_arrays(C->t.id, D->t.id, A.rows, sizeof *C->t.id);
    }
}

TEST(other_storage_is_refused)
{
    static const char *const asked[] = {"format=csr", "format=sell", "format=dense",
                                        "format=compressed no_templates",
                                        "format=compressed block_rows=2"};
    test_kinds k;
    scoped_csr M = {0};
    draw_kinds(100, 100, true, 8, 3, &k);
    CHECK_OK(cmgi_kinds_create(ctx, "M", true, &k.t, &M));
    for (size_t a = 0; a < sizeof asked / sizeof *asked; ++a) {
        cmg_matrix_options o = matrix_defaults();
        cmg_matrix *made = NULL;
        const cmgi_matrix_source from = {.kinds = M.kinds};
        CHECK_OK(cmg_matrix_options_set(&o, asked[a]));
        CHECK_STATUS(cmgi_matrix_create(ctx, &from, CMGI_USE_ANY, &o, &made), CMG_ERR_UNSUPPORTED);
        CHECK(made == NULL);
    }
    free_kinds(&k);
}

/* The diagonal, and what smoothers ask for on a device. */
TEST(the_diagonal_is_that_of_the_rows)
{
    double stencil[27] = {[13] = 3, [12] = -1};
    for (int grid = 0; grid < 2; ++grid) {
        test_kinds k;
        scoped_csr M = {0};
        scoped_csr A = {0};
        double *there = NULL;
        draw_kinds(150, 150, true, 16, 11, &k);
        const cmg_templates t = grid ? (cmg_templates){.values = stencil, .grid = {15, 5, 2}} : k.t;
        CHECK_OK(cmgi_kinds_create(ctx, "M", true, &t, &M));
        CHECK_OK(cmgi_kinds_fill(ctx, M.kinds, &A));
        scoped double *d = malloc((size_t)A.rows * sizeof *d);
        const cmgi_place at = ctx->backend->alloc != NULL ? CMGI_DEVICE : CMGI_HOST;
        CHECK_OK(cmgi_alloc_device(ctx, A.rows, sizeof *there, &there));
        CHECK_OK(cmgi_kinds_diagonal(ctx, at, M.kinds, there));
        CHECK_OK(cmgi_to_host(ctx, d, there, (size_t)A.rows * sizeof *d));
        CHECK_EACH(i, A.rows, d[i] == cmgi_csr_diagonal_at(&A.view, i));
        cmgi_free_device(ctx, there);
        free_kinds(&k);
    }
}
