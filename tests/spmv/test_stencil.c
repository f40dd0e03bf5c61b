/*
 * Templates that share runs of columns: the runs hold every entry of every template, and products
 * are those of plain loops for line lengths of every remainder, every write-back, and vectors that
 * are not aligned.
 */
#include "core/vector.h"
#include "spmv/matrix.h"
#include "spmv/stencil.h"
#include "suite.h"

/* Box stencil of `reach` neighbours on nx x ny x nz points: 27 entries inside for reach 1; or, with
 * `star`, the axes alone. Values depend on the offset, on the boundary also on the row's kind. */
static cmgi_csr box(cmg_size nx, cmg_size ny, cmg_size nz, int reach, bool star)
{
    const cmg_size n = nx * ny * nz;
    const int side = 2 * reach + 1;
    cmgi_csr A = csr_new(n, n, n * side * side * side);
    for (cmg_size i = 0; i < n; ++i) {
        const cmg_size at[3] = {i % nx, i / nx % ny, i / nx / ny};
        for (int d = 0; d < side * side * side; ++d) {
            const int by[3] = {d % side - reach, d / side % side - reach, d / side / side - reach};
            const cmg_size to[3] = {at[0] + by[0], at[1] + by[1], at[2] + by[2]};
            const bool inside =
                to[0] >= 0 && to[0] < nx && to[1] >= 0 && to[1] < ny && to[2] >= 0 && to[2] < nz;
            if (inside && (!star || (by[0] != 0) + (by[1] != 0) + (by[2] != 0) <= 1)) {
                csr_put(&A, i, (to[2] * ny + to[1]) * nx + to[0],
                        1.0 / (3 + d) + 0.125 * (double)A.indptr[i + 1]); /* entries of the row */
            }
        }
    }
    csr_end(&A);
    return A;
}

/* Entry of template t at an offset, as the runs have it; NaN where no run has the offset. */
static double spread_value(const cmgi_stencil *S, int t, cmg_size offset)
{
    for (int r = 0; r < S->runs; ++r) {
        const cmg_size m = offset - S->run[r];
        if (m >= 0 && m < CMGI_RUN) {
            const double v =
                ((const double *)S->value)[((cmg_size)t * S->runs + r) * CMGI_RUN_STORED + m];
            return t > 0 || S->first[r][m] == v ? v : NAN;
        }
    }
    return NAN;
}

TEST(runs_hold_the_templates)
{
    NEEDS(ctx->options.backend == CMG_BACKEND_CPU, "the storage is looked at on the host");
    for (int star = 0; star < 2; ++star) {
        scoped_csr A = box(13, 11, 12, 1, star);
        scoped_matrix *M = compress(&A, CMG_FP64, CMG_VALUES_FULL);
        cmgi_compressed *C = M->data;
        CHECK(C->t.kinds == 27 && C->p.count == 0);
        CHECK_OK(cmgi_stencil_build(ctx, CMG_FP64, C));
        const cmgi_stencil *S = C->t.stencil;
        CHECK(S != NULL && S->runs == (star ? 5 : 9));
        for (int t = 0; S != NULL && t < C->t.kinds; ++t) {
            double sum = 0;
            double stored = 0;
            for (cmg_index e = C->t.begin[t]; e < C->t.begin[t + 1]; ++e) {
                CHECK(spread_value(S, t, C->t.offset[e]) == ((const double *)C->t.value)[e]);
                sum += fabs(((const double *)C->t.value)[e]);
            }
            for (int k = 0; k < S->runs * CMGI_RUN_STORED; ++k) {
                stored += fabs(((const double *)S->value)[t * S->runs * CMGI_RUN_STORED + k]);
            }
            CHECK_NEAR(stored, sum, 1e-14 * sum); /* and nothing else */
        }
    }
}

/* Templates without common runs: every third row has neighbours elsewhere. */
TEST(scattered_templates_have_no_runs)
{
    const cmg_size n = 6000;
    scoped_csr A = csr_new(n, n, 4 * n);
    EACH_PAIR (i, n, e, 4) {
        csr_put(&A, i, (i + e * (100 + 37 * (i % 40))) % n, 1 + (double)e);
    }
    csr_end(&A);
    scoped_matrix *M = compress(&A, CMG_FP64, CMG_VALUES_FULL);
    cmgi_compressed *C = M->data;
    CHECK(C->t.count > 0);
    if (ctx->options.backend == CMG_BACKEND_CPU) {
        CHECK_OK(cmgi_stencil_build(ctx, CMG_FP64, C));
    }
    CHECK(C->t.stencil == NULL);
}

/* A vector over the memory of another one, `shift` entries after its start. */
static cmg_vector *part(cmg_vector *whole, cmg_size shift, cmg_size n)
{
    cmg_vector *v = NULL;
    char *data = cmg_vector_data(whole);
    data += (size_t)shift * cmgi_precision_bytes(cmg_vector_precision(whole));
    CHECK_OK(cmg_vector_wrap(ctx, n, cmg_vector_precision(whole), data, &v));
    return v;
}

