/* Vector objects; the arithmetic is in the backend's table. */
#include "core/vector.h"

#include "core/backend.h"
#include "core/memory.h"
#include "core/random.h"

#include <math.h>

static cmg_status make(cmg_context *ctx, cmg_size n, int columns, cmg_precision precision,
                       void *data, cmg_vector **x)
{
    CMGI_CONTEXT(ctx);
    CMGI_CHECK(ctx, x != NULL, CMG_ERR_ARG, "vector: the out-pointer is NULL");
    CMGI_CHECK(ctx, n >= 0, CMG_ERR_ARG, "vector: length %lld is negative", (long long)n);
    CMGI_CHECK(ctx, columns >= 1 && columns <= CMG_COLUMNS, CMG_ERR_ARG,
               "vector: %d columns, 1 to %d are possible", columns, (int)CMG_COLUMNS);
    CMGI_CHECK(ctx, precision == CMG_FP64 || precision == CMG_FP32, CMG_ERR_ARG,
               "vector: unknown precision %d", (int)precision);
    CMGI_SCOPED(ctx, 1, cmg_vector, v);
    *v = (cmg_vector){.ctx = ctx,
                      .n = n,
                      .columns = columns,
                      .precision = precision,
                      .owned = data == NULL,
                      .data = data};
    if (v->owned) {
        CMGI_TRY(
            cmgi_alloc_device(ctx, n, (size_t)columns * cmgi_precision_bytes(precision), &v->data));
    }
    *x = cmgi_pass_on(&v);
    return CMG_OK;
}

cmg_status cmg_vector_create(cmg_context *ctx, cmg_size n, cmg_precision precision, cmg_vector **x)
{
    return cmg_vector_create_columns(ctx, n, 1, precision, x);
}

cmg_status cmg_vector_create_columns(cmg_context *ctx, cmg_size n, int columns,
                                     cmg_precision precision, cmg_vector **x)
{
    cmgi_scoped_by(cmg_vector_destroy) cmg_vector *v = NULL;
    CMGI_TRY(make(ctx, n, columns, precision, NULL, x != NULL ? &v : NULL));
    CMGI_TRY(ctx->backend->fill(ctx, precision, cmgi_vector_count(v), 0.0, v->data));
    *x = cmgi_pass_on(&v);
    return CMG_OK;
}

cmg_status cmg_vector_wrap(cmg_context *ctx, cmg_size n, cmg_precision precision, void *data,
                           cmg_vector **x)
{
    return cmg_vector_wrap_columns(ctx, n, 1, precision, data, x);
}

cmg_status cmg_vector_wrap_columns(cmg_context *ctx, cmg_size n, int columns,
                                   cmg_precision precision, void *data, cmg_vector **x)
{
    CMGI_CONTEXT(ctx);
    CMGI_CHECK(ctx, data != NULL, CMG_ERR_ARG, "vector: the array to wrap is NULL");
    return make(ctx, n, columns, precision, data, x);
}

void cmg_vector_destroy(cmg_vector **x)
{
    if (x == NULL || *x == NULL) {
        return;
    }
    cmg_vector *v = *x;
    if (v->owned) {
        cmgi_free_device(v->ctx, v->data);
    }
    cmgi_free(v->ctx, v);
    *x = NULL;
}

cmg_size cmg_vector_length(const cmg_vector *x)
{
    return x != NULL ? x->n : 0;
}

int cmg_vector_columns(const cmg_vector *x)
{
    return x != NULL ? x->columns : 0;
}

cmg_precision cmg_vector_precision(const cmg_vector *x)
{
    return x != NULL ? x->precision : CMG_FP64;
}

void *cmg_vector_data(cmg_vector *x)
{
    return x != NULL ? x->data : NULL;
}

/* Copies all values between host doubles and the vector, through a buffer where a conversion or a
 * device is between. */
