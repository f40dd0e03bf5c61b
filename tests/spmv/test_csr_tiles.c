/*
 * CSR by tiles: tiles cover every row and entry once and stay within their sizes; every write-back
 * over them equals a plain loop, for empty rows, giant rows, power laws and lengths around the
 * sizes of a tile; runs repeat bit for bit; even rows get none.
 */
#include "core/vector.h"
#include "spmv/cpu_kernels.h"
#include "spmv/csr.h"
#include "suite.h"

/* Row lengths of the cases, for row i of n. */
static cmg_size empty(cmg_size i, cmg_size n)
{
    (void)i, (void)n;
    return 0;
}
static cmg_size short_with_holes(cmg_size i, cmg_size n)
{
    (void)n;
    return (i * 2654435761) % 7 < 3 ? 0 : (i * 40503) % 9;
}
static cmg_size one_giant(cmg_size i, cmg_size n)
{
    return i == n / 3 ? n : i % 4;
}
static cmg_size full(cmg_size i, cmg_size n)
{
    (void)i;
    return n;
}
static cmg_size power_law(cmg_size i, cmg_size n)
{
    return n / (1 + (i * 7919) % n);
}
static cmg_size around_tiles(cmg_size i, cmg_size n)
{
    static const cmg_size lengths[] = {CMGI_TILE - 2,
                                       CMGI_TILE - 1,
                                       CMGI_TILE,
                                       CMGI_TILE + 1,
                                       CMGI_TILE_PART,
                                       CMGI_TILE_LONG,
                                       CMGI_TILE_LONG + 1,
                                       2 * CMGI_TILE_LONG,
                                       1,
                                       0,
                                       2};
    const cmg_size length = lengths[i % (cmg_size)(sizeof lengths / sizeof lengths[0])];
    return length < n ? length : n;
}
static cmg_size long_and_even(cmg_size i, cmg_size n)
{
    (void)n;
    return 300 + i % 200;
}

typedef struct tiles_case {
    const char *name;
    cmg_size rows;
    cmg_size cols;
    cmg_size (*length)(cmg_size i, cmg_size n); /* n = columns */
} tiles_case;

static const tiles_case cases[] = {
    {"zero rows", 0, 5, empty},
    {"empty", 5000, 7, empty},
    {"one row", 1, 20000, full},
    {"short rows, some empty", 20000, 20000, short_with_holes},
    {"one giant row", 30000, 30000, one_giant},
    {"power law", 20000, 20000, power_law},
    {"lengths around the tiles", 33, 30000, around_tiles},
    {"long rows", 500, 500, long_and_even},
};
enum { CASES = sizeof cases / sizeof cases[0] };

static cmgi_csr make_case(const tiles_case *c)
{
    uint64_t seed = 5;
    cmg_size nnz = 0;
    for (cmg_size i = 0; i < c->rows; ++i) {
        nnz += c->length(i, c->cols);
    }
    cmgi_csr A = csr_new(c->rows, c->cols, nnz);
    for (cmg_size i = 0; i < c->rows; ++i) {
        const cmg_size length = c->length(i, c->cols);
        const cmg_size begin = (cmg_size)(cmgi_random(&seed) * (double)c->cols);
        for (cmg_size e = 0; e < length; ++e) {
            csr_put(&A, i, (begin + e) % c->cols, 2 * cmgi_random(&seed) - 1);
        }
    }
    csr_end(&A);
    return A;
}

/* Marks what a tile takes; parts of split rows are found again through `split`. */
static void mark_tile(const cmgi_csr *A, const cmgi_tile *t, int *rows, int *entries)
{
    CHECK(t->entries >= 0 && t->rows >= 0);
    for (int i = 0; i < t->rows; ++i) {
        ++rows[t->row + i];
    }
    for (int k = 0; k < t->entries; ++k) {
        ++entries[t->entry + k];
    }
    if (t->rows == 0) {
        CHECK(t->entries <= CMGI_TILE_PART && t->entries > 0);
        return;
    }
    CHECK(t->rows == 1 ? t->entries <= CMGI_TILE_LONG : t->rows + t->entries <= CMGI_TILE);
    CHECK(t->entry == A->indptr[t->row] && t->entry + t->entries == A->indptr[t->row + t->rows]);
}

