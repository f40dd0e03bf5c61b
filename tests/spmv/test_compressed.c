/*
 * Compressed slices: what is found in a matrix (templates, patterns, code sizes), and that products
 * are those of plain loops.
 */
#include "csr/facts.h"
#include "spmv/create.h"
#include "csr/templates.h"
#include "samples.h"

TEST(equal_rows_become_templates)
{
    for (int p = CMG_FP64; p <= CMG_FP32; ++p) {
        const double eps = p == CMG_FP64 ? 1e-15 : 1e-6;
        scoped_csr A = grid(200, 0);
        scoped_matrix *M = compress(&A, (cmg_precision)p, CMG_VALUES_FULL);
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
    }
}

TEST(varying_values_leave_patterns)
{
    scoped_csr A = grid(200, 0.5);
    scoped_matrix *M = compress(&A, CMG_FP64, CMG_VALUES_FULL);
    CHECK(layout(M)->t.count == 0 && layout(M)->p.count == 625);
    /* nearly all slices have one pattern of five offsets and no codes */
    CHECK(layout(M)->p.code == NULL || M->bytes < (size_t)(200 * 200) * 5 * 8 * 11 / 10);
    CHECK(product_error(&A, M, false) <= 1e-15);
}

/* Two columns a row, the second `spread` further on in odd rows: codes of 1, 2 and 4 bytes. */
TEST(codes_are_as_short_as_the_spread_allows)
{
    static const struct {
        cmg_size spread;
        size_t bytes; /* of a code */
    } cases[] = {{200, 1}, {255, 1}, {256, 2}, {60000, 2}, {70000, 4}};
    for (int c = 0; c < 5; ++c) {
        const cmg_size n = 5000;
        scoped_csr A = csr_new(n, n + 80000, 2 * n);
        uint64_t seed = 9;
        for (cmg_size i = 0; i < n; ++i) {
            /* offsets take many values, so that no pattern is found */
            const cmg_size jump = 1 + (i % 2 ? cases[c].spread : (i * 37) % 150);
            csr_put(&A, i, i, cmgi_random(&seed));
            csr_put(&A, i, i + jump, cmgi_random(&seed));
        }
        csr_end(&A);
        scoped_matrix *M = compress(&A, CMG_FP64, CMG_VALUES_FULL);
        const size_t codes = M->bytes - (size_t)M->stored * 8;
        const size_t around =
            (size_t)n * 4 + (size_t)(n / 64 + 1) * 32; /* references, bases, places */
        CHECK(codes >= (size_t)M->stored * cases[c].bytes);
        CHECK(codes <= (size_t)M->stored * cases[c].bytes + around);
        CHECK(product_error(&A, M, false) <= 1e-15);
    }
}

/* Regular rows first, random ones after them: both kinds of slices in one matrix. */
TEST(templates_and_codes_live_side_by_side)
{
    scoped_csr A = grid(150, 0);
    uint64_t seed = 4;
    for (cmg_size k = A.indptr[15000]; k < A.indptr[A.rows]; ++k) {
        A.values[k] += cmgi_random(&seed);
    }
    for (int p = CMG_FP64; p <= CMG_FP32; ++p) {
        for (int v = CMG_VALUES_FULL; v <= (p == CMG_FP32 ? CMG_VALUES_FP8 : CMG_VALUES_FULL);
             ++v) {
            scoped_matrix *M = compress(&A, (cmg_precision)p, (cmg_values)v);
            CHECK(layout(M)->t.count > 200 && layout(M)->p.count > 100);
            CHECK(product_error(&A, M, false) <= (p == CMG_FP64 ? 1e-15 : rounding((cmg_values)v)));
        }
    }
}

/* b x b blocks in place of the entries of A: the entry times a full block, or the identity. */
static cmgi_csr in_blocks(const cmgi_csr *A, int b, bool identity)
{
    cmgi_csr B = csr_new(A->rows * b, A->cols * b, A->indptr[A->rows] * b * b);
    for (cmg_size i = 0; i < B.rows; ++i) {
        for (cmg_size k = A->indptr[i / b]; k < A->indptr[i / b + 1]; ++k) {
            for (int j = 0; j < b; ++j) {
                if (!identity || j == i % b) {
                    csr_put(&B, i, A->indices[k] * b + j,
                            A->values[k] * (identity ? 1 : 1 + (double)(i % b * b + j)));
                }
            }
        }
    }
    csr_end(&B);
    return B;
}

