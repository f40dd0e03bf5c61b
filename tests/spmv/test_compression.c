/*
 * Prediction of the compressed format: exact against the format itself where all slices are looked
 * at, near it from a sample, and every way of storing a slice is met.
 */
#include "spmv/packed_plan.h"
#include "spmv/compressed.h"
#include "suite.h"

static cmg_matrix_options compressed(cmg_precision precision, cmg_values values)
{
    return matrix_options("format=compressed precision=%s values=%s explain",
                          WORD("precision", precision), WORD("values", values));
}

/* n rows of `width` entries around the diagonal; `kinds` different sets of values, 0 = all differ.
 */
static cmgi_csr band(cmg_size n, cmg_size width, cmg_size kinds)
{
    const suite_row row = {"band", n, n, 1, (int)width};
    cmgi_csr A = suite_make(&row);
    for (cmg_size i = 0; i < n && kinds > 0; ++i) {
        for (cmg_size k = A.indptr[i]; k < A.indptr[i + 1]; ++k) {
            A.values[k] = (double)(k - A.indptr[i] + 1) + 100 * (double)((i / 64) % kinds);
        }
    }
    return A;
}

static cmg_compression_info predict(const cmgi_csr *A, const cmg_matrix_options *o, cmg_size rows)
{
    const cmgi_compression_look what = {
        .from = &(cmgi_matrix_source){.csr = &A->view}, .options = o, .rows = rows};
    cmg_compression_info info;
    CHECK_OK(cmgi_compression_predict(ctx, &what, &info));
    return info;
}

/* Sums make sense; the format that was built has these very bytes. */
static void check_exact(const cmgi_csr *A, const cmg_matrix_options *o)
{
    const cmg_compression_info info = predict(A, o, 0);
    scoped_matrix *M = matrix_new(&A->view, o);
    const cmgi_compressed *C = M->data;
    CHECK(info.bytes == M->bytes);
    CHECK(info.looked == info.slices && info.slices == C->t.count + C->p.count);
    cmg_size rows = 0;
    for (int w = 0; w < CMG_COMPRESSIONS; ++w) {
        rows += info.stored_rows[w];
    }
    CHECK(rows == A->rows);
    CHECK(memcmp(M->compression, &info, sizeof info) == 0);
}

TEST(all_slices_give_the_bytes)
{
    static const struct {
        cmg_precision precision;
        cmg_values values;
    } kinds[] = {{CMG_FP64, CMG_VALUES_FULL},
                 {CMG_FP32, CMG_VALUES_FULL},
                 {CMG_FP32, CMG_VALUES_FP16},
                 {CMG_FP32, CMG_VALUES_FP8}};
    for (int k = 0; k < 4; ++k) {
        const cmg_matrix_options o = compressed(kinds[k].precision, kinds[k].values);
        for (int s = 0; s < SUITE; ++s) {
            scoped_csr A = suite_make(&suite[s]);
            check_exact(&A, &o);
        }
        scoped_csr A = band(20000, 5, 3);
        for (cmg_size e = A.indptr[12000]; e < A.indptr[14000]; ++e) {
            A.values[e] = (double)e;
        }
        check_exact(&A, &o);
    }
}

/* The less of the two plain storages, as the formats themselves say. */
TEST(plain_is_the_less_of_slices_and_csr)
{
    for (int s = 0; s < SUITE; ++s) {
        scoped_csr A = suite_make(&suite[s]);
        size_t bytes[2] = {0, 0};
        for (int f = 0; f < 2; ++f) {
            cmg_matrix_options o = compressed(CMG_FP32, CMG_VALUES_FULL);
            matrix_set(&o, "format=%s warp=32", f == 0 ? "csr" : "sell");
            scoped_matrix *M = matrix_new(&A.view, &o);
            bytes[f] = M->bytes;
            CHECK(M->compression->rows == A.rows); /* reported of every format */
        }
        const cmg_matrix_options o = compressed(CMG_FP32, CMG_VALUES_FULL);
        CHECK(predict(&A, &o, 0).plain == (bytes[0] < bytes[1] ? bytes[0] : bytes[1]));
    }
}