static void check_cover(const cmgi_csr *A, const cmgi_csr_tiles *tiles)
{
    const cmg_size nnz = A->indptr[A->rows];
    scoped cmgi_tile *tile = calloc((size_t)tiles->ntiles + 1, sizeof *tile);
    scoped cmgi_split_row *split = calloc((size_t)tiles->nsplit + 1, sizeof *split);
    scoped int *rows = calloc((size_t)A->rows + 1, sizeof *rows);
    scoped int *entries = calloc((size_t)nnz + 1, sizeof *entries);
    scoped cmg_size *part_of =
        calloc((size_t)tiles->ntiles + 1, sizeof *part_of); /* row of a part */
    CHECK_OK(cmgi_to_host(ctx, tile, tiles->tile, (size_t)tiles->ntiles * sizeof *tile));
    CHECK_OK(cmgi_to_host(ctx, split, tiles->split, (size_t)tiles->nsplit * sizeof *split));
    for (cmg_size s = 0; s < tiles->nsplit; ++s) {
        ++rows[split[s].row];
        for (int p = 0; p < split[s].parts; ++p) {
            part_of[split[s].first + p] = split[s].row;
        }
    }
    for (cmg_size t = 0; t < tiles->ntiles; ++t) {
        mark_tile(A, &tile[t], rows, entries);
        if (tile[t].rows == 0) {
            const cmg_size row = part_of[tile[t].row];
            CHECK(tile[t].entry >= A->indptr[row] &&
                  tile[t].entry + tile[t].entries <= A->indptr[row + 1]);
        }
    }
    cmg_size wrong = 0;
    for (cmg_size i = 0; i < A->rows; ++i) {
        wrong += rows[i] != 1;
    }
    for (cmg_size k = 0; k < nnz; ++k) {
        wrong += entries[k] != 1;
    }
    CHECK(wrong == 0);
}

/* All vectors of the write-back are v; y comes back twice, bitwise equal. */
static void check_product(const char *name, const cmgi_csr *A, const cmg_matrix *M, int kind)
{
    const cmg_precision p = M->options.precision;
    const double eps = p == CMG_FP64 ? 0x1p-52 : 0x1p-23;
    const cmg_size n = A->rows;
    scoped double *x = random_values(A->cols, 3);
    scoped double *v = random_values(n, 4);
    scoped double *sum = calloc((size_t)n + 1, sizeof *sum);
    scoped double *magnitude = calloc((size_t)n + 1, sizeof *magnitude);
    double *out[2];
    suite_multiply(A, x, sum, magnitude);
    scoped_vector *dx = vector_from(A->cols, p, x);
    scoped_vector *dv = vector_from(n, p, v);
    scoped_vector *y = vector_new(n, p);
    const cmgi_writeback w = {.kind = (cmgi_wb_kind)kind,
                              .alpha = kind == CMGI_WB_AXPBY ? 0.5 : 0.7,
                              .beta = -2,
                              .b = dv->data,
                              .c = dv->data,
                              .d = dv->data,
                              .y = y->data};
    for (int run = 0; run < 2; ++run) {
        CHECK_OK(cmg_vector_fill(y, NAN));
        CHECK_OK(cmgi_matrix_spmv(M, &w, dx->data));
        out[run] = values_of(y);
    }
    CHECK(memcmp(out[0], out[1], (size_t)n * sizeof(double)) == 0);
    double worst = 0; /* error over its bound: every product and every sum rounds once */
    for (cmg_size i = 0; i < n; ++i) {
        const double bound =
            eps * (double)(A->indptr[i + 1] - A->indptr[i] + 8) * (magnitude[i] + 4);
        const double right = suite_writeback(&w, sum[i], v[i], v[i], v[i], 0);
        const double error = fabs(out[0][i] - right) / bound;
        worst = error <= worst ? worst : error; /* NaN stays */
    }
    CHECK_SAY(worst <= 1, "%s, write-back %d, precision %d: %g times the bound", name, kind, (int)p,
              worst);
    free_all(out[0], out[1]);
}

