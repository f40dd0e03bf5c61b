/*
 * The box of a matrix: what is found multiplies as the matrix does, for the 27-point stencil and
 * its subsets and for sides of every kind; one row that is not the stencil cut at the rim is seen.
 */
#include "csr/resident.h"
#include "boxes.h"
#include "products.h"

typedef struct grid {
    cmg_size size[3];
    uint32_t neighbours; /* bit 9 (a + 1) + 3 (b + 1) + (c + 1) */
    double value[27];
    bool around;   /* the first and the last position of a line are neighbours */
    cmg_size hole; /* > 0: a row that has no neighbour after it, as those at the end of a line */
} grid;

enum {
    ALL = 0x7ffffff,
    CROSS = 1 << 4 | 1 << 10 | 1 << 12 | 1 << 13 | 1 << 14 | 1 << 16 | 1 << 22,
    FORWARD = 1 << 13 | 1 << 14 | 1 << 16 | 1 << 22,
    NO_CORNERS = ALL & ~(1 << 0 | 1 << 2 | 1 << 6 | 1 << 8 | 1 << 18 | 1 << 20 | 1 << 24 | 1 << 26)
};

static cmgi_csr assemble(const grid *g)
{
    const cmg_size n = g->size[0] * g->size[1] * g->size[2];
    cmgi_csr A = csr_new(n, n, 27 * n);
    for (cmg_size i = 0; i < n; ++i) {
        const cmg_size x = i % g->size[0];
        const cmg_size y = i / g->size[0] % g->size[1];
        const cmg_size z = i / g->size[0] / g->size[1];
        for (int d = 0; d < 27; ++d) {
            cmg_size to = x + d % 3 - 1;
            const cmg_size line = y + d / 3 % 3 - 1;
            const cmg_size plane = z + d / 9 - 1;
            to = g->around ? (to + g->size[0]) % g->size[0] : to;
            if (to >= 0 && to < g->size[0] && line >= 0 && line < g->size[1] && plane >= 0 &&
                plane < g->size[2] && (g->neighbours >> d & 1) != 0 &&
                (g->hole == 0 || i != g->hole || d % 3 != 2)) {
                csr_put(&A, i, ((plane * g->size[1] + line) * g->size[0] + to), g->value[d]);
            }
        }
    }
    csr_end(&A);
    return A;
}

static grid make_grid(cmg_size nx, cmg_size ny, cmg_size nz, uint32_t neighbours, bool even)
{
    grid g = {.size = {nx, ny, nz}, .neighbours = neighbours};
    box_values(even, 3, false, g.value);
    return g;
}

/* The box as box.h defines it, against the rows of the matrix. */
static double difference(const cmgi_box *box, const cmgi_csr *A)
{
    scoped double *x = random_values(A->rows, 3);
    scoped double *sum = calloc((size_t)A->rows, sizeof *sum);
    scoped double *size = calloc((size_t)A->rows, sizeof *size);
    double worst = 0;
    suite_multiply(A, x, sum, size);
    for (cmg_size i = 0; i < A->rows; ++i) {
        double all = 0;
        worst = worst_of(worst, fabs(box_row(box, x, i, &all) - sum[i]) / (size[i] + 1));
    }
    return worst;
}

/* `wanted`: there has to be one, of these sizes. */
static void check_grid(const grid *g, bool wanted)
{
    scoped_csr A = assemble(g);
    for (int p = 0; p < 2; ++p) {
        scoped_matrix *M = compress(&A, p == 0 ? CMG_FP64 : CMG_FP32, CMG_VALUES_FULL);
        const cmgi_box *box = cmgi_matrix_box(M);
        CHECK(box != NULL || !wanted);
        for (int k = 0; box != NULL && wanted && k < 3; ++k) {
            CHECK(box->size[k] == g->size[k]);
        }
        CHECK(box == NULL || (cmg_size)box->size[0] * box->size[1] * box->size[2] == A.rows);
        CHECK(box == NULL || box->dims == (box->size[2] > 1 ? 3 : 2));
        CHECK(box == NULL || difference(box, &A) <= (p == 0 ? 1e-15 : 1e-7));
    }
}

