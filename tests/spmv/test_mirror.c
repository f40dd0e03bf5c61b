/*
 * Mirrors on a GPU: products of symmetric matrices on a grid with values of their own, every
 * write-back against plain loops in fp64; matrices that are nearly so; those that are not, which
 * have none.
 */
#include "spmv/columns.h"
#include "spmv/mirror.h"
#include "products.h"

/* The upper half's values are multiples of 1 / 64, which every precision has. */
static double value_of(cmg_size i, cmg_size j)
{
    const uint64_t low = (uint64_t)(i < j ? i : j);
    const uint64_t high = (uint64_t)(i < j ? j : i);
    const uint64_t mixed = cmgi_random_mix(cmgi_random_mix(low) + high);
    const double v = (double)((int)(mixed >> 40 & 127) - 64) / 64;
    return i == j ? 8 + v : v != 0 ? v : 1;
}

static cmgi_csr assemble(const cmg_index *size)
{
    const cmg_size n = (cmg_size)size[0] * size[1] * size[2];
    cmgi_csr A = {0};
    cmg_size nnz = 0;
    CHECK_OK(cmgi_csr_alloc(ctx, n, n, 27 * n, &A));
    for (cmg_size i = 0; i < n; ++i) {
        const cmg_index at[3] = {(cmg_index)(i % size[0]), (cmg_index)(i / size[0] % size[1]),
                                 (cmg_index)(i / size[0] / size[1])};
        for (int k = 0; k < 27; ++k) {
            const int step[3] = {k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1};
            bool inside = true;
            for (int d = 0; d < 3; ++d) {
                inside = inside && at[d] + step[d] >= 0 && at[d] + step[d] < size[d];
            }
            const cmg_size j = i + ((cmg_size)step[2] * size[1] + step[1]) * size[0] + step[0];
            if (inside) {
                A.indices[nnz] = (cmg_index)j;
                A.values[nnz++] = value_of(i, j);
            }
        }
        A.indptr[i + 1] = nnz;
    }
    return A;
}

static cmg_matrix *compressed(const cmgi_csr *A, cmg_precision precision, cmg_values values)
{
    cmg_matrix *M = compress(A, precision, values);
    CHECK(M->format->id == CMG_FORMAT_COMPRESSED);
    return M;
}

static const cmgi_mirror *mirror_of(const cmg_matrix *M)
{
    return ((const cmgi_compressed *)M->data)->mirror;
}

static double *entry(const cmgi_csr *A, cmg_size i, cmg_size j)
{
    cmg_size e = A->indptr[i];
    while (A->indices[e] != j) {
        ++e;
    }
    return &A->values[e];
}

/* The numbers of the packed slices as bytes on the host, diagonal included. */
static unsigned char *bytes_of(const cmg_matrix *M, size_t *count)
{
    const cmgi_compressed *kept = M->data;
    const size_t size = (size_t)M->stored * cmgi_values_bytes(kept->p.kind, M->options.precision);
    const size_t apart = kept->diagonal != NULL ? (size_t)M->rows * sizeof *kept->diagonal : 0;
    unsigned char *bytes = calloc(size + apart, 1);
    CHECK_OK(cmgi_to_host(ctx, bytes, M->values, size));
    CHECK_OK(apart > 0 ? cmgi_to_host(ctx, bytes + size, kept->diagonal, apart) : CMG_OK);
    *count = size + apart;
    return bytes;
}

/* What columns alone read goes and comes again, bit by bit; where another matrix may share it, it
 * stays. */
static void check_release(cmg_matrix *M)
{
    size_t count[2] = {0, 0};
    const bool shares = M->options.precision == CMG_FP32 && M->options.values == CMG_VALUES_FULL;
    scoped unsigned char *before = bytes_of(M, &count[0]);
    const size_t held = M->bytes;
    cmgi_columns_release(M);
    CHECK((M->values == NULL) == !shares && (M->bytes < held) == !shares);
    CHECK_OK(cmgi_columns_reserve(M, 1));
    CHECK((M->values == NULL) == !shares);
    CHECK_OK(cmgi_columns_reserve(M, 2));
    scoped unsigned char *after = bytes_of(M, &count[1]);
    CHECK(count[0] == count[1] && memcmp(before, after, count[0]) == 0 && M->bytes == held);
    cmgi_columns_release(M);
}