static cmg_status transfer(const cmg_vector *x, double *host, bool to_vector)
{
    cmg_context *ctx = x->ctx;
    const cmg_size count = cmgi_vector_count(x);
    const size_t bytes = (size_t)count * sizeof(double);
    if (x->precision == CMG_FP64) {
        if (!to_vector) {
            return cmgi_to_host(ctx, host, x->data, bytes);
        }
        CMGI_TRY(cmgi_to_device(ctx, x->data, host, bytes));
        return cmg_context_synchronize(ctx); /* other streams may read it */
    }
    double *wide = NULL;
    CMGI_TRY(cmgi_alloc_device(ctx, count, sizeof(double), &wide));
    CMGI_FREED(ctx, &wide);
    if (to_vector) {
        CMGI_TRY(cmgi_to_device(ctx, wide, host, bytes));
        CMGI_TRY(ctx->backend->convert(ctx, count, CMG_FP64, wide, x->precision, x->data));
        CMGI_TRY(cmg_context_synchronize(ctx));
    } else {
        CMGI_TRY(ctx->backend->convert(ctx, count, x->precision, x->data, CMG_FP64, wide));
        CMGI_TRY(cmgi_to_host(ctx, host, wide, bytes));
    }
    return CMG_OK;
}

cmg_status cmg_vector_set(cmg_vector *x, const double *values)
{
    CMGI_GIVEN(x);
    CMGI_CHECK(x->ctx, values != NULL || x->n == 0, CMG_ERR_ARG, "vector: values is NULL");
    return transfer(x, (double *)(uintptr_t)values, true);
}

cmg_status cmg_vector_get(const cmg_vector *x, double *values)
{
    CMGI_GIVEN(x);
    CMGI_CHECK(x->ctx, values != NULL || x->n == 0, CMG_ERR_ARG, "vector: values is NULL");
    return transfer(x, values, false);
}

cmg_status cmg_vector_fill(cmg_vector *x, double value)
{
    CMGI_GIVEN(x);
    return x->ctx->backend->fill(x->ctx, x->precision, cmgi_vector_count(x), value, x->data);
}

static cmg_status check_pair(const cmg_vector *x, const cmg_vector *y, bool same_precision)
{
    CMGI_GIVEN(x);
    CMGI_GIVEN(y);
    CMGI_CHECK(x->ctx, x->ctx == y->ctx, CMG_ERR_ARG, "vectors of two contexts cannot be combined");
    CMGI_CHECK(x->ctx, x->n == y->n, CMG_ERR_SHAPE, "x has %lld entries, y has %lld",
               (long long)x->n, (long long)y->n);
    CMGI_CHECK(x->ctx, x->columns == y->columns, CMG_ERR_SHAPE, "x has %d columns, y has %d",
               x->columns, y->columns);
    CMGI_CHECK(x->ctx, !same_precision || x->precision == y->precision, CMG_ERR_ARG,
               "x and y differ in precision");
    return CMG_OK;
}

cmg_status cmg_vector_copy(const cmg_vector *x, cmg_vector *y)
{
    CMGI_TRY(check_pair(x, y, false));
    return x->ctx->backend->convert(x->ctx, cmgi_vector_count(x), x->precision, x->data,
                                    y->precision, y->data);
}

cmg_status cmg_vector_axpby(double a, const cmg_vector *x, double b, cmg_vector *y)
{
    CMGI_TRY(check_pair(x, y, true));
    return x->ctx->backend->axpby(x->ctx, x->precision, cmgi_vector_count(x), a, x->data, b,
                                  y->data);
}

cmg_status cmg_vector_dot(const cmg_vector *x, const cmg_vector *y, double *result)
{
    CMGI_TRY(check_pair(x, y, true));
    cmg_context *ctx = x->ctx;
    CMGI_CHECK(ctx, result != NULL, CMG_ERR_ARG, "dot: result is NULL");
    CMGI_SCOPED_DEVICE(ctx, 1, double, slot);
    CMGI_TRY(ctx->backend->dot(ctx, x->precision, cmgi_vector_count(x), 1, x->data, y->data, slot));
    return cmgi_to_host(ctx, result, slot, sizeof *slot);
}

cmg_status cmg_vector_norm(const cmg_vector *x, double *result)
{
    CMGI_TRY(cmg_vector_dot(x, x, result));
    *result = sqrt(*result);
    return CMG_OK;
}

cmg_status cmgi_draw_numbered(cmg_context *ctx, cmg_precision p, cmg_size n, uint64_t seed,
                              cmg_size first, const cmg_index *perm, void *x)
{
    cmg_vector view = {.ctx = ctx, .n = n, .columns = 1, .precision = p, .data = x};
    if (perm == NULL) {
        return ctx->backend->random(ctx, p, n, seed, first, x);
    }
    CMGI_SCOPED(ctx, n, double, host);
    for (cmg_size k = 0; k < n; ++k) {
        host[k] = cmgi_random_at(seed, (uint64_t)(first + perm[k]));
    }
    return cmg_vector_set(&view, host);
}
