/* Kernels on blocks of columns against plain loops over one column, around the sizes of parts. */
#include "core/backend.h"
#include "core/memory.h"
#include "core/random.h"
#include "test.h"

static const cmg_size lengths[] = {0, 1, 7, 1023, 1024, 1025, 2048, 5000, 20000};
static const int counts[] = {1, 2, 3, 8, CMG_COLUMNS};
enum { LENGTHS = sizeof lengths / sizeof lengths[0], COUNTS = sizeof counts / sizeof counts[0] };

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
    float *single = calloc((size_t)n + 1, sizeof *single);
    for (cmg_size i = 0; i < n; ++i) {
        a.here[i] = 2 * cmgi_random(&seed) - 1;
        single[i] = (float)a.here[i];
        a.here[i] = precision == CMG_FP32 ? (double)single[i] : a.here[i];
    }
    CHECK_OK(cmgi_alloc_device(ctx, n + 1, size, &a.there));
    CHECK_OK(cmgi_to_device(ctx, a.there, precision == CMG_FP32 ? (void *)single : (void *)a.here,
                            (size_t)n * size));
    free(single);
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
    void *found = calloc((size_t)a->n + 1, sizeof(double));
    CHECK_OK(cmgi_to_host(ctx, found, a->there, (size_t)a->n * cmgi_precision_bytes(a->precision)));
    for (cmg_size i = 0; i < a->n; ++i) {
        const double value =
            a->precision == CMG_FP32 ? (double)((float *)found)[i] : ((double *)found)[i];
        worst = fmax(worst, fabs(value - a->here[i]));
    }
    free(found);
    return worst;
}

static void columns_move(void)
{
    for (int c = 0; c < 2 * LENGTHS * COUNTS; ++c) {
        const cmg_precision p = c % 2 ? CMG_FP32 : CMG_FP64;
        const cmg_size n = lengths[c / 2 % LENGTHS];
        const int k = counts[c / 2 / LENGTHS];
        array all = make(n * k, p, 3);
        array one = make(n, p, 4);
        for (int column = 0; column<k; column += k> 1 ? k - 1 : 1) {
            const cmgi_block of = {.n = n, .k = k, .column = column};
            CHECK_OK(ctx->backend->column_move(ctx, p, of, true, one.there, all.there));
            for (cmg_size i = 0; i < n; ++i) {
                all.here[i * k + column] = one.here[i];
            }
            CHECK(difference(&all) == 0);
        }
        const cmgi_block of = {.n = n, .k = k, .column = k / 2};
        CHECK_OK(ctx->backend->column_move(ctx, p, of, false, all.there, one.there));
        for (cmg_size i = 0; i < n; ++i) {
            one.here[i] = all.here[i * k + k / 2];
        }
        CHECK(difference(&one) == 0);
        drop(&all);
        drop(&one);
    }
}

static void dots_match_loops(void)
{
    for (int c = 0; c < 2 * LENGTHS * COUNTS; ++c) {
        const cmg_precision p = c % 2 ? CMG_FP32 : CMG_FP64;
        const cmgi_block of = {.n = lengths[c / 2 % LENGTHS], .k = counts[c / 2 / LENGTHS]};
        array x = make(of.n * of.k, p, 5);
        array y = make(of.n * of.k, p, 6);
        array result = make(of.k, CMG_FP64, 7);
        memset(result.here, 0, (size_t)of.k * sizeof *result.here);
        for (cmg_size e = 0; e < of.n * of.k; ++e) {
            result.here[e % of.k] += x.here[e] * y.here[e];
        }
        CHECK_OK(ctx->backend->column_dots(ctx, p, of, x.there, y.there, result.there));
        CHECK_NEAR(difference(&result), 0, 1e-15 * (double)(of.n + 1));
        drop(&x);
        drop(&y);
        drop(&result);
    }
}