/* All write-backs against plain loops; the vectors begin `shift` entries after aligned memory. */
static void check_products(const cmgi_csr *A, cmg_precision precision, cmg_size shift)
{
    enum { X, Y, B, D, VECTORS };
    const double eps = precision == CMG_FP64 ? 1e-15 : 1e-6;
    const cmg_size n = A->rows;
    scoped_matrix *M = compress(A, precision, CMG_VALUES_FULL);
    cmg_vector *whole[VECTORS];
    cmg_vector *v[VECTORS];
    double *value[VECTORS];
    scoped double *sum = calloc((size_t)n, sizeof *sum);
    scoped double *size = calloc((size_t)n, sizeof *size);
    scoped double *out = calloc((size_t)n, sizeof *out);
    for (int k = 0; k < VECTORS; ++k) {
        value[k] = random_values(n, 11 + (uint64_t)k);
        CHECK_OK(cmg_vector_create(ctx, n + shift, precision, &whole[k]));
        v[k] = part(whole[k], shift, n);
        CHECK_OK(cmg_vector_set(v[k], value[k]));
        CHECK_OK(cmg_vector_get(v[k], value[k]));
    }
    suite_multiply(A, value[X], sum, size);
    double worst[5] = {0, 0, 0, 0, 0};
    for (int kind = 0; kind < 5; ++kind) {
        const cmgi_writeback w = {.kind = CMGI_WB_FROM_ZERO,
                                  .alpha = 0.7,
                                  .b = v[B]->data,
                                  .d = v[D]->data,
                                  .y = v[Y]->data};
        CHECK_OK(cmg_vector_set(v[Y], value[Y]));
        switch (kind) {
        case 0:
            CHECK_OK(cmg_matrix_apply(M, v[X], v[Y]));
            break;
        case 1:
            CHECK_OK(cmg_matrix_axpby(M, 0.5, v[X], -2.0, v[Y]));
            break;
        case 2:
            CHECK_OK(cmg_matrix_residual(M, v[X], v[B], v[Y]));
            break;
        case 3:
            CHECK_OK(cmg_matrix_jacobi(M, 0.7, v[D], v[B], v[X], v[Y]));
            break;
        default:
            CHECK_OK(cmgi_matrix_spmv(M, &w, v[X]->data));
            break;
        }
        CHECK_OK(cmg_vector_get(v[Y], out));
        for (cmg_size i = 0; i < n; ++i) {
            const double expected[5] = {sum[i], 0.5 * sum[i] - 2.0 * value[Y][i],
                                        value[B][i] - sum[i],
                                        value[X][i] + 0.7 * value[D][i] * (value[B][i] - sum[i]),
                                        sum[i] + 0.7 * value[D][i] * value[B][i]};
            const double error = fabs(out[i] - expected[kind]) / (size[i] + 4);
            worst[kind] = error <= worst[kind] ? worst[kind] : error; /* NaN wins */
        }
        CHECK(worst[kind] <= eps);
    }
    for (int k = 0; k < VECTORS; ++k) {
        cmg_vector_destroy(&v[k]);
        cmg_vector_destroy(&whole[k]);
        free(value[k]);
    }
}

/* y = A x and x . y at once, where templates, patterns and codes each have their part. */
TEST(a_product_brings_its_inner_product)
{
    scoped_csr A = box(33, 31, 9, 1, false);
    const cmg_size n = A.rows;
    for (int c = 0; c < 3; ++c) { /* templates alone; then values that differ in a half; codes */
        uint64_t seed = 3;
        for (cmg_size k = c == 1 ? A.indptr[n / 2] : A.indptr[n]; k < A.indptr[n]; ++k) {
            A.values[k] += cmgi_random(&seed);
        }
        for (cmg_size i = 0; c == 2 && i + 1 < n; i += 64) { /* out of the pattern */
            A.indices[A.indptr[i + 1] - 1] = (cmg_index)(n - 1);
        }
        scoped double *x = random_values(n, 5);
        scoped double *y = calloc((size_t)n, sizeof *y);
        scoped double *size = calloc((size_t)n, sizeof *size);
        double dot = NAN;
        double expected = 0;
        double magnitude = 0;
        scoped_matrix *M = compress(&A, CMG_FP64, CMG_VALUES_FULL);
        scoped_vector *vx = vector_from(n, CMG_FP64, x);
        scoped_vector *vy = vector_new(n, CMG_FP64);
        scoped_device double *device_dot = device_new(1, sizeof *device_dot);
        suite_multiply(&A, x, y, size);
        for (cmg_size i = 0; i < n; ++i) {
            expected += x[i] * y[i];
            magnitude += fabs(x[i]) * size[i];
        }
        CHECK_OK(
            cmgi_matrix_apply_dot(M, cmg_vector_data(vx), cmg_vector_data(vy), device_dot, NULL));
        CHECK_OK(cmgi_to_host(ctx, &dot, device_dot, sizeof dot));
        CHECK_NEAR(dot, expected, 1e-15 * magnitude);
        CHECK_OK(cmg_vector_get(vy, x));
        double worst = 0;
        for (cmg_size i = 0; i < n; ++i) {
            worst = worst_of(worst, fabs(x[i] - y[i]) / (size[i] + 1));
        }
        CHECK(worst <= 1e-15);
    }
}

TEST(products_are_those_of_plain_loops)
{
    static const cmg_size sides[][3] = {{12, 12, 12}, {13, 12, 11}, {14, 13, 10}, {15, 15, 9},
                                        {16, 9, 13},  {63, 40, 1},  {64, 40, 1},  {65, 33, 1},
                                        {255, 9, 3},  {4097, 1, 1}};
    EACH_PAIR (s, sizeof sides / sizeof sides[0], star, 2) {
        scoped_csr A = box(sides[s][0], sides[s][1], sides[s][2], 1, star);
        for (cmg_size shift = 0; shift < 2; ++shift) {
            check_products(&A, CMG_FP64, shift);
            check_products(&A, CMG_FP32, shift);
        }
    }
    scoped_csr A = box(14, 12, 11, 2, false); /* runs of 5 columns: two runs of 3 */
    check_products(&A, CMG_FP64, 0);
    check_products(&A, CMG_FP32, 0);
}
