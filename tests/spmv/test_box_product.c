/*
 * Products with a box on the CPU, in every instruction set: each write-back against plain loops in
 * fp64, on boxes of every kind of side; the same bits however the rows are shared out; what lies
 * beside x, and the rows of others, are not touched.
 */
#include "boxes.h"
#include "samples.h"

enum { GUARD = 64 };

/* The vectors of a product in both precisions, x between values that spoil what reads them. */
typedef struct vectors {
    cmg_size n;
    double *wide[6]; /* x b c d e y */
    float *single[6];
} vectors;

static void vectors_make(cmg_size n, vectors *v)
{
    const size_t room = (size_t)n + 2 * GUARD;
    uint64_t seed = 7;
    v->n = n;
    for (int k = 0; k < 6; ++k) {
        v->wide[k] = malloc(room * sizeof(double));
        v->single[k] = malloc(room * sizeof(float));
        for (cmg_size i = 0; i < n + 2 * GUARD; ++i) {
            const bool beside = i < GUARD || i >= n + GUARD;
            v->single[k][i] = beside ? NAN : (float)(2 * cmgi_random(&seed) - 1);
            v->wide[k][i] = v->single[k][i];
        }
    }
}

static void vectors_free(vectors *v)
{
    for (int k = 0; k < 6; ++k) {
        free(v->wide[k]);
        free(v->single[k]);
    }
}

static void *vector_at(const vectors *v, bool single, int k)
{
    return single ? (void *)(v->single[k] + GUARD) : (void *)(v->wide[k] + GUARD);
}

/* Row i of a write-back, as writeback.h says. */
static double wanted(const cmgi_writeback *w, const vectors *v, cmg_size i, double s)
{
    const cmg_size at = GUARD + i;
    return suite_writeback(w, s, v->wide[1][at], v->wide[2][at], v->wide[3][at], v->wide[4][at]);
}

/* Rows `first` on, as many slices as there are in each of `parts`. */
static void multiply(const cmgi_cpu_kernels *kernels, const cmgi_box *box, bool single,
                     const cmgi_writeback *w, const vectors *v, int parts)
{
    const cmgi_writeback r = cmgi_wb_reduce(w);
    const cmg_size slices = (v->n + CMGI_SLICE - 1) / CMGI_SLICE;
    for (int p = parts - 1; p >= 0; --p) {
        const cmg_size first = slices * p / parts;
        const cmg_size last = slices * (p + 1) / parts;
        kernels->box[single](box, &r, vector_at(v, single, 0), first, last);
    }
}

/* Bits of y, which the rows of no part have changed beside it. */
static uint64_t bits_of(const vectors *v, bool single)
{
    uint64_t hash = 5;
    for (cmg_size i = 0; i < v->n + 2 * GUARD; ++i) {
        const double y = single ? (double)v->single[5][i] : v->wide[5][i];
        if (i < GUARD || i >= v->n + GUARD) {
            CHECK(isnan(y));
        } else {
            hash = cmgi_hash_mix(hash, cmgi_value_bits(y, false));
        }
    }
    return hash;
}

static void check_kind(const cmgi_cpu_kernels *kernels, const cmgi_box *box, bool single,
                       cmgi_writeback w, const vectors *v)
{
    w.y = vector_at(v, single, 5);
    multiply(kernels, box, single, &w, v, 1);
    double worst = 0;
    for (cmg_size i = 0; i < v->n; ++i) {
        double size = 0;
        const double s = box_row(box, v->wide[0] + GUARD, i, &size);
        const double y = single ? (double)v->single[5][GUARD + i] : v->wide[5][GUARD + i];
        const double error = fabs(y - wanted(&w, v, i, s)) / (size + 4);
        worst = isnan(y) || error > worst ? (isnan(y) ? INFINITY : error) : worst;
    }
    CHECK(worst <= (single ? 4e-7 : 8e-16));
    const uint64_t whole = bits_of(v, single);
    for (int parts = 2; parts <= 7; parts += 1 + parts / 3) {
        for (cmg_size i = 0; i < v->n; ++i) {
            v->single[5][GUARD + i] = NAN;
            v->wide[5][GUARD + i] = NAN;
        }
        multiply(kernels, box, single, &w, v, parts);
        CHECK(bits_of(v, single) == whole);
    }
}

