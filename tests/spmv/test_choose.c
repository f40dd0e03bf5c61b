/*
 * The choice of a format before anything is built: sensible on matrices made to have one answer,
 * within the options that were given, and the same whatever is measured elsewhere.
 */
#include "spmv/create.h"
#include "spmv/csr.h"
#include "core/backend.h"
#include "suite.h"

static cmg_format choose(const cmgi_csr *A, cmg_matrix_options o)
{
    cmgi_choice choice;
    CHECK_OK(cmgi_choose(ctx, &(cmgi_matrix_source){.csr = &A->view}, CMGI_USE_ANY, &o, &choice));
    CHECK(o.format != CMG_FORMAT_AUTO && o.format != CMG_FORMAT_TUNE);
    CHECK((o.t > 0 || o.format == CMG_FORMAT_CSR) && o.warp > 0 && o.threshold > 0 && o.block > 0);
    return o.format;
}

/* n x cols, `width` entries a row around the diagonal; values by place in the row or random. */
static cmgi_csr band(cmg_size n, cmg_size cols, int width, bool repeat)
{
    const suite_row row = {"band", n, cols, 1, width};
    cmgi_csr A = suite_make(&row);
    for (cmg_size i = 0; repeat && i < n; ++i) {
        for (cmg_size k = A.indptr[i]; k < A.indptr[i + 1]; ++k) {
            A.values[k] = (double)(k - A.indptr[i] + 1);
        }
    }
    return A;
}

/* The same with `width` sorted columns anywhere. */
static cmgi_csr scattered(cmg_size n, int width)
{
    cmgi_csr A = band(n, n, width, false);
    uint64_t seed = 11;
    for (cmg_size i = 0; i < n; ++i) {
        const cmg_size room = n / width; /* one column from each of equal stretches */
        for (int e = 0; e < width; ++e) {
            A.indices[A.indptr[i] + e] =
                (cmg_index)(e * room + (cmg_size)(cmgi_random(&seed) * (double)room));
        }
    }
    return A;
}

TEST(equal_rows_are_compressed)
{
    scoped_csr A = band(1000000, 1000000, 9, true);
    CHECK(choose(&A, matrix_defaults()) == CMG_FORMAT_COMPRESSED);
    cmg_matrix_options o = matrix_options("precision=mixed");
    CHECK(choose(&A, o) == CMG_FORMAT_COMPRESSED);
    cmgi_csr_free(ctx, &A);
    A = scattered(900000, 9); /* neighbours are up to 100000 columns apart: no short codes */
    CHECK(choose(&A, matrix_defaults()) != CMG_FORMAT_COMPRESSED);
    CHECK(choose(&A, o) != CMG_FORMAT_COMPRESSED);
}

/* Equal offsets make patterns, which save the columns: a third of fp64, half of fp32. */
TEST(patterns_are_taken_where_they_save)
{
    scoped_csr A = band(1000000, 1000000, 9, false);
    cmg_matrix_options o = matrix_options("precision=mixed");
    CHECK(choose(&A, o) == CMG_FORMAT_COMPRESSED);
    o.no_templates = true;
    o.keep_map = true;
    CHECK(choose(&A, o) == CMG_FORMAT_COMPRESSED);
    o.values = CMG_VALUES_FP16; /* cannot be updated: the format refuses it */
    CHECK(choose(&A, o) != CMG_FORMAT_COMPRESSED);
}

/* How a matrix of values is kept, of which 16 bits may be taken from so many rows on. */
static cmg_values stored_values(const cmgi_csr *A, bool may, cmg_size from, cmg_matrix_options o)
{
    const cmgi_backend *before = ctx->backend;
    cmgi_backend other = *before;
    other.halves_rows = from;
    ctx->backend = &other;
    CHECK_OK(cmgi_choose(ctx, &(cmgi_matrix_source){.csr = &A->view, .halves = may}, CMGI_USE_A, &o,
                         NULL));
    ctx->backend = before;
    return o.values;
}

/* Where it is allowed, where the backend has rows enough for it, in fp32, and where values are
 * stored at all. */
