/* Vector arithmetic against plain loops, at sizes around the SIMD width and the reduction block. */
#include "core/backend.h"
#include "core/vector.h"
#include "csr/place.h"
#include "arrays.h"

static const cmg_size sizes[] = {0, 1, 7, 31, 32, 33, 4095, 4096, 4097, 50001};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

TEST(axpby_and_dot_match_loops)
{
    for (int p = CMG_FP64; p <= CMG_FP32; ++p) {
        const double eps = p == CMG_FP64 ? 1e-15 : 1e-6;
        for (int s = 0; s < SIZES; ++s) {
            const cmg_size n = sizes[s];
            scoped double *a = random_values(n, 1);
            scoped double *b = random_values(n, 2);
            scoped_vector *x = vector_from(n, (cmg_precision)p, a);
            scoped_vector *y = vector_from(n, (cmg_precision)p, b);
            double expected = 0;
            double magnitude = 0;
            for (cmg_size i = 0; i < n; ++i) {
                expected += a[i] * b[i];
                magnitude += fabs(a[i] * b[i]);
            }
            double dot = -1;
            CHECK_OK(cmg_vector_dot(x, y, &dot));
            CHECK_NEAR(dot, expected, eps * (magnitude + 1) * 4);
            CHECK_OK(cmg_vector_axpby(0.5, x, -2.0, y));
            scoped double *c = values_of(y);
            double worst = 0;
            for (cmg_size i = 0; i < n; ++i) {
                worst = worst_of(worst, fabs(c[i] - (0.5 * a[i] - 2.0 * b[i])));
            }
            CHECK_NEAR(worst, 0, 8 * eps);
        }
    }
}

TEST(cg_kernels_match_loops)
{
    for (int s = 0; s < SIZES; ++s) {
        const cmg_size n = sizes[s];
        double *host[4];
        void *v[4];
        const double scalars[3] = {0.75, 1.5, 0};
        scoped_device double *d_scalars = copy_there(scalars, 3, sizeof *scalars);
        scoped_device float *single = device_new(n, sizeof(float));
        for (int k = 0; k < 4; ++k) {
            host[k] = random_values(n, (uint64_t)(10 + k));
            v[k] = copy_there(host[k], n, sizeof(double));
        }
        /* the new direction from r, once in fp64 and once from r as it was rounded */
        const cmgi_cg_update update = {.rz = d_scalars,
                                       .pq = d_scalars + 1,
                                       .p = v[0],
                                       .q = v[1],
                                       .x = v[2],
                                       .r = v[3],
                                       .single = single,
                                       .rr = d_scalars + 2};
        CHECK_OK(ctx->backend->cg_update(ctx, n, 1, &update));
        CHECK_OK(ctx->backend->convert(ctx, n, CMG_FP64, v[0], CMG_FP64, v[1]));
        cmgi_direction next = {.num = d_scalars,
                               .den = d_scalars + 1,
                               .pz = CMG_FP64,
                               .z = v[3],
                               .pp = CMG_FP64,
                               .p = v[0]};
        CHECK_OK(ctx->backend->direction(ctx, n, 1, &next));
        next.pz = CMG_FP32;
        next.z = single;
        next.p = v[1];
        CHECK_OK(ctx->backend->direction(ctx, n, 1, &next));
        double rr = -1;
        CHECK_OK(cmgi_to_host(ctx, &rr, d_scalars + 2, sizeof rr));
        scoped double *out = malloc((size_t)(n + 1) * sizeof *out);
        double expected = 0;
        double worst = 0;
        const double alpha = 0.5;
        CHECK_OK(cmgi_to_host(ctx, out, v[2], (size_t)n * sizeof(double)));
        for (cmg_size i = 0; i < n; ++i) {
            worst = worst_of(worst, fabs(out[i] - (host[2][i] + alpha * host[0][i])));
        }
        CHECK_OK(cmgi_to_host(ctx, out, v[0], (size_t)n * sizeof(double)));
        for (cmg_size i = 0; i < n; ++i) {
            const double r = host[3][i] - alpha * host[1][i];
            expected += r * r;
            worst = worst_of(worst, fabs(out[i] - (r + alpha * host[0][i])));
        }
        CHECK_NEAR(worst, 0, 1e-15 * 4);
        CHECK_OK(cmgi_to_host(ctx, out, v[1], (size_t)n * sizeof(double)));
        for (cmg_size i = 0; i < n; ++i) {
            const double r = (double)(float)(host[3][i] - alpha * host[1][i]);
            worst = worst_of(worst, fabs(out[i] - (r + alpha * host[0][i])));
        }
        CHECK_NEAR(worst, 0, 2e-7); /* the update may differ by a rounding in fp64 before fp32 */
        CHECK_NEAR(rr, expected, 1e-14 * (expected + 1));
        for (int k = 0; k < 4; ++k) {
            free(host[k]);
            cmgi_free_device(ctx, v[k]);
        }
    }
}

