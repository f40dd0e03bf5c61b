/*
 * Compressed slices: what is found in a matrix (templates, patterns, code sizes), and that products
 * are those of plain loops; values in 16 and 8 bits keep row sums, whatever their unit; rounding is
 * to the nearest.
 */
#include "core/vector.h"
#include "spmv/compressed.h"
#include "spmv/cpu_kernels.h"
#include "spmv/templates.h"
#include "suite.h"

/* 5-point Laplacian on m x m points; `vary` > 0 gives every entry a value of its own, symmetric. */
static cmgi_csr grid(cmg_size m, double vary)
{
    cmgi_csr A = {0};
    CHECK_OK(cmgi_csr_alloc(ctx, m * m, m * m, 5 * m * m - 4 * m, &A));
    cmg_size k = 0;
    for (cmg_size i = 0; i < m * m; ++i) {
        const cmg_size neighbour[5] = {i - m, i - 1, i, i + 1, i + m};
        const bool there[5] = {i >= m, i % m > 0, true, i % m < m - 1, i < m * (m - 1)};
        A.indptr[i] = k;
        for (int d = 0; d < 5; ++d) {
            if (there[d]) {
                const cmg_size j = neighbour[d];
                uint64_t pair = (uint64_t)((i < j ? i : j) * 1000003 + (i < j ? j : i));
                A.indices[k] = (cmg_index)j;
                A.values[k++] = (d == 2 ? 4 : -1) * (1 + vary * cmgi_random(&pair));
            }
        }
    }
    A.indptr[m * m] = k;
    return A;
}

/* Linear interpolation from n points to 2 n - 1. */
static cmgi_csr interpolation(cmg_size n)
{
    cmgi_csr P = {0};
    CHECK_OK(cmgi_csr_alloc(ctx, 2 * n - 1, n, 3 * n - 2, &P));
    cmg_size k = 0;
    for (cmg_size i = 0; i < 2 * n - 1; ++i) {
        P.indptr[i] = k;
        for (cmg_size c = i / 2; c <= (i + 1) / 2; ++c) {
            P.indices[k] = (cmg_index)c;
            P.values[k++] = i % 2 ? 0.5 : 1;
        }
    }
    P.indptr[2 * n - 1] = k;
    return P;
}

static cmg_matrix *compress(const cmgi_csr *A, cmg_precision precision, cmg_values values)
{
    const cmg_csr view = cmgi_csr_view(A);
    cmg_matrix_options options;
    cmg_matrix_options_default(&options);
    options.format = CMG_FORMAT_COMPRESSED;
    options.precision = precision;
    options.values = values;
    cmg_matrix *M = NULL;
    CHECK_OK(cmg_matrix_create_csr(ctx, &view, &options, &M));
    return M;
}

static const cmgi_compressed *layout(const cmg_matrix *M)
{
    return M->data;
}

/* Largest error of M x against plain loops, over the largest sum of |a_ij x_j|; ones or random x.
 */
static double product_error(const cmgi_csr *A, const cmg_matrix *M, bool ones)
{
    double *x = suite_vector(A->cols, 3);
    for (cmg_size j = 0; ones && j < A->cols; ++j) {
        x[j] = 1;
    }
    double *expected = calloc((size_t)A->rows + 1, sizeof(double));
    double *magnitude = calloc((size_t)A->rows + 1, sizeof(double));
    double *out = calloc((size_t)A->rows + 1, sizeof(double));
    cmg_vector *vx = NULL;
    cmg_vector *vy = NULL;
    CHECK_OK(cmg_vector_create(ctx, A->cols, M->options.precision, &vx));
    CHECK_OK(cmg_vector_create(ctx, A->rows, M->options.precision, &vy));
    CHECK_OK(cmg_vector_set(vx, x));
    CHECK_OK(cmg_vector_fill(vy, NAN)); /* what is not written shows */
    CHECK_OK(cmg_vector_get(vx, x));
    suite_multiply(A, x, expected, magnitude);
    CHECK_OK(cmg_matrix_apply(M, vx, vy));
    CHECK_OK(cmg_vector_get(vy, out));
    double worst = 0;
    double largest = 0;
    for (cmg_size i = 0; i < A->rows; ++i) {
        const double error = fabs(out[i] - expected[i]);
        worst = error <= worst ? worst : error; /* NaN wins */
        largest = fmax(largest, magnitude[i]);
    }
    cmg_vector_destroy(&vx);
    cmg_vector_destroy(&vy);
    free(x);
    free(expected);
    free(magnitude);
    free(out);
    return largest > 0 ? worst / largest : worst;
}