TEST(halves_are_taken_where_they_may_be)
{
    const cmg_size n = 1000000;
    scoped_csr A = band(n, n, 9, false);
    cmg_matrix_options o = matrix_defaults();
    cmg_matrix_options single = o;
    single.precision = CMG_FP32;
    FILL(A.values, k, A.indptr[n], -1 - fabs(A.values[k]));
    CHECK((ctx->backend->halves_rows > 0) == cmgi_on_cuda(ctx));
    CHECK(stored_values(&A, true, 1, single) == CMG_VALUES_FP16);
    CHECK(stored_values(&A, true, n, single) == CMG_VALUES_FP16);
    CHECK(stored_values(&A, true, n + 1, single) == CMG_VALUES_FULL);
    CHECK(stored_values(&A, true, 0, single) == CMG_VALUES_FULL);
    CHECK(stored_values(&A, false, 1, single) == CMG_VALUES_FULL);
    CHECK(stored_values(&A, true, 1, o) == CMG_VALUES_FULL);
    single.keep_map = true;
    CHECK(stored_values(&A, true, 1, single) == CMG_VALUES_FULL);
    single.keep_map = false;
    single.format = CMG_FORMAT_SELL;
    CHECK(stored_values(&A, true, 1, single) == CMG_VALUES_FULL);
    single.format = CMG_FORMAT_AUTO;
    for (cmg_size k = 0; k < A.indptr[n]; ++k) { /* rows that repeat */
        A.values[k] = -1;
    }
    CHECK(stored_values(&A, true, 1, single) == CMG_VALUES_FULL);
}

/* On a CPU rows of P, which jump through x, gain by templates alone. */
TEST(transfers_are_templates_or_plain_on_the_cpu)
{
    scoped_csr A = band(600000, 300000, 3, true);
    CHECK(choose(&A, matrix_defaults()) == CMG_FORMAT_COMPRESSED);
    cmg_matrix_options o = matrix_defaults();
    o.keep_map = true; /* no templates */
    CHECK(cmgi_on_cuda(ctx) || choose(&A, o) != CMG_FORMAT_COMPRESSED);
    cmgi_csr_free(ctx, &A);
    A = band(300000, 150000, 3, false);
    CHECK(cmgi_on_cuda(ctx) || choose(&A, matrix_defaults()) != CMG_FORMAT_COMPRESSED);
}

/* One row of 5000 entries: no format may pad others to it, and on a GPU no lane add them alone. */
TEST(a_long_row_is_shared)
{
    const cmg_size n = 200000;
    scoped_csr short_rows = scattered(n, 4);
    scoped_csr A = csr_new(n, n, 4 * n + 4996);
    for (cmg_size i = 0; i < n; ++i) {
        for (cmg_size e = 0; e < (i == n / 2 ? 5000 : 4); ++e) {
            csr_put(&A, i, i == n / 2 ? e * 7 : short_rows.indices[4 * i + e], 1);
        }
    }
    csr_end(&A);
    const cmg_format f = choose(&A, matrix_defaults());
    CHECK(f != CMG_FORMAT_ELLPACK && f != CMG_FORMAT_ELLT && f != CMG_FORMAT_COMPRESSED);
    if (cmgi_on_cuda(ctx)) {
        CHECK(f == CMG_FORMAT_K2 || f == CMG_FORMAT_CSR);
    }
}

/* A few long rows: on a GPU they get many lanes each, and nothing else. */
TEST(few_long_rows_take_many_lanes)
{
    scoped_csr A = scattered(2000, 300);
    const cmg_format f = choose(&A, matrix_defaults());
    if (cmgi_on_cuda(ctx)) {
        CHECK(f == CMG_FORMAT_CSR || f == CMG_FORMAT_ELLT || f == CMG_FORMAT_K2);
        CHECK(cmgi_csr_lanes(2000, 600000) == 32);
    } else {
        CHECK(f == CMG_FORMAT_CSR || f == CMG_FORMAT_SELL);
    }
}

TEST(what_is_given_stays)
{
    scoped_csr A = band(3000, 3000, 5, false);
    cmg_matrix_options o = matrix_options("format=k2 threshold=3 warp=16 block=64 t=4");
    const cmg_matrix_options before = o;
    CHECK_OK(cmgi_choose(ctx, &(cmgi_matrix_source){.csr = &A.view}, CMGI_USE_ANY, &o, NULL));
    CHECK(memcmp(&before, &o, sizeof o) == 0);
    o.format = CMG_FORMAT_AUTO;
    o.block = 0;
    CHECK_OK(cmgi_choose(ctx, &(cmgi_matrix_source){.csr = &A.view}, CMGI_USE_ANY, &o, NULL));
    CHECK(o.threshold == 3 && o.warp == 16 && o.t == 4 && o.block > 0);
    cmgi_csr_free(ctx, &A);
    A = suite_make(&suite[16]);
    CHECK(choose(&A, matrix_defaults()) == CMG_FORMAT_DIAGONAL);
}

/* Every shape of the suite gets some format. */
TEST(every_shape_is_chosen_for)
{
    for (int k = 0; k < SUITE; ++k) {
        scoped_csr A = suite_make(&suite[k]);
        (void)choose(&A, matrix_defaults());
    }
}