/* Everything that is said of an entry is said of a block once. */
TEST(blocks_are_compressed_as_entries)
{
    static const cmg_values kinds[] = {CMG_VALUES_FULL, CMG_VALUES_FULL, CMG_VALUES_FP16,
                                       CMG_VALUES_FP8};
    for (int turn = 0; turn < 48; ++turn) {
        const int b = 2 + turn % 2;
        const bool identity = turn / 2 % 2 == 1;
        const int kind = turn / 4 % 4;
        const int shape = turn / 16;
        const cmg_precision precision = kind == 0 ? CMG_FP64 : CMG_FP32;
        scoped_csr A = shape == 0 ? grid(40, 0) : shape == 1 ? grid(37, 0.5) : interpolation(700);
        scoped_csr B = in_blocks(&A, b, identity);
        cmg_matrix_options o = {.size = sizeof o,
                                .format = CMG_FORMAT_COMPRESSED,
                                .precision = precision,
                                .values = kinds[kind],
                                .block_rows = b};
        scoped_matrix *M = matrix_new(&B.view, &o);
        const cmgi_compressed *C = layout(M);
        CHECK(C->block == b && C->identity == identity && C->rows == A.rows);
        CHECK(shape == 1 ? C->p.count > 0 : C->p.count == 0);
        scoped_matrix *one = compress(&A, precision, kinds[kind]);
        const double each = identity ? 1 : b * b;
        CHECK((double)M->bytes <= each * (double)one->bytes);
        CHECK(product_error(&B, M, false) < (kind == 0 ? 1e-14 : rounding(kinds[kind])));
        CHECK(product_error(&B, M, true) < (kind == 0 ? 1e-14 : 1e-6)); /* row sums */
    }
}

/* Row i has `entries` columns around i, others for each i mod period, and values by that and place.
 */
static cmgi_csr in_turns(cmg_size n, int period, cmg_size entries)
{
    cmgi_csr A = csr_new(n, n, n * entries);
    EACH_PAIR (i, n, e, entries) {
        const cmg_size j = i + (e - entries / 2) * 5 + i % period;
        if (j >= 0 && j < n) {
            csr_put(&A, i, j, 1 + 0.5 * (double)(i % period) + 0.01 * (double)e);
        }
    }
    csr_end(&A);
    return A;
}

/* Templates that alternate, as those of systems: joined to vectors, up to some offsets together. */
TEST(templates_take_turns)
{
    static const struct {
        cmg_size n;
        int period;
        cmg_size entries;
    } cases[] = {{64, 2, 3},    {67, 2, 5},    {1000, 2, 9},  {1001, 3, 9},
                 {191, 3, 4},   {999, 5, 6},   {2000, 2, 96}, {2000, 2, 100},
                 {3000, 3, 64}, {3000, 3, 65}, {130, 2, 20},  {2000, 1, 7}};
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; ++k) {
        for (int p = CMG_FP64; p <= CMG_FP32; ++p) {
            scoped_csr A = in_turns(cases[k].n, cases[k].period, cases[k].entries);
            scoped_matrix *M = compress(&A, (cmg_precision)p, CMG_VALUES_FULL);
            CHECK(product_error(&A, M, false) <= (p == CMG_FP64 ? 1e-15 : 1e-6));
            CHECK(cases[k].n < 900 || layout(M)->t.count > 0);
        }
    }
    for (int b = 2; b <= 4; ++b) { /* a mesh of systems: turns that end with every line */
        scoped_csr A = grid(50, 0);
        scoped_csr B = in_blocks(&A, b, false);
        scoped_matrix *M = compress(&B, CMG_FP64, CMG_VALUES_FULL);
        CHECK(product_error(&B, M, false) <= 1e-15);
    }
}

/* Inner products that come with a product are those of its rows. */
TEST(blocks_leave_inner_products)
{
    scoped_csr A = grid(43, 0.5);
    scoped_csr B = in_blocks(&A, 3, false);
    cmg_matrix_options o = {
        .size = sizeof o, .format = CMG_FORMAT_COMPRESSED, .block_rows = 3, .no_templates = true};
    scoped double *values = random_values(B.rows, 3);
    double found = 0;
    scoped_matrix *M = matrix_new(&B.view, &o);
    scoped_vector *x = vector_from(B.rows, CMG_FP64, values);
    scoped_vector *y = vector_new(B.rows, CMG_FP64);
    scoped_vector *xy = vector_new(1, CMG_FP64);
    CHECK(M->dots != NULL);
    CHECK_OK(cmgi_matrix_apply_dot(M, x->data, y->data, xy->data, NULL));
    CHECK_OK(cmg_vector_get(xy, &found));
    scoped double *out = values_of(y);
    const double expected = dot(values, out, B.rows);
    CHECK(fabs(found - expected) <= 1e-12 * fabs(expected));
}