/* Error of a product over sum |a_ij x_j| that rounding the entries to nearest allows. */
static double rounding(cmg_values values)
{
    static const double half_unit[] = {6e-8, 0x1p-11, 0x1p-4};
    return half_unit[values] + 1e-6;
}

static void equal_rows_become_templates(void)
{
    for (int p = CMG_FP64; p <= CMG_FP32; ++p) {
        const double eps = p == CMG_FP64 ? 1e-15 : 1e-6;
        cmgi_csr A = grid(200, 0);
        cmg_matrix *M = compress(&A, (cmg_precision)p, CMG_VALUES_FULL);
        /* an inner point, four sides and, because the kinds are few, four corners */
        CHECK(layout(M)->t.kinds == 9);
        CHECK(layout(M)->p.count == 0 && layout(M)->t.count == 625);
        CHECK(M->bytes < 200 * 200 * 3);
        CHECK(product_error(&A, M, false) <= eps);
        cmg_matrix_destroy(&M);
        cmgi_csr_free(ctx, &A);
        A = interpolation(3000);
        M = compress(&A, (cmg_precision)p, CMG_VALUES_FULL);
        CHECK(layout(M)->t.kinds == 2 && layout(M)->p.count == 0);
        CHECK(product_error(&A, M, false) <= eps);
        cmg_matrix_destroy(&M);
        cmgi_csr_free(ctx, &A);
    }
}

static void varying_values_leave_patterns(void)
{
    cmgi_csr A = grid(200, 0.5);
    cmg_matrix *M = compress(&A, CMG_FP64, CMG_VALUES_FULL);
    CHECK(layout(M)->t.count == 0 && layout(M)->p.count == 625);
    /* nearly all slices have one pattern of five offsets and no codes */
    CHECK(layout(M)->p.code == NULL || M->bytes < (size_t)(200 * 200) * 5 * 8 * 11 / 10);
    CHECK(product_error(&A, M, false) <= 1e-15);
    cmg_matrix_destroy(&M);
    cmgi_csr_free(ctx, &A);
}

/* Two columns a row, the second `spread` further on in odd rows: codes of 1, 2 and 4 bytes. */
static void codes_are_as_short_as_the_spread_allows(void)
{
    static const struct {
        cmg_size spread;
        size_t bytes; /* of a code */
    } cases[] = {{200, 1}, {255, 1}, {256, 2}, {60000, 2}, {70000, 4}};
    for (int c = 0; c < 5; ++c) {
        const cmg_size n = 5000;
        cmgi_csr A = {0};
        CHECK_OK(cmgi_csr_alloc(ctx, n, n + 80000, 2 * n, &A));
        uint64_t seed = 9;
        for (cmg_size i = 0; i < n; ++i) {
            /* offsets take many values, so that no pattern is found */
            const cmg_size jump = 1 + (i % 2 ? cases[c].spread : (i * 37) % 150);
            A.indptr[i] = 2 * i;
            A.indices[2 * i] = (cmg_index)i;
            A.indices[2 * i + 1] = (cmg_index)(i + jump);
            A.values[2 * i] = cmgi_random(&seed);
            A.values[2 * i + 1] = cmgi_random(&seed);
        }
        A.indptr[n] = 2 * n;
        cmg_matrix *M = compress(&A, CMG_FP64, CMG_VALUES_FULL);
        const size_t codes = M->bytes - (size_t)M->stored * 8;
        const size_t around =
            (size_t)n * 4 + (size_t)(n / 64 + 1) * 32; /* references, bases, places */
        CHECK(codes >= (size_t)M->stored * cases[c].bytes);
        CHECK(codes <= (size_t)M->stored * cases[c].bytes + around);
        CHECK(product_error(&A, M, false) <= 1e-15);
        cmg_matrix_destroy(&M);
        cmgi_csr_free(ctx, &A);
    }
}

