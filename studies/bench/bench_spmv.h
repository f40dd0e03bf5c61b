/* One format on one matrix: built, checked against plain loops over the CSR, timed. */
#pragma once
#include "bench_matrix.h"

enum { BENCH_FAILURE = 160, BENCH_MAX_SAMPLES = 1000 };

/* What is measured. */
typedef struct bench_case {
    cmg_matrix_options options;
    const char *format; /* name */
    const char *values; /* "fp64", "fp32", "fp16" or "fp8" */
    const char *swept;  /* option that was swept, NULL = none */
    int swept_to;       /* its value */
    bool cold;          /* single products, caches emptied before each */
} bench_case;

/* Seconds, least of a few; NaN where there is no such way. */
typedef struct conversion_times {
    double host;          /* from a CSR on the host, its transfer included */
    double device;        /* from a CSR on the device */
    double update_host;   /* values on the same pattern, from the host */
    double update_device; /* from the device: one scatter */
} conversion_times;

typedef struct bench_result {
    bench_case what;
    cmg_matrix_info info;
    char failure[BENCH_FAILURE]; /* why there are no times, "" otherwise */
    double convert;              /* seconds from the CSR on the host to the format in place */
    double median;               /* seconds of y = A x */
    double lower;
    double upper;
    conversion_times times; /* all NaN when not asked for */
    double error;           /* largest deviation from the plain loops over the largest entry */
} bench_result;

/* Values and product of a matrix by plain loops, what every format is checked with. */
typedef struct bench_reference {
    double *x;
    double *y;
    double largest; /* of |y| */
} bench_reference;

void bench_reference_make(const cmg_csr *csr, bench_reference *r);
void bench_reference_free(bench_reference *r);

/* Samples of at least `least` seconds each. */
void bench_measure(cmg_context *ctx, const bench_matrix *m, const bench_reference *reference,
                   const bench_case *what, int samples, double least, bench_result *result);