TEST(boxes_are_found)
{
    static const cmg_size sides[][3] = {{11, 12, 13}, {16, 9, 13}, {33, 32, 2}, {31, 35, 1},
                                        {65, 3, 7},   {3, 3, 150}, {3, 400, 1}, {255, 9, 3},
                                        {400, 3, 2},  {257, 4, 1}, {64, 64, 1}};
    static const uint32_t kinds[] = {ALL, CROSS, NO_CORNERS};
    for (size_t s = 0; s < sizeof sides / sizeof sides[0]; ++s) {
        for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; ++k) {
            const uint32_t own = sides[s][2] > 1 ? kinds[k] : kinds[k] & 0x3fe00;
            for (int even = 0; even < 2; ++even) {
                const grid g = make_grid(sides[s][0], sides[s][1], sides[s][2], own, even != 0);
                check_grid(&g, true);
            }
        }
    }
}

/* Little is known of these: what is found has to be right. */
TEST(doubtful_boxes_are_right)
{
    static const cmg_size sides[][3] = {{2, 40, 40}, {40, 2, 40},  {1, 50, 50},  {50, 1, 50},
                                        {2, 2, 500}, {1, 1, 3000}, {3000, 1, 1}, {3, 3, 200}};
    for (size_t s = 0; s < sizeof sides / sizeof sides[0]; ++s) {
        const grid g = make_grid(sides[s][0], sides[s][1], sides[s][2], ALL, false);
        check_grid(&g, false);
    }
    uint64_t seed = 5;
    for (int k = 0; k < 40; ++k) {
        const uint32_t some = (uint32_t)(0.5 * (1 + cmgi_random(&seed)) * ALL) | 1 << 13;
        const grid g = make_grid(11, 13, 1 + 4 * (k % 4), some, false);
        check_grid(&g, false);
        const grid one = make_grid(12, 10, 11, FORWARD | 1U << (k % 27), false);
        check_grid(&one, k % 27 != 0);
    }
}

/* What is no box, and is taken for none. */
TEST(others_are_refused)
{
    grid g = make_grid(20, 12, 11, ALL, true);
    g.around = true;
    check_grid(&g, false);
    g.around = false;
    const cmg_size middle = (5 * 12 + 6) * 20 + 10;
    g.hole = middle; /* the templates are those of a box */
    scoped_csr A = assemble(&g);
    scoped_matrix *M = compress(&A, CMG_FP64, CMG_VALUES_FULL);
    CHECK(cmgi_matrix_box(M) == NULL);
    cmg_matrix_destroy(&M);
    cmgi_csr_free(ctx, &A);
    g.hole = 0;
    A = assemble(&g);
    for (int c = 0; c < 2; ++c) { /* no entry, another value */
        double *own = &A.values[A.indptr[middle] + (c == 0 ? 4 : 13)];
        const double kept = *own;
        *own = c == 0 ? 0 : 1 + kept;
        M = compress(&A, CMG_FP64, CMG_VALUES_FULL);
        CHECK(cmgi_matrix_box(M) == NULL);
        cmg_matrix_destroy(&M);
        *own = kept;
    }
    M = compress(&A, CMG_FP64, CMG_VALUES_FULL);
    CHECK(cmgi_matrix_box(M) != NULL && cmgi_matrix_box(M)->even);
}

/* By entries, on the host and, where kernels read them, on the device. */
static bool box_by_entries(const cmgi_csr *A, cmg_precision precision, cmgi_box *box)
{
    bool found = false;
    CHECK_OK(cmgi_box_of_csr(ctx, &A->view, NULL, precision, box, &found));
    if (cmgi_resident_kernels_of(ctx) != NULL) {
        cmgi_resident there = {0};
        cmgi_box same = {0};
        bool too = false;
        CHECK_OK(cmgi_resident_send(ctx, &A->view, &there));
        CHECK_OK(cmgi_box_of_csr(ctx, NULL, &there, precision, &same, &too));
        CHECK(too == found);
        CHECK(!found ||
              (same.even == box->even && memcmp(same.size, box->size, sizeof same.size) == 0 &&
               memcmp(same.value, box->value, sizeof same.value) == 0));
        cmgi_resident_free(ctx, &there);
    }
    return found;
}