/* Regular rows first, random ones after them: both kinds of slices in one matrix. */
static void templates_and_codes_live_side_by_side(void)
{
    cmgi_csr A = grid(150, 0);
    uint64_t seed = 4;
    for (cmg_size k = A.indptr[15000]; k < A.indptr[A.rows]; ++k) {
        A.values[k] += cmgi_random(&seed);
    }
    for (int p = CMG_FP64; p <= CMG_FP32; ++p) {
        for (int v = CMG_VALUES_FULL; v <= (p == CMG_FP32 ? CMG_VALUES_FP8 : CMG_VALUES_FULL);
             ++v) {
            cmg_matrix *M = compress(&A, (cmg_precision)p, (cmg_values)v);
            CHECK(layout(M)->t.count > 200 && layout(M)->p.count > 100);
            CHECK(product_error(&A, M, false) <= (p == CMG_FP64 ? 1e-15 : rounding((cmg_values)v)));
            cmg_matrix_destroy(&M);
        }
    }
    cmgi_csr_free(ctx, &A);
}

/* With the diagonal recomputed, A 1 is exact to fp32 whatever the entries were rounded to. */
static void fewer_bits_keep_row_sums(void)
{
    cmgi_csr A = grid(120, 0.9);
    for (int v = CMG_VALUES_FP16; v <= CMG_VALUES_FP8; ++v) {
        cmg_matrix *M = compress(&A, CMG_FP32, (cmg_values)v);
        CHECK(product_error(&A, M, true) <= 1e-6);
        CHECK(product_error(&A, M, false) > 1e-6); /* and they were rounded */
        CHECK(product_error(&A, M, false) <= rounding((cmg_values)v));
        cmg_matrix_destroy(&M);
    }
    cmgi_csr_free(ctx, &A);
}

/* The portable loops and those of this machine's instruction set, slices of all kinds. */
/* b x b blocks in place of the entries of A: the entry times a full block, or the identity. */
static cmgi_csr in_blocks(const cmgi_csr *A, int b, bool identity)
{
    cmgi_csr B = {0};
    cmg_size at = 0;
    CHECK_OK(cmgi_csr_alloc(ctx, A->rows * b, A->cols * b, A->indptr[A->rows] * b * b, &B));
    for (cmg_size i = 0; i < B.rows; ++i) {
        for (cmg_size k = A->indptr[i / b]; k < A->indptr[i / b + 1]; ++k) {
            for (int j = 0; j < b; ++j) {
                if (!identity || j == i % b) {
                    B.indices[at] = A->indices[k] * b + j;
                    B.values[at++] = A->values[k] * (identity ? 1 : 1 + (double)(i % b * b + j));
                }
            }
        }
        B.indptr[i + 1] = at;
    }
    return B;
}

