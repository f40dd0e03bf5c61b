/*
 * How fast is y = A x in every format? One matrix, 3D Q1 by default: checks the product against CSR
 * with plain loops, then times it and prints one JSON line a format and precision.
 *
 *   spmv [--dim 2|3] [--cells N] [--backend cpu|cuda] [--threads N] [--perturb 0|1]
 *
 * --perturb 1 multiplies entry (i, j) by 1 + 0.2 r(i, j), r symmetric and random in [-1, 1]: the
 * pattern of a lexicographic grid with values that do not repeat, as on a distorted mesh.
 */
#include "bench.h"
#include "cmg_elements.h"
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
    return cmg_matrix_apply(p->A, p->x, p->y) == CMG_OK &&
           cmg_context_synchronize(p->ctx) == CMG_OK;
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

/* Error that the storage allows: rounding of the sums, and of values in 16 or 8 bits. */
static double tolerance(const cmg_matrix_options *o)
{
    if (o->values != CMG_VALUES_FULL) {
        return o->values == CMG_VALUES_FP16 ? 1e-3 : 0.07;
    }
    return o->precision == CMG_FP64 ? 1e-12 : 1e-5;
}

/* Copy bandwidth now, measured afresh: on a shared machine it moves from minute to minute. */
static double copy_bandwidth(const cmg_context_options *options)
{
    cmg_context *fresh = NULL;
    double copy = 0;
    if (cmg_context_create(options, &fresh) == CMG_OK) {
        (void)cmg_context_bandwidth(fresh, &copy);
    }
    cmg_context_destroy(&fresh);
    return copy;
}

static int run_format(cmg_context *ctx, const cmg_csr *csr, cmg_matrix_options options,
                      const double *x, double *work, const cmg_context_options *machine)
{
    const cmg_format format = options.format;
    const cmg_precision precision = options.precision;
    product p = {.ctx = ctx};
    const double begin = bench_seconds();
    if (cmg_matrix_create_csr(ctx, csr, &options, &p.A) != CMG_OK) {
        printf("{\"format\": \"%s\", \"error\": \"%s\"}\n", cmg_enum_name("format", (int)format),
               cmg_context_message(ctx));
        return 0;
    }
    const double built = bench_seconds() - begin;
    cmg_matrix_info info = {.size = sizeof info};
    bench_times t = {0};
    int failed = 1;
    if (cmg_matrix_get_info(p.A, &info) == CMG_OK &&
        cmg_vector_create(ctx, csr->cols, precision, &p.x) == CMG_OK &&
        cmg_vector_create(ctx, csr->rows, precision, &p.y) == CMG_OK) {
        permute(cmg_matrix_permutation(p.A), csr->rows, x, work, false);
        failed = cmg_vector_set(p.x, work) != CMG_OK || !multiply(&p) ||
                 cmg_vector_get(p.y, work) != CMG_OK;
    }
    double *y = work + csr->rows;
    permute(cmg_matrix_permutation(p.A), csr->rows, work, y, true);
    const double error = failed ? INFINITY : error_of(csr, x, y);
    failed = failed || error > tolerance(&options) || !bench_run(multiply, &p, 11, 0.2, &t);
    if (failed) {
        printf("{\"format\": \"%s\", \"error\": \"wrong result or failure, difference %.3g\"}\n",
               cmg_enum_name("format", (int)format), error);
    } else {
        const double copy = copy_bandwidth(machine);
        const double rate = 1e-9 * (double)info.traffic / t.median;
        printf("{\"benchmark\": \"spmv\", \"format\": \"%s\", \"values\": \"%s\", \"rows\": %lld, "
               "\"nnz\": %lld, "
               "\"stored\": %lld, \"bytes\": %zu, \"median\": %.6g, \"minimum\": %.6g, \"lower\": "
               "%.6g, "
               "\"upper\": %.6g, \"gb_per_s\": %.4g, \"copy_gb_per_s\": %.4g, \"share_of_copy\": "
               "%.3f, \"build_seconds\": "
               "%.4g, "
               "\"relative_error\": %.2g}\n",
               cmg_enum_name("format", (int)info.format),
               options.values != CMG_VALUES_FULL ? cmg_enum_name("values", (int)options.values)
               : precision == CMG_FP64           ? "fp64"
                                                 : "fp32",
               (long long)info.rows, (long long)info.nnz, (long long)info.stored, info.traffic,
               t.median, t.minimum, t.lower, t.upper, rate, copy, rate / copy, built, error);
        fflush(stdout);
    }
    cmg_vector_destroy(&p.x);
    cmg_vector_destroy(&p.y);
    cmg_matrix_destroy(&p.A);
    return failed;
}