/* p = z + num / den p; den = 0 counts as ratio 0 */
static void directions_match_loops(void)
{
    for (int c = 0; c < 2 * LENGTHS * COUNTS; ++c) {
        const cmg_precision precision = c % 2 ? CMG_FP32 : CMG_FP64;
        const cmgi_block of = {.n = lengths[c / 2 % LENGTHS], .k = counts[c / 2 / LENGTHS]};
        array z = make(of.n * of.k, precision, 5);
        array p = make(of.n * of.k, CMG_FP64, 6);
        array num = make(of.k, CMG_FP64, 7);
        array den = make(of.k, CMG_FP64, 8);
        den.here[of.k - 1] = 0;
        CHECK_OK(cmgi_to_device(ctx, den.there, den.here, (size_t)of.k * sizeof(double)));
        const cmgi_column_ratio ratio = {num.there, den.there};
        for (cmg_size e = 0; e < of.n * of.k; ++e) {
            const int j = (int)(e % of.k);
            const double beta = j == of.k - 1 ? 0 : num.here[j] / den.here[j];
            p.here[e] = z.here[e] + beta * p.here[e];
        }
        CHECK_OK(ctx->backend->column_directions(ctx, of, &ratio, precision, z.there, p.there));
        CHECK_NEAR(difference(&p), 0, 1e-11);
        drop(&z);
        drop(&p);
        drop(&num);
        drop(&den);
    }
}

/* Step of column j: column 1 rests, 2 breaks down, in 3 the preconditioner is indefinite. */
static double step(int j, const array *scalars)
{
    return j >= 1 && j <= 3 ? 0 : scalars[0].here[j] / scalars[1].here[j];
}

/* x += a p, r -= a q, rr = r . r and r in fp32 */
static void check_updates(cmgi_block of, bool single)
{
    array v[4];                                      /* p, q, x, r */
    array scalars[4];                                /* rz, pq, running, rr */
    array rounded = make(of.n * of.k, CMG_FP32, 14); /* r, as a column that rests keeps it */
    for (int a = 0; a < 4; ++a) {
        v[a] = make(of.n * of.k, CMG_FP64, (uint64_t)(11 + a));
        scalars[a] = make(of.k, CMG_FP64, (uint64_t)(21 + a));
        for (int j = 0; j < of.k; ++j) {
            double *value = &scalars[a].here[j];
            *value = 0.5 + fabs(*value);
            *value = a == 2 ? (j == 1 ? 0 : 1) : *value;
            *value *= (a == 1 && j == 2) || (a == 0 && j == 3) ? -1 : 1;
        }
        CHECK_OK(
            cmgi_to_device(ctx, scalars[a].there, scalars[a].here, (size_t)of.k * sizeof(double)));
    }
    const cmgi_column_update u = {.rz = scalars[0].there,
                                  .pq = scalars[1].there,
                                  .running = scalars[2].there,
                                  .p = v[0].there,
                                  .q = v[1].there,
                                  .x = v[2].there,
                                  .r = v[3].there,
                                  .single = single ? rounded.there : NULL,
                                  .rr = scalars[3].there};
    memset(scalars[3].here, 0, (size_t)of.k * sizeof(double));
    for (cmg_size e = 0; e < of.n * of.k; ++e) {
        const int j = (int)(e % of.k);
        v[2].here[e] += step(j, scalars) * v[0].here[e];
        v[3].here[e] -= step(j, scalars) * v[1].here[e];
        scalars[3].here[j] += v[3].here[e] * v[3].here[e];
        rounded.here[e] = single ? v[3].here[e] : rounded.here[e];
    }
    CHECK_OK(ctx->backend->column_updates(ctx, of, &u));
    for (int a = 0; a < 4; ++a) {
        CHECK_NEAR(difference(&v[a]), 0, a < 2 ? 0 : 1e-14);
        CHECK_NEAR(difference(&scalars[a]), 0, a < 3 ? 0 : 4e-14 * (double)(of.n + 1));
    }
    CHECK_NEAR(difference(&rounded), 0, single ? 3e-7 : 0);
    for (int a = 0; a < 4; ++a) {
        drop(&v[a]);
        drop(&scalars[a]);
    }
    drop(&rounded);
}

static void updates_match_loops(void)
{
    for (int c = 0; c < 2 * LENGTHS * COUNTS; ++c) {
        const cmgi_block of = {.n = lengths[c / 2 % LENGTHS], .k = counts[c / 2 / LENGTHS]};
        check_updates(of, c % 2 == 1);
    }
}

int main(int argc, char **argv)
{
    TEST_BEGIN(argc, argv);
    RUN(columns_move);
    RUN(dots_match_loops);
    RUN(directions_match_loops);
    RUN(updates_match_loops);
    return TEST_END();
}