/* Everything that is said of an entry is said of a block once. */
static void blocks_are_compressed_as_entries(void)
{
    static const cmg_values kinds[] = {CMG_VALUES_FULL, CMG_VALUES_FULL, CMG_VALUES_FP16,
                                       CMG_VALUES_FP8};
    for (int turn = 0; turn < 48; ++turn) {
        const int b = 2 + turn % 2;
        const bool identity = turn / 2 % 2 == 1;
        const int kind = turn / 4 % 4;
        const int shape = turn / 16;
        const cmg_precision precision = kind == 0 ? CMG_FP64 : CMG_FP32;
        cmgi_csr A = shape == 0 ? grid(40, 0) : shape == 1 ? grid(37, 0.5) : interpolation(700);
        cmgi_csr B = in_blocks(&A, b, identity);
        const cmg_csr view = cmgi_csr_view(&B);
        cmg_matrix_options o = {.size = sizeof o,
                                .format = CMG_FORMAT_COMPRESSED,
                                .precision = precision,
                                .values = kinds[kind],
                                .block_rows = b};
        cmg_matrix *M = NULL;
        CHECK_OK(cmg_matrix_create_csr(ctx, &view, &o, &M));
        const cmgi_compressed *C = layout(M);
        CHECK(C->block == b && C->identity == identity && C->rows == A.rows);
        CHECK(shape == 1 ? C->p.count > 0 : C->p.count == 0);
        cmg_matrix *one = compress(&A, precision, kinds[kind]);
        const double each = identity ? 1 : b * b;
        CHECK((double)M->bytes <= each * (double)one->bytes);
        CHECK(product_error(&B, M, false) < (kind == 0 ? 1e-14 : rounding(kinds[kind])));
        CHECK(product_error(&B, M, true) < (kind == 0 ? 1e-14 : 1e-6)); /* row sums */
        cmg_matrix_destroy(&one);
        cmg_matrix_destroy(&M);
        cmgi_csr_free(ctx, &B);
        cmgi_csr_free(ctx, &A);
    }
}

/* Inner products that come with a product are those of its rows. */
static void blocks_leave_inner_products(void)
{
    cmgi_csr A = grid(43, 0.5);
    cmgi_csr B = in_blocks(&A, 3, false);
    const cmg_csr view = cmgi_csr_view(&B);
    cmg_matrix_options o = {
        .size = sizeof o, .format = CMG_FORMAT_COMPRESSED, .block_rows = 3, .no_templates = true};
    cmg_matrix *M = NULL;
    cmg_vector *x = NULL;
    cmg_vector *y = NULL;
    cmg_vector *xy = NULL;
    double *values = suite_vector(B.rows, 3);
    double *out = calloc((size_t)B.rows, sizeof *out);
    double expected = 0;
    double found = 0;
    CHECK_OK(cmg_matrix_create_csr(ctx, &view, &o, &M));
    CHECK_OK(cmg_vector_create(ctx, B.rows, CMG_FP64, &x));
    CHECK_OK(cmg_vector_create(ctx, B.rows, CMG_FP64, &y));
    CHECK_OK(cmg_vector_create(ctx, 1, CMG_FP64, &xy));
    CHECK_OK(cmg_vector_set(x, values));
    CHECK(M->dots != NULL);
    CHECK_OK(cmgi_matrix_apply_dot(M, x->data, y->data, xy->data));
    CHECK_OK(cmg_vector_get(y, out));
    CHECK_OK(cmg_vector_get(xy, &found));
    for (cmg_size i = 0; i < B.rows; ++i) {
        expected += values[i] * out[i];
    }
    CHECK(fabs(found - expected) <= 1e-12 * fabs(expected));
    cmg_vector_destroy(&x);
    cmg_vector_destroy(&y);
    cmg_vector_destroy(&xy);
    cmg_matrix_destroy(&M);
    free(values);
    free(out);
    cmgi_csr_free(ctx, &B);
    cmgi_csr_free(ctx, &A);
}

static void instruction_sets_agree(void)
{
    if (ctx->options.backend != CMG_BACKEND_CPU) {
        SKIP("kernels of the CPU");
        return;
    }
    static const suite_row coded = {"coded", 3001, 3001, 0, 9};
    const cmgi_cpu_kernels *best = cmgi_cpu_kernels_best();
    for (int c = 0; c < 2; ++c) {
        cmgi_csr A = c == 0 ? grid(70, 0.9) : suite_make(&coded);
        double *wide = suite_vector(A.cols, 5);
        float *x = malloc((size_t)A.cols * sizeof *x);
        float *y[2];
        for (cmg_size j = 0; j < A.cols; ++j) {
            x[j] = (float)wide[j];
        }
        for (int v = CMG_VALUES_FP16; v <= CMG_VALUES_FP8; ++v) {
            cmg_matrix *M = compress(&A, CMG_FP32, (cmg_values)v);
            double worst = 0;
            for (int k = 0; k < 2; ++k) {
                y[k] = calloc((size_t)A.rows, sizeof *y[k]);
                const cmgi_writeback w = {.kind = CMGI_WB_APPLY, .y = y[k]};
                (k == 0 ? &cmgi_cpu_portable : best)
                    ->reduced(layout(M), M->values, &w, x, 0, layout(M)->p.count);
            }
            for (cmg_size i = 0; i < A.rows; ++i) {
                worst = fmax(worst, fabs((double)y[0][i] - (double)y[1][i]));
            }
            CHECK_NEAR(worst, 0, 1e-5); /* sums of about ten terms of order one in fp32 */
            free(y[0]);
            free(y[1]);
            cmg_matrix_destroy(&M);
        }
        free(x);
        free(wide);
        cmgi_csr_free(ctx, &A);
    }
}

