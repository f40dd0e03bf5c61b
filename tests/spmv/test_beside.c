/*
 * A matrix in fp64 and one in fp32 of the same CSR that share all but what the values in fp32 lack:
 * products have the bits of matrices by themselves, where fp32 has all its bits; else whole values
 * are kept.
 */
#include "samples.h"
#include "csr/templates.h"
#include "spmv/create.h"

#include <float.h>

/* Whether fp32 lacks bits of a value, or has it in its last binade. */
static bool has_beyond(const cmgi_csr *A)
{
    bool beyond = false;
    for (cmg_size k = 0; k < A->indptr[A->rows]; ++k) {
        const double size = fabs(A->values[k]);
        beyond = beyond || (size > 0 && !(size >= FLT_MIN && size < 0x1p127));
    }
    return beyond;
}

/* Matrices of one CSR, each by itself and both together: on the device the one in fp64 is made
 * beside that in fp32, on the host the other way around. */
typedef struct family {
    cmgi_resident R;
    cmg_matrix *single;
    cmg_matrix *beside;
    cmg_matrix *whole;
    cmg_matrix *alone; /* in fp32 */
    size_t bytes;      /* that the second of both holds */
} family;

static cmg_matrix *member(const cmgi_matrix_source *from, cmg_precision precision, bool keep_map)
{
    cmg_matrix *M = NULL;
    cmg_matrix_options o = matrix_options("format=compressed keep_map=%d", keep_map);
    o.precision = precision;
    CHECK_OK(cmgi_matrix_create(ctx, from, CMGI_USE_ANY, &o, &M));
    return M;
}

static family make_family(const cmgi_csr *A, bool keep_map)
{
    family f = {.single = NULL};
    const bool here = ctx->options.backend == CMG_BACKEND_CPU;
    cmgi_matrix_source from = {.csr = &A->view};
    size_t before[2];
    size_t after[2];
    if (here) {
        f.alone = member(&from, CMG_FP32, keep_map);
        f.whole = member(&from, CMG_FP64, keep_map);
        from.beside = true;
        f.beside = member(&from, CMG_FP64, keep_map);
        cmg_context_memory(ctx, before, NULL);
        from = (cmgi_matrix_source){.csr = &A->view, .like = f.beside};
        f.single = member(&from, CMG_FP32, keep_map);
    } else {
        CHECK_OK(cmgi_resident_send(ctx, &A->view, &f.R));
        CHECK_OK(cmgi_resident_look_again(ctx, &f.R));
        cmgi_twin twin = {0};
        size_t alone[2];
        from = (cmgi_matrix_source){.there = &f.R};
        f.whole = member(&from, CMG_FP64, keep_map);
        cmg_context_memory(ctx, alone, NULL);
        f.alone = member(&from, CMG_FP32, keep_map);
        cmg_context_memory(ctx, before, NULL);
        from.twin = &twin;
        f.single = member(&from, CMG_FP32, keep_map);
        from.like = f.single;
        f.beside = member(&from, CMG_FP64, keep_map);
        CHECK(f.R.facts.single == !has_beyond(A));
        cmgi_twin_free(ctx, &twin);
        before[1] += before[1] - alone[1];
    }
    cmg_context_memory(ctx, after, NULL);
    f.bytes = after[!here] - before[!here];
    return f;
}

static void free_family(family *f)
{
    cmg_matrix_destroy(&f->beside);
    cmg_matrix_destroy(&f->single);
    cmg_matrix_destroy(&f->whole);
    cmg_matrix_destroy(&f->alone);
    cmgi_resident_free(ctx, &f->R);
}

static cmg_vector *vector(cmg_size n, int columns, cmg_precision precision, uint64_t seed)
{
    scoped double *host = random_values(n * columns, seed);
    return columns_in(precision, n, columns, host);
}

/* Every write-back, of one column and of several. */
static void check_products(const cmg_matrix *A, const cmg_matrix *B, int columns)
{
    const cmg_size n = A->rows;
    const size_t bytes = (size_t)(n * columns) * sizeof(double);
    const cmg_matrix *const both[2] = {A, B};
    const cmg_precision p = A->options.precision;
    scoped_vector *x = vector(n, columns, p, 5);
    scoped_vector *b = vector(n, columns, p, 6);
    scoped_vector *d = vector(n, 1, p, 7);
    for (int kind = 0; kind < 4; ++kind) {
        double *y[2];
        for (int m = 0; m < 2; ++m) {
            scoped_vector *out = vector(n, columns, p, 8);
            CHECK_OK(kind == 0   ? cmg_matrix_apply(both[m], x, out)
                     : kind == 1 ? cmg_matrix_axpby(both[m], 0.7, x, -1.3, out)
                     : kind == 2 ? cmg_matrix_residual(both[m], x, b, out)
                                 : cmg_matrix_jacobi(both[m], 0.8, d, b, x, out));
            y[m] = values_of(out);
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
        if (layout(f.whole)->p.count > 0 && layout(f.whole)->t.count == layout(f.single)->t.count) {
            CHECK(rest_of(f.beside) != NULL && rest_of(f.single) == NULL);
            ++kept[layout(f.beside)->t.count > 0];
            CHECK(f.beside->values == f.single->values);
            CHECK(layout(f.single)->p.borrowed != layout(f.beside)->p.borrowed);
            const bool here = layout(f.single)->p.borrowed; /* or the rests come second */
            CHECK(f.bytes < (here ? 0 : (size_t)f.single->stored * 4) + (size_t)rows * 8 + 8192);
        }
        for (int columns = 1; columns <= 4; ++columns) {
            check_products(f.whole, f.beside, columns);
            if (f.alone != NULL) {
                check_products(f.alone, f.single, columns);
            }
        }
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
        CHECK(rest_of(f.beside) == NULL && f.beside->values != f.single->values);
        check_products(f.whole, f.beside, 1);
        free_family(&f);
    }
}

/* Values of two numbers by each instruction set, against plain loops. */
TEST(instruction_sets_add_them)
{
    NEEDS(ctx->options.backend == CMG_BACKEND_CPU, "kernels of the CPU");
    const cmgi_cpu_kernels *set = NULL;
    scoped_csr A = grid(31, 0.3);
    family f = make_family(&A, false);
    CHECK(rest_of(f.beside) != NULL && layout(f.beside)->t.count == 0);
    for (int s = 0; (set = cmgi_cpu_kernels_at(s)) != NULL; ++s) {
        CHECK_NEAR(set_error(set, &A, f.beside), 0, 1e-14); /* sums of five terms up to 6 */
    }
    free_family(&f);
}