/* All slices but those at the ends are stored this way. */
static void check_way(const cmgi_csr *A, const cmg_matrix_options *o, cmg_compression way)
{
    const cmg_compression_info info = predict(A, o, 0);
    CHECK(info.slices > 4 && info.stored_rows[way] >= info.rows - 5 * CMGI_SLICE);
}

/* Rows of two entries: the diagonal and one `jump` columns further on, cols columns in all. */
static cmgi_csr pairs(cmg_size n, cmg_size cols, cmg_size (*jump)(cmg_size i))
{
    cmgi_csr A = csr_new(n, cols, 2 * n);
    uint64_t seed = 5;
    for (cmg_size i = 0; i < n; ++i) {
        csr_put(&A, i, i, cmgi_random(&seed));
        csr_put(&A, i, i + jump(i), cmgi_random(&seed));
    }
    csr_end(&A);
    return A;
}

static cmg_size up_to_200(cmg_size i)
{
    return 1 + (i * 37) % 200;
}
static cmg_size up_to_60000(cmg_size i)
{
    return 1 + (i * 7919) % 60000;
}
static cmg_size up_to_90000(cmg_size i)
{
    return 1 + (i * 7919) % 90000;
}

TEST(every_way_is_found)
{
    struct {
        cmgi_csr A;
        const char *options;
        cmg_compression way;
    } cases[] = {{band(5000, 7, 0), "", CMG_COMPRESSION_PATTERN},
                 {band(5000, 7, 0), "no-templates", CMG_COMPRESSION_PATTERN},
                 {band(5000, 7, 0), "keep-map", CMG_COMPRESSION_PATTERN},
                 {band(5000, 200, 0), "", CMG_COMPRESSION_CODES8},
                 {pairs(2000, 2000 + 90001, up_to_200), "", CMG_COMPRESSION_CODES8},
                 {pairs(2000, 2000 + 90001, up_to_60000), "", CMG_COMPRESSION_CODES16},
                 {pairs(2000, 2000 + 90001, up_to_90000), "", CMG_COMPRESSION_CODES32}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        cmg_matrix_options o = compressed(CMG_FP64, CMG_VALUES_FULL);
        matrix_set(&o, "%s", cases[c].options);
        check_way(&cases[c].A, &o, cases[c].way);
        cmgi_csr_free(ctx, &cases[c].A);
    }
    /* 64 equal rows a kind, more kinds than there are templates */
    const cmg_matrix_options o = compressed(CMG_FP64, CMG_VALUES_FULL);
    scoped_csr A = band(64 * 5000, 2, 5000);
    const cmg_compression_info info = predict(&A, &o, 0);
    CHECK(info.stored_rows[CMG_COMPRESSION_TEMPLATE] >= 64 * (CMGI_TEMPLATES - 4));
}

/* One offset that only the first rows have would read past x in the last ones; and a base. */
TEST(codes_at_the_edge_are_wide)
{
    const cmg_matrix_options o = compressed(CMG_FP64, CMG_VALUES_FULL);
    scoped_csr A = csr_new(64, 64, 65);
    for (cmg_size e = 0; e < 65; ++e) {
        /* row 0 alone has offset 63: its base lies outside for all other rows */
        csr_put(&A, e < 2 ? 0 : e - 1, e == 1 ? 63 : e < 2 ? 0 : e - 1, 1);
    }
    csr_end(&A);
    const cmg_compression_info info = predict(&A, &o, 0);
    CHECK(info.stored_rows[CMG_COMPRESSION_CODES32] == 64);
}

