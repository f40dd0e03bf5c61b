/* One format on one matrix: built, checked against plain loops over the CSR, timed. */
#include "bench_spmv.h"

#include "status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Padding beyond these many times the entries is not worth its memory. */
enum { MOST_PADDING = 16 };

/* Largest relative error that is rounding. */
static double tolerance(const char *values)
{
    return strcmp(values, "fp64") == 0 ? 1e-12 : strcmp(values, "fp32") == 0 ? 1e-4 : 0.07;
}

void bench_reference_make(const cmg_csr *csr, bench_reference *r)
{
    uint64_t state = 1;
    r->x = tool_alloc((size_t)csr->cols, sizeof *r->x);
    r->y = tool_alloc((size_t)csr->rows, sizeof *r->y);
    r->largest = 0;
    for (cmg_size j = 0; j < csr->cols; ++j) {
        state = state * UINT64_C(6364136223846793005) +
                UINT64_C(1442695040888963407); /* Knuth's MMIX */
        r->x[j] = (double)(state >> 11) * 0x1p-52 - 1;
    }
    for (cmg_size i = 0; i < csr->rows; ++i) {
        double sum = 0;
        for (cmg_size k = csr->indptr[i]; k < csr->indptr[i + 1]; ++k) {
            sum += csr->values[k] * r->x[csr->indices[k]];
        }
        r->y[i] = sum;
        r->largest = fmax(r->largest, fabs(sum));
    }
}

void bench_reference_free(bench_reference *r)
{
    free(r->x);
    free(r->y);
    *r = (bench_reference){0};
}

typedef struct product {
    cmg_context *ctx;
    cmg_matrix *A;
    cmg_vector *x;
    cmg_vector *y;
    cmg_vector *scrub; /* larger than any cache; NULL = products in a row */
} product;

/* Bytes that empty the caches: five times the second one of an H200. */
enum { SCRUB_BYTES = 1 << 28 };

/* Seconds of one product, each alone and from memory: its launch and its end are in it. */
static cmg_status time_cold(const product *p, long repeats, double *seconds)
{
    double sum = 0;
    for (long k = 0; k < repeats; ++k) {
        cmg_status status = cmg_vector_fill(p->scrub, 1.0 + (double)k);
        status = THEN(status, cmg_context_synchronize(p->ctx));
        const double begin = tool_seconds();
        status = THEN(status, cmg_matrix_apply(p->A, p->x, p->y));
        status = THEN(status, cmg_context_synchronize(p->ctx));
        if (status != CMG_OK) {
            return status;
        }
        sum += tool_seconds() - begin;
    }
    *seconds = sum / (double)repeats;
    return CMG_OK;
}

/* Seconds of one product, from `repeats` in a row. */
static cmg_status time_products(const product *p, long repeats, double *seconds)
{
    if (p->scrub != NULL) {
        return time_cold(p, repeats, seconds);
    }
    const double begin = tool_seconds();
    for (long k = 0; k < repeats; ++k) {
        const cmg_status status = cmg_matrix_apply(p->A, p->x, p->y);
        if (status != CMG_OK) {
            return status;
        }
    }
    const cmg_status status = cmg_context_synchronize(p->ctx);
    *seconds = (tool_seconds() - begin) / (double)repeats;
    return status;
}

/* Warms up until a sample is long enough, then takes the samples. */
static cmg_status sample(const product *p, int samples, double least, bench_result *result)
{
    double seconds[BENCH_MAX_SAMPLES];
    double one = 0;
    long repeats = 1;
    cmg_status status = time_products(p, 1, &one);
    while (status == CMG_OK) {
        status = time_products(p, repeats, &one);
        if (one * (double)repeats >= least) {
            break;
        }
        repeats = one > 0 ? (long)(1.2 * least / one) + 1 : 2 * repeats;
    }
    for (int s = 0; s < samples && status == CMG_OK; ++s) {
        status = time_products(p, repeats, &seconds[s]);
    }
    if (status == CMG_OK) {
        result->median = median(seconds, samples); /* sorts */
        result->lower = seconds[samples / 4];
        result->upper = seconds[samples - 1 - samples / 4];
    }
    return status;
}

