/*
 * Times of conversions and updates.
 *
 * A CSR on the device is made through the public interface alone: a vector of doubles carries any
 * bytes, so one vector each holds row pointers, columns and values.
 */
#include "bench_conversion.h"

#include "status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS = 5 };

/* CSR arrays in the context's memory. */
typedef struct device_csr {
    cmg_vector *indptr;
    cmg_vector *indices;
    cmg_vector *values;
    cmg_csr csr;
} device_csr;

static cmg_status carry(cmg_context *ctx, const void *from, size_t bytes, cmg_vector **to)
{
    const size_t doubles = (bytes + sizeof(double) - 1) / sizeof(double);
    double *padded = tool_alloc(doubles + 1, sizeof *padded);
    memcpy(padded, from, bytes);
    cmg_status status = cmg_vector_create(ctx, (cmg_size)doubles, CMG_FP64, to);
    status = THEN(status, cmg_vector_set(*to, padded));
    free(padded);
    return status;
}

static cmg_status to_device(cmg_context *ctx, const cmg_csr *csr, device_csr *d)
{
    const size_t nnz = (size_t)csr->indptr[csr->rows];
    cmg_status status =
        carry(ctx, csr->indptr, (size_t)(csr->rows + 1) * sizeof *csr->indptr, &d->indptr);
    status = THEN(status, carry(ctx, csr->indices, nnz * sizeof *csr->indices, &d->indices));
    status = THEN(status, carry(ctx, csr->values, nnz * sizeof *csr->values, &d->values));
    if (status == CMG_OK) {
        d->csr = (cmg_csr){csr->rows, csr->cols, cmg_vector_data(d->indptr),
                           cmg_vector_data(d->indices), cmg_vector_data(d->values)};
    }
    return status;
}

static void device_csr_free(device_csr *d)
{
    cmg_vector_destroy(&d->indptr);
    cmg_vector_destroy(&d->indices);
    cmg_vector_destroy(&d->values);
}

/* Least seconds of a conversion; NaN when it fails. */
static double time_conversion(cmg_context *ctx, const cmg_csr *csr,
                              const cmg_matrix_options *options)
{
    double least = INFINITY;
    for (int k = 0; k < REPEATS; ++k) {
        cmg_matrix *A = NULL;
        const double begin = tool_seconds();
        cmg_status status = cmg_matrix_create_csr(ctx, csr, options, &A);
        status = THEN(status, cmg_context_synchronize(ctx));
        const double seconds = tool_seconds() - begin;
        cmg_matrix_destroy(&A);
        if (status != CMG_OK) {
            return NAN;
        }
        least = fmin(least, seconds);
    }
    return least;
}

static double time_update(cmg_context *ctx, cmg_matrix *A, const double *values)
{
    double least = INFINITY;
    for (int k = 0; k < REPEATS; ++k) {
        const double begin = tool_seconds();
        cmg_status status = cmg_matrix_update(A, values);
        status = THEN(status, cmg_context_synchronize(ctx));
        if (status != CMG_OK) {
            return NAN;
        }
        least = fmin(least, tool_seconds() - begin);
    }
    return least;
}

void bench_conversion(cmg_context *ctx, const bench_matrix *m, const bench_case *what,
                      conversion_times *times)
{
    const bool cuda = cmg_context_backend(ctx) == CMG_BACKEND_CUDA;
    device_csr d = {0};
    cmg_matrix *A = NULL;
    *times = (conversion_times){NAN, NAN, NAN, NAN};
    const bool there = cuda && to_device(ctx, &m->csr, &d) == CMG_OK;
    times->host = time_conversion(ctx, &m->csr, &what->options);
    if (there) {
        times->device = time_conversion(ctx, &d.csr, &what->options);
    }
    cmg_matrix_options mapped = what->options;
    mapped.keep_map = true;
    if (cmg_matrix_create_csr(ctx, &m->csr, &mapped, &A) == CMG_OK) {
        times->update_host = time_update(ctx, A, m->csr.values);
        if (there) {
            times->update_device = time_update(ctx, A, d.csr.values);
        }
    }
    cmg_matrix_destroy(&A);
    device_csr_free(&d);
}