/* The portable loops and those of this machine's instruction set, slices of all kinds. */
TEST(instruction_sets_agree)
{
    NEEDS(ctx->options.backend == CMG_BACKEND_CPU, "kernels of the CPU");
    static const suite_row coded = {"coded", 3001, 3001, 0, 9};
    const cmgi_cpu_kernels *best = cmgi_cpu_kernels_best();
    for (int c = 0; c < 2; ++c) {
        scoped_csr A = c == 0 ? grid(70, 0.9) : suite_make(&coded);
        scoped double *wide = random_values(A.cols, 5);
        scoped float *x = malloc((size_t)A.cols * sizeof *x);
        float *y[2];
        FILL(x, j, A.cols, (float)wide[j]);
        for (int v = CMG_VALUES_FP16; v <= CMG_VALUES_FP8; ++v) {
            scoped_matrix *M = compress(&A, CMG_FP32, (cmg_values)v);
            double worst = 0;
            for (int k = 0; k < 2; ++k) {
                y[k] = calloc((size_t)A.rows, sizeof *y[k]);
                const cmgi_writeback w = {.kind = CMGI_WB_SCALED, .alpha = 1, .y = y[k]};
                (k == 0 ? &cmgi_cpu_portable : best)
                    ->rows[CMG_FP32][CMGI_ROWS_PACKED](M, &w, x, 0, layout(M)->p.count);
            }
            for (cmg_size i = 0; i < A.rows; ++i) {
                worst = worst_of(worst, fabs((double)y[0][i] - (double)y[1][i]));
            }
            CHECK_NEAR(worst, 0, 1e-5); /* sums of about ten terms of order one in fp32 */
            free_all(y[0], y[1]);
        }
    }
}

/* Templates in turns and in runs by each instruction set, against plain loops. */
TEST(instruction_sets_take_turns)
{
    const cmgi_cpu_kernels *set = NULL;
    NEEDS(ctx->options.backend == CMG_BACKEND_CPU, "kernels of the CPU");
    for (int s = 0; (set = cmgi_cpu_kernels_at(s)) != NULL; ++s) {
        for (int period = 1; period <= 4; ++period) {
            scoped_csr A = in_turns(1000, period, 7);
            scoped_matrix *M = compress(&A, CMG_FP64, CMG_VALUES_FULL);
            CHECK(layout(M)->t.count > 10);
            CHECK_NEAR(set_error(set, &A, M), 0, 1e-14); /* sums of seven terms up to 2 */
        }
    }
}