/* The same box as the templates give, also where they are too many to give one. */
TEST(entries_are_enough)
{
    static const cmg_size sides[][3] = {{11, 13, 15}, {33, 31, 3}, {31, 35, 1}, {3, 3, 3},
                                        {3, 3, 1},    {15, 3, 7},  {5, 7, 1},   {7, 7, 7}};
    static const uint32_t kinds[] = {ALL, CROSS, NO_CORNERS};
    for (size_t s = 0; s < sizeof sides / sizeof sides[0]; ++s) {
        for (int c = 0; c < 12; ++c) {
            const uint32_t own = kinds[c / 4] & (sides[s][2] > 1 ? ALL : 0x3fe00);
            const cmg_precision precision = c % 2 == 0 ? CMG_FP32 : CMG_FP64;
            const grid g = make_grid(sides[s][0], sides[s][1], sides[s][2], own, c / 2 % 2 == 0);
            scoped_csr A = assemble(&g);
            scoped_matrix *M = compress(&A, precision, CMG_VALUES_FULL);
            const cmgi_box *stored = cmgi_matrix_box(M);
            cmgi_box box = {0};
            CHECK(box_by_entries(&A, precision, &box));
            CHECK(box.dims == (sides[s][2] > 1 ? 3 : 2));
            for (int k = 0; k < 3; ++k) {
                CHECK(box.size[k] == sides[s][k]);
            }
            CHECK(difference(&box, &A) <= (precision == CMG_FP64 ? 1e-15 : 1e-7));
            CHECK(stored == NULL || stored->even == box.even);
            for (int k = 0; k < 6; ++k) { /* one entry: its value, its column, not there */
                const cmg_size row = k / 3 == 0 ? 0 : A.rows - 2;
                const cmg_size e = A.indptr[row] + 1;
                const cmgi_csr kept = {.values = &(double){A.values[e]},
                                       .indices = &(cmg_index){A.indices[e]}};
                A.values[e] = k % 3 == 0 ? 1.01 * *kept.values : k % 3 == 2 ? 0 : *kept.values;
                A.indices[e] = k % 3 == 1 ? A.indices[e + 1] : *kept.indices;
                CHECK(!box_by_entries(&A, precision, &box));
                A.values[e] = *kept.values;
                A.indices[e] = *kept.indices;
            }
        }
    }
    grid g = make_grid(21, 11, 9, ALL, true);
    cmgi_box box;
    for (int c = 0; c < 2; ++c) {
        g.around = c == 0;
        g.hole = c == 1 ? (5 * 11 + 6) * 21 + 10 : 0;
        scoped_csr A = assemble(&g);
        CHECK(!box_by_entries(&A, CMG_FP64, &box));
    }
}

/* On a GPU, whatever products of boxes do unasked. */
static cmg_status (*const march)(const cmg_matrix *, const cmgi_writeback *,
                                 const void *) = CMGI_CUDA_FN(cmgi_march_spmv_cuda);
static cmg_status (*const march_residual)(const cmg_matrix *, const double *, const double *,
                                          float *,
                                          double *) = CMGI_CUDA_FN(cmgi_march_residual_cuda);
static cmg_status (*const march_direction)(const cmg_matrix *, const cmgi_direction *,
                                           double *) = CMGI_CUDA_FN(cmgi_march_direction_cuda);
static cmg_size (*const sums)(const cmg_matrix *, bool) = CMGI_CUDA_FN(cmgi_march_sums);