TEST(cg_kernels_match_loops_in_fp32)
{
    for (int s = 0; s < SIZES; ++s) {
        const cmg_size n = sizes[s];
        const double scalars[3] = {0.75, 1.5, 0}; /* num / den = 1 / 2 */
        double *host[4];
        scoped_device double *d_scalars = copy_there(scalars, 3, sizeof *scalars);
        cmg_vector *v[4];
        for (int k = 0; k < 4; ++k) {
            host[k] = random_values(n, (uint64_t)(30 + k));
            v[k] = vector_from(n, CMG_FP32, host[k]);
        }
        const cmgi_cg_update update = {.rz = d_scalars,
                                       .pq = d_scalars + 1,
                                       .precision = CMG_FP32,
                                       .p = v[0]->data,
                                       .q = v[1]->data,
                                       .x = v[2]->data,
                                       .r = v[3]->data,
                                       .rr = d_scalars + 2};
        CHECK_OK(ctx->backend->cg_update(ctx, n, 1, &update));
        const cmgi_direction next = {.num = d_scalars,
                                     .den = d_scalars + 1,
                                     .pz = CMG_FP32,
                                     .z = v[3]->data,
                                     .pp = CMG_FP32,
                                     .p = v[0]->data};
        CHECK_OK(ctx->backend->direction(ctx, n, 1, &next));
        double rr = -1;
        double expected = 0;
        double worst = 0;
        scoped double *x = values_of(v[2]);
        scoped double *p = values_of(v[0]);
        CHECK_OK(cmgi_to_host(ctx, &rr, d_scalars + 2, sizeof rr));
        for (cmg_size i = 0; i < n; ++i) {
            const double r = host[3][i] - 0.5 * host[1][i];
            expected += r * r;
            worst = worst_of(worst, fabs(x[i] - (host[2][i] + 0.5 * host[0][i])));
            worst = worst_of(worst, fabs(p[i] - (r + 0.5 * host[0][i])));
        }
        CHECK_NEAR(worst, 0, 1e-6);
        CHECK_NEAR(rr, expected, 1e-6 * (expected + 1));
        for (int k = 0; k < 4; ++k) {
            free(host[k]);
            cmg_vector_destroy(&v[k]);
        }
    }
}