/* The format's own choice, and tiles whatever it chose. */
static void check_case(const char *name, const cmgi_csr *A, cmg_precision precision)
{
    cmg_matrix_options options =
        matrix_options("format=csr precision=%s", WORD("precision", precision));
    scoped_matrix *M = matrix_new(&A->view, &options);
    cmgi_csr_storage *S = M->data;
    if (S->tiles == NULL) {
        check_product(name, A, M, CMGI_WB_APPLY);
        CHECK_OK(cmgi_csr_tiles_make(ctx, &A->view, precision, &S->tiles));
    }
    check_cover(A, S->tiles);
    for (int kind = 0; kind < CMGI_WB_KINDS; ++kind) {
        check_product(name, A, M, kind);
    }
}

TEST(tiles_multiply)
{
    for (int c = 0; c < CASES; ++c) {
        scoped_csr A = make_case(&cases[c]);
        check_case(cases[c].name, &A, CMG_FP64);
        check_case(cases[c].name, &A, CMG_FP32);
    }
}

TEST(tiles_multiply_the_suite)
{
    for (int s = 0; s < SUITE; ++s) {
        scoped_csr A = suite_make(&suite[s]);
        check_case(suite[s].name, &A, CMG_FP64);
    }
}

static cmg_size five(cmg_size i, cmg_size n)
{
    (void)i, (void)n;
    return 5;
}

static bool is_uneven(cmg_size rows, cmg_size (*length)(cmg_size i, cmg_size n))
{
    const tiles_case c = {"", rows, rows, length};
    scoped_csr A = make_case(&c);
    const bool uneven = cmgi_csr_uneven(ctx, &A.view);
    cmgi_row_statistics s;
    CHECK_OK(cmgi_row_statistics_take(ctx, &A.view, &s));
    CHECK(cmgi_rows_uneven(&s) == uneven); /* from the lengths alone */
    CHECK(!(uneven && cmgi_rows_even(&s)));
    CHECK(length != five || cmgi_rows_even(&s));
    cmgi_row_statistics_free(ctx, &s);
    return uneven;
}

TEST(only_uneven_rows_get_tiles)
{
    CHECK(!is_uneven(30000, five));
    CHECK(!is_uneven(5000, short_with_holes)); /* too small to matter */
    CHECK(is_uneven(100000, one_giant));
    CHECK(is_uneven(30000, power_law));
}

TEST(allocation_failures_leave_nothing)
{
    scoped_csr A = make_case(&cases[4]);
    for (failing f = {.most = 20}; failing_next(&f);) {
        cmgi_csr_tiles *tiles = NULL;
        CHECK(failing_done(&f, cmgi_csr_tiles_make(ctx, &A.view, CMG_FP64, &tiles)) ||
              tiles == NULL);
        cmgi_csr_tiles_destroy(ctx, tiles);
    }
}

/*
 * Lanes of large matrices have about four entries: so many that one lane fewer, by half, has more
 * than six and one a lane is not too few. Small ones take a lane an entry, up to 65536 in all.
 */
TEST(lanes_have_about_four_entries)
{
    static const int table[][2] = {{0, 1},   {1, 1},   {2, 1},   {3, 2},    {8, 2},
                                   {9, 4},   {20, 4},  {21, 8},  {44, 8},   {45, 16},
                                   {92, 16}, {93, 32}, {94, 32}, {189, 32}, {5000, 32}};
    const cmg_size many = 1 << 20;
    for (size_t k = 0; k < sizeof table / sizeof table[0]; ++k) {
        CHECK(cmgi_csr_lanes(many, many * table[k][0]) == table[k][1]);
        CHECK(cmgi_csr_lanes(many, many * table[k][0] + many / 2) == table[k][1]);
    }
    CHECK(cmgi_csr_lanes(0, 0) == 1);
    CHECK(cmgi_csr_lanes(1000, 7 * 1000) == 8 && cmgi_csr_lanes(1000, 8 * 1000) == 8);
    CHECK(cmgi_csr_lanes(1000, 9 * 1000) == 16 && cmgi_csr_lanes(1000, 1000 * 1000) == 32);
    CHECK(cmgi_csr_lanes(16384, 16384 * 7) == 4 && cmgi_csr_lanes(16383, 16383 * 7) == 8);
}