static void check_dots(const cmgi_cpu_kernels *kernels, const cmgi_box *box, const vectors *v)
{
    const cmg_size slices = (v->n + CMGI_SLICE - 1) / CMGI_SLICE;
    scoped double *dots = malloc((size_t)slices * sizeof *dots);
    const cmgi_writeback w = {.kind = CMGI_WB_APPLY, .y = vector_at(v, false, 5), .dots = dots};
    double sum = 0;
    double exact = 0;
    double all = 0;
    multiply(kernels, box, false, &w, v, 3);
    for (cmg_size s = 0; s < slices; ++s) {
        sum += dots[s];
    }
    for (cmg_size i = 0; i < v->n; ++i) {
        double size = 0;
        exact += box_row(box, v->wide[0] + GUARD, i, &size) * v->wide[0][GUARD + i];
        all += size;
    }
    CHECK(fabs(sum - exact) <= 1e-14 * all);
}

static void check_box(const cmgi_box *box)
{
    vectors v;
    vectors_make((cmg_size)box->size[0] * box->size[1] * box->size[2], &v);
    for (int t = 0; cmgi_cpu_kernels_at(t) != NULL; ++t) {
        const cmgi_cpu_kernels *kernels = cmgi_cpu_kernels_at(t);
        EACH_PAIR (p, 2, kind, CMGI_WB_KINDS) {
            for (int some = 0; some < 4; ++some) { /* without d, without e */
                const bool momentum = kind == CMGI_WB_MOMENTUM;
                const bool scaled =
                    kind != CMGI_WB_APPLY && kind != CMGI_WB_AXPBY && (!momentum || some % 2 == 0);
                const cmgi_writeback w = {.kind = (cmgi_wb_kind)kind,
                                          .alpha = 0.7,
                                          .beta = kind == CMGI_WB_AXPBY && some == 1 ? 0 : -0.3,
                                          .b = vector_at(&v, p == 1, 1),
                                          .c = vector_at(&v, p == 1, 2),
                                          .d = scaled ? vector_at(&v, p == 1, 3) : NULL,
                                          .e = momentum && some / 2 == 0 ? vector_at(&v, p == 1, 4)
                                                                         : NULL};
                if (momentum || some < 1 + (kind == CMGI_WB_AXPBY)) {
                    check_kind(kernels, box, p == 1, w, &v);
                }
            }
        }
        check_dots(kernels, box, &v);
    }
    vectors_free(&v);
}

static const cmg_index sides[][3] = {
    {3, 3, 8},  {5, 3, 4},  {11, 12, 13}, {16, 9, 5},  {33, 6, 2},   {31, 35, 1}, {64, 7, 1},
    {65, 3, 3}, {3, 40, 1}, {512, 3, 2},  {513, 4, 1}, {1030, 3, 3}, {8, 8, 8},   {7, 9, 1}};

TEST(products_are_right)
{
    EACH_PAIR (s, sizeof sides / sizeof sides[0], even, 2) {
        cmgi_box box = {.dims = sides[s][2] > 1 ? 3 : 2, .even = even == 1};
        memcpy(box.size, sides[s], sizeof box.size);
        box_values(even == 1, 3, true, box.value);
        FILL(box.value, k, 27, box.dims == 2 && k / 9 != 1 ? 0 : box.value[k]);
        check_box(&box);
    }
}

/* What a matrix multiplies by is its box: new values of that are seen in the product. */
TEST(matrices_use_it)
{
    enum { N = 40 };
    scoped_csr A = grid(N, 0);
    double y[N * N];
    double x[N * N];
    scoped_matrix *M = matrix_with(&A.view, "format=compressed");
    cmgi_box *box = ((cmgi_compressed *)M->data)->t.box;
    CHECK(box != NULL);
    fill_values(x, N * N, 1);
    const cmgi_writeback w = {.kind = CMGI_WB_APPLY, .y = y};
    CHECK_OK(cmgi_matrix_spmv(M, &w, x));
    CHECK(y[0] == 2 && y[5] == 1 && y[5 * N + 5] == 0);
    box->value[13] = 5;
    CHECK_OK(cmgi_matrix_spmv(M, &w, x));
    CHECK(y[0] == 3 && y[5] == 2 && y[5 * N + 5] == 1);
}