/* A share of all that is regular is seen in a share of the rows. */
TEST(samples_come_near)
{
    const cmg_matrix_options o = compressed(CMG_FP64, CMG_VALUES_FULL);
    for (cmg_size kinds = 0; kinds <= 2; ++kinds) {
        scoped_csr A = band(200000, 5, kinds);
        for (cmg_size k = A.indptr[100000]; k < A.indptr[A.rows]; ++k) {
            A.values[k] = (double)k; /* half of the rows repeat at most */
        }
        const cmg_compression_info all = predict(&A, &o, 0);
        const cmg_compression_info some = predict(&A, &o, 8192);
        CHECK(some.looked == 128 && some.slices == all.slices);
        CHECK(some.plain == all.plain);
        CHECK_NEAR((double)some.bytes / (double)all.bytes, 1, 0.05);
        CHECK_NEAR_EACH(w, CMG_COMPRESSIONS, (double)some.stored_rows[w],
                        (double)all.stored_rows[w], 0.03 * 200000);
    }
}

/* Of nothing, all is looked at. */
TEST(no_rows_are_forecast)
{
    const cmg_matrix_options o = compressed(CMG_FP64, CMG_VALUES_FULL);
    const cmg_size indptr[1] = {0};
    const cmg_csr view = {.indptr = indptr};
    const cmgi_compression_look what = {.from = &(cmgi_matrix_source){.csr = &view}, .options = &o};
    cmg_compression_info info = {0};
    CHECK_OK(cmgi_compression_predict(ctx, &what, &info));
    CHECK(info.slices == 0 && info.looked == 0);
}

/* The n-th allocation fails, for every n: a status, no leak, no matrix. */
TEST(shortage_gives_no_matrix)
{
    scoped_csr A = band(3000, 5, 2);
    cmg_matrix_options o = compressed(CMG_FP64, CMG_VALUES_FULL);
    o.format = CMG_FORMAT_AUTO;
    for (failing f = {.most = 500, .fewest = 9}; failing_next(&f);) {
        scoped_matrix *M = NULL;
        CHECK(failing_done(&f, cmg_matrix_create_csr(ctx, &A.view, &o, &M)) == (M != NULL));
    }
}

enum { SIDE = 24, POINTS = SIDE * SIDE };

/* Adds w v v^T, v of `count` entries. */
static void add_square(double *dense, double w, const int *at, const double *v, int count)
{
    EACH_PAIR (a, count, b, count) {
        dense[at[a] * POINTS + at[b]] += w * v[a] * v[b];
    }
}

/* Sums of squares on a grid, 0 outside: of differences of neighbours, or, a plate, of sums of them;
 * each with a weight in [1, 1 + vary]. Rows of the lower half of a slice by `factor`, columns, too.
 */
static cmgi_csr squares(bool plate, double vary, double factor)
{
    static const int right[] = {1, 0, -1, 0};
    static const int up[] = {0, 1, 0, -1};
    scoped double *dense = calloc((size_t)POINTS * POINTS, sizeof *dense);
    for (int i = 0; i < POINTS; ++i) {
        int at[5] = {i};
        double v[5] = {4};
        int count = 1;
        for (int k = 0; k < 4; ++k) {
            const int x = i % SIDE + right[k];
            const int y = i / SIDE + up[k];
            const bool inside = x >= 0 && x < SIDE && y >= 0 && y < SIDE;
            const double w = 1 + vary * cmgi_random_at(1, (uint64_t)(4 * i + k));
            const int pair[2] = {i, y * SIDE + x};
            static const double difference[2] = {1, -1};
            if (!plate && (k < 2 || !inside)) {
                add_square(dense, w, pair, difference, inside ? 2 : 1);
            }
            at[count] = pair[1];
            v[count] = -1;
            count += inside;
        }
        if (plate) {
            add_square(dense, 1 + vary * cmgi_random_at(2, (uint64_t)i), at, v, count);
        }
    }
    cmgi_csr A = csr_new(POINTS, POINTS, 13 * POINTS);
    EACH_PAIR (i, POINTS, j, POINTS) {
        const double d = (i % 64 < 32 ? factor : 1) * (j % 64 < 32 ? factor : 1);
        if (dense[i * POINTS + j] != 0) {
            csr_put(&A, i, j, d * dense[i * POINTS + j]);
        }
    }
    csr_end(&A);
    return A;
}