/* Far outside the range of the stored values: the scale of a slice takes the unit of the matrix. A
 * power of two changes nothing else at all. */
static void the_unit_of_a_matrix_does_not_matter(void)
{
    static const double units[] = {0x1p-100, 1e-30, 1e30, 0x1p100};
    cmgi_csr A = grid(60, 0.9);
    const cmg_size nnz = A.indptr[A.rows];
    double *given = malloc((size_t)nnz * sizeof *given);
    memcpy(given, A.values, (size_t)nnz * sizeof *given);
    for (int v = CMG_VALUES_FP16; v <= CMG_VALUES_FP8; ++v) {
        memcpy(A.values, given, (size_t)nnz * sizeof *given);
        cmg_matrix *M = compress(&A, CMG_FP32, (cmg_values)v);
        const double plain = product_error(&A, M, false);
        cmg_matrix_destroy(&M);
        for (int u = 0; u < 4; ++u) {
            for (cmg_size k = 0; k < nnz; ++k) {
                A.values[k] = units[u] * given[k];
            }
            M = compress(&A, CMG_FP32, (cmg_values)v);
            CHECK(product_error(&A, M, true) <= 1e-6);
            const double error = product_error(&A, M, false);
            CHECK(u == 1 || u == 2 ? error <= rounding((cmg_values)v) : error == plain);
            cmg_matrix_destroy(&M);
        }
    }
    free(given);
    cmgi_csr_free(ctx, &A);
}

/* Entries over eight decades in every slice: those that round to zero are small beside their row's
 * neighbours, and row sums hold all the same. */
static void entries_over_eight_decades(void)
{
    cmgi_csr A = grid(90, 0.5);
    for (cmg_size i = 0; i < A.rows; ++i) {
        for (cmg_size k = A.indptr[i]; k < A.indptr[i + 1]; ++k) {
            const cmg_size pair = i + A.indices[k];
            A.values[k] *= pow(10, -8 * (double)(pair % 7) / 6);
        }
    }
    for (int v = CMG_VALUES_FP16; v <= CMG_VALUES_FP8; ++v) {
        cmg_matrix *M = compress(&A, CMG_FP32, (cmg_values)v);
        CHECK(product_error(&A, M, true) <= 1e-6);
        CHECK(product_error(&A, M, false) <= rounding((cmg_values)v));
        cmg_matrix_destroy(&M);
    }
    cmgi_csr_free(ctx, &A);
}

static void sizes_around_the_slice(void)
{
    static const cmg_size sizes[] = {1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129, 191, 193};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; ++s) {
        const suite_row random = {"size", sizes[s], sizes[s], 0, 6};
        const suite_row band = {"band", sizes[s], sizes[s], 1, 5};
        const suite_row *kinds[] = {&random, &band};
        for (int k = 0; k < 2; ++k) {
            cmgi_csr A = suite_make(kinds[k]);
            cmg_matrix *M = compress(&A, CMG_FP64, CMG_VALUES_FULL);
            CHECK(product_error(&A, M, false) <= 1e-14);
            cmg_matrix_destroy(&M);
            for (int v = CMG_VALUES_FP16; v <= CMG_VALUES_FP8; ++v) {
                M = compress(&A, CMG_FP32, (cmg_values)v);
                CHECK(product_error(&A, M, false) <= rounding((cmg_values)v));
                cmg_matrix_destroy(&M);
            }
            cmgi_csr_free(ctx, &A);
        }
    }
}

