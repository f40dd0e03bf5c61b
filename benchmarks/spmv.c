/*
 * How fast is y = A x in every format? One matrix, 3D Q1 by default: checks the product against CSR
 * with plain loops, then times it and prints one JSON line a format and precision.
 *
 *   spmv [--dim 2|3] [--cells N] [--backend cpu|cuda] [--threads N]
 */
#include "bench.h"
#include "q1.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct product {
    cmg_context *ctx;
    cmg_matrix *A;
    cmg_vector *x;
    cmg_vector *y;
} product;

static bool multiply(void *user)
{
    const product *p = user;
    return cmg_matrix_apply(p->A, p->x, p->y) == CMG_OK && cmg_context_synchronize(p->ctx) == CMG_OK;
}

/* Largest error of y against a plain loop, over the largest entry. */
static double error_of(const cmg_csr *A, const double *x, const double *y)
{
    double worst = 0;
    double largest = 0;
    for (cmg_size i = 0; i < A->rows; ++i) {
        double s = 0;
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            s += A->values[k] * x[A->indices[k]];
        }
        worst = fmax(worst, fabs(s - y[i]));
        largest = fmax(largest, fabs(s));
    }
    return worst / largest;
}

/* x and y in the numbering of the caller for a renumbered format. */
static void permute(const cmg_index *perm, cmg_size n, const double *from, double *to, bool back)
{
    for (cmg_size k = 0; k < n; ++k) {
        const cmg_size i = perm != NULL ? perm[k] : k;
        to[back ? i : k] = from[back ? k : i];
    }
}

static int run_format(cmg_context *ctx, const cmg_csr *csr, cmg_format format, cmg_precision precision,
                      const double *x, double *work, double copy)
{
    product p = {.ctx = ctx};
    cmg_matrix_options options;
    cmg_matrix_options_default(&options);
    options.format = format;
    options.precision = precision;
    const double begin = bench_seconds();
    if (cmg_matrix_create_csr(ctx, csr, &options, &p.A) != CMG_OK) {
        printf("{\"format\": \"%s\", \"error\": \"%s\"}\n", cmg_enum_name("format", (int)format),
               cmg_context_message(ctx));
        return 0;
    }
    const double built = bench_seconds() - begin;
    cmg_matrix_info info;
    bench_times t = {0};
    int failed = 1;
    if (cmg_matrix_get_info(p.A, &info) == CMG_OK && cmg_vector_create(ctx, csr->cols, precision, &p.x) == CMG_OK &&
        cmg_vector_create(ctx, csr->rows, precision, &p.y) == CMG_OK) {
        permute(cmg_matrix_permutation(p.A), csr->rows, x, work, false);
        failed = cmg_vector_set(p.x, work) != CMG_OK || !multiply(&p) || cmg_vector_get(p.y, work) != CMG_OK;
    }
    double *y = work + csr->rows;
    permute(cmg_matrix_permutation(p.A), csr->rows, work, y, true);
    const double error = failed ? INFINITY : error_of(csr, x, y);
    failed = failed || error > (precision == CMG_FP64 ? 1e-12 : 1e-5) || !bench_run(multiply, &p, 11, 0.2, &t);
    if (failed) {
        printf("{\"format\": \"%s\", \"error\": \"wrong result or failure, difference %.3g\"}\n",
               cmg_enum_name("format", (int)format), error);
    } else {
        const double rate = 1e-9 * (double)info.traffic / t.median;
        printf("{\"benchmark\": \"spmv\", \"format\": \"%s\", \"values\": \"%s\", \"rows\": %lld, \"nnz\": %lld, "
               "\"stored\": %lld, \"bytes\": %zu, \"median\": %.6g, \"minimum\": %.6g, \"lower\": %.6g, "
               "\"upper\": %.6g, \"gb_per_s\": %.4g, \"share_of_copy\": %.3f, \"build_seconds\": %.4g, "
               "\"relative_error\": %.2g}\n",
               cmg_enum_name("format", (int)info.format), precision == CMG_FP64 ? "fp64" : "fp32",
               (long long)info.rows, (long long)info.nnz, (long long)info.stored, info.traffic, t.median, t.minimum,
               t.lower, t.upper, rate, rate / copy, built, error);
        fflush(stdout);
    }
    cmg_vector_destroy(&p.x);
    cmg_vector_destroy(&p.y);
    cmg_matrix_destroy(&p.A);
    return failed;
}

int main(int argc, char **argv)
{
    int dim = 3;
    int cells = 128;
    int backend = CMG_BACKEND_CPU;
    cmg_context_options options;
    cmg_context_options_default(&options);
    for (int a = 1; a + 1 < argc; a += 2) {
        if (strcmp(argv[a], "--dim") == 0) {
            dim = atoi(argv[a + 1]);
        } else if (strcmp(argv[a], "--cells") == 0) {
            cells = atoi(argv[a + 1]);
        } else if (strcmp(argv[a], "--threads") == 0) {
            options.threads = atoi(argv[a + 1]);
        } else if (strcmp(argv[a], "--backend") != 0 || cmg_enum_parse("backend", argv[a + 1], &backend) != CMG_OK) {
            (void)fprintf(stderr, "usage: spmv [--dim 2|3] [--cells N] [--backend cpu|cuda] [--threads N]\n");
            return 1;
        }
    }
    options.backend = (cmg_backend)backend;
    cmg_context *ctx = NULL;
    double copy = 0;
    if ((dim != 2 && dim != 3) || cells < 2 || cmg_context_create(&options, &ctx) != CMG_OK ||
        cmg_context_bandwidth(ctx, &copy) != CMG_OK) {
        (void)fprintf(stderr, "no context, or --dim and --cells out of range\n");
        return 4;
    }
    q1_csr A = q1_matrix(dim, cells);
    const cmg_csr view = q1_view(&A);
    double *x = malloc((size_t)A.rows * sizeof *x);
    double *work = malloc(2 * (size_t)A.rows * sizeof *work);
    for (cmg_size i = 0; i < A.rows; ++i) {
        x[i] = sin(0.37 * (double)i);
    }
    printf("{\"benchmark\": \"spmv\", \"problem\": \"q1-%dd-%d\", \"backend\": \"%s\", \"copy_gb_per_s\": %.4g, ", dim,
           cells, cmg_enum_name("backend", backend), copy);
    bench_machine(stdout, cmg_context_threads(ctx));
    printf("}\n");
    int failed = 0;
    for (int p = CMG_FP64; p <= CMG_FP32; ++p) {
        for (int f = CMG_FORMAT_CSR; cmg_enum_name("format", f) != NULL; ++f) {
            if (f != CMG_FORMAT_DIAGONAL && f != CMG_FORMAT_DENSE) {
                failed += run_format(ctx, &view, (cmg_format)f, (cmg_precision)p, x, work, copy);
            }
        }
    }
    q1_free(&A);
    free(x);
    free(work);
    cmg_context_destroy(&ctx);
    return failed > 0;
}
