/*
 * A matrix in fp64 that keeps what the values of one in fp32 lack: its products have the bits of
 * one that keeps whole values, where fp32 has all its bits; else it keeps whole values.
 */
#include "samples.h"
#include "spmv/create.h"

#include <float.h>

/* Matrices of one CSR: in fp32, in fp64 beside it, in fp64 alone. */
typedef struct family {
    cmgi_resident R;
    cmg_matrix *single;
    cmg_matrix *beside;
    cmg_matrix *whole;
    size_t bytes; /* that `beside` holds */
} family;

static family make_family(const cmgi_csr *A, bool keep_map)
{
    family f = {.single = NULL};
    size_t before[2];
    size_t after[2];
    cmg_matrix_options o =
        matrix_options("format=compressed keep_map=%d precision=mixed", keep_map);
    CHECK_OK(cmgi_resident_send(ctx, &A->view, &f.R));
    CHECK_OK(cmgi_resident_look_again(ctx, &f.R));
    CHECK_OK(
        cmgi_matrix_create(ctx, &(cmgi_matrix_source){.there = &f.R}, CMGI_USE_ANY, &o, &f.single));
    o.precision = CMG_FP64;
    CHECK_OK(
        cmgi_matrix_create(ctx, &(cmgi_matrix_source){.there = &f.R}, CMGI_USE_ANY, &o, &f.whole));
    cmg_context_memory(ctx, before, NULL);
    CHECK_OK(cmgi_matrix_create(ctx, &(cmgi_matrix_source){.there = &f.R, .like = f.single},
                                CMGI_USE_ANY, &o, &f.beside));
    cmg_context_memory(ctx, after, NULL);
    f.bytes = after[1] - before[1];
    return f;
}

static void free_family(family *f)
{
    cmg_matrix_destroy(&f->beside);
    cmg_matrix_destroy(&f->single);
    cmg_matrix_destroy(&f->whole);
    cmgi_resident_free(ctx, &f->R);
}

static cmg_vector *vector(cmg_size n, int columns, uint64_t seed)
{
    cmg_vector *v = NULL;
    scoped double *host = random_values(n * columns, seed);
    CHECK_OK(cmg_vector_create_columns(ctx, n, columns, CMG_FP64, &v));
    CHECK_OK(cmg_vector_set(v, host));
    return v;
}

/* Every write-back, of one column and of several. */
static void check_products(const cmg_matrix *A, const cmg_matrix *B, int columns)
{
    const cmg_size n = A->rows;
    const size_t bytes = (size_t)(n * columns) * sizeof(double);
    const cmg_matrix *const both[2] = {A, B};
    scoped_vector *x = vector(n, columns, 5);
    scoped_vector *b = vector(n, columns, 6);
    scoped_vector *d = vector(n, 1, 7);
    double *y[2];
    for (int kind = 0; kind < 4; ++kind) {
        for (int m = 0; m < 2; ++m) {
            scoped_vector *out = vector(n, columns, 8);
            y[m] = malloc(bytes + 1);
            CHECK_OK(kind == 0   ? cmg_matrix_apply(both[m], x, out)
                     : kind == 1 ? cmg_matrix_axpby(both[m], 0.7, x, -1.3, out)
                     : kind == 2 ? cmg_matrix_residual(both[m], x, b, out)
                                 : cmg_matrix_jacobi(both[m], 0.8, d, b, x, out));
            CHECK_OK(cmg_vector_get(out, y[m]));
        }
        CHECK(memcmp(y[0], y[1], bytes) == 0);
        free_all(y[0], y[1]);
    }
}

static const int *rest_of(const cmg_matrix *A)
{
    return layout(A)->p.rest;
}

/* Grids without templates and with some, up to a slice and beyond, short and long codes. */
TEST(products_have_the_bits_of_whole_values)
{
    static const cmg_size sizes[] = {2, 8, 9, 30};
    int kept[2] = {0}; /* without and with slices of templates */
    for (int s = 0; s < 8; ++s) {
        scoped_csr A = grid(sizes[s / 2], 0.3);
        const cmg_size rows = A.rows;
        for (cmg_size i = rows / 2; s % 2 == 1 && i < rows; ++i) { /* rows of the identity */
            const cmg_size k = A.indptr[i];
            A.indptr[i + 1] = k + 1;
            A.indices[k] = (cmg_index)i;
            A.values[k] = 1;
        }
        A.values[0] = 0x1.fffffffp126; /* rounds up in the last binade that is taken */
        A.values[1] = -0x1.00000001p-126;
        A.values[2] = -0.0;
        family f = make_family(&A, false);
        CHECK(f.R.facts.single);
        if (layout(f.whole)->p.count > 0 && layout(f.whole)->t.count == layout(f.single)->t.count) {
            CHECK(rest_of(f.beside) != NULL && rest_of(f.single) == NULL);
            ++kept[layout(f.beside)->t.count > 0];
            CHECK(f.beside->values == f.single->values);
            CHECK(f.bytes < (size_t)f.single->stored * 4 + (size_t)rows * 8 + 8192);
        }
        check_products(f.whole, f.beside, 1);
        check_products(f.whole, f.beside, 3);
        check_products(f.whole, f.beside, 4);
        free_family(&f);
    }
    CHECK(kept[0] >= 4 && kept[1] >= 1);
}

/* Beyond fp32, and where values may become others. */
TEST(other_values_stay_whole)
{
    static const double beyond[] = {1e-40, -0x1p-127, 0x1p127, -1e39, DBL_MAX, 5e-324};
    for (int k = 0; k < 7; ++k) {
        scoped_csr A = grid(12, 0.3);
        A.values[k * 40] = k < 6 ? beyond[k] : A.values[k * 40];
        family f = make_family(&A, k == 6);
        CHECK(f.R.facts.single == (k == 6));
        CHECK(rest_of(f.beside) == NULL && f.beside->values != f.single->values);
        check_products(f.whole, f.beside, 1);
        free_family(&f);
    }
}