static cmg_size code_of(const cmgi_compressed *C, cmg_size p, cmg_size local)
{
    const uint8_t *codes = C->p.codes + C->p.code[p];
    switch (C->p.bytes[p]) {
    case 0:
        return 0;
    case 1:
        return codes[local];
    case 2:
        return ((const uint16_t *)(const void *)codes)[local];
    default:
        return ((const int32_t *)(const void *)codes)[local];
    }
}

/* Every lane, those past the last row too, reads x inside its range: a GPU runs all of them. */
static void every_lane_reads_inside(void)
{
    if (ctx->options.backend != CMG_BACKEND_CPU) {
        SKIP("the storage is looked at on the host");
        return;
    }
    for (int s = 0; s < SUITE; ++s) {
        cmgi_csr A = suite_make(&suite[s]);
        cmg_matrix *M = compress(&A, CMG_FP64, CMG_VALUES_FULL);
        const cmgi_compressed *C = layout(M);
        bool inside = true;
        for (cmg_size p = 0; p < C->p.count; ++p) {
            const cmg_size slice = C->p.slice != NULL ? C->p.slice[p] : p;
            for (cmg_size e = 0; e < (C->p.step[p + 1] - C->p.step[p]) * CMGI_SLICE; ++e) {
                const cmg_size row = slice * CMGI_SLICE + e % CMGI_SLICE;
                const cmg_size real = row < A.rows ? row : A.rows - 1;
                const cmg_size column = (C->ref != NULL ? C->ref[real] : real) +
                                        C->p.base[C->p.step[p] + e / CMGI_SLICE] + code_of(C, p, e);
                inside = inside && column >= 0 && column < A.cols;
            }
        }
        CHECK(inside);
        if (!inside) {
            printf("   %s\n", suite[s].name);
        }
        cmg_matrix_destroy(&M);
        cmgi_csr_free(ctx, &A);
    }
}

static void what_cannot_be_is_refused(void)
{
    cmgi_csr A = grid(20, 0);
    const cmg_csr view = cmgi_csr_view(&A);
    cmg_matrix_options options;
    cmg_matrix_options_default(&options);
    options.format = CMG_FORMAT_COMPRESSED;
    options.values = CMG_VALUES_FP16;
    cmg_matrix *M = NULL;
    CHECK_STATUS(cmg_matrix_create_csr(ctx, &view, &options, &M), CMG_ERR_UNSUPPORTED);
    options.precision = CMG_FP32;
    options.keep_map = true;
    CHECK_STATUS(cmg_matrix_create_csr(ctx, &view, &options, &M), CMG_ERR_UNSUPPORTED);
    options.values = (cmg_values)9;
    CHECK_STATUS(cmg_matrix_create_csr(ctx, &view, &options, &M), CMG_ERR_ARG);
    CHECK(M == NULL);
    cmgi_csr_free(ctx, &A);
}

/* Every half survives the way to float and back; a float becomes one of its two neighbours, the
 * nearer. */
static void half_rounds_to_nearest_even(void)
{
    int wrong = 0;
    for (uint32_t h = 0; h < 65536; ++h) {
        const float f = cmgi_half_to_float((uint16_t)h);
        const bool nan = (h & 0x7c00U) == 0x7c00U && (h & 0x3ffU) != 0;
        wrong += nan ? !isnan(f) : cmgi_float_to_half(f) != h;
    }
    CHECK(wrong == 0);
    uint64_t seed = 1;
    for (int k = 0; k < 100000; ++k) {
        const float f =
            (float)ldexp(2 * cmgi_random(&seed) - 1, (int)(cmgi_random(&seed) * 40) - 26);
        const uint16_t h = cmgi_float_to_half(f);
        const float here = cmgi_half_to_float(h);
        const float below = cmgi_half_to_float((uint16_t)(h - ((h & 0x7fffU) != 0)));
        const float above = cmgi_half_to_float((uint16_t)(h + 1));
        const float error = fabsf(here - f);
        wrong += error > fabsf(below - f) || error > fabsf(above - f);
        wrong += (h & 1U) != 0 && (error == fabsf(below - f) || error == fabsf(above - f)) &&
                 error != 0 && here != below;
    }
    CHECK(wrong == 0);
    CHECK(isinf(cmgi_half_to_float(cmgi_float_to_half(65520.0F))));
    CHECK(cmgi_half_to_float(cmgi_float_to_half(65519.0F)) == 65504.0F);
}

