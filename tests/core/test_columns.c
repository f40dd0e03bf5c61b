/* Kernels on blocks of columns against plain loops over one column, around the sizes of parts. */
#include "core/backend.h"
#include "test.h"

static const cmg_size lengths[] = {0, 1, 7, 1023, 1024, 1025, 2048, 5000, 20000};
static const int counts[] = {1, 2, 3, 8, CMG_COLUMNS};
enum { LENGTHS = sizeof lengths / sizeof lengths[0], COUNTS = sizeof counts / sizeof counts[0] };

/* Vectors of k columns and n rows. */
typedef struct block {
    cmg_size n;
    int k;
} block;

/* Random values, rounded to fp32 where they go there, in the backend's memory and here. */
typedef struct array {
    cmg_size n;
    cmg_precision precision;
    double *here;
    void *there;
} array;

static array make(cmg_size n, cmg_precision precision, uint64_t seed)
{
    array a = {n, precision, calloc((size_t)n + 1, sizeof(double)), NULL};
    const size_t size = cmgi_precision_bytes(precision);
    scoped float *single = calloc((size_t)n + 1, sizeof *single);
    for (cmg_size i = 0; i < n; ++i) {
        a.here[i] = 2 * cmgi_random(&seed) - 1;
        single[i] = (float)a.here[i];
        a.here[i] = precision == CMG_FP32 ? (double)single[i] : a.here[i];
    }
    CHECK_OK(cmgi_alloc_device(ctx, n + 1, size, &a.there));
    CHECK_OK(cmgi_to_device(ctx, a.there, precision == CMG_FP32 ? (void *)single : (void *)a.here,
                            (size_t)n * size));
    return a;
}

static void drop(array *a)
{
    free(a->here);
    cmgi_free_device(ctx, a->there);
}

/* The largest difference between what is there and what is expected here. */
static double difference(const array *a)
{
    double worst = 0;
    scoped void *found = calloc((size_t)a->n + 1, sizeof(double));
    CHECK_OK(cmgi_to_host(ctx, found, a->there, (size_t)a->n * cmgi_precision_bytes(a->precision)));
    for (cmg_size i = 0; i < a->n; ++i) {
        const double value =
            a->precision == CMG_FP32 ? (double)((float *)found)[i] : ((double *)found)[i];
        worst = worst_of(worst, fabs(value - a->here[i]));
    }
    return worst;
}

TEST(columns_move)
{
    for (int c = 0; c < 2 * LENGTHS * COUNTS; ++c) {
        const cmg_precision p = c % 2 ? CMG_FP32 : CMG_FP64;
        const cmg_size n = lengths[c / 2 % LENGTHS];
        const int k = counts[c / 2 / LENGTHS];
        scoped_by(drop) array all = make(n * k, p, 3);
        scoped_by(drop) array one = make(n, p, 4);
        const size_t size = cmgi_precision_bytes(p);
        for (int column = 0; column<k; column += k> 1 ? k - 1 : 1) {
            const cmgi_block_copy in = {n, 1, p, one.there, 1, p, NULL, k};
            cmgi_block_copy at = in;
            at.y = (char *)all.there + (size_t)column * size;
            CHECK_OK(ctx->backend->copy_block(ctx, &at));
            for (cmg_size i = 0; i < n; ++i) {
                all.here[i * k + column] = one.here[i];
            }
            CHECK(difference(&all) == 0);
        }
        const char *middle = (const char *)all.there + (size_t)(k / 2) * size;
        const cmgi_block_copy out = {n, 1, p, middle, k, p, one.there, 1};
        CHECK_OK(ctx->backend->copy_block(ctx, &out));
        FILL(one.here, i, n, all.here[i * k + k / 2]);
        CHECK(difference(&one) == 0);
    }
}

TEST(dots_match_loops)
{
    for (int c = 0; c < 2 * LENGTHS * COUNTS; ++c) {
        const cmg_precision p = c % 2 ? CMG_FP32 : CMG_FP64;
        const block of = {.n = lengths[c / 2 % LENGTHS], .k = counts[c / 2 / LENGTHS]};
        scoped_by(drop) array x = make(of.n * of.k, p, 5);
        scoped_by(drop) array y = make(of.n * of.k, p, 6);
        scoped_by(drop) array result = make(of.k, CMG_FP64, 7);
        memset(result.here, 0, (size_t)of.k * sizeof *result.here);
        for (cmg_size e = 0; e < of.n * of.k; ++e) {
            result.here[e % of.k] += x.here[e] * y.here[e];
        }
        CHECK_OK(ctx->backend->dot(ctx, p, of.n, of.k, x.there, y.there, result.there));
        CHECK_NEAR(difference(&result), 0, 1e-15 * (double)(of.n + 1));
    }
}