/* x . A x, and r = b - A x in fp32 with (r, r) in fp64, on a GPU. */
static void check_sums(const cmg_matrix *M, cmg_size n, void *const *v, double *const *value,
                       const double *sum, const double *size)
{
    const cmg_size count[] = {sums(M, false), sums(M, true)};
    scoped float *r = calloc((size_t)n, sizeof *r);
    double exact[2] = {0, 0};
    double magnitude = 0;
    double worst = 0;
    scoped_device float *there = device_new(n, sizeof *there);
    scoped_device double *dots = device_new(count[0] + count[1], sizeof *dots);
    const cmgi_writeback w = {.kind = CMGI_WB_SCALED, .alpha = 1, .y = v[Y], .dots = dots};
    for (cmg_size i = 0; i < n; ++i) {
        exact[0] += value[X][i] * sum[i];
        magnitude += fabs(value[X][i]) * size[i];
        exact[1] += (value[B][i] - sum[i]) * (value[B][i] - sum[i]);
    }
    CHECK_OK(march(M, &w, v[X]));
    CHECK_NEAR(read_sum(dots, count[0]), exact[0], 4e-15 * magnitude);
    CHECK_OK(march_residual(M, v[B], v[X], there, dots));
    CHECK_NEAR(read_sum(dots, count[1]), exact[1], 1e-13 * exact[1]);
    CHECK_OK(cmgi_to_host(ctx, r, there, (size_t)n * sizeof *r));
    for (cmg_size i = 0; i < n; ++i) {
        worst = worst_of(worst, fabs(r[i] - (value[B][i] - sum[i])) / (size[i] + 1));
    }
    CHECK(worst <= 1e-7);
}

/* Largest difference of a vector on the device from `exact`. */
static double apart(cmg_size n, const double *there, const double *exact)
{
    scoped double *out = calloc((size_t)n, sizeof *out);
    double worst = 0;
    CHECK_OK(cmgi_to_host(ctx, out, there, (size_t)n * sizeof *out));
    for (cmg_size i = 0; i < n; ++i) {
        const double error = fabs(out[i] - exact[i]);
        worst = error <= worst ? worst : error; /* NaN wins */
    }
    return worst;
}

/*
 * p = z + beta p and A p in one pass, beside plain loops and a product of what they made; with beta
 * = 0 the old p is not a number. The step before is noted once.
 */
static void check_formed(const cmgi_csr *A, const cmg_matrix *M, double beta, double *const *value)
{
    enum { PARTS = 300 };
    const cmg_size n = A->rows;
    scoped float *single = calloc((size_t)n, sizeof *single);
    scoped double *p = calloc((size_t)n, sizeof *p);
    scoped double *sum = calloc((size_t)n, sizeof *sum);
    scoped double *size = calloc((size_t)n, sizeof *size);
    cmgi_stop test = {.running = 1, .most = 9, .diverged = INFINITY, .outcome = CMGI_STOP_NONE};
    double exact = 0;
    double magnitude = 0;
    scoped_device float *z = device_new(n, sizeof *z);
    scoped_device double *before = device_new(n, sizeof *before);
    scoped_device double *formed = device_new(n, sizeof *formed);
    scoped_device double *y = device_new(n, sizeof *y);
    scoped_device double *scalars = device_new(2, sizeof *scalars);
    scoped_device double *parts = device_new(PARTS, sizeof *parts);
    scoped_device cmgi_stop *stop = device_new(1, sizeof *stop);
    CHECK_OK(cmgi_to_device(ctx, stop, &test, sizeof test));
    CHECK_OK(ctx->backend->fill(ctx, CMG_FP64, PARTS, fabs(beta) / PARTS, parts));
    CHECK_OK(ctx->backend->fill(ctx, CMG_FP64, 2, beta < 0 ? -1 : beta > 0, scalars));
    for (cmg_size i = 0; i < n; ++i) {
        single[i] = (float)value[C][i];
        p[i] = single[i] + (beta != 0 ? beta * value[X][i] : 0);
    }
    CHECK_OK(cmgi_to_device(ctx, z, single, (size_t)n * sizeof *z));
    CHECK_OK(beta != 0 ? cmgi_to_device(ctx, before, value[X], (size_t)n * sizeof *before)
                       : ctx->backend->fill(ctx, CMG_FP64, n, NAN, before));
    const cmgi_direction d = {.num = scalars,
                              .den = scalars + 1,
                              .pz = CMG_FP32,
                              .z = z,
                              .pp = CMG_FP64,
                              .p = formed,
                              .parts = {parts, PARTS},
                              .before = before,
                              .squares = {parts, beta > 0 ? PARTS : 0},
                              .stop = stop,
                              .pq = parts};
    CHECK_OK(march_direction(M, &d, y));
    suite_multiply(A, p, sum, size);
    for (cmg_size i = 0; i < n; ++i) {
        exact += p[i] * sum[i];
        magnitude += fabs(p[i]) * size[i];
    }
    CHECK(apart(n, formed, p) <= 1e-14);
    CHECK(apart(n, y, sum) <= 1e-12);
    CHECK_NEAR(read_sum(M->dots, sums(M, false)), exact, 1e-14 * magnitude);
    CHECK_OK(cmgi_to_host(ctx, &test, stop, sizeof test));
    CHECK(test.done == (beta > 0));
    CHECK_NEAR(test.history[0], beta > 0 ? sqrt(beta) : 0, 1e-14);
}

