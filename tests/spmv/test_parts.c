/*
 * Products that threads share: rows without entries belong to somebody, too. The last rows are
 * empty, so that their slices hold nothing and begin where the entries end.
 */
#include "suite.h"

enum { FULL = 6000, EMPTY = 700, WIDTH = 7, COLUMNS = 64 }; /* more entries than one thread takes */

static cmgi_csr tail_of_empty_rows(void)
{
    cmgi_csr A = csr_new(FULL + EMPTY, COLUMNS, (cmg_size)FULL * WIDTH);
    uint64_t seed = 5;
    EACH_PAIR (i, FULL, e, WIDTH) {
        csr_put(&A, i, (i + 9 * e) % COLUMNS, cmgi_random(&seed) - 0.5);
    }
    csr_end(&A);
    return A;
}

/* y = A x overwrites every entry: y is full of NaN before. */
static void check_product(cmg_context *on, const cmgi_csr *A, cmg_format format)
{
    scoped_matrix *M = NULL;
    scoped_vector *x = NULL;
    scoped_vector *y = NULL;
    double in[COLUMNS];
    scoped double *out = malloc((size_t)A->rows * sizeof *out);
    cmg_matrix_options o = matrix_options("format=%s", WORD("format", format));
    FILL(in, j, COLUMNS, 1 + 0.125 * j);
    CHECK_OK(cmg_matrix_create_csr(on, &A->view, &o, &M));
    CHECK_OK(cmg_vector_create(on, COLUMNS, CMG_FP64, &x));
    CHECK_OK(cmg_vector_create(on, A->rows, CMG_FP64, &y));
    CHECK_OK(cmg_vector_set(x, in));
    CHECK_OK(cmg_vector_fill(y, NAN));
    CHECK_OK(cmg_matrix_apply(M, x, y));
    CHECK_OK(cmg_vector_get(y, out));
    bool good = true;
    for (cmg_size i = 0; i < A->rows; ++i) {
        good = good && fabs(out[i] - row_times(&A->view, i, in)) <= 1e-13 * WIDTH * 9;
    }
    CHECK_SAY(good, "format %s", cmg_enum_name("format", (int)format));
}

TEST(empty_rows_at_the_end_are_written)
{
    static const cmg_format formats[] = {CMG_FORMAT_CSR,       CMG_FORMAT_ELLPACK, CMG_FORMAT_ELLR,
                                         CMG_FORMAT_SELL,      CMG_FORMAT_K1,      CMG_FORMAT_K2,
                                         CMG_FORMAT_COMPRESSED};
    scoped_csr A = tail_of_empty_rows();
    for (int threads = 1; threads <= 7; ++threads) {
        scoped_context *on = context_of_threads(threads);
        for (size_t k = 0; k < sizeof formats / sizeof formats[0]; ++k) {
            check_product(on, &A, formats[k]);
        }
    }
}
