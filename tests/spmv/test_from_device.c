/*
 * A CSR on the device gives, to the bit, the storage that the same CSR on the host gives: columns,
 * values and value map; new values may come from the device, too.
 */
#include "core/vector.h"
#include "spmv/cpu_kernels.h"
#include "spmv/matrix.h"
#include "suite.h"

static const cmg_format formats[] = {CMG_FORMAT_AUTO,       CMG_FORMAT_CSR,  CMG_FORMAT_ELLPACK,
                                     CMG_FORMAT_ELLR,       CMG_FORMAT_ELLT, CMG_FORMAT_SELL,
                                     CMG_FORMAT_K1,         CMG_FORMAT_K2,   CMG_FORMAT_K2RS,
                                     CMG_FORMAT_COMPRESSED, CMG_FORMAT_DENSE};
enum { FORMATS = sizeof formats / sizeof formats[0] };

static void *on_device(const void *host, cmg_size count, size_t size)
{
    void *d = NULL;
    CHECK_OK(cmgi_alloc_device(ctx, count, size, &d));
    CHECK_OK(cmgi_to_device(ctx, d, host, (size_t)count * size));
    return d;
}

static void check_array(const void *a, const void *b, cmg_size count, size_t size)
{
    const size_t bytes = (size_t)count * size;
    if (a == NULL || b == NULL) {
        CHECK(a == b);
        return;
    }
    char *ha = malloc(bytes + 1);
    char *hb = malloc(bytes + 1);
    CHECK_OK(cmgi_to_host(ctx, ha, a, bytes));
    CHECK_OK(cmgi_to_host(ctx, hb, b, bytes));
    CHECK(memcmp(ha, hb, bytes) == 0);
    free(ha);
    free(hb);
}

static void check_same(const cmg_matrix *A, const cmg_matrix *B)
{
    CHECK(A->format == B->format && A->stored == B->stored && A->nnz == B->nnz &&
          A->bytes == B->bytes);
    if (A->format != B->format || A->stored != B->stored || A->format->fill_cuda == NULL) {
        return;
    }
    check_array(A->values, B->values, A->stored, cmgi_precision_bytes(A->options.precision));
    check_array(A->value_map, B->value_map, A->nnz, sizeof *A->value_map);
    if (A->options.format == CMG_FORMAT_CSR) {
        const cmgi_csr_storage *a = A->data;
        const cmgi_csr_storage *b = B->data;
        check_array(a->columns, b->columns, A->nnz, sizeof *a->columns);
        check_array(a->indptr, b->indptr, A->rows + 1, sizeof *a->indptr);
    } else {
        const cmgi_slices *a = A->data;
        const cmgi_slices *b = B->data;
        check_array(a->columns, b->columns, A->stored, sizeof *a->columns);
        check_array(a->rowmap, b->rowmap, A->rows, sizeof *a->rowmap);
    }
}

/* y = A x of both, to the bit. */
static void check_products(const cmg_matrix *A, const cmg_matrix *B)
{
    double *host = suite_vector(A->cols, 5);
    double *ya = calloc((size_t)A->rows + 1, sizeof *ya);
    double *yb = calloc((size_t)A->rows + 1, sizeof *yb);
    cmg_vector *x = NULL;
    cmg_vector *y = NULL;
    CHECK_OK(cmg_vector_create(ctx, A->cols, A->options.precision, &x));
    CHECK_OK(cmg_vector_create(ctx, A->rows, A->options.precision, &y));
    CHECK_OK(cmg_vector_set(x, host));
    CHECK_OK(cmg_matrix_apply(A, x, y));
    CHECK_OK(cmg_vector_get(y, ya));
    CHECK_OK(cmg_matrix_apply(B, x, y));
    CHECK_OK(cmg_vector_get(y, yb));
    CHECK(memcmp(ya, yb, (size_t)A->rows * sizeof *ya) == 0);
    cmg_vector_destroy(&x);
    cmg_vector_destroy(&y);
    free(host);
    free(ya);
    free(yb);
}