static void check_products(const grid *g, cmg_precision precision, cmg_size shift)
{
    scoped_csr A = assemble(g);
    const cmg_size n = A.rows;
    scoped_matrix *M = compress(&A, precision, CMG_VALUES_FULL);
    cmg_vector *whole[VECTORS];
    double *value[VECTORS];
    void *v[VECTORS];
    scoped double *sum = calloc((size_t)n, sizeof *sum);
    scoped double *size = calloc((size_t)n, sizeof *size);
    CHECK(cmgi_matrix_box(M) != NULL);
    for (int k = 0; k < VECTORS; ++k) {
        value[k] = random_values(n + shift, 11 + (uint64_t)k);
        whole[k] = vector_from(n + shift, precision, value[k]);
        CHECK_OK(cmg_vector_get(whole[k], value[k])); /* as rounded */
        memmove(value[k], value[k] + shift, (size_t)n * sizeof *value[k]);
        v[k] = (char *)cmg_vector_data(whole[k]) + (size_t)shift * cmgi_precision_bytes(precision);
    }
    suite_multiply(&A, value[X], sum, size);
    product_of *multiply = march != NULL && cmgi_on_cuda(ctx) ? march : cmgi_matrix_spmv;
    for (size_t k = 0; k < sizeof products / sizeof products[0]; ++k) {
        check_product(M, multiply, &products[k], n, v, value, sum, size);
    }
    if (precision == CMG_FP64 && sums != NULL && cmgi_on_cuda(ctx)) {
        check_sums(M, n, v, value, sum, size);
        for (int k = 0; k < 3 && cmgi_matrix_box(M)->dims == 3; ++k) {
            check_formed(&A, M, k == 0 ? 0 : k == 1 ? 0.3 : -2, value);
        }
    }
    for (int k = 0; k < VECTORS; ++k) {
        cmg_vector_destroy(&whole[k]);
        free(value[k]);
    }
}

TEST(products_are_those_of_plain_loops)
{
    static const cmg_size sides[][3] = {{30, 33, 2},  {29, 9, 7},   {31, 17, 5}, {32, 16, 3},
                                        {61, 3, 10},  {3, 65, 9},   {59, 18, 1}, {4, 300, 1},
                                        {121, 31, 1}, {122, 13, 1}, {479, 3, 1}, {500, 4, 1},
                                        {8, 6, 60},   {3, 3, 200},  {3, 3, 3001}};
    for (size_t s = 0; s < sizeof sides / sizeof sides[0]; ++s) {
        const uint32_t plane = sides[s][2] > 1 ? ALL : 0x3fe00;
        for (int k = 0; k < 3; ++k) {
            const uint32_t own = (k == 2 ? CROSS : ALL) & plane;
            const grid g = make_grid(sides[s][0], sides[s][1], sides[s][2], own, k == 0);
            check_products(&g, CMG_FP64, (cmg_size)s % 2);
            check_products(&g, CMG_FP32, 1 - (cmg_size)s % 2);
        }
    }
}