/* The step that is made at once is that of the operations it stands for. */
TEST(jacobi_steps_match_loops)
{
    for (int turn = 0; turn < 2 * SIZES; ++turn) {
        const cmg_size n = sizes[turn / 2];
        const cmg_precision precision = turn % 2 ? CMG_FP32 : CMG_FP64;
        const double eps = turn % 2 ? 1e-6 : 1e-14;
        double scalars[3] = {0.75, 0, 0}; /* rho_0, rho_1, curvature */
        scoped_device double *d_scalars = copy_there(scalars, 3, sizeof *scalars);
        scoped_vector *z = vector_new(n, precision);
        double *host[4]; /* D^-1, q, p, r */
        cmg_vector *v[4];
        for (int k = 0; k < 4; ++k) {
            host[k] = random_values(n, (uint64_t)(50 + k));
            v[k] = vector_from(n, precision, host[k]);
        }
        const cmgi_jacobi_step step = {.precision = precision,
                                       .inverse = v[0]->data,
                                       .q = v[1]->data,
                                       .p = v[2]->data,
                                       .r = v[3]->data,
                                       .z = z->data,
                                       .rho = d_scalars,
                                       .curvature = d_scalars + 2};
        CHECK_OK(ctx->backend->jacobi_step(ctx, n, &step));
        CHECK_OK(cmgi_to_host(ctx, scalars, d_scalars, sizeof scalars));
        scoped double *out = values_of(v[3]);
        scoped double *p = values_of(v[2]);
        const double curvature = dot(host[2], host[1], n);
        double rho = 0;
        double worst = 0;
        const double size = (double)n + 1;
        CHECK_NEAR(scalars[2], curvature, eps * size);
        const double a = scalars[2] != 0 ? scalars[0] / scalars[2] : 0;
        const double beta = scalars[1] / scalars[0];
        for (cmg_size i = 0; i < n; ++i) {
            const double r = host[3][i] - a * host[1][i];
            const double scaled = host[0][i] * r;
            rho += r * scaled;
            worst = worst_of(worst, fabs(out[i] - r) / (1 + fabs(a)));
            worst =
                fmax(worst, fabs(p[i] - scaled - beta * host[2][i]) / (1 + fabs(a) + fabs(beta)));
        }
        CHECK_NEAR(worst, 0, eps);
        CHECK_NEAR(scalars[1], rho, eps * size * (1 + a * a));
        for (int k = 0; k < 4; ++k) {
            free(host[k]);
            cmg_vector_destroy(&v[k]);
        }
    }
}

/* A stopped iteration, and one whose p . q is not positive, leave x and r as they are. */
TEST(cg_update_can_be_frozen)
{
    enum { N = 1000 };
    const double scalars[4] = {0.75, 1.5, -1.0, 0};
    /* the first has ended, the second runs and breaks down */
    const cmgi_stop begin[2] = {{.most = 9, .done = 3, .outcome = CMG_CONVERGED_RTOL, .running = 0},
                                {.most = 9, .done = 3, .outcome = CMGI_STOP_NONE, .running = 1}};
    scoped_device double *d_scalars = copy_there(scalars, 4, sizeof *scalars);
    scoped_device cmgi_stop *d_stop = copy_there(begin, 2, sizeof *begin);
    double *v[4];
    double *host[4];
    double out[N];
    for (int k = 0; k < 4; ++k) {
        host[k] = random_values(N, (uint64_t)(20 + k));
        host[k][3] = k < 2 ? INFINITY : host[k][3];
        v[k] = copy_there(host[k], N, sizeof(double));
    }
    const double expected = dot(host[3], host[3], N);
    for (int c = 0; c < 2; ++c) { /* stopped; p . q < 0 */
        double rr = -1;
        cmgi_stop end;
        const cmgi_cg_update update = {.rz = d_scalars,
                                       .pq = d_scalars + 1 + c,
                                       .p = v[0],
                                       .q = v[1],
                                       .x = v[2],
                                       .r = v[3],
                                       .rr = d_scalars + 3,
                                       .stop = d_stop + c};
        CHECK_OK(ctx->backend->cg_update(ctx, N, 1, &update));
        CHECK_OK(cmgi_to_host(ctx, &end, d_stop + c, sizeof end));
        CHECK(end.running == 0 && end.done == 3);
        CHECK(end.outcome == (c == 0 ? (int)CMG_CONVERGED_RTOL : (int)CMG_BREAKDOWN));
        CHECK_OK(cmgi_to_host(ctx, &rr, d_scalars + 3, sizeof rr));
        CHECK_NEAR(rr, expected, 1e-13 * expected);
        for (int k = 2; k < 4; ++k) {
            CHECK_OK(cmgi_to_host(ctx, out, v[k], sizeof out));
            CHECK(memcmp(out, host[k], sizeof out) == 0);
        }
    }
    for (int k = 0; k < 4; ++k) {
        free(host[k]);
        cmgi_free_device(ctx, v[k]);
    }
}