/* The product once, compared in the numbering of the CSR. */
static cmg_status check(const product *p, const bench_reference *reference, bench_result *result)
{
    const cmg_index *perm = cmg_matrix_permutation(p->A);
    const cmg_size rows = result->info.rows;
    const cmg_size cols = result->info.cols;
    double *work = tool_alloc((size_t)(rows > cols ? rows : cols), sizeof *work);
    for (cmg_size j = 0; j < cols; ++j) {
        work[j] = reference->x[perm != NULL ? perm[j] : j];
    }
    cmg_status status = cmg_vector_set(p->x, work);
    status = THEN(status, cmg_matrix_apply(p->A, p->x, p->y));
    status = THEN(status, cmg_vector_get(p->y, work));
    double worst = 0;
    for (cmg_size k = 0; k < rows && status == CMG_OK; ++k) {
        const double error = fabs(work[k] - reference->y[perm != NULL ? perm[k] : k]);
        worst = error <= worst ? worst : error; /* keeps NaN */
    }
    result->error = reference->largest > 0 ? worst / reference->largest : worst;
    free(work);
    return status;
}

/* By elements where the file has them and the format wants them. */
static cmg_status create(product *p, const bench_matrix *m, const bench_case *what)
{
    const cmg_format f = what->options.format;
    cmg_elements elements;
    if (f >= CMG_FORMAT_NBN && f <= CMG_FORMAT_EBESYM && m->h != NULL &&
        cmg_hierarchy_get_elements(m->h, 0, &elements) == CMG_OK) {
        return cmg_matrix_create_elements(p->ctx, &elements, &what->options, &p->A);
    }
    return cmg_matrix_create_csr(p->ctx, &m->csr, &what->options, &p->A);
}

static cmg_status run(product *p, const bench_matrix *m, const bench_reference *reference,
                      int samples, double least, bench_result *result)
{
    const cmg_precision precision = result->what.options.precision;
    const double begin = tool_seconds();
    cmg_status status = create(p, m, &result->what);
    result->convert = tool_seconds() - begin;
    if (status == CMG_OK) {
        result->info.size = sizeof result->info;
        status = cmg_matrix_get_info(p->A, &result->info);
    }
    status = THEN(status, cmg_vector_create(p->ctx, m->csr.cols, precision, &p->x));
    status = THEN(status, cmg_vector_create(p->ctx, m->csr.rows, precision, &p->y));
    if (status == CMG_OK && result->what.cold) {
        status =
            cmg_vector_create(p->ctx, SCRUB_BYTES / (cmg_size)sizeof(double), CMG_FP64, &p->scrub);
    }
    status = THEN(status, check(p, reference, result));
    if (status == CMG_OK && !(result->error <= tolerance(result->what.values))) {
        (void)snprintf(result->failure, BENCH_FAILURE, "wrong result: relative deviation %.3g",
                       result->error);
        return CMG_OK;
    }
    return status == CMG_OK ? sample(p, samples, least, result) : status;
}

/* Why the format is not worth building here; false = it is. */
static bool refuse(const bench_matrix *m, const bench_case *what, char failure[BENCH_FAILURE])
{
    const double entries = (double)m->csr.indptr[m->csr.rows];
    const cmg_format f = what->options.format;
    const bool padded = f == CMG_FORMAT_ELLPACK || f == CMG_FORMAT_ELLR || f == CMG_FORMAT_ELLT;
    const double stored = f == CMG_FORMAT_DENSE ? (double)m->csr.rows * (double)m->csr.cols
                          : padded              ? (double)m->csr.rows * (double)m->longest
                                                : 0;
    if (stored > MOST_PADDING * entries && stored > 1e6) {
        (void)snprintf(failure, BENCH_FAILURE, "skipped: it would store %.1f times the entries",
                       stored / entries);
        return true;
    }
    return false;
}

void bench_measure(cmg_context *ctx, const bench_matrix *m, const bench_reference *reference,
                   const bench_case *what, int samples, double least, bench_result *result)
{
    product p = {.ctx = ctx};
    *result = (bench_result){.what = *what,
                             .convert = NAN,
                             .median = NAN,
                             .lower = NAN,
                             .upper = NAN,
                             .error = NAN,
                             .times = {NAN, NAN, NAN, NAN}};
    if (refuse(m, what, result->failure)) {
        return;
    }
    const cmg_status status = run(&p, m, reference, samples, least, result);
    if (status != CMG_OK) {
        (void)snprintf(result->failure, BENCH_FAILURE, "%.150s", cmg_context_message(ctx));
    }
    cmg_vector_destroy(&p.x);
    cmg_vector_destroy(&p.y);
    cmg_vector_destroy(&p.scrub);
    cmg_matrix_destroy(&p.A);
}