static int run_all(cmg_context *ctx, const cmg_csr *csr, const double *x, double *work,
                   const cmg_context_options *machine)
{
    int failed = 0;
    for (int p = CMG_FP64; p <= CMG_FP32; ++p) {
        for (int f = CMG_FORMAT_CSR; cmg_enum_name("format", f) != NULL; ++f) {
            cmg_matrix_options options;
            cmg_matrix_options_default(&options);
            options.format = (cmg_format)f;
            options.precision = (cmg_precision)p;
            const bool halves = f == CMG_FORMAT_COMPRESSED && p == CMG_FP32;
            if (f == CMG_FORMAT_DIAGONAL || f == CMG_FORMAT_DENSE) {
                continue;
            }
            for (int v = CMG_VALUES_FULL; v <= (halves ? CMG_VALUES_FP8 : CMG_VALUES_FULL); ++v) {
                options.values = (cmg_values)v;
                failed += run_format(ctx, csr, options, x, work, machine);
            }
        }
    }
    return failed;
}

static void perturb(const cmg_csr *A, double *values)
{
    for (cmg_size i = 0; i < A->rows; ++i) {
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            const cmg_size j = A->indices[k];
            const uint64_t pair =
                (uint64_t)(i < j ? i : j) * 2654435761U + (uint64_t)(i < j ? j : i) * 40503U;
            const double r = (double)((pair * UINT64_C(0x9e3779b97f4a7c15)) >> 40) * 0x1p-23 - 1;
            values[k] = A->values[k] * (1 + 0.2 * r);
        }
    }
}

int main(int argc, char **argv)
{
    int dim = 3;
    int cells = 128;
    int backend = CMG_BACKEND_CPU;
    bool perturbed = false;
    cmg_context_options options;
    cmg_context_options_default(&options);
    cmg_elements_use(&options);
    for (int a = 1; a + 1 < argc; a += 2) {
        if (strcmp(argv[a], "--dim") == 0) {
            dim = atoi(argv[a + 1]);
        } else if (strcmp(argv[a], "--cells") == 0) {
            cells = atoi(argv[a + 1]);
        } else if (strcmp(argv[a], "--perturb") == 0) {
            perturbed = atoi(argv[a + 1]) != 0;
        } else if (strcmp(argv[a], "--threads") == 0) {
            options.threads = atoi(argv[a + 1]);
        } else if (strcmp(argv[a], "--backend") != 0 ||
                   cmg_enum_parse("backend", argv[a + 1], &backend) != CMG_OK) {
            (void)fprintf(stderr, "usage: spmv [--dim 2|3] [--cells N] [--backend cpu|cuda] "
                                  "[--threads N] [--perturb 0|1]\n");
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
    cmg_hierarchy *h = NULL;
    cmg_csr A = {.rows = 0};
    if (q1_matrix(ctx, dim, cells, &h) != CMG_OK ||
        cmg_hierarchy_get_csr(h, 0, CMG_ROLE_A, NULL, 0, &A) != CMG_OK) {
        (void)fprintf(stderr, "%s\n", cmg_context_message(ctx));
        return 4;
    }
    double *values = perturbed ? malloc((size_t)A.indptr[A.rows] * sizeof *values) : NULL;
    if (values != NULL) {
        perturb(&A, values);
        A.values = values;
    }
    double *x = malloc((size_t)A.rows * sizeof *x);
    double *work = malloc(2 * (size_t)A.rows * sizeof *work);
    for (cmg_size i = 0; i < A.rows; ++i) {
        x[i] = sin(0.37 * (double)i);
    }
    printf("{\"benchmark\": \"spmv\", \"problem\": \"q1-%dd-%d%s\", \"backend\": \"%s\", "
           "\"copy_gb_per_s\": %.4g, ",
           dim, cells, perturbed ? "-perturbed" : "", cmg_enum_name("backend", backend), copy);
    bench_machine(stdout, cmg_context_threads(ctx));
    printf("}\n");
    const int failed = run_all(ctx, &A, x, work, &options);
    cmg_hierarchy_destroy(&h);
    free(values);
    free(x);
    free(work);
    cmg_context_destroy(&ctx);
    return failed > 0;
}
