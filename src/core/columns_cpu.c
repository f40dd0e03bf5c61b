/* Vector operations on blocks of columns on the CPU: rows are shared among the threads, and the
 * values of a row, side by side, are what vectors work on. */
#include "core/blocks.h"
#include "core/columns.h"
#include "core/memory.h"

#include <string.h>

enum { PART = 1024 }; /* rows of a part of a sum */

/* A kernel in precision p. */
#define IN(p, kernel) ((p) == CMG_FP64 ? kernel##_f64 : kernel##_f32)

/* Whether a block is worth threads. */
#define MANY(of) ((of).n * (of).k > CMGI_PARALLEL_FROM)

static cmg_status reserve(cmg_context *ctx, cmg_size length)
{
    return cmgi_reserve(ctx, &ctx->column_partials, &ctx->column_partials_length, length);
}

#define T double
#define NAME(f) f##_f64
#include "core/columns_cpu.inc"
#undef T
#undef NAME
#define T float
#define NAME(f) f##_f32
#include "core/columns_cpu.inc"
#undef T
#undef NAME

cmg_status cmgi_column_move_cpu(cmg_context *ctx, cmg_precision p, cmgi_block of, bool put,
                                const void *x, void *y)
{
    IN(p, move)(ctx->threads, of, put, x, y);
    return CMG_OK;
}

static void sum_parts(const double *partials, cmg_size parts, int k, double *result)
{
    for (int c = 0; c < k; ++c) {
        result[c] = 0;
    }
    for (cmg_size part = 0; part < parts; ++part) {
        for (int c = 0; c < k; ++c) {
            result[c] += partials[part * k + c];
        }
    }
}

cmg_status cmgi_column_dots_cpu(cmg_context *ctx, cmg_precision p, cmgi_block of, const void *x,
                                const void *y, double *result)
{
    CMGI_TRY(reserve(ctx, cmgi_block_count(of.n, PART) * of.k));
    IN(p, dots)(ctx->threads, of, x, y, ctx->column_partials);
    sum_parts(ctx->column_partials, cmgi_block_count(of.n, PART), of.k, result);
    return CMG_OK;
}

cmg_status cmgi_column_directions_cpu(cmg_context *ctx, cmgi_block of,
                                      const cmgi_column_ratio *ratio, cmg_precision pz,
                                      const void *z, double *p)
{
    double beta[CMG_COLUMNS];
    for (int c = 0; c < of.k; ++c) {
        beta[c] = ratio->den[c] != 0 ? ratio->num[c] / ratio->den[c] : 0;
    }
    IN(pz, directions)(ctx->threads, of, beta, z, p);
    return CMG_OK;
}

/* Rows of one part, and what they add to r . r; a column that rests is not touched, whatever its p
 * and q have become. */
static void update_part(cmgi_block of, const cmgi_column_update *u, const double *a, cmg_size part,
                        double *restrict sum)
{
    for (int c = 0; c < of.k; ++c) {
        sum[c] = 0;
    }
    for (cmg_size i = part * PART; i < cmgi_block_end(part, of.n, PART); ++i) {
        const double *p = u->p + i * of.k;
        const double *q = u->q + i * of.k;
        double *x = u->x + i * of.k;
        double *r = u->r + i * of.k;
#pragma omp simd
        for (int c = 0; c < of.k; ++c) {
            x[c] = a[c] != 0 ? x[c] + a[c] * p[c] : x[c];
            r[c] = a[c] != 0 ? r[c] - a[c] * q[c] : r[c];
            sum[c] += r[c] * r[c];
        }
        for (int c = 0; u->single != NULL && c < of.k; ++c) {
            u->single[i * of.k + c] = (float)r[c];
        }
    }
}

cmg_status cmgi_column_updates_cpu(cmg_context *ctx, cmgi_block of, const cmgi_column_update *u)
{
    const cmg_size parts = cmgi_block_count(of.n, PART);
    double a[CMG_COLUMNS];
    CMGI_TRY(reserve(ctx, parts * of.k));
    for (int c = 0; c < of.k; ++c) {
        a[c] = cmgi_column_step(u, c);
    }
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (MANY(of))
    for (cmg_size part = 0; part < parts; ++part) {
        update_part(of, u, a, part, ctx->column_partials + part * of.k);
    }
    sum_parts(ctx->column_partials, parts, of.k, u->rr);
    return CMG_OK;
}

cmg_status cmgi_column_units_cpu(cmg_context *ctx, cmg_precision p, cmgi_block of, void *x)
{
    const size_t size = p == CMG_FP64 ? sizeof(double) : sizeof(float);
    (void)ctx;
    memset(x, 0, (size_t)(of.n * of.k) * size);
    for (int c = 0; c < of.k && of.column + c < of.n; ++c) {
        const cmg_size at = (cmg_size)(of.column + c) * of.k + c;
        if (p == CMG_FP64) {
            ((double *)x)[at] = 1;
        } else {
            ((float *)x)[at] = 1;
        }
    }
    return CMG_OK;
}

cmg_status cmgi_column_images_cpu(cmg_context *ctx, cmg_precision p, cmgi_block of, const void *x,
                                  double *X)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (of.n > 256)
    for (cmg_size i = 0; i < of.n; ++i) {
        for (cmg_size j = 0; j < of.n; ++j) {
            const cmg_size at = (j / of.k * of.n + i) * of.k + j % of.k;
            X[i * of.n + j] = p == CMG_FP64 ? ((const double *)x)[at] : ((const float *)x)[at];
        }
    }
    (void)ctx;
    return CMG_OK;
}