TEST(dot_is_repeatable_for_any_thread_count)
{
    NEEDS(cmg_context_backend(ctx) == CMG_BACKEND_CPU,
          "thread counts are a matter of the CPU backend");
    const cmg_size n = 300001;
    scoped double *a = random_values(n, 5);
    double first = 0;
    for (int threads = 1; threads <= 5; ++threads) {
        scoped_context *other = context_of_threads(threads);
        scoped_vector *x = NULL;
        CHECK_OK(cmg_vector_wrap(other, n, CMG_FP64, a, &x));
        double dot = 0;
        CHECK_OK(cmg_vector_dot(x, x, &dot));
        first = threads == 1 ? dot : first;
        CHECK(dot == first);
    }
}

TEST(conversion_rounds_once)
{
    const double a[3] = {1.0 / 3.0, -1e-3, 16777217.0};
    double back[3];
    scoped_vector *x = vector_from(3, CMG_FP64, a);
    scoped_vector *y = vector_new(3, CMG_FP32);
    CHECK_OK(cmg_vector_copy(x, y));
    CHECK_OK(cmg_vector_get(y, back));
    CHECK_EACH(i, 3, back[i] == (double)(float)a[i]);
}

TEST(permute_gathers_and_scatters)
{
    const cmg_index perm[5] = {3, 1, 4, 0, 2};
    const double x[5] = {10, 11, 12, 13, 14};
    scoped_device cmg_index *d_perm = copy_there(perm, 5, sizeof *perm);
    scoped_vector *vx = vector_from(5, CMG_FP64, x);
    scoped_vector *vy = vector_new(5, CMG_FP64);
    scoped_vector *vz = vector_new(5, CMG_FP64);
    CHECK_OK(cmgi_permute(ctx, CMG_FP64, 5, d_perm, false, vx->data, vy->data));
    CHECK_OK(cmgi_permute(ctx, CMG_FP64, 5, d_perm, true, vy->data, vz->data));
    scoped double *y = values_of(vy);
    scoped double *z = values_of(vz);
    for (int k = 0; k < 5; ++k) {
        CHECK(y[k] == x[perm[k]]);
        CHECK(z[k] == x[k]);
    }
}

TEST(vectors_know_what_they_are)
{
    CHECK(cmg_vector_length(NULL) == 0 && cmg_vector_columns(NULL) == 0);
    CHECK(cmg_vector_precision(NULL) == CMG_FP64 && cmg_vector_data(NULL) == NULL);
    scoped_vector *x = vector_new(5, CMG_FP32);
    CHECK(cmg_vector_length(x) == 5 && cmg_vector_columns(x) == 1);
    CHECK(cmg_vector_precision(x) == CMG_FP32 && cmg_vector_data(x) != NULL);
    cmg_vector_destroy(&x);
    CHECK_OK(cmg_vector_create_columns(ctx, 5, 3, CMG_FP64, &x));
    CHECK(cmg_vector_length(x) == 5 && cmg_vector_columns(x) == 3);
}

TEST(misuse_gives_a_status)
{
    cmg_vector *x = NULL;
    double dot = 0;
    CHECK_STATUS(cmg_vector_create(ctx, -1, CMG_FP64, &x), CMG_ERR_ARG);
    CHECK_STATUS(cmg_vector_create(ctx, 3, (cmg_precision)9, &x), CMG_ERR_ARG);
    CHECK_STATUS(cmg_vector_wrap(ctx, 3, CMG_FP64, NULL, &x), CMG_ERR_ARG);
    CHECK_STATUS(cmg_vector_create(ctx, 3, CMG_FP64, NULL), CMG_ERR_ARG);
    CHECK_OK(cmg_vector_create(ctx, 3, CMG_FP64, &x));
    cmg_vector *y = vector_new(4, CMG_FP64);
    CHECK_STATUS(cmg_vector_dot(x, y, &dot), CMG_ERR_SHAPE);
    CHECK_STATUS(cmg_vector_axpby(1, x, 1, NULL), CMG_ERR_ARG);
    vectors_destroy(&x, &y, &y);
    CHECK(x == NULL && y == NULL);
}