/* The same of the 256 numbers in 8 bits; what is too large becomes the largest. */
static void eight_bits_round_to_nearest_even(void)
{
    int wrong = 0;
    for (uint32_t b = 0; b < 256; ++b) {
        wrong += cmgi_float_to_fp8(cmgi_fp8_to_float((uint8_t)b)) != b;
    }
    for (uint32_t b = 0; b < 127; ++b) {
        const float low = cmgi_fp8_to_float((uint8_t)b);
        const float high = cmgi_fp8_to_float((uint8_t)(b + 1));
        const float middle = 0.5F * (low + high);
        const uint8_t even = (uint8_t)(b + (b & 1U));
        wrong += !(low < high);
        wrong += cmgi_float_to_fp8(middle) != even || cmgi_float_to_fp8(-middle) != (even | 0x80U);
        wrong += cmgi_float_to_fp8(nextafterf(middle, 0)) != b;
        wrong += cmgi_float_to_fp8(nextafterf(middle, 2)) != b + 1;
    }
    CHECK(wrong == 0);
    CHECK(cmgi_fp8_to_float(0x7f) == 1.875F && cmgi_fp8_to_float(1) == 0x1p-17F);
    CHECK(cmgi_float_to_fp8(1e30F) == 0x7f && cmgi_float_to_fp8(-INFINITY) == 0xff);
}

/* Dense matrices keep a scale a row. */
static void dense_values_in_fewer_bits(void)
{
    static const cmg_size sizes[] = {1, 15, 16, 17, 31, 33, 257, 300};
    for (int s = 0; s < 16; ++s) {
        const cmg_size n = sizes[s / 2];
        const suite_row half_full = {"dense", n, n + 3, 0, (int)n + 3};
        cmgi_csr A = suite_make(&half_full);
        for (cmg_size k = 0; k < A.indptr[n]; ++k) {
            A.values[k] *= s % 2 ? 1e-20 : 1e20;
        }
        const cmg_csr view = cmgi_csr_view(&A);
        cmg_matrix_options options;
        cmg_matrix_options_default(&options);
        options.format = CMG_FORMAT_DENSE;
        options.precision = CMG_FP32;
        for (int v = CMG_VALUES_FULL; v <= CMG_VALUES_FP8; ++v) {
            cmg_matrix *M = NULL;
            options.values = (cmg_values)v;
            CHECK_OK(cmg_matrix_create_csr(ctx, &view, &options, &M));
            CHECK(product_error(&A, M, false) <= rounding((cmg_values)v));
            cmg_matrix_destroy(&M);
        }
        cmgi_csr_free(ctx, &A);
    }
}

int main(int argc, char **argv)
{
    TEST_BEGIN(argc, argv);
    RUN(half_rounds_to_nearest_even);
    RUN(eight_bits_round_to_nearest_even);
    RUN(equal_rows_become_templates);
    RUN(varying_values_leave_patterns);
    RUN(codes_are_as_short_as_the_spread_allows);
    RUN(templates_and_codes_live_side_by_side);
    RUN(fewer_bits_keep_row_sums);
    RUN(blocks_are_compressed_as_entries);
    RUN(blocks_leave_inner_products);
    RUN(instruction_sets_agree);
    RUN(the_unit_of_a_matrix_does_not_matter);
    RUN(entries_over_eight_decades);
    RUN(dense_values_in_fewer_bits);
    RUN(sizes_around_the_slice);
    RUN(every_lane_reads_inside);
    RUN(what_cannot_be_is_refused);
    return TEST_END();
}