static void check_format(const cmgi_csr *A, const cmg_csr *there, cmg_format format,
                         cmg_precision precision)
{
    const cmg_csr here = cmgi_csr_view(A);
    cmg_matrix *M = NULL;
    cmg_matrix *N = NULL;
    cmg_matrix_options options;
    cmg_matrix_options_default(&options);
    options.format = format;
    options.precision = precision;
    options.t = format == CMG_FORMAT_ELLT ? 4 : 0;
    options.threshold = format == CMG_FORMAT_K2 ? 3 : 0;
    options.keep_map = true;
    CHECK_OK(cmg_matrix_create_csr(ctx, &here, &options, &M));
    CHECK_OK(cmg_matrix_create_csr(ctx, there, &options, &N));
    if (M != NULL && N != NULL) {
        check_same(M, N);
        check_products(M, N);
        double *twice = suite_vector(A->indptr[A->rows], 9);
        double *twice_there = on_device(twice, A->indptr[A->rows], sizeof *twice);
        CHECK_OK(cmg_matrix_update(M, twice));
        CHECK_OK(cmg_matrix_update(N, twice_there));
        check_same(M, N);
        cmgi_free_device(ctx, twice_there);
        free(twice);
    }
    cmg_matrix_destroy(&M);
    cmg_matrix_destroy(&N);
}

static void every_format_is_made_on_the_device(void)
{
    for (int s = 0; s < SUITE; ++s) {
        cmgi_csr A = suite_make(&suite[s]);
        const cmg_size nnz = A.indptr[A.rows];
        cmg_csr there = {A.rows, A.cols, NULL, NULL, NULL};
        there.indptr = on_device(A.indptr, A.rows + 1, sizeof *A.indptr);
        there.indices = on_device(A.indices, nnz, sizeof *A.indices);
        there.values = on_device(A.values, nnz, sizeof *A.values);
        for (int f = 0; f < FORMATS; ++f) {
            const bool fits = (formats[f] != CMG_FORMAT_K2RS || A.rows == A.cols) &&
                              (formats[f] != CMG_FORMAT_DENSE || A.rows <= 2000);
            for (int p = CMG_FP64; fits && p <= CMG_FP32; ++p) {
                check_format(&A, &there, formats[f], (cmg_precision)p);
            }
        }
        cmgi_free_device(ctx, (void *)(uintptr_t)there.indptr);
        cmgi_free_device(ctx, (void *)(uintptr_t)there.indices);
        cmgi_free_device(ctx, (void *)(uintptr_t)there.values);
        cmgi_csr_free(ctx, &A);
    }
}

static void wrong_arrays_are_refused(void)
{
    const cmg_size indptr[] = {0, 1, 2};
    const cmg_size falling[] = {0, 2, 1};
    const cmg_index outside[] = {0, 7};
    const double values[] = {1, 2};
    cmg_size *d_indptr = on_device(indptr, 3, sizeof *indptr);
    cmg_size *d_falling = on_device(falling, 3, sizeof *falling);
    cmg_index *d_outside = on_device(outside, 2, sizeof *outside);
    double *d_values = on_device(values, 2, sizeof *values);
    cmg_matrix *A = NULL;
    const cmg_csr wrong_column = {2, 2, d_indptr, d_outside, d_values};
    const cmg_csr wrong_rows = {2, 8, d_falling, d_outside, d_values};
    const cmg_csr no_values = {2, 8, d_indptr, d_outside, NULL};
    CHECK_STATUS(cmg_matrix_create_csr(ctx, &wrong_column, NULL, &A), CMG_ERR_SHAPE);
    CHECK(strstr(cmg_context_message(ctx), "column 7") != NULL);
    CHECK_STATUS(cmg_matrix_create_csr(ctx, &wrong_rows, NULL, &A), CMG_ERR_SHAPE);
    CHECK_STATUS(cmg_matrix_create_csr(ctx, &no_values, NULL, &A), CMG_ERR_ARG);
    CHECK(A == NULL);
    cmgi_free_device(ctx, d_indptr);
    cmgi_free_device(ctx, d_falling);
    cmgi_free_device(ctx, d_outside);
    cmgi_free_device(ctx, d_values);
}

int main(int argc, char **argv)
{
    TEST_BEGIN(argc, argv);
    RUN(every_format_is_made_on_the_device);
    RUN(wrong_arrays_are_refused);
    return TEST_END();
}