/* p = z + num / den p; den = 0 counts as ratio 0 */
TEST(directions_match_loops)
{
    for (int c = 0; c < 2 * LENGTHS * COUNTS; ++c) {
        const cmg_precision precision = c % 2 ? CMG_FP32 : CMG_FP64;
        const block of = {.n = lengths[c / 2 % LENGTHS], .k = counts[c / 2 / LENGTHS]};
        scoped_by(drop) array z = make(of.n * of.k, precision, 5);
        scoped_by(drop) array p = make(of.n * of.k, CMG_FP64, 6);
        scoped_by(drop) array num = make(of.k, CMG_FP64, 7);
        scoped_by(drop) array den = make(of.k, CMG_FP64, 8);
        den.here[of.k - 1] = 0;
        CHECK_OK(cmgi_to_device(ctx, den.there, den.here, (size_t)of.k * sizeof(double)));
        for (cmg_size e = 0; e < of.n * of.k; ++e) {
            const int j = (int)(e % of.k);
            const double beta = j == of.k - 1 ? 0 : num.here[j] / den.here[j];
            p.here[e] = z.here[e] + beta * p.here[e];
        }
        const cmgi_direction next = {.num = num.there,
                                     .den = den.there,
                                     .pz = precision,
                                     .z = z.there,
                                     .pp = CMG_FP64,
                                     .p = p.there};
        CHECK_OK(ctx->backend->direction(ctx, of.n, of.k, &next));
        CHECK_NEAR(difference(&p), 0, 1e-11);
    }
}

/* Step of column j: column 1 rests, 2 breaks down, in 3 the preconditioner is indefinite. */
static double step(int j, const array *scalars)
{
    return j >= 1 && j <= 3 ? 0 : scalars[0].here[j] / scalars[1].here[j];
}

/* x += a p, r -= a q, rr = r . r and r in fp32 */
static void check_updates(block of, bool single)
{
    array v[4];       /* p, q, x, r */
    array scalars[3]; /* rz, pq, rr */
    scoped_by(drop) array rounded =
        make(of.n * of.k, CMG_FP32, 14); /* r, as a column that rests keeps it */
    cmgi_stop running[CMG_COLUMNS];
    memset(running, 0, sizeof running);
    FILL(v, a, 4, make(of.n * of.k, CMG_FP64, (uint64_t)(11 + a)));
    for (int a = 0; a < 3; ++a) {
        scalars[a] = make(of.k, CMG_FP64, (uint64_t)(21 + a));
        for (int j = 0; j < of.k; ++j) {
            double *value = &scalars[a].here[j];
            *value = 0.5 + fabs(*value);
            *value *= (a == 1 && j == 2) || (a == 0 && j == 3) ? -1 : 1;
            running[j].running = j != 1;
        }
        CHECK_OK(
            cmgi_to_device(ctx, scalars[a].there, scalars[a].here, (size_t)of.k * sizeof(double)));
    }
    scoped_device cmgi_stop *stop = device_new(of.k, sizeof *stop);
    CHECK_OK(cmgi_to_device(ctx, stop, running, (size_t)of.k * sizeof *stop));
    const cmgi_cg_update u = {.rz = scalars[0].there,
                              .pq = scalars[1].there,
                              .p = v[0].there,
                              .q = v[1].there,
                              .x = v[2].there,
                              .r = v[3].there,
                              .single = single ? rounded.there : NULL,
                              .rr = scalars[2].there,
                              .stop = stop};
    memset(scalars[2].here, 0, (size_t)of.k * sizeof(double));
    for (cmg_size e = 0; e < of.n * of.k; ++e) {
        const int j = (int)(e % of.k);
        v[2].here[e] += step(j, scalars) * v[0].here[e];
        v[3].here[e] -= step(j, scalars) * v[1].here[e];
        scalars[2].here[j] += v[3].here[e] * v[3].here[e];
        rounded.here[e] = single ? v[3].here[e] : rounded.here[e];
    }
    CHECK_OK(ctx->backend->cg_update(ctx, of.n, of.k, &u));
    CHECK_OK(cmgi_to_host(ctx, running, stop, (size_t)of.k * sizeof *stop));
    for (int a = 0; a < 4; ++a) {
        CHECK_NEAR(difference(&v[a]), 0, a < 2 ? 0 : 1e-14);
        drop(&v[a]);
    }
    for (int a = 0; a < 3; ++a) {
        CHECK_NEAR(difference(&scalars[a]), 0, a < 2 ? 0 : 4e-14 * (double)(of.n + 1));
        drop(&scalars[a]);
    }
    for (int j = 0; j < of.k; ++j) { /* a column that rests is not noted */
        CHECK(running[j].done == (j == 0 || j > 3));
        CHECK(running[j].outcome == (j == 2   ? (int)CMG_BREAKDOWN
                                     : j == 3 ? (int)CMG_INDEFINITE_PRECONDITIONER
                                              : running[j].outcome));
    }
    CHECK_NEAR(difference(&rounded), 0, single ? 3e-7 : 0);
}

TEST(updates_match_loops)
{
    for (int c = 0; c < 2 * LENGTHS * COUNTS; ++c) {
        const block of = {.n = lengths[c / 2 % LENGTHS], .k = counts[c / 2 / LENGTHS]};
        check_updates(of, c % 2 == 1);
    }
}