TEST(sizes_around_the_slice)
{
    static const cmg_size sizes[] = {1, 2, 31, 32, 33, 63, 64, 65, 127, 128, 129, 191, 193};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; ++s) {
        const suite_row random = {"size", sizes[s], sizes[s], 0, 6};
        const suite_row band = {"band", sizes[s], sizes[s], 1, 5};
        const suite_row *kinds[] = {&random, &band};
        for (int k = 0; k < 2; ++k) {
            scoped_csr A = suite_make(kinds[k]);
            for (int v = CMG_VALUES_FULL; v <= CMG_VALUES_FP8; ++v) {
                const bool full = v == CMG_VALUES_FULL;
                scoped_matrix *M = compress(&A, full ? CMG_FP64 : CMG_FP32, (cmg_values)v);
                CHECK(product_error(&A, M, false) <= (full ? 1e-14 : rounding((cmg_values)v)));
            }
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
TEST(every_lane_reads_inside)
{
    NEEDS(ctx->options.backend == CMG_BACKEND_CPU, "the storage is looked at on the host");
    for (int s = 0; s < SUITE; ++s) {
        scoped_csr A = suite_make(&suite[s]);
        scoped_matrix *M = compress(&A, CMG_FP64, CMG_VALUES_FULL);
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
        CHECK_SAY(inside, "%s", suite[s].name);
    }
}

/* Rows of a line in nine kinds, the last three of which are the first three but for rounding. */
static cmgi_csr nearly_equal_kinds(cmg_size n)
{
    cmgi_csr A = csr_new(n, n, 3 * n);
    for (cmg_size i = 0; i < n; ++i) {
        const cmg_size kind = i * 7 % 31 % 9;
        for (cmg_size j = i > 0 ? i - 1 : 0; j <= i + 1 && j < n; ++j) {
            csr_put(&A, i, j,
                    (double)(kind % 6 + 1) * (j == i ? 2 : -1) * (kind > 5 ? 1 + 1e-12 : 1));
        }
    }
    csr_end(&A);
    return A;
}

/* The same storage as a search in fp32 comes to. */
TEST(templates_are_rounded_as_they_are_found)
{
    scoped_csr A = nearly_equal_kinds(30001);
    cmg_matrix_options options = matrix_options("format=compressed");
    scoped_matrix *wide = matrix_new(&A.view, &options);
    options.precision = CMG_FP32;
    scoped_matrix *found = matrix_new(&A.view, &options);
    scoped_matrix *rounded = NULL;
    CHECK_OK(cmgi_matrix_create(ctx, &(cmgi_matrix_source){.csr = &A.view, .like = wide},
                                CMGI_USE_ANY, &options, &rounded));
    const cmgi_compressed *W = wide->data;
    const cmgi_compressed *F = found->data;
    const cmgi_compressed *R = rounded->data;
    CHECK(W->t.kinds == 11 && F->t.kinds == 8); /* and those of both ends */
    CHECK(R->t.kinds == F->t.kinds && R->t.count == F->t.count && R->t.entries == F->t.entries);
    if (!cmgi_on_cuda(ctx)) {
        const size_t entries = (size_t)F->t.entries;
        CHECK(W->t.all && F->t.all && R->t.all);
        CHECK(memcmp(R->t.id, F->t.id, (size_t)A.rows * sizeof *F->t.id) == 0);
        CHECK(memcmp(R->t.offset, F->t.offset, entries * sizeof *F->t.offset) == 0);
        CHECK(memcmp(R->t.value, F->t.value, entries * sizeof(float)) == 0);
    }
}

/* Rows that are known to be the row before are stored as those that are looked at. */
TEST(rows_that_are_known_are_not_looked_at)
{
    NEEDS(ctx->options.backend == CMG_BACKEND_CPU, "rows on the host");
    for (int c = 0; c < 4; ++c) {
        scoped_csr A = grid(c < 2 ? 150 : 151, c % 2 == 0 ? 0 : 0.4);
        cmgi_csr_facts facts = {.looks.wanted = true};
        cmg_matrix_options options = matrix_options("format=compressed");
        cmg_matrix *M[2] = {NULL, NULL};
        for (cmg_size k = A.indptr[9000]; k < A.indptr[15000]; ++k) { /* too many templates */
            A.values[k] += 1e-6 * (double)k;
        }
        CHECK_OK(cmgi_csr_facts_take(ctx, &A.view, 0, A.rows, &facts));
        options.precision = c < 2 ? CMG_FP64 : CMG_FP32;
        for (int k = 0; k < 2; ++k) {
            const cmgi_matrix_source from = {.csr = &A.view,
                                             .same = k == 0 ? NULL : facts.looks.same};
            CHECK_OK(cmgi_matrix_create(ctx, &from, CMGI_USE_ANY, &options, &M[k]));
        }
        const cmgi_compressed *C = layout(M[0]);
        const cmgi_compressed *D = layout(M[1]);
        const size_t bytes = cmgi_precision_bytes(options.precision);
        CHECK(C->p.count > 0 && (c % 2 == 1 || C->t.count > 0));
        CHECK(C->t.count == D->t.count && C->t.kinds == D->t.kinds && C->p.count == D->p.count);
        CHECK(M[0]->stored == M[1]->stored && M[0]->bytes == M[1]->bytes);
        CHECK(memcmp(M[0]->values, M[1]->values, (size_t)M[0]->stored * bytes) == 0);
        CHECK(memcmp(C->p.base, D->p.base, (size_t)C->p.steps * sizeof *C->p.base) == 0);
        CHECK(C->t.id == NULL || memcmp(C->t.id, D->t.id, (size_t)A.rows * sizeof *C->t.id) == 0);
        cmg_matrix_destroy(&M[0]);
        cmg_matrix_destroy(&M[1]);
        cmgi_csr_facts_forget(ctx, &facts);
    }
}

TEST(what_cannot_be_is_refused)
{
    scoped_csr A = grid(20, 0);
    cmg_matrix_options options = matrix_options("format=compressed values=fp16");
    cmg_matrix *M = NULL;
    CHECK_STATUS(cmg_matrix_create_csr(ctx, &A.view, &options, &M), CMG_ERR_UNSUPPORTED);
    options.precision = CMG_FP32;
    options.keep_map = true;
    CHECK_STATUS(cmg_matrix_create_csr(ctx, &A.view, &options, &M), CMG_ERR_UNSUPPORTED);
    options.values = (cmg_values)9;
    CHECK_STATUS(cmg_matrix_create_csr(ctx, &A.view, &options, &M), CMG_ERR_ARG);
    CHECK(M == NULL);
}