static void check_products(const cmgi_csr *A, cmg_precision precision, cmg_values values)
{
    const cmg_size n = A->rows;
    scoped_matrix *M = compressed(A, precision, values);
    cmg_vector *whole[VECTORS];
    double *value[VECTORS];
    void *v[VECTORS];
    scoped double *sum = calloc((size_t)n, sizeof *sum);
    scoped double *size = calloc((size_t)n, sizeof *size);
    CHECK((mirror_of(M) != NULL) == cmgi_on_cuda(ctx));
    for (int k = 0; k < VECTORS; ++k) {
        value[k] = random_values(n, 11 + (uint64_t)k);
        whole[k] = vector_from(n, precision, value[k]);
        CHECK_OK(cmg_vector_get(whole[k], value[k])); /* as rounded */
        v[k] = cmg_vector_data(whole[k]);
    }
    if (cmgi_on_cuda(ctx)) {
        check_release(M);
    }
    suite_multiply(A, value[X], sum, size);
    for (size_t k = 0; k < sizeof products / sizeof products[0]; ++k) {
        check_product(M, cmgi_matrix_spmv, &products[k], n, v, value, sum, size);
    }
    if (cmgi_matrix_rounds(M)) {
        scoped float *r = calloc((size_t)n, sizeof *r);
        scoped_device float *there = device_new(n, sizeof *there);
        cmgi_addends squares = {0};
        double exact = 0;
        double worst = 0;
        CHECK(precision == CMG_FP64);
        CHECK_OK(cmgi_matrix_residual_rounded(M, v[B], v[X], there, &squares));
        CHECK_OK(cmgi_to_host(ctx, r, there, (size_t)n * sizeof *r));
        for (cmg_size i = 0; i < n; ++i) {
            const double wanted = value[B][i] - sum[i];
            exact += wanted * wanted;
            worst = worst_of(worst, fabs(r[i] - wanted) / (size[i] + 1));
        }
        CHECK(worst <= 1e-7);
        CHECK_NEAR(read_sum(squares.at, squares.count), exact, 1e-13 * exact);
        double dot = 0;
        double magnitude = 0;
        for (cmg_size i = 0; i < n; ++i) {
            dot += value[X][i] * sum[i];
            magnitude += fabs(value[X][i]) * size[i];
        }
        CHECK_OK(cmgi_matrix_apply_dot(M, v[X], v[Y], NULL, &squares));
        CHECK_NEAR(read_sum(squares.at, squares.count), dot, 4e-14 * magnitude);
    } else {
        CHECK(precision == CMG_FP32 || !cmgi_on_cuda(ctx));
    }
    for (int k = 0; k < VECTORS; ++k) {
        cmg_vector_destroy(&whole[k]);
        free(value[k]);
    }
}

TEST(products_are_those_of_plain_loops)
{
    static const cmg_index sizes[][3] = {{61, 46, 47}, {30, 67, 66}, {211, 9, 70}, {128, 128, 9}};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; ++s) {
        scoped_csr A = assemble(sizes[s]);
        check_products(&A, CMG_FP64, CMG_VALUES_FULL);
        check_products(&A, CMG_FP32, CMG_VALUES_FULL);
        check_products(&A, CMG_FP32, CMG_VALUES_FP16);
    }
}

/* Values that differ from their images in the last places: row sums are those of the given rows. */
TEST(rounded_matrices_keep_row_sums)
{
    static const cmg_index size[] = {61, 46, 47};
    scoped_csr A = assemble(size);
    const cmg_size n = A.rows;
    uint64_t seed = 5;
    for (cmg_size e = 0; e < A.indptr[n]; ++e) {
        A.values[e] *= 1 + 2 * DBL_EPSILON * (cmgi_random(&seed) - 0.5);
    }
    static const cmg_precision precisions[] = {CMG_FP64, CMG_FP32, CMG_FP32};
    static const double tolerance[] = {4e-15, 2e-6, 2e-6};
    for (int k = 0; k < 3; ++k) {
        scoped_matrix *M =
            compressed(&A, precisions[k], k == 2 ? CMG_VALUES_FP16 : CMG_VALUES_FULL);
        scoped double *ones = calloc((size_t)n, sizeof *ones);
        for (cmg_size i = 0; i < n; ++i) {
            ones[i] = 1;
        }
        scoped_vector *x = vector_from(n, precisions[k], ones);
        scoped_vector *y = vector_from(n, precisions[k], ones);
        const cmgi_writeback w = {.kind = CMGI_WB_APPLY, .y = cmg_vector_data(y)};
        CHECK((mirror_of(M) != NULL) == cmgi_on_cuda(ctx));
        CHECK_OK(cmgi_matrix_spmv(M, &w, cmg_vector_data(x)));
        CHECK_OK(cmg_vector_get(y, ones));
        double worst = 0;
        for (cmg_size i = 0; i < n; ++i) {
            double row = 0;
            for (cmg_size e = A.indptr[i]; e < A.indptr[i + 1]; ++e) {
                row += A.values[e];
            }
            worst = worst_of(worst, fabs(ones[i] - row) / 16);
        }
        CHECK(worst <= tolerance[k]);
    }
}

/* One entry, or one coupling, that a mirror cannot have. */
TEST(others_have_none)
{
    static const cmg_index size[] = {61, 46, 47};
    const cmg_size line = size[0];
    const cmg_size plane = line * size[1];
    const cmg_size middle = 23 * plane + 23 * line + 30;
    for (int k = 0; k < 6; ++k) {
        scoped_csr A = assemble(size);
        const cmg_size end = middle - middle % line + line - 1;
        switch (k) {
        case 0: /* below the diagonal alone */
            *entry(&A, middle, middle - 1) *= 1.003;
            break;
        case 1: /* above it, in the last plane but one */
            *entry(&A, 45 * plane, 46 * plane) = 0;
            break;
        case 2:
            *entry(&A, 1, 0) = NAN;
            break;
        case 3: /* from the end of a line to the next one, both ways */
            A.indices[A.indptr[end + 1] - 1] = (cmg_index)(end + plane + 1);
            break;
        case 4: /* a row of its own */
            A.indices[A.indptr[middle]] -= 2;
            break;
        default: /* both entries are gone: a mirror */
            *entry(&A, middle, middle + line) = 0;
            *entry(&A, middle + line, middle) = 0;
            break;
        }
        for (int p = 0; p < 3; ++p) {
            scoped_matrix *M = compressed(&A, p == 0 ? CMG_FP64 : CMG_FP32,
                                          p == 2 ? CMG_VALUES_FP16 : CMG_VALUES_FULL);
            CHECK((mirror_of(M) != NULL) == (k == 5 && cmgi_on_cuda(ctx)));
        }
    }
    static const cmg_index small[] = {20, 20, 20};
    scoped_csr A = assemble(small);
    scoped_matrix *M = compressed(&A, CMG_FP64, CMG_VALUES_FULL);
    CHECK(mirror_of(M) == NULL);
}
