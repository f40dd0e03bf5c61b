/* Products with every write-back, beside plain loops. */
#pragma once
#include "suite.h"

/* What a product is asked for, and whose vectors are whose. */
typedef struct product {
    cmgi_wb_kind kind;
    bool d;
    bool e;
    bool c_is_x;
    bool in_place; /* y is the vector that is read last: c, b or e */
} product;

static const product products[] = {
    {.kind = CMGI_WB_APPLY},
    {.kind = CMGI_WB_AXPBY},
    {.kind = CMGI_WB_AXPBY, .in_place = true},
    {.kind = CMGI_WB_RESIDUAL},
    {.kind = CMGI_WB_RESIDUAL, .in_place = true},
    {.kind = CMGI_WB_FROM_ZERO, .d = true},
    {.kind = CMGI_WB_JACOBI, .d = true, .c_is_x = true},
    {.kind = CMGI_WB_JACOBI, .d = true},
    {.kind = CMGI_WB_MOMENTUM, .d = true, .e = true},
    {.kind = CMGI_WB_MOMENTUM, .d = true, .e = true, .c_is_x = true, .in_place = true},
    {.kind = CMGI_WB_MOMENTUM, .d = true, .c_is_x = true},
    {.kind = CMGI_WB_MOMENTUM, .e = true}};

enum { X, Y, B, C, D, E, VECTORS };

/* y = writeback(A x), of a write-back that is reduced. */
typedef cmg_status product_of(const cmg_matrix *A, const cmgi_writeback *w, const void *x);

/* One product; `start` is x .. e, which begin an odd number of entries after aligned memory. */
static inline void check_product(const cmg_matrix *M, product_of *multiply, const product *p,
                                 cmg_size n, void *const *v, double *const *value,
                                 const double *sum, const double *size)
{
    const bool wide = M->options.precision == CMG_FP64;
    const cmgi_backend *backend = ctx->backend;
    const int c = p->c_is_x ? X : C;
    const int y = !p->in_place                  ? Y
                  : p->kind == CMGI_WB_AXPBY    ? C
                  : p->kind == CMGI_WB_RESIDUAL ? B
                                                : E;
    const cmgi_writeback w = {.kind = p->kind,
                              .alpha = 0.7,
                              .beta = -0.4,
                              .b = v[B],
                              .c = v[c],
                              .d = p->d ? v[D] : NULL,
                              .e = p->e ? v[E] : NULL,
                              .y = v[y]};
    scoped double *out = calloc((size_t)n, sizeof *out);
    double worst = 0;
    scoped_device double *device = device_new(n, sizeof *device);
    const cmgi_writeback reduced = cmgi_wb_reduce(&w);
    CHECK_OK(multiply(M, &reduced, v[X]));
    CHECK_OK(backend->convert(ctx, n, M->options.precision, v[y], CMG_FP64, device));
    CHECK_OK(cmgi_to_host(ctx, out, device, (size_t)n * sizeof *out));
    for (cmg_size i = 0; i < n; ++i) {
        const double exact =
            suite_writeback(&w, sum[i], value[B][i], value[c][i], value[D][i], value[E][i]);
        const double error = fabs(out[i] - exact) / (size[i] + 4);
        worst = error <= worst ? worst : error; /* NaN wins */
    }
    CHECK(worst <= (wide ? 1e-15 : 1e-6));
    CHECK_OK(cmgi_to_device(ctx, device, value[y], (size_t)n * sizeof *out)); /* as it was */
    CHECK_OK(backend->convert(ctx, n, CMG_FP64, device, M->options.precision, v[y]));
}

static inline double read_sum(const double *device, cmg_size count)
{
    scoped double *part = calloc((size_t)count, sizeof *part);
    CHECK_OK(cmgi_to_host(ctx, part, device, (size_t)count * sizeof *part));
    double sum = 0;
    for (cmg_size k = 0; k < count; ++k) {
        sum += part[k];
    }
    return sum;
}