static bool halves(const cmgi_csr *A, const cmg_matrix_options *o)
{
    bool found = false;
    const cmgi_compression_look what = {
        .from = &(cmgi_matrix_source){.csr = &A->view}, .options = o, .halves = &found};
    cmg_compression_info info;
    CHECK_OK(cmgi_compression_predict(ctx, &what, &info));
    return found;
}

/* 16 bits do for weighted differences of neighbours; not for a plate, whose smooth energies are
 * small differences of its entries, nor where one slice has large and small rows. */
TEST(halves_go_where_energies_stay)
{
    const struct {
        bool plate;
        double vary;
        double factor;
        bool wanted;
    } cases[] = {{false, 1, 1, true},        {true, 1, 1, false},    {false, 1, 0x1p-4, true},
                 {false, 1, 0x1p-18, false}, {false, 1e-3, 1, true}, {false, 1, 0x1p+18, false},
                 {true, 1e-3, 0x1p-2, false}};
    const cmg_matrix_options single = compressed(CMG_FP32, CMG_VALUES_FULL);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        scoped_csr A = squares(cases[c].plate, cases[c].vary, cases[c].factor);
        CHECK(halves(&A, &single) == cases[c].wanted);
    }
    for (int vary = 0; vary < 2; ++vary) { /* rows that repeat are kept as they are */
        scoped_csr line = band(4096, 3, 1);
        FILL(line.values, k, line.indptr[line.rows], -1 - vary * cmgi_random_at(5, (uint64_t)k));
        CHECK(halves(&line, &single) == (vary == 1));
    }
    scoped_csr A = squares(false, 1, 1);
    cmg_matrix_options others[4] = {single, single, single, single};
    others[0].precision = CMG_FP64;
    others[1].keep_map = true;
    others[2].values = CMG_VALUES_FP8;
    others[3].block_rows = 2;
    CHECK_EACH(k, sizeof others / sizeof *others, !halves(&A, &others[k]));
}

/* Energies of vectors from smooth to random then differ by no more than 2^-11: sums in fp64 of
 * what a product with unit vectors gives. */
TEST(halves_keep_energies)
{
    scoped_csr A = squares(false, 1, 1);
    cmg_matrix_options o = compressed(CMG_FP32, CMG_VALUES_FP16);
    o.explain = false;
    scoped double *stored = calloc((size_t)POINTS * POINTS, sizeof *stored); /* column by column */
    scoped double *unit = calloc(POINTS, sizeof *unit);
    scoped_matrix *M = matrix_new(&A.view, &o);
    scoped_vector *e = vector_new(POINTS, CMG_FP32);
    scoped_vector *column = vector_new(POINTS, CMG_FP32);
    for (int j = 0; j < POINTS; ++j) {
        unit[j] = 1;
        CHECK_OK(cmg_vector_set(e, unit));
        CHECK_OK(cmg_matrix_apply(M, e, column));
        CHECK_OK(cmg_vector_get(column, stored + j * POINTS));
        unit[j] = 0;
    }
    for (int k = 1; k <= SIDE; ++k) {
        double given = 0;
        double kept = 0;
        for (int i = 0; i < POINTS; ++i) {
            const double pi = 3.14159265358979;
            unit[i] = k == SIDE ? cmgi_random_at(3, (uint64_t)i) - 0.5
                                : sin(k * pi * (i % SIDE + 1) / (SIDE + 1)) *
                                      sin(pi * (i / SIDE + 1) / (SIDE + 1));
        }
        for (int i = 0; i < POINTS; ++i) {
            for (cmg_size p = A.indptr[i]; p < A.indptr[i + 1]; ++p) {
                given += unit[i] * A.values[p] * unit[A.indices[p]];
            }
            for (int j = 0; j < POINTS; ++j) {
                kept += unit[i] * stored[j * POINTS + i] * unit[j];
            }
        }
        /* the diagonal is rounded to fp32: up to 8 2^-24 of x . x, which is 1 / 35 of the least */
        CHECK(fabs(kept - given) <= (0x1p-11 + 300 * 0x1p-24) * given);
        CHECK(kept != given);
    }
}
